/* put.h - digits and text stored where the caller has made sure of the room. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JSON_PUT_H
#define JSON_PUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A number, a date or a time takes at most this, with the bytes that are stored behind it. */
#define JSON_NUMBER_ROOM 64

extern const char json_pairs[201]; /* "00" to "99" */

static inline uint8_t *put_pair(uint8_t *p, unsigned value)
{
    memcpy(p, json_pairs + (size_t)value * 2, 2);
    return p + 2;
}

static inline unsigned digit_count(uint64_t value)
{
    static const uint64_t powers[20] = {
        0, /* the number 0 has a digit, too */
        10,
        100,
        1000,
        10000,
        100000,
        1000000,
        10000000,
        100000000,
        1000000000,
        10000000000,
        100000000000,
        1000000000000,
        10000000000000,
        100000000000000,
        1000000000000000,
        10000000000000000,
        100000000000000000,
        1000000000000000000,
        10000000000000000000U,
    };
    unsigned bits = 64 - (unsigned)__builtin_clzll(value | 1);
    unsigned about = bits * 1233 >> 12; /* bits * log10(2) */

    return about + (value >= powers[about]);
}

/* The digits so that they end at `end`. */
static inline void put_digits_back(uint8_t *end, uint64_t value)
{
    while (value >= 100) {
        end -= 2;
        put_pair(end, (unsigned)(value % 100));
        value /= 100;
    }
    if (value >= 10)
        put_pair(end - 2, (unsigned)value);
    else
        end[-1] = (uint8_t)('0' + value);
}

static inline uint8_t *put_uint(uint8_t *p, uint64_t value)
{
    p += digit_count(value);
    put_digits_back(p, value);
    return p;
}

/* Is each of eight characters printable ASCII that is written as it is, no quote, no backslash? */
static inline bool are_plain8(uint64_t eight)
{
    const uint64_t ones = 0x0101010101010101, high = 0x8080808080808080;
    uint64_t quote = (eight ^ ones * '"') - ones;
    uint64_t backslash = (eight ^ ones * '\\') - ones;

    return !((eight | (eight + ones) | (eight - ones * 0x20) | quote | backslash) & high);
}

static inline bool is_plain(uint8_t byte)
{
    return byte >= 0x20 && byte < 0x7F && byte != '"' && byte != '\\';
}

/* Copies up to seven characters; NULL if one of them is not plain. */
static inline uint8_t *put_plain_short(uint8_t *p, const uint8_t *text, size_t length)
{
    if (length >= 4) {
        uint32_t first, last;

        memcpy(&first, text, 4);
        memcpy(&last, text + length - 4, 4);
        if (!are_plain8((uint64_t)last << 32 | first))
            return NULL;
        memcpy(p, &first, 4);
        memcpy(p + length - 4, &last, 4);
        return p + length;
    }
    for (size_t i = 0; i < length; i++) {
        if (!is_plain(text[i]))
            return NULL;
        p[i] = text[i];
    }
    return p + length;
}

/* Copies the text; NULL if a character of it is not plain. Stores nothing behind its length. */
static inline uint8_t *put_plain(uint8_t *p, const uint8_t *text, size_t length)
{
    uint64_t eight;

    if (length < 8)
        return put_plain_short(p, text, length);
    for (size_t i = 0; i + 8 <= length; i += 8) {
        memcpy(&eight, text + i, 8);
        if (!are_plain8(eight))
            return NULL;
        memcpy(p + i, &eight, 8);
    }
    memcpy(&eight, text + length - 8, 8); /* the rest, and some before it once more */
    if (!are_plain8(eight))
        return NULL;
    memcpy(p + length - 8, &eight, 8);
    return p + length;
}

#endif
