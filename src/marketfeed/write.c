/* write.c - the parts of a record, one behind the other. See marketfeed.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "marketfeed/marketfeed.h"

enum { FS = 0x1c, GS = 0x1d, RS = 0x1e, US = 0x1f };

void mf_put(struct mf_output *out, struct rwf_bytes bytes)
{
    if (out->is_full || bytes.length > out->size - out->length) {
        out->is_full = true;
        return;
    }
    if (bytes.length > 0)
        memcpy(out->bytes + out->length, bytes.data, bytes.length);
    out->length += bytes.length;
}

static void put_byte(struct mf_output *out, uint8_t byte)
{
    mf_put(out, rwf_bytes(&byte, 1));
}

/* The digits, and one byte in front of them; returns where it is. */
static uint8_t *digits_before(uint8_t *end, uint8_t front, uint32_t number)
{
    do {
        *--end = (uint8_t)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    *--end = front;
    return end;
}

static void put_number(struct mf_output *out, uint8_t separator, uint32_t number)
{
    uint8_t text[11];
    uint8_t *end = text + sizeof(text);
    const uint8_t *begin = digits_before(end, separator, number);

    mf_put(out, rwf_bytes(begin, (size_t)(end - begin)));
}

void mf_put_head(struct mf_output *out, const struct mf_record *record)
{
    put_number(out, FS, record->code);
    put_byte(out, US);
    mf_put(out, record->tag.length > 0 ? record->tag : rwf_text("XX"));
    put_byte(out, GS);
    mf_put(out, record->name);
    if (record->has_template)
        put_number(out, US, record->template_id);
    if (record->has_level)
        put_number(out, US, record->level);
    else if (record->has_template)
        put_byte(out, US);
}

void mf_put_id(struct mf_output *out, int16_t id)
{
    uint8_t text[8];
    uint8_t *end = text + sizeof(text);
    uint8_t *begin = digits_before(end - 1, id < 0 ? '-' : RS, (uint32_t)(id < 0 ? -id : id));

    if (id < 0)
        *--begin = RS;
    end[-1] = US;
    mf_put(out, rwf_bytes(begin, (size_t)(end - begin)));
}

void mf_put_end(struct mf_output *out)
{
    put_byte(out, FS);
}
