/* phase.h - when in the interval of its rate a place has its turn. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_PHASE_H
#define P2PS_PHASE_H

#include "private.h"

/*
 * Items have their turns by number, so that they do not all send at once; each rate of each worker
 * begins its intervals at another time. A shell that flushes by a timer writes once for each of its
 * flushes: then items have their turns in lots that are worth a write to each client. A lot is
 * not more than P2PS_LOT_MS of the interval, so that what comes at once fits where what comes in
 * that time does, and not more than some P2PS_LOT_PLACES items.
 *
 * A client with a ceiling has room for a share of a second only: the items that it watches have
 * turns of their own in any case.
 */
#define P2PS_LOT_MS     100u
#define P2PS_LOT_PLACES 2048u

struct place;

/* The places of one rate. */
struct p2ps_phase {
    uint32_t lots;   /* a power of two times the first number of them; they never become fewer */
    uint32_t places; /* now */
};

void p2ps_phases_start(struct p2ps_core *core);
/* There is such a place more, or one less. */
void p2ps_phase_add(struct p2ps_core *core, uint8_t pace);
void p2ps_phase_drop(struct p2ps_core *core, uint8_t pace);
/* When the place has its next turn. */
uint64_t p2ps_phase_next(const struct p2ps_core *core, const struct place *place);
/* The front of the client is asked whether it has a ceiling; one that has gone has none. */
void p2ps_phase_look(struct p2ps_core *core, uint32_t client);

#endif
