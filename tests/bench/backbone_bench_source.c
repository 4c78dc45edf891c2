/* backbone_bench_source.c - a source without src_dist: its data prove themselves. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backbone_bench.h"
#include "rmds/rwf.h"
#include "seqdata.h"

#define SEC     1000000000ull
#define TICK_NS 100000ull

struct stream {
    struct rmds_offered *item;
    uint64_t hash;
    uint32_t count;
};

static struct source {
    const struct bench_source_config *config;
    struct rmds_backbone *backbone;
    struct rmds_offer *offer;
    struct stream **streams;
    uint32_t stream_count, stream_room, next;
    uint64_t updates, images, full, begin_ns; /* begin: of publishing at the rate */
} source;

static struct stream *add_stream(struct rmds_offered *item)
{
    struct stream *stream = calloc(1, sizeof(*stream));
    const char *name = rmds_offered_name(item);

    if (source.stream_count == source.stream_room) {
        source.stream_room += 1024;
        source.streams = realloc(source.streams, source.stream_room * sizeof(struct stream *));
    }
    if (!stream || !source.streams)
        abort();
    stream->item = item;
    stream->hash = seqdata_item(name, strlen(name));
    source.streams[source.stream_count++] = stream;
    rmds_offered_set_user(item, stream);
    return stream;
}

static bool on_open(void *owner, struct rmds_offered *item)
{
    (void)owner;
    if (strncmp(rmds_offered_name(item), "IT", 2) != 0)
        return false;
    add_stream(item);
    return true;
}

static void on_image(void *owner, struct rmds_offered *item)
{
    const struct stream *stream = rmds_offered_user(item);
    char name[16];
    uint8_t payload[SEQDATA_IMAGE_MAX];
    struct rmds_data data;

    (void)owner;
    snprintf(name, sizeof(name), "%s",
             rmds_offered_name(item)); /* a snapshot ends with its image */
    rmds_data_init(&data, sizeof(data));
    data.payload.data = payload;
    data.payload.length = seqdata_image(stream->hash, name, strlen(name), stream->count, payload);
    int rc = rmds_offered_image(item, &data);
    if (rc == 0)
        source.images++;
    else if (rc != RMDS_ERROR_FULL)
        printf("%s: image: %s\n", name, rmds_error_text(rc));
}

static void on_close(void *owner, struct rmds_offered *item)
{
    struct stream *stream = rmds_offered_user(item);

    (void)owner;
    if (source.config->item_count)
        return;
    for (uint32_t i = 0; i < source.stream_count; i++) {
        if (source.streams[i] != stream)
            continue;
        source.streams[i] = source.streams[--source.stream_count];
        free(stream);
        return;
    }
}

/* False: the ring is full. */
static bool publish_one(void)
{
    uint8_t payload[SEQDATA_UPDATE_BYTES];
    struct rmds_data data;
    struct stream *stream;

    source.next = source.next + 1 < source.stream_count ? source.next + 1 : 0;
    stream = source.streams[source.next];
    seqdata_update(stream->hash, stream->count + 1, payload);
    rmds_data_init(&data, sizeof(data));
    data.payload = rwf_bytes(payload, sizeof(payload));
    int rc = rmds_offered_update(stream->item, &data);
    if (rc != 0) {
        source.full++;
        return false;
    }
    stream->count++;
    source.updates++;
    return true;
}

static void publish_due(void)
{
    if (source.stream_count == 0) {
        source.begin_ns = 0;
        return;
    }
    if (source.begin_ns == 0) {
        source.begin_ns = rmds_now();
        source.updates = 0;
    }
    uint64_t due =
        source.config->rate
            ? (uint64_t)((double)(rmds_now() - source.begin_ns) / 1e9 * (double)source.config->rate)
            : source.updates + 2000;

    for (int i = 0; i < 2000 && source.updates < due; i++)
        if (!publish_one())
            return;
}

static int open_all(void)
{
    struct rmds_offer_options options;
    char name[16];
    struct rmds_offered *item;
    int rc = rmds_backbone_open(source.config->options, &source.backbone);

    rmds_offer_options_init(&options, sizeof(options));
    options.service = source.config->service;
    options.is_broadcast = source.config->item_count > 0;
    options.on_open = on_open;
    options.on_image = on_image;
    options.on_close = on_close;
    if (rc == 0)
        rc = rmds_offer_open(source.backbone, &options, &source.offer);
    for (uint32_t i = 0; rc == 0 && i < source.config->item_count; i++) {
        snprintf(name, sizeof(name), "IT%u", i);
        rc = rmds_offer_add(source.offer, name, RWF_DOMAIN_MARKET_PRICE, &item);
        if (rc == 0)
            add_stream(item);
    }
    return rc;
}

int bench_source(const struct bench_source_config *config)
{
    uint64_t begin_ns = rmds_now();

    source.config = config;
    int rc = open_all();
    if (rc != 0) {
        fprintf(stderr, "backbone_bench: %s\n", rmds_error_text(rc));
        return 1;
    }
    printf("publishing %s\n", config->service);
    while (!bench_must_end && rmds_now() - begin_ns < config->seconds * SEC) {
        publish_due();
        size_t done = rmds_backbone_turn(source.backbone, rmds_now());
        if (done == 0 && (config->rate || source.stream_count == 0))
            bench_wait(source.backbone, TICK_NS);
    }
    printf("figures updates=%llu images=%llu full=%llu streams=%u\n",
           (unsigned long long)source.updates, (unsigned long long)source.images,
           (unsigned long long)source.full, source.stream_count);
    rmds_offer_close(source.offer);
    rmds_backbone_close(source.backbone);
    for (uint32_t i = 0; i < source.stream_count; i++)
        free(source.streams[i]);
    free(source.streams);
    return 0;
}
