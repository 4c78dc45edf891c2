/* rwf_value.h - primitives: bytes to C values, C values to bytes, and both to text. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RMDS_RWF_VALUE_H
#define RMDS_RWF_VALUE_H

#include "rmds/rwf_types.h"

/*
 * Decoders of the content of one entry. The content has no length of its own; length 0 is blank
 * for every type. They return RWF_OK, RWF_BLANK (the output is zero, times are all sentinels) or
 * an error: RWF_ERR_SHORT when bytes are missing, RWF_ERR_MALFORMED when they are not legal.
 * Strings need no decoder: they are the content.
 */
int rwf_int_decode(struct rwf_bytes content, int64_t *value);
int rwf_uint_decode(struct rwf_bytes content, uint64_t *value);
int rwf_float_decode(struct rwf_bytes content, float *value);
int rwf_double_decode(struct rwf_bytes content, double *value);
int rwf_real_decode(struct rwf_bytes content, struct rwf_real *value);
int rwf_date_decode(struct rwf_bytes content, struct rwf_date *value);
int rwf_time_decode(struct rwf_bytes content, struct rwf_time *value);
int rwf_datetime_decode(struct rwf_bytes content, struct rwf_datetime *value);
int rwf_qos_decode(struct rwf_bytes content, struct rwf_qos *value);
int rwf_state_decode(struct rwf_bytes content, struct rwf_state *value);
int rwf_enum_decode(struct rwf_bytes content, uint16_t *value);

/*
 * The same by type number (base types, set-defined types, containers). Blank is RWF_OK with
 * is_blank set. An unknown type below 128 is taken as BUFFER.
 */
int rwf_value_decode(unsigned type, struct rwf_bytes content, struct rwf_value *value);

/* True when type, blankness and value are equal (floats and doubles by their bits). */
bool rwf_value_equal(const struct rwf_value *a, const struct rwf_value *b);

/* The content bytes of a value; *length is 0 for a blank. RWF_ERR_FULL, RWF_ERR_RANGE. */
int rwf_value_encode(const struct rwf_value *value, uint8_t *out, size_t size, size_t *length);

/* Short ways to write a value down. */
static inline struct rwf_value rwf_value_blank(unsigned type)
{
    return (struct rwf_value){ .type = (uint16_t)type, .is_blank = true };
}

static inline struct rwf_value rwf_value_int(int64_t i)
{
    return (struct rwf_value){ .type = RWF_TYPE_INT, .i = i };
}

static inline struct rwf_value rwf_value_uint(uint64_t u)
{
    return (struct rwf_value){ .type = RWF_TYPE_UINT, .u = u };
}

static inline struct rwf_value rwf_value_enum(uint16_t e)
{
    return (struct rwf_value){ .type = RWF_TYPE_ENUM, .u = e };
}

static inline struct rwf_value rwf_value_real(int64_t value, uint8_t hint)
{
    return (struct rwf_value){ .type = RWF_TYPE_REAL, .real = { .value = value, .hint = hint } };
}

/* type: BUFFER, ASCII, UTF8, RMTES, ARRAY or a container; empty is blank. */
static inline struct rwf_value rwf_value_bytes(unsigned type, struct rwf_bytes bytes)
{
    return (
        struct rwf_value){ .type = (uint16_t)type, .is_blank = bytes.length == 0, .bytes = bytes };
}

/* ---- text ---- */

/*
 * Writers of text return the length without the terminating zero, which is always written, like
 * snprintf: a result >= size means that it was cut. 64 bytes hold any of them but a state's text.
 */
#define RWF_TEXT_MAX 64

/* "398.10", "-0.0001", "1200", "inf", "-inf", "nan". Fractions print as
 * exact decimals ("12.375"). */
size_t rwf_real_to_text(const struct rwf_real *real, char *out, size_t size);
size_t rwf_date_to_text(const struct rwf_date *date, char *out, size_t size); /* 2024-02-29 */
size_t rwf_time_to_text(const struct rwf_time *time, char *out, size_t size); /* 09:30:15.250 */
size_t rwf_datetime_to_text(const struct rwf_datetime *dt, char *out,
                            size_t size); /* date T time */
size_t rwf_qos_to_text(const struct rwf_qos *qos, char *out,
                       size_t size); /* REALTIME/TICK_BY_TICK */
size_t rwf_state_to_text(const struct rwf_state *state, char *out,
                         size_t size); /* OPEN/OK/NONE "x" */
size_t rwf_int_to_text(int64_t value, char *out, size_t size);
size_t rwf_uint_to_text(uint64_t value, char *out, size_t size);

/*
 * Decimal text to a real. The hint follows from the number of decimals ("398.10" is 39810 at
 * 10^-2; more than 14 decimals is RWF_ERR_RANGE); "12 3/8" and "3/8" are fractions; "inf", "-inf"
 * and "nan" are the special hints. Empty text is RWF_BLANK.
 */
int rwf_real_from_text(struct rwf_bytes text, struct rwf_real *real);

/* The nearest real of that hint: round half away from zero. RWF_ERR_RANGE when it does not fit. */
int rwf_real_from_double(double value, uint8_t hint, struct rwf_real *real);
double rwf_real_to_double(const struct rwf_real *real);

/* -1, 0, 1 by value; exact, also between hints. Not-a-number sorts last. */
int rwf_real_compare(const struct rwf_real *a, const struct rwf_real *b);

/* "YYYY-MM-DD"; "HH:MM[:SS[.fraction up to 9 digits]]"; both joined by 'T' or a blank. */
int rwf_date_from_text(struct rwf_bytes text, struct rwf_date *date);
int rwf_time_from_text(struct rwf_bytes text, struct rwf_time *time);
int rwf_datetime_from_text(struct rwf_bytes text, struct rwf_datetime *datetime);

/* True when every part present in the value is at its blank sentinel. */
bool rwf_date_is_blank(const struct rwf_date *date);
bool rwf_time_is_blank(const struct rwf_time *time);

#endif
