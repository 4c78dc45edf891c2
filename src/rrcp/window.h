/* window.h - the packets of one sender: here, missing or lost. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_WINDOW_H
#define RRCP_WINDOW_H

#include "rrcp/rrcp.h"

/*
 *      next                                highest
 *       | missing  have  missing  lost  have  |   not seen yet
 *
 * Slots exist from a sender's first hole until ten seconds after its last. While no packet is
 * missing, packets pass straight through and touch no slot. All packets below `next` were delivered
 * or are part of a gap. Lost packets at `next` form one gap, which may grow; it is reported right
 * before the next delivery.
 */
enum slot_state {
    SLOT_EMPTY, /* beyond the highest seen, or delivered */
    SLOT_HAVE,
    SLOT_REORDER, /* missing, perhaps only late */
    SLOT_BACKOFF, /* missing, the first request waits */
    SLOT_HOLDOFF, /* missing, another receiver asked for it */
    SLOT_ASKED,
    SLOT_LOST,
    SLOT_SKIPPED, /* the sender says that nothing in it is for us */
    SLOT_states
};

struct rrcp_slot {
    union {
        uint32_t buffer;   /* HAVE */
        uint32_t asked_us; /* ASKED: when */
    };
    uint32_t due_us;   /* the engine's microseconds, low 32 bits */
    uint32_t first_us; /* when it was noticed missing */
    uint8_t state;
    uint8_t tries;
    uint8_t confirms; /* NCF(REPAIR_COMING) that extended the wait */
    uint8_t reason;   /* LOST: why */
};

struct rrcp_window {
    struct rrcp_slot *slots; /* NULL: no hole so far */
    uint64_t *missing;       /* one bit per slot that is REORDER..ASKED */
    uint64_t *transitions;   /* counters of enum rrcp_transition */
    uint32_t mask;           /* slots - 1 */
    uint32_t missing_count;
    uint32_t have_count;
    uint32_t gap_reason;
    uint64_t next;      /* next to deliver */
    uint64_t highest;   /* highest seen or announced */
    uint64_t due_ns;    /* first request, give-up; RRCP_NEVER */
    uint64_t used_ns;   /* last time there was a hole */
    uint64_t gap_first; /* pending gap before `next`; gap_count 0: none */
    uint64_t gap_count;
};

/* Bytes for `packets` slots, a power of two and at least 64. */
size_t rrcp_window_bytes(uint32_t packets);
void rrcp_window_attach(struct rrcp_window *w, void *memory, uint32_t packets); /* zeroed memory */
/* Forgets all slots and returns their memory. */
void *rrcp_window_detach(struct rrcp_window *w);

/* Changes the state of a slot, counts the move and asserts that it exists. */
void rrcp_window_set(struct rrcp_window *w, uint64_t seq, enum slot_state state);
void rrcp_window_lose(struct rrcp_window *w, uint64_t seq, enum backbone_gap_reason reason);
/* Returns the first missing packet from `seq` on; highest + 1: none. */
uint64_t rrcp_window_missing(const struct rrcp_window *w, uint64_t seq);
/* Moves `count` lost packets at `next` into the pending gap. */
void rrcp_window_pass(struct rrcp_window *w, uint64_t count, uint32_t reason);
/* Moves the lost packets at `next` into the pending gap. True: the next packet is here,
 * or skipped. */
bool rrcp_window_ready(struct rrcp_window *w);
/* Lowers the window's due time to that of a missing packet. */
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
