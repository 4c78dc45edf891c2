/* common.h - memory from the environment, notes, random numbers, small arithmetic. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_COMMON_H
#define RRCP_COMMON_H

#include "private.h"

void *rrcp_take(struct rrcp *r, size_t bytes);
void rrcp_give(struct rrcp *r, void *memory, size_t bytes);
void rrcp_note(struct rrcp *r, enum rrcp_note note, uint64_t session, uint64_t value);
void rrcp_drop(struct rrcp *r, enum rrcp_drop drop);
/* From 0 to limit - 1. */
uint64_t rrcp_random(struct rrcp *r, uint64_t limit);
static inline void rrcp_moved(struct rrcp *r, enum rrcp_transition transition)
{
    r->counters.transitions[transition]++;
}

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
