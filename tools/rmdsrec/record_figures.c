/* record_figures.c - what a recorder has counted. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "rec.h"
#include "record.h"

static const char *state_of(const struct feed *feed)
{
    if (feed->state > FEED_LOGIN)
        return feed->state == FEED_UP ? "connected" : "logged in";
    return feed->link ? "connecting" : "disconnected";
}

void recorder_figures(const struct recorder *recorder, struct recorder_figures *out)
{
    const struct feed *feed = &recorder->feed;
    struct tap_stats stats = { .why = "" };

    if (!recorder->is_tap) {
        *out = (struct recorder_figures){ .items = feed->item_count,
                                          .state = state_of(feed),
                                          .is_connected = feed->state > FEED_LOGIN };
        feed_count_items(feed, &out->open, &out->were_open);
        return;
    }
    if (recorder->tap)
        tap_stats(recorder->tap, &stats);
    *out = (struct recorder_figures){
        .open = stats.open,
        .were_open = stats.open,
        .items = recorder->tap_config.follows ? stats.items : feed->item_count,
        .state = stats.is_attached ? "attached" : "not attached",
        .is_connected = stats.is_attached,
    };
}

void recorder_show(struct recorder *recorder, uint64_t now_ns)
{
    struct recorder_figures figures;
    struct rec_keeper_stats kept;
    struct disk_stats disk;
    struct tap_stats tap = { .why = "" };

    if (!recorder->shown)
        return;
    recorder_figures(recorder, &figures);
    rec_keeper_stats(recorder->feed.keeper, &kept);
    disk_stats(recorder->disk, &disk);
    if (recorder->tap)
        tap_stats(recorder->tap, &tap);
    if (now_ns - recorder->second_ns >= MD_NS_PER_S) {
        recorder->rate = (kept.messages - recorder->second_messages) * MD_NS_PER_S /
                         (now_ns - recorder->second_ns);
        recorder->byte_rate =
            (disk.bytes - recorder->second_bytes) * MD_NS_PER_S / (now_ns - recorder->second_ns);
        recorder->second_messages = kept.messages;
        recorder->second_bytes = disk.bytes;
        recorder->second_ns = now_ns;
    }
    const struct shown_figures shown = {
        .is_connected = figures.is_connected,
        .items = figures.items,
        .items_open = figures.open,
        .messages = kept.messages,
        .bytes = kept.bytes,
        .images = kept.images,
        .messages_lost = kept.lost,
        .rate = recorder->rate,
        .byte_rate = recorder->byte_rate,
        .files = disk.files,
        .file_bytes = disk.file_bytes,
        .chunks = disk.chunks,
        .chunk_bytes = disk.bytes,
        .records = disk.records,
        .chunks_lost = disk.failed_chunks,
        .last_chunk_ns = disk.last_ns,
        .buffer = disk.waiting,
        .buffer_max = disk.waiting_max,
        .buffer_size = recorder->disk_config.chunks,
        .disk_free = disk.free,
        .links_lost = recorder->feed.stats.lost_connections,
        .suspects = tap.suspects,
        .overruns = tap.overruns,
        .records_lost = tap.records_lost,
        .denied = tap.denied,
        .refused = kept.refused_names,
    };
    char trouble[160] = "";
    if (disk.error)
        snprintf(trouble, sizeof(trouble), "cannot write: %s", strerror(disk.error));
    else if (!shown.is_connected)
        snprintf(trouble, sizeof(trouble), "%s",
                 recorder->is_tap && *tap.why ? tap.why : figures.state);
    else if (*tap.denied_why)
        snprintf(trouble, sizeof(trouble), "%s", tap.denied_why);
    else if (tap.too_many > 0)
        snprintf(trouble, sizeof(trouble), "too many items: %u are recorded", tap.items);
    shown_set(recorder->shown, now_ns, &shown, trouble);
}

/* ---- at the end ---- */

static int report_tap(const struct recorder *recorder, const struct recorder_figures *figures)
{
    struct tap_stats stats = { .why = "" };

    if (recorder->tap)
        tap_stats(recorder->tap, &stats);
    printf("backbone    %" PRIu64 " records lost on the way, lapped %" PRIu64 " times; %" PRIu64
           " times an item became suspect\n",
           stats.records_lost, stats.overruns, stats.suspects);
    if (stats.not_recorded > 0)
        printf("            %" PRIu64 " items of another quality, or with more than a name, are "
               "not recorded\n",
               stats.not_recorded);
    if (!stats.was_attached)
        return REC_NO_LOGIN;
    if (recorder->tap_config.follows && stats.denied > 0 && stats.items == 0)
        return REC_DENIED;
    return recorder->tap_config.follows || figures->were_open == figures->items ? REC_OK
                                                                                : REC_NOT_OPEN;
}

int record_report(struct recorder *recorder, uint64_t cpu_ns)
{
    const struct feed *feed = &recorder->feed;
    struct rec_keeper_stats kept;
    struct disk_stats disk;
    struct recorder_figures figures;

    rec_keeper_stats(feed->keeper, &kept);
    disk_stats(recorder->disk, &disk);
    recorder_figures(recorder, &figures);
    printf("items       %u of %u were open, %" PRIu64 " refusals\n", figures.were_open,
           figures.items, feed->stats.refused);
    printf("messages    %" PRIu64 ", %" PRIu64 " bytes; %" PRIu64 " images of the recorder's\n",
           kept.messages, kept.bytes, kept.images);
    printf("written     %" PRIu64 " files, %" PRIu64 " chunks, %" PRIu64 " bytes\n", disk.files,
           disk.chunks, disk.bytes);
    if (kept.messages > 0)
        printf("each        %.1f bytes and %.2f us of CPU for a message\n",
               (double)disk.bytes / (double)kept.messages,
               (double)cpu_ns / 1e3 / (double)kept.messages);
    printf("buffer      %" PRIu64 " of %u MiB were in use at most\n", disk.waiting_max,
           recorder->disk_config.chunks);
    printf("lost        %" PRIu64 " messages, %" PRIu64 " chunks; the connection %" PRIu64
           " times\n",
           kept.lost, disk.failed_chunks, feed->stats.lost_connections);
    for (size_t i = 0; i < feed->service_count; i++) {
        if (!recorder->is_tap && feed->stats.logins > 0 && !feed->services[i].was_known)
            printf("missing     service %s was not offered by %s:%u\n", feed->services[i].name,
                   feed->host, feed->port);
    }
    if (feed->stats.errors + kept.not_kept > 0)
        printf("errors      %" PRIu64 " messages not understood, %" PRIu64 " without an image\n",
               feed->stats.errors, kept.not_kept);
    if (kept.lost + disk.failed_chunks > 0)
        return REC_DAMAGED;
    if (recorder->is_tap)
        return report_tap(recorder, &figures);
    if (feed->stats.logins == 0)
        return REC_NO_LOGIN;
    return figures.were_open == figures.items ? REC_OK : REC_NOT_OPEN;
}
