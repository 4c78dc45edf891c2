/* out.h - bytes of JSON into the caller's buffer. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JSON_OUT_H
#define JSON_OUT_H

#include "rmds/rwf_types.h"

/* The first write that does not fit sets `is_full`; later ones do nothing. */
struct json_out {
    uint8_t *pos;
    uint8_t *end;
    bool is_full;
};

static inline bool json_room(struct json_out *out, size_t length)
{
    if (__builtin_expect((size_t)(out->end - out->pos) >= length && !out->is_full, 1))
        return true;
    out->is_full = true;
    return false;
}

static inline void json_put(struct json_out *out, const void *bytes, size_t length)
{
    if (!json_room(out, length))
        return;
    memcpy(out->pos, bytes, length);
    out->pos += length;
}

#define json_lit(out, text) json_put((out), (text), sizeof(text) - 1)

/* A comma before the second and each later member or value. */
static inline void json_comma(struct json_out *out)
{
    if (json_room(out, 1) && out->pos[-1] != '{' && out->pos[-1] != '[')
        *out->pos++ = ',';
}

/* A comma if one is due, then the name: json_member(out, "\"Type\":"). */
#define json_member(out, text) (json_comma(out), json_lit((out), (text)))

/* The length of the UTF-8 character at `p`, 0 if there is none. */
size_t json_utf8_length(const uint8_t *p, size_t left);

void json_uint(struct json_out *out, uint64_t value);
void json_int(struct json_out *out, int64_t value);
void json_real(struct json_out *out, const struct rwf_real *value);
void json_double(struct json_out *out, double value);
void json_float(struct json_out *out, float value);
/* With quotes. Bytes that are not UTF-8 are taken for Latin-1. */
void json_string(struct json_out *out, struct rwf_bytes text);
void json_rmtes(struct json_out *out, struct rwf_bytes text);
void json_base64(struct json_out *out, struct rwf_bytes bytes);
void json_date(struct json_out *out, const struct rwf_date *date);
void json_time(struct json_out *out, const struct rwf_time *time);
void json_datetime(struct json_out *out, const struct rwf_datetime *datetime);

#endif
