/* text.c - values as people write them; see rmds/rwf_value.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rmds/rwf_value.h"

#define DECIMALS_MAX   RWF_HINT_EXP_0 /* of a real */
#define FRACTION_MAX   256            /* largest denominator */
#define NANO_DIGITS    9
#define DIGITS_MAX_U64 20

/* ---- writing ---- */

struct out {
    char *text;
    size_t size;
    size_t length; /* of the whole text, also when it was cut */
};

static void put_char(struct out *out, char c)
{
    if (out->length + 1 < out->size)
        out->text[out->length] = c;
    out->length++;
}

static void put_text(struct out *out, const char *text)
{
    while (*text)
        put_char(out, *text++);
}

static void put_uint(struct out *out, uint64_t value, unsigned digits_min)
{
    char digits[DIGITS_MAX_U64];
    unsigned n = 0;

    do {
        digits[n++] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    for (unsigned i = n; i < digits_min; i++)
        put_char(out, '0');
    while (n > 0)
        put_char(out, digits[--n]);
}

static size_t finish(struct out *out)
{
    if (out->size > 0)
        out->text[out->length < out->size ? out->length : out->size - 1] = '\0';
    return out->length;
}

static uint64_t magnitude(int64_t value)
{
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

static uint64_t power10(unsigned exponent)
{
    uint64_t power = 1;

    while (exponent-- > 0)
        power *= 10;
    return power;
}

size_t rwf_int_to_text(int64_t value, char *text, size_t size)
{
    struct out out = { .text = text, .size = size };

    if (value < 0)
        put_char(&out, '-');
    put_uint(&out, magnitude(value), 1);
    return finish(&out);
}

size_t rwf_uint_to_text(uint64_t value, char *text, size_t size)
{
    struct out out = { .text = text, .size = size };

    put_uint(&out, value, 1);
    return finish(&out);
}

/* value / 2^shift: at most eight decimals, and exact. */
static void put_fraction(struct out *out, uint64_t value, unsigned shift)
{
    uint64_t rest = value & ((1u << shift) - 1);

    put_uint(out, value >> shift, 1);
    if (rest == 0)
        return;
    put_char(out, '.');
    while (rest != 0) {
        rest *= 10;
        put_char(out, (char)('0' + (rest >> shift)));
        rest &= (1u << shift) - 1;
    }
}

static void put_decimal(struct out *out, uint64_t value, unsigned hint)
{
    if (hint >= RWF_HINT_EXP_0) {
        put_uint(out, value, 1);
        for (unsigned i = RWF_HINT_EXP_0; i < hint && value != 0; i++)
            put_char(out, '0');
        return;
    }
    unsigned decimals = RWF_HINT_EXP_0 - hint;
    uint64_t unit = power10(decimals);
    put_uint(out, value / unit, 1);
    put_char(out, '.');
    put_uint(out, value % unit, decimals);
}

size_t rwf_real_to_text(const struct rwf_real *real, char *text, size_t size)
{
    struct out out = { .text = text, .size = size };

    if (real->hint == RWF_HINT_INFINITY) {
        put_text(&out, "inf");
    } else if (real->hint == RWF_HINT_NEG_INFINITY) {
        put_text(&out, "-inf");
    } else if (real->hint > RWF_HINT_FRACTION_256) {
        put_text(&out, "nan");
    } else {
        if (real->value < 0)
            put_char(&out, '-');
        if (real->hint >= RWF_HINT_FRACTION_1)
            put_fraction(&out, magnitude(real->value), real->hint - RWF_HINT_FRACTION_1);
        else
            put_decimal(&out, magnitude(real->value), real->hint);
    }
    return finish(&out);
}

static void put_date(struct out *out, const struct rwf_date *date)
{
    put_uint(out, date->year, 4);
    put_char(out, '-');
    put_uint(out, date->month, 2);
    put_char(out, '-');
    put_uint(out, date->day, 2);
}

static void put_time(struct out *out, const struct rwf_time *time)
{
    put_uint(out, time->hour, 2);
    put_char(out, ':');
    put_uint(out, time->minute, 2);
    put_char(out, ':');
    put_uint(out, time->second, 2);
    if (time->milli == 0 && time->micro == 0 && time->nano == 0)
        return;
    put_char(out, '.');
    put_uint(out, time->milli, 3);
    if (time->micro == 0 && time->nano == 0)
        return;
    put_uint(out, time->micro, 3);
    if (time->nano != 0)
        put_uint(out, time->nano, 3);
}

size_t rwf_date_to_text(const struct rwf_date *date, char *text, size_t size)
{
    struct out out = { .text = text, .size = size };

    if (!rwf_date_is_blank(date))
        put_date(&out, date);
    return finish(&out);
}

size_t rwf_time_to_text(const struct rwf_time *time, char *text, size_t size)
{
    struct out out = { .text = text, .size = size };

    if (!rwf_time_is_blank(time))
        put_time(&out, time);
    return finish(&out);
}

size_t rwf_datetime_to_text(const struct rwf_datetime *dt, char *text, size_t size)
{
    struct out out = { .text = text, .size = size };
    bool has_date = !rwf_date_is_blank(&dt->date);
    bool has_time = !rwf_time_is_blank(&dt->time);

    if (has_date)
        put_date(&out, &dt->date);
    if (has_date && has_time)
        put_char(&out, 'T');
    if (has_time)
        put_time(&out, &dt->time);
    return finish(&out);
}

size_t rwf_qos_to_text(const struct rwf_qos *qos, char *text, size_t size)
{
    struct out out = { .text = text, .size = size };

    put_text(&out, rwf_timeliness_name(qos->timeliness));
    if (qos->timeliness >= RWF_TIMELINESS_DELAYED) {
        put_char(&out, ':');
        put_uint(&out, qos->time_info, 1);
    }
    put_char(&out, '/');
    put_text(&out, rwf_rate_name(qos->rate));
    if (qos->rate >= RWF_RATE_TIME_CONFLATED) {
        put_char(&out, ':');
        put_uint(&out, qos->rate_info, 1);
    }
    if (qos->dynamic)
        put_text(&out, "/DYNAMIC");
    return finish(&out);
}

size_t rwf_state_to_text(const struct rwf_state *state, char *text, size_t size)
{
    struct out out = { .text = text, .size = size };

    put_text(&out, rwf_stream_state_name(state->stream_state));
    put_char(&out, '/');
    put_text(&out, rwf_data_state_name(state->data_state));
    put_char(&out, '/');
    put_text(&out, rwf_state_code_name(state->code));
    if (state->text.length > 0) {
        put_text(&out, " \"");
        for (size_t i = 0; i < state->text.length; i++)
            put_char(&out, (char)state->text.data[i]);
        put_char(&out, '"');
    }
    return finish(&out);
}

/* ---- reading ---- */

struct in {
    const uint8_t *pos;
    const uint8_t *end;
};

static struct in in_of(struct rwf_bytes text)
{
    return (struct in){ .pos = text.data,
                        .end = text.length ? text.data + text.length : text.data };
}

static bool at_end(const struct in *in)
{
    return in->pos == in->end;
}

static bool take_char(struct in *in, char c)
{
    if (at_end(in) || *in->pos != (uint8_t)c)
        return false;
    in->pos++;
    return true;
}

/* Appends the digits that come to *value; false on overflow. *digits counts them. */
static bool take_digits(struct in *in, uint64_t *value, unsigned *digits)
{
    *digits = 0;
    while (!at_end(in) && *in->pos >= '0' && *in->pos <= '9') {
        if (__builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, (uint64_t)(*in->pos - '0'), value))
            return false;
        in->pos++;
        (*digits)++;
    }
    return true;
}

/* A number of at most `digits_max` digits. */
static bool take_number(struct in *in, unsigned digits_max, uint64_t *value)
{
    unsigned digits;

    *value = 0;
    return take_digits(in, value, &digits) && digits > 0 && digits <= digits_max;
}

static int signed_value(uint64_t value, bool negative, int64_t *out)
{
    if (value > (uint64_t)INT64_MAX + (negative ? 1 : 0))
        return RWF_ERR_RANGE;
    *out = negative ? (int64_t)(0 - value) : (int64_t)value;
    return RWF_OK;
}

/* "3/8" behind the whole part, or from the start: denominators are powers of two. */
static int take_fraction(struct in *in, uint64_t whole, uint64_t numerator, bool negative,
                         struct rwf_real *real)
{
    uint64_t denominator;

    if (!take_number(in, 3, &denominator) || !at_end(in))
        return RWF_ERR_MALFORMED;
    if (denominator == 0 || denominator > FRACTION_MAX || (denominator & (denominator - 1)) != 0)
        return RWF_ERR_RANGE;

    unsigned shift = (unsigned)__builtin_ctzll(denominator);
    if (whole > (UINT64_MAX >> shift) ||
        __builtin_add_overflow(whole << shift, numerator, &numerator))
        return RWF_ERR_RANGE;
    real->hint = (uint8_t)(RWF_HINT_FRACTION_1 + shift);
    return signed_value(numerator, negative, &real->value);
}

static bool special_from_text(struct rwf_bytes text, struct rwf_real *real)
{
    if (rwf_bytes_equal(text, rwf_text("inf")))
        real->hint = RWF_HINT_INFINITY;
    else if (rwf_bytes_equal(text, rwf_text("-inf")))
        real->hint = RWF_HINT_NEG_INFINITY;
    else if (rwf_bytes_equal(text, rwf_text("nan")))
        real->hint = RWF_HINT_NOT_A_NUMBER;
    return real->hint != 0;
}

static int real_from_text(struct rwf_bytes text, struct rwf_real *real)
{
    struct in in = in_of(text);
    uint64_t value = 0;
    unsigned digits;
    unsigned decimals = 0;
    bool negative = take_char(&in, '-');

    if (!negative)
        take_char(&in, '+');
    if (!take_digits(&in, &value, &digits))
        return RWF_ERR_RANGE;
    if (digits > 0 && take_char(&in, '/'))
        return take_fraction(&in, 0, value, negative, real);
    if (digits > 0 && take_char(&in, ' ')) {
        uint64_t numerator;

        if (!take_number(&in, 3, &numerator) || !take_char(&in, '/'))
            return RWF_ERR_MALFORMED;
        return take_fraction(&in, value, numerator, negative, real);
    }
    if (take_char(&in, '.') && !take_digits(&in, &value, &decimals))
        return RWF_ERR_RANGE;
    if (digits + decimals == 0 || !at_end(&in))
        return RWF_ERR_MALFORMED;
    if (decimals > DECIMALS_MAX)
        return RWF_ERR_RANGE;
    real->hint = (uint8_t)(RWF_HINT_EXP_0 - decimals);
    return signed_value(value, negative, &real->value);
}

int rwf_real_from_text(struct rwf_bytes text, struct rwf_real *real)
{
    *real = (struct rwf_real){ 0 };
    if (text.length == 0)
        return RWF_BLANK;
    if (special_from_text(text, real))
        return RWF_OK;
    int rc = real_from_text(text, real);
    if (rc < 0)
        *real = (struct rwf_real){ 0 };
    return rc;
}

static int take_date(struct in *in, struct rwf_date *date)
{
    uint64_t year;
    uint64_t month;
    uint64_t day;

    if (!take_number(in, 4, &year) || !take_char(in, '-') || !take_number(in, 2, &month) ||
        !take_char(in, '-') || !take_number(in, 2, &day))
        return RWF_ERR_MALFORMED;
    if (month > 12 || day > 31)
        return RWF_ERR_RANGE;
    *date = (struct rwf_date){ (uint16_t)year, (uint8_t)month, (uint8_t)day };
    return RWF_OK;
}

/* Up to nine digits behind the point: 250 microseconds is ".00025". */
static int take_subsecond(struct in *in, struct rwf_time *time)
{
    uint64_t nanos = 0;
    unsigned digits;

    if (!take_digits(in, &nanos, &digits) || digits == 0 || digits > NANO_DIGITS)
        return RWF_ERR_MALFORMED;
    nanos *= power10(NANO_DIGITS - digits);
    time->milli = (uint16_t)(nanos / 1000000);
    time->micro = (uint16_t)(nanos / 1000 % 1000);
    time->nano = (uint16_t)(nanos % 1000);
    return RWF_OK;
}

static int take_time(struct in *in, struct rwf_time *time)
{
    uint64_t hour;
    uint64_t minute;
    uint64_t second = 0;

    if (!take_number(in, 2, &hour) || !take_char(in, ':') || !take_number(in, 2, &minute))
        return RWF_ERR_MALFORMED;
    bool has_second = take_char(in, ':');
    if (has_second && !take_number(in, 2, &second))
        return RWF_ERR_MALFORMED;
    if (hour > 23 || minute > 59 || second > 60)
        return RWF_ERR_RANGE;
    *time = (struct rwf_time){ (uint8_t)hour, (uint8_t)minute, (uint8_t)second, 0, 0, 0 };
    return has_second && take_char(in, '.') ? take_subsecond(in, time) : RWF_OK;
}

/* All of the text, or it is not what it should be. */
static int whole(const struct in *in, int rc)
{
    return rc == RWF_OK && !at_end(in) ? RWF_ERR_MALFORMED : rc;
}

int rwf_date_from_text(struct rwf_bytes text, struct rwf_date *date)
{
    struct in in = in_of(text);

    *date = (struct rwf_date){ 0 };
    return text.length == 0 ? RWF_BLANK : whole(&in, take_date(&in, date));
}

static const struct rwf_time time_blank = { RWF_HOUR_BLANK,  RWF_MINUTE_BLANK, RWF_SECOND_BLANK,
                                            RWF_MILLI_BLANK, RWF_MICRO_BLANK,  RWF_NANO_BLANK };

int rwf_time_from_text(struct rwf_bytes text, struct rwf_time *time)
{
    struct in in = in_of(text);

    *time = time_blank;
    return text.length == 0 ? RWF_BLANK : whole(&in, take_time(&in, time));
}

int rwf_datetime_from_text(struct rwf_bytes text, struct rwf_datetime *datetime)
{
    struct in in = in_of(text);

    *datetime = (struct rwf_datetime){ .time = time_blank };
    if (text.length == 0)
        return RWF_BLANK;
    int rc = take_date(&in, &datetime->date);
    if (rc < 0 || at_end(&in))
        return rc;
    if (!take_char(&in, 'T') && !take_char(&in, ' '))
        return RWF_ERR_MALFORMED;
    return whole(&in, take_time(&in, &datetime->time));
}
