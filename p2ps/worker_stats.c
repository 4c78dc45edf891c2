/* worker_stats.c - the counters of one worker and its mounts, out to the statistics segment. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "stats/rows.h"
#include "worker.h"
#include "ws_front.h"

#define COUNTER(name, member) STATS_ROW(STATS_KIND_COUNTER, name, struct p2ps_core_stats, member)
#define LEVEL(name, member)   STATS_ROW(STATS_KIND_GAUGE, name, struct p2ps_core_stats, member)
#define REASON(name, member)  COUNTER("toldBecause." name, member)

static const struct stats_row rows[] = {
    LEVEL("mounts", mounts_now),
    COUNTER("mountsTotal", mounts_total),
    COUNTER("mountsCutSlow", mounts_cut_slow),
    LEVEL("mountsSlowNow", mounts_slow_now),
    LEVEL("itemsOpen", items_now),
    LEVEL("watches", watches_now),
    LEVEL("workBytes", work_bytes_now),
    COUNTER("refusedNoMemory", refused_no_memory),
    COUNTER("refusedAudit", refused_audit),
    COUNTER("refusedLimit", refused_limit),
    COUNTER("loginsThrottled", logins_throttled),
    COUNTER("requestsThrottled", requests_throttled),
    COUNTER("postsThrottled", posts_throttled),
    LEVEL("logins", logins_now),
    COUNTER("requestsIn", requests_in),
    COUNTER("closesIn", closes_in),
    COUNTER("updatesIn", updates_in),
    COUNTER("updatesOut", updates_out),
    COUNTER("refreshIn", refresh_in),
    COUNTER("refreshOut", refresh_out),
    COUNTER("statusOut", status_out),
    P2PS_REASON_ROWS(REASON, reasons),
    COUNTER("genericIn", generic_in),
    COUNTER("genericOut", generic_out),
    COUNTER("postsIn", posts_in),
    COUNTER("acksOut", acks_out),
    COUNTER("conflated", conflated),
    COUNTER("updatesMerged", updates_merged),
    LEVEL("updatesPending", pending_updates_now),
    LEVEL("pendingBytes", pending_bytes_now),
    COUNTER("pendingRefused", pending_refused),
    LEVEL("mountsConflatedNow", mounts_conflated_now),
    COUNTER("workerBehind", lags),
    COUNTER("slowMerged", slow_merged),
    COUNTER("slowLost", backlog_lost),
    LEVEL("slowStreams", backlog_streams_now),
    LEVEL("slowBytes", backlog_bytes_now),
    COUNTER("noBufferEvents", no_buffer_events),
    COUNTER("loginAccepted", login_accepted),
    COUNTER("loginRejected", login_rejected),
    COUNTER("imagesFromCache", images_from_cache),
    COUNTER("fieldsRippled", fields_rippled),
    MF_COUNTERS(COUNTER, marketfeed),
    LEVEL("imagesNow", images_now),
    LEVEL("imageBytes", image_bytes_now),
    LEVEL("pagesNow", pages_now),
    LEVEL("pageBytes", page_bytes_now),
    LEVEL("imageEncodedBytes", image_encoded_now),
    COUNTER("recordsWrongTopic", wrong_topic),
    LEVEL("itemBytes", item_bytes_now),
    LEVEL("watchBytes", watch_bytes_now),
    COUNTER("notEntitled", not_entitled),
    COUNTER("loginsExpired", logins_expired),
    COUNTER("loginsRevoked", logins_revoked),
    COUNTER("reissuesGood", reissues_good),
    COUNTER("reissuesBad", reissues_bad),
    COUNTER("updatesWithheld", updates_withheld),
    COUNTER("entriesRemoved", entries_removed),
    COUNTER("postsDenied", posts_denied),
    COUNTER("dryRunDenied", dry_run_denied),
    COUNTER("decodeErrors", decode_errors),
    COUNTER("gapsSeen", gaps_seen),
    COUNTER("itemsRecovered", items_recovered),
    COUNTER("itemsMoved", items_moved),
    COUNTER("itemsResumed", items_resumed),
    COUNTER("itemsPreempted", items_preempted),
};

struct p2ps_worker_stats {
    struct stats_entry *entries[STATS_ROW_COUNT(rows)];
    struct stats_entry *loop_turns;
    struct stats_entry *loop_max_us;
    struct stats_entry *gave_way;
    struct stats_entry *websockets, *choked;
    struct stats_entry *pool_refused;
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
    char prefix[32];

    if (!stats)
        return MD_ERR_NOMEM;
    snprintf(prefix, sizeof(prefix), "p2ps.worker.%u.", index);
    stats_rows_add(rows, STATS_ROW_COUNT(rows), segment, prefix, stats->entries);
    stats->loop_turns =
        stats_entry_addf(segment, STATS_KIND_COUNTER, "p2ps.worker.%u.loopTurns", index);
    stats->loop_max_us =
        stats_entry_addf(segment, STATS_KIND_GAUGE, "p2ps.worker.%u.loopMaxUs", index);
    stats->gave_way =
        stats_entry_addf(segment, STATS_KIND_COUNTER, "p2ps.worker.%u.mountsGaveWay", index);
    stats->websockets =
        stats_entry_addf(segment, STATS_KIND_GAUGE, "p2ps.worker.%u.mountsWebSocket", index);
    stats->choked =
        stats_entry_addf(segment, STATS_KIND_COUNTER, "p2ps.worker.%u.answersHeldBack", index);
    stats->pool_refused =
        stats_entry_addf(segment, STATS_KIND_COUNTER, "p2ps.worker.%u.poolRefused", index);
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
    int err = index == 0 ? p2ps_user_stats_create(&worker->user_stats) : MD_OK;
    return err == MD_OK ? p2ps_service_stats_create(&worker->service_stats) : err;
}

void p2ps_worker_stats_destroy(struct p2ps_worker *worker)
{
    p2ps_service_stats_destroy(worker->service_stats);
    worker->service_stats = NULL;
    p2ps_user_stats_destroy(worker->user_stats);
    worker->user_stats = NULL;
    free(worker->stats);
    worker->stats = NULL;
}

static void show_many(struct p2ps_worker *worker)
{
    uint64_t buffers, buffers_max;

    p2ps_mounts_show(worker, &buffers, &buffers_max);
    stats_gauge_set(worker->stats->buffers, buffers);
    stats_gauge_set(worker->stats->buffers_max, buffers_max);
    p2ps_services_show(worker);
    if (worker->user_stats)
        p2ps_users_show(worker);
}

void p2ps_worker_stats_show(struct p2ps_worker *worker)
{
    struct p2ps_worker_stats *stats = worker->stats;
    struct rssl_pool_stats pool;

    stats_rows_set(rows, STATS_ROW_COUNT(rows), stats->entries, p2ps_core_stats(worker->core));
    md_ctr_set(&stats->gave_way->value, worker->gave_way);
    md_ctr_set(&stats->choked->value, worker->choked);
    stats_gauge_set(stats->websockets,
                    atomic_load_explicit(&worker->ws_count, memory_order_relaxed));
    md_ctr_set(&stats->loop_turns->value, md_loop_stats(worker->loop)->turns);
    stats_gauge_set(stats->loop_max_us, md_loop_turn_max_take(worker->loop) / 1000);
    rssl_pool_stats(worker->pool, &pool);
    md_ctr_set(&stats->pool_refused->value,
               pool.refused_count + (worker->ws ? ws_pool_refused(worker->ws->pool) : 0));
    stats_gauge_set(stats->pool_in_use, pool.shared_bytes);
    stats_gauge_set(stats->pool_max, worker->config.pool.shared_bytes);
    if (stats->calls++ % CALLS_A_SECOND == 0)
        show_many(worker);
}
