/* entitle.h - what the authority is asked about items, and its answers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_ENTITLE_H
#define P2PS_ENTITLE_H

#include "private.h"

/*
 * A ticket names the question: a login (serial and client), or, with this bit, one stream of a
 * client and which question about it, so that a late answer is not taken for one to another.
 */
#define P2PS_TICKET_ITEM 0x80000000u

enum entitle_verdict p2ps_entitle_item(struct p2ps_core *core, uint32_t item, uint32_t watch,
                                       struct entitle_answer *answer);
/* Asks the authority again for a watch. */
void p2ps_entitle_watch_again(struct p2ps_core *core, uint32_t item, uint32_t watch);
/* Looks at the permission data of a record before it is given to anybody. */
void p2ps_entitle_check(struct p2ps_core *core, const struct p2ps_record *record);
/* Of a question about an item: its ticket has P2PS_TICKET_ITEM. */
void p2ps_entitle_item_answer(struct p2ps_core *core, const struct entitle_answer *answer);

#endif
