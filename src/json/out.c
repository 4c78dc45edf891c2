/* out.c - numbers, strings and times as JSON. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "out.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "put.h"
#include "rmds/rwf_rmtes.h"
#include "rmds/rwf_value.h"

#define NUMBER_MAX 48 /* the longest number of a double, with its terminator */

/* ---- numbers ---- */

const char json_pairs[201] = "00010203040506070809101112131415161718192021222324252627282930313233"
                             "34353637383940414243444546474849505152535455565758596061626364656667"
                             "6869707172737475767778798081828384858687888990919293949596979899";

/*
 * Where a number is stored: in the room itself where that is enough for any, else in `spare`, from
 * where end_number() puts it.
 */
static inline uint8_t *start_number(const struct json_out *out, uint8_t *spare)
{
    return json_has(out, JSON_NUMBER_ROOM) ? out->pos : spare;
}

static inline void end_number(struct json_out *out, const uint8_t *spare, const uint8_t *start,
                              uint8_t *end)
{
    if (start == spare)
        json_put(out, spare, (size_t)(end - spare));
    else
        out->pos = end;
}

void json_uint(struct json_out *out, uint64_t value)
{
    uint8_t spare[JSON_NUMBER_ROOM];
    uint8_t *start = start_number(out, spare);

    end_number(out, spare, start, put_uint(start, value));
}

/* The sign, if it has one, and what is left of the value. */
static uint8_t *put_sign(uint8_t *p, int64_t value, uint64_t *magnitude)
{
    *p = '-';
    *magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    return p + (value < 0);
}

void json_int(struct json_out *out, int64_t value)
{
    uint8_t spare[JSON_NUMBER_ROOM];
    uint8_t *start = start_number(out, spare);
    uint64_t magnitude;
    uint8_t *p = put_sign(start, value, &magnitude);

    end_number(out, spare, start, put_uint(p, magnitude));
}

/* value / 10^decimals, trailing zeros kept; decimals are 1 to 14. */
static uint8_t *put_decimal(uint8_t *p, uint64_t value, unsigned decimals)
{
    uint8_t last[16];
    unsigned digits = digit_count(value);

    if (digits <= decimals) {
        memset(p, '0', 16);
        digits = decimals + 1;
    }
    put_digits_back(p + digits, value);
    p += digits - decimals;
    memcpy(last, p, sizeof(last));
    memcpy(p + 1, last, sizeof(last));
    *p = '.';
    return p + 1 + decimals;
}

/* value / 2^shift, exactly. */
static uint8_t *put_fraction(uint8_t *p, uint64_t value, unsigned shift)
{
    uint64_t mask = ((uint64_t)1 << shift) - 1;
    uint64_t rest = value & mask;

    p = put_uint(p, value >> shift);
    if (rest)
        *p++ = '.';
    while (rest) {
        rest *= 10;
        *p++ = (uint8_t)('0' + (rest >> shift));
        rest &= mask;
    }
    return p;
}

static void put_special(struct json_out *out, unsigned hint)
{
    if (hint == RWF_HINT_INFINITY)
        json_lit(out, "\"Inf\"");
    else if (hint == RWF_HINT_NEG_INFINITY)
        json_lit(out, "\"-Inf\"");
    else
        json_lit(out, "\"NaN\"");
}

void json_real(struct json_out *out, const struct rwf_real *value)
{
    uint8_t spare[JSON_NUMBER_ROOM];
    unsigned hint = value->hint;
    uint64_t magnitude;

    if (hint > RWF_HINT_FRACTION_256) {
        put_special(out, hint);
        return;
    }
    if (value->value == 0) {
        json_lit(out, "0");
        return;
    }
    uint8_t *start = start_number(out, spare);
    uint8_t *p = put_sign(start, value->value, &magnitude);
    if (hint < RWF_HINT_EXP_0) {
        p = put_decimal(p, magnitude, RWF_HINT_EXP_0 - hint);
    } else if (hint >= RWF_HINT_FRACTION_1) {
        p = put_fraction(p, magnitude, hint - RWF_HINT_FRACTION_1);
    } else {
        p = put_uint(p, magnitude);
        memset(p, '0', 8);
        p += hint - RWF_HINT_EXP_0;
    }
    end_number(out, spare, start, p);
}

static bool special(struct json_out *out, double value)
{
    if (isfinite(value))
        return false;
    if (isnan(value))
        json_lit(out, "\"NaN\"");
    else if (value > 0)
        json_lit(out, "\"Inf\"");
    else
        json_lit(out, "\"-Inf\"");
    return true;
}

void json_double(struct json_out *out, double value)
{
    char text[NUMBER_MAX];
    int length = 0;

    if (special(out, value))
        return;
    for (int digits = 15; digits <= 17; digits++) {
        length = snprintf(text, sizeof(text), "%.*g", digits, value);
        if (digits == 17 || strtod(text, NULL) == value)
            break;
    }
    json_put(out, text, (size_t)length);
}

void json_float(struct json_out *out, float value)
{
    char text[NUMBER_MAX];
    int length = 0;

    if (special(out, (double)value))
        return;
    for (int digits = 6; digits <= 9; digits++) {
        length = snprintf(text, sizeof(text), "%.*g", digits, (double)value);
        if (digits == 9 || strtof(text, NULL) == value)
            break;
    }
    json_put(out, text, (size_t)length);
}

/* ---- strings ---- */

static void escape(struct json_out *out, uint8_t byte)
{
    static const char hex[] = "0123456789ABCDEF";
    static const char letters[] = "btn\0fr"; /* of 8 to 13 */
    uint8_t text[6] = { '\\', 'u', '0', '0', (uint8_t)hex[byte >> 4], (uint8_t)hex[byte & 15] };

    if (byte == '"' || byte == '\\')
        text[1] = byte;
    else if (byte >= 8 && byte <= 13 && letters[byte - 8])
        text[1] = (uint8_t)letters[byte - 8];
    json_put(out, text, text[1] == 'u' ? 6 : 2);
}

/* Returns how many bytes of the text were taken. */
static size_t unplain(struct json_out *out, const uint8_t *p, size_t left)
{
    if (*p < 0x80) {
        escape(out, *p);
        return 1;
    }
    size_t length = md_utf8_length(p, left);
    if (length) {
        json_put(out, p, length);
        return length;
    }
    uint8_t latin[4];
    json_put(out, latin, (size_t)(md_utf8_put(latin, *p) - latin));
    return 1;
}

static void put_unplain(struct json_out *out, struct rwf_bytes text)
{
    json_lit(out, "\"");
    for (size_t at = 0; at < text.length;) {
        size_t plain = at;

        while (plain < text.length && is_plain(text.data[plain]))
            plain++;
        if (plain > at)
            json_put(out, text.data + at, plain - at);
        at = plain;
        if (at < text.length)
            at += unplain(out, text.data + at, text.length - at);
    }
    json_lit(out, "\"");
}

/* False, and nothing is written, if a character must be escaped or the room does not suffice. */
static inline bool put_plain_string(struct json_out *out, struct rwf_bytes text)
{
    if (!json_has(out, text.length + 2))
        return false;
    out->pos[0] = '"';
    uint8_t *end = put_plain(out->pos + 1, text.data, text.length);
    if (!end)
        return false;
    *end = '"';
    out->pos = end + 1;
    return true;
}

void json_string(struct json_out *out, struct rwf_bytes text)
{
    if (!put_plain_string(out, text))
        put_unplain(out, text);
}

/* Text beyond ASCII is decoded to the end of the room and escaped from there. The positions of a
 * partial update stay: without them a consumer would replace the whole string by a piece of it. */
void json_rmtes(struct json_out *out, struct rwf_bytes text)
{
    size_t plain = 0;
    size_t decoded = 0;

    if (put_plain_string(out, text))
        return;
    while (plain < text.length && text.data[plain] >= 0x20 && text.data[plain] < 0x7F)
        plain++;
    if (plain == text.length) {
        put_unplain(out, text);
        return;
    }
    size_t left = (size_t)(out->end - out->pos);
    size_t room = left / 8 < text.length ? left / 8 : left / 2;
    uint8_t *tail = out->end - room;
    if (rwf_rmtes_update_to_utf8(text.data, text.length, (char *)tail, room, &decoded) != RWF_OK) {
        out->is_full = true;
        out->end = out->pos;
        return;
    }
    struct json_out front = { .pos = out->pos, .end = tail, .is_full = out->is_full };
    json_string(&front, rwf_bytes(tail, decoded));
    out->pos = front.pos;
    out->is_full = front.is_full;
    if (out->is_full)
        out->end = out->pos;
}

void json_base64(struct json_out *out, struct rwf_bytes bytes)
{
    static const char set[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t length = (bytes.length + 2) / 3 * 4 + 2;

    if (!json_room(out, length))
        return;
    uint8_t *p = out->pos;
    *p++ = '"';
    for (size_t i = 0; i < bytes.length; i += 3) {
        size_t left = bytes.length - i;
        uint32_t group = (uint32_t)bytes.data[i] << 16;

        group |= left > 1 ? (uint32_t)bytes.data[i + 1] << 8 : 0;
        group |= left > 2 ? bytes.data[i + 2] : 0;
        *p++ = (uint8_t)set[group >> 18];
        *p++ = (uint8_t)set[group >> 12 & 63];
        *p++ = left > 1 ? (uint8_t)set[group >> 6 & 63] : '=';
        *p++ = left > 2 ? (uint8_t)set[group & 63] : '=';
    }
    *p++ = '"';
    out->pos = p;
}

/* ---- times ---- */

static uint8_t *put_after(uint8_t *p, char before, unsigned value)
{
    *p = (uint8_t)before;
    return put_pair(p + 1, value % 100);
}

static uint8_t *put_three(uint8_t *p, unsigned value)
{
    *p = (uint8_t)('0' + value / 100 % 10);
    return put_pair(p + 1, value % 100);
}

static uint8_t *put_date(uint8_t *p, const struct rwf_date *date)
{
    if (date->year > 9999) { /* RWF has room for it */
        p = put_uint(p, date->year);
    } else {
        p = put_pair(p, date->year / 100u);
        p = put_pair(p, date->year % 100u);
    }
    if (date->month == 0)
        return p;
    p = put_after(p, '-', date->month);
    return date->day ? put_after(p, '-', date->day) : p;
}

static unsigned known(unsigned value, unsigned blank)
{
    return value == blank ? 0 : value;
}

static uint8_t *put_time(uint8_t *p, const struct rwf_time *time)
{
    unsigned milli = known(time->milli, RWF_MILLI_BLANK);
    unsigned micro = known(time->micro, RWF_MICRO_BLANK);
    unsigned nano = known(time->nano, RWF_NANO_BLANK);

    p = put_pair(p, known(time->hour, RWF_HOUR_BLANK) % 100);
    p = put_after(p, ':', known(time->minute, RWF_MINUTE_BLANK));
    p = put_after(p, ':', known(time->second, RWF_SECOND_BLANK));
    if (!milli && !micro && !nano)
        return p;
    *p++ = '.';
    p = put_three(p, milli);
    if (micro || nano)
        p = put_three(p, micro);
    return nano ? put_three(p, nano) : p;
}

void json_date(struct json_out *out, const struct rwf_date *date)
{
    uint8_t spare[JSON_NUMBER_ROOM];
    uint8_t *start = start_number(out, spare);

    *start = '"';
    uint8_t *p = put_date(start + 1, date);
    *p = '"';
    end_number(out, spare, start, p + 1);
}

void json_time(struct json_out *out, const struct rwf_time *time)
{
    uint8_t spare[JSON_NUMBER_ROOM];
    uint8_t *start = start_number(out, spare);

    *start = '"';
    uint8_t *p = put_time(start + 1, time);
    *p = '"';
    end_number(out, spare, start, p + 1);
}

void json_datetime(struct json_out *out, const struct rwf_datetime *datetime)
{
    uint8_t spare[JSON_NUMBER_ROOM];
    uint8_t *start = start_number(out, spare);
    uint8_t *p = start;

    *p++ = '"';
    if (!rwf_date_is_blank(&datetime->date))
        p = put_date(p, &datetime->date);
    if (!rwf_time_is_blank(&datetime->time)) {
        *p++ = 'T';
        p = put_time(p, &datetime->time);
    }
    *p = '"';
    end_number(out, spare, start, p + 1);
}
