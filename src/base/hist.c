/* hist.c - see base/hist.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hist.h"

#include <math.h>

#include "base/err.h"

#define SUB_COUNT (1u << MD_HIST_MANTISSA_BITS)

static uint64_t load(const _Atomic uint64_t *field)
{
    return atomic_load_explicit(field, memory_order_relaxed);
}

static void store(_Atomic uint64_t *field, uint64_t value)
{
    atomic_store_explicit(field, value, memory_order_relaxed);
}

void md_hist_init(struct md_hist *hist)
{
    store(&hist->count, 0);
    store(&hist->sum, 0);
    store(&hist->min, UINT64_MAX);
    store(&hist->max, 0);
    for (size_t i = 0; i < sizeof(hist->reserved) / sizeof(hist->reserved[0]); i++)
        store(&hist->reserved[i], 0);
    for (uint32_t i = 0; i < MD_HIST_BUCKET_COUNT; i++)
        store(&hist->buckets[i], 0);
}

uint64_t md_hist_bucket_low(uint32_t bucket)
{
    if (bucket < 2 * SUB_COUNT)
        return bucket;
    uint32_t shift = (bucket >> MD_HIST_MANTISSA_BITS) - 1;
    return (uint64_t)(SUB_COUNT + (bucket & (SUB_COUNT - 1))) << shift;
}

uint64_t md_hist_bucket_high(uint32_t bucket)
{
    return bucket + 1 < MD_HIST_BUCKET_COUNT ? md_hist_bucket_low(bucket + 1) - 1 : UINT64_MAX;
}

uint64_t md_hist_count(const struct md_hist *hist)
{
    return load(&hist->count);
}

uint64_t md_hist_min(const struct md_hist *hist)
{
    return load(&hist->count) ? load(&hist->min) : 0;
}

uint64_t md_hist_max(const struct md_hist *hist)
{
    return load(&hist->max);
}

double md_hist_mean(const struct md_hist *hist)
{
    uint64_t count = load(&hist->count);

    return count ? (double)load(&hist->sum) / (double)count : 0;
}

double md_hist_stddev(const struct md_hist *hist)
{
    double mean = md_hist_mean(hist);
    double squares = 0;
    uint64_t count = 0;

    for (uint32_t i = 0; i < MD_HIST_BUCKET_COUNT; i++) {
        uint64_t n = load(&hist->buckets[i]);
        if (n == 0)
            continue;
        double low = (double)md_hist_bucket_low(i);
        double middle = low + ((double)md_hist_bucket_high(i) - low) / 2;
        squares += (middle - mean) * (middle - mean) * (double)n;
        count += n;
    }
    return count ? sqrt(squares / (double)count) : 0;
}

static uint64_t value_at(const struct md_hist *hist, uint32_t bucket)
{
    uint64_t high = md_hist_bucket_high(bucket);
    uint64_t max = load(&hist->max);

    return high < max ? high : max;
}

uint64_t md_hist_percentile(const struct md_hist *hist, double percentile)
{
    uint64_t count = load(&hist->count);
    double share = percentile < 0 ? 0 : percentile > 100 ? 1 : percentile / 100;
    uint64_t wanted = (uint64_t)ceil(share * (double)count);
    uint64_t seen = 0;

    if (count == 0)
        return 0;
    if (wanted == 0)
        wanted = 1;
    for (uint32_t i = 0; i < MD_HIST_BUCKET_COUNT; i++) {
        seen += load(&hist->buckets[i]);
        if (seen >= wanted)
            return value_at(hist, i);
    }
    return load(&hist->max);
}

/* One line for each step of the percentile, the steps halving with each halving of what is left. */
static void print_steps(const struct md_hist *hist, FILE *out, double unit, uint32_t steps)
{
    uint64_t count = load(&hist->count);
    uint64_t seen = 0;
    double next = 0;

    for (uint32_t i = 0; i < MD_HIST_BUCKET_COUNT && seen < count; i++) {
        uint64_t n = load(&hist->buckets[i]);
        if (n == 0)
            continue;
        seen += n;
        double reached = (double)seen / (double)count;
        while (seen < count && next <= reached) {
            fprintf(out, "%12.3f %14.12f %10llu %14.2f\n", (double)value_at(hist, i) / unit, next,
                    (unsigned long long)seen, 1 / (1 - next));
            double halvings = floor(log2(1 / (1 - next)));
            next += 1 / (exp2(halvings + 1) * (double)steps);
        }
    }
    if (count)
        fprintf(out, "%12.3f %14.12f %10llu %14s\n", (double)load(&hist->max) / unit, 1.0,
                (unsigned long long)count, "inf");
}

int md_hist_print(const struct md_hist *hist, FILE *out, double unit, uint32_t steps)
{
    fprintf(out, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount",
            "1/(1-Percentile)");
    print_steps(hist, out, unit, steps ? steps : 1);
    fprintf(out, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n", md_hist_mean(hist) / unit,
            md_hist_stddev(hist) / unit);
    fprintf(out, "#[Max     = %12.3f, Total count    = %12llu]\n", (double)md_hist_max(hist) / unit,
            (unsigned long long)md_hist_count(hist));
    fprintf(out, "#[Buckets = %12u, SubBuckets     = %12u]\n", MD_HIST_BUCKET_COUNT / SUB_COUNT,
            SUB_COUNT);
    return ferror(out) ? MD_ERR_SYS : MD_OK;
}
