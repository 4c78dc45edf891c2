/*
 * fuzz_base_ring.c - any bytes are the memory of a ring whose producer is hostile; a record given
 * to the consumer lies within the ring, and the producer's own view holds out, too.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/ring.h"

#define SIZE 1024u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void consume(void *memory, size_t bytes)
{
    struct md_ring_consumer consumer;
    struct md_record record = { 0 };
    const uint8_t *start = (const uint8_t *)memory + MD_RING_DATA;
    const uint8_t *at;
    uint64_t total = 0;
    uint8_t sum = 0;
    int result;

    if (md_ring_consumer_init(&consumer, memory, bytes) != MD_OK)
        abort();
    while ((at = md_ring_read(&consumer, &record, &result)) != NULL) {
        if (at < start || record.length < MD_RECORD_HEAD_BYTES || record.length > SIZE ||
            (size_t)(at - start) > SIZE - record.length || record.type == MD_RECORD_PAD)
            abort();
        for (uint32_t i = 0; i < record.length; i++)
            sum = (uint8_t)(sum + at[i]);
        total += md_record_stride(record.length);
        if (total > SIZE)
            abort(); /* head was looked at once, so no more than the ring holds can come */
    }
    if (result != MD_ERR_AGAIN && result != MD_ERR_MALFORMED)
        abort();
    (void)md_ring_consumer_arm(&consumer);
    md_ring_release(&consumer);
    if (sum == 1 && total == 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t bytes = md_ring_bytes(SIZE);
    void *memory = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
    struct md_ring_producer producer;

    if (!memory)
        return 0;
    memset(memory, 0, bytes);
    memcpy(memory, data, size < bytes ? size : bytes);
    consume(memory, bytes);
    if (md_ring_producer_init(&producer, memory, bytes) == MD_OK) {
        for (uint32_t length = 8; length < 200; length += 31) {
            void *record = md_ring_claim(&producer, length, 1, 0);
            if (record)
                memset((uint8_t *)record + 8, 0, length - 8);
        }
        (void)md_ring_commit(&producer);
    }
    free(memory);
    return 0;
}
