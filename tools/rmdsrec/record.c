/* record.c - rmdsrec record: a recorder by the command line, until a signal or its time ends it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "rec.h"
#include "record.h"
#include "record_control.h"
#include "say.h"
#include "usage.h"

#define RUN_DIR "/run/rmds"

static void on_signal(void *owner, int signal)
{
    struct recorder *recorder = owner;

    if (signal == SIGHUP)
        recorder_rotate(recorder);
    else
        recorder_stop(recorder);
}

/* ---- the command line ---- */

static int read_password(struct recorder *recorder, const char *path)
{
    int rc = path ? recorder_password(recorder, path) : MD_OK;

    if (rc == MD_ERR_RANGE)
        return rec_usage("-pwfile has a password of more than 127 bytes", path);
    if (rc != MD_OK)
        rec_print("cannot read %s: %s", path, strerror(errno));
    return rc == MD_OK ? REC_OK : REC_FILE;
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
    uint64_t window = 500, buffer = 64, level = 3, megabytes = 0, service = 0;
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
    if (!rec_parse_uint(w->service_items, 1, REC_ITEMS_MAX, &service))
        return rec_usage("-serviceItems is a number of items, 1 to 1048576", w->service_items);
    recorder->service_limit = (uint32_t)service;
    recorder->feed.window = (uint32_t)window;
    recorder->disk_config.chunks = (unsigned)buffer;
    recorder->disk_config.level = (int)level;
    recorder->image_every_ns = (uint64_t)(images * 1e9);
    recorder->rotate_bytes = megabytes << 20;
    recorder->rotate_ns = (uint64_t)(rotate * 1e9);
    recorder->end_ns = secs > 0 ? md_clock_mono_ns() + (uint64_t)(secs * 1e9) : MD_NEVER;
    return understand_sync(w->sync, &recorder->disk_config);
}

static int load_items(const struct words *w, struct recorder *recorder)
{
    unsigned domain = w->domain ? itemlist_domain(w->domain) : RWF_DOMAIN_MARKET_PRICE;
    char error[512];

    if (domain == 0)
        return rec_usage("-md is a domain, a number or a name as MarketPrice", w->domain);
    if (recorder_add_services(recorder, w->services.item, w->services.count, error,
                              sizeof(error)) != MD_OK)
        return rec_usage(error, NULL);
    if ((w->list && itemlist_load(&recorder->list, w->list, error, sizeof(error)) != MD_OK) ||
        (w->names &&
         itemlist_add_names(&recorder->list, w->names, error, sizeof(error)) != MD_OK)) {
        rec_print("%s", error);
        return REC_FILE;
    }
    if (itemlist_deduplicate(&recorder->list) != MD_OK)
        return REC_FILE;
    if (recorder_add_items(recorder, (uint8_t)domain, error, sizeof(error)) != MD_OK)
        return rec_usage(error, NULL);
    return recorder->feed.item_count || recorder->tap_config.follows
               ? REC_OK
               : rec_usage("no items: -f FILE or -il ITEM,...", NULL);
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
    if (w->host && recorder_host(recorder, w->host) != MD_OK)
        return rec_usage("-host is HOST or HOST:PORT", w->host);
    rc = understand_numbers(w, recorder);
    if (rc == REC_OK)
        rc = read_password(recorder, w->password_file);
    if (rc == REC_OK)
        rc = load_items(w, recorder);
    if (w->host)
        snprintf(recorder->source, sizeof(recorder->source), "%.200s as %.40s", w->host,
                 feed->user);
    else
        snprintf(recorder->source, sizeof(recorder->source), "backbone %.200s", w->network);
    recorder->control_path = w->control;
    recorder->disk_config.source = recorder->source;
    if (rc == REC_OK && !recorder_name_file(recorder, w->file, NULL))
        return rec_usage("FILE is longer than 4000 bytes, or has a % without one of YmdHMS%",
                         w->file);
    return rc;
}

/* ---- all together ---- */

static int start(struct recorder *recorder)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
    struct feed *feed = &recorder->feed;

    if (md_loop_create(0, &feed->loop) != MD_OK) {
        rec_print("out of memory");
        return REC_FILE;
    }
    for (size_t i = 0; i < 3; i++)
        (void)md_loop_signal_add(feed->loop, signals[i], on_signal, recorder,
                                 &recorder->signals[i]);
    if (recorder_start(recorder) != MD_OK || record_control_start(recorder) != MD_OK)
        return REC_FILE;
    if (recorder->name &&
        shown_open(recorder->tap_config.run_dir ? recorder->tap_config.run_dir : RUN_DIR,
                   recorder->name, &recorder->shown) != 0)
        return REC_FILE;
    return REC_OK;
}

static void stop(struct recorder *recorder)
{
    struct md_loop *loop = recorder->feed.loop;

    for (size_t i = 0; i < 3; i++) {
        if (recorder->signals[i])
            md_loop_signal_remove(recorder->signals[i]);
    }
    record_control_stop(recorder);
    shown_close(recorder->shown);
    recorder_fini(recorder);
    if (loop)
        md_loop_destroy(loop);
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
    }
    recorder_finish(recorder);
    if (rc == REC_OK)
        rc = record_report(recorder, usage_cpu_ns() - cpu_ns);
    stop(recorder);
    return rc;
}
