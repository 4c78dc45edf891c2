/* shadow.c - see shadow.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "shadow.h"

#include <stdio.h>
#include <string.h>

#define WHY_MAX  200
#define RULE_MAX 600

/* NULL: there is nothing to compare with. */
static const struct entitle_rules *rules_of(const struct p2ps_shadow *shadow)
{
    return shadow->rules ? atomic_load_explicit(shadow->rules, memory_order_acquire) : NULL;
}

static void record(const struct entitle_recorder *recorder, const struct entitle_query *query,
                   struct entitle_view user, const struct entitle_answer *other)
{
    bool allows = other->verdict == ENTITLE_ALLOW;
    char why[WHY_MAX], rule[RULE_MAX] = "";

    snprintf(why, sizeof(why), "accessShadowFile %s%s",
             allows ? "allows it" : "denies it: ", allows ? "" : other->text);
    if (other->line && other->file)
        snprintf(rule, sizeof(rule), "%s:%u", other->file, other->line);
    const struct entitle_record record = {
        .kind = ENTITLE_RECORD_SHADOW,
        .level = query->kind == ENTITLE_LOGIN ? ENTITLE_LEVEL_LOGINS : ENTITLE_LEVEL_DENIALS,
        .domain = query->domain,
        .text = {
            [ENTITLE_TEXT_USER] = user,
            [ENTITLE_TEXT_APPLICATION] = query->application,
            [ENTITLE_TEXT_POSITION] = query->position,
            [ENTITLE_TEXT_ADDRESS] = query->host,
            [ENTITLE_TEXT_SERVICE] = query->service,
            [ENTITLE_TEXT_ITEM] = query->item,
            [ENTITLE_TEXT_LOCK] = query->permission_data,
            [ENTITLE_TEXT_WHY] = entitle_text(why),
            [ENTITLE_TEXT_RULE] = entitle_text(rule),
        },
    };
    recorder->put(recorder->self, &record);
}

static void tell(struct p2ps_shadow *shadow, unsigned worker, const struct entitle_query *query,
                 struct entitle_view user, const struct entitle_answer *answer,
                 const struct entitle_answer *other)
{
    const struct entitle_recorder *recorder = &shadow->recorders[worker];

    if (other->verdict == ENTITLE_PENDING || other->verdict == answer->verdict)
        return;
    atomic_fetch_add_explicit(&shadow->differs, 1, memory_order_relaxed);
    if (recorder->put)
        record(recorder, query, user, other);
}

/* A check after a reload is none of them: the session was compared when it came. */
static bool is_compared(const struct entitle_query *query)
{
    return query->kind == ENTITLE_LOGIN || query->kind == ENTITLE_ITEM ||
           query->kind == ENTITLE_POST;
}

void p2ps_shadow_compare(struct p2ps_shadow *shadow, unsigned worker,
                         const struct entitle_query *query, struct entitle_answer *answer)
{
    const struct entitle_rules *rules = rules_of(shadow);
    struct entitle_query same = *query;
    struct entitle_answer other;

    if (!rules || !is_compared(query) || answer->verdict == ENTITLE_PENDING ||
        answer->reason == ENTITLE_BUSY)
        return;
    bool is_in = query->kind == ENTITLE_LOGIN && answer->verdict == ENTITLE_ALLOW;
    if (is_in && answer->user[0])
        same.user = entitle_text(answer->user);
    same.is_proof_given = is_in;
    entitle_rules_judge(rules, &same, &other);
    answer->wants_lock = other.needs_lock;
    tell(shadow, worker, query, same.user, answer, &other);
}

void p2ps_shadow_compare_token(struct p2ps_shadow *shadow, unsigned worker,
                               const struct p2ps_token *token, const struct entitle_query *query,
                               const struct entitle_answer *answer)
{
    const struct entitle_rules *rules = rules_of(shadow);
    char roles[P2PS_TOKEN_ROLES];
    struct entitle_answer other;

    if (!rules || token->error)
        return; /* nobody is let in by it, whatever a file says */
    p2ps_tokens_answer(token, rules, query, roles, &other);
    tell(shadow, worker, query, entitle_text(token->user), answer, &other);
}
