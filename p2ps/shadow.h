/* shadow.h - accessShadowFile: what other rules would say, of which nothing is enforced. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_SHADOW_H
#define P2PS_SHADOW_H

#include <stdatomic.h>

#include "entitle/record.h"
#include "tokens.h"

#define P2PS_SHADOW_WORKERS 64

/*
 * Each login, item and post that the rules in force have answered is judged by these, too. Where
 * the verdicts differ, that is counted, and a record of the audit trail says how. The proof of a
 * login that was let in is taken as right: the other file may have another hash of the password.
 */
struct p2ps_shadow {
    entitle_rules_slot *rules;                              /* NULL: there are none */
    struct entitle_recorder recorders[P2PS_SHADOW_WORKERS]; /* put() may be NULL */
    _Atomic uint64_t differs;
};

/* `answer` is that of the rules in force; it learns that the others need permission data. From the
 * thread of the worker. */
void p2ps_shadow_compare(struct p2ps_shadow *shadow, unsigned worker,
                         const struct entitle_query *query, struct entitle_answer *answer);
/* The same of a signed token that was checked. */
void p2ps_shadow_compare_token(struct p2ps_shadow *shadow, unsigned worker,
                               const struct p2ps_token *token, const struct entitle_query *query,
                               const struct entitle_answer *answer);

#endif
