/* loop_timers.h - the timers of a loop: those that run, and which of them is due. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_LOOP_TIMERS_H
#define MD_LOOP_TIMERS_H

#include "base/loop.h"

struct md_timers {
    struct md_loop_timer *running; /* in no order */
    uint64_t next_ns;              /* no timer is due before */
};

struct md_loop_timer {
    struct md_loop_timer *next; /* of those that run */
    struct md_loop_timer **link;
    struct md_timers *timers;
    uint64_t due_ns;
    uint64_t period_ns; /* 0: once */
    uint64_t ran_turn;  /* at most once in a turn */
    md_loop_fn fn;
    void *owner;
};

void md_timers_init(struct md_timers *timers);
uint64_t md_timers_first_ns(const struct md_timers *timers); /* exact; MD_NEVER: none runs */
int md_timers_add(struct md_timers *timers, md_loop_fn fn, void *owner, struct md_loop_timer **out);

/* Of the timers that are due and did not run in this turn the one that is due first. It is stopped,
 * or set to its next time; the caller runs it. NULL: none. */
struct md_loop_timer *md_timers_take(struct md_timers *timers, uint64_t now_ns, uint64_t turn);

#endif
