/* bcast.c - see base/bcast.h, where the order of the accesses is explained. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bcast.h"

#include <string.h>

#include "base/assert.h"
#include "base/err.h"

static bool is_size(uint64_t size)
{
    return size >= MD_BCAST_SIZE_MIN && size <= UINT32_MAX * 16ull && (size & (size - 1)) == 0;
}

int md_bcast_writer_init(struct md_bcast_writer *writer, void *memory, uint64_t size,
                         uint64_t lag_max)
{
    struct md_bcast_memory *ring = memory;

    *writer = (struct md_bcast_writer){ 0 };
    if (!is_size(size))
        return MD_ERR_RANGE;
    ring->version = MD_BCAST_VERSION;
    ring->size = size;
    ring->lag_max = lag_max && lag_max < size ? lag_max : size;
    ring->magic = MD_BCAST_MAGIC;
    atomic_store_explicit(&ring->claimed, 0, memory_order_relaxed);
    atomic_store_explicit(&ring->written, 0, memory_order_release);
    writer->memory = ring;
    writer->size = size;
    return MD_OK;
}

uint32_t md_bcast_record_max(const struct md_bcast_writer *writer)
{
    return (uint32_t)(writer->size / 4 < UINT32_MAX / 2 ? writer->size / 4 : UINT32_MAX / 2);
}

/* Say that everything below `end` may be overwritten; must come before the overwriting. */
static void claim(struct md_bcast_writer *writer, uint64_t end)
{
    if (end <= writer->claimed)
        return;
    writer->claimed = end + MD_BCAST_CLAIM_STEP;
    atomic_store_explicit(&writer->memory->claimed, writer->claimed, memory_order_release);
}

static void put_word(struct md_bcast_writer *writer, uint64_t at, uint64_t word)
{
    atomic_store_explicit(&writer->memory->data[at / 8], word, memory_order_release);
}

/*
 * Copying, eight words at a time: compilers do not unroll loops of atomic accesses, and a record
 * of 1 KiB costs 50 instead of 80 ns this way (base_bench).
 */
static inline void store_word(_Atomic uint64_t *to, const uint8_t *from)
{
    uint64_t word;

    memcpy(&word, from, 8);
    atomic_store_explicit(to, word, memory_order_release);
}

static inline void load_word(uint8_t *to, const _Atomic uint64_t *from)
{
    uint64_t word = atomic_load_explicit(from, memory_order_acquire);

    memcpy(to, &word, 8);
}

static void store_words(_Atomic uint64_t *to, const uint8_t *from, size_t count)
{
    for (; count >= 8; count -= 8, to += 8, from += 64) {
        for (int i = 0; i < 8; i++)
            store_word(&to[i], from + 8 * i);
    }
    for (; count > 0; count--, to++, from += 8)
        store_word(to, from);
}

static void load_words(uint8_t *to, const _Atomic uint64_t *from, size_t count)
{
    for (; count >= 8; count -= 8, to += 64, from += 8) {
        for (int i = 0; i < 8; i++)
            load_word(to + 8 * i, &from[i]);
    }
    for (; count > 0; count--, to += 8, from++)
        load_word(to, from);
}

static void put_bytes(struct md_bcast_writer *writer, uint64_t at, const uint8_t *bytes,
                      size_t length)
{
    uint64_t word = 0;

    store_words(&writer->memory->data[at / 8], bytes, length / 8);
    if (length % 8) {
        memcpy(&word, bytes + length / 8 * 8, length % 8);
        put_word(writer, at + length / 8 * 8, word);
    }
}

uint64_t md_bcast_write(struct md_bcast_writer *writer, uint16_t type, uint16_t flags,
                        const void *head, size_t head_length, const void *body, size_t length)
{
    size_t max = md_bcast_record_max(writer) - MD_RECORD_HEAD_BYTES;

    MD_ASSERT(type != MD_RECORD_PAD && head_length % 8 == 0);
    if (head_length > max || length > max - head_length)
        return UINT64_MAX;
    uint32_t total = (uint32_t)(MD_RECORD_HEAD_BYTES + head_length + length);
    uint64_t stride = md_record_stride(total);
    uint64_t at = writer->next & (writer->size - 1);
    uint64_t pad = at + stride > writer->size ? writer->size - at : 0;

    claim(writer, writer->next + pad + stride);
    if (pad) {
        put_word(writer, at, md_record_pack((uint32_t)pad, MD_RECORD_PAD, 0));
        writer->next += pad;
        at = 0;
    }
    uint64_t position = writer->next;
    put_word(writer, at, md_record_pack(total, type, flags));
    put_bytes(writer, at + MD_RECORD_HEAD_BYTES, head, head_length);
    put_bytes(writer, at + MD_RECORD_HEAD_BYTES + head_length, body, length);
    writer->next += stride;
    writer->records++;
    return position;
}

void md_bcast_commit(struct md_bcast_writer *writer)
{
    /* seq_cst against the readers' sleep flags (see doorbell.h) */
    atomic_store_explicit(&writer->memory->written, writer->next, memory_order_seq_cst);
}

int md_bcast_reader_init(struct md_bcast_reader *reader, const void *memory, size_t bytes)
{
    const struct md_bcast_memory *ring = memory;

    *reader = (struct md_bcast_reader){ 0 };
    if (bytes < MD_BCAST_DATA || ring->magic != MD_BCAST_MAGIC || ring->version != MD_BCAST_VERSION)
        return MD_ERR_MALFORMED;
    if (!is_size(ring->size) || md_bcast_bytes(ring->size) > bytes || ring->lag_max > ring->size)
        return MD_ERR_MALFORMED;
    reader->memory = ring;
    reader->size = ring->size;
    reader->lag_max = ring->lag_max;
    reader->cursor = atomic_load_explicit(&ring->written, memory_order_acquire);
    reader->written = reader->cursor;
    return MD_OK;
}

static uint64_t get_word(const struct md_bcast_reader *reader, uint64_t position)
{
    uint64_t at = position & (reader->size - 1);

    return atomic_load_explicit(&reader->memory->data[at / 8], memory_order_acquire);
}

/* Whole words; the caller has seen to it that they do not pass the end of the ring. */
static void get_words(const struct md_bcast_reader *reader, uint64_t position, uint8_t *to,
                      size_t bytes)
{
    load_words(to, &reader->memory->data[(position & (reader->size - 1)) / 8], bytes / 8);
}

/* Was what is at the cursor still there when it was copied? Ask after the copying. */
static bool is_whole(const struct md_bcast_reader *reader)
{
    uint64_t claimed = atomic_load_explicit(&reader->memory->claimed, memory_order_acquire);

    return claimed - reader->cursor <= reader->size;
}

static enum md_bcast_result lapped(struct md_bcast_reader *reader, struct md_bcast_batch *batch)
{
    batch->lost_from = reader->cursor;
    reader->written = atomic_load_explicit(&reader->memory->written, memory_order_acquire);
    reader->cursor = reader->written;
    batch->lost_to = reader->cursor;
    reader->lapped_count++;
    reader->lapped_bytes += batch->lost_to - batch->lost_from;
    return MD_BCAST_LAPPED;
}

/* Is there something at the cursor, and is it not too old? Looks at `written` only when it must. */
static enum md_bcast_result look(struct md_bcast_reader *reader, struct md_bcast_batch *batch)
{
    batch->records = NULL;
    batch->length = 0;
    batch->lost_from = batch->lost_to = batch->position = reader->cursor;
    if (reader->cursor == reader->written) {
        uint64_t written = atomic_load_explicit(&reader->memory->written, memory_order_acquire);
        if (written == reader->cursor)
            return MD_BCAST_EMPTY;
        if (written < reader->cursor || written % 8 != 0)
            return MD_BCAST_CORRUPT;
        reader->written = written;
    }
    if (reader->written - reader->cursor > reader->lag_max || !is_whole(reader))
        return lapped(reader, batch);
    return MD_BCAST_READ;
}

/* May a record of this first word stand at `position`? */
static bool is_record(const struct md_bcast_reader *reader, uint64_t position,
                      struct md_record record)
{
    uint64_t to_end = reader->size - (position & (reader->size - 1));
    uint64_t stride = md_record_stride(record.length);

    return record.length >= MD_RECORD_HEAD_BYTES && stride <= to_end &&
           stride <= reader->written - position &&
           (record.type != MD_RECORD_PAD || stride == to_end);
}

/*
 * The first word of the record at the cursor, checked and whole; PADs are stepped over. What is not
 * whole may look like anything, so `claimed` is asked before the word is judged.
 */
static enum md_bcast_result first_word(struct md_bcast_reader *reader, struct md_record *record,
                                       struct md_bcast_batch *batch)
{
    for (;;) {
        enum md_bcast_result result = look(reader, batch);
        if (result != MD_BCAST_READ)
            return result;
        *record = md_record_unpack(get_word(reader, reader->cursor));
        if (!is_whole(reader))
            return lapped(reader, batch);
        if (!is_record(reader, reader->cursor, *record))
            return MD_BCAST_CORRUPT;
        if (record->type != MD_RECORD_PAD)
            return MD_BCAST_READ;
        reader->cursor += record->length;
    }
}

/* How many of the `copied` bytes at `bytes` are whole records, none of them PAD; -1: corrupt. */
static int64_t whole_records(const struct md_bcast_reader *reader, const uint8_t *bytes,
                             size_t copied)
{
    size_t at = 0;

    while (copied - at >= MD_RECORD_HEAD_BYTES) {
        uint64_t word;
        memcpy(&word, bytes + at, sizeof(word));
        struct md_record record = md_record_unpack(word);
        if (!is_record(reader, reader->cursor + at, record))
            return -1;
        if (record.type == MD_RECORD_PAD || md_record_stride(record.length) > copied - at)
            break;
        at += md_record_stride(record.length);
    }
    return (int64_t)at;
}

enum md_bcast_result md_bcast_read(struct md_bcast_reader *reader, void *buffer, size_t size,
                                   struct md_bcast_batch *batch)
{
    struct md_record record;
    enum md_bcast_result result = first_word(reader, &record, batch);

    if (result != MD_BCAST_READ)
        return result;
    /* Take also what was written since; the lag of what we already see is known to be fine. */
    reader->written = atomic_load_explicit(&reader->memory->written, memory_order_acquire);
    batch->position = reader->cursor;
    if (md_record_stride(record.length) > size) {
        batch->length = md_record_stride(record.length);
        return MD_BCAST_LARGE;
    }
    uint64_t there = reader->written - reader->cursor;
    uint64_t to_end = reader->size - (reader->cursor & (reader->size - 1));
    size_t copied = size & ~(size_t)7;
    if (there < copied)
        copied = (size_t)there;
    if (to_end < copied)
        copied = (size_t)to_end;
    get_words(reader, reader->cursor, buffer, copied);
    if (!is_whole(reader))
        return lapped(reader, batch);

    int64_t length = whole_records(reader, buffer, copied);
    if (length <= 0)
        return MD_BCAST_CORRUPT;
    batch->records = buffer;
    batch->length = (size_t)length;
    reader->cursor += (uint64_t)length;
    return MD_BCAST_READ;
}

enum md_bcast_result md_bcast_peek(struct md_bcast_reader *reader, void *head, size_t length,
                                   struct md_record *record, struct md_bcast_batch *batch)
{
    enum md_bcast_result result = first_word(reader, record, batch);

    if (result != MD_BCAST_READ)
        return result;
    size_t there = md_record_stride(record->length) - MD_RECORD_HEAD_BYTES;
    size_t take = (length + 7) & ~(size_t)7;
    get_words(reader, reader->cursor + MD_RECORD_HEAD_BYTES, head, take < there ? take : there);
    return is_whole(reader) ? MD_BCAST_READ : lapped(reader, batch);
}

enum md_bcast_result md_bcast_copy(struct md_bcast_reader *reader, void *buffer, size_t size,
                                   struct md_bcast_batch *batch)
{
    struct md_record record;
    enum md_bcast_result result = first_word(reader, &record, batch);

    if (result != MD_BCAST_READ)
        return result;
    size_t stride = md_record_stride(record.length);
    batch->position = reader->cursor;
    batch->length = stride;
    if (stride > size)
        return MD_BCAST_LARGE;
    get_words(reader, reader->cursor, buffer, stride);
    if (!is_whole(reader))
        return lapped(reader, batch);
    batch->records = buffer;
    reader->cursor += stride;
    return MD_BCAST_READ;
}

void md_bcast_skip(struct md_bcast_reader *reader, const struct md_record *record)
{
    reader->cursor += md_record_stride(record->length);
    MD_ASSERT(reader->cursor <= reader->written);
}

bool md_bcast_reader_arm(struct md_bcast_reader *reader, struct md_sleep_flag *flag)
{
    md_sleep_flag_set(flag);
    /* seq_cst against the writer's store of `written` (see doorbell.h) */
    if (atomic_load_explicit(&reader->memory->written, memory_order_seq_cst) == reader->cursor)
        return true;
    md_sleep_flag_clear(flag);
    return false;
}
