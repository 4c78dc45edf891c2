/* route_stats.c - the counters of the route loop, out to the statistics segment. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "route_loop.h"
#include "stats/rows.h"

#define COUNTER(name, member) STATS_ROW(STATS_KIND_COUNTER, name, struct srcdist_core_stats, member)
#define LEVEL(name, member)   STATS_ROW(STATS_KIND_GAUGE, name, struct srcdist_core_stats, member)

static const struct stats_row rows[] = {
    LEVEL("providers", providers_now),
    LEVEL("services", services_now),
    LEVEL("servicesUp", services_up_now),
    LEVEL("items", items_now),
    LEVEL("itemsPending", pending_now),
    LEVEL("itemsOpen", open_now),
    LEVEL("imagesNow", cache.images_now),
    LEVEL("imageBytes", cache.bytes_now),
    LEVEL("pagesNow", cache.pages_now),
    LEVEL("pageBytes", cache.page_bytes_now),
    LEVEL("imageEncodedBytes", cache.encoded_now),
    LEVEL("itemBytes", item_bytes_now),
    COUNTER("messagesIn", messages_in),
    COUNTER("updatesIn", updates_in),
    COUNTER("updatesOut", updates_out),
    COUNTER("updatesFiltered", updates_filtered),
    COUNTER("updatesMerged", updates_merged),
    LEVEL("updatesPending", pending_updates_now),
    LEVEL("pendingBytes", pending_bytes_now),
    COUNTER("refreshIn", refresh_in),
    COUNTER("refreshOut", refresh_out),
    COUNTER("statusIn", status_in),
    COUNTER("statusOut", status_out),
    COUNTER("requestsOut", requests_out),
    COUNTER("reissuesOut", reissues_out),
    COUNTER("closesOut", closes_out),
    COUNTER("postsOut", posts_out),
    COUNTER("acksIn", acks_in),
    COUNTER("decodeErrors", decode_errors),
    COUNTER("unknownStreams", unknown_streams),
    COUNTER("backboneRefused", backbone_refused),
    COUNTER("cacheApplied", cache_applied),
    COUNTER("cacheFailed", cache_failed),
    COUNTER("fieldsRippled", cache.rippled),
    MF_COUNTERS(COUNTER, marketfeed),
    LEVEL("replayItems", replay_items_now),
    LEVEL("replayBytes", replay_bytes_now),
    LEVEL("replayBytesMax", replay_bytes_max),
    COUNTER("replayCut", replay_cut),
    COUNTER("resumed", resumed),
    COUNTER("replayed", replayed),
    COUNTER("resumesRefused.notReady", resumes_refused[SRCDIST_UNALIGNED_NOT_READY]),
    COUNTER("resumesRefused.tooOld", resumes_refused[SRCDIST_UNALIGNED_TOO_OLD]),
    COUNTER("resumesRefused.notEqual", resumes_refused[SRCDIST_UNALIGNED_OTHER]),
    COUNTER("resumesRefused.behind", resumes_refused[SRCDIST_UNALIGNED_BEHIND]),
    COUNTER("resumesRefused.full", resumes_refused[SRCDIST_UNALIGNED_FULL]),
    COUNTER("loginsRefused", logins_refused),
    COUNTER("loginsEnded", logins_ended),
    COUNTER("servicesRefused", services_refused),
    COUNTER("servicesLooped", services_looped),
    COUNTER("descriptionsRefused", descriptions_refused),
    COUNTER("servicesForgotten", services_forgotten),
    COUNTER("itemsRefused", items_refused),
    COUNTER("itemsPreempted", items_preempted),
    COUNTER("requestDataRefused", request_data_refused),
    COUNTER("itemsTakenOver", items_taken_over),
    COUNTER("messagesHeld", messages_held),
    COUNTER("placesGiven", places_given),
    LEVEL("delayedItems", delayed.items_now),
    LEVEL("delayedBytes", delayed.bytes_now),
    LEVEL("delayedImageBytes", delayed.image_bytes_now),
    LEVEL("delayedBehindUs", delayed_behind_us),
    COUNTER("delayedTaken", delayed.taken),
    COUNTER("delayedDropped", delayed.dropped),
    COUNTER("delayedGaps", delayed.gaps),
    COUNTER("delayedChunksLost", delayed.chunks_lost),
    LEVEL("dictionaries", dictionaries_now),
    COUNTER("dictionariesFailed", dictionaries_failed),
    COUNTER("dictionaryConflicts", dictionary_conflicts),
};

struct route_loop_stats {
    struct stats_entry *entries[STATS_ROW_COUNT(rows)];
    struct stats_entry *loop_turns;
    struct stats_entry *loop_max_us;
    struct stats_entry *input_cut;
    struct stats_entry *greeting_ended;
    struct stats_entry *hosts_ended, *hosts_refused;
    struct stats_entry *outbound_use, *outbound_size;
    unsigned calls;
};

#define CALLS_A_SECOND 10

int route_loop_stats_create(struct route_loop *loop)
{
    struct route_loop_stats *stats = calloc(1, sizeof(*stats));
    struct stats_segment *segment = loop->config.daemon->stats;
    const char *group = loop->config.stats_group;
    char path[STATS_PATH_BYTES];

    if (!stats)
        return MD_ERR_NOMEM;
    snprintf(path, sizeof(path), "src_dist.%s", group);
    stats_rows_add(rows, STATS_ROW_COUNT(rows), segment, path, stats->entries);
    stats->loop_turns =
        stats_entry_addf(segment, STATS_KIND_COUNTER, "src_dist.%sloopTurns", group);
    stats->loop_max_us = stats_entry_addf(segment, STATS_KIND_GAUGE, "src_dist.%sloopMaxUs", group);
    stats->input_cut =
        stats_entry_addf(segment, STATS_KIND_COUNTER, "src_dist.%s%s", group, "inputCut");
    stats->greeting_ended =
        stats_entry_addf(segment, STATS_KIND_COUNTER, "src_dist.%s%s", group, "handshakesEnded");
    stats->hosts_ended =
        stats_entry_addf(segment, STATS_KIND_COUNTER, "src_dist.%s%s", group, "connectionsEnded");
    stats->hosts_refused =
        stats_entry_addf(segment, STATS_KIND_COUNTER, "src_dist.%s%s", group, "connectionsRefused");
    stats->outbound_use =
        stats_entry_addf(segment, STATS_KIND_GAUGE, "src_dist.%soutboundUse", group);
    stats->outbound_size =
        stats_entry_addf(segment, STATS_KIND_GAUGE, "src_dist.%soutboundSize", group);
    snprintf(path, sizeof(path), "src_dist.%sturnUs", group);
    md_loop_watch_turns(loop->loop, stats_histogram_add(segment, path));
    loop->stats = stats;
    return MD_OK;
}

void route_loop_stats_destroy(struct route_loop *loop)
{
    free(loop->stats);
    loop->stats = NULL;
}

void route_loop_stats_show(struct route_loop *loop)
{
    struct route_loop_stats *stats = loop->stats;
    size_t used, size;

    stats_rows_set(rows, STATS_ROW_COUNT(rows), stats->entries, srcdist_core_stats(loop->core));
    md_ctr_set(&stats->loop_turns->value, md_loop_stats(loop->loop)->turns);
    stats_gauge_set(stats->loop_max_us, md_loop_turn_max_take(loop->loop) / 1000);
    md_ctr_set(&stats->input_cut->value, loop->input_cut);
    md_ctr_set(&stats->greeting_ended->value, loop->greeting_ended);
    md_ctr_set(&stats->hosts_ended->value, loop->hosts_ended);
    md_ctr_set(&stats->hosts_refused->value, loop->hosts_refused);
    attach_fill(loop->attach, &used, &size);
    stats_gauge_set(stats->outbound_use, used);
    stats_gauge_set(stats->outbound_size, size);
    if (stats->calls++ % CALLS_A_SECOND == 0) {
        link_stats_show(loop);
        link_misuse_tell(loop);
    }
}
