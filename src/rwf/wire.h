/* wire.h - lengths and numbers as RWF writes them; the shared inside of the codec. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RWF_WIRE_H
#define RWF_WIRE_H

#include "base/cursor.h"
#include "base/writer.h"
#include "rmds/rwf_types.h"

#define RB15_MAX     0x7fffu
#define OB16_MAX     0xffffu
#define RB30_MAX     0x3fffffffu

#define OB16_LONG    0xfeu /* first byte of the three-byte form */
#define OB16_ILLEGAL 0xffu

/*
 *  RB15   0vvvvvvv | 1vvvvvvv vvvvvvvv
 *  OB16   vv < fe  | fe vvvv
 *  RB30   00vvvvvv | 10vvvvvv vv | 01vvvvvv vv vv | 11vvvvvv vv vv vv
 */

/*
 * Zeroes a struct by plain stores. For these sizes GCC takes a string instruction instead, whose
 * start costs more than all the stores (8 of 60 ns per message decoded, measured); the empty asm
 * keeps it from seeing a memset in the loop.
 */
static inline void wire_clear(void *object, size_t size)
{
    uint8_t *p = object;
    size_t i;

#pragma GCC unroll 32
    for (i = 0; i + 16 <= size; i += 16) {
        memset(p + i, 0, 16);
        __asm__("" : "+r"(p));
    }
    memset(p + i, 0, size - i);
}

/* ---- reading: results are RWF_OK or an error; *pos moves only on success ---- */

/* A byte string behind an OB16 length. */
static inline int wire_buf16(const uint8_t **pos, const uint8_t *end, struct rwf_bytes *out)
{
    const uint8_t *p = *pos;
    size_t left = (size_t)(end - p);
    size_t length;

    if (__builtin_expect(left == 0, 0))
        return RWF_ERR_SHORT;
    length = p[0];
    p++;
    left--;
    if (__builtin_expect(length >= OB16_LONG, 0)) {
        if (length == OB16_ILLEGAL)
            return RWF_ERR_MALFORMED;
        if (left < 2)
            return RWF_ERR_SHORT;
        length = md_be16(p);
        p += 2;
        left -= 2;
    }
    if (__builtin_expect(length > left, 0))
        return RWF_ERR_SHORT;
    out->data = p;
    out->length = length;
    *pos = p + length;
    return RWF_OK;
}

/* A byte string behind an RB15 length. */
static inline int wire_buf15(const uint8_t **pos, const uint8_t *end, struct rwf_bytes *out)
{
    const uint8_t *p = *pos;
    size_t left = (size_t)(end - p);
    size_t length;

    if (__builtin_expect(left == 0, 0))
        return RWF_ERR_SHORT;
    length = p[0];
    p++;
    left--;
    if (__builtin_expect(length & 0x80, 0)) {
        if (left == 0)
            return RWF_ERR_SHORT;
        length = (length & 0x7f) << 8 | p[0];
        p++;
        left--;
    }
    if (__builtin_expect(length > left, 0))
        return RWF_ERR_SHORT;
    out->data = p;
    out->length = length;
    *pos = p + length;
    return RWF_OK;
}

static inline uint16_t wire_rd_rb15(struct md_rd *rd)
{
    uint8_t first = md_rd_u8(rd);

    if (!(first & 0x80))
        return first;
    return (uint16_t)((first & 0x7f) << 8 | md_rd_u8(rd));
}

static inline uint16_t wire_rd_ob16(struct md_rd *rd)
{
    uint8_t first = md_rd_u8(rd);

    if (first < OB16_LONG)
        return first;
    if (first == OB16_ILLEGAL)
        rd->failed = true;
    return md_rd_u16(rd);
}

static inline uint32_t wire_rd_rb30(struct md_rd *rd)
{
    uint8_t first = md_rd_u8(rd);
    uint32_t value = first & 0x3f;

    switch (first >> 6) {
    case 0:
        return value;
    case 2:
        return value << 8 | md_rd_u8(rd);
    case 1:
        return value << 16 | md_rd_u16(rd);
    default:
        value = value << 24 | (uint32_t)md_rd_u8(rd) << 16;
        return value | md_rd_u16(rd);
    }
}

static inline struct rwf_bytes wire_rd_view(struct md_rd *rd, size_t length)
{
    const uint8_t *p = md_rd_bytes(rd, length);

    return rwf_bytes(p, p ? length : 0);
}

static inline struct rwf_bytes wire_rd_buf8(struct md_rd *rd)
{
    return wire_rd_view(rd, md_rd_u8(rd));
}

static inline struct rwf_bytes wire_rd_buf15(struct md_rd *rd)
{
    return wire_rd_view(rd, wire_rd_rb15(rd));
}

static inline struct rwf_bytes wire_rd_buf16(struct md_rd *rd)
{
    return wire_rd_view(rd, wire_rd_ob16(rd));
}

/* One to eight bytes, unsigned; the caller has checked the length. */
static inline uint64_t wire_load(const uint8_t *p, size_t length)
{
    if (length >= 4)
        return (uint64_t)md_be32(p) << (length - 4) * 8 | md_be32(p + length - 4);
    if (length >= 2)
        return (uint64_t)md_be16(p) << (length - 2) * 8 | md_be16(p + length - 2);
    return p[0];
}

/* The same, two's complement. */
static inline int64_t wire_load_signed(const uint8_t *p, size_t length)
{
    unsigned unused = (unsigned)(8 - length) * 8;

    return (int64_t)(wire_load(p, length) << unused) >> unused;
}

/* ---- writing ---- */

static inline void wire_wr_rb15(struct md_wr *wr, size_t value)
{
    if (value > RB15_MAX) {
        wr->failed = true;
        return;
    }
    if (value < 0x80)
        md_wr_u8(wr, (uint8_t)value);
    else
        md_wr_u16(wr, (uint16_t)(0x8000u | value));
}

static inline void wire_wr_ob16(struct md_wr *wr, size_t value)
{
    if (value > OB16_MAX) {
        wr->failed = true;
        return;
    }
    if (value < OB16_LONG) {
        md_wr_u8(wr, (uint8_t)value);
        return;
    }
    md_wr_u8(wr, OB16_LONG);
    md_wr_u16(wr, (uint16_t)value);
}

static inline void wire_wr_rb30(struct md_wr *wr, uint32_t value)
{
    if (value < 1u << 6) {
        md_wr_u8(wr, (uint8_t)value);
    } else if (value < 1u << 14) {
        md_wr_u16(wr, (uint16_t)(0x8000u | value));
    } else if (value < 1u << 22) {
        md_wr_u8(wr, (uint8_t)(0x40u | value >> 16));
        md_wr_u16(wr, (uint16_t)value);
    } else if (value <= RB30_MAX) {
        md_wr_u32(wr, 0xc0000000u | value);
    } else {
        wr->failed = true;
    }
}

static inline void wire_wr_view(struct md_wr *wr, struct rwf_bytes bytes)
{
    md_wr_bytes(wr, bytes.data, bytes.length);
}

static inline void wire_wr_buf8(struct md_wr *wr, struct rwf_bytes bytes)
{
    if (bytes.length > UINT8_MAX) {
        wr->failed = true;
        return;
    }
    md_wr_u8(wr, (uint8_t)bytes.length);
    wire_wr_view(wr, bytes);
}

static inline void wire_wr_buf15(struct md_wr *wr, struct rwf_bytes bytes)
{
    wire_wr_rb15(wr, bytes.length);
    wire_wr_view(wr, bytes);
}

static inline void wire_wr_buf16(struct md_wr *wr, struct rwf_bytes bytes)
{
    wire_wr_ob16(wr, bytes.length);
    wire_wr_view(wr, bytes);
}

/* Bytes of the minimal form, 1..8. */
static inline unsigned wire_int_size(int64_t value)
{
    uint64_t magnitude = (uint64_t)(value ^ (value >> 63));

    return (unsigned)(72 - __builtin_clzll(magnitude | 1)) / 8;
}

static inline unsigned wire_uint_size(uint64_t value)
{
    return (unsigned)(71 - __builtin_clzll(value | 1)) / 8;
}

/*
 * The low `length` bytes of the value. Stores eight bytes at p whatever the length, so the caller
 * has checked the room for eight.
 */
static inline void wire_store8(uint8_t *p, uint64_t value, unsigned length)
{
    md_put_be64(p, value << (8 - length) * 8);
}

/* ---- primitives in the encoder's hand: at most this many bytes each, state apart ---- */

#define WIRE_PRIMITIVE_MAX 12

/* Length of set-defined contents; 0 for types whose length is in the data. */
unsigned wire_set_width(unsigned type);

/* True when set data can carry the type. */
bool wire_set_type_is_legal(unsigned type);

/* In set data: one byte of length before the content, two-byte lengths for the others. */
static inline bool wire_set_has_length8(unsigned type)
{
    return type <= RWF_TYPE_QOS;
}

/* `value` in exactly `width` bytes, as base type `type`. RWF_ERR_RANGE when it cannot be. */
int wire_put_fixed(unsigned type, unsigned width, const struct rwf_value *value, uint8_t *out);

/* Shortest time of these parts: 2, 3, 5, 7 or 8 bytes. */
unsigned wire_time_size(const struct rwf_time *time);
void wire_put_time(uint8_t *p, unsigned size, const struct rwf_time *time);
void wire_put_date(uint8_t *p, const struct rwf_date *date);

/* State and qos as in message headers; *failed on a value that cannot be written. */
void wire_rd_state(struct md_rd *rd, struct rwf_state *state);
void wire_rd_qos(struct md_rd *rd, struct rwf_qos *qos);
int wire_wr_state(struct md_wr *wr, const struct rwf_state *state);
int wire_wr_qos(struct md_wr *wr, const struct rwf_qos *qos);

#endif
