/* user_stats.c - the users with most refusals and items, out to the statistics segment. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "stats/rows.h"
#include "worker.h"

#define ROW(name, member) STATS_ROW(STATS_KIND_GAUGE, name, struct p2ps_use, member)

static const struct stats_row rows[] = {
    ROW("mounts", mounts),      ROW("mountsMax", mounts_max),  ROW("items", items),
    ROW("itemsMax", items_max), ROW("requestsRate", requests), ROW("requestsMax", requests_max),
    ROW("postsRate", posts),    ROW("postsMax", posts_max),    ROW("refused", refused),
};

/* Places in the list: the user of a place is another one from time to time. */
struct p2ps_user_stats {
    int count;
    struct {
        struct stats_entry *user, *host;
        struct stats_entry *entries[STATS_ROW_COUNT(rows)];
    } places[P2PS_PARTIES_TOP];
};

int p2ps_user_stats_create(struct p2ps_user_stats **out)
{
    *out = calloc(1, sizeof(**out));
    return *out ? MD_OK : MD_ERR_NOMEM;
}

void p2ps_user_stats_destroy(struct p2ps_user_stats *stats)
{
    free(stats);
}

static void add_place(struct stats_segment *segment, struct p2ps_user_stats *stats)
{
    int at = stats->count++;
    char prefix[32];

    snprintf(prefix, sizeof(prefix), "p2ps.quota.%d.", at + 1);
    stats->places[at].user = stats_entry_addf(segment, STATS_KIND_STRING, "%suser", prefix);
    stats->places[at].host = stats_entry_addf(segment, STATS_KIND_STRING, "%shost", prefix);
    stats_rows_add(rows, STATS_ROW_COUNT(rows), segment, prefix, stats->places[at].entries);
}

static void remove_place(struct stats_segment *segment, struct p2ps_user_stats *stats)
{
    int at = --stats->count;

    stats_rows_remove(stats->places[at].entries, STATS_ROW_COUNT(rows), segment);
    stats_entry_remove(segment, stats->places[at].user);
    stats_entry_remove(segment, stats->places[at].host);
}

void p2ps_users_show(struct p2ps_worker *worker)
{
    struct stats_segment *segment = worker->config.daemon->stats;
    struct p2ps_user_stats *stats = worker->user_stats;
    struct p2ps_use top[P2PS_PARTIES_TOP];
    int count = p2ps_parties_top(p2ps_core_parties(worker->core), md_clock_mono_ns(), top);

    if (count < 0)
        return; /* there are so many that it takes a while */
    while (stats->count < count)
        add_place(segment, stats);
    while (stats->count > count)
        remove_place(segment, stats);
    for (int i = 0; i < count; i++) {
        stats_string_set(segment, stats->places[i].user, top[i].user);
        stats_string_set(segment, stats->places[i].host, top[i].host);
        stats_rows_set(rows, STATS_ROW_COUNT(rows), stats->places[i].entries, &top[i]);
    }
}
