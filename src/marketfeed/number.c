/* number.c - numbers as text, by hand: no locale, no rounding that is not asked for. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "table.h"

#define DECIMALS_MAX    14
#define DENOMINATOR_MAX 256
#define DIGITS_MAX      20 /* of 64 bits */
#define DIGITS_SAFE     19 /* so many fit whatever they are */

/* ---- reading ---- */

void mf_digits_take(struct mf_digits *digits, const uint8_t **p, const uint8_t *end)
{
    const uint8_t *at = *p;
    uint64_t value = digits->value;
    unsigned count = digits->count;
    unsigned digit;

    for (; at < end && (digit = *at - (unsigned)'0') <= 9; at++, count++) {
        if (count >= DIGITS_SAFE && value > (UINT64_MAX - digit) / 10)
            digits->is_over = true;
        value = value * 10 + digit;
    }
    digits->value = value;
    digits->count = count;
    *p = at;
}

struct rwf_bytes mf_strip(struct rwf_bytes text)
{
    while (text.length > 0 && text.data[text.length - 1] == ' ')
        text.length--;
    while (text.length > 0 && text.data[0] == ' ') {
        text.data++;
        text.length--;
    }
    return text;
}

/* The sign, if there is one, and whether there is anything at all. */
static const uint8_t *begin(struct rwf_bytes *text, struct mf_number *out)
{
    *text = mf_strip(*text);
    *out = (struct mf_number){ .hint = RWF_HINT_EXP_0, .is_blank = text->length == 0 };
    if (out->is_blank)
        return text->data;
    out->is_negative = text->data[0] == '-';
    return text->data + (text->data[0] == '-' || text->data[0] == '+');
}

/* Whether it fits 64 bits with a sign. */
static enum mf_reason check_range(const struct mf_number *number, bool is_over)
{
    uint64_t most = (uint64_t)INT64_MAX + number->is_negative;

    return is_over || number->magnitude > most ? MF_RANGE : MF_KEPT;
}

/* Behind the point. */
static enum mf_reason read_decimals(struct mf_digits digits, const uint8_t *p, const uint8_t *end,
                                    struct mf_number *out)
{
    unsigned whole = digits.count;

    mf_digits_take(&digits, &p, end);
    if (p != end || digits.count == 0)
        return MF_BAD_NUMBER;
    if (digits.count - whole > DECIMALS_MAX)
        return MF_BAD_DECIMALS;
    out->hint = (uint8_t)(RWF_HINT_EXP_0 - (digits.count - whole));
    out->magnitude = digits.value;
    return check_range(out, digits.is_over);
}

/* `p` is behind the slash. */
static enum mf_reason read_fraction(const struct mf_digits *whole,
                                    const struct mf_digits *numerator, const uint8_t *p,
                                    const uint8_t *end, struct mf_number *out)
{
    struct mf_digits denominator = { 0 };
    unsigned hint = RWF_HINT_FRACTION_1;
    uint64_t product;

    mf_digits_take(&denominator, &p, end);
    if (p != end || denominator.count == 0 || numerator->count == 0)
        return MF_BAD_NUMBER;
    while (hint < RWF_HINT_FRACTION_256 && 1u << (hint - RWF_HINT_FRACTION_1) != denominator.value)
        hint++;
    if (denominator.is_over || 1u << (hint - RWF_HINT_FRACTION_1) != denominator.value)
        return MF_BAD_DENOMINATOR;
    out->hint = (uint8_t)hint;
    bool is_over = whole->is_over || numerator->is_over ||
                   __builtin_mul_overflow(whole->value, denominator.value, &product) ||
                   __builtin_add_overflow(product, numerator->value, &out->magnitude);
    return check_range(out, is_over);
}

enum mf_reason mf_number_real(struct rwf_bytes text, struct mf_number *out)
{
    const struct mf_digits none = { 0 };
    struct mf_digits first = { 0 };
    struct mf_digits second = { 0 };
    const uint8_t *p = begin(&text, out);
    const uint8_t *end = text.data + text.length;

    if (out->is_blank)
        return MF_KEPT;
    mf_digits_take(&first, &p, end);
    if (p < end && *p == '.')
        return read_decimals(first, p + 1, end, out);
    if (first.count == 0)
        return MF_BAD_NUMBER;
    if (p == end) {
        out->magnitude = first.value;
        return check_range(out, first.is_over);
    }
    if (*p == '/')
        return read_fraction(&none, &first, p + 1, end, out);
    if (*p != ' ')
        return MF_BAD_NUMBER;
    p++;
    mf_digits_take(&second, &p, end);
    return p < end && *p == '/' ? read_fraction(&first, &second, p + 1, end, out) : MF_BAD_NUMBER;
}

enum mf_reason mf_number_integer(struct rwf_bytes text, struct mf_number *out)
{
    struct mf_digits digits = { 0 };
    const uint8_t *p = begin(&text, out);
    const uint8_t *end = text.data + text.length;

    if (out->is_blank)
        return MF_KEPT;
    mf_digits_take(&digits, &p, end);
    out->magnitude = digits.value;
    if (p != end || digits.count == 0)
        return MF_BAD_INTEGER;
    return digits.is_over ? MF_RANGE : MF_KEPT;
}

/* ---- writing ---- */

static uint64_t power_of_ten(unsigned exponent)
{
    uint64_t power = 1;

    while (exponent-- > 0)
        power *= 10;
    return power;
}

static unsigned count_digits(uint64_t value)
{
    unsigned count = 1;

    while (value >= 10) {
        value /= 10;
        count++;
    }
    return count;
}

static void put_byte(struct mf_text *out, char byte)
{
    out->bytes[out->length++] = (uint8_t)byte;
}

/* With leading zeros up to `width`. */
static void put_digits(struct mf_text *out, uint64_t value, unsigned width)
{
    unsigned count = count_digits(value);

    for (; width > count; width--)
        put_byte(out, '0');
    for (unsigned i = count; i > 0; i--, value /= 10)
        out->bytes[out->length + i - 1] = (uint8_t)('0' + value % 10);
    out->length += count;
}

/* A zero is always negative: with a plus it would be blank. */
static void put_sign(struct mf_text *out, bool is_negative, uint64_t magnitude)
{
    put_byte(out, is_negative || magnitude == 0 ? '-' : '+');
}

enum mf_reason mf_text_integer(uint64_t magnitude, bool is_negative, bool is_signed, unsigned room,
                               struct mf_text *out)
{
    out->length = 0;
    if (count_digits(magnitude) + is_signed > room)
        return MF_LONG;
    if (is_signed)
        put_sign(out, is_negative, magnitude);
    put_digits(out, magnitude, 1);
    return MF_KEPT;
}

/* Half away from zero. */
static uint64_t drop_decimals(uint64_t magnitude, unsigned count)
{
    uint64_t power;

    if (count > DIGITS_MAX - 1)
        return 0;
    power = power_of_ten(count);
    return magnitude / power + (magnitude % power >= power - power / 2);
}

/* How long it is: a sign, the whole part, a point and decimals. */
static unsigned decimal_length(uint64_t magnitude, unsigned decimals)
{
    unsigned digits = count_digits(magnitude);
    unsigned whole = digits > decimals ? digits - decimals : 1;

    return 1 + whole + (decimals > 0 ? 1 + decimals : 0);
}

static enum mf_reason put_decimal(uint64_t magnitude, bool is_negative, unsigned decimals,
                                  unsigned room, struct mf_text *out)
{
    unsigned kept = decimals;
    uint64_t rounded = magnitude;

    while (decimal_length(rounded, kept) > room) {
        if (kept == 0)
            return MF_LONG;
        kept--;
        rounded = drop_decimals(magnitude, decimals - kept);
    }
    put_sign(out, is_negative, rounded);
    put_digits(out, rounded / power_of_ten(kept), 1);
    if (kept > 0) {
        put_byte(out, '.');
        put_digits(out, rounded % power_of_ten(kept), kept);
    }
    return kept < decimals ? MF_DIGITS : MF_KEPT;
}

static enum mf_reason put_zeros(uint64_t magnitude, bool is_negative, unsigned zeros, unsigned room,
                                struct mf_text *out)
{
    if (magnitude == 0)
        zeros = 0;
    if (1 + count_digits(magnitude) + zeros > room)
        return MF_LONG;
    put_sign(out, is_negative, magnitude);
    put_digits(out, magnitude, 1);
    while (zeros-- > 0)
        put_byte(out, '0');
    return MF_KEPT;
}

static enum mf_reason put_fraction(uint64_t magnitude, bool is_negative, unsigned denominator,
                                   unsigned room, struct mf_text *out)
{
    uint64_t whole = magnitude / denominator;
    uint64_t numerator = magnitude % denominator;

    put_sign(out, is_negative, magnitude);
    if (whole > 0 || numerator == 0)
        put_digits(out, whole, 1);
    if (numerator > 0) {
        if (whole > 0)
            put_byte(out, ' ');
        put_digits(out, numerator, 1);
        put_byte(out, '/');
        put_digits(out, denominator, 1);
    }
    if (out->length <= room)
        return MF_KEPT;
    out->length = 0;
    return MF_LONG;
}

enum mf_reason mf_text_real(const struct rwf_real *real, unsigned room, struct mf_text *out)
{
    bool is_negative = real->value < 0;
    uint64_t magnitude = is_negative ? 0 - (uint64_t)real->value : (uint64_t)real->value;

    out->length = 0;
    if (real->hint > RWF_HINT_FRACTION_256)
        return MF_SPECIAL;
    if (room > MF_NUMBER_MAX)
        room = MF_NUMBER_MAX;
    if (real->hint >= RWF_HINT_FRACTION_1)
        return put_fraction(magnitude, is_negative, 1u << (real->hint - RWF_HINT_FRACTION_1), room,
                            out);
    if (real->hint > RWF_HINT_EXP_0)
        return put_zeros(magnitude, is_negative, real->hint - (unsigned)RWF_HINT_EXP_0, room, out);
    return put_decimal(magnitude, is_negative, (unsigned)RWF_HINT_EXP_0 - real->hint, room, out);
}
