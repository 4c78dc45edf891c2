/* trend.c - the minute behind an instance as rmdsmon saw it, and the hour that it keeps itself. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/clock.h"
#include "monitor.h"

void trend_add(struct monitor_instance *instance, uint64_t now_ns)
{
    struct monitor_trend *trend = &instance->trend;
    const struct monitor_figures *f = &instance->figures;
    uint64_t at = trend->count % MONITOR_TREND_LOOKS;
    uint64_t before = (trend->count + MONITOR_TREND_LOOKS - 1) % MONITOR_TREND_LOOKS;

    /* Shorter looks repeat the rates of the last second: see take_rates(). */
    if (trend->count > 0 && now_ns - trend->at_ns[before] < MD_NS_PER_S)
        return;
    trend->at_ns[at] = now_ns;
    trend->values[MONITOR_TREND_IN][at] = f->in_per_s;
    trend->values[MONITOR_TREND_OUT][at] = f->out_per_s;
    trend->values[MONITOR_TREND_TURN][at] = f->turn_p99_us;
    trend->values[MONITOR_TREND_QUEUE][at] = f->queue_percent;
    trend->count++;
}

/* One column: `count` samples. */
static double sum_up(const struct stats_sample *samples, unsigned count, enum monitor_trend_of of)
{
    static const enum stats_history_of sources[MONITOR_TRENDS] = {
        [MONITOR_TREND_IN] = STATS_HISTORY_IN,
        [MONITOR_TREND_OUT] = STATS_HISTORY_OUT,
        [MONITOR_TREND_TURN] = STATS_HISTORY_TURN_P99_US,
        [MONITOR_TREND_QUEUE] = STATS_HISTORY_QUEUE,
    };
    bool is_rate = of == MONITOR_TREND_IN || of == MONITOR_TREND_OUT;
    double sum = 0, most = -1;
    unsigned known = 0;

    for (unsigned i = 0; i < count; i++) {
        double value = (double)samples[i].values[sources[of]];
        if (!isfinite(value) || value < 0)
            continue;
        sum += value;
        most = value > most ? value : most;
        known++;
    }
    return known == 0 ? -1 : is_rate ? sum / known : most;
}

void trend_take_samples(struct monitor_trend *trend, const struct stats_sample *samples,
                        unsigned count)
{
    unsigned width = (count + MONITOR_TREND_LOOKS - 1) / MONITOR_TREND_LOOKS;

    *trend = (struct monitor_trend){ .count = 0 };
    /* The newest column is whole; the oldest one has what is left over. */
    for (unsigned from = 0; from < count;) {
        unsigned take = (count - from) % width ? (count - from) % width : width;
        uint64_t at = trend->count++ % MONITOR_TREND_LOOKS;

        for (int i = 0; i < MONITOR_TRENDS; i++)
            trend->values[i][at] = sum_up(samples + from, take, (enum monitor_trend_of)i);
        from += take;
        trend->at_ns[at] = samples[from - 1].wall_ns;
    }
}

static uint64_t held(const struct monitor_trend *trend)
{
    return trend->count < MONITOR_TREND_LOOKS ? trend->count : MONITOR_TREND_LOOKS;
}

static double value_at(const struct monitor_trend *trend, enum monitor_trend_of of, uint32_t ago)
{
    return trend->values[of][(trend->count - 1 - ago) % MONITOR_TREND_LOOKS];
}

void trend_span(const struct monitor_trend *trend, enum monitor_trend_of of, uint32_t looks,
                struct trend_span *out)
{
    uint64_t have = held(trend);

    *out = (struct trend_span){ .least = -1, .most = -1, .now = -1 };
    out->looks = looks < have ? looks : (uint32_t)have;
    for (uint32_t ago = 0; ago < out->looks; ago++) {
        double value = value_at(trend, of, ago);

        if (value < 0)
            continue;
        out->most = value > out->most ? value : out->most;
        out->least = out->least < 0 || value < out->least ? value : out->least;
    }
    if (out->looks == 0)
        return;
    uint64_t newest = (trend->count - 1) % MONITOR_TREND_LOOKS;
    uint64_t oldest = (trend->count - out->looks) % MONITOR_TREND_LOOKS;
    out->now = value_at(trend, of, 0);
    out->seconds = (double)(trend->at_ns[newest] - trend->at_ns[oldest]) / 1e9;
}

int trend_level(const struct monitor_trend *trend, enum monitor_trend_of of, uint32_t ago,
                double most, int levels)
{
    double value = ago < held(trend) ? value_at(trend, of, ago) : -1;

    if (value < 0)
        return -1;
    int level = most > 0 ? (int)(value / most * (levels - 1) + 0.5) : 0;
    return level < 0 ? 0 : level >= levels ? levels - 1 : level;
}
