/* base/hist.h - a log-linear histogram of 64-bit values, right to 0.8 % over the whole range. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_HIST_H
#define MD_HIST_H

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

/*
 * A value's bucket is its highest set bit and the 7 bits below that, as in the HdrHistogram
 * family: values below 256 have a bucket each, above that a bucket is at most 1/128 of its value
 * wide. Recording is some instructions and never allocates.
 *
 * One thread records; others, and other processes (the struct is also the layout of a histogram in
 * a statistics segment), may read or copy it at any time and see counts that are each right, if
 * not all of the same instant. The storage (59 KiB) is the caller's.
 */
#define MD_HIST_MANTISSA_BITS 7
#define MD_HIST_BUCKET_COUNT  7424 /* (64 - 7 + 1) << 7 */

struct md_hist {
    _Atomic uint64_t count;
    _Atomic uint64_t sum;
    _Atomic uint64_t min; /* UINT64_MAX while empty */
    _Atomic uint64_t max;
    _Atomic uint64_t reserved[4];
    _Atomic uint64_t buckets[MD_HIST_BUCKET_COUNT];
};

_Static_assert(sizeof(struct md_hist) == 64 + 8 * MD_HIST_BUCKET_COUNT,
               "a layout in shared memory");

void md_hist_init(struct md_hist *hist); /* also: forget everything */

/* The bucket of a value, and the lowest and highest value of a bucket. */
static inline uint32_t md_hist_bucket(uint64_t value)
{
    if (value < 1u << MD_HIST_MANTISSA_BITS)
        return (uint32_t)value;
    uint32_t shift = 63u - (uint32_t)__builtin_clzll(value) - MD_HIST_MANTISSA_BITS;
    return (shift << MD_HIST_MANTISSA_BITS) + (uint32_t)(value >> shift);
}

uint64_t md_hist_bucket_low(uint32_t bucket);
uint64_t md_hist_bucket_high(uint32_t bucket);

static inline void md_hist_bump(_Atomic uint64_t *field, uint64_t amount)
{
    atomic_store_explicit(field, atomic_load_explicit(field, memory_order_relaxed) + amount,
                          memory_order_relaxed);
}

static inline void md_hist_record_many(struct md_hist *hist, uint64_t value, uint64_t times)
{
    md_hist_bump(&hist->buckets[md_hist_bucket(value)], times);
    md_hist_bump(&hist->count, times);
    md_hist_bump(&hist->sum, value * times);
    if (value < atomic_load_explicit(&hist->min, memory_order_relaxed))
        atomic_store_explicit(&hist->min, value, memory_order_relaxed);
    if (value > atomic_load_explicit(&hist->max, memory_order_relaxed))
        atomic_store_explicit(&hist->max, value, memory_order_relaxed);
}

static inline void md_hist_record(struct md_hist *hist, uint64_t value)
{
    md_hist_record_many(hist, value, 1);
}

uint64_t md_hist_count(const struct md_hist *hist);
uint64_t md_hist_min(const struct md_hist *hist); /* 0 when empty, as the next three */
uint64_t md_hist_max(const struct md_hist *hist);
double md_hist_mean(const struct md_hist *hist);
double md_hist_stddev(const struct md_hist *hist); /* from the buckets: right to 0.8 % */

/*
 * The value which `percentile` (0 to 100) of all records are at or below: the highest value of its
 * bucket, but no more than max. 0 when empty.
 */
uint64_t md_hist_percentile(const struct md_hist *hist, double percentile);

/*
 * The percentile text of the HDR family, which its plotters read. Values are divided by `unit`
 * (1000 prints nanoseconds as microseconds); `steps` lines per halving of the distance to 100 %,
 * customarily 5. Returns 0 or MD_ERR_SYS.
 */
int md_hist_print(const struct md_hist *hist, FILE *out, double unit, uint32_t steps);

#endif
