/* pacer.h - mounts that wait for their ceiling: one timer of the worker for all of them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_PACER_H
#define P2PS_PACER_H

#include <stdbool.h>

struct p2ps_mount;
struct p2ps_worker;

/* The mount has more to send than it may now: it is flushed at the next time of the pacer,
 * CEILING_TURN_NS from now at most. Until then nothing of it goes out. */
void p2ps_pacer_wait(struct p2ps_mount *mount);
bool p2ps_pacer_holds(const struct p2ps_mount *mount);
/* It does not wait any more; also for one that does not wait. */
void p2ps_pacer_leave(struct p2ps_mount *mount);
/* A turn of the worker's timer: those that wait now have waited, one after the other. Who waits
 * again has its next turn: each has one, whatever the others do. */
void p2ps_pacer_begin(struct p2ps_worker *worker);
struct p2ps_mount *p2ps_pacer_next(struct p2ps_worker *worker); /* NULL: no more in this turn */

#endif
