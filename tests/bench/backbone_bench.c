/* backbone_bench.c - an application on the backbone: opens items, checks every message, measures.
 * `backbone_bench items` opens items, `publish` is their source, `send` and `hear` are the two ends
 * of a topic. It prints a line for each event of interest, and one with all figures at the end. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backbone_bench.h"
#include "rmds/rwf.h"
#include "seqdata.h"

#define SEC 1000000000ull

struct item {
    struct rmds_item *item;
    char name[16];
    uint64_t hash;
    uint32_t count;
    bool has_image, is_suspect;
};

struct bench {
    struct rmds_backbone_options options;
    const char *service;
    uint32_t item_count;
    uint64_t updates_wanted, seconds;
    uint64_t rate, messages;
    const char *topic;
    char why[256];
    uint32_t size, tick_us;
    bool is_raw, is_broadcast;
    struct rmds_backbone *backbone;
    struct item *items;
    uint32_t images, suspect_now, closed;
    uint64_t updates, suspects, recovered, undetected, wrong;
    uint64_t begin_ns, images_ns, first_ns, last_ns;
};

static struct bench bench;
volatile sig_atomic_t bench_must_end;

static void on_signal(int number)
{
    (void)number;
    bench_must_end = 1;
}

static void on_image(struct item *item, const struct rmds_item_event *event)
{
    int fid = 0;

    if (event->message &&
        seqdata_image_check(item->hash, item->name, strlen(item->name), event->message->payload,
                            false, &item->count, &fid) != SEQDATA_GOOD)
        bench.wrong++;
    if (!item->has_image && ++bench.images == bench.item_count) {
        bench.images_ns = rmds_now();
        printf("images %u in %.3f s\n", bench.images,
               (double)(bench.images_ns - bench.begin_ns) / 1e9);
    }
    item->has_image = true;
    if (!item->is_suspect || event->state.data_state != RWF_DATA_OK)
        return;
    item->is_suspect = false;
    bench.recovered++;
    if (--bench.suspect_now == 0)
        printf("recovered %llu\n", (unsigned long long)bench.recovered);
}

static void on_update(struct item *item, const struct rmds_item_event *event)
{
    uint32_t count = 0, by;
    int fid = 0;

    if (++bench.updates % 10000 == 0)
        printf("updates %llu\n", (unsigned long long)bench.updates);
    if (!event->message)
        return;
    if (seqdata_update_check(item->hash, event->message->payload, false, &count, &fid) !=
        SEQDATA_GOOD)
        bench.wrong++;
    if (!item->is_suspect && seqdata_step(item->count, count, &by) != SEQDATA_NEXT)
        bench.undetected++;
    item->count = count;
}

static void handle(const struct rmds_item_event *event)
{
    struct item *item = event->user;

    if (event->kind == RMDS_ITEM_IMAGE) {
        on_image(item, event);
    } else if (event->kind == RMDS_ITEM_UPDATE) {
        on_update(item, event);
    } else if (event->kind == RMDS_ITEM_CLOSED) {
        bench.closed++;
        item->item = NULL;
        printf("%s closed, code %u: %.*s\n", item->name, event->state.code,
               (int)event->state.text.length, (const char *)event->state.text.data);
    } else if (event->kind == RMDS_ITEM_STATE && event->state.data_state == RWF_DATA_SUSPECT &&
               !item->is_suspect) {
        item->is_suspect = true;
        bench.suspects++;
        if (bench.suspect_now++ == 0)
            printf("suspect, code %u: %.*s\n", event->state.code, (int)event->state.text.length,
                   (const char *)event->state.text.data);
    }
}

static void on_link(void *owner, bool is_up)
{
    (void)owner;
    printf(is_up ? "attached\n" : "detached\n");
}

static void on_service(void *owner, const char *name, bool is_up)
{
    (void)owner;
    printf("service %s is %s\n", name, is_up ? "up" : "down");
}

static void on_refused(void *owner, int error, const char *why)
{
    (void)owner;
    printf("refused, error %d: %s\n", error, why);
}

static void on_denied(void *owner, uint64_t count, const char *what)
{
    (void)owner;
    printf("denied %llu: %s\n", (unsigned long long)count, what);
}

static int open_items(void)
{
    struct rmds_item_request request;

    rmds_item_request_init(&request, sizeof(request));
    request.service = bench.service;
    request.is_raw = bench.is_raw;
    request.handle = handle;
    bench.begin_ns = rmds_now();
    for (uint32_t i = 0; i < bench.item_count; i++) {
        struct item *item = &bench.items[i];

        snprintf(item->name, sizeof(item->name), "IT%u", i);
        item->hash = seqdata_item(item->name, strlen(item->name));
        request.name = item->name;
        request.user = item;
        int rc = rmds_item_open(bench.backbone, &request, &item->item);
        if (rc != 0) {
            fprintf(stderr, "%s: %s\n", item->name, rmds_error_text(rc));
            return rc;
        }
    }
    return 0;
}

static bool is_done(void)
{
    if (bench_must_end || rmds_now() - bench.begin_ns > bench.seconds * SEC)
        return true;
    return bench.images == bench.item_count && bench.updates >= bench.updates_wanted;
}

void bench_wait(const struct rmds_backbone *backbone, uint64_t most_ns)
{
    struct pollfd fd = { .fd = rmds_backbone_descriptor(backbone), .events = POLLIN };
    uint64_t deadline_ns = rmds_backbone_deadline(backbone);
    uint64_t now_ns = rmds_now();
    struct timespec wait = { .tv_nsec = (long)most_ns };

    if (deadline_ns <= now_ns) {
        (void)sched_yield();
        return;
    }
    if (deadline_ns - now_ns < most_ns)
        wait.tv_nsec = (long)(deadline_ns - now_ns);
    (void)ppoll(&fd, 1, &wait, NULL);
}

static double cpu_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void report(double cpu_s)
{
    struct rmds_backbone_stats stats = { .size = sizeof(stats) };
    double seconds = (double)(rmds_now() - bench.images_ns) / 1e9;

    rmds_backbone_stats(bench.backbone, &stats);
    printf("figures images=%u updates=%llu suspects=%llu recovered=%llu undetected=%llu wrong=%llu "
           "closed=%u undecodable=%llu overruns=%llu seconds=%.3f cpu=%.3f\n",
           bench.images, (unsigned long long)bench.updates, (unsigned long long)bench.suspects,
           (unsigned long long)bench.recovered, (unsigned long long)bench.undetected,
           (unsigned long long)bench.wrong, bench.closed, (unsigned long long)stats.undecodable,
           (unsigned long long)stats.overruns, seconds, cpu_s);
}

static int run_items(void)
{
    double cpu_s = 0;
    bool has_images = false;
    int rc = rmds_backbone_open(&bench.options, &bench.backbone);

    if (rc == 0)
        rc = open_items();
    if (rc != 0) {
        fprintf(stderr, "backbone_bench: %s %s\n", rmds_error_text(rc), bench.why);
        return 1;
    }
    while (!is_done()) {
        if (rmds_backbone_turn(bench.backbone, rmds_now()) == 0)
            bench_wait(bench.backbone, 100000000);
        if (!has_images && bench.images == bench.item_count) {
            has_images = true;
            cpu_s = cpu_seconds();
        }
    }
    report(cpu_seconds() - cpu_s);
    for (uint32_t i = 0; i < bench.item_count; i++)
        rmds_item_close(bench.items[i].item);
    (void)rmds_backbone_turn(bench.backbone, rmds_now());
    rmds_backbone_close(bench.backbone);
    return bench.undetected || bench.wrong || bench.images < bench.item_count;
}

static const char usage[] =
    "usage: backbone_bench items|publish|send|hear [OPTION]...\n"
    "  -run-dir DIR -network NET -instance N  of the rrcpd\n"
    "  -S SERVICE -n COUNT    items IT0 .. IT(COUNT-1)\n"
    "  -updates N             items: end after so many; 0: after all images\n"
    "  -raw                   items: messages are not decoded and not checked\n"
    "  -U RATE                publish, send: messages/s of all together; 0: as many as go\n"
    "  -broadcast             publish: the items are there from the beginning\n"
    "  -topic NAME -size BYTES -messages N    send, hear\n"
    "  -busy US               look so long for a message before sleeping; 0\n"
    "  -tick US               send: time between two bursts; 100\n"
    "  -conf FILE             the engine is inside of the program, as this rmds.cnf says\n"
    "  -secs N                end at the latest\n";

static bool take_option(const char *name, const char *value)
{
    if (strcmp(name, "-run-dir") == 0)
        bench.options.run_dir = value;
    else if (strcmp(name, "-network") == 0)
        bench.options.network = value;
    else if (strcmp(name, "-instance") == 0)
        bench.options.instance = value;
    else if (strcmp(name, "-S") == 0)
        bench.service = value;
    else if (strcmp(name, "-n") == 0)
        bench.item_count = (uint32_t)strtoul(value, NULL, 10);
    else if (strcmp(name, "-U") == 0)
        bench.rate = strtoull(value, NULL, 10);
    else if (strcmp(name, "-topic") == 0)
        bench.topic = value;
    else if (strcmp(name, "-size") == 0)
        bench.size = (uint32_t)strtoul(value, NULL, 10);
    else if (strcmp(name, "-tick") == 0)
        bench.tick_us = (uint32_t)strtoul(value, NULL, 10);
    else if (strcmp(name, "-conf") == 0)
        bench.options.configuration = value;
    else if (strcmp(name, "-busy") == 0)
        bench.options.busy_poll_us = (uint32_t)strtoul(value, NULL, 10);
    else if (strcmp(name, "-messages") == 0)
        bench.messages = strtoull(value, NULL, 10);
    else if (strcmp(name, "-updates") == 0)
        bench.updates_wanted = strtoull(value, NULL, 10);
    else if (strcmp(name, "-secs") == 0)
        bench.seconds = strtoull(value, NULL, 10);
    else
        return false;
    return true;
}

static int run(const char *mode)
{
    const struct bench_source_config source = {
        .options = &bench.options,
        .service = bench.service,
        .rate = bench.rate,
        .seconds = bench.seconds,
        .item_count = bench.is_broadcast ? bench.item_count : 0,
    };
    const struct bench_topic_config topic = {
        .options = &bench.options,
        .topic = bench.topic,
        .rate = bench.rate,
        .seconds = bench.seconds,
        .messages = bench.messages,
        .size = bench.size,
        .tick_us = bench.tick_us,
    };

    if (strcmp(mode, "publish") == 0)
        return bench_source(&source);
    if (strcmp(mode, "send") == 0)
        return bench_topic_publish(&topic);
    if (strcmp(mode, "hear") == 0)
        return bench_topic_subscribe(&topic);
    bench.items = calloc(bench.item_count, sizeof(*bench.items));
    return strcmp(mode, "items") == 0 && bench.items ? run_items() : 2;
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGTERM, on_signal);
    rmds_backbone_options_init(&bench.options, sizeof(bench.options));
    bench.options.name = "backbone_bench";
    bench.options.on_link = on_link;
    bench.options.on_service = on_service;
    bench.options.on_refused = on_refused;
    bench.options.on_denied = on_denied;
    bench.options.why = bench.why;
    bench.options.why_size = sizeof(bench.why);
    bench.service = "RDFD";
    bench.item_count = 100;
    bench.seconds = 60;
    bench.topic = "bench";
    bench.size = 100;
    bench.tick_us = 100;
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "-raw") == 0)
            bench.is_raw = true;
        else if (strcmp(argv[i], "-broadcast") == 0)
            bench.is_broadcast = true;
        else if (i + 1 < argc && take_option(argv[i], argv[i + 1]))
            i++;
        else
            argc = 0;
    }
    int code = argc > 1 ? run(argv[1]) : 2;

    if (code == 2)
        fputs(usage, stderr);
    free(bench.items);
    return code;
}
