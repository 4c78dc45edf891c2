/* outside_wiring.c - see outside_wiring.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "outside_wiring.h"

#include <string.h>

#include "access.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "outside.h"
#include "stats/rows.h"

#define ROW(kind, name, member)                                                                    \
    STATS_ROW(STATS_KIND_##kind, name, struct p2ps_outside_stats, member)
#define COUNTER(name, member) ROW(COUNTER, name, authority.member)

static const struct stats_row rows[] = {
    COUNTER("authorityAsked", asked),
    COUNTER("authorityAllowed", allowed),
    COUNTER("authorityDenied", denied),
    COUNTER("authorityCached", cached),
    COUNTER("authorityHeld", held),
    COUNTER("authorityTimeouts", timeouts),
    COUNTER("authorityLate", late),
    COUNTER("authorityBusy", busy),
    COUNTER("authorityNotices", notices),
    COUNTER("authorityBad", bad),
    COUNTER("authorityLost", lost),
    COUNTER("authorityUnusable", unusable),
    COUNTER("authorityEnds", ends),
    COUNTER("authorityEndsLost", ends_lost),
    COUNTER("authorityClosed", closed),
    ROW(GAUGE, "authorityUp", is_up),
    ROW(GAUGE, "authorityWaiting", authority.waiting),
};

static enum p2ps_authority_sessions sessions_of(const char *word)
{
    return strcmp(word, "stay") == 0    ? P2PS_AUTHORITY_STAY
           : strcmp(word, "close") == 0 ? P2PS_AUTHORITY_CLOSE
                                        : P2PS_AUTHORITY_SUSPECT;
}

int p2ps_outside_build(struct p2ps *p2ps)
{
    const struct md_conf_object *daemon = &p2ps->daemon.object;
    struct stats_segment *stats = p2ps->daemon.stats;
    const struct p2ps_outside_config config = {
        .path = md_conf_string(daemon, "authority"),
        .user = md_conf_string(daemon, "authorityUser"),
        .instance = p2ps->daemon.identity,
        .allows = strcmp(md_conf_string(daemon, "authorityDown"), "allow") == 0,
        .sessions = sessions_of(md_conf_string(daemon, "authoritySessions")),
        .grace_ns = md_conf_time_ns(daemon, "authorityGrace"),
        .window = md_conf_u32(daemon, "authorityWindow"),
        .timeout_ns = md_conf_time_ns(daemon, "authorityTimeout"),
        .now = md_clock_mono_ns,
        .rules = p2ps_access_rules(p2ps->access),
        .credentials = p2ps->credentials,
    };
    int err = p2ps_outside_create(&config, &p2ps->outside);

    if (err == MD_OK && config.path[0])
        p2ps->outside_counters = stats_group_create(rows, STATS_ROW_COUNT(rows), stats, "p2ps.");
    if (err == MD_OK && config.path[0] && !p2ps->outside_counters)
        err = MD_ERR_NOMEM;
    if (err != MD_OK)
        md_log(MD_LOG_CRITICAL, "authority %s: %s", config.path,
               err == MD_ERR_NOT_FOUND ? "the user of authorityUser is not known here"
               : err == MD_ERR_RANGE   ? "the path is longer than a socket may have (107 bytes)"
                                       : "no memory, or no thread for it");
    if (err != MD_OK || !config.path[0])
        return err;
    p2ps_outside_took_set(p2ps->outside, stats_histogram_add(stats, "p2ps.authorityUs"));
    return MD_OK;
}

void p2ps_outside_fini(struct p2ps *p2ps)
{
    p2ps_outside_destroy(p2ps->outside);
    stats_group_destroy(p2ps->outside_counters);
}

void p2ps_outside_show(struct p2ps *p2ps)
{
    struct p2ps_outside_stats stats;

    if (!p2ps->outside_counters)
        return;
    p2ps_outside_stats(p2ps->outside, &stats);
    stats_group_set(p2ps->outside_counters, &stats);
}

void p2ps_outside_trouble(struct p2ps *p2ps, unsigned trouble)
{
    struct daemon *daemon = &p2ps->daemon;
    struct p2ps_outside_stats stats;

    if (!p2ps->outside_counters)
        return;
    p2ps_outside_stats(p2ps->outside, &stats);
    if (stats.is_up)
        daemon_trouble_gone(&daemon->troubles, trouble, md_loop_now(daemon->loop),
                            "the authority answers again");
    else
        daemon_trouble_here(&daemon->troubles, trouble, md_loop_now(daemon->loop), 0,
                            "the authority is away",
                            "the authority is away: sessions are as authoritySessions says, new "
                            "logins as authorityDown; is its process running, at the socket that "
                            "authority names?");
}
