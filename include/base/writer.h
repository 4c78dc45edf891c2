/* base/writer.h - bounds-checked writing of big-endian wire data. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_WRITER_H
#define MD_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * A write cursor over the caller's buffer: the mirror of md_rd.
 *
 * The first write that does not fit marks the writer failed and writes nothing; every later write
 * is ignored. So an encoder writes straight through and tests md_wr_ok() once.
 */
struct md_wr {
    uint8_t *start;
    uint8_t *pos;
    uint8_t *end;
    bool failed;
};

static inline struct md_wr md_wr_init(void *bytes, size_t size)
{
    uint8_t *p = bytes;
    return (struct md_wr){ .start = p, .pos = p, .end = size ? p + size : p, .failed = false };
}

static inline bool md_wr_ok(const struct md_wr *wr)
{
    return !wr->failed;
}

/* Bytes written so far. */
static inline size_t md_wr_length(const struct md_wr *wr)
{
    return (size_t)(wr->pos - wr->start);
}

static inline size_t md_wr_left(const struct md_wr *wr)
{
    return wr->failed ? 0 : (size_t)(wr->end - wr->pos);
}

/* Room for `length` bytes, for the caller to fill at once; NULL when they do not fit. */
static inline uint8_t *md_wr_take(struct md_wr *wr, size_t length)
{
    if (wr->failed || length > (size_t)(wr->end - wr->pos)) {
        wr->failed = true;
        return NULL;
    }
    uint8_t *p = wr->pos;
    wr->pos += length;
    return p;
}

static inline uint8_t *md_wr_mark(const struct md_wr *wr)
{
    return wr->pos;
}

/* Big-endian stores to room the caller has checked. */
static inline void md_put_be16(uint8_t *p, uint16_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

/*
 * One swap and one store each. From single bytes the compiler builds wider values by way of the
 * stack, and loads there what it has just stored in smaller pieces: the processor must wait.
 */
static inline void md_put_be32(uint8_t *p, uint32_t v)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    v = __builtin_bswap32(v);
#endif
    memcpy(p, &v, sizeof(v));
}

static inline void md_put_be64(uint8_t *p, uint64_t v)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    memcpy(p, &v, sizeof(v));
}

static inline void md_wr_u8(struct md_wr *wr, uint8_t v)
{
    uint8_t *p = md_wr_take(wr, 1);
    if (p)
        p[0] = v;
}

static inline void md_wr_u16(struct md_wr *wr, uint16_t v)
{
    uint8_t *p = md_wr_take(wr, 2);
    if (p)
        md_put_be16(p, v);
}

static inline void md_wr_u32(struct md_wr *wr, uint32_t v)
{
    uint8_t *p = md_wr_take(wr, 4);
    if (p)
        md_put_be32(p, v);
}

static inline void md_wr_u64(struct md_wr *wr, uint64_t v)
{
    uint8_t *p = md_wr_take(wr, 8);
    if (p)
        md_put_be64(p, v);
}

static inline void md_wr_bytes(struct md_wr *wr, const void *bytes, size_t length)
{
    uint8_t *p = md_wr_take(wr, length);
    if (p && length)
        memcpy(p, bytes, length);
}

#endif
