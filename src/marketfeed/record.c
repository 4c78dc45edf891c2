/* record.c - the grammar of a record. See marketfeed.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/err.h"
#include "table.h"

enum { FS = 0x1c, GS = 0x1d, RS = 0x1e, US = 0x1f };

/* The record ends with an FS, and there is no other behind its first byte: so a walk from one
 * separator to the next needs no other bound. */

/* Returns the bytes from *p to the next separator, and moves *p to that separator. */
static struct rwf_bytes take_text(const uint8_t **p)
{
    const uint8_t *begin = *p;
    const uint8_t *at = begin;

    while (*at < FS || *at > US)
        at++;
    *p = at;
    return rwf_bytes(begin, (size_t)(at - begin));
}

/* Digits, all of the text; empty is allowed and is 0. */
static bool read_number(struct rwf_bytes text, uint64_t most, uint64_t *out)
{
    struct mf_digits digits = { 0 };
    const uint8_t *p = text.data;

    mf_digits_take(&digits, &p, text.data + text.length);
    *out = digits.value;
    return digits.count == text.length && !digits.is_over && digits.value <= most;
}

static bool read_template(struct rwf_bytes text, struct mf_record *out)
{
    uint64_t number;

    if (!read_number(text, UINT16_MAX, &number))
        return false;
    out->has_template = true;
    out->template_id = (uint16_t)number;
    return true;
}

static bool read_level(struct rwf_bytes text, struct mf_record *out)
{
    uint64_t number;

    if (!read_number(text, UINT32_MAX, &number))
        return false;
    out->has_level = text.length > 0;
    out->level = (uint32_t)number;
    return true;
}

/* -?[0-9]{1,5}, from -32768 to 32767 without 0. */
static bool read_id(const uint8_t **p, int16_t *out)
{
    bool is_negative = **p == '-';
    int number = 0;
    unsigned count = 0;

    *p += is_negative;
    while (**p >= '0' && **p <= '9' && count < 6) {
        number = number * 10 + (**p - '0');
        (*p)++;
        count++;
    }
    if (count == 0 || count > 5 || number == 0 || number > INT16_MAX + is_negative)
        return false;
    *out = (int16_t)(is_negative ? -number : number);
    return true;
}

static bool check_fields(const uint8_t *p)
{
    int16_t id;

    while (*p == RS) {
        p++;
        if (!read_id(&p, &id) || *p != US)
            return false;
        p++;
        take_text(&p);
    }
    return *p == FS;
}

/* [RS r_status] US template US [rtl]: the status is one if two numbers follow it, else the first
 * field. */
static const uint8_t *read_image_head(const uint8_t *p, struct mf_record *out)
{
    const uint8_t *fields = p;

    if (*p == RS) {
        p++;
        take_text(&p);
        if (*p != US)
            return NULL;
        const uint8_t *behind = p + 1;
        take_text(&behind);
        if (*behind != US)
            return fields;
    }
    if (*p != US)
        return p;
    p++;
    if (!read_template(take_text(&p), out))
        return NULL;
    if (*p != US)
        return p;
    p++;
    return read_level(take_text(&p), out) ? p : NULL;
}

/* [US rtl], and of an aggregate [US delta] US rtl. */
static const uint8_t *read_update_head(const uint8_t *p, struct mf_record *out)
{
    struct rwf_bytes number;

    if (*p != US)
        return p;
    p++;
    number = take_text(&p);
    if (out->code == MF_AGGREGATE && *p == US) {
        p++;
        number = take_text(&p);
    }
    return read_level(number, out) ? p : NULL;
}

static bool is_data(unsigned code)
{
    return code == MF_UPDATE || code == MF_CORRECTION || code == MF_CLOSING_RUN ||
           code == MF_VERIFY || code == MF_IMAGE || code == MF_SNAPSHOT || code == MF_AGGREGATE;
}

/* FS code [US tag [RS ila]] GS name; returns what stands behind. */
static const uint8_t *read_start(const uint8_t *p, struct mf_record *out)
{
    uint64_t code;
    struct rwf_bytes text = take_text(&p);

    if (text.length < 1 || text.length > 3 || !read_number(text, 999, &code))
        return NULL;
    out->code = (uint16_t)code;
    if (!is_data(out->code))
        return p;
    if (*p == US) {
        p++;
        out->tag = take_text(&p);
        if (*p == RS) {
            p++;
            take_text(&p);
        }
    }
    if (*p != GS)
        return NULL;
    p++;
    out->name = take_text(&p);
    return out->name.length >= 1 && out->name.length <= MF_NAME_MAX ? p : NULL;
}

int mf_decode(struct rwf_bytes bytes, size_t longest, struct mf_record *out)
{
    if (bytes.length > longest)
        return MD_ERR_RANGE;
    if (bytes.length < 2 || bytes.data[0] != FS)
        return MD_ERR_MALFORMED;
    const uint8_t *last = bytes.data + bytes.length - 1;
    if (memchr(bytes.data + 1, FS, bytes.length - 1) != last)
        return MD_ERR_MALFORMED;
    memset(out, 0, sizeof(*out));
    const uint8_t *p = read_start(bytes.data + 1, out);
    if (!p)
        return MD_ERR_MALFORMED;
    if (!is_data(out->code))
        return MD_ERR_UNSUPPORTED;
    bool is_image = out->code == MF_IMAGE || out->code == MF_SNAPSHOT || out->code == MF_VERIFY;
    p = is_image ? read_image_head(p, out) : read_update_head(p, out);
    if (!p || !check_fields(p))
        return MD_ERR_MALFORMED;
    out->fields = rwf_bytes(p, (size_t)(last - p));
    return MD_OK;
}

bool mf_next(struct rwf_bytes *rest, struct mf_field *out)
{
    const uint8_t *p = rest->data;
    int number = 0;

    if (rest->length == 0)
        return false;
    p++; /* RS */
    bool is_negative = *p == '-';
    for (p += is_negative; *p != US; p++)
        number = number * 10 + (*p - '0');
    out->id = (int16_t)(is_negative ? -number : number);
    p++; /* US */
    out->value = take_text(&p);
    *rest = rwf_bytes(p, rest->length - (size_t)(p - rest->data));
    return true;
}
