/* origins.h - which nodes of one network this relay carries onto the other. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORIGINS_H
#define ORIGINS_H

#include "impl.h"

/* `side` is everywhere the one onto which they are carried. */
struct origin *origin_find(const struct side *side, uint64_t session);
void origin_up(struct forward *f, struct side *side, const struct relay_event *up);
void origin_name(struct side *side, const struct backbone_event *info);
void origin_down(struct forward *f, struct side *side, uint64_t now_ns,
                 const struct backbone_event *down);
/* Begins or ends to carry it, by the rights of all that are heard. */
void origin_decide(struct forward *f, struct side *side, uint64_t now_ns, struct origin *o);
void origins_tick(struct forward *f, struct side *side, uint64_t now_ns);
/* NULL: none is carried with this number. */
struct origin *origin_of_number(const struct side *side, uint32_t number);
/* Unicast between `o` (NULL: unknown) and `session` (0: any) may be lost: it is told when there is
 * room and it is not about to be carried. `hops`: over which that was heard; 0: it is our own. */
void origin_owe(struct origin *o, uint64_t session, uint8_t hops);
/* It is not carried any more, and will be anew: something could not be told. */
void origin_reset(struct forward *f, struct side *side, struct origin *o);

#endif
