/* read_token.c - tokens as strings, numbers, truth values and names. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>

#include "reader.h"

bool json_fail(struct json_reader *r, const char *file, int line, size_t offset, const char *format,
               ...)
{
    va_list arguments;

    if (r->line)
        return false;
    r->file = file;
    r->line = line;
    r->offset = offset;
    va_start(arguments, format);
    vsnprintf(r->error, sizeof(r->error), format, arguments);
    va_end(arguments);
    return false;
}

uint32_t json_find(const struct json_reader *r, uint32_t object, const char *name)
{
    const struct json_token *o = json_at(r, object);

    for (uint32_t i = object + 1; i < o->next; i = json_at(r, i + 1)->next) {
        if (json_is(r, i, name))
            return i + 1;
    }
    return NO_TOKEN;
}

static const char *kind_name(enum json_kind kind)
{
    static const char *const names[] = { "PRIMITIVE", "STRING", "OBJECT", "ARRAY" };

    return names[kind];
}

bool json_expect(struct json_reader *r, uint32_t token, enum json_kind kind, const char *key)
{
    const struct json_token *t = json_at(r, token);

    if (t->kind == kind)
        return true;
    return FAIL(r, t->at,
                "JSON Converter Token Type error: Expected '%s' for key '%s' Received '%s'",
                kind_name(kind), key, kind_name(t->kind));
}

bool json_is_null(const struct json_reader *r, uint32_t token)
{
    return json_at(r, token)->kind == JSON_PRIMITIVE && json_is(r, token, "null");
}

/* ---- strings ---- */

/* No text is longer without its escapes, and the scratch has room for all text of a frame. */
struct rwf_bytes json_text(struct json_reader *r, uint32_t token)
{
    struct rwf_bytes raw = json_raw(r, token);

    if (!json_at(r, token)->has_escapes || r->scratch_size - r->scratch_used < raw.length)
        return raw;
    uint8_t *start = r->scratch + r->scratch_used;
    size_t length = json_unescape(raw, start);
    r->scratch_used += length;
    return rwf_bytes(start, length);
}

static int base64_digit(uint8_t c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool json_bytes(struct json_reader *r, uint32_t token, const char *key, struct rwf_bytes *out)
{
    *out = (struct rwf_bytes){ 0 };
    if (json_is_null(r, token))
        return true;
    if (!json_expect(r, token, JSON_STRING, key))
        return false;
    struct rwf_bytes text = json_text(r, token);
    uint8_t *start = r->scratch + r->scratch_used;
    uint8_t *p = start;
    uint32_t group = 0;
    if (text.length % 4 || r->scratch_size - r->scratch_used < text.length)
        return FAIL_VALUE(r, token);
    size_t padding = 0;
    while (padding < 2 && padding < text.length && text.data[text.length - 1 - padding] == '=')
        padding++;
    for (size_t i = 0; i < text.length; i++) {
        int digit = i < text.length - padding ? base64_digit(text.data[i]) : 0;

        if (digit < 0)
            return FAIL_VALUE(r, token);
        group = group << 6 | (uint32_t)digit;
        if (i % 4 < 3)
            continue;
        *p++ = (uint8_t)(group >> 16);
        *p++ = (uint8_t)(group >> 8);
        *p++ = (uint8_t)group;
    }
    p -= padding;
    r->scratch_used += (size_t)(p - start);
    *out = rwf_bytes(start, (size_t)(p - start));
    return true;
}

/* ---- numbers ---- */

bool json_to_int(struct json_reader *r, uint32_t token, const char *key, int64_t low, int64_t high,
                 int64_t *out)
{
    *out = 0;
    if (!json_expect(r, token, JSON_PRIMITIVE, key))
        return false;
    struct rwf_bytes text = json_raw(r, token);
    bool is_negative = text.data[0] == '-';
    int64_t value = 0;
    for (size_t i = is_negative; i < text.length; i++) {
        unsigned digit = text.data[i] - (unsigned)'0';

        if (digit > 9)
            return FAIL(r, json_at(r, token)->at,
                        "JSON Unexpected Value. Received '%.*s' for key '%s'",
                        (int)(text.length < 64 ? text.length : 64), (const char *)text.data, key);
        if (__builtin_mul_overflow(value, 10, &value) ||
            (is_negative ? __builtin_sub_overflow(value, (int64_t)digit, &value)
                         : __builtin_add_overflow(value, (int64_t)digit, &value)))
            return FAIL_VALUE(r, token);
    }
    if (value < low || value > high)
        return FAIL_VALUE(r, token);
    *out = value;
    return true;
}

bool json_to_bool(struct json_reader *r, uint32_t token, const char *key, bool *out)
{
    const struct json_token *t = json_at(r, token);

    /* Some clients write "false" in quotes. */
    if (t->kind != JSON_STRING && !json_expect(r, token, JSON_PRIMITIVE, key))
        return false;
    *out = !json_is(r, token, "false") && !json_is(r, token, "0");
    return true;
}

bool json_to_number(struct json_reader *r, uint32_t token, const char *key,
                    const struct json_names *names, unsigned max, unsigned *out)
{
    const struct json_token *t = json_at(r, token);
    int64_t value = 0;

    *out = 0;
    if (t->kind == JSON_STRING) {
        struct rwf_bytes text = json_text(r, token);

        value = json_number(names, text);
        if (value < 0)
            return FAIL(r, t->at, "JSON Unexpected Value. Received '%.*s' for key '%s'",
                        (int)(text.length < 64 ? text.length : 64), (const char *)text.data, key);
    } else if (!json_to_int(r, token, key, 0, max, &value)) {
        return false;
    }
    *out = (unsigned)value;
    return true;
}
