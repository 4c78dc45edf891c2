/* ask.h - questions to the authority about items and posts. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_ASK_H
#define P2PS_ASK_H

#include "private.h"

/* Those of the item; empty: it has none. */
struct rwf_bytes p2ps_ask_perm_data(const struct p2ps_item *it);
/* A question about the watch. Its views live as long as nothing is opened or closed. False: the
 * item is gone. */
bool p2ps_ask_query(struct p2ps_core *core, uint32_t item, const struct p2ps_watch *w,
                    struct entitle_query *query);
enum entitle_verdict p2ps_ask(struct p2ps_core *core, const struct entitle_query *query,
                              uint64_t ticket, struct entitle_answer *answer);
/* About permission data that are not the item's: of an update, or of an entry. */
enum entitle_verdict p2ps_ask_hears(struct p2ps_core *core, uint32_t item,
                                    const struct p2ps_watch *w, struct rwf_bytes perm);
/* May the client post to an item of this name, with these permission data and user rights? What
 * does not answer at once says no. */
bool p2ps_ask_post(struct p2ps_core *core, uint32_t client, uint16_t service, uint8_t domain,
                   struct rwf_bytes name, struct rwf_bytes perm, uint8_t used,
                   struct entitle_answer *answer);

#endif
