/* forms.c - see forms.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "forms.h"

#include "base/writer.h"

static uint64_t load(const uint8_t *bytes, size_t length)
{
    uint64_t number = 0;

    for (size_t i = 0; i < length; i++)
        number = number << 8 | bytes[i];
    return number;
}

static bool read_signed(const uint8_t *bytes, size_t length, uint64_t *out)
{
    if (length == 0 || length > 8)
        return false;
    /* A first byte that says nothing but the sign: not the shortest. */
    if (length > 1 &&
        ((bytes[0] == 0x00 && bytes[1] < 0x80) || (bytes[0] == 0xff && bytes[1] >= 0x80)))
        return false;
    unsigned unused = 64 - 8 * (unsigned)length;
    *out = (uint64_t)((int64_t)(load(bytes, length) << unused) >> unused);
    return true;
}

bool rec_form_read(const struct rec_column *column, const uint8_t *bytes, size_t length,
                   uint64_t *out)
{
    switch (column->form) {
    case REC_FORM_FIXED:
        if (length != column->fixed)
            return false;
        *out = load(bytes, length);
        return true;
    case REC_FORM_UNSIGNED:
        if (length == 0 || length > 8 || (length > 1 && bytes[0] == 0))
            return false;
        *out = load(bytes, length);
        return true;
    case REC_FORM_SIGNED:
        return read_signed(bytes, length, out);
    case REC_FORM_SCALED:
        return length > 1 && bytes[0] == column->fixed && read_signed(bytes + 1, length - 1, out);
    default:
        return false;
    }
}

/* The lowest bytes, the highest one first; eight are written. */
static void store(uint8_t *out, uint64_t number, size_t length)
{
    uint64_t bytes = number << (64 - 8 * (unsigned)length);

    md_put_be64(out, bytes);
}

/* Bits without those that only repeat the sign, and one for it. */
static size_t signed_length(uint64_t number)
{
    uint64_t bits = number ^ (uint64_t)((int64_t)number >> 63);

    return (64u - (unsigned)__builtin_clzll(bits | 1)) / 8 + 1;
}

static size_t unsigned_length(uint64_t number)
{
    return number ? (71u - (unsigned)__builtin_clzll(number)) / 8 : 1;
}

size_t rec_form_write(const struct rec_column *column, uint64_t number, uint8_t out[10])
{
    size_t length;

    switch (column->form) {
    case REC_FORM_FIXED:
        length = column->fixed;
        break;
    case REC_FORM_UNSIGNED:
        length = unsigned_length(number);
        break;
    case REC_FORM_SIGNED:
        length = signed_length(number);
        break;
    default:
        *out++ = column->fixed;
        length = signed_length(number);
        store(out, number, length);
        return length + 1;
    }
    store(out, number, length);
    return length;
}
