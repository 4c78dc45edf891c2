/* preempt.h - at the limits of open items the least valuable stream of a client stands back. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_PREEMPT_H
#define P2PS_PREEMPT_H

#include "private.h"

/*
 * A request over itemLimitPerMount, itemLimitPerHost or a user's limit takes the place of a stream
 * of its own client, whose item is of a lower priority; nobody loses anything to others. That
 * stream stays, OPEN/SUSPECT/PREEMPTED, counts for no limit, and is sent nothing: it is a watch
 * that waits as for a verdict. When there is room again the most valuable ones get an image, if
 * they are permitted then.
 */
/* The limits let the client open one more item, or would if a stream of its own stood back. */
bool p2ps_preempt_may_open(struct p2ps_core *core, uint32_t client,
                           const struct omm_item_request *request);
/* There is room for one more item now. False: no stream of the client is of a lower priority. */
bool p2ps_preempt_make_room(struct p2ps_core *core, uint32_t client,
                            const struct omm_item_request *request);
/* Says again that the stream waits for room. */
void p2ps_preempt_tell(struct p2ps_core *core, uint32_t item, uint32_t watch);
/* Streams that stand back take up the room that there is. */
void p2ps_preempt_tick(struct p2ps_core *core);
/* When that is looked at next; UINT64_MAX: no stream stands back. */
uint64_t p2ps_preempt_deadline(const struct p2ps_core *core);

#endif
