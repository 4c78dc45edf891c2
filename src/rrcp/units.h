/* units.h - units of time, and small arithmetic. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_UNITS_H
#define RRCP_UNITS_H

#include <stdint.h>

#define RRCP_US 1000ull
#define RRCP_MS 1000000ull
#define RRCP_S  1000000000ull

static inline uint32_t rrcp_us(uint64_t now_ns)
{
    return (uint32_t)(now_ns / RRCP_US);
}

static inline uint64_t rrcp_clamp(uint64_t value, uint64_t low, uint64_t high)
{
    return value < low ? low : value > high ? high : value;
}

static inline uint64_t rrcp_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

#endif
