/* fuzz_conflate.c - any updates one after the other: what is merged of them can be decoded. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>

#include "conflate/conflate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROOM 4096

/* Low ids are chains and texts: bytes that an input easily has. */
static int16_t ripples_to(void *context, int16_t id)
{
    (void)context;
    return id > 0 && id < 12 ? (int16_t)(id + 1) : 0;
}

static unsigned field_type(void *context, int16_t id)
{
    (void)context;
    return id % 3 == 0 ? 0 : id % 3 == 1 ? RWF_TYPE_RMTES : RWF_TYPE_REAL;
}

static void must_be_good(struct rwf_bytes message)
{
    struct rwf_msg msg;

    if (rwf_msg_decode(message, &msg) != RWF_OK || msg.msg_class != RWF_CLASS_UPDATE)
        abort();
}

/* A message of the engine itself, down to each entry. */
static void must_be_whole(struct rwf_bytes message)
{
    struct rwf_msg msg;
    struct rwf_field_list list;
    struct rwf_field field;
    struct rwf_map map;
    struct rwf_map_entry entry;
    int rc = rwf_msg_decode(message, &msg);

    if (rc == RWF_OK && msg.container == RWF_TYPE_MAP) {
        rc = rwf_map_decode(msg.payload, &map);
        while (rc >= 0 && (rc = rwf_map_next(&map, &entry)) > 0)
            continue;
    } else if (rc == RWF_OK) {
        rc = rwf_field_list_decode(msg.payload, NULL, &list);
        while (rc >= 0 && (rc = rwf_field_list_next(&list, &field)) > 0)
            continue;
    }
    if (rc < 0)
        abort();
}

/* Each message has its length in front, the first of them is an image. */
static struct rwf_bytes next(const uint8_t **data, size_t *size)
{
    size_t length = *size ? (*data)[0] : 0;

    if (length + 1 > *size)
        length = *size ? *size - 1 : 0;
    struct rwf_bytes bytes = rwf_bytes(*data + 1, length);
    *data += *size ? length + 1 : 0;
    *size -= *size ? length + 1 : 0;
    return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct conflate *c;
    static uint8_t bytes[ROOM];
    const struct conflate_config config = { .field_type = field_type, .ripples_to = ripples_to };
    struct conflate_pending pending = { .bytes = bytes, .room = ROOM };
    struct rwf_bytes spelled, out;

    if (!c && conflate_create(&config, &c) != 0)
        abort();
    if (size < 2)
        return 0;
    struct rwf_bytes image = next(&data, &size);
    if (image.length == 0)
        image = rwf_bytes(NULL, 0);
    pending.has_info = image.length % 2;
    pending.takes_image = image.length / 2 % 2;
    for (uint64_t now_ns = 0; size > 0; now_ns += 40000000000ull) {
        struct rwf_bytes update = next(&data, &size);
        enum conflate_result result = conflate_add(c, &pending, update, image, now_ns);
        if (result == CONFLATE_FLUSH) {
            conflate_clear(&pending);
            if (conflate_add(c, &pending, update, image, now_ns) == CONFLATE_FLUSH)
                abort();
        }
        if (pending.length > ROOM)
            abort();
        if (pending.length && conflate_out(c, &pending, image, &out)) {
            must_be_good(out);
            must_be_whole(out);
        }
        if (conflate_spell(c, update, image, &spelled))
            must_be_whole(spelled);
        if (result == CONFLATE_PASS)
            conflate_clear(&pending);
    }
    return 0;
}
