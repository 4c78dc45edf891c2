/* slots.h - the questions of an authority's engine, each in one of its lists. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_AUTHORITY_SLOTS_H
#define P2PS_AUTHORITY_SLOTS_H

#include "state.h"

void authority_append(struct p2ps_authority *a, struct list *list, uint32_t at);
void authority_take_out(struct p2ps_authority *a, struct list *list, uint32_t at);
/* The answer of a slot of that list, which waits, is there. */
void authority_answer_slot(struct p2ps_authority *a, struct list *list, uint32_t at);
/* It is that nobody can say. */
void authority_nobody_says(struct p2ps_authority *a, struct list *list, uint32_t at);

#endif
