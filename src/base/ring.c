/* ring.c - see base/ring.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/ring.h"

#include "base/assert.h"
#include "base/err.h"

static bool is_size(uint64_t size)
{
    return size >= MD_RING_SIZE_MIN && size <= MD_RING_SIZE_MAX && (size & (size - 1)) == 0;
}

int md_ring_format(void *memory, uint32_t size)
{
    struct md_ring_memory *ring = memory;

    if (!is_size(size))
        return MD_ERR_RANGE;
    ring->magic = MD_RING_MAGIC;
    ring->size = size;
    atomic_store_explicit(&ring->tail, 0, memory_order_relaxed);
    md_sleep_flag_clear(&ring->consumer_sleeps);
    md_sleep_flag_clear(&ring->reader_sleeps);
    atomic_store_explicit(&ring->reader_cursor, 0, memory_order_relaxed);
    atomic_store_explicit(&ring->head, 0, memory_order_release);
    return MD_OK;
}

int md_ring_producer_init(struct md_ring_producer *producer, void *memory, size_t bytes)
{
    struct md_ring_memory *ring = memory;

    *producer = (struct md_ring_producer){ 0 };
    if (bytes < md_ring_bytes(MD_RING_SIZE_MIN) || ring->magic != MD_RING_MAGIC)
        return MD_ERR_MALFORMED;
    if (!is_size(ring->size) || md_ring_bytes(ring->size) > bytes)
        return MD_ERR_MALFORMED;
    producer->memory = ring;
    producer->data = (uint8_t *)memory + MD_RING_DATA;
    producer->size = ring->size;
    producer->next = atomic_load_explicit(&ring->head, memory_order_relaxed);
    producer->last = producer->next;
    producer->tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
    return MD_OK;
}

static void put_head(struct md_ring_producer *producer, uint64_t position, uint64_t word)
{
    uint64_t at = position & (producer->size - 1);

    atomic_store_explicit(&producer->memory->data[at / 8], word, memory_order_relaxed);
}

/* Is there room up to `end`? Looks at the consumer's tail, its cache line, only when it must. */
static bool has_room(struct md_ring_producer *producer, uint64_t end)
{
    if (end - producer->tail <= producer->size)
        return true;
    producer->tail = atomic_load_explicit(&producer->memory->tail, memory_order_acquire);
    return end - producer->tail <= producer->size;
}

void *md_ring_claim(struct md_ring_producer *producer, uint32_t length, uint16_t type,
                    uint16_t flags)
{
    uint64_t at = producer->next & (producer->size - 1);
    uint64_t stride = md_record_stride(length);
    uint64_t pad = at + stride > producer->size ? producer->size - at : 0;

    MD_ASSERT(length >= MD_RECORD_HEAD_BYTES && type != MD_RECORD_PAD);
    if (stride > producer->size / 2 || !has_room(producer, producer->next + pad + stride)) {
        producer->full_count++;
        return NULL;
    }
    if (pad) {
        put_head(producer, producer->next, md_record_pack((uint32_t)pad, MD_RECORD_PAD, 0));
        producer->next += pad;
        at = 0;
    }
    put_head(producer, producer->next, md_record_pack(length, type, flags));
    producer->last = producer->next;
    producer->next += stride;
    return producer->data + at;
}

void md_ring_trim(struct md_ring_producer *producer, uint32_t length)
{
    uint64_t at = producer->last & (producer->size - 1);
    uint64_t word = atomic_load_explicit(&producer->memory->data[at / 8], memory_order_relaxed);
    struct md_record record = md_record_unpack(word);

    MD_ASSERT(producer->last < producer->next && length <= record.length);
    MD_ASSERT(length == 0 || length >= MD_RECORD_HEAD_BYTES);
    if (length)
        put_head(producer, producer->last, md_record_pack(length, record.type, record.flags));
    producer->next = producer->last + md_record_stride(length);
}

bool md_ring_commit(struct md_ring_producer *producer)
{
    struct md_ring_memory *ring = producer->memory;

    /* seq_cst: release for the data, and ordered against the flag (see doorbell.h) */
    atomic_store_explicit(&ring->head, producer->next, memory_order_seq_cst);
    producer->last = producer->next;
    return md_sleep_flag_take(&ring->consumer_sleeps);
}

uint32_t md_ring_room(struct md_ring_producer *producer)
{
    producer->tail = atomic_load_explicit(&producer->memory->tail, memory_order_acquire);
    uint64_t used = producer->next - producer->tail;
    uint64_t free_bytes = used < producer->size ? producer->size - used : 0;
    uint64_t to_end = producer->size - (producer->next & (producer->size - 1));
    uint64_t room = free_bytes;

    if (free_bytes > to_end) /* either before the end, or after a PAD up to the end */
        room = to_end > free_bytes - to_end ? to_end : free_bytes - to_end;
    return (uint32_t)(room < producer->size / 2 ? room : producer->size / 2);
}

int md_ring_consumer_init(struct md_ring_consumer *consumer, void *memory, size_t bytes)
{
    *consumer = (struct md_ring_consumer){ 0 };
    if (bytes < MD_RING_DATA || !is_size(bytes - MD_RING_DATA))
        return MD_ERR_RANGE;
    consumer->memory = memory;
    consumer->data = (const uint8_t *)memory + MD_RING_DATA;
    consumer->size = bytes - MD_RING_DATA;
    consumer->next = atomic_load_explicit(&consumer->memory->tail, memory_order_relaxed) &
                     ~(uint64_t)(MD_RECORD_ALIGN - 1);
    consumer->head = consumer->next;
    return MD_OK;
}

/* Copy head once and believe it only if it is where a producer could have put it. */
static int look(struct md_ring_consumer *consumer)
{
    uint64_t head = atomic_load_explicit(&consumer->memory->head, memory_order_acquire);

    if (head == consumer->next)
        return MD_ERR_AGAIN;
    if (head - consumer->next > consumer->size || head % MD_RECORD_ALIGN != 0)
        return MD_ERR_MALFORMED;
    consumer->head = head;
    return MD_OK;
}

const uint8_t *md_ring_read(struct md_ring_consumer *consumer, struct md_record *record,
                            int *result)
{
    for (;;) {
        if (consumer->next == consumer->head) {
            *result = look(consumer);
            if (*result)
                return NULL;
        }
        uint64_t at = consumer->next & (consumer->size - 1);
        uint64_t word = atomic_load_explicit(&consumer->memory->data[at / 8], memory_order_relaxed);
        struct md_record copy = md_record_unpack(word);
        uint64_t stride = md_record_stride(copy.length);
        uint64_t to_end = consumer->size - at;

        if (copy.length < MD_RECORD_HEAD_BYTES || stride > to_end ||
            stride > consumer->head - consumer->next ||
            (copy.type == MD_RECORD_PAD && stride != to_end)) {
            *result = MD_ERR_MALFORMED;
            return NULL;
        }
        consumer->next += stride;
        if (copy.type == MD_RECORD_PAD)
            continue;
        *record = copy;
        *result = MD_OK;
        return consumer->data + at;
    }
}

void md_ring_release(struct md_ring_consumer *consumer)
{
    atomic_store_explicit(&consumer->memory->tail, consumer->next, memory_order_release);
}

bool md_ring_consumer_arm(struct md_ring_consumer *consumer)
{
    md_sleep_flag_set(&consumer->memory->consumer_sleeps);
    /* seq_cst against the producer's store of head (see doorbell.h) */
    if (consumer->next == consumer->head &&
        atomic_load_explicit(&consumer->memory->head, memory_order_seq_cst) == consumer->next)
        return true;
    md_sleep_flag_clear(&consumer->memory->consumer_sleeps);
    return false;
}

void md_ring_consumer_disarm(struct md_ring_consumer *consumer)
{
    md_sleep_flag_clear(&consumer->memory->consumer_sleeps);
}
