/* slow.h - clients that are slow: their updates are merged, and they are told why. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_SLOW_H
#define P2PS_SLOW_H

#include "private.h"

/*
 * A client is slow when its output has been above outputThresholdBreach for slowTime, or has a
 * tenth of its room left, or an update found none. From then on its updates wait in the backlog
 * (backlog.h), and go out as far as it has room: below outputThresholdBreach. It keeps up again
 * when nothing waits and its output is at outputThresholdOK. A stream is told at its first merged
 * update, and when its client keeps up again.
 *
 * Updates of watches that have chosen a rate are merged in pace.c already: they wait only when they
 * have no room, or others of the watch wait. Those between the parts of an image never wait: such a
 * watch gets an image.
 */

/* After a client was flushed: whether it is slow now. */
void p2ps_slow_look(struct p2ps_core *core, uint32_t client);

/* The client is slow, and here is an update of its watch in step. False: it does not wait. */
bool p2ps_slow_takes(struct p2ps_core *core, const struct p2ps_record *record,
                     struct p2ps_watch *w);
/* The update has found no room. */
void p2ps_slow_full(struct p2ps_core *core, const struct p2ps_record *record, struct p2ps_watch *w);
/* The update passes a watch by that waits for an image. */
void p2ps_slow_misses(struct p2ps_core *core, const struct p2ps_record *record,
                      struct p2ps_watch *w);
/* While a client is slow: see core->spelled. `is_in_image`: the update is applied to the image. */
void p2ps_slow_spell(struct p2ps_core *core, const struct p2ps_record *record, bool is_in_image);

/* Sends what waits for the watches of the item, as far as they have room. */
void p2ps_slow_flush(struct p2ps_core *core, uint32_t item);
/* Sends what waits for the client, while it is below outputThresholdBreach. */
void p2ps_slow_drain(struct p2ps_core *core, uint32_t client);
/* Nothing is owed to the client any more. True: it keeps up, and its streams know that. */
bool p2ps_slow_has_ended(struct p2ps_core *core, uint32_t client);

/* "4,812 of 5,000 output buffers in use". */
void p2ps_slow_figures(const struct p2ps_core *core, uint32_t client, char *out, size_t size);

#endif
