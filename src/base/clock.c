/* clock.c - see base/clock.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#if defined(RMDS_TEST_HOOKS)
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

/*
 * The scaled counter. ns = base_ns + (tsc - base_tsc) * mult / 2^32, with mult < 2^32 ns per tick
 * (a counter faster than 1 GHz), so the product fits 64 bits while tsc - base_tsc < 2^32 ticks:
 * more than a second at 4 GHz. `due` keeps the distance below that.
 */
struct scale {
    uint64_t base_tsc;
    uint64_t base_ns;
    uint64_t mult; /* ns of a tick * 2^32: the rate, or a little less */
    uint64_t due;  /* draw back to the kernel's clock when the distance reaches this */
    uint64_t step; /* the next `due`; grows as the rate becomes known better */
    uint64_t rate; /* as the kernel's clock says, since the anchor */
    uint64_t anchor_tsc;
    uint64_t anchor_ns;
};

#define STEP_FIRST  (1ull << 22) /* about a millisecond */
#define STEP_LAST   (1ull << 31) /* about a second */
#define PAIR_TRIES  16           /* an interrupt in each of so many pairs is none we meet */
#define PAIR_TICKS  2000         /* under a microsecond */
#define RATE_MIN_NS 5000000u /* a shorter distance is no better than what md_clock_init() found */
#define RATE_MAX_NS 2000000000u /* of a look from the anchor; (ns << 32) fits 64 bits */

/*
 * The speed of the clock is a fact of the machine, found once for the process; the last reading
 * belongs to its thread. These are the only variables of this kind in base.
 */
static uint64_t first_mult; /* 0: no counter to trust; written by md_clock_init() only */
static _Atomic int64_t wall_shift_own_ns;
static const _Atomic int64_t *wall_shift_ns = &wall_shift_own_ns;
static _Thread_local struct scale scale;

static uint64_t read_kernel(clockid_t id)
{
    struct timespec ts;

    clock_gettime(id, &ts);
    return (uint64_t)ts.tv_sec * MD_NS_PER_S + (uint64_t)ts.tv_nsec;
}

#if defined(RMDS_TEST_HOOKS)
static void find_wall_shift(void)
{
    const char *path = getenv("RMDS_TEST_WALL_SHIFT");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

    if (fd < 0)
        return;
    void *map = mmap(NULL, sizeof(*wall_shift_ns), PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (map != MAP_FAILED)
        wall_shift_ns = map;
}
#else
static void find_wall_shift(void)
{
}
#endif

#if defined(__x86_64__)

static bool counter_is_invariant(void)
{
    unsigned eax, ebx, ecx, edx;
    char name[16] = "";

    if (!__get_cpuid(0x80000007u, &eax, &ebx, &ecx, &edx) || !(edx & 1u << 8))
        return false;
    /* The kernel compares the counters of all CPUs and drops a bad one; trust its verdict. */
    FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
    if (!file)
        return false;
    bool is_tsc = fgets(name, sizeof(name), file) && strcmp(name, "tsc\n") == 0;
    fclose(file);
    return is_tsc;
}

/*
 * The kernel's clock and the counter of the same instant. A thread that loses its CPU between the
 * two reads would be wrong by as long as it waits, and stay so until the next look: the counter is
 * read on both sides, and the closest of some pairs counts.
 */
static uint64_t read_both(uint64_t *tsc)
{
    uint64_t best_ns = 0;
    uint64_t best = UINT64_MAX;

    for (int i = 0; i < PAIR_TRIES && best > PAIR_TICKS; i++) {
        uint64_t before = __rdtsc();
        uint64_t ns = read_kernel(CLOCK_MONOTONIC);
        uint64_t width = __rdtsc() - before;

        if (width < best) {
            best = width;
            best_ns = ns;
            *tsc = before + width / 2;
        }
    }
    return best_ns;
}

void md_clock_init(void)
{
    find_wall_shift();
    if (!counter_is_invariant())
        return;
    uint64_t tsc0 = 0;
    uint64_t tsc1 = 0;
    uint64_t ns0 = read_both(&tsc0);
    uint64_t ns1;
    do
        ns1 = read_both(&tsc1);
    while (ns1 - ns0 < 2 * MD_NS_PER_MS);
    uint64_t ticks = tsc1 - tsc0;
    if (ticks > ns1 - ns0 && ticks < (ns1 - ns0) * 16) /* between 1 and 16 GHz */
        first_mult = ((ns1 - ns0) << 32) / ticks;
}

static uint64_t scaled(const struct scale *s, uint64_t ticks)
{
    return s->base_ns + (ticks * s->mult >> 32);
}

/* Ticks to ns, from this look and one that lies well behind it. */
static void find_rate(struct scale *s, uint64_t truth, uint64_t tsc)
{
    uint64_t ns = truth - s->anchor_ns;

    if (s->anchor_tsc && ns > RATE_MAX_NS) {
        s->anchor_tsc = 0; /* it shifts out of 64 bits; what is known stays */
    } else if (s->anchor_tsc && ns > RATE_MIN_NS) {
        s->rate = (ns << 32) / (tsc - s->anchor_tsc);
    }
    if (!s->anchor_tsc) {
        s->anchor_tsc = tsc;
        s->anchor_ns = truth;
    }
}

/*
 * Compare with the kernel. A clock that is behind goes to where the kernel's is; one that is ahead
 * runs slower for a step, for what was already given out is never taken back. A thread that slept
 * looks long after it was due: nothing beyond `due` was given out, so it does not matter where the
 * scale would have led.
 */
static uint64_t draw_back(struct scale *s)
{
    uint64_t tsc = 0;
    uint64_t truth = read_both(&tsc);
    uint64_t given = s->base_tsc ? scaled(s, s->due) : 0;

    if (!s->rate)
        s->rate = first_mult;
    find_rate(s, truth, tsc);
    s->step = s->step == 0 ? STEP_FIRST : s->step < STEP_LAST ? s->step * 2 : STEP_LAST;
    s->mult = s->rate;
    s->base_ns = truth;
    if (given > truth) {
        uint64_t slower = given - truth < MD_NS_PER_S ? ((given - truth) << 32) / s->step : s->rate;

        s->mult -= slower < s->rate / 16 ? slower : s->rate / 16;
        s->base_ns = given;
    }
    s->base_tsc = tsc;
    s->due = s->step;
    return s->base_ns;
}

uint64_t md_clock_mono_ns(void)
{
    if (__builtin_expect(first_mult == 0, 0))
        return read_kernel(CLOCK_MONOTONIC);
    struct scale *s = &scale;
    uint64_t ticks = __rdtsc() - s->base_tsc;
    if (__builtin_expect(ticks < s->due, 1))
        return scaled(s, ticks);
    return draw_back(s);
}

#else

void md_clock_init(void)
{
    find_wall_shift();
}

uint64_t md_clock_mono_ns(void)
{
    (void)scale;
    return read_kernel(CLOCK_MONOTONIC);
}

#endif

uint64_t md_clock_wall_ns(void)
{
    int64_t shift = atomic_load_explicit(wall_shift_ns, memory_order_relaxed);

    return read_kernel(CLOCK_REALTIME) + (uint64_t)shift;
}

bool md_clock_is_tsc(void)
{
    return first_mult != 0;
}

void md_clock_wall_shift(int64_t offset_ns)
{
    atomic_store_explicit(&wall_shift_own_ns, offset_ns, memory_order_relaxed);
}
