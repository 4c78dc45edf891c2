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
    COUNTER("fieldsRippled", cache.rippled),
    MF_COUNTERS(COUNTER, marketfeed),
    LEVEL("imagesNow", cache.images_now),
    LEVEL("imageBytes", cache.bytes_now),
    LEVEL("pagesNow", cache.pages_now),
    LEVEL("pageBytes", cache.page_bytes_now),
    LEVEL("imageEncodedBytes", cache.encoded_now),
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

/* Of the worker, beside its core. */
struct figures {
    uint64_t turns, turn_max_us, gave_way, choked, websockets;
    uint64_t pool_refused, pool_bytes, pool_bytes_max, buffers, buffers_max;
};

#define ROW(kind, name, member) STATS_ROW(STATS_KIND_##kind, name, struct figures, member)

static const struct stats_row worker_rows[] = {
    ROW(COUNTER, "loopTurns", turns),        ROW(GAUGE, "loopMaxUs", turn_max_us),
    ROW(COUNTER, "mountsGaveWay", gave_way), ROW(GAUGE, "mountsWebSocket", websockets),
    ROW(COUNTER, "answersHeldBack", choked), ROW(COUNTER, "poolRefused", pool_refused),
    ROW(GAUGE, "poolBytes", pool_bytes),     ROW(GAUGE, "poolBytesMax", pool_bytes_max),
    ROW(GAUGE, "outBuffersInUse", buffers),  ROW(GAUGE, "outBuffersMax", buffers_max),
};

struct p2ps_worker_stats {
    struct stats_group *core, *worker;
    struct figures shown; /* of the worker, last */
    unsigned calls;
};

#define CALLS_A_SECOND 10

int p2ps_worker_stats_create(struct p2ps_worker *worker)
{
    struct p2ps_worker_stats *stats = calloc(1, sizeof(*stats));
    struct stats_segment *segment = worker->config.daemon->stats;
    unsigned index = worker->config.index;
    char prefix[32], path[STATS_PATH_BYTES];

    worker->stats = stats;
    if (!stats)
        return MD_ERR_NOMEM;
    snprintf(prefix, sizeof(prefix), "p2ps.worker.%u.", index);
    stats->core = stats_group_create(rows, STATS_ROW_COUNT(rows), segment, prefix);
    stats->worker = stats_group_create(worker_rows, STATS_ROW_COUNT(worker_rows), segment, prefix);
    if (!stats->core || !stats->worker)
        return MD_ERR_NOMEM;
    snprintf(path, sizeof(path), "%sturnUs", prefix);
    md_loop_watch_turns(worker->loop, stats_histogram_add(segment, path));
    int err = index == 0 ? p2ps_user_stats_create(&worker->user_stats) : MD_OK;
    return err == MD_OK ? p2ps_service_stats_create(&worker->service_stats) : err;
}

void p2ps_worker_stats_destroy(struct p2ps_worker *worker)
{
    p2ps_service_stats_destroy(worker->service_stats);
    p2ps_user_stats_destroy(worker->user_stats);
    if (worker->stats) {
        stats_group_destroy(worker->stats->core);
        stats_group_destroy(worker->stats->worker);
    }
    free(worker->stats);
}

void p2ps_worker_stats_show(struct p2ps_worker *worker)
{
    struct p2ps_worker_stats *stats = worker->stats;
    struct figures *shown = &stats->shown;
    struct rssl_pool_stats pool;

    if (stats->calls++ % CALLS_A_SECOND == 0) {
        p2ps_mounts_show(worker, &shown->buffers, &shown->buffers_max);
        p2ps_services_show(worker);
        if (worker->user_stats)
            p2ps_users_show(worker);
    }
    rssl_pool_stats(worker->pool, &pool);
    shown->turns = md_loop_stats(worker->loop)->turns;
    shown->turn_max_us = md_loop_turn_max_take(worker->loop) / 1000;
    shown->gave_way = worker->gave_way;
    shown->choked = worker->choked;
    shown->websockets = atomic_load_explicit(&worker->ws_count, memory_order_relaxed);
    shown->pool_refused = pool.refused_count + (worker->ws ? ws_pool_refused(worker->ws->pool) : 0);
    shown->pool_bytes = pool.shared_bytes;
    shown->pool_bytes_max = worker->config.pool.shared_bytes;
    stats_group_set(stats->core, p2ps_core_stats(worker->core));
    stats_group_set(stats->worker, shown);
}
