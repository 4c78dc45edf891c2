/* cache_bench.c - what an image costs in memory, and an update in time. */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: tools/rmds bench cache [OPTION]...
 *
 *   -i IMAGES     images (100000)
 *   -n UPDATES    updates (4000000)
 *   -r            no ripple chains are known
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "cache/cache.h"
#include "seqdata.h"

#define NAME_SIZE   24
#define MESSAGE_MAX 2048

struct bench {
    struct cache *cache;
    struct cache_image **images;
    uint64_t *items; /* what stands for each name */
    size_t count;
    size_t refresh_bytes; /* of all refreshes, as the backbone carries them */
};

_Noreturn static void fail(const char *what)
{
    fprintf(stderr, "cache_bench: %s\n", what);
    exit(1);
}

/* CPU time: an update waits for nothing. */
static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static struct rwf_bytes message_of(uint8_t *buffer, uint8_t msg_class, struct rwf_bytes payload)
{
    struct rwf_encoder enc;
    struct rwf_msg msg = {
        .msg_class = msg_class,
        .domain = RWF_DOMAIN_MARKET_PRICE,
        .container = RWF_TYPE_FIELD_LIST,
        .state = { .stream_state = RWF_STREAM_OPEN, .data_state = RWF_DATA_OK },
        .qos = { .timeliness = RWF_TIMELINESS_REALTIME, .rate = RWF_RATE_TICK_BY_TICK },
        .group_id = rwf_bytes("\0\1", 2),
        .payload = payload,
    };

    if (msg_class == RWF_CLASS_REFRESH)
        msg.flags = RWF_REFRESH_HAS_QOS | RWF_REFRESH_COMPLETE | RWF_REFRESH_CLEAR_CACHE;
    rwf_encoder_init(&enc, buffer, MESSAGE_MAX);
    if (rwf_msg_encode(&enc, &msg) != RWF_OK)
        fail("a message cannot be encoded");
    return rwf_encoder_bytes(&enc);
}

static void make_image(struct bench *b, size_t i)
{
    uint8_t payload[SEQDATA_IMAGE_MAX];
    uint8_t buffer[MESSAGE_MAX];
    char name[NAME_SIZE];
    size_t name_length = (size_t)snprintf(name, sizeof(name), "I%zu.N", i);

    b->items[i] = seqdata_item(name, name_length);
    size_t length = seqdata_image(b->items[i], name, name_length, 0, payload);
    struct rwf_bytes message = message_of(buffer, RWF_CLASS_REFRESH, rwf_bytes(payload, length));
    if (cache_apply(b->cache, &b->images[i], message) != MD_OK)
        fail("a refresh cannot be applied");
    b->refresh_bytes += message.length;
}

/* `count` updates, made beforehand in blocks, so that only applying is measured. */
static double apply_ns(struct bench *b, size_t images, size_t count)
{
    enum { BLOCK = 1024 };
    static uint8_t buffers[BLOCK][128];
    static size_t lengths[BLOCK];
    static size_t which[BLOCK];
    double spent = 0;
    uint64_t random = 1;

    for (size_t done = 0; done < count; done += BLOCK) {
        for (size_t i = 0; i < BLOCK; i++) {
            uint8_t payload[SEQDATA_UPDATE_BYTES];

            random = random * 6364136223846793005ull + 1442695040888963407ull;
            which[i] = (size_t)(random >> 33) % images;
            seqdata_update(b->items[which[i]], (uint32_t)(done + i), payload);
            struct rwf_bytes message =
                message_of(buffers[i], RWF_CLASS_UPDATE, rwf_bytes(payload, sizeof(payload)));
            lengths[i] = message.length;
        }
        double start = now_ns();
        for (size_t i = 0; i < BLOCK; i++)
            if (cache_apply(b->cache, &b->images[which[i]], rwf_bytes(buffers[i], lengths[i])) !=
                MD_OK)
                fail("an update cannot be applied");
        spent += now_ns() - start;
    }
    return spent / (double)count;
}

static double give_ns(const struct bench *b)
{
    static uint8_t out[65536];
    double start = now_ns();

    for (size_t i = 0; i < b->count; i++) {
        struct cache_cursor cursor = { 0 };
        size_t length;
        bool is_last;
        if (cache_image_part(b->images[i], &cursor, out, sizeof(out), &length, &is_last) != MD_OK)
            fail("an image cannot be given out");
    }
    return (now_ns() - start) / (double)b->count;
}

/* ---- ripples ---- */

/* The chains of the suite's own dictionary. */
static struct cache_ripples *load_ripples(void)
{
    static char text[1 << 20];
    struct rwf_dictionary_error error;
    struct rwf_dictionary *dictionary;
    struct cache_ripples *ripples;
    FILE *in = fopen(RMDS_SOURCE_DIR "/conf/RDMFieldDictionary", "re");
    size_t length = in ? fread(text, 1, sizeof(text), in) : 0;

    if (in)
        fclose(in);
    if (rwf_dictionary_create(&dictionary) != MD_OK || cache_ripples_create(&ripples) != MD_OK ||
        rwf_dictionary_load_fields(dictionary, "RDMFieldDictionary", text, length, &error) != MD_OK)
        fail("the dictionary cannot be loaded");
    cache_ripples_learn(ripples, dictionary);
    rwf_dictionary_destroy(dictionary);
    return ripples;
}

static struct rwf_bytes prices(uint8_t *buffer, uint8_t msg_class, const int16_t *ids, size_t count)
{
    uint8_t payload[256];
    size_t at = 3;

    payload[0] = RWF_LIST_HAS_STANDARD_DATA;
    payload[1] = 0;
    payload[2] = (uint8_t)count;
    for (size_t i = 0; i < count; i++) {
        const uint8_t field[] = {
            (uint8_t)(ids[i] >> 8), (uint8_t)ids[i], 3, 0x0c, 0x12, (uint8_t)i
        };
        memcpy(payload + at, field, sizeof(field));
        at += sizeof(field);
    }
    return message_of(buffer, msg_class, rwf_bytes(payload, at));
}

/* Updates of one field of an image that begins with three fields that do not ripple. */
static double field_ns(struct cache *cache, size_t count, int16_t id)
{
    static const int16_t ids[] = { 3, 15, 11, 6, 7, 8, 9, 22, 25 };
    struct cache_image *image = NULL;
    uint8_t buffer[512];

    struct rwf_bytes refresh = prices(buffer, RWF_CLASS_REFRESH, ids, sizeof(ids) / sizeof(ids[0]));
    if (cache_apply(cache, &image, refresh) != MD_OK)
        fail("a refresh cannot be applied");
    struct rwf_bytes update = prices(buffer, RWF_CLASS_UPDATE, &id, 1);
    double start = now_ns();
    for (size_t i = 0; i < count; i++)
        cache_apply(cache, &image, update);
    double spent = now_ns() - start;
    cache_image_free(cache, image);
    return spent / (double)count;
}

static void usage(void)
{
    printf("cache_bench [-i IMAGES] [-n UPDATES] [-r]\n"
           "Images of some 70 fields and the stock update of 12 fields, 74 bytes\n"
           "(docs/sequence-data.md): bytes an image, nanoseconds an update.\n"
           "-r: no ripple chains are known; else those of conf/RDMFieldDictionary.\n");
}

int main(int argc, char **argv)
{
    struct cache_config config = { .ripples = NULL };
    struct bench b = { .count = 100000 };
    size_t updates = 4000000;
    bool no_ripples = false;
    struct cache_ripples *ripples = load_ripples();
    struct cache_stats stats;
    int option;

    while ((option = getopt(argc, argv, "i:n:rh")) != -1) {
        if (option == 'i')
            b.count = strtoul(optarg, NULL, 10);
        else if (option == 'n')
            updates = strtoul(optarg, NULL, 10);
        else if (option == 'r')
            no_ripples = true;
        else {
            usage();
            return option == 'h' ? 0 : 2;
        }
    }
    config.ripples = no_ripples ? NULL : ripples;
    b.images = calloc(b.count, sizeof(struct cache_image *));
    b.items = calloc(b.count, sizeof(*b.items));
    if (b.count == 0 || !b.images || !b.items || cache_create(&config, &b.cache) != MD_OK)
        fail("no memory, or no images");
    size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    for (size_t i = 0; i < b.count; i++)
        make_image(&b, i);
    double hot = apply_ns(&b, 1, updates);
    double cold = apply_ns(&b, b.count, updates);
    size_t after = mallinfo2().uordblks + mallinfo2().hblkhd;
    cache_stats(b.cache, &stats);
    double images = (double)b.count;
    printf("images %zu\n", b.count);
    printf("  encoded, as the backbone carries it  %7.1f B\n", (double)b.refresh_bytes / images);
    printf("  counted by the cache                 %7.1f B\n", (double)stats.bytes_now / images);
    printf("  taken from the heap                  %7.1f B\n", (double)(after - before) / images);
    printf("updates %zu\n", updates);
    printf("  applied to one image                 %7.1f ns\n", hot);
    printf("  applied to any of them               %7.1f ns\n", cold);
    printf("  an image given out                   %7.1f ns\n", give_ns(&b));
    printf("  one field that does not ripple       %7.1f ns\n", field_ns(b.cache, updates, 11));
    printf("  one that moves a chain of three      %7.1f ns\n", field_ns(b.cache, updates, 6));
    for (size_t i = 0; i < b.count; i++)
        cache_image_free(b.cache, b.images[i]);
    cache_destroy(b.cache);
    cache_ripples_destroy(ripples);
    free(b.images);
    free(b.items);
    return 0;
}
