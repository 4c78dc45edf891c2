/* record.c - rmdsrec record: a consumer whose messages go into a file. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "dictionary.h"
#include "rec.h"
#include "record.h"
#include "record_control.h"
#include "usage.h"

#define TICK_NS       (100 * MD_NS_PER_MS)
#define IMAGES_BYTES  (4ull << 30)
#define PASSWORD_FILE 4096u
#define RUN_DIR       "/run/rmds"

static unsigned field_type(void *context, int16_t id)
{
    const struct feed *feed = context;
    const struct rwf_field_def *def =
        feed->has_dictionary ? rwf_dictionary_field(feed->dictionary, id) : NULL;

    return def ? def->rwf_type : 0;
}

/* ---- while it runs ---- */

static void cut_file(struct recorder *recorder, uint64_t now_ns)
{
    struct disk_stats stats;

    disk_stats(recorder->disk, &stats);
    recorder->cut_files = stats.files;
    recorder->cut_ns = now_ns;
    rec_keeper_cut_file(recorder->feed.keeper);
}

static void tell_losses(struct recorder *recorder, const struct disk_stats *stats)
{
    struct rec_keeper_stats kept;

    rec_keeper_stats(recorder->feed.keeper, &kept);
    if (kept.lost > recorder->lost_told)
        fprintf(stderr,
                PROGRAM ": the disk is too slow: %" PRIu64
                        " messages found no room; -buffer gives more\n",
                kept.lost - recorder->lost_told);
    recorder->lost_told = kept.lost;
    if (stats->failed_chunks > recorder->failed_told) {
        if (recorder->failed_told == 0 || stats->failed_chunks % 60 == 0)
            fprintf(stderr,
                    PROGRAM ": cannot write: %s; %" PRIu64 " chunks with %" PRIu64
                            " records are lost so far; the next one is tried\n",
                    strerror(stats->error), stats->failed_chunks, stats->failed_records);
        recorder->failed_told = stats->failed_chunks;
        rec_keeper_owe_all(recorder->feed.keeper);
    }
}

static void on_tick(void *owner)
{
    struct recorder *recorder = owner;
    struct rec_moment now = { .mono_ns = md_clock_mono_ns(), .wall_ns = md_clock_wall_ns() };
    struct disk_stats stats;

    disk_stats(recorder->disk, &stats);
    tell_losses(recorder, &stats);
    bool is_due = (recorder->rotate_bytes && stats.file_bytes >= recorder->rotate_bytes) ||
                  (recorder->rotate_ns && now.mono_ns - recorder->cut_ns >= recorder->rotate_ns);
    if (is_due && stats.files > recorder->cut_files)
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

static void rotate(struct recorder *recorder)
{
    cut_file(recorder, md_clock_mono_ns());
}

static void on_signal(void *owner, int signal)
{
    struct recorder *recorder = owner;

    if (signal == SIGHUP)
        rotate(recorder);
    else
        recorder_stop(recorder);
}

/* ---- the command line ---- */

static int read_password(const char *path, char out[128])
{
    size_t length;

    if (!path)
        return REC_OK;
    char *text = tool_file_read(path, PASSWORD_FILE, &length);
    if (!text) {
        fprintf(stderr, PROGRAM ": cannot read %s: %s\n", path, strerror(errno));
        return REC_FILE;
    }
    length = strcspn(text, "\r\n");
    bool fits = length < 128;
    if (fits) {
        memcpy(out, text, length);
        out[length] = 0;
    }
    explicit_bzero(text, strlen(text));
    free(text);
    return fits ? REC_OK : rec_usage("-pwfile has a password of more than 127 bytes", path);
}

static int understand_host(const char *text, struct feed *feed)
{
    uint64_t port = 14002;
    const char *colon = strrchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : strlen(text);

    if (length == 0 || (colon && !rec_parse_uint(colon + 1, 1, 65535, &port)))
        return rec_usage("-host is HOST or HOST:PORT", text);
    feed->host = strndup(text, length);
    feed->port = (uint16_t)port;
    return feed->host ? REC_OK : REC_FILE;
}

static int understand_sync(const char *text, struct disk_config *disk)
{
    double seconds = 0;

    if (!text || strcmp(text, "none") == 0)
        return REC_OK;
    if (strcmp(text, "chunk") == 0) {
        disk->syncs_chunks = true;
        return REC_OK;
    }
    if (!rec_parse_real(text, 0.001, 86400, &seconds))
        return rec_usage("-sync is none, chunk, or a number of seconds", text);
    disk->sync_ns = (uint64_t)(seconds * 1e9);
    return REC_OK;
}

static int understand_numbers(const struct words *w, struct recorder *recorder)
{
    uint64_t window = 500, buffer = 64, level = 3, megabytes = 0;
    double secs = 0, images = 60, rotate = 0;

    if (!rec_parse_uint(w->window, 1, 1000000, &window))
        return rec_usage("-o is a number of requests, 1 to 1000000", w->window);
    if (!rec_parse_uint(w->buffer, 2, 4096, &buffer))
        return rec_usage("-buffer is a number of MiB, 2 to 4096", w->buffer);
    if (!rec_parse_uint(w->level, 1, 19, &level))
        return rec_usage("-level is 1 to 19", w->level);
    if (!rec_parse_real(w->secs, 0, 1e9, &secs))
        return rec_usage("-secs is a number of seconds", w->secs);
    if (!rec_parse_real(w->images, 0, 86400, &images))
        return rec_usage("-images is a number of seconds", w->images);
    if (!rec_parse_uint(w->rotate_bytes, 1, 1u << 30, &megabytes))
        return rec_usage("-rotateSize is a number of MiB", w->rotate_bytes);
    if (!rec_parse_real(w->rotate_seconds, 1, 1e9, &rotate))
        return rec_usage("-rotateTime is a number of seconds, 1 at least", w->rotate_seconds);
    recorder->feed.window = (uint32_t)window;
    recorder->disk_config.chunks = (unsigned)buffer;
    recorder->disk_config.level = (int)level;
    recorder->image_every_ns = (uint64_t)(images * 1e9);
    recorder->rotate_bytes = megabytes << 20;
    recorder->rotate_ns = (uint64_t)(rotate * 1e9);
    recorder->end_ns = secs > 0 ? md_clock_mono_ns() + (uint64_t)(secs * 1e9) : MD_NEVER;
    return understand_sync(w->sync, &recorder->disk_config);
}

/* The index of a service by name, added where it is new; SERVICES_MAX: too many. */
static size_t service_index(struct feed *feed, const char *name)
{
    size_t i = 0;

    while (i < feed->service_count && strcmp(feed->services[i].name, name) != 0)
        i++;
    if (i == feed->service_count && i < SERVICES_MAX)
        feed->services[feed->service_count++].name = name;
    return i;
}

static int add_items(struct recorder *recorder, uint8_t domain)
{
    struct feed *feed = &recorder->feed;
    size_t given = feed->service_count;
    size_t size = recorder->list.count * (given ? given : 1);

    feed->items = calloc(size ? size : 1, sizeof(*feed->items));
    if (!feed->items)
        return REC_FILE;
    for (size_t i = 0; i < recorder->list.count; i++) {
        const struct itemlist_entry *entry = &recorder->list.entries[i];
        size_t first = entry->service ? service_index(feed, entry->service) : 0;
        size_t end = entry->service ? first + 1 : given;
        if (first == SERVICES_MAX)
            return rec_usage("there are more than 16 services", entry->service);
        if (end == 0)
            return rec_usage("no -S, and no service= in the list, for", entry->name);
        for (size_t s = first; s < end; s++)
            feed->items[feed->item_count++] = (struct feed_item){
                .name = entry->name,
                .name_length = entry->name_length,
                .domain = entry->domain ? entry->domain : domain,
                .service = (uint8_t)s,
            };
    }
    return feed->item_count || recorder->tap_config.follows
               ? REC_OK
               : rec_usage("no items: -f FILE or -il ITEM,...", NULL);
}

static int load_items(const struct words *w, struct recorder *recorder)
{
    struct feed *feed = &recorder->feed;
    unsigned domain = w->domain ? itemlist_domain(w->domain) : RWF_DOMAIN_MARKET_PRICE;
    char error[512];

    if (domain == 0)
        return rec_usage("-md is a domain, a number or a name as MarketPrice", w->domain);
    for (size_t i = 0; i < w->services.count; i++) {
        if (service_index(feed, w->services.item[i]) == SERVICES_MAX)
            return rec_usage("there are more than 16 services", NULL);
    }
    if ((w->list && itemlist_load(&recorder->list, w->list, error, sizeof(error)) != MD_OK) ||
        (w->names &&
         itemlist_add_names(&recorder->list, w->names, error, sizeof(error)) != MD_OK)) {
        fprintf(stderr, PROGRAM ": %s\n", error);
        return REC_FILE;
    }
    if (itemlist_deduplicate(&recorder->list) != MD_OK)
        return REC_FILE;
    return add_items(recorder, (uint8_t)domain);
}

/* What a letter behind a % stands for, in UTC; false: nothing. */
static bool put_time(const struct tm *tm, char letter, char *out, size_t size)
{
    static const char letters[] = "YmdHMS";
    const int values[] = { tm->tm_year + 1900, tm->tm_mon + 1, tm->tm_mday,
                           tm->tm_hour,        tm->tm_min,     tm->tm_sec };
    const char *found = letter ? strchr(letters, letter) : NULL;

    if (letter == '%')
        snprintf(out, size, "%%");
    else if (found)
        snprintf(out, size, "%02d", values[found - letters]);
    return letter == '%' || found;
}

/* The file's name, with the time of its beginning where it asks for that: a recorder that is
 * started again begins another one. False: it is too long, or asks for something else. */
static bool make_path(const char *text, char out[RECORD_PATH_MAX])
{
    time_t now = (time_t)(md_clock_wall_ns() / MD_NS_PER_S);
    char time[16];
    size_t used = 0;
    struct tm tm;

    if (!gmtime_r(&now, &tm))
        return false;
    for (; *text; text++) {
        if (*text != '%')
            snprintf(time, sizeof(time), "%c", *text);
        else if (!put_time(&tm, *++text, time, sizeof(time)))
            return false;
        size_t length = strlen(time);
        if (used + length >= RECORD_PATH_MAX)
            return false;
        memcpy(out + used, time, length);
        used += length;
    }
    out[used] = 0;
    return used > 0;
}

/* A recorder that is started again within a second waits for the next one: another name. */
static bool name_file(const char *text, char out[RECORD_PATH_MAX])
{
    bool is_good = make_path(text, out);

    if (!is_good || !strstr(text, "%S") || access(out, F_OK) != 0)
        return is_good;
    uint64_t left_ns = MD_NS_PER_S - md_clock_wall_ns() % MD_NS_PER_S;
    const struct timespec wait = { .tv_sec = (time_t)(left_ns / MD_NS_PER_S),
                                   .tv_nsec = (long)(left_ns % MD_NS_PER_S) };
    (void)nanosleep(&wait, NULL);
    return make_path(text, out);
}

/* From p2ps, or from the backbone. */
static int understand_tap(const struct words *w, struct recorder *recorder)
{
    if (!w->host == !w->network)
        return rec_usage("-host HOST[:PORT] or -net NETWORK is given, one of them", NULL);
    if (w->host && (w->instance || w->follows))
        return rec_usage("-instance and -follow are for -net", NULL);
    if (w->host && w->run_dir && !w->name)
        return rec_usage("-runDir is for -net and -name", NULL);
    if (w->network && (w->user || w->password_file || w->position || w->application_id ||
                       w->window || w->wire.name))
        return rec_usage("-u, -pwfile, -pos, -aid, -o and -ct are for -host", NULL);
    if (w->follows && (w->list || w->names))
        return rec_usage("-follow takes what others have open, and no -f or -il", NULL);
    recorder->name = w->name;
    recorder->is_tap = w->network != NULL;
    recorder->tap_config = (struct tap_config){
        .network = w->network, .instance = w->instance, .run_dir = w->run_dir, .follows = w->follows
    };
    return REC_OK;
}

static int understand(const struct words *w, struct recorder *recorder)
{
    struct feed *feed = &recorder->feed;
    char error[512];

    int rc = understand_tap(w, recorder);
    if (rc != REC_OK)
        return rc;
    if (wire_make(&w->wire, false, &feed->wire, error, sizeof(error)) != MD_OK)
        return rec_usage(error, NULL);
    feed->user = w->user ? w->user : "rmds";
    feed->position = w->position ? w->position : "127.0.0.1/net";
    feed->application_id = w->application_id ? w->application_id : "256";
    feed->asks_dictionary = true;
    if (w->host)
        rc = understand_host(w->host, feed);
    if (rc == REC_OK)
        rc = understand_numbers(w, recorder);
    if (rc == REC_OK)
        rc = read_password(w->password_file, feed->password);
    if (rc == REC_OK)
        rc = load_items(w, recorder);
    if (w->host)
        snprintf(recorder->source, sizeof(recorder->source), "%.200s as %.40s", w->host,
                 feed->user);
    else
        snprintf(recorder->source, sizeof(recorder->source), "backbone %.200s", w->network);
    recorder->disk_config.path = recorder->path;
    recorder->control_path = w->control;
    if (rc == REC_OK && !name_file(w->file, recorder->path))
        return rec_usage("FILE is longer than 4000 bytes, or has a % without one of YmdHMS%",
                         w->file);
    recorder->disk_config.source = recorder->source;
    return rc;
}

/* ---- all together ---- */

static int start(struct recorder *recorder)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
    struct feed *feed = &recorder->feed;
    const struct rec_keeper_config keeper = {
        .cache = { .bytes_max = IMAGES_BYTES,
                   .field_type = field_type,
                   .context = feed,
                   .keeps_pages = true },
        .writer = &recorder->writer,
        .image_every_ns = recorder->image_every_ns,
    };

    if (!disk_start(&recorder->disk_config, &recorder->disk))
        return REC_FILE;
    rec_writer_init(&recorder->writer, &disk_ops, recorder->disk);
    if (rec_keeper_create(&keeper, &feed->keeper) != MD_OK ||
        md_loop_create(0, &feed->loop) != MD_OK ||
        client_context_create(NULL, &feed->context) != MD_OK ||
        md_loop_timer_create(feed->loop, on_tick, recorder, &recorder->tick) != MD_OK) {
        fprintf(stderr, PROGRAM ": out of memory\n");
        return REC_FILE;
    }
    for (size_t i = 0; i < 3; i++)
        (void)md_loop_signal_add(feed->loop, signals[i], on_signal, recorder,
                                 &recorder->signals[i]);
    recorder->rotate = rotate;
    if (record_control_start(recorder) != MD_OK)
        return REC_FILE;
    if (recorder->name &&
        shown_open(recorder->tap_config.run_dir ? recorder->tap_config.run_dir : RUN_DIR,
                   recorder->name, &recorder->shown) != 0)
        return REC_FILE;
    recorder->cut_ns = md_clock_mono_ns();
    (void)md_loop_timer_every(recorder->tick, TICK_NS);
    if (recorder->is_tap)
        return tap_start(&recorder->tap_config, feed, &recorder->tap) == 0 ? REC_OK : REC_FILE;
    return feed_start(feed) == MD_OK ? REC_OK : REC_FILE;
}

static void stop(struct recorder *recorder)
{
    struct feed *feed = &recorder->feed;

    for (size_t i = 0; i < 3; i++) {
        if (recorder->signals[i])
            md_loop_signal_remove(recorder->signals[i]);
    }
    md_loop_timer_destroy(recorder->tick);
    record_control_stop(recorder);
    shown_close(recorder->shown);
    tap_destroy(recorder->tap);
    feed_fini(feed);
    if (feed->loop)
        md_loop_destroy(feed->loop);
    rec_keeper_destroy(feed->keeper);
    disk_destroy(recorder->disk);
    itemlist_fini(&recorder->list);
    explicit_bzero(feed->password, sizeof(feed->password));
    free(recorder);
}

int record_run(const struct words *words)
{
    struct recorder *recorder = calloc(1, sizeof(*recorder));
    uint64_t cpu_ns = usage_cpu_ns();

    if (!recorder)
        return REC_FILE;
    itemlist_init(&recorder->list);
    int rc = understand(words, recorder);
    if (rc == REC_OK)
        rc = start(recorder);
    if (rc == REC_OK) {
        printf(PROGRAM ": recording into %s\n", recorder->path);
        fflush(stdout);
        (void)md_loop_run(recorder->feed.loop);
        rec_writer_flush(&recorder->writer, false);
        disk_stop(recorder->disk);
        rc = record_report(recorder, usage_cpu_ns() - cpu_ns);
    } else {
        disk_stop(recorder->disk);
    }
    stop(recorder);
    return rc;
}
