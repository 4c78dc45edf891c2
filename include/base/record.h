/* base/record.h - how a record begins in a ring. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_RECORD_H
#define MD_RECORD_H

#include <stdint.h>

/*
 * Records of ring.h and bcast.h are aligned to 8 bytes and never split. The first word is this, in
 * the byte order of the host; it is read and written as one uint64_t, so that no reader sees half:
 *
 *     bits  0-31  length in bytes, this word included, the filling up to a multiple of 8 not
 *     bits 32-47  type; 0 is PAD: nothing until the end of the ring
 *     bits 48-63  flags, the users' own
 */
#define MD_RECORD_ALIGN      8u
#define MD_RECORD_HEAD_BYTES 8u
#define MD_RECORD_PAD        0u

struct md_record {
    uint32_t length;
    uint16_t type;
    uint16_t flags;
};

static inline uint64_t md_record_pack(uint32_t length, uint16_t type, uint16_t flags)
{
    return (uint64_t)flags << 48 | (uint64_t)type << 32 | length;
}

static inline struct md_record md_record_unpack(uint64_t word)
{
    return (struct md_record){ .length = (uint32_t)word,
                               .type = (uint16_t)(word >> 32),
                               .flags = (uint16_t)(word >> 48) };
}

/* What a record of `length` bytes takes up. */
static inline uint64_t md_record_stride(uint32_t length)
{
    return ((uint64_t)length + MD_RECORD_ALIGN - 1) & ~(uint64_t)(MD_RECORD_ALIGN - 1);
}

#endif
