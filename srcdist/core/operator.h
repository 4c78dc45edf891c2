/* operator.h - what an operator asks of a core: where an item is, a provider that has to go. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_OPERATOR_H
#define SRCDIST_OPERATOR_H

#include "core.h"

/* Views are valid until the next call of the core. */
struct srcdist_item_info {
    bool is_used;
    const char *service;
    struct rwf_bytes name;
    uint8_t domain;
    const char *state;    /* "open", "pending", ... */
    const char *provider; /* "": none */
    int32_t stream_id;    /* there */
    bool is_bound;
    uint32_t handle;          /* on the backbone */
    uint32_t item_seq;        /* of the last record */
    uint32_t requester_count; /* workers of p2ps that have it open */
    bool has_image;           /* in the cache here */
};

/* By slot, 0 and up; false past the last. A free slot is not used. */
bool srcdist_core_item(const struct srcdist_core *core, uint32_t item,
                       struct srcdist_item_info *out);
/* Its connection ends with the turn. False: no such provider. */
bool srcdist_provider_kick(struct srcdist_core *core, uint32_t provider, const char *why);

#endif
