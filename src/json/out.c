/* out.c - numbers, strings and times as JSON. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "out.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "rmds/rwf_rmtes.h"
#include "rmds/rwf_value.h"

#define NUMBER_MAX 48 /* the longest number: 20 digits, 14 decimals or zeros, a sign */

/* ---- numbers ---- */

static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233"
                            "34353637383940414243444546474849505152535455565758596061626364656667"
                            "6869707172737475767778798081828384858687888990919293949596979899";

/* Writes the digits so that they end at `end`; returns their first. */
static uint8_t *digits_back(uint8_t *end, uint64_t value)
{
    while (value >= 100) {
        end -= 2;
        memcpy(end, pairs + value % 100 * 2, 2);
        value /= 100;
    }
    if (value >= 10) {
        end -= 2;
        memcpy(end, pairs + value * 2, 2);
    } else {
        *--end = (uint8_t)('0' + value);
    }
    return end;
}

void json_uint(struct json_out *out, uint64_t value)
{
    uint8_t text[24];
    uint8_t *first = digits_back(text + sizeof(text), value);

    json_put(out, first, (size_t)(text + sizeof(text) - first));
}

static uint64_t magnitude(struct json_out *out, int64_t value)
{
    if (value >= 0)
        return (uint64_t)value;
    json_lit(out, "-");
    return 0 - (uint64_t)value;
}

void json_int(struct json_out *out, int64_t value)
{
    json_uint(out, magnitude(out, value));
}

/* value / 10^decimals, trailing zeros kept. */
static void decimal(struct json_out *out, uint64_t value, unsigned decimals)
{
    uint8_t text[40];
    uint8_t *end = text + sizeof(text);
    uint8_t *first = digits_back(end, value);

    while ((size_t)(end - first) <= decimals)
        *--first = '0';
    size_t whole = (size_t)(end - first) - decimals;
    json_put(out, first, whole);
    if (decimals == 0)
        return;
    json_lit(out, ".");
    json_put(out, first + whole, decimals);
}

/* value / 2^shift, exactly. */
static void fraction(struct json_out *out, uint64_t value, unsigned shift)
{
    uint64_t mask = ((uint64_t)1 << shift) - 1;
    uint64_t rest = value & mask;

    json_uint(out, value >> shift);
    if (rest)
        json_lit(out, ".");
    while (rest) {
        rest *= 10;
        uint8_t digit = (uint8_t)('0' + (rest >> shift));
        json_put(out, &digit, 1);
        rest &= mask;
    }
}

void json_real(struct json_out *out, const struct rwf_real *value)
{
    if (value->hint > RWF_HINT_FRACTION_256) {
        if (value->hint == RWF_HINT_INFINITY)
            json_lit(out, "\"Inf\"");
        else if (value->hint == RWF_HINT_NEG_INFINITY)
            json_lit(out, "\"-Inf\"");
        else
            json_lit(out, "\"NaN\"");
        return;
    }
    if (value->value == 0) {
        json_lit(out, "0");
        return;
    }
    uint64_t number = magnitude(out, value->value);
    if (value->hint >= RWF_HINT_FRACTION_1) {
        fraction(out, number, value->hint - RWF_HINT_FRACTION_1);
    } else if (value->hint > RWF_HINT_EXP_0) {
        json_uint(out, number);
        json_put(out, "0000000", value->hint - RWF_HINT_EXP_0);
    } else {
        decimal(out, number, RWF_HINT_EXP_0 - value->hint);
    }
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

size_t json_utf8_length(const uint8_t *p, size_t left)
{
    unsigned lead = p[0];
    size_t length = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;

    if (length == 0 || length > left)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((p[i] & 0xC0) != 0x80)
            return 0;
    }
    if ((lead == 0xE0 && p[1] < 0xA0) || (lead == 0xED && p[1] > 0x9F) ||
        (lead == 0xF0 && p[1] < 0x90) || (lead == 0xF4 && p[1] > 0x8F))
        return 0;
    return length;
}

static bool is_plain(uint8_t byte)
{
    return byte >= 0x20 && byte < 0x7F && byte != '"' && byte != '\\';
}

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
    size_t length = json_utf8_length(p, left);
    if (length) {
        json_put(out, p, length);
        return length;
    }
    const uint8_t latin[2] = { (uint8_t)(0xC0 | *p >> 6), (uint8_t)(0x80 | (*p & 0x3F)) };
    json_put(out, latin, 2);
    return 1;
}

void json_string(struct json_out *out, struct rwf_bytes text)
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

/* Text beyond ASCII is decoded to the end of the room and escaped from there. */
void json_rmtes(struct json_out *out, struct rwf_bytes text)
{
    size_t plain = 0;
    size_t decoded = 0;

    while (plain < text.length && text.data[plain] >= 0x20 && text.data[plain] < 0x7F)
        plain++;
    if (plain == text.length) {
        json_string(out, text);
        return;
    }
    size_t left = (size_t)(out->end - out->pos);
    size_t room = left / 8 < text.length ? left / 8 : left / 2;
    uint8_t *tail = out->end - room;
    if (rwf_rmtes_to_utf8(text.data, text.length, (char *)tail, room, &decoded) != RWF_OK) {
        out->is_full = true;
        return;
    }
    struct json_out front = { .pos = out->pos, .end = tail, .is_full = out->is_full };
    json_string(&front, rwf_bytes(tail, decoded));
    out->pos = front.pos;
    out->is_full = front.is_full;
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

static void two(struct json_out *out, char before, unsigned value)
{
    const uint8_t text[3] = { (uint8_t)before, (uint8_t)('0' + value / 10 % 10),
                              (uint8_t)('0' + value % 10) };

    json_put(out, before ? text : text + 1, before ? 3 : 2);
}

static void three(struct json_out *out, unsigned value)
{
    const uint8_t text[3] = { (uint8_t)('0' + value / 100 % 10), (uint8_t)('0' + value / 10 % 10),
                              (uint8_t)('0' + value % 10) };

    json_put(out, text, 3);
}

static void date_text(struct json_out *out, const struct rwf_date *date)
{
    if (date->year > 9999) { /* RWF has room for it */
        json_uint(out, date->year);
    } else {
        two(out, 0, date->year / 100u);
        two(out, 0, date->year % 100u);
    }
    if (date->month == 0)
        return;
    two(out, '-', date->month);
    if (date->day)
        two(out, '-', date->day);
}

static unsigned known(unsigned value, unsigned blank)
{
    return value == blank ? 0 : value;
}

static void time_text(struct json_out *out, const struct rwf_time *time)
{
    unsigned milli = known(time->milli, RWF_MILLI_BLANK);
    unsigned micro = known(time->micro, RWF_MICRO_BLANK);
    unsigned nano = known(time->nano, RWF_NANO_BLANK);

    two(out, 0, known(time->hour, RWF_HOUR_BLANK));
    two(out, ':', known(time->minute, RWF_MINUTE_BLANK));
    two(out, ':', known(time->second, RWF_SECOND_BLANK));
    if (!milli && !micro && !nano)
        return;
    json_lit(out, ".");
    three(out, milli);
    if (micro || nano)
        three(out, micro);
    if (nano)
        three(out, nano);
}

void json_date(struct json_out *out, const struct rwf_date *date)
{
    json_lit(out, "\"");
    date_text(out, date);
    json_lit(out, "\"");
}

void json_time(struct json_out *out, const struct rwf_time *time)
{
    json_lit(out, "\"");
    time_text(out, time);
    json_lit(out, "\"");
}

void json_datetime(struct json_out *out, const struct rwf_datetime *datetime)
{
    json_lit(out, "\"");
    if (!rwf_date_is_blank(&datetime->date))
        date_text(out, &datetime->date);
    if (!rwf_time_is_blank(&datetime->time)) {
        json_lit(out, "T");
        time_text(out, &datetime->time);
    }
    json_lit(out, "\"");
}
