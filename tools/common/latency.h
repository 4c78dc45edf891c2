/* latency.h - what is known of many latencies: exact moments, and counts per microsecond. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_LATENCY_H
#define TOOLS_LATENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Buckets of 1 us up to 100 ms, above that log-linear ones (0.8 %). Mean, standard deviation
 * (population), minimum and maximum are exact. A value below 0 (clocks of two hosts, a due time
 * that has not come) counts as 0 and is told apart.
 */
struct latency;

int latency_create(struct latency **out); /* MD_ERR_NOMEM */
void latency_destroy(struct latency *latency);
void latency_clear(struct latency *latency);

void latency_record(struct latency *latency, int64_t us);

struct latency_summary {
    uint64_t count;
    uint64_t negative;
    double mean_us;
    double stddev_us;
    uint64_t min_us;
    uint64_t max_us;
    uint64_t p50_us;
    uint64_t p90_us;
    uint64_t p99_us;
    uint64_t p999_us;
    uint64_t p9999_us;
};

void latency_summary(const struct latency *latency, struct latency_summary *out);
uint64_t latency_percentile(const struct latency *latency, double percentile);

/* "[[0,12],[10,3]]": counts in buckets of `width_us`, empty ones left out; above 100 ms their
 * lower bounds. */
void latency_print_json(const struct latency *latency, uint64_t width_us, FILE *out);

#endif
