/* dry.h - accessDryRun: denials of the authority that are counted and recorded, and no more. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_DRY_H
#define P2PS_DRY_H

#include "private.h"

/*
 * For rules that are tried out on consumers who must not notice. Logins by a secret are enforced as
 * ever, and so is whatever is no verdict: limits, names that cannot be, what cannot be read.
 */

/* The answer denied it, or allows it less than all; from now on it allows all. */
void p2ps_dry_item(struct p2ps_core *core, const struct entitle_query *query,
                   struct entitle_answer *answer);
/* A post whose user rights are `used`, enum entitle_post_right. */
void p2ps_dry_post(struct p2ps_core *core, const struct entitle_query *query, uint8_t used,
                   struct entitle_answer *answer);
/* False: the denial of this login is enforced. */
bool p2ps_dry_login(struct p2ps_core *core, uint32_t client, struct entitle_answer *answer);
/* A denial that the core has decided by an answer of before. */
void p2ps_dry_note(struct p2ps_core *core, const struct entitle_query *query, const char *why);

#endif
