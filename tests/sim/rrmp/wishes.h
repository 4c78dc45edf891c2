/* wishes.h - nodes of a mesh leave out the topics that nobody wants at another one. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRMPSIM_WISHES_H
#define RRMPSIM_WISHES_H

#include "world.h"

/* Which nodes filter; from random numbers of its own. */
void wishes_draw(struct world *world);
/* The process has attached: it wants nothing until it says so. True: what it does not want may be
 * left out. */
bool wishes_attached(struct world *world, struct proc *proc);
/* A process wants these topics, NULL: everything; or it has gone. */
void wishes_say(struct world *world, struct proc *proc, const uint32_t topics[], uint32_t count);
void wishes_gone(struct world *world, uint32_t node);
/* `from` tells `to`, in its unicast stream, what is wanted at it. */
void wishes_tell(struct world *world, uint32_t from, uint32_t to);
/* The word has come; without one everything is wanted until the next. */
void wishes_event(struct world *world, const struct event *event);
/* From now on, as at the start: everything. */
void wishes_doubt(struct world *world, uint32_t node, uint32_t of);
/* True: `from` does not send it to `to`. */
bool wishes_leave_out(struct world *world, uint32_t from, uint32_t to, uint32_t topic);

#endif
