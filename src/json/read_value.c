/* read_value.c - values of JSON as primitives of RWF. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "reader.h"
#include "rmds/rwf_rmtes.h"

#define NUMBER_MAX   64
#define DECIMALS_MAX 14
#define EXPONENT_MAX 40
#define TIME_PARTS   6
#define DISPLAY_MAX  768 /* three bytes for each of the 255 that a display may have */

static bool read_int(struct json_reader *r, uint32_t token, struct rwf_value *out)
{
    int64_t value;

    if (!json_to_int(r, token, "Data", INT64_MIN, INT64_MAX, &value))
        return false;
    out->i = value;
    return true;
}

static bool read_uint(struct json_reader *r, uint32_t token, struct rwf_value *out)
{
    struct rwf_bytes text = json_raw(r, token);
    uint64_t value = 0;

    if (json_at(r, token)->kind != JSON_PRIMITIVE)
        return FAIL_VALUE(r, token);
    for (size_t i = 0; i < text.length; i++) {
        unsigned digit = text.data[i] - (unsigned)'0';

        if (digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, digit, &value))
            return FAIL_VALUE(r, token);
    }
    out->u = value;
    return true;
}

/* Inf, -Inf, NaN: the hint of a real, 0 for any other text. */
static uint8_t special(struct rwf_bytes text)
{
    if (rwf_bytes_equal(text, rwf_text("Inf")))
        return RWF_HINT_INFINITY;
    if (rwf_bytes_equal(text, rwf_text("-Inf")))
        return RWF_HINT_NEG_INFINITY;
    return rwf_bytes_equal(text, rwf_text("NaN")) ? RWF_HINT_NOT_A_NUMBER : 0;
}

static bool add_digit(int64_t *value, uint8_t c)
{
    return !__builtin_mul_overflow(*value, 10, value) &&
           !__builtin_sub_overflow(*value, (int64_t)(c - '0'), value);
}

/* The digits as they are written: 1.50 is 150 at 10^-2. */
static bool real_of_text(struct rwf_bytes text, struct rwf_real *out)
{
    bool is_negative = text.data[0] == '-';
    bool has_point = false;
    int64_t value = 0; /* negative: the lowest has no counterpart */
    long decimals = 0;

    for (size_t i = is_negative; i < text.length; i++) {
        uint8_t c = text.data[i];

        if (c == '.') {
            has_point = true;
        } else if ((c | 0x20) == 'e') {
            char exponent[8] = { 0 };
            size_t left = text.length - i - 1;
            if (left >= sizeof(exponent))
                return false;
            memcpy(exponent, text.data + i + 1, left);
            decimals -= strtol(exponent, NULL, 10);
            break;
        } else if (c < '0' || c > '9' || !add_digit(&value, c)) {
            return false;
        } else {
            decimals += has_point;
        }
    }
    if (decimals < -EXPONENT_MAX || decimals > DECIMALS_MAX)
        return false;
    for (; decimals < 0; decimals++) {
        if (__builtin_mul_overflow(value, 10, &value))
            return false;
    }
    if (!is_negative && __builtin_sub_overflow(0, value, &value))
        return false;
    *out = (struct rwf_real){ .value = value, .hint = (uint8_t)(RWF_HINT_EXP_0 - decimals) };
    return true;
}

static bool read_real(struct json_reader *r, uint32_t token, struct rwf_value *out)
{
    struct rwf_bytes text = json_raw(r, token);

    if (json_at(r, token)->kind == JSON_STRING && special(text)) {
        out->real = (struct rwf_real){ .hint = special(text) };
        return true;
    }
    if (json_at(r, token)->kind != JSON_PRIMITIVE || !real_of_text(text, &out->real))
        return FAIL_VALUE(r, token);
    return true;
}

static bool read_double(struct json_reader *r, uint32_t token, double *out)
{
    struct rwf_bytes text = json_raw(r, token);
    char number[NUMBER_MAX] = { 0 };
    char *end = NULL;

    if (text.length >= sizeof(number) || (json_at(r, token)->kind == JSON_STRING && !special(text)))
        return FAIL_VALUE(r, token);
    memcpy(number, text.data, text.length);
    *out = strtod(number, &end);
    return end == number + text.length && end > number ? true : FAIL_VALUE(r, token);
}

/* A display is RMTES: the tick of a price, #DE#, is the arrow of JSON. */
static bool is_display(struct rwf_bytes text, const struct rwf_enum_value *one)
{
    char utf8[DISPLAY_MAX];
    size_t length = 0;

    if (rwf_bytes_equal(text, rwf_bytes(one->display, one->display_length)))
        return true;
    if (text.length == 0 || one->display_length == 0 ||
        (one->display[0] > 0x20 && one->display[0] < 0x7F && one->display[0] != text.data[0]))
        return false;
    return rwf_rmtes_to_utf8(one->display, one->display_length, utf8, sizeof(utf8), &length) ==
               RWF_OK &&
           rwf_bytes_equal(text, rwf_bytes(utf8, length));
}

/* A display of the field's enumeration; one that it has not is blank. */
static bool read_enum(struct json_reader *r, uint32_t token, const struct rwf_field_def *field,
                      struct rwf_value *out)
{
    int64_t value;

    if (json_at(r, token)->kind == JSON_STRING && field && field->enums) {
        struct rwf_bytes text = json_text(r, token);

        for (uint32_t i = 0; i < field->enums->value_count; i++) {
            const struct rwf_enum_value *one = &field->enums->values[i];
            if (is_display(text, one)) {
                out->u = one->value;
                return true;
            }
        }
        out->is_blank = true;
        return true;
    }
    if (!json_to_int(r, token, field ? field->name : "Data", 0, UINT16_MAX, &value))
        return false;
    out->u = (uint64_t)value;
    return true;
}

/* ---- times ---- */

static int month_of(const uint8_t *p)
{
    static const char names[] = "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC";

    for (int i = 0; i < 12; i++) {
        if ((p[0] & ~0x20) == names[i * 3] && (p[1] & ~0x20) == names[i * 3 + 1] &&
            (p[2] & ~0x20) == names[i * 3 + 2])
            return i + 1;
    }
    return 0;
}

/* 2024-03-07, or 07 MAR 2024. */
static int date_of(struct rwf_bytes text, struct rwf_date *out)
{
    const uint8_t *p = text.data;
    unsigned number[3] = { 0 };

    if (text.length != 11 || p[2] != ' ' || p[6] != ' ')
        return rwf_date_from_text(text, out);
    for (int i = 0; i < 6; i++) {
        static const uint8_t places[] = { 0, 1, 7, 8, 9, 10 };
        unsigned digit = p[places[i]] - (unsigned)'0';
        if (digit > 9)
            return RWF_ERR_MALFORMED;
        number[i > 1] = number[i > 1] * 10 + digit;
    }
    int month = month_of(p + 3);
    *out = (struct rwf_date){ (uint16_t)number[1], (uint8_t)month, (uint8_t)number[0] };
    return month ? RWF_OK : RWF_ERR_MALFORMED;
}

/* HH:MM:SS:mmm:uuu:nnn, the old form; false for any other. */
static bool old_time(struct rwf_bytes text, struct rwf_time *out)
{
    static const unsigned limits[TIME_PARTS] = { 23, 59, 60, 999, 999, 999 };
    unsigned part[TIME_PARTS] = { 0 };
    unsigned count = 0;

    for (size_t i = 0; i < text.length; i++) {
        if (text.data[i] == ':') {
            if (++count == TIME_PARTS)
                return false;
        } else if (text.data[i] < '0' || text.data[i] > '9' || part[count] > 999) {
            return false;
        } else {
            part[count] = part[count] * 10 + (text.data[i] - (unsigned)'0');
        }
    }
    for (unsigned i = 0; i < TIME_PARTS; i++) {
        if (part[i] > limits[i])
            return false;
    }
    *out = (struct rwf_time){ (uint8_t)part[0],  (uint8_t)part[1],  (uint8_t)part[2],
                              (uint16_t)part[3], (uint16_t)part[4], (uint16_t)part[5] };
    return count > 2;
}

static bool read_time(struct json_reader *r, unsigned type, uint32_t token, struct rwf_value *out)
{
    if (json_at(r, token)->kind != JSON_STRING)
        return FAIL_VALUE(r, token);
    struct rwf_bytes text = json_text(r, token);
    int rc = RWF_OK;
    if (type == RWF_TYPE_DATE)
        rc = date_of(text, &out->date);
    else if (type == RWF_TYPE_DATETIME)
        rc = rwf_datetime_from_text(text, &out->datetime);
    else if (!old_time(text, &out->time))
        rc = rwf_time_from_text(text, &out->time);
    out->is_blank = rc == RWF_BLANK;
    return rc >= 0 ? true : FAIL_VALUE(r, token);
}

/* ---- objects ---- */

static bool read_member(struct json_reader *r, uint32_t object, const char *key,
                        const struct json_names *names, unsigned max, unsigned *out)
{
    uint32_t token = json_find(r, object, key);

    *out = 0;
    return token == NO_TOKEN || json_to_number(r, token, key, names, max, out);
}

static bool read_qos(struct json_reader *r, uint32_t token, struct rwf_qos *out)
{
    unsigned timeliness, rate, time_info, rate_info;

    if (!json_expect(r, token, JSON_OBJECT, "Qos"))
        return false;
    if (json_find(r, token, "Timeliness") == NO_TOKEN)
        return FAIL(r, json_at(r, token)->at, "JSON Missing required key 'Timeliness'");
    if (json_find(r, token, "Rate") == NO_TOKEN)
        return FAIL(r, json_at(r, token)->at, "JSON Missing required key 'Rate'");
    if (!read_member(r, token, "Timeliness", &json_timeliness, 7, &timeliness) ||
        !read_member(r, token, "Rate", &json_rates, 15, &rate) ||
        !read_member(r, token, "TimeInfo", &json_rates, UINT16_MAX, &time_info) ||
        !read_member(r, token, "RateInfo", &json_rates, UINT16_MAX, &rate_info))
        return false;
    *out = (struct rwf_qos){ .timeliness = (uint8_t)timeliness,
                             .rate = (uint8_t)rate,
                             .time_info = (uint16_t)time_info,
                             .rate_info = (uint16_t)rate_info };
    uint32_t dynamic = json_find(r, token, "Dynamic");
    return dynamic == NO_TOKEN || json_to_bool(r, dynamic, "Dynamic", &out->dynamic);
}

static bool read_state(struct json_reader *r, uint32_t token, struct rwf_state *out)
{
    unsigned stream, data, code;
    uint32_t text = NO_TOKEN;

    if (!json_expect(r, token, JSON_OBJECT, "State") ||
        !read_member(r, token, "Stream", &json_stream_states, 31, &stream) ||
        !read_member(r, token, "Data", &json_data_states, 7, &data) ||
        !read_member(r, token, "Code", &json_codes, 255, &code))
        return false;
    *out = (struct rwf_state){ .stream_state = (uint8_t)stream,
                               .data_state = (uint8_t)data,
                               .code = (uint8_t)code };
    text = json_find(r, token, "Text");
    if (text == NO_TOKEN)
        return true;
    if (!json_expect(r, text, JSON_STRING, "Text"))
        return false;
    out->text = json_text(r, text);
    return true;
}

/* ---- any type ---- */

/*
 * A string that is not all ASCII says that it is UTF-8. A part of a string has a byte for each
 * character, or what says so would write over cells that the part leaves. False: it cannot.
 */
static bool rmtes_of(struct json_reader *r, struct rwf_bytes *bytes)
{
    const struct rwf_bytes text = *bytes;
    size_t plain = 0;
    size_t length;

    while (plain < text.length && text.data[plain] < 0x80)
        plain++;
    if (plain == text.length)
        return true;
    bool is_partial = rwf_rmtes_is_partial(text.data, text.length);
    if (r->scratch_size - r->scratch_used < text.length + 3)
        return !is_partial;
    uint8_t *out = r->scratch + r->scratch_used;
    if (is_partial) {
        if (rwf_rmtes_from_utf8(text.data, text.length, out, text.length, &length) != RWF_OK)
            return false;
        r->scratch_used += length;
        *bytes = rwf_bytes(out, length);
        return true;
    }
    out[0] = 0x1B;
    out[1] = '%';
    out[2] = '0';
    memcpy(out + 3, text.data, text.length);
    r->scratch_used += text.length + 3;
    *bytes = rwf_bytes(out, text.length + 3);
    return true;
}

static bool read_text(struct json_reader *r, unsigned type, uint32_t token, struct rwf_value *out)
{
    if (json_at(r, token)->kind != JSON_STRING)
        return FAIL_VALUE(r, token);
    out->bytes = json_text(r, token);
    if (type == RWF_TYPE_RMTES && !rmtes_of(r, &out->bytes))
        return FAIL_VALUE(r, token);
    out->is_blank = out->bytes.length == 0;
    return true;
}

bool json_read_value(struct json_reader *r, unsigned type, uint32_t token,
                     const struct rwf_field_def *field, struct rwf_value *out)
{
    double number = 0;

    type = rwf_type_base(type);
    *out = (struct rwf_value){ .type = (uint16_t)type, .is_blank = json_is_null(r, token) };
    if (out->is_blank)
        return true;
    switch (type) {
    case RWF_TYPE_INT:
        return read_int(r, token, out);
    case RWF_TYPE_UINT:
        return read_uint(r, token, out);
    case RWF_TYPE_REAL:
        return read_real(r, token, out);
    case RWF_TYPE_FLOAT:
    case RWF_TYPE_DOUBLE:
        if (!read_double(r, token, &number))
            return false;
        if (type == RWF_TYPE_FLOAT)
            out->f = (float)number;
        else
            out->d = number;
        return true;
    case RWF_TYPE_ENUM:
        return read_enum(r, token, field, out);
    case RWF_TYPE_DATE:
    case RWF_TYPE_TIME:
    case RWF_TYPE_DATETIME:
        return read_time(r, type, token, out);
    case RWF_TYPE_QOS:
        return read_qos(r, token, &out->qos);
    case RWF_TYPE_STATE:
        return read_state(r, token, &out->state);
    case RWF_TYPE_ASCII:
    case RWF_TYPE_UTF8:
    case RWF_TYPE_RMTES:
        return read_text(r, type, token, out);
    default:
        if (!json_bytes(r, token, "Data", &out->bytes))
            return false;
        out->is_blank = out->bytes.length == 0;
        return true;
    }
}
