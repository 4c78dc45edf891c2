/* gone.h - services that nobody offers: their items are closed, then they are forgotten, or move.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_GONE_H
#define P2PS_GONE_H

#include "private.h"

/* Forgets the services that no instance has offered for serviceForget, and before if there are too
 * many. */
void p2ps_gone_tick(struct p2ps_core *core);
/* A turn closes P2PS_TURN_STATES streams of a service, the states that it tells included. */
void p2ps_gone_turn(struct p2ps_core *core);

#endif
