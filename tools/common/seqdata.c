/* seqdata.c - see seqdata.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "seqdata.h"

#include <string.h>

#include "base/cursor.h"
#include "base/prng.h"
#include "base/writer.h"

/* The stock update as words of eight bytes, the first byte on top; the last one is not full. */
#define WORDS 10u

/*
 * The stock update; the bytes that change are zero here, and where they stand is in the table
 * below.
 *
 *   3 BID 22      10 ASK 25     17 BIDSIZE 30   22 ASKSIZE 31    27 TRDPRC_1 6   34 TRDVOL_1 178
 *  40 ACVOL_1 32  47 NETCHNG_1  53 TRDTIM_1 18  59 PRCTCK_1 14   63 TRADE_DATE   70 PRC_QL2 131
 *
 * The volume of the trade has two mantissa bytes here, not the one of the stock message, since
 * ACVOL_1 has three and not four.
 */
static const uint8_t frame[8 * WORDS] = {
    0x08, 0x00, 0x0c,                         /* standard data, 12 fields */
    0x00, 0x16, 0x04, 0x0c, 0x00, 0x00, 0x00, /* BID */
    0x00, 0x19, 0x04, 0x0c, 0x00, 0x00, 0x00, /* ASK */
    0x00, 0x1e, 0x02, 0x0e, 0x00,             /* BIDSIZE */
    0x00, 0x1f, 0x02, 0x0e, 0x00,             /* ASKSIZE */
    0x00, 0x06, 0x04, 0x0c, 0x00, 0x00, 0x00, /* TRDPRC_1 */
    0x00, 0xb2, 0x03, 0x0e, 0x00, 0x00,       /* TRDVOL_1 */
    0x00, 0x20, 0x04, 0x0e, 0x00, 0x00, 0x00, /* ACVOL_1 */
    0x00, 0x0b, 0x03, 0x0c, 0x00, 0x00,       /* NETCHNG_1 */
    0x00, 0x12, 0x03, 0x00, 0x00, 0x00,       /* TRDTIM_1 */
    0x00, 0x0e, 0x01, 0x00,                   /* PRCTCK_1 */
    0x00, 0x10, 0x04, 0x10, 0x0b, 0x07, 0xd5, /* TRADE_DATE */
    0x00, 0x83, 0x01, 0x00,                   /* PRC_QL2 */
};

enum {
    AT_BID = 7,
    AT_ASK = 14,
    AT_BID_SIZE = 21,
    AT_ASK_SIZE = 26,
    AT_PRICE = 31,
    AT_TRADE_VOLUME = 38,
    AT_VOLUME = 44,
    AT_NET_CHANGE = 51,
    AT_TIME = 56,
    AT_TICK = 62,
    AT_DATE = 66,
    AT_QUALIFIER = 73,
};

/* The fields that stand in the image alone, and how their values are made of the name. */
enum image_kind {
    KIND_PRICE,
    KIND_LOW,
    KIND_HIGH,
    KIND_CLOSE,
    KIND_AMOUNT,
    KIND_TIME,
    KIND_DATE,
    KIND_ENUM,
    KIND_UINT,
    KIND_TEXT,
};

struct image_field {
    int16_t fid;
    uint8_t kind; /* enum image_kind */
};

/* None that another field ripples into: a cache that ripples would change it. */
static const struct image_field image_fields[] = {
    { 1, KIND_UINT },      { 2, KIND_UINT },     { 3, KIND_TEXT },     { 4, KIND_ENUM },
    { 5, KIND_TIME },      { 12, KIND_HIGH },    { 13, KIND_LOW },     { 15, KIND_ENUM },
    { 17, KIND_DATE },     { 19, KIND_PRICE },   { 21, KIND_CLOSE },   { 40, KIND_ENUM },
    { 42, KIND_AMOUNT },   { 43, KIND_AMOUNT },  { 44, KIND_ENUM },    { 47, KIND_PRICE },
    { 48, KIND_PRICE },    { 50, KIND_PRICE },   { 51, KIND_PRICE },   { 53, KIND_ENUM },
    { 54, KIND_ENUM },     { 55, KIND_AMOUNT },  { 3874, KIND_PRICE }, { 75, KIND_PRICE },
    { 76, KIND_PRICE },    { 77, KIND_AMOUNT },  { 78, KIND_TEXT },    { 79, KIND_DATE },
    { 99, KIND_ENUM },     { 100, KIND_PRICE },  { 105, KIND_TEXT },   { 110, KIND_ENUM },
    { 111, KIND_ENUM },    { 117, KIND_ENUM },   { 118, KIND_ENUM },   { 133, KIND_ENUM },
    { 137, KIND_PRICE },   { 138, KIND_PRICE },  { 139, KIND_PRICE },  { 143, KIND_PRICE },
    { 183, KIND_AMOUNT },  { 184, KIND_AMOUNT }, { 196, KIND_ENUM },   { 197, KIND_ENUM },
    { 198, KIND_PRICE },   { 259, KIND_UINT },   { 285, KIND_TIME },   { 372, KIND_PRICE },
    { 373, KIND_AMOUNT },  { 383, KIND_AMOUNT }, { 392, KIND_DATE },   { 2942, KIND_DATE },
    { 3404, KIND_PRICE },  { 3408, KIND_PRICE }, { 3409, KIND_PRICE }, { 3576, KIND_PRICE },
    { 3577, KIND_AMOUNT }, { 3859, KIND_UINT },
};

#define IMAGE_ONLY_COUNT (sizeof(image_fields) / sizeof(image_fields[0]))
#define UPDATE_COUNT     12
#define IMAGE_COUNT      (IMAGE_ONLY_COUNT + UPDATE_COUNT)

static inline void put16(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static inline void put24(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 16);
    put16(at + 1, value);
}

uint64_t seqdata_item(const void *name, size_t length)
{
    const uint8_t *byte = name;
    uint64_t hash = 0xcbf29ce484222325ull; /* FNV-1a */

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ byte[i]) * 0x100000001b3ull;
    return md_mix64(hash);
}

/*
 * Prices walk: a slow wave, a faster one, and a line between random heights, with a step of at most
 * six hundredths from one count to the next and never beyond SPAN. All waves are whole in 2^22
 * counts but for where they meet again.
 */
#define WALK_MAX   (512u + 128u + 63u + 1u)
#define SPREAD_MAX 4u
#define SPAN       (WALK_MAX + SPREAD_MAX)
#define CLOSE_AWAY 130u /* so that the change has two mantissa bytes */

/* 0 up to half a period and back. */
static inline uint32_t wave(uint32_t at, uint32_t period)
{
    uint32_t place = at & (period - 1);

    return place < period / 2 ? place : period - place;
}

static inline uint32_t height(uint64_t item, uint32_t knot)
{
    return (uint32_t)(md_mix64(item ^ (knot & (SEQDATA_COUNT_MASK >> 4))) & 63);
}

static inline uint32_t walk(uint64_t item, uint32_t count, uint64_t h)
{
    uint32_t phase = (uint32_t)(item >> 26) & 0x1fff;
    uint32_t knot = count >> 4, part = count & 15;
    uint32_t line = (height(item, knot) * (16 - part) + height(item, knot + 1) * part) >> 4;

    return (wave(count + phase, 8192) >> 3) + (wave(count + phase * 5, 1024) >> 2) + line +
           (uint32_t)(h & 1);
}

/* The low of the day: 348.16 to 471.02, three mantissa bytes as everything that lies near it. */
static inline uint32_t low_of(uint64_t item)
{
    return 0x8800u + (uint32_t)(item & 0x1fff) + (uint32_t)(item >> 13 & 0xfff);
}

/* Of the day before: half of the items rose since, the others fell. */
static inline uint32_t close_of(uint64_t item)
{
    uint32_t away = CLOSE_AWAY + (uint32_t)(item >> 40 & 0xff);

    return item >> 48 & 1 ? low_of(item) - away : low_of(item) + SPAN + away;
}

/* `value` stands from byte `at` on, `length` bytes long. */
static inline __attribute__((always_inline)) void put(uint64_t words[WORDS], unsigned at,
                                                      unsigned length, uint64_t value)
{
    unsigned last = (at + length - 1) / 8;
    unsigned shift = 8 * (8 * (last + 1) - at - length);

    words[last] |= value << shift;
    if (at / 8 < last)
        words[last - 1] |= value >> (64 - shift);
}

/*
 * In registers: who copies or compares bytes that were just stored one by one waits until all of
 * them have reached the cache.
 */
static inline __attribute__((always_inline)) void make_words(uint64_t item, uint32_t count,
                                                             uint64_t words[WORDS])
{
    uint32_t carried = count & SEQDATA_COUNT_MASK;
    uint64_t h = md_mix64(item + carried * 0x9e3779b97f4a7c15ull);
    uint32_t bid = low_of(item) + walk(item, carried, h);
    uint32_t spread = 1 + (uint32_t)(h >> 14 & (SPREAD_MAX - 1));
    uint32_t price = bid + (h >> 29 & 1 ? spread : 0);
    uint32_t second = 9 * 3600 + carried / 4 % (8 * 3600);

    for (unsigned i = 0; i < WORDS; i++)
        words[i] = md_be64(frame + (size_t)8 * i);
    put(words, AT_BID, 3, bid);
    put(words, AT_ASK, 3, bid + spread);
    put(words, AT_BID_SIZE, 1, 1 + (h >> 17 & 0x3f));
    put(words, AT_ASK_SIZE, 1, 1 + (h >> 23 & 0x3f));
    put(words, AT_PRICE, 3, price);
    put(words, AT_TRADE_VOLUME, 2, 0x100u + (h >> 31 & 0xfff));
    put(words, AT_VOLUME, 3, SEQDATA_BASE + carried);
    put(words, AT_NET_CHANGE, 2, (price - close_of(item)) & 0xffff);
    put(words, AT_TIME, 3, second / 3600 << 16 | second / 60 % 60 << 8 | second % 60);
    put(words, AT_TICK, 1, 1 + (carried & 1));
    put(words, AT_QUALIFIER, 1, 1 + (carried >> 1 & 1));
}

void seqdata_update(uint64_t item, uint32_t count, uint8_t out[SEQDATA_UPDATE_BYTES])
{
    uint64_t words[WORDS];

    make_words(item, count, words);
    for (unsigned i = 0; i < WORDS - 1; i++)
        md_put_be64(out + (size_t)8 * i, words[i]);
    md_put_be16(out + (size_t)8 * (WORDS - 1), (uint16_t)(words[WORDS - 1] >> 48));
}

/* As it was sent, but for a field more at the end, which its beginning counts. */
static bool is_update(uint64_t item, uint32_t count, const uint8_t *p, bool more)
{
    uint64_t words[WORDS], difference;

    make_words(item, count, words);
    difference = (md_be64(p) - ((uint64_t)more << 40)) ^ words[0];
    for (unsigned i = 1; i < WORDS - 1; i++)
        difference |= md_be64(p + (size_t)8 * i) ^ words[i];
    difference |= md_be16(p + (size_t)8 * (WORDS - 1)) ^ words[WORDS - 1] >> 48;
    return difference == 0;
}

static size_t append(uint8_t *out, int16_t fid, const uint8_t *content, size_t length)
{
    put16(out, (uint16_t)fid);
    out[2] = (uint8_t)length;
    memcpy(out + 3, content, length);
    return 3 + length;
}

static size_t image_field(uint8_t *out, const struct image_field *field, uint64_t item,
                          const char *name, size_t name_length)
{
    uint64_t h = md_mix64(item ^ (uint64_t)(uint16_t)field->fid << 48);
    uint8_t content[16];

    switch ((enum image_kind)field->kind) {
    case KIND_PRICE:
        content[0] = 0x0c; /* two decimals */
        put24(content + 1, low_of(item) + (uint32_t)(h & 0x1ff));
        return append(out, field->fid, content, 4);
    case KIND_LOW:
        content[0] = 0x0c;
        put24(content + 1, low_of(item));
        return append(out, field->fid, content, 4);
    case KIND_HIGH:
        content[0] = 0x0c;
        put24(content + 1, low_of(item) + SPAN);
        return append(out, field->fid, content, 4);
    case KIND_CLOSE:
        content[0] = 0x0c;
        put24(content + 1, close_of(item));
        return append(out, field->fid, content, 4);
    case KIND_AMOUNT:
        content[0] = 0x0e; /* whole */
        put24(content + 1, 0x8000u + (uint32_t)(h & 0x3fffff));
        return append(out, field->fid, content, 4);
    case KIND_TIME:
        content[0] = (uint8_t)(8 + (h & 7));
        content[1] = (uint8_t)(h >> 8 & 0x1f);
        content[2] = (uint8_t)(h >> 16 & 0x1f);
        return append(out, field->fid, content, 3);
    case KIND_DATE:
        content[0] = (uint8_t)(1 + (h & 0xf));
        content[1] = (uint8_t)(1 + (h >> 8 & 7));
        put16(content + 2, 2005);
        return append(out, field->fid, content, 4);
    case KIND_ENUM:
        content[0] = (uint8_t)(1 + (h & 1));
        return append(out, field->fid, content, 1);
    case KIND_UINT:
        content[0] = (uint8_t)(1 + (h & 0x7f));
        return append(out, field->fid, content, 1);
    case KIND_TEXT:
        /* The longest text that every of these fields holds is four bytes. */
        return append(out, field->fid, (const uint8_t *)name, name_length < 4 ? name_length : 4);
    }
    return 0;
}

size_t seqdata_image(uint64_t item, const char *name, size_t name_length, uint32_t count,
                     uint8_t *out)
{
    size_t length = SEQDATA_UPDATE_BYTES;

    seqdata_update(item, count, out);
    for (size_t i = 0; i < IMAGE_ONLY_COUNT; i++)
        length += image_field(out + length, &image_fields[i], item, name, name_length);
    put16(out + 1, (uint32_t)IMAGE_COUNT);
    return length;
}

const char *seqdata_verdict_name(enum seqdata_verdict verdict)
{
    switch (verdict) {
    case SEQDATA_GOOD:
        return "good";
    case SEQDATA_NO_COUNT:
        return "no sequence number in ACVOL_1";
    case SEQDATA_WRONG_VALUE:
        return "wrong value";
    case SEQDATA_MISSING:
        return "field missing";
    case SEQDATA_BROKEN:
        return "not a field list";
    }
    return "?";
}

/* What ACVOL_1 says: a whole number of three mantissa bytes from SEQDATA_BASE on. */
static bool read_count(struct rwf_bytes content, uint32_t *count)
{
    struct rwf_real real;

    if (rwf_real_decode(content, &real) != RWF_OK || real.hint != RWF_HINT_EXP_0 ||
        real.value < SEQDATA_BASE || real.value > SEQDATA_BASE + SEQDATA_COUNT_MASK)
        return false;
    *count = (uint32_t)real.value & SEQDATA_COUNT_MASK;
    return true;
}

static enum seqdata_verdict find_count(struct rwf_bytes payload, uint32_t *count)
{
    struct rwf_field_list list;
    struct rwf_field field;
    int rc = rwf_field_list_decode(payload, NULL, &list);

    while (rc >= 0 && (rc = rwf_field_list_next(&list, &field)) > 0) {
        if (field.id == SEQDATA_FID_COUNT)
            return read_count(field.content, count) ? SEQDATA_GOOD : SEQDATA_NO_COUNT;
    }
    return rc < 0 ? SEQDATA_BROKEN : SEQDATA_NO_COUNT;
}

/* The same bytes; of a time, as one of JSON is, without the seconds that are 0. */
static bool is_same(const struct rwf_field *want, const struct rwf_field *field)
{
    bool is_time = want->id == 5 || want->id == 18 || want->id == 285;

    return rwf_bytes_equal(want->content, field->content) ||
           (is_time && want->content.length == 3 && want->content.data[2] == 0 &&
            rwf_bytes_equal(rwf_bytes(want->content.data, 2), field->content));
}

/* Compare field by field with what should be there, in whatever order they come. */
static enum seqdata_verdict compare(struct rwf_bytes payload, struct rwf_bytes wanted,
                                    size_t wanted_count, bool is_partial, int *fid)
{
    struct rwf_field_list list, expected;
    struct rwf_field field, want = { .id = 0 };
    size_t found = 0;
    int rc = rwf_field_list_decode(payload, NULL, &list);

    (void)rwf_field_list_decode(wanted, NULL, &expected);
    while (rc >= 0 && (rc = rwf_field_list_next(&list, &field)) > 0) {
        if (field.id >= SEQDATA_FID_TIME && field.id <= SEQDATA_FID_TIME + 2)
            continue;
        *fid = field.id;
        size_t tries = 0;
        /* Mostly the next one; else once around. */
        while (tries++ <= wanted_count) {
            if (rwf_field_list_next(&expected, &want) <= 0) {
                (void)rwf_field_list_decode(wanted, NULL, &expected);
                continue;
            }
            if (want.id == field.id)
                break;
        }
        if (want.id != field.id || !is_same(&want, &field))
            return SEQDATA_WRONG_VALUE;
        found++;
    }
    if (rc < 0)
        return SEQDATA_BROKEN;
    *fid = 0;
    return found < wanted_count && !is_partial ? SEQDATA_MISSING : SEQDATA_GOOD;
}

enum seqdata_verdict seqdata_update_check(uint64_t item, struct rwf_bytes payload, bool is_partial,
                                          uint32_t *count, int *fid)
{
    uint8_t wanted[SEQDATA_UPDATE_BYTES];
    const uint8_t *p = payload.data;

    *fid = 0;
    *count = 0;
    /* As it was sent: one comparison does. A 13th field can only be the time. */
    if (payload.length >= SEQDATA_UPDATE_BYTES && p[AT_VOLUME - 1] == 0x0e &&
        p[AT_VOLUME] >= SEQDATA_BASE >> 16 && p[AT_VOLUME] < 0x80 &&
        (payload.length == SEQDATA_UPDATE_BYTES ||
         (payload.length >= SEQDATA_UPDATE_BYTES + 3 && p[2] == 13 &&
          p[SEQDATA_UPDATE_BYTES] == SEQDATA_FID_TIME >> 8 &&
          p[SEQDATA_UPDATE_BYTES + 1] == (SEQDATA_FID_TIME & 0xff)))) {
        uint32_t carried =
            (uint32_t)p[AT_VOLUME] << 16 | (uint32_t)p[AT_VOLUME + 1] << 8 | p[AT_VOLUME + 2];
        *count = carried & SEQDATA_COUNT_MASK;
        if (is_update(item, *count, p, payload.length > SEQDATA_UPDATE_BYTES))
            return SEQDATA_GOOD;
    }
    enum seqdata_verdict verdict = find_count(payload, count);
    if (verdict != SEQDATA_GOOD)
        return verdict;
    seqdata_update(item, *count, wanted);
    return compare(payload, rwf_bytes(wanted, sizeof(wanted)), UPDATE_COUNT, is_partial, fid);
}

enum seqdata_verdict seqdata_image_check(uint64_t item, const char *name, size_t name_length,
                                         struct rwf_bytes payload, bool is_partial, uint32_t *count,
                                         int *fid)
{
    uint8_t wanted[SEQDATA_IMAGE_MAX];

    *fid = 0;
    *count = 0;
    enum seqdata_verdict verdict = find_count(payload, count);
    if (verdict != SEQDATA_GOOD)
        return verdict;
    size_t length = seqdata_image(item, name, name_length, *count, wanted);
    return compare(payload, rwf_bytes(wanted, length), IMAGE_COUNT, is_partial, fid);
}

enum seqdata_step seqdata_step(uint32_t last, uint32_t count, uint32_t *by)
{
    uint32_t ahead = (count - last) & SEQDATA_COUNT_MASK;

    *by = 0;
    if (ahead == 1)
        return SEQDATA_NEXT;
    if (ahead == 0)
        return SEQDATA_DUPLICATE;
    if (ahead <= SEQDATA_COUNT_MASK / 2) {
        *by = ahead - 1;
        return SEQDATA_GAP;
    }
    *by = SEQDATA_COUNT_MASK + 1 - ahead;
    return SEQDATA_REORDER;
}
