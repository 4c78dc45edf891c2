/* base/bcast.h - the broadcast ring: one writer that never waits, any number of readers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_BCAST_H
#define MD_BCAST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/doorbell.h"
#include "base/record.h"

/*
 * The writer writes each record once. A reader, in any process, maps the memory read-only and keeps
 * its own cursor. A reader that is too slow is lapped: it learns so, for certain and before it acts
 * on anything torn, skips to the newest record, and knows which bytes it missed.
 *
 * Layout, native byte order; positions count bytes from the beginning of time, and the place in
 * the data is position mod size:
 *
 *        0  u32 magic   4  u32 version   8  u64 size of the data (power of two)   16  u64 lag_max
 *       64  u64 claimed   the writer may be writing anywhere below this
 *      128  u64 written   everything below this is whole, and this is the end of a record
 *     4096  data
 *
 * Memory order. The writer stores `claimed`, then the words of the record (release each), then
 * `written` (seq_cst, which is also release). A reader loads `written` (acquire), copies words
 * (acquire each) to private memory, then loads `claimed`. Had it copied a word of a later lap, that
 * acquire load saw the release store which came after `claimed` was stored, so the load of
 * `claimed` shows it: claimed - cursor > size. No fence is needed, the mapping stays read-only, and
 * on x86-64 all of these but the store of `written` are plain moves.
 *
 * `claimed` runs ahead in steps (MD_BCAST_CLAIM_STEP), so that writing it does not disturb readers
 * at each record. The part of the ring a reader may lag behind is less by that.
 */
#define MD_BCAST_MAGIC      0x31544342u /* "BCT1" */
#define MD_BCAST_VERSION    1u
#define MD_BCAST_DATA       4096
#define MD_BCAST_SIZE_MIN   65536u
#define MD_BCAST_CLAIM_STEP 16384u

struct md_bcast_memory {
    uint32_t magic;
    uint32_t version;
    uint64_t size;
    uint64_t lag_max;
    uint8_t pad0[40];
    _Atomic uint64_t claimed;
    uint8_t pad1[56];
    _Atomic uint64_t written;
    uint8_t pad2[3960];
    _Atomic uint64_t data[];
};

_Static_assert(offsetof(struct md_bcast_memory, claimed) == 64, "layout");
_Static_assert(offsetof(struct md_bcast_memory, written) == 128, "layout");
_Static_assert(offsetof(struct md_bcast_memory, data) == MD_BCAST_DATA, "layout");

/* Bytes to map for a ring of `size`. */
static inline size_t md_bcast_bytes(uint64_t size)
{
    return MD_BCAST_DATA + (size_t)size;
}

struct md_bcast_writer {
    struct md_bcast_memory *memory;
    uint64_t size;
    uint64_t next;
    uint64_t claimed;
    uint64_t records;
};

/*
 * Make zeroed memory of md_bcast_bytes(size) a ring and *writer its writer. Readers may lag
 * `lag_max` bytes (0, or more than the size: as much as the ring holds). MD_ERR_RANGE: `size` is no
 * power of two of at least MD_BCAST_SIZE_MIN.
 */
int md_bcast_writer_init(struct md_bcast_writer *writer, void *memory, uint64_t size,
                         uint64_t lag_max);

/* The longest record, first word included: a quarter of the ring. */
uint32_t md_bcast_record_max(const struct md_bcast_writer *writer);

/*
 * Append a record: its first word, then `head_length` bytes (a multiple of 8) of `head`, then
 * `length` bytes of `body`. Readers see it after md_bcast_commit(). Returns the record's position,
 * by which readers know it too, or UINT64_MAX if it is longer than md_bcast_record_max().
 */
uint64_t md_bcast_write(struct md_bcast_writer *writer, uint16_t type, uint16_t flags,
                        const void *head, size_t head_length, const void *body, size_t length);

/* Publish. Afterwards take each reader's sleep flag, and ring where it was set. */
void md_bcast_commit(struct md_bcast_writer *writer);

struct md_bcast_reader {
    const struct md_bcast_memory *memory;
    uint64_t size;
    uint64_t lag_max;
    uint64_t cursor;  /* end of what was read */
    uint64_t written; /* as last seen */
    uint64_t lapped_count;
    uint64_t lapped_bytes;
};

/* Starts with the next record to be written. MD_ERR_MALFORMED: that is no ring of these bytes. */
int md_bcast_reader_init(struct md_bcast_reader *reader, const void *memory, size_t bytes);

enum md_bcast_result {
    MD_BCAST_EMPTY,
    MD_BCAST_READ,    /* what is asked for was copied, and is whole */
    MD_BCAST_LAPPED,  /* *from to *to was missed; the reader stands at *to, the newest position */
    MD_BCAST_LARGE,   /* the next record does not fit; batch.length says how many bytes it needs */
    MD_BCAST_CORRUPT, /* the writer broke the rules; nothing more will be read */
};

struct md_bcast_batch {
    const uint8_t *records; /* whole records, each at a multiple of 8, in the caller's buffer */
    size_t length;
    uint64_t position; /* of the first one */
    uint64_t lost_from;
    uint64_t lost_to;
};

/*
 * Copy as many records as there are and fit into `buffer` (8-byte aligned, `size` >= 64) in one
 * piece, and step over them. Walk them with md_bcast_batch_next().
 */
enum md_bcast_result md_bcast_read(struct md_bcast_reader *reader, void *buffer, size_t size,
                                   struct md_bcast_batch *batch);

/*
 * The record at *offset of a batch (start with 0): its first word in *record; returns where it
 * begins, that word included, or NULL at the end. Steps *offset.
 */
static inline const uint8_t *md_bcast_batch_next(const struct md_bcast_batch *batch, size_t *offset,
                                                 struct md_record *record)
{
    uint64_t word;

    if (*offset >= batch->length)
        return NULL;
    const uint8_t *at = batch->records + *offset;
    __builtin_memcpy(&word, at, sizeof(word));
    *record = md_record_unpack(word);
    *offset += md_record_stride(record->length);
    return at;
}

/*
 * One record at a time, for a reader that wants few of them. md_bcast_peek() copies the first
 * `length` bytes behind the first word (fewer if the record is shorter; rounded up to a multiple of
 * 8) and has checked that they are whole. Then either md_bcast_skip(), or md_bcast_copy(), which
 * copies the record from its first word on into a buffer of md_record_stride(record.length) bytes.
 * batch is for LAPPED and LARGE only.
 */
enum md_bcast_result md_bcast_peek(struct md_bcast_reader *reader, void *head, size_t length,
                                   struct md_record *record, struct md_bcast_batch *batch);
enum md_bcast_result md_bcast_copy(struct md_bcast_reader *reader, void *buffer, size_t size,
                                   struct md_bcast_batch *batch);
void md_bcast_skip(struct md_bcast_reader *reader, const struct md_record *record);

/* About to sleep: raise the flag; false: something came meanwhile, and it is down again. */
bool md_bcast_reader_arm(struct md_bcast_reader *reader, struct md_sleep_flag *flag);

#endif
