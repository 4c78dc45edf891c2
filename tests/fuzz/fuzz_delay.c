/* fuzz_delay.c - any bytes as a chunk that a line finds on its disk, with the checksum made right.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/siphash.h"
#include "base/writer.h"
#include "delay/delay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHUNK_MAX 4096
#define HEAD      76
#define SEC       1000000000ull

struct found {
    uint8_t bytes[CHUNK_MAX];
    size_t length;
    bool is_there;
};

/* Everything behind the head is the input; of the head, what is not checked. */
static void make_right(struct found *found)
{
    static const uint64_t key[2] = { 0x6f70656e726d6473ull, 0x64656c61796c696eull };
    uint8_t *p = found->bytes;

    if (found->length < HEAD)
        return;
    md_put_be32(p, 0x524D4C4E);
    md_put_be32(p + 4, 1);
    md_put_be64(p + 16, found->length);
    md_put_be64(p + 24, 1);
    md_put_be64(p + 48, 77);
    md_put_be64(p + 8, md_siphash(key, p + 16, found->length - 16));
}

static int next(void *context, uint64_t after, uint64_t *chunk, size_t *length)
{
    const struct found *found = context;

    *chunk = 1;
    *length = found->length;
    return after == 0 ? MD_OK : MD_ERR_NOT_FOUND;
}

static int write_nowhere(void *context, uint64_t chunk, const uint8_t *bytes, size_t length)
{
    (void)context;
    (void)chunk;
    (void)bytes;
    (void)length;
    return MD_OK;
}

static int read_found(void *context, uint64_t chunk, uint8_t *bytes, size_t size, size_t *length)
{
    const struct found *found = context;

    if (chunk != 1 || !found->is_there || found->length > size)
        return MD_ERR_NOT_FOUND;
    memcpy(bytes, found->bytes, found->length);
    *length = found->length;
    return MD_OK;
}

static void remove_found(void *context, uint64_t chunk)
{
    struct found *found = context;

    found->is_there = found->is_there && chunk != 1;
}

static void take_out(struct delay *d, uint64_t now_ns)
{
    static uint8_t part[1u << 16];
    struct delay_event event;
    bool is_last = false;
    size_t length;

    for (unsigned i = 0; i < 2000; i++) {
        delay_next(d, now_ns, &event);
        struct cache_cursor cursor = { 0 };
        while (event.kind == DELAY_EVENT_IMAGE && !is_last &&
               delay_image_part(d, event.item, &cursor, part, sizeof(part), &length, &is_last) ==
                   MD_OK)
            continue;
        if (event.kind == DELAY_EVENT_NONE)
            break;
        delay_done(d, &event);
    }
    delay_tick(d, now_ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct found found;
    struct delay *d;
    const struct delay_config config = {
        .delay_ns = SEC,
        .bytes_max = 1u << 20,
        .chunk_bytes = 4096,
        .message_max = 4096,
        .item_limit = 100,
        .takes_all = true,
        .boot = 1,
        .identity = 77,
        .wall_ns = 500 * SEC,
        .disk = { &found, next, write_nowhere, read_found, remove_found },
    };

    if (size > sizeof(found.bytes))
        return 0;
    found = (struct found){ .length = size, .is_there = true };
    if (size)
        memcpy(found.bytes, data, size);
    make_right(&found);
    if (delay_create(&config, 100 * SEC, &d) != MD_OK)
        abort();
    /* The item A is open at its provider; what the chunk says of it comes out. */
    delay_put(d, 100 * SEC, rwf_bytes((const uint8_t *)"A", 1), DELAY_STATUS, true, true,
              rwf_bytes(NULL, 0));
    delay_ask(d, rwf_bytes((const uint8_t *)"A", 1));
    delay_put(d, 100 * SEC, rwf_bytes((const uint8_t *)"A", 1), DELAY_STATUS, true, true,
              rwf_bytes(NULL, 0));
    take_out(d, 102 * SEC);
    delay_end(d, 102 * SEC, delay_find(d, rwf_bytes((const uint8_t *)"A", 1)), 0, 0);
    take_out(d, 104 * SEC);
    delay_destroy(d);
    return 0;
}
