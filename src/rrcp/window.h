/* window.h - which packets of one sender are here, missing or lost. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_WINDOW_H
#define RRCP_WINDOW_H

#include "rrcp/rrcp.h"

/*
 *      next                                highest
 *       | missing  have  missing  lost  have  |   not seen yet
 *
 * Slots exist from a sender's first hole until ten seconds after its last: while nothing is missing
 * a packet passes straight through and no slot is touched. Everything below `next` was delivered or
 * is a gap. A lost run at `next` becomes one gap; it is told before the next delivery, because
 * until then it may grow.
 */
enum slot_state {
    SLOT_EMPTY, /* beyond the highest seen, or delivered */
    SLOT_HAVE,
    SLOT_REORDER, /* missing, may just be late */
    SLOT_BACKOFF, /* missing, will be asked for */
    SLOT_HOLDOFF, /* missing, another receiver asked for it */
    SLOT_ASKED,
    SLOT_LOST,
    SLOT_states
};

struct rrcp_slot {
    union {
        uint32_t buffer;   /* HAVE */
        uint32_t asked_us; /* ASKED: when */
    };
    uint32_t due_us;   /* engine's microseconds, low 32 bits: compared by distance */
    uint32_t first_us; /* noticed missing */
    uint8_t state;
    uint8_t tries;
    uint8_t confirms; /* NCF(REPAIR_COMING) that were believed */
    uint8_t reason;   /* LOST: why */
};

struct rrcp_window {
    struct rrcp_slot *slots; /* NULL while there was no hole */
    uint64_t *missing;       /* one bit per slot that is REORDER..ASKED */
    uint64_t *transitions;   /* counters of enum rrcp_transition */
    uint32_t mask;           /* slots - 1 */
    uint32_t missing_count;
    uint32_t have_count;
    uint32_t gap_reason;
    uint64_t next;      /* next to deliver */
    uint64_t highest;   /* highest seen or announced */
    uint64_t believed;  /* next seq of its last beacon */
    uint64_t due_ns;    /* first request, give-up; RRCP_NEVER */
    uint64_t used_ns;   /* last time there was a hole */
    uint64_t gap_first; /* lost run at `next` not yet told; gap_count 0: none */
    uint64_t gap_count;
};

/* Memory for `packets` slots, a power of two and at least 64. */
size_t rrcp_window_bytes(uint32_t packets);
void rrcp_window_attach(struct rrcp_window *w, void *memory, uint32_t packets); /* zeroed memory */
/* Nothing is missing any more; the memory is the caller's again. */
void *rrcp_window_detach(struct rrcp_window *w);

/* The one place that changes a slot's state: asserts that the move exists, counts it. */
void rrcp_window_set(struct rrcp_window *w, uint64_t seq, enum slot_state state);
void rrcp_window_lose(struct rrcp_window *w, uint64_t seq, enum rrcp_gap_reason reason);
/* The first missing packet from `seq` on; highest + 1: none. */
uint64_t rrcp_window_missing(const struct rrcp_window *w, uint64_t seq);
/* `count` packets at `next`, none of which is here, become part of the gap. */
void rrcp_window_pass(struct rrcp_window *w, uint64_t count, uint32_t reason);
/* Passes the lost packets at `next`. True: the packet at `next` is here. */
bool rrcp_window_ready(struct rrcp_window *w);
/* The window is due no later than this missing packet. */
void rrcp_window_arm(struct rrcp_window *w, const struct rrcp_slot *slot, uint64_t now_ns);

static inline struct rrcp_slot *rrcp_window_slot(const struct rrcp_window *w, uint64_t seq)
{
    return &w->slots[seq & w->mask];
}

static inline bool rrcp_slot_is_missing(enum slot_state state)
{
    return state >= SLOT_REORDER && state <= SLOT_ASKED;
}

#endif
