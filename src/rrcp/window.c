/* window.c - see window.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "window.h"

#include "base/assert.h"
#include "units.h"

#define SILENT     1
#define COUNTED(t) (RRCP_TRANSITION_##t + 2)

/* The moves that exist, and how each is counted. 0: a bug. */
static const uint8_t moves[SLOT_states][SLOT_states] = {
    [SLOT_EMPTY] = { [SLOT_SKIPPED] = SILENT,
                     [SLOT_HAVE] = SILENT,
                     [SLOT_REORDER] = COUNTED(MISSING_REORDER),
                     [SLOT_BACKOFF] = COUNTED(MISSING_BACKOFF),
                     [SLOT_LOST] = COUNTED(MISSING_LOST) },
    [SLOT_HAVE] = { [SLOT_EMPTY] = SILENT, [SLOT_LOST] = SILENT },
    [SLOT_REORDER] = { [SLOT_SKIPPED] = SILENT,
                       [SLOT_HAVE] = COUNTED(REORDER_HAVE),
                       [SLOT_BACKOFF] = COUNTED(REORDER_BACKOFF),
                       [SLOT_HOLDOFF] = COUNTED(REORDER_HOLDOFF),
                       [SLOT_ASKED] = COUNTED(REORDER_ASKED),
                       [SLOT_LOST] = SILENT },
    [SLOT_BACKOFF] = { [SLOT_SKIPPED] = SILENT,
                       [SLOT_HAVE] = COUNTED(BACKOFF_HAVE),
                       [SLOT_HOLDOFF] = COUNTED(BACKOFF_HOLDOFF),
                       [SLOT_ASKED] = COUNTED(BACKOFF_ASKED),
                       [SLOT_LOST] = COUNTED(BACKOFF_LOST) },
    [SLOT_HOLDOFF] = { [SLOT_SKIPPED] = SILENT,
                       [SLOT_HAVE] = COUNTED(HOLDOFF_HAVE),
                       [SLOT_ASKED] = COUNTED(HOLDOFF_ASKED),
                       [SLOT_LOST] = COUNTED(HOLDOFF_LOST) },
    [SLOT_ASKED] = { [SLOT_SKIPPED] = SILENT,
                     [SLOT_HAVE] = COUNTED(ASKED_HAVE),
                     [SLOT_ASKED] = COUNTED(ASKED_ASKED),
                     [SLOT_LOST] = COUNTED(ASKED_LOST) },
    [SLOT_LOST] = { [SLOT_SKIPPED] = SILENT,
                    [SLOT_EMPTY] = SILENT,
                    [SLOT_HAVE] = COUNTED(LOST_HAVE) },
    [SLOT_SKIPPED] = { [SLOT_EMPTY] = SILENT, [SLOT_HAVE] = SILENT },
};

size_t rrcp_window_bytes(uint32_t packets)
{
    return packets * sizeof(struct rrcp_slot) + packets / 8;
}

void rrcp_window_attach(struct rrcp_window *w, void *memory, uint32_t packets)
{
    w->slots = memory;
    w->missing = (uint64_t *)(void *)(w->slots + packets);
    w->mask = packets - 1;
}

void *rrcp_window_detach(struct rrcp_window *w)
{
    void *memory = w->slots;

    w->slots = NULL;
    w->missing = NULL;
    w->missing_count = w->have_count = 0;
    w->due_ns = RRCP_NEVER;
    return memory;
}

void rrcp_window_set(struct rrcp_window *w, uint64_t seq, enum slot_state state)
{
    struct rrcp_slot *slot = rrcp_window_slot(w, seq);
    uint64_t index = seq & w->mask;
    uint64_t bit = 1ull << (index & 63);
    uint64_t *word = &w->missing[index >> 6];
    uint8_t move = moves[slot->state][state];

    MD_ASSERT(move != 0);
    if (move != SILENT)
        w->transitions[move - COUNTED(MISSING_REORDER)]++;
    w->have_count += (uint32_t)(state == SLOT_HAVE) - (uint32_t)(slot->state == SLOT_HAVE);
    slot->state = (uint8_t)state;
    if (rrcp_slot_is_missing(state) && !(*word & bit)) {
        *word |= bit;
        w->missing_count++;
    } else if (!rrcp_slot_is_missing(state) && (*word & bit)) {
        *word &= ~bit;
        if (--w->missing_count == 0)
            w->due_ns = RRCP_NEVER;
    }
}

void rrcp_window_lose(struct rrcp_window *w, uint64_t seq, enum backbone_gap_reason reason)
{
    rrcp_window_set(w, seq, SLOT_LOST);
    rrcp_window_slot(w, seq)->reason = (uint8_t)reason;
}

uint64_t rrcp_window_missing(const struct rrcp_window *w, uint64_t seq)
{
    while (w->missing_count > 0 && seq <= w->highest) {
        uint64_t index = seq & w->mask;
        uint64_t word = w->missing[index >> 6] >> (index & 63);

        seq += word ? (uint64_t)__builtin_ctzll(word) : 64 - (index & 63);
        if (word && seq <= w->highest)
            return seq;
    }
    return w->highest + 1;
}

void rrcp_window_pass(struct rrcp_window *w, uint64_t count, uint32_t reason)
{
    if (w->gap_count == 0) {
        w->gap_first = w->next;
        w->gap_reason = reason;
    }
    w->gap_count += count;
    w->next += count;
}

bool rrcp_window_ready(struct rrcp_window *w)
{
    while (w->next <= w->highest) {
        const struct rrcp_slot *slot = rrcp_window_slot(w, w->next);

        if (slot->state != SLOT_LOST) {
            MD_ASSERT(slot->state != SLOT_EMPTY);
            return slot->state == SLOT_HAVE || slot->state == SLOT_SKIPPED;
        }
        rrcp_window_set(w, w->next, SLOT_EMPTY);
        rrcp_window_pass(w, 1, slot->reason);
    }
    return false;
}

void rrcp_window_arm(struct rrcp_window *w, const struct rrcp_slot *slot, uint64_t now_ns)
{
    int32_t left_us = (int32_t)(slot->due_us - rrcp_us(now_ns));

    if (left_us > 0)
        now_ns += (uint32_t)left_us * RRCP_US;
    w->due_ns = rrcp_min(w->due_ns, now_ns);
}
