/* recorder.c - a consumer, or a requester, whose messages go into a file. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "record.h"
#include "say.h"

#define TICK_NS      (100 * MD_NS_PER_MS)
#define IMAGES_BYTES (4ull << 30)

static unsigned field_type(void *context, int16_t id)
{
    const struct feed *feed = context;
    const struct rwf_field_def *def =
        feed->has_dictionary ? rwf_dictionary_field(feed->dictionary, id) : NULL;

    return def ? def->rwf_type : 0;
}

/* ---- while it runs ---- */

/* Of one service. Those that nobody named are strangers: none takes the places of the others. */
static uint32_t service_limit(const struct recorder *recorder)
{
    bool has_strangers = recorder->tap_config.follows && recorder->feed.service_count == 0;
    uint32_t all = recorder->item_limit ? recorder->item_limit : REC_ITEMS_MAX;

    return recorder->service_limit ? recorder->service_limit : has_strangers ? (all + 3) / 4 : 0;
}

/* A file without a chunk is not ended by it, and none is waited for. */
static void cut_file(struct recorder *recorder, uint64_t now_ns)
{
    struct disk_stats stats;

    disk_stats(recorder->disk, &stats);
    if (stats.file_chunks > 0)
        recorder->cut_files = stats.files;
    recorder->cut_ns = now_ns;
    rec_keeper_cut_file(recorder->feed.keeper);
}

static void tell_losses(struct recorder *recorder, const struct disk_stats *stats)
{
    struct rec_keeper_stats kept;

    rec_keeper_stats(recorder->feed.keeper, &kept);
    if (kept.lost > recorder->lost_told && !rec_is_daemon)
        rec_print("the disk is too slow: %" PRIu64 " messages found no room; -buffer gives more",
                  kept.lost - recorder->lost_told);
    recorder->lost_told = kept.lost;
    if (stats->failed_chunks > recorder->failed_told) {
        if (!rec_is_daemon && (recorder->failed_told == 0 || stats->failed_chunks % 60 == 0))
            rec_print("cannot write: %s; %" PRIu64 " chunks with %" PRIu64
                      " records are lost so far; the next one is tried",
                      strerror(stats->error), stats->failed_chunks, stats->failed_records);
        recorder->failed_told = stats->failed_chunks;
        rec_keeper_owe_all(recorder->feed.keeper);
    }
}

/* Names that the recording had no place for: once, and once for each service. */
static void tell_refusals(struct recorder *recorder)
{
    struct rec_keeper_stats kept;

    rec_keeper_stats(recorder->feed.keeper, &kept);
    bool has_no_place = kept.is_full && kept.refused_names > recorder->refused_told;
    if (kept.full_services > recorder->full_told)
        rec_print("service %s has as many items in the recording as one service may have, %" PRIu32
                  ": further ones are not in it; -serviceItems allows more",
                  kept.full_service, service_limit(recorder));
    if (has_no_place && !recorder->has_told_full)
        rec_print("a recording has %u items at most: further ones are not in it", REC_ITEMS_MAX);
    recorder->full_told = kept.full_services;
    recorder->has_told_full = recorder->has_told_full || has_no_place;
    recorder->refused_told = kept.refused_names;
}

static void on_tick(void *owner)
{
    struct recorder *recorder = owner;
    struct rec_moment now = { .mono_ns = md_clock_mono_ns(), .wall_ns = md_clock_wall_ns() };
    struct disk_stats stats;

    disk_stats(recorder->disk, &stats);
    tell_losses(recorder, &stats);
    if (!rec_is_daemon) /* which has troubles */
        tell_refusals(recorder);
    bool is_due = (recorder->rotate_bytes && stats.file_bytes >= recorder->rotate_bytes) ||
                  (recorder->rotate_ns && now.mono_ns - recorder->cut_ns >= recorder->rotate_ns);
    if (is_due && stats.file_chunks > 0 && stats.files > recorder->cut_files)
        cut_file(recorder, now.mono_ns);
    if (recorder->tap)
        tap_tick(recorder->tap);
    rec_keeper_tick(recorder->feed.keeper, now);
    recorder_show(recorder, now.mono_ns);
    if (now.mono_ns >= recorder->end_ns) {
        recorder->end_ns = MD_NEVER;
        recorder_stop(recorder);
    }
}

void recorder_rotate(struct recorder *recorder)
{
    cut_file(recorder, md_clock_mono_ns());
}

void recorder_stop(struct recorder *recorder)
{
    if (recorder->is_tap)
        md_loop_stop(recorder->feed.loop);
    else
        feed_stop(&recorder->feed);
}

/* ---- life ---- */

int recorder_start(struct recorder *recorder)
{
    struct feed *feed = &recorder->feed;
    const struct rec_keeper_config keeper = {
        .cache = { .bytes_max = recorder->images_bytes ? recorder->images_bytes : IMAGES_BYTES,
                   .field_type = field_type,
                   .context = feed,
                   .keeps_pages = true },
        .writer = &recorder->writer,
        .image_every_ns = recorder->image_every_ns,
        .items_max = recorder->item_limit,
        .service_max = service_limit(recorder),
    };

    if (!disk_start(&recorder->disk_config, &recorder->disk))
        return MD_ERR_SYS;
    rec_writer_init(&recorder->writer, &disk_ops, recorder->disk);
    if (rec_keeper_create(&keeper, &feed->keeper) != MD_OK ||
        client_context_create(NULL, &feed->context) != MD_OK ||
        md_loop_timer_create(feed->loop, on_tick, recorder, &recorder->tick) != MD_OK) {
        rec_say(MD_LOG_CRITICAL, "out of memory");
        return MD_ERR_NOMEM;
    }
    recorder->cut_ns = md_clock_mono_ns();
    md_loop_timer_every(recorder->tick, TICK_NS);
    if (recorder->is_tap)
        return tap_start(&recorder->tap_config, feed, &recorder->tap) == 0 ? MD_OK : MD_ERR_SYS;
    return feed_start(feed);
}

void recorder_finish(struct recorder *recorder)
{
    if (recorder->feed.keeper)
        rec_writer_flush(&recorder->writer, false);
    disk_stop(recorder->disk);
}

void recorder_fini(struct recorder *recorder)
{
    struct feed *feed = &recorder->feed;

    md_loop_timer_destroy(recorder->tick);
    tap_destroy(recorder->tap);
    feed_fini(feed);
    rec_keeper_destroy(feed->keeper);
    disk_destroy(recorder->disk);
    itemlist_fini(&recorder->list);
    explicit_bzero(feed->password, sizeof(feed->password));
}
