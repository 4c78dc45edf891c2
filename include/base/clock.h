/* base/clock.h - monotonic and wall time in nanoseconds; the only place that reads a clock. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_CLOCK_H
#define MD_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define MD_NEVER     UINT64_MAX /* a deadline that does not come */
#define MD_NS_PER_US 1000ull
#define MD_NS_PER_MS 1000000ull
#define MD_NS_PER_S  1000000000ull

/*
 * Engines get time as an argument; loops and programs read it here.
 *
 * md_clock_init() looks once whether the time stamp counter may be trusted: the CPU says it is
 * invariant and the kernel itself uses it. Then md_clock_mono_ns() is the counter, scaled, and
 * drawn back to CLOCK_MONOTONIC at most once a second by each thread; else, or before
 * md_clock_init(), it is CLOCK_MONOTONIC. Either way the values of all processes of a host can be
 * compared, to within microseconds between threads, and never run backwards within a thread.
 */
void md_clock_init(void); /* takes about 2 ms; call it in main() before threads start */

uint64_t md_clock_mono_ns(void);
uint64_t md_clock_wall_ns(void); /* since 1970, UTC */

bool md_clock_is_tsc(void); /* what md_clock_mono_ns() reads */

/*
 * Tests only: what md_clock_wall_ns() adds to the time of the kernel, in every thread. A build with
 * RMDS_TEST_HOOKS takes it, at any time, from the 8 bytes of the file that the variable
 * RMDS_TEST_WALL_SHIFT names when md_clock_init() is called.
 */
void md_clock_wall_shift(int64_t offset_ns);

#endif
