/* base/wheel.h - a timer wheel over numbered objects. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_WHEEL_H
#define MD_WHEEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slots.h"

/* A timer inside an object of `slots`, at a fixed offset. */
struct md_wheel_timer {
    uint64_t due_ns;
    uint32_t next;
    uint32_t prev;
    uint16_t slot;
    bool is_set;
};

#define MD_WHEEL_SLOTS   1024u
#define MD_WHEEL_STEP_NS 1000000u /* 1 ms: finer than any time-out here */

struct md_wheel {
    const struct md_slots *slots;
    size_t offset;
    uint64_t position; /* steps done */
    uint32_t count;
    uint32_t heads[MD_WHEEL_SLOTS];
    uint64_t busy[MD_WHEEL_SLOTS / 64];
};

void md_wheel_init(struct md_wheel *wheel, const struct md_slots *slots, size_t offset);
void md_wheel_set(struct md_wheel *wheel, uint32_t number, uint64_t due_ns);
void md_wheel_cancel(struct md_wheel *wheel, uint32_t number);
/* The number of an object whose time has come (its timer is cancelled), or MD_NIL. */
uint32_t md_wheel_expire(struct md_wheel *wheel, uint64_t now_ns);
/* When to call md_wheel_expire() next: not late, perhaps early. UINT64_MAX: never. */
uint64_t md_wheel_deadline(const struct md_wheel *wheel);

#endif
