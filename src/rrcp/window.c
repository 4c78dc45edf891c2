/* window.c - one sender's packets put in order: what is here, what is missing, what is lost. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "window.h"

#include <string.h>

#include "base/assert.h"
#include "base/cursor.h"
#include "common.h"
#include "deliver.h"
#include "nak.h"
#include "pool.h"
#include "status.h"

/*
 *      next                                highest
 *       | missing  have  missing  lost  have  |   not seen yet
 *
 * While nothing is missing a packet passes straight through and no slot is touched. Slots exist
 * from a peer's first hole until ten seconds after its last. Everything below `next` was given to
 * the users or told as a gap; a lost run at `next` is told, as one gap, before the next delivery.
 */

#define OVER_PACKETS_MAX 1024
#define SHARE_MIN        1024

static uint64_t *missing_word(const struct rrcp *r, const struct rrcp_window *w, uint64_t seq,
                              uint64_t *bit)
{
    uint64_t index = seq & (r->config.window_packets - 1);

    *bit = 1ull << (index & 63);
    return &w->missing[index >> 6];
}

static void set_missing(const struct rrcp *r, struct rrcp_window *w, uint64_t seq)
{
    uint64_t bit;

    *missing_word(r, w, seq, &bit) |= bit;
    w->missing_count++;
}

static void clear_missing(const struct rrcp *r, struct rrcp_window *w, uint64_t seq)
{
    uint64_t bit;
    uint64_t *word = missing_word(r, w, seq, &bit);

    MD_ASSERT(*word & bit);
    *word &= ~bit;
    w->missing_count--;
    if (w->missing_count == 0)
        w->due_ns = RRCP_NEVER;
}

static bool is_missing(const struct rrcp_slot *slot)
{
    return slot->state >= SLOT_REORDER && slot->state <= SLOT_ASKED;
}

static size_t slots_bytes(const struct rrcp *r)
{
    return r->config.window_packets * sizeof(struct rrcp_slot);
}

static bool window_open(struct rrcp *r, struct rrcp_window *w)
{
    if (w->slots)
        return true;
    if (r->window_count >= r->config.windows_max)
        return false;
    w->slots = rrcp_take(r, slots_bytes(r));
    w->missing = rrcp_take(r, r->config.window_packets / 8);
    if (!w->slots || !w->missing) {
        rrcp_give(r, w->slots, slots_bytes(r));
        rrcp_give(r, w->missing, r->config.window_packets / 8);
        w->slots = NULL;
        w->missing = NULL;
        return false;
    }
    r->window_count++;
    return true;
}

void rrcp_window_close(struct rrcp *r, struct rrcp_peer *peer)
{
    struct rrcp_window *w = &peer->window;

    if (!w->slots)
        return;
    for (uint64_t seq = w->next; w->have_count > 0 && seq <= w->highest; seq++) {
        struct rrcp_slot *slot = rrcp_window_slot(r, w, seq);

        if (slot->state == SLOT_HAVE) {
            rrcp_pool_give(r, slot->buffer);
            w->have_count--;
        }
    }
    rrcp_give(r, w->slots, slots_bytes(r));
    rrcp_give(r, w->missing, r->config.window_packets / 8);
    w->slots = NULL;
    w->missing = NULL;
    w->missing_count = 0;
    w->due_ns = RRCP_NEVER;
    r->window_count--;
}

/* ---- gaps --------------------------------------------------------------------------------- */

void rrcp_window_gap(struct rrcp *r, struct rrcp_peer *peer)
{
    struct rrcp_window *w = &peer->window;
    struct rrcp_item *item;

    if (w->gap_count == 0)
        return;
    item = rrcp_deliver_add(r, RRCP_EVENT_GAP, peer->index, peer->session);
    item->seq = w->gap_first;
    item->last = w->gap_first + w->gap_count - 1;
    item->count = w->gap_count > UINT32_MAX ? UINT32_MAX : (uint32_t)w->gap_count;
    item->reason = w->gap_reason;
    r->counters.gaps_detected++;
    r->counters.packets_lost[w->gap_reason] += w->gap_count;
    peer->lost += w->gap_count;
    w->gap_count = 0;
    peer->status_due_ns = rrcp_min(peer->status_due_ns, r->now_ns + 100 * RRCP_MS);
}

/* `count` packets at `next` are lost. */
static void pass_lost(struct rrcp_window *w, uint64_t count, uint32_t reason)
{
    if (w->gap_count == 0) {
        w->gap_first = w->next;
        w->gap_reason = reason;
    }
    w->gap_count += count;
    w->next += count;
}

/* ---- delivery ----------------------------------------------------------------------------- */

static void deliver_slot(struct rrcp *r, struct rrcp_peer *peer, struct rrcp_slot *slot)
{
    struct rrcp_window *w = &peer->window;

    rrcp_window_gap(r, peer);
    rrcp_deliver_packet(r, peer->index, peer->session, STREAM_MULTICAST,
                        rrcp_pool_bytes(r, slot->buffer), rrcp_pool_buffer(r, slot->buffer)->length,
                        w->next, slot->buffer);
    slot->state = SLOT_EMPTY;
    w->have_count--;
    w->next++;
}

void rrcp_window_drain(struct rrcp *r, struct rrcp_peer *peer)
{
    struct rrcp_window *w = &peer->window;

    while (w->next <= w->highest) {
        struct rrcp_slot *slot = rrcp_window_slot(r, w, w->next);

        if (slot->state == SLOT_HAVE) {
            deliver_slot(r, peer, slot);
        } else if (slot->state == SLOT_LOST) {
            slot->state = SLOT_EMPTY;
            pass_lost(w, 1, slot->reason);
        } else {
            MD_ASSERT(is_missing(slot));
            return; /* a lost run before it may yet grow */
        }
    }
    rrcp_window_gap(r, peer);
}

void rrcp_window_lose(struct rrcp *r, struct rrcp_peer *peer, uint64_t seq,
                      enum rrcp_gap_reason reason)
{
    struct rrcp_slot *slot = rrcp_window_slot(r, &peer->window, seq);

    MD_ASSERT(is_missing(slot));
    clear_missing(r, &peer->window, seq);
    if (slot->state != SLOT_REORDER)
        rrcp_moved(r, slot->state == SLOT_BACKOFF   ? RRCP_TRANSITION_BACKOFF_LOST
                      : slot->state == SLOT_HOLDOFF ? RRCP_TRANSITION_HOLDOFF_LOST
                                                    : RRCP_TRANSITION_ASKED_LOST);
    slot->state = SLOT_LOST;
    slot->reason = (uint8_t)reason;
}

/* Everything below `seq` goes: delivered if it is here, else lost. */
static void force(struct rrcp *r, struct rrcp_peer *peer, uint64_t seq, enum rrcp_gap_reason reason)
{
    struct rrcp_window *w = &peer->window;

    while (w->next < seq && w->next <= w->highest) {
        struct rrcp_slot *slot = rrcp_window_slot(r, w, w->next);

        if (is_missing(slot))
            rrcp_window_lose(r, peer, w->next, reason);
        if (slot->state == SLOT_HAVE) {
            deliver_slot(r, peer, slot);
        } else {
            slot->state = SLOT_EMPTY;
            pass_lost(w, 1, slot->reason);
        }
    }
}

void rrcp_window_finish(struct rrcp *r, struct rrcp_peer *peer, enum rrcp_gap_reason reason)
{
    force(r, peer, peer->window.highest + 1, reason);
    rrcp_window_gap(r, peer);
}

/* ---- what is missing ---------------------------------------------------------------------- */

/* `first` to `last` are beyond the highest seen, and fit the window. */
static void mark_missing(struct rrcp *r, struct rrcp_peer *peer, uint64_t first, uint64_t last,
                         bool is_lost)
{
    struct rrcp_window *w = &peer->window;

    for (uint64_t seq = first; seq <= last; seq++) {
        struct rrcp_slot *slot = rrcp_window_slot(r, w, seq);

        *slot = (struct rrcp_slot){ .first_us = rrcp_us(r->now_ns) };
        if (is_lost) {
            slot->state = SLOT_LOST;
            slot->reason = RRCP_GAP_TOO_LARGE;
            rrcp_moved(r, RRCP_TRANSITION_MISSING_LOST);
            continue;
        }
        set_missing(r, w, seq);
        rrcp_nak_schedule(r, peer, slot);
    }
    w->used_ns = r->now_ns;
}

/* Make the window reach `seq`, which is beyond the highest seen; what lies between is missing. */
static void reach(struct rrcp *r, struct rrcp_peer *peer, uint64_t seq)
{
    struct rrcp_window *w = &peer->window;
    uint64_t count = seq - w->highest - 1;
    bool is_lost = count > r->config.missing_max;

    if (count == 0 && w->next > w->highest)
        return; /* in order */
    peer->missed += count;
    r->counters.packets_missing += count;
    if (!window_open(r, w) || (is_lost && w->next > w->highest)) {
        pass_lost(w, seq - w->next, is_lost ? RRCP_GAP_TOO_LARGE : RRCP_GAP_POOL);
        w->highest = seq - 1;
        return;
    }
    if (seq - w->next >= r->config.window_packets) {
        uint64_t next = seq - r->config.window_packets + 1;

        force(r, peer, next, RRCP_GAP_POOL);
        if (w->next < next)
            pass_lost(w, next - w->next, is_lost ? RRCP_GAP_TOO_LARGE : RRCP_GAP_POOL);
        if (w->highest < w->next - 1)
            w->highest = w->next - 1;
    }
    mark_missing(r, peer, w->highest + 1, seq - 1, is_lost);
    w->highest = seq - 1;
    rrcp_window_drain(r, peer);
}

void rrcp_window_announce(struct rrcp *r, struct rrcp_peer *peer, uint64_t next_seq)
{
    struct rrcp_window *w = &peer->window;

    if (next_seq > w->believed)
        w->believed = next_seq;
    if (next_seq <= w->highest + 1)
        return;
    reach(r, peer, next_seq);
    if (w->next > w->highest)
        rrcp_window_gap(r, peer);
}

void rrcp_window_trail(struct rrcp *r, struct rrcp_peer *peer, uint64_t trail)
{
    struct rrcp_window *w = &peer->window;
    uint64_t end = rrcp_min(trail, w->highest + 1);

    if (w->missing_count == 0 || end <= w->next)
        return;
    for (uint64_t seq = w->next; seq < end && w->missing_count > 0; seq++)
        if (is_missing(rrcp_window_slot(r, w, seq)))
            rrcp_window_lose(r, peer, seq, RRCP_GAP_NOT_HELD);
    rrcp_window_drain(r, peer);
}

/* ---- arrivals ----------------------------------------------------------------------------- */

static void count_recovery(struct rrcp *r, struct rrcp_peer *peer, const struct rrcp_slot *slot,
                           bool is_repair)
{
    uint32_t us = rrcp_us(r->now_ns) - slot->first_us;
    uint32_t bucket = 0;

    while (bucket + 1 < RRCP_RECOVER_BUCKETS && us >> bucket)
        bucket++;
    r->counters.recover_us[bucket]++;
    rrcp_moved(r, slot->state == SLOT_REORDER   ? RRCP_TRANSITION_REORDER_HAVE
                  : slot->state == SLOT_BACKOFF ? RRCP_TRANSITION_BACKOFF_HAVE
                  : slot->state == SLOT_HOLDOFF ? RRCP_TRANSITION_HOLDOFF_HAVE
                                                : RRCP_TRANSITION_ASKED_HAVE);
    if (is_repair) {
        r->counters.packets_repaired++;
        r->useful_repairs++;
        peer->repaired++;
        /* One to all may answer somebody who asked before us, and would seem too quick. */
        if (slot->state == SLOT_ASKED && slot->tries == 1 && !r->is_group_arrival)
            rrcp_rtt_sample(r, peer, (uint64_t)(rrcp_us(r->now_ns) - slot->asked_us) * RRCP_US);
    } else {
        r->counters.reordered_packets++;
        if (slot->state == SLOT_ASKED)
            r->counters.reorder_false_loss++;
    }
}

/* May this peer have one more packet waiting in the pool? */
static bool may_keep(const struct rrcp *r, const struct rrcp_window *w, uint64_t seq)
{
    uint32_t share = r->pool.kind_max[BUFFER_RECEIVE] / (r->window_count ? r->window_count : 1);

    if (share < SHARE_MIN)
        share = SHARE_MIN;
    if (r->pool.is_over && seq >= w->next + OVER_PACKETS_MAX)
        return false;
    return w->have_count < share;
}

/* A packet that others must come before: a copy into the pool. */
static void keep(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view,
                 uint64_t seq)
{
    struct rrcp_window *w = &peer->window;
    struct rrcp_slot *slot = rrcp_window_slot(r, w, seq);
    uint32_t buffer = may_keep(r, w, seq) ? rrcp_pool_take(r, BUFFER_RECEIVE) : RRCP_BUFFER_NONE;

    if (buffer == RRCP_BUFFER_NONE) {
        rrcp_drop(r, RRCP_DROP_WINDOW);
        if (is_missing(slot))
            clear_missing(r, w, seq);
        slot->state = SLOT_LOST; /* never asked for: it was our own doing */
        slot->reason = RRCP_GAP_POOL;
        return;
    }
    memcpy(rrcp_pool_bytes(r, buffer), view->bytes, view->end);
    rrcp_pool_buffer(r, buffer)->length = (uint16_t)view->end;
    if (is_missing(slot))
        clear_missing(r, w, seq);
    slot->state = SLOT_HAVE;
    slot->buffer = buffer;
    w->have_count++;
    w->used_ns = r->now_ns;
}

static void count_duplicate(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view)
{
    r->counters.dup_packets++;
    peer->dup_packets++;
    if (view->flags & PACKET_FLAG_RETRANS) {
        r->counters.dup_repairs++;
        r->useless_repairs++;
    }
}

/* In order: the users get it where it lies. */
static void pass(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view,
                 uint64_t seq)
{
    struct rrcp_window *w = &peer->window;

    rrcp_window_gap(r, peer);
    rrcp_deliver_packet(r, peer->index, peer->session, STREAM_MULTICAST, view->bytes, view->end,
                        seq, RRCP_BUFFER_NONE);
    w->next = seq + 1;
}

/* A packet at or below the highest seen. */
static void arrive_late(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view,
                        uint64_t seq)
{
    struct rrcp_window *w = &peer->window;
    struct rrcp_slot *slot = rrcp_window_slot(r, w, seq);

    if (slot->state == SLOT_HAVE) {
        count_duplicate(r, peer, view);
        return;
    }
    if (is_missing(slot))
        count_recovery(r, peer, slot, view->flags & PACKET_FLAG_RETRANS);
    else if (slot->state == SLOT_LOST)
        rrcp_moved(r, RRCP_TRANSITION_LOST_HAVE);
    if (seq != w->next) {
        keep(r, peer, view, seq);
        return;
    }
    if (is_missing(slot))
        clear_missing(r, w, seq);
    slot->state = SLOT_EMPTY;
    pass(r, peer, view, seq);
    rrcp_window_drain(r, peer);
}

void rrcp_window_data(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view)
{
    struct rrcp_window *w = &peer->window;
    uint64_t seq = md_be64(view->bytes + 24);

    if (seq < w->next) {
        count_duplicate(r, peer, view);
        return;
    }
    if (seq > w->highest + r->config.jump_max && seq >= w->believed) {
        rrcp_drop(r, RRCP_DROP_JUMP);
        return;
    }
    if (seq <= w->highest) {
        arrive_late(r, peer, view, seq);
        return;
    }
    if (view->flags & PACKET_FLAG_RETRANS)
        r->counters.packets_repaired++; /* of a loss we had not noticed yet */
    reach(r, peer, seq);
    w->highest = seq;
    if (seq == w->next) {
        pass(r, peer, view, seq);
    } else {
        rrcp_window_slot(r, w, seq)->state = SLOT_EMPTY;
        keep(r, peer, view, seq);
        rrcp_window_drain(r, peer);
    }
}
