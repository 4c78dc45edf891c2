/* base/ring.h - a ring of records from one producer to one consumer, also between processes. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_RING_H
#define MD_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/doorbell.h"
#include "base/record.h"

/*
 * Layout in shared memory, native byte order:
 *
 *       0  u32 magic      4  u32 size of the data, a power of two
 *      64  u64 head       written by the producer: end of what is committed
 *     128  u64 tail       written by the consumer: end of what it has used
 *     192  u32            the consumer sleeps
 *     256  u32            the PRODUCER's process sleeps on another ring (see bcast.h)
 *     264  u64            and its cursor there, for statistics only
 *     320  data
 *
 * Positions count bytes from the beginning of time; the place in the data is position mod size.
 *
 * Memory order: the producer's stores to the data come before its store to head, the consumer's
 * load of head (acquire) before its loads of the data; the consumer's loads of the data before its
 * store to tail (release), the producer's load of tail (acquire) before it overwrites them.
 *
 * The consumer trusts nothing in the memory: it knows the size by itself, and copies head and each
 * record's first word once before it checks them. The bytes behind that may still change under its
 * eyes; it copies what it judges. A hostile producer can only spoil its own ring.
 */
#define MD_RING_MAGIC    0x31474e52u /* "RNG1" */
#define MD_RING_DATA     320
#define MD_RING_SIZE_MIN 1024u
#define MD_RING_SIZE_MAX (1u << 30)

struct md_ring_memory {
    uint32_t magic;
    uint32_t size;
    uint8_t pad0[56];
    _Atomic uint64_t head;
    uint8_t pad1[56];
    _Atomic uint64_t tail;
    uint8_t pad2[56];
    struct md_sleep_flag consumer_sleeps;
    uint8_t pad3[60];
    struct md_sleep_flag reader_sleeps;
    uint32_t pad4;
    _Atomic uint64_t reader_cursor;
    uint8_t pad5[48];
    _Atomic uint64_t data[];
};

_Static_assert(offsetof(struct md_ring_memory, head) == 64, "layout");
_Static_assert(offsetof(struct md_ring_memory, tail) == 128, "layout");
_Static_assert(offsetof(struct md_ring_memory, consumer_sleeps) == 192, "layout");
_Static_assert(offsetof(struct md_ring_memory, reader_sleeps) == 256, "layout");
_Static_assert(offsetof(struct md_ring_memory, reader_cursor) == 264, "layout");
_Static_assert(offsetof(struct md_ring_memory, data) == MD_RING_DATA, "layout");

/* Bytes to map for a ring of `size`. */
static inline size_t md_ring_bytes(uint32_t size)
{
    return MD_RING_DATA + (size_t)size;
}

/* Make zeroed, 64-byte aligned memory a ring. MD_ERR_RANGE: size no power of two, or off limits. */
int md_ring_format(void *memory, uint32_t size);

struct md_ring_producer {
    struct md_ring_memory *memory;
    uint8_t *data;
    uint64_t size;
    uint64_t next; /* end of what is claimed; head follows at the commit */
    uint64_t last; /* where the youngest claim begins */
    uint64_t tail; /* as last seen */
    uint64_t full_count;
};

/* `bytes` is what is mapped. MD_ERR_MALFORMED: that is no ring, or not of that size. */
int md_ring_producer_init(struct md_ring_producer *producer, void *memory, size_t bytes);

/*
 * Room for a record of `length` bytes in all (8 at least), its first word filled in; the caller
 * writes the bytes from 8 on. NULL: the ring is full (counted), or the record is longer than half
 * of it. Nothing is seen by the consumer before md_ring_commit(), which publishes all claims.
 */
void *md_ring_claim(struct md_ring_producer *producer, uint32_t length, uint16_t type,
                    uint16_t flags);
/* Make the youngest claim, not yet committed, shorter; 0 takes it back altogether. */
void md_ring_trim(struct md_ring_producer *producer, uint32_t length);
/* True: the consumer sleeps, ring its bell. */
bool md_ring_commit(struct md_ring_producer *producer);
/* Bytes that could be claimed now, as one record at most. */
uint32_t md_ring_room(struct md_ring_producer *producer);

struct md_ring_consumer {
    struct md_ring_memory *memory;
    const uint8_t *data;
    uint64_t size;
    uint64_t next; /* end of what was read; tail follows at md_ring_release() */
    uint64_t head; /* as last seen */
};

/* The size is taken from `bytes`, never from the memory. MD_ERR_RANGE: no ring has these bytes. */
int md_ring_consumer_init(struct md_ring_consumer *consumer, void *memory, size_t bytes);

/*
 * The next record: its first word in *record (checked), and where it lies in the ring, or NULL:
 * *result is then MD_ERR_AGAIN (empty) or MD_ERR_MALFORMED (the producer broke the rules; every
 * later call says so too). The record stays in place until md_ring_release() lets go of all that
 * was read.
 */
const uint8_t *md_ring_read(struct md_ring_consumer *consumer, struct md_record *record,
                            int *result);
void md_ring_release(struct md_ring_consumer *consumer);

/* About to sleep. False: something came meanwhile, and the flag is down again. */
bool md_ring_consumer_arm(struct md_ring_consumer *consumer);
void md_ring_consumer_disarm(struct md_ring_consumer *consumer);

#endif
