/* worker_stats.c - the counters of one worker and its mounts, out to the statistics segment. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "worker.h"

/* One row a counter: its name, and where it stands in struct p2ps_core_stats. */
struct row {
    const char *name;
    size_t offset;
    bool is_level; /* a gauge; else a counter */
    bool is_wide;  /* u64; counters always */
};

#define COUNTER(name, member)                                                                      \
    {                                                                                              \
        name, offsetof(struct p2ps_core_stats, member), false, true                                \
    }
#define LEVEL(name, member)                                                                        \
    {                                                                                              \
        name, offsetof(struct p2ps_core_stats, member), true, false                                \
    }

#define LEVEL_WIDE(name, member)                                                                   \
    {                                                                                              \
        name, offsetof(struct p2ps_core_stats, member), true, true                                 \
    }

static const struct row rows[] = {
    LEVEL("mounts", mounts_now),
    COUNTER("mountsTotal", mounts_total),
    COUNTER("mountsCutSlow", mounts_cut_slow),
    LEVEL("mountsSlowNow", mounts_slow_now),
    LEVEL("itemsOpen", items_now),
    LEVEL("watches", watches_now),
    LEVEL_WIDE("workBytes", work_bytes_now),
    COUNTER("refusedNoMemory", refused_no_memory),
    COUNTER("requestsIn", requests_in),
    COUNTER("closesIn", closes_in),
    COUNTER("updatesIn", updates_in),
    COUNTER("updatesOut", updates_out),
    COUNTER("refreshIn", refresh_in),
    COUNTER("refreshOut", refresh_out),
    COUNTER("statusOut", status_out),
    COUNTER("genericIn", generic_in),
    COUNTER("genericOut", generic_out),
    COUNTER("postsIn", posts_in),
    COUNTER("acksOut", acks_out),
    COUNTER("conflated", conflated),
    COUNTER("noBufferEvents", no_buffer_events),
    COUNTER("loginAccepted", login_accepted),
    COUNTER("loginRejected", login_rejected),
    COUNTER("imagesFromCache", images_from_cache),
    COUNTER("fieldsRippled", fields_rippled),
    MF_COUNTERS(COUNTER, marketfeed),
    LEVEL_WIDE("imagesNow", images_now),
    LEVEL_WIDE("imageBytes", image_bytes_now),
    LEVEL_WIDE("pagesNow", pages_now),
    LEVEL_WIDE("pageBytes", page_bytes_now),
    LEVEL_WIDE("imageEncodedBytes", image_encoded_now),
    LEVEL_WIDE("itemBytes", item_bytes_now),
    LEVEL_WIDE("watchBytes", watch_bytes_now),
    COUNTER("notEntitled", not_entitled),
    COUNTER("decodeErrors", decode_errors),
    COUNTER("gapsSeen", gaps_seen),
    COUNTER("itemsRecovered", items_recovered),
};

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

struct p2ps_worker_stats {
    struct stats_entry *entries[ROW_COUNT];
    struct stats_entry *loop_turns;
    struct stats_entry *loop_max_us;
    struct stats_entry *pool_in_use;
    struct stats_entry *pool_max;
    struct stats_entry *buffers, *buffers_max;
    unsigned calls;
};

#define CALLS_A_SECOND 10

int p2ps_worker_stats_create(struct p2ps_worker *worker)
{
    struct p2ps_worker_stats *stats = calloc(1, sizeof(*stats));
    struct stats_segment *segment = worker->config.daemon->stats;
    unsigned index = worker->config.index;

    if (!stats)
        return MD_ERR_NOMEM;
    for (size_t i = 0; i < ROW_COUNT; i++)
        stats->entries[i] =
            stats_entry_addf(segment, rows[i].is_level ? STATS_KIND_GAUGE : STATS_KIND_COUNTER,
                             "p2ps.worker.%u.%s", index, rows[i].name);
    stats->loop_turns =
        stats_entry_addf(segment, STATS_KIND_COUNTER, "p2ps.worker.%u.loopTurns", index);
    stats->loop_max_us =
        stats_entry_addf(segment, STATS_KIND_GAUGE, "p2ps.worker.%u.loopMaxUs", index);
    stats->pool_in_use =
        stats_entry_addf(segment, STATS_KIND_GAUGE, "p2ps.worker.%u.poolBytes", index);
    stats->pool_max =
        stats_entry_addf(segment, STATS_KIND_GAUGE, "p2ps.worker.%u.poolBytesMax", index);
    stats->buffers =
        stats_entry_addf(segment, STATS_KIND_GAUGE, "p2ps.worker.%u.outBuffersInUse", index);
    stats->buffers_max =
        stats_entry_addf(segment, STATS_KIND_GAUGE, "p2ps.worker.%u.outBuffersMax", index);
    char path[STATS_PATH_BYTES];
    snprintf(path, sizeof(path), "p2ps.worker.%u.turnUs", index);
    md_loop_watch_turns(worker->loop, stats_histogram_add(segment, path));
    worker->stats = stats;
    return MD_OK;
}

void p2ps_worker_stats_destroy(struct p2ps_worker *worker)
{
    free(worker->stats);
    worker->stats = NULL;
}

static void show_many(struct p2ps_worker *worker)
{
    uint64_t buffers, buffers_max;

    p2ps_mounts_show(worker, &buffers, &buffers_max);
    stats_gauge_set(worker->stats->buffers, buffers);
    stats_gauge_set(worker->stats->buffers_max, buffers_max);
    if (worker->config.index == 0)
        p2ps_services_show(worker);
}

void p2ps_worker_stats_show(struct p2ps_worker *worker)
{
    const char *from = (const char *)p2ps_core_stats(worker->core);
    struct p2ps_worker_stats *stats = worker->stats;
    struct rssl_pool_stats pool;

    for (size_t i = 0; i < ROW_COUNT; i++) {
        const char *at = from + rows[i].offset;
        uint64_t value = rows[i].is_wide ? *(const uint64_t *)(const void *)at
                                         : *(const uint32_t *)(const void *)at;
        if (rows[i].is_level)
            stats_gauge_set(stats->entries[i], value);
        else
            md_ctr_set(&stats->entries[i]->value, value);
    }
    md_ctr_set(&stats->loop_turns->value, md_loop_stats(worker->loop)->turns);
    stats_gauge_set(stats->loop_max_us, md_loop_turn_max_take(worker->loop) / 1000);
    rssl_pool_stats(worker->pool, &pool);
    stats_gauge_set(stats->pool_in_use, pool.shared_bytes);
    stats_gauge_set(stats->pool_max, worker->config.pool.shared_bytes);
    if (stats->calls++ % CALLS_A_SECOND == 0)
        show_many(worker);
}
