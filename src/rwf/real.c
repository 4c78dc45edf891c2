/* real.c - arithmetic of reals: to and from doubles, and exact comparison. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rmds/rwf_value.h"

__extension__ typedef unsigned __int128 wide;

/* Exact in a double; the longest way between two hints is 21. */
static const double power10[] = { 1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6, 1e7,
                                  1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14 };

#define INT64_LIMIT 9223372036854775808.0 /* 2^63 */
#define WHOLE_LIMIT 4503599627370496.0    /* 2^52: doubles from here on have no fraction */

/* 2^0 .. 2^8. */
static double power2(unsigned exponent)
{
    return (double)(1u << exponent);
}

static double infinity_of(bool negative)
{
    return negative ? -__builtin_inf() : __builtin_inf();
}

double rwf_real_to_double(const struct rwf_real *real)
{
    double value = (double)real->value;

    if (real->hint > RWF_HINT_FRACTION_256) {
        if (real->hint == RWF_HINT_INFINITY || real->hint == RWF_HINT_NEG_INFINITY)
            return infinity_of(real->hint == RWF_HINT_NEG_INFINITY);
        return __builtin_nan("");
    }
    if (real->hint >= RWF_HINT_FRACTION_1)
        return value / power2(real->hint - RWF_HINT_FRACTION_1);
    if (real->hint >= RWF_HINT_EXP_0)
        return value * power10[real->hint - RWF_HINT_EXP_0];
    return value / power10[RWF_HINT_EXP_0 - real->hint];
}

static int special_from_double(double value, struct rwf_real *real)
{
    real->hint = __builtin_isnan(value) ? RWF_HINT_NOT_A_NUMBER
                 : value < 0            ? RWF_HINT_NEG_INFINITY
                                        : RWF_HINT_INFINITY;
    return RWF_OK;
}

int rwf_real_from_double(double value, uint8_t hint, struct rwf_real *real)
{
    *real = (struct rwf_real){ 0 };
    if (!__builtin_isfinite(value))
        return special_from_double(value, real);
    if (hint > RWF_HINT_FRACTION_256)
        return RWF_ERR_RANGE;
    if (hint >= RWF_HINT_FRACTION_1)
        value *= power2(hint - RWF_HINT_FRACTION_1);
    else if (hint >= RWF_HINT_EXP_0)
        value /= power10[hint - RWF_HINT_EXP_0];
    else
        value *= power10[RWF_HINT_EXP_0 - hint];
    if (value > -WHOLE_LIMIT && value < WHOLE_LIMIT)
        value += value < 0 ? -0.5 : 0.5;
    if (value < -INT64_LIMIT || value >= INT64_LIMIT)
        return RWF_ERR_RANGE;
    real->hint = hint;
    real->value = (int64_t)value;
    return RWF_OK;
}

/* ---- comparison ---- */

static wide pow10_wide(unsigned exponent)
{
    wide power = 1;

    while (exponent-- > 0)
        power *= 10;
    return power;
}

/*
 * Integers that stand in the ratio of the two units: unit(a) : unit(b) = *ma : *mb. One is at most
 * 10^21, the other then 1; between a decimal and a fraction both are below 2^64.
 */
static void unit_ratio(uint8_t a, uint8_t b, wide *ma, wide *mb)
{
    bool fraction_a = a >= RWF_HINT_FRACTION_1;
    bool fraction_b = b >= RWF_HINT_FRACTION_1;

    *ma = 1;
    *mb = 1;
    if (fraction_a)
        *ma <<= RWF_HINT_FRACTION_256 - a;
    if (fraction_b)
        *mb <<= RWF_HINT_FRACTION_256 - b;
    if (fraction_a && fraction_b)
        return;
    if (fraction_a)
        *mb <<= RWF_HINT_FRACTION_256 - RWF_HINT_FRACTION_1;
    if (fraction_b)
        *ma <<= RWF_HINT_FRACTION_256 - RWF_HINT_FRACTION_1;

    unsigned exp_a = fraction_a ? RWF_HINT_EXP_0 : a;
    unsigned exp_b = fraction_b ? RWF_HINT_EXP_0 : b;
    if (exp_a > exp_b)
        *ma *= pow10_wide(exp_a - exp_b);
    else
        *mb *= pow10_wide(exp_b - exp_a);
}

/* |a| against |b|. A product that overflows is larger than one that does not; both cannot. */
static int compare_magnitude(const struct rwf_real *a, const struct rwf_real *b)
{
    wide wa = a->value < 0 ? 0 - (uint64_t)a->value : (uint64_t)a->value;
    wide wb = b->value < 0 ? 0 - (uint64_t)b->value : (uint64_t)b->value;
    wide ma;
    wide mb;

    unit_ratio(a->hint, b->hint, &ma, &mb);
    if (__builtin_mul_overflow(wa, ma, &wa))
        return 1;
    if (__builtin_mul_overflow(wb, mb, &wb))
        return -1;
    return wa > wb ? 1 : wa < wb ? -1 : 0;
}

/* -inf, all numbers, inf, not-a-number. */
static int rank(const struct rwf_real *real)
{
    if (real->hint == RWF_HINT_NEG_INFINITY)
        return 0;
    if (real->hint == RWF_HINT_INFINITY)
        return 2;
    return real->hint > RWF_HINT_FRACTION_256 ? 3 : 1;
}

static int sign(int64_t value)
{
    return value > 0 ? 1 : value < 0 ? -1 : 0;
}

int rwf_real_compare(const struct rwf_real *a, const struct rwf_real *b)
{
    int rank_a = rank(a);
    int rank_b = rank(b);

    if (rank_a != rank_b)
        return rank_a < rank_b ? -1 : 1;
    if (rank_a != 1)
        return 0;
    int sign_a = sign(a->value);
    if (sign_a != sign(b->value))
        return sign_a < sign(b->value) ? -1 : 1;
    return sign_a * compare_magnitude(a, b);
}
