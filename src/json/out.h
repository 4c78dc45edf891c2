/* out.h - bytes of JSON into the caller's buffer. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JSON_OUT_H
#define JSON_OUT_H

#include "names.h"
#include "rmds/rwf_dictionary.h"
#include "rmds/rwf_types.h"

/* The first write that does not fit sets `is_full` and ends the room; later ones do nothing. */
struct json_out {
    uint8_t *pos;
    uint8_t *end;
    bool is_full;
};

static inline bool json_has(const struct json_out *out, size_t length)
{
    return __builtin_expect((size_t)(out->end - out->pos) >= length, 1);
}

static inline bool json_room(struct json_out *out, size_t length)
{
    if (json_has(out, length))
        return true;
    out->is_full = true;
    out->end = out->pos;
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

static inline void json_put_name(struct json_out *out, const struct json_name *name)
{
    if (!json_has(out, sizeof(*name))) {
        json_put(out, name->text, name->length);
        return;
    }
    memcpy(out->pos, name, sizeof(*name));
    out->pos += name->length;
}

/* The name of a field as a member of an object, with a comma before all but the first. */
static inline void json_put_field(struct json_out *out, const struct rwf_field_def *def)
{
    if (!json_room(out, 1))
        return; /* there may be nothing in front */
    size_t skipped = out->pos[-1] == '{';
    const char *text = def->member + skipped;
    size_t length = def->member_length - skipped;

    if (length > 32 || !json_has(out, 32)) {
        json_put(out, text, length);
        return;
    }
    memcpy(out->pos, text, 32);
    out->pos += length;
}

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
