/* schedule.c - see schedule.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule.h"

#define NS_PER_S 1000000000ull

void schedule_start(struct schedule *schedule, uint64_t rate, uint32_t ticks_per_second,
                    uint64_t now_ns)
{
    *schedule = (struct schedule){
        .start_ns = now_ns + NS_PER_S / ticks_per_second,
        .rate = rate,
        .ticks_per_second = ticks_per_second,
    };
}

/* Split at the second, so that nothing overflows however long it runs. */
static uint64_t after(const struct schedule *schedule, uint64_t tick, uint64_t per_second)
{
    uint64_t seconds = tick / schedule->ticks_per_second, rest = tick % schedule->ticks_per_second;

    return seconds * per_second + rest * per_second / schedule->ticks_per_second;
}

uint64_t schedule_due_ns(const struct schedule *schedule)
{
    return schedule->start_ns + after(schedule, schedule->tick, NS_PER_S);
}

uint64_t schedule_share(const struct schedule *schedule, uint64_t rate)
{
    return after(schedule, schedule->tick + 1, rate) - after(schedule, schedule->tick, rate);
}

void schedule_advance(struct schedule *schedule)
{
    schedule->tick++;
}

uint64_t schedule_skip(struct schedule *schedule, uint64_t now_ns, uint64_t behind_ns)
{
    uint64_t skipped = 0;

    if (schedule_due_ns(schedule) + behind_ns >= now_ns)
        return 0;
    uint64_t ahead_ns = now_ns - schedule->start_ns;
    uint64_t tick = ahead_ns / NS_PER_S * schedule->ticks_per_second +
                    ahead_ns % NS_PER_S * schedule->ticks_per_second / NS_PER_S;
    if (tick > schedule->tick) {
        skipped =
            after(schedule, tick, schedule->rate) - after(schedule, schedule->tick, schedule->rate);
        schedule->tick = tick;
    }
    return skipped;
}
