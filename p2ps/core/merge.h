/* merge.h - the engine of src/conflate, one for all that a core merges. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_MERGE_H
#define P2PS_MERGE_H

#include "conflate/conflate.h"
#include "private.h"

#define P2PS_PENDING_MOST 2048u /* of an item without an image that is kept */
#define P2PS_RIPPLES_MORE 256u  /* old values that are written out */

/* core->merger. MD_ERR_NOMEM. */
int p2ps_merge_create(struct p2ps_core *core);
/* The fields that a watch in step has, if they are kept. */
struct rwf_bytes p2ps_merge_image(const struct p2ps_item *it);
/* True: the update is of an exempt type, has an exempt field, or cannot be read. */
bool p2ps_merge_exempts(const struct p2ps_core *core, struct rwf_bytes update);
/* Room that a pending update of the item needs for `length` bytes more; at most the room that the
 * image allows. Not more than `room`: it has that already. */
size_t p2ps_merge_room(const struct p2ps_item *it, const struct conflate_pending *pending,
                       size_t length);

#endif
