/* trail.h - what clients did and may not do, for the audit trail. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_TRAIL_H
#define P2PS_TRAIL_H

#include "private.h"

/* The rule by which the authority has answered: what is recorded next was denied by it. */
void p2ps_trail_decided(struct p2ps_core *core, const struct entitle_answer *answer);
/* No rule: the answer is not recorded, or nobody was asked for what is recorded next. */
void p2ps_trail_undecided(struct p2ps_core *core);
/* False: what makes records of this level may not begin now; it is counted. */
bool p2ps_trail_has_room(struct p2ps_core *core, enum entitle_level level);
#define P2PS_TRAIL_FULL "the audit trail is full; try again"

/* LOGIN, REISSUE and LOGOUT. */
void p2ps_trail_login(struct p2ps_core *core, uint32_t client, enum entitle_record_kind kind,
                      uint8_t denied_code, const char *why);
/* A watch was permitted, for the first time or again. */
void p2ps_trail_open(struct p2ps_core *core, uint32_t item, uint32_t watch);
void p2ps_trail_denied(struct p2ps_core *core, uint32_t item, uint32_t watch, const char *why);
/* A watch ends, whoever ended it. */
void p2ps_trail_close(struct p2ps_core *core, uint32_t item, uint32_t watch);
/* An item has other permission data from now on. */
void p2ps_trail_lock(struct p2ps_core *core, uint32_t item);
/* An update, or a generic message, was not for this watch, by the permission data of its own; in a
 * dry run it went to it all the same. */
void p2ps_trail_withheld(struct p2ps_core *core, uint32_t item, const struct p2ps_watch *w,
                         struct rwf_bytes perm);
/* A denial that accessDryRun does not enforce; `answer` has the rule. */
void p2ps_trail_dry(struct p2ps_core *core, const struct entitle_query *query, const char *why,
                    const struct entitle_answer *answer);
/* Once in a tick: what was counted for a minute is recorded. */
void p2ps_trail_tick(struct p2ps_core *core);
int p2ps_trail_create(struct p2ps_core *core);
void p2ps_trail_destroy(struct p2ps_core *core);
/* `why` NULL: the post went out. */
void p2ps_trail_post(struct p2ps_core *core, uint32_t client, uint16_t service, uint8_t domain,
                     struct rwf_bytes name, const char *why);

#endif
