/* lag.h - a worker that does not read its inbound ring fast enough merges the updates of all. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_LAG_H
#define P2PS_LAG_H

#include "private.h"

/*
 * A merged update costs one merge for each update that comes in place of a copy for each consumer:
 * so the worker catches up before it is lapped and everything needs an image. It begins at a
 * quarter of the inbound ring and ends at a 32nd. The pending updates are those of pace.c; a stream
 * is told at its first merged one, some of them in each turn, and when it is over. The ring comes
 * first: while more than an eighth of it waits, for 400 ms at most, updates are noted and nothing
 * merged goes out.
 *
 * With a rate that it cannot carry it would be behind again as soon as it has caught up, and tell
 * all streams so each time. So one that is behind again within two seconds merges from an eighth of
 * the ring on, until next to nothing has waited for a while, and streams hear after as long that it
 * is over: 125 ms, twice as long each time, 750 ms at most.
 */

/* A merged update goes out to the watches of the item that have chosen no rate: they are told. */
void p2ps_lag_tell(struct p2ps_core *core, uint32_t item);
/* Some of them were not told yet. */
bool p2ps_lag_tells(const struct p2ps_core *core, uint32_t item);
/* Streams that were told have not heard yet that it is over, and nothing is pending for them. */
bool p2ps_lag_has_work(const struct p2ps_core *core);
/* When the time has come for it to end, or for the streams to hear so. */
uint64_t p2ps_lag_deadline(const struct p2ps_core *core);
/* Each turn: some of the streams that were told hear that it is over. */
void p2ps_lag_turn(struct p2ps_core *core);

#endif
