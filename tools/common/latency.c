/* latency.c - see latency.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "latency.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hist.h"

#define FINE_COUNT 100000u

__extension__ typedef unsigned __int128 wide; /* squares of microseconds, summed exactly */

struct latency {
    uint64_t count;
    uint64_t negative;
    uint64_t sum;
    wide square_sum;
    uint64_t min;
    uint64_t max;
    uint64_t fine[FINE_COUNT];
    uint64_t coarse[MD_HIST_BUCKET_COUNT];
};

int latency_create(struct latency **out)
{
    *out = malloc(sizeof(**out));
    if (!*out)
        return MD_ERR_NOMEM;
    latency_clear(*out);
    return MD_OK;
}

void latency_destroy(struct latency *latency)
{
    free(latency);
}

void latency_clear(struct latency *latency)
{
    memset(latency, 0, sizeof(*latency));
    latency->min = UINT64_MAX;
}

void latency_record(struct latency *latency, int64_t us)
{
    uint64_t value = us < 0 ? 0 : (uint64_t)us;

    latency->negative += us < 0;
    latency->count++;
    latency->sum += value;
    latency->square_sum += (wide)value * value;
    if (value < latency->min)
        latency->min = value;
    if (value > latency->max)
        latency->max = value;
    if (value < FINE_COUNT)
        latency->fine[value]++;
    else
        latency->coarse[md_hist_bucket(value)]++;
}

uint64_t latency_percentile(const struct latency *latency, double percentile)
{
    double rank = ceil((double)latency->count * percentile / 100.0);
    uint64_t wanted = rank < 1 ? 1 : (uint64_t)rank, seen = 0;

    if (latency->count == 0)
        return 0;
    for (uint32_t i = 0; i < FINE_COUNT; i++) {
        seen += latency->fine[i];
        if (seen >= wanted)
            return i;
    }
    for (uint32_t i = 0; i < MD_HIST_BUCKET_COUNT; i++) {
        seen += latency->coarse[i];
        if (seen >= wanted) {
            uint64_t high = md_hist_bucket_high(i);
            return high < latency->max ? high : latency->max;
        }
    }
    return latency->max;
}

void latency_summary(const struct latency *latency, struct latency_summary *out)
{
    *out = (struct latency_summary){ .count = latency->count, .negative = latency->negative };
    if (latency->count == 0)
        return;
    double count = (double)latency->count;
    out->mean_us = (double)latency->sum / count;
    double variance = (double)latency->square_sum / count - out->mean_us * out->mean_us;
    out->stddev_us = variance > 0 ? sqrt(variance) : 0;
    out->min_us = latency->min;
    out->max_us = latency->max;
    out->p50_us = latency_percentile(latency, 50);
    out->p90_us = latency_percentile(latency, 90);
    out->p99_us = latency_percentile(latency, 99);
    out->p999_us = latency_percentile(latency, 99.9);
    out->p9999_us = latency_percentile(latency, 99.99);
}

void latency_print_json(const struct latency *latency, uint64_t width_us, FILE *out)
{
    const char *comma = "";

    fputc('[', out);
    for (uint64_t i = 0; i < FINE_COUNT; i += width_us) {
        uint64_t sum = 0;
        for (uint64_t j = i; j < i + width_us && j < FINE_COUNT; j++)
            sum += latency->fine[j];
        if (sum == 0)
            continue;
        fprintf(out, "%s[%llu,%llu]", comma, (unsigned long long)i, (unsigned long long)sum);
        comma = ",";
    }
    for (uint32_t i = 0; i < MD_HIST_BUCKET_COUNT; i++) {
        if (latency->coarse[i] == 0)
            continue;
        fprintf(out, "%s[%llu,%llu]", comma, (unsigned long long)md_hist_bucket_low(i),
                (unsigned long long)latency->coarse[i]);
        comma = ",";
    }
    fputc(']', out);
}
