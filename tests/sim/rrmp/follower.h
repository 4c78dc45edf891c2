/* follower.h - recorders beside the p2ps of a run: they have what others have open, and open
 * nothing. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRMPSIM_FOLLOWER_H
#define RRMPSIM_FOLLOWER_H

#include "world.h"

extern const struct proc_ops follower_ops;

/* Draws them from numbers of their own; a few runs have many sources. */
void followers_draw(struct world *world);
/* A record on its way. */
void followers_hear(struct world *world, const uint8_t *bytes, size_t length);
/* Half a minute before the end: from here on nothing may be asked. */
void followers_rest(struct world *world);
/* Each has what is open, and nothing else. */
void followers_check_items(struct world *world);
void followers_check_end(struct world *world);

#endif
