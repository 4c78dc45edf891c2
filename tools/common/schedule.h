/* schedule.h - when how many updates are due: equal bursts, the remainder spread evenly. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_SCHEDULE_H
#define TOOLS_SCHEDULE_H

#include <stdint.h>

/*
 * `ticks_per_second` bursts a second from a start on; burst k of a rate has
 * floor((k + 1) rate / ticks) - floor(k rate / ticks) updates: after each burst exactly as many
 * were due as the rate says. Nothing here reads a clock.
 */
struct schedule {
    uint64_t start_ns;
    uint64_t tick; /* number of the next burst */
    uint64_t rate; /* per second */
    uint32_t ticks_per_second;
};

/* From now on; the first burst is due one tick later. */
void schedule_start(struct schedule *schedule, uint64_t rate, uint32_t ticks_per_second,
                    uint64_t now_ns);

uint64_t schedule_due_ns(const struct schedule *schedule); /* of the next burst */

/* How many of `rate` per second belong to the next burst. */
uint64_t schedule_share(const struct schedule *schedule, uint64_t rate);

void schedule_advance(struct schedule *schedule);

/* Give up bursts due more than `behind_ns` before now; returns how many updates that were. */
uint64_t schedule_skip(struct schedule *schedule, uint64_t now_ns, uint64_t behind_ns);

#endif
