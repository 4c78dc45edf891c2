/* forms.c - see forms.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "forms.h"

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

static void store(uint8_t *out, uint64_t number, size_t length)
{
    for (size_t i = length; i-- > 0; number >>= 8)
        out[i] = (uint8_t)number;
}

static size_t signed_length(uint64_t number)
{
    int64_t value = (int64_t)number;
    size_t length = 1;

    while (length < 8 && (value < -128 || value > 127)) {
        value >>= 8;
        length++;
    }
    return length;
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
        store(out, number, column->fixed);
        return column->fixed;
    case REC_FORM_UNSIGNED:
        length = unsigned_length(number);
        store(out, number, length);
        return length;
    case REC_FORM_SIGNED:
        length = signed_length(number);
        store(out, number, length);
        return length;
    default:
        length = signed_length(number);
        out[0] = column->fixed;
        store(out + 1, number, length);
        return length + 1;
    }
}
