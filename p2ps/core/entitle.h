/* entitle.h - whether watches may see their items: questions to the authority, and its answers. */
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
/* Asks the authority again for a watch. DENY, too: there was nothing to ask for. */
enum entitle_verdict p2ps_entitle_watch_again(struct p2ps_core *core, uint32_t item,
                                              uint32_t watch);
/* Looks at the permission data of an image or a status before it is given to anybody: they are the
 * item's from then on. */
void p2ps_entitle_check(struct p2ps_core *core, const struct p2ps_record *record);
/* Permission data of an update, or a generic message, are for that one alone. True: each watch is
 * asked for with *perm; what cannot be read is for nobody: its data are NULL. */
bool p2ps_entitle_update(struct p2ps_core *core, const struct p2ps_record *record,
                         struct rwf_bytes *perm);
/* The watch gets nothing more until the verdict about it is there; then an image comes. */
void p2ps_entitle_hold_back(struct p2ps_core *core, struct p2ps_watch *w);
/* Asks anew for the watches of the item that wait for a verdict. */
void p2ps_entitle_held(struct p2ps_core *core, uint32_t item);
/* Of a question about an item: its ticket has P2PS_TICKET_ITEM. */
void p2ps_entitle_item_answer(struct p2ps_core *core, const struct entitle_answer *answer);
/* Of a stream whose fields are not all for its client: what it asks for now is cut, too. False: it
 * waits for a verdict, or has ended. */
bool p2ps_entitle_cut_again(struct p2ps_core *core, uint32_t item, uint32_t at);

#endif
