/* bench_rrmp_tick.c - what one update costs in the source engine and in the sink engine. */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: tools/rmds bench rrmp_tick
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rrmp/key.h"
#include "rrmp/sink.h"
#include "rrmp/source.h"

#define ITEMS   100000u
#define BATCH   64u
#define MESSAGE 74u
#define ROUNDS  60000u

/* The ring of this benchmark: a batch of messages in private memory. */
struct batch {
    uint8_t bytes[4096][512];
    struct backbone_target targets[4096];
    size_t lengths[4096];
    size_t count;
};

static uint8_t *reserve(void *context, const struct backbone_target *target, size_t length)
{
    struct batch *batch = context;

    if (batch->count == 4096 || length > 512)
        return NULL;
    batch->targets[batch->count] = *target;
    return batch->bytes[batch->count];
}

static void commit(void *context, size_t length)
{
    struct batch *batch = context;

    if (length == 0)
        return;
    batch->lengths[batch->count++] = length;
}

static unsigned fill(void *context)
{
    return ((struct batch *)context)->count > 2000 ? 200 : 0;
}

static uint64_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct batch down, up;
static uint32_t source_items[ITEMS];
static uint32_t opened;

static void source_take(struct rrmp_source *source, uint64_t now_ns)
{
    const struct rrmp_part part = {
        .is_first = true, .is_last = true, .is_cached = true, .is_solicited = true, .state = 9
    };
    struct rrmp_source_event event;
    uint8_t *room;

    while (rrmp_source_event(source, &event, 1) == 1) {
        if (event.kind != RRMP_SOURCE_WANTED)
            continue;
        source_items[opened++] = event.item;
        if (rrmp_source_image_begin(source, now_ns, event.item, &part, MESSAGE, &room) == 0) {
            memset(room, 0, MESSAGE);
            rrmp_source_publish_commit(source, MESSAGE);
        }
    }
}

static size_t sink_take(struct rrmp_sink *sink)
{
    struct rrmp_sink_event events[BATCH];
    size_t count, total = 0;

    while ((count = rrmp_sink_event(sink, events, BATCH)) > 0) {
        for (size_t i = 0; i < count; i++)
            total += events[i].kind == RRMP_SINK_MESSAGE;
    }
    return total;
}

static uint8_t flags_of(const struct backbone_target *target)
{
    return target->path == BACKBONE_PATH_UNICAST ? BACKBONE_FLAG_UNICAST : 0;
}

/* Everything sent so far arrives at the other side. */
static size_t to_sink(struct rrmp_sink *sink, uint64_t now_ns)
{
    struct backbone_event messages[BATCH];
    size_t total = 0;

    for (size_t i = 0; i < down.count;) {
        size_t count = 0;
        while (count < BATCH && i + count < down.count) {
            messages[count] =
                (struct backbone_event){ .type = BACKBONE_MESSAGE,
                                         .session = 1,
                                         .src_port = 1,
                                         .flags = flags_of(&down.targets[i + count]),
                                         .dst_port = down.targets[i + count].port,
                                         .topic = down.targets[i + count].topic,
                                         .bytes = down.bytes[i + count],
                                         .length = (uint32_t)down.lengths[i + count] };
            count++;
        }
        i += rrmp_sink_input(sink, now_ns, messages, count);
        total += sink_take(sink);
    }
    down.count = 0;
    return total;
}

static void to_source(struct rrmp_source *source, uint64_t now_ns)
{
    for (size_t i = 0; i < up.count; i++) {
        struct backbone_event message = { .type = BACKBONE_MESSAGE,
                                          .session = 2,
                                          .src_port = 1,
                                          .dst_port = up.targets[i].port,
                                          .bytes = up.bytes[i],
                                          .length = (uint32_t)up.lengths[i] };
        rrmp_source_input(source, now_ns, &message, 1);
        source_take(source, now_ns);
    }
    up.count = 0;
}

static void open_all(struct rrmp_source *source, struct rrmp_sink *sink, uint64_t *now_ns)
{
    for (uint32_t i = 0; i < ITEMS; i++) {
        uint8_t name[16], bytes[64];
        int length = snprintf((char *)name, sizeof(name), "ITEM%u", i);
        const struct rrmp_key key = {
            .domain = 6, .members = RRMP_KEY_NAME, .name_type = 1, .name = { name, (size_t)length }
        };
        struct md_wr wr = md_wr_init(bytes, sizeof(bytes));
        rrmp_key_encode(&wr, &key);
        const struct rrmp_sink_open open = { .key = { bytes, md_wr_length(&wr) }, .user = i };
        uint32_t item;
        if (rrmp_sink_item_open(sink, *now_ns, &open, &item) != 0)
            exit(1);
        if (i % 100 == 99) {
            *now_ns += 1000000;
            rrmp_sink_tick(sink, *now_ns, true);
            to_source(source, *now_ns);
            to_sink(sink, *now_ns);
        }
    }
}

int main(void)
{
    struct rrmp_source_config source_config = {
        .name = "bench",
        .send = { .context = &down, .reserve = reserve, .commit = commit, .fill = fill }
    };
    struct rrmp_sink_config sink_config = {
        .send = { .context = &up, .reserve = reserve, .commit = commit, .fill = fill },
        .open_window_minimum = 1000
    };
    const struct rrmp_service service = { .state = 3, .name = { (const uint8_t *)"S", 1 } };
    struct rrmp_source *source;
    struct rrmp_sink *sink;
    uint64_t now_ns = 1000000000;
    uint16_t svc;

    if (rrmp_source_create(&source_config, &source) != 0 ||
        rrmp_sink_create(&sink_config, &sink) != 0 ||
        rrmp_source_service_offer(source, now_ns, &service, &svc) != 0)
        return 1;
    rrmp_sink_input(
        sink, now_ns,
        &(struct backbone_event){ .type = BACKBONE_ATTACHED, .session = 2, .dst_port = 1 }, 1);
    rrmp_source_input(
        source, now_ns,
        &(struct backbone_event){ .type = BACKBONE_ATTACHED, .session = 1, .dst_port = 1 }, 1);
    to_sink(sink, now_ns);
    uint64_t start = clock_ns();
    open_all(source, sink, &now_ns);
    printf("open        %u items, %u live: %.0f ns each, both sides; sink %zu B, source %zu B of "
           "tables each\n",
           opened, rrmp_sink_stats(sink)->live_now, (double)(clock_ns() - start) / ITEMS,
           rrmp_sink_stats(sink)->memory_now / ITEMS,
           rrmp_source_stats(source)->memory_now / ITEMS);

    uint64_t publish_ns = 0, deliver_ns = 0, count = 0, delivered = 0;
    uint32_t at = 0;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint64_t t0 = clock_ns();
        for (uint32_t i = 0; i < BATCH; i++) {
            uint8_t *room;
            at = (at + 7919) % ITEMS;
            if (rrmp_source_publish_begin(source, source_items[at], RRMP_UPDATE, MESSAGE, &room) !=
                0)
                continue;
            memset(room, (int)i, MESSAGE);
            rrmp_source_publish_commit(source, MESSAGE);
            count++;
        }
        uint64_t t1 = clock_ns();
        delivered += to_sink(sink, now_ns);
        deliver_ns += clock_ns() - t1;
        publish_ns += t1 - t0;
    }
    printf("publish     %.1f ns per update of %u bytes\n", (double)publish_ns / (double)count,
           MESSAGE);
    printf("deliver     %.1f ns per update, input and event\n",
           (double)deliver_ns / (double)delivered);
    printf("checked     %llu published, %llu delivered\n", (unsigned long long)count,
           (unsigned long long)delivered);
    rrmp_source_destroy(source);
    rrmp_sink_destroy(sink);
    return count != delivered;
}
