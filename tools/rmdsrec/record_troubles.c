/* record_troubles.c - what keeps a recorder from its work, and what it does, for its operator. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attach/shm.h"
#include "base/clock.h"
#include "base/text.h"
#include "daemon/backbone.h"
#include "record_daemon.h"

#define NOW_NS     0
#define CONNECT_NS (2 * MD_NS_PER_S)
#define OPEN_NS    (30 * MD_NS_PER_S) /* an item may take so long to open */
#define HANG_NS    (5 * MD_NS_PER_S)  /* the disk takes no data for so long */
#define LATELY_NS  (60 * MD_NS_PER_S) /* what was lost so lately is a trouble still */
#define MB         1e6

/* Troubles; the first one that is there is the one that is shown. */
enum {
    NO_SOURCE,
    CANNOT_WRITE,
    DISK_HANGS,
    DISK_SLOW,
    TOO_LONG,
    DENIED,
    LAPPED,
    NO_PLACE,
    SERVICE_FULL,
    NO_SERVICE,
    NOT_OPEN,
    DISK_LOW
};

/* What a look is about. */
struct look {
    struct record_daemon *self;
    struct daemon_troubles *troubles;
    uint64_t now_ns;
    struct disk_stats disk;
    struct rec_keeper_stats kept;
    struct recorder_figures figures;
    struct tap_stats tap;
};

static void look_init(struct look *look, struct record_daemon *self)
{
    struct recorder *recorder = &self->recorder;

    *look = (struct look){ .self = self,
                           .troubles = &self->daemon.troubles,
                           .now_ns = md_loop_now(self->daemon.loop),
                           .tap = { .why = "" } };
    disk_stats(recorder->disk, &look->disk);
    rec_keeper_stats(recorder->feed.keeper, &look->kept);
    recorder_figures(recorder, &look->figures);
    if (recorder->tap)
        tap_stats(recorder->tap, &look->tap);
}

/* Has the counter grown lately? */
static bool has_grown(struct record_seen *seen, uint64_t count, uint64_t now_ns)
{
    if (count > seen->count)
        seen->grown_ns = now_ns;
    seen->count = count;
    return seen->grown_ns != 0 && now_ns - seen->grown_ns < LATELY_NS;
}

/* ---- where from ---- */

static void look_at_server(const struct look *look)
{
    const struct feed *feed = &look->self->recorder.feed;
    char note[STATS_STRING_BYTES];

    if (feed->state > FEED_LOGIN) {
        daemon_trouble_gone(look->troubles, NO_SOURCE, look->now_ns, "connected to %s:%u",
                            feed->host, feed->port);
        return;
    }
    snprintf(note, sizeof(note), "%s %.36s:%u",
             feed->is_refused ? "login refused by" : "not connected to", feed->host, feed->port);
    daemon_trouble_here(look->troubles, NO_SOURCE, look->now_ns, CONNECT_NS, note,
                        "recordServer %s:%u: %s; trying %s", feed->host, feed->port,
                        feed->reason[0] ? feed->reason : "no answer yet",
                        feed->is_refused ? "again each half minute" : "every second");
}

static void look_at_services(const struct look *look)
{
    const struct feed *feed = &look->self->recorder.feed;
    const struct feed_service *missing = feed_service_missing(feed);
    char note[STATS_STRING_BYTES];

    if (!missing) {
        if (feed->state > FEED_LOGIN)
            daemon_trouble_gone(look->troubles, NO_SERVICE, look->now_ns,
                                "every service is offered");
        return;
    }
    snprintf(note, sizeof(note), "service %.20s is not offered by the server", missing->name);
    daemon_trouble_here(look->troubles, NO_SERVICE, look->now_ns, CONNECT_NS, note,
                        "service %s is not offered by %s:%u; nothing of it is recorded",
                        missing->name, feed->host, feed->port);
}

/* rrcpd is there and says no, or there is none. */
static void look_at_backbone(const struct look *look)
{
    struct record_daemon *self = look->self;
    const struct attach_settings *network = &self->network;
    char path[256] = "", note[STATS_STRING_BYTES];

    (void)attach_socket_path(path, sizeof(path), network->config.run_dir, network->network,
                             network->rrcpd_instance);
    if (look->tap.is_attached || !look->tap.why[0] || access(path, W_OK) != 0) {
        (void)daemon_backbone_look(&self->daemon, NO_SOURCE, network, look->tap.is_attached);
        return;
    }
    snprintf(note, sizeof(note), "%.63s", look->tap.why);
    daemon_trouble_here(look->troubles, NO_SOURCE, look->now_ns, CONNECT_NS, note,
                        "backbone %s: the rrcpd at %s does not serve the recorder: %s; trying "
                        "every second",
                        network->network, path, look->tap.why);
}

static void look_at_rights(const struct look *look)
{
    if (look->tap.denied_why[0])
        daemon_trouble_here(
            look->troubles, DENIED, look->now_ns, NOW_NS, "denied by attachAccess of rrcpd",
            "rrcpd drops what the recorder sends (%s): it needs `%s` of "
            "attachAccess; %" PRIu64 " messages were dropped so far",
            look->tap.denied_why, look->self->recorder.tap_config.follows ? "record" : "consume",
            look->tap.denied);
    else
        daemon_trouble_gone(look->troubles, DENIED, look->now_ns, "nothing is denied any more");
}

/* The ring went round faster than the recorder read it. */
static void look_at_ring(const struct look *look)
{
    if (has_grown(&look->self->overruns, look->tap.overruns, look->now_ns))
        daemon_trouble_here(look->troubles, LAPPED, look->now_ns, NOW_NS,
                            "lapped by the ring of rrcpd within a minute",
                            "too slow for the ring of rrcpd, which has lapped the recorder %" PRIu64
                            " times and lost it %" PRIu64 " records: items are suspect until their "
                            "next image; give mainThreadCpu a CPU, or inboundRing more",
                            look->tap.overruns, look->tap.records_lost);
    else
        daemon_trouble_gone(look->troubles, LAPPED, look->now_ns, "not lapped for a minute");
}

/* ---- what ---- */

static void look_at_places(const struct look *look)
{
    const struct rec_keeper_stats *kept = &look->kept;
    bool is_full = kept->refused_names > 0 && kept->is_full;
    char note[STATS_STRING_BYTES], name[MD_TEXT_DOTTED_MAX + 1];

    if (is_full)
        daemon_trouble_here(look->troubles, NO_PLACE, look->now_ns, NOW_NS,
                            "the recording has all the items it may have",
                            "the recording has %" PRIu64 " items, all that recordItemLimit or "
                            "memoryLimit allow: further ones are not in it; %" PRIu64
                            " times one was left out",
                            kept->items, kept->refused_names);
    if (kept->full_services == 0)
        return;
    md_text_dotted(kept->full_service, strlen(kept->full_service), name);
    if (kept->full_services == 1)
        snprintf(note, sizeof(note), "service %.32s has all its items", name);
    else /* the last one that was refused is another one each second */
        snprintf(note, sizeof(note), "%" PRIu32 " services have all their items",
                 kept->full_services);
    daemon_trouble_here(look->troubles, SERVICE_FULL, look->now_ns, NOW_NS, note,
                        "service %s has as many items in the recording as recordServiceLimit "
                        "allows; further ones are not in it; %" PRIu32 " services are so far, and "
                        "%" PRIu64 " times an item was left out",
                        name, kept->full_services, kept->refused_names);
}

/* Of a list. */
static void look_at_items(const struct look *look)
{
    const struct recorder_figures *figures = &look->figures;

    if (look->self->recorder.tap_config.follows)
        return;
    if (!figures->is_connected) /* they have all their time again */
        daemon_trouble_gone(look->troubles, NOT_OPEN, look->now_ns,
                            "items are asked for again once it is connected");
    else if (figures->open < figures->items)
        daemon_trouble_here(look->troubles, NOT_OPEN, look->now_ns, OPEN_NS,
                            "not every item is open",
                            "%u of %u items are not open: nobody has them, or the recorder may not "
                            "have them",
                            figures->items - figures->open, figures->items);
    else
        daemon_trouble_gone(look->troubles, NOT_OPEN, look->now_ns, "every item is open");
}

/* ---- where to ---- */

static void look_at_writing(const struct look *look)
{
    const struct disk_stats *disk = &look->disk;
    char path[RECORD_PATH_MAX + 16], note[STATS_STRING_BYTES];

    if (disk->error == 0) {
        daemon_trouble_gone(look->troubles, CANNOT_WRITE, look->now_ns, "data are written");
        return;
    }
    disk_tried(look->self->recorder.disk, path, sizeof(path));
    snprintf(note, sizeof(note), "cannot write: %.48s", strerror(disk->error));
    daemon_trouble_here(look->troubles, CANNOT_WRITE, look->now_ns, NOW_NS, note,
                        "cannot write %s: %s; %" PRIu64 " chunks with %" PRIu64
                        " records are lost so far; trying again",
                        path, strerror(disk->error), disk->failed_chunks, disk->failed_records);
}

static bool is_hung(const struct disk_stats *disk)
{
    return disk->busy_ns != 0 && md_clock_mono_ns() > disk->busy_ns + HANG_NS;
}

static void look_at_losses(const struct look *look)
{
    struct record_daemon *self = look->self;
    uint64_t lost = look->kept.lost - look->kept.refused; /* these are longer than a chunk */

    if (has_grown(&self->lost, lost, look->now_ns))
        daemon_trouble_here(look->troubles, DISK_SLOW, look->now_ns, NOW_NS,
                            "messages were lost within a minute: buffer full",
                            "%" PRIu64 " messages found no room in recordBuffer so far: the disk, "
                            "or the thread that writes, is too slow; the file says of which items",
                            lost);
    else
        daemon_trouble_gone(look->troubles, DISK_SLOW, look->now_ns, "nothing lost for a minute");
    if (has_grown(&self->refused, look->kept.refused, look->now_ns))
        daemon_trouble_here(look->troubles, TOO_LONG, look->now_ns, NOW_NS,
                            "messages were lost within a minute: too long",
                            "%" PRIu64 " messages were longer than a recording takes (1,000 KiB) "
                            "so far; the file says of which items",
                            look->kept.refused);
    else
        daemon_trouble_gone(look->troubles, TOO_LONG, look->now_ns,
                            "no message was too long for a minute");
}

static void look_at_disk(const struct look *look)
{
    const struct disk_stats *disk = &look->disk;
    uint64_t low = md_conf_u64(&look->self->daemon.object, "recordDiskLow");

    if (is_hung(disk))
        daemon_trouble_here(look->troubles, DISK_HANGS, look->now_ns, NOW_NS,
                            "the disk takes no data",
                            "the disk takes no data: a write, or a look at it, has not come back; "
                            "%" PRIu64 " of %u MiB of recordBuffer wait",
                            disk->waiting, look->self->recorder.disk_config.chunks);
    else
        daemon_trouble_gone(look->troubles, DISK_HANGS, look->now_ns, "the disk takes data again");
    look_at_losses(look);
    if (disk->free == UINT64_MAX)
        return; /* what was said holds on */
    if (disk->free < low)
        daemon_trouble_here(
            look->troubles, DISK_LOW, look->now_ns, NOW_NS, "the disk is nearly full",
            "the disk is nearly full: %.0f MB are left (recordDiskLow %.0f MB); "
            "%.1f MB/s are written",
            (double)disk->free / MB, (double)low / MB, (double)look->self->recorder.byte_rate / MB);
    else
        daemon_trouble_gone(look->troubles, DISK_LOW, look->now_ns, "the disk has room again");
}

/* True: data that come from now on will be in the file. */
static bool can_record(const struct look *look)
{
    const struct recorder *recorder = &look->self->recorder;

    if (!look->figures.is_connected || look->disk.error != 0 || is_hung(&look->disk))
        return false;
    if (!recorder->is_tap)
        return recorder->feed.state == FEED_UP;
    return !(recorder->tap_config.follows && look->tap.denied_why[0]);
}

bool record_troubles_look(void *owner)
{
    struct record_daemon *self = owner;
    struct look look;

    look_init(&look, self);
    if (self->recorder.is_tap) {
        look_at_backbone(&look);
        look_at_rights(&look);
        look_at_ring(&look);
        if (!look.tap.was_attached)
            daemon_backbone_wait(&self->daemon);
    } else {
        look_at_server(&look);
        look_at_services(&look);
    }
    look_at_writing(&look);
    look_at_disk(&look);
    look_at_places(&look);
    look_at_items(&look);
    return can_record(&look);
}

/* ---- for rmdsctl ---- */

static void tell_disk(const struct look *look, struct daemon_text *text)
{
    const struct disk_stats *disk = &look->disk;
    const struct recorder *recorder = &look->self->recorder;
    char path[RECORD_PATH_MAX + 16];

    disk_path(recorder->disk, path, sizeof(path));
    daemon_text_add(text, "  file %s, %.1f MB, %.2f MB/s; %" PRIu64 " files, %.1f MB in all\n",
                    path[0] ? path : "none", (double)disk->file_bytes / MB,
                    (double)recorder->byte_rate / MB, disk->files, (double)disk->bytes / MB);
    daemon_text_add(text, "  buffer %" PRIu64 " of %u MiB, %" PRIu64 " at most; last chunk ",
                    disk->waiting, recorder->disk_config.chunks, disk->waiting_max);
    if (disk->last_ns)
        daemon_text_add(text, "%.1f s ago",
                        (double)(int64_t)(md_clock_wall_ns() - disk->last_ns) / 1e9);
    else
        daemon_text_add(text, "none yet");
    if (disk->free == UINT64_MAX)
        daemon_text_add(text, "; nobody knows what the disk has free\n");
    else
        daemon_text_add(text, "; %.0f MB of the disk are free\n", (double)disk->free / MB);
    daemon_text_add(text, "  lost %" PRIu64 " messages, %" PRIu64 " chunks%s%s\n", look->kept.lost,
                    disk->failed_chunks, disk->error ? "; now: " : "",
                    disk->error ? strerror(disk->error) : "");
}

void record_troubles_tell(void *owner, struct daemon_text *text)
{
    struct record_daemon *self = owner;
    struct look look;

    look_init(&look, self);
    daemon_text_add(text, "  %s, %s; %u of %u items open, %" PRIu64 " left out\n",
                    self->recorder.source, look.figures.state, look.figures.open,
                    look.figures.items, look.kept.refused_names);
    daemon_text_add(text, "  %" PRIu64 " messages, %" PRIu64 "/s\n", look.kept.messages,
                    self->recorder.rate);
    tell_disk(&look, text);
    if (self->recorder.is_tap)
        daemon_text_add(text,
                        "  lapped %" PRIu64 " times, %" PRIu64 " records lost on the way, %" PRIu64
                        " messages denied%s%s\n",
                        look.tap.overruns, look.tap.records_lost, look.tap.denied,
                        look.tap.denied_why[0] ? "; " : "", look.tap.denied_why);
    else
        daemon_text_add(text, "  connection lost %" PRIu64 " times%s%s\n",
                        self->recorder.feed.stats.lost_connections,
                        self->recorder.feed.reason[0] ? "; " : "", self->recorder.feed.reason);
    for (unsigned i = 0; i < DAEMON_TROUBLES; i++) {
        if (self->daemon.troubles.list[i].said_ns)
            daemon_text_add(text, "  trouble: %s\n", self->daemon.troubles.list[i].note);
    }
}
