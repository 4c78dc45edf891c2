/* outside_log.c - see outside_log.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "outside_log.h"

#include <string.h>

#include "base/log.h"

#define SECOND_NS 1000000000ull

void p2ps_outside_log_why(struct p2ps_outside_log *log, uint64_t now_ns, const char *why)
{
    uint64_t held;

    if (p2ps_distance_says(&log->why, now_ns, &held))
        md_log(MD_LOG_ERROR, "authority %s: %s; trying again", log->path, why);
}

void p2ps_outside_log_state(const struct p2ps_outside_log *log, bool is_up, bool allows)
{
    if (is_up)
        md_log(MD_LOG_NOTICE, "authority %s: it answers; sessions are asked for again", log->path);
    else
        md_log(MD_LOG_ERROR, "authority %s: it is away; what is open stays, new logins are %s",
               log->path, allows ? "judged by accessFile alone" : "refused");
}

void p2ps_outside_log_unusable(struct p2ps_outside_log *log, uint64_t now_ns, const char *why,
                               const char *user)
{
    uint64_t held;

    if (why && p2ps_distance_says(&log->unusable, now_ns, &held))
        md_log(MD_LOG_ERROR, "authority %s: %s; \"%s\" is refused", log->path, why, user);
}

/* It is ignored. */
void p2ps_outside_log_roles(struct p2ps_outside_log *log, uint64_t now_ns, entitle_rules_slot *slot,
                            const struct p2ps_authority_answer *answer)
{
    const struct entitle_rules *rules = atomic_load_explicit(slot, memory_order_acquire);

    for (const char *role = answer->roles; *role;) {
        size_t length = strcspn(role, ",");
        uint64_t next_ns = atomic_load_explicit(&log->roles_next_ns, memory_order_relaxed);

        if (!entitle_rules_has_role(rules, (struct entitle_view){ role, length }) &&
            now_ns >= next_ns &&
            atomic_compare_exchange_strong(&log->roles_next_ns, &next_ns, now_ns + 60 * SECOND_NS))
            md_log(MD_LOG_WARNING,
                   "authority %s: role \"%.*s\" of user %s is not in accessFile, and counts for "
                   "nothing",
                   log->path, (int)(length < 100 ? length : 100), role, answer->user);
        role += length + (role[length] == ',');
    }
}

void p2ps_outside_log_steady(struct p2ps_outside_log *log)
{
    log->why = (struct p2ps_distance){ 0 };
}
