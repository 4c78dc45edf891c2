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
    uint64_t mult;
    uint64_t due;  /* draw back to the kernel's clock when the distance reaches this */
    uint64_t step; /* the next `due`; grows as the rate becomes known better */
};

#define STEP_FIRST (1ull << 22) /* about a millisecond */
#define STEP_LAST  (1ull << 31) /* about a second */
#define ERROR_MAX  1000000      /* ns the two clocks may part in one step before we say so */

/*
 * What a process knows of its clock is a fact of the machine, found once; and what a thread last
 * read belongs to the thread. These are the only variables of this kind in base.
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

void md_clock_init(void)
{
    find_wall_shift();
    if (!counter_is_invariant())
        return;
    uint64_t ns0 = read_kernel(CLOCK_MONOTONIC);
    uint64_t tsc0 = __rdtsc();
    uint64_t ns1;
    do
        ns1 = read_kernel(CLOCK_MONOTONIC);
    while (ns1 - ns0 < 2 * MD_NS_PER_MS);
    uint64_t ticks = __rdtsc() - tsc0;
    if (ticks > ns1 - ns0 && ticks < (ns1 - ns0) * 16) /* between 1 and 16 GHz */
        first_mult = ((ns1 - ns0) << 32) / ticks;
}

static uint64_t scaled(const struct scale *s, uint64_t ticks)
{
    return s->base_ns + (ticks * s->mult >> 32);
}

/*
 * Compare with the kernel and steer: the next step runs a little faster or slower so that it ends
 * where the kernel's clock will be. What was already given out is never taken back.
 */
static uint64_t draw_back(struct scale *s)
{
    uint64_t truth = read_kernel(CLOCK_MONOTONIC);
    uint64_t tsc = __rdtsc();
    uint64_t ticks = tsc - s->base_tsc;
    bool is_first = s->base_tsc == 0;
    bool is_late = ticks >= 1ull << 32; /* the thread slept: the product would overflow */
    uint64_t ours = is_first ? truth : is_late ? s->base_ns : scaled(s, ticks);
    int64_t error = (int64_t)(truth - ours);

    if (is_first || is_late || error > ERROR_MAX) {
        s->base_ns = truth > ours ? truth : ours;
        s->mult = s->mult ? s->mult : first_mult;
        s->step = STEP_FIRST;
    } else {
        /* error is small, so error << 32 fits; the rate may change by 1/16 at most */
        int64_t steer = error * (int64_t)(1ll << 32) / (int64_t)s->step;
        int64_t most = (int64_t)(first_mult / 16);
        int64_t mult = (int64_t)s->mult + (steer > most ? most : steer < -most ? -most : steer);
        int64_t low = (int64_t)first_mult - most;
        int64_t high = (int64_t)first_mult + most;

        s->mult = (uint64_t)(mult < low ? low : mult > high ? high : mult);
        s->base_ns = ours;
        s->step = s->step < STEP_LAST ? s->step * 2 : STEP_LAST;
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
