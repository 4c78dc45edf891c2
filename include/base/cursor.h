/* base/cursor.h - bounds-checked reading of big-endian wire data. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_CURSOR_H
#define MD_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A read cursor over bytes it does not own.
 *
 * The first read that does not fit marks the cursor failed and consumes nothing; every later read
 * returns 0 (or NULL). So a decoder reads a whole header straight through and tests md_rd_ok()
 * once, before it uses any value as a length, an index or a state change.
 */
struct md_rd {
    const uint8_t *pos;
    const uint8_t *end;
    bool failed;
};

static inline struct md_rd md_rd_init(const void *bytes, size_t length)
{
    const uint8_t *p = bytes;
    return (struct md_rd){ .pos = p, .end = length ? p + length : p, .failed = false };
}

static inline bool md_rd_ok(const struct md_rd *rd)
{
    return !rd->failed;
}

static inline size_t md_rd_left(const struct md_rd *rd)
{
    return rd->failed ? 0 : (size_t)(rd->end - rd->pos);
}

/* A view of the next `length` bytes, or NULL when they are not all there. */
static inline const uint8_t *md_rd_bytes(struct md_rd *rd, size_t length)
{
    if (rd->failed || length > (size_t)(rd->end - rd->pos)) {
        rd->failed = true;
        return NULL;
    }
    const uint8_t *p = rd->pos;
    rd->pos += length;
    return p;
}

/* A cursor over the next `length` bytes, which this one steps over; failed if they are not there.
 */
static inline struct md_rd md_rd_sub(struct md_rd *rd, size_t length)
{
    const uint8_t *p = md_rd_bytes(rd, length);
    if (!p)
        return (struct md_rd){ .pos = rd->pos, .end = rd->pos, .failed = true };
    return (struct md_rd){ .pos = p, .end = p + length, .failed = false };
}

/* Big-endian loads from bytes the caller has checked; GCC and clang make them one load and a swap.
 */
static inline uint16_t md_be16(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t md_be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline uint64_t md_be64(const uint8_t *p)
{
    return (uint64_t)md_be32(p) << 32 | md_be32(p + 4);
}

static inline uint8_t md_rd_u8(struct md_rd *rd)
{
    const uint8_t *p = md_rd_bytes(rd, 1);
    return p ? p[0] : 0;
}

static inline uint16_t md_rd_u16(struct md_rd *rd)
{
    const uint8_t *p = md_rd_bytes(rd, 2);
    return (uint16_t)(p ? md_be16(p) : 0);
}

static inline uint32_t md_rd_u32(struct md_rd *rd)
{
    const uint8_t *p = md_rd_bytes(rd, 4);
    return p ? md_be32(p) : 0;
}

static inline uint64_t md_rd_u64(struct md_rd *rd)
{
    const uint8_t *p = md_rd_bytes(rd, 8);
    return p ? md_be64(p) : 0;
}

#endif
