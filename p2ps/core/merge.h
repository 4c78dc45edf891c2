/* merge.h - the engine of src/conflate, one for all that a core merges. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_MERGE_H
#define P2PS_MERGE_H

#include "conflate/conflate.h"
#include "private.h"

#define P2PS_PENDING_MOST 2048u /* of an item without an image that is kept */
#define P2PS_RIPPLES_MORE 256u  /* old values that are written out */

/* A pending update of which only the head is kept, and which fields of the image it has changed. */
struct p2ps_run {
    bool is_on; /* else the pending update is one of conflate_add() */
    struct conflate_head head;
    struct cache_changed changed;
};

/* core->merger and core->run_buffer. MD_ERR_NOMEM. */
int p2ps_merge_create(struct p2ps_core *core);
void p2ps_merge_destroy(struct p2ps_core *core);
/* The fields that a watch in step has, if they are kept. */
struct rwf_bytes p2ps_merge_image(const struct p2ps_item *it);
/* True: the update is of an exempt type, or has an exempt field. */
bool p2ps_merge_exempts(const struct p2ps_core *core, const struct rwf_msg *update);
/* The update can be in a run, and the image of its item can note what it changes. */
bool p2ps_merge_notes(const struct p2ps_core *core, const struct p2ps_item *it,
                      const struct rwf_msg *update);
/* The pending update as it goes out, good until the next call. False: the image that has its values
 * was given up. */
bool p2ps_merge_out(const struct p2ps_core *core, const struct p2ps_item *it,
                    const struct conflate_pending *pending, const struct p2ps_run *run,
                    struct rwf_bytes *out);
/* Room that a pending update of the item needs for `length` bytes more; at most the room that the
 * image allows. Not more than `room`: it has that already. */
size_t p2ps_merge_room(const struct p2ps_item *it, const struct conflate_pending *pending,
                       size_t length);

#endif
