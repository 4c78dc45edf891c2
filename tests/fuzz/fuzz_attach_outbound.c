/* fuzz_attach_outbound.c - any bytes are a user's outbound ring, and a request on the attach
 * socket: the daemon must only read inside the ring, and either read on or throw the user out. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "attach/shm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RING = 65536, STEPS = 5000 };

/* The ring ends with its allocation, so that a sanitizer sees the first byte read beyond it. */
static struct attach_outbound_map *make(const uint8_t *data, size_t size)
{
    struct attach_outbound_map *map =
        aligned_alloc(ATTACH_PAGE, sizeof(struct attach_outbound_map) + RING);
    uint64_t head = 0;

    if (!map)
        abort();
    memset(map, 0, sizeof(*map));
    memset(map->data, 0, RING);
    memcpy(&head, data, size < 8 ? size : 8);
    atomic_store(&map->head, head);
    if (size > 8)
        memcpy(map->data, data + 8, size - 8 < RING ? size - 8 : RING);
    return map;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct attach_outbound_map *map = make(data, size);
    struct attach_outbound_reader reader;
    struct attach_request request;
    struct rrcp_msg msg;
    volatile uint8_t sum = 0;

    attach_outbound_reader_init(&reader, map, RING);
    for (int i = 0; i < STEPS && attach_outbound_peek(&reader, &msg) > 0; i++) {
        if (msg.bytes < map->data || msg.bytes + msg.length > map->data + RING)
            abort();
        for (uint32_t b = 0; b < msg.length; b++)
            sum = (uint8_t)(sum + msg.bytes[b]);
        attach_outbound_take(&reader);
        attach_outbound_release(&reader);
    }
    if (reader.head - reader.tail > RING)
        abort();
    if (attach_request_check(data, size, &request) == 0 && request.name[ATTACH_NAME_MAX - 1])
        abort();
    free(map);
    return 0;
}
