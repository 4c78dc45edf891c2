/* operator.h - what an operator asks of a core: an item and its watches, a client that has to go.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_OPERATOR_H
#define P2PS_OPERATOR_H

#include "core.h"

/* Views are valid until the next call of the core. */
struct p2ps_item_info {
    bool is_used;
    struct rwf_bytes service;
    struct rwf_bytes name;
    uint8_t domain;
    const char *state;       /* "live", "asked", "parked" ... */
    struct rwf_bytes source; /* the src_dist that serves it; empty: none */
    bool is_bound;
    uint32_t handle;   /* there */
    uint32_t item_seq; /* of the last record */
    bool is_suspect;
    bool has_image;
    uint32_t watch_count;
};

/* By slot, 0 and up; false past the last. A free slot is not used. */
bool p2ps_core_item(const struct p2ps_core *core, uint32_t item, struct p2ps_item_info *out);
/* Watch number `watch` of the item: whose it is. False past the last; UINT32_MAX: it has ended. */
bool p2ps_core_item_watch(const struct p2ps_core *core, uint32_t item, uint32_t watch,
                          uint32_t *client, int32_t *stream_id);
/* Ends the connection from our side; `why` goes to the log. */
void p2ps_client_kick(struct p2ps_core *core, uint64_t now_ns, uint32_t client, const char *why);

#endif
