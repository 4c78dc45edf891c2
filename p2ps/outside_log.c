/* outside_log.c - see outside_log.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "outside_log.h"

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
        md_log(MD_LOG_ERROR, "authority %s: it is away; new logins are %s", log->path,
               allows ? "judged by accessFile alone" : "refused after authorityTimeout");
}

void p2ps_outside_log_unusable(struct p2ps_outside_log *log, uint64_t now_ns, const char *why,
                               const char *user)
{
    uint64_t held;

    if (why && p2ps_distance_says(&log->unusable, now_ns, &held))
        md_log(MD_LOG_ERROR, "authority %s: %s; \"%s\" is refused", log->path, why, user);
}

/* Under the lock: the line is said at growing distance. */
void p2ps_outside_log_given(struct p2ps_outside_log *log, uint64_t now_ns, const char *kind,
                            struct entitle_view which, const char *user)
{
    uint64_t held;

    if (p2ps_distance_says(&log->given, now_ns, &held))
        md_log(MD_LOG_WARNING,
               "authority %s: %s \"%.*s\" of user %s is not in accessFile, and counts for nothing",
               log->path, kind, (int)(which.length < 100 ? which.length : 100), which.data, user);
}

void p2ps_outside_log_steady(struct p2ps_outside_log *log)
{
    log->why = (struct p2ps_distance){ 0 };
}
