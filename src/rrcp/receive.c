/* receive.c - puts one sender's packets in order: delivers them, keeps them, reports gaps. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "receive.h"

#include <string.h>

#include "base/cursor.h"
#include "challenge.h"
#include "common.h"
#include "deliver.h"
#include "pool.h"
#include "status.h"

#define OVER_PACKETS_MAX 1024
#define SHARE_MIN        1024
#define SPARE_PART       8  /* of the receivers' share: room for the arrivals of one call */
#define PUSH_MAX         64 /* DATA this little ahead of others may push the oldest out */

static bool open_window(struct rrcp *r, struct rrcp_window *w)
{
    void *memory;

    if (w->slots)
        return true;
    if (r->window_count >= r->config.windows_max)
        return false;
    memory = rrcp_take(r, rrcp_window_bytes(r->config.window_packets));
    if (!memory)
        return false;
    rrcp_window_attach(w, memory, r->config.window_packets);
    r->window_count++;
    return true;
}

void rrcp_receive_close(struct rrcp *r, struct rrcp_peer *peer)
{
    struct rrcp_window *w = &peer->window;

    if (!w->slots)
        return;
    for (uint64_t seq = w->next; w->have_count > 0 && seq <= w->highest; seq++) {
        if (rrcp_window_slot(w, seq)->state != SLOT_HAVE)
            continue;
        rrcp_pool_give(r, rrcp_window_slot(w, seq)->buffer);
        rrcp_window_set(w, seq, SLOT_EMPTY);
    }
    rrcp_give(r, rrcp_window_detach(w), rrcp_window_bytes(r->config.window_packets));
    r->window_count--;
}

void rrcp_receive_gap(struct rrcp *r, struct rrcp_peer *peer)
{
    struct rrcp_window *w = &peer->window;
    struct rrcp_item *item;

    if (w->gap_count == 0)
        return;
    item = rrcp_deliver_add(r, BACKBONE_GAP, peer->index, peer->session);
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

/* ---- delivery ----------------------------------------------------------------------------- */

/* Delivers the packet at `next`, which is here; of one that was skipped there is nothing. */
static void deliver_next(struct rrcp *r, struct rrcp_peer *peer)
{
    struct rrcp_window *w = &peer->window;
    uint32_t buffer = rrcp_window_slot(w, w->next)->buffer;

    rrcp_receive_gap(r, peer);
    if (rrcp_window_slot(w, w->next)->state == SLOT_HAVE)
        rrcp_deliver_packet(r, peer->index, peer->session, STREAM_MULTICAST,
                            rrcp_pool_bytes(r, buffer), rrcp_pool_buffer(r, buffer)->length,
                            w->next, buffer);
    rrcp_window_set(w, w->next, SLOT_EMPTY);
    w->next++;
}

void rrcp_receive_drain(struct rrcp *r, struct rrcp_peer *peer)
{
    while (rrcp_window_ready(&peer->window))
        deliver_next(r, peer);
    if (peer->window.next > peer->window.highest)
        rrcp_receive_gap(r, peer);
}

/* Gives up all missing packets before `end`. */
static void lose_before(struct rrcp_window *w, uint64_t end, enum backbone_gap_reason reason)
{
    end = rrcp_min(end, w->highest + 1);
    for (uint64_t seq = rrcp_window_missing(w, w->next); seq < end;
         seq = rrcp_window_missing(w, seq + 1))
        rrcp_window_lose(w, seq, reason);
}

/* Empties the window before `end`: delivers packets that are here, gives up the others. */
static void force(struct rrcp *r, struct rrcp_peer *peer, uint64_t end,
                  enum backbone_gap_reason reason)
{
    lose_before(&peer->window, end, reason);
    while (peer->window.next < end && rrcp_window_ready(&peer->window))
        deliver_next(r, peer);
}

void rrcp_receive_finish(struct rrcp *r, struct rrcp_peer *peer, enum backbone_gap_reason reason)
{
    force(r, peer, peer->window.highest + 1, reason);
    rrcp_receive_gap(r, peer);
}

/* ---- what is missing ---------------------------------------------------------------------- */

/* Packets `first` to `last` are missing: beyond the highest seen, within the window. */
static void mark_missing(struct rrcp *r, struct rrcp_peer *peer, uint64_t first, uint64_t last,
                         bool is_lost)
{
    struct rrcp_nak n = rrcp_receive_nak(r, peer);
    struct rrcp_window *w = &peer->window;

    for (uint64_t seq = first; seq <= last; seq++) {
        *rrcp_window_slot(w, seq) = (struct rrcp_slot){ .first_us = rrcp_us(r->now_ns) };
        if (is_lost)
            rrcp_window_lose(w, seq, BACKBONE_GAP_TOO_LARGE);
        else
            rrcp_nak_begin(&n, w, seq);
    }
    w->used_ns = r->now_ns;
}

/* Extends the window up to `seq`, beyond the highest seen. Packets in between are missing. */
static void reach(struct rrcp *r, struct rrcp_peer *peer, uint64_t seq)
{
    struct rrcp_window *w = &peer->window;
    uint64_t count = seq - w->highest - 1;
    bool is_lost = count > r->config.missing_max;

    if (count == 0 && w->next > w->highest)
        return; /* in order */
    peer->missed += count;
    r->counters.packets_missing += count;
    if (!open_window(r, w) || (is_lost && w->next > w->highest)) {
        rrcp_window_pass(w, seq - w->next, is_lost ? BACKBONE_GAP_TOO_LARGE : BACKBONE_GAP_POOL);
        w->highest = seq - 1;
        return;
    }
    if (seq - w->next >= r->config.window_packets) {
        uint64_t next = seq - r->config.window_packets + 1;

        force(r, peer, next, BACKBONE_GAP_POOL);
        if (w->next < next)
            rrcp_window_pass(w, next - w->next,
                             is_lost ? BACKBONE_GAP_TOO_LARGE : BACKBONE_GAP_POOL);
        if (w->highest < w->next - 1)
            w->highest = w->next - 1;
    }
    mark_missing(r, peer, w->highest + 1, seq - 1, is_lost);
    w->highest = seq - 1;
    rrcp_receive_drain(r, peer);
}

void rrcp_receive_sure(struct rrcp *r, struct rrcp_peer *peer, uint64_t next_seq)
{
    struct rrcp_window *w = &peer->window;

    if (next_seq <= w->highest + 1)
        return;
    reach(r, peer, next_seq);
    if (w->next > w->highest)
        rrcp_receive_gap(r, peer);
}

/* ---- claims ------------------------------------------------------------------------------- */

/*
 * Anybody may forge a claim. It moves the highest seq by what may be missing and fits the window,
 * and it never pushes anything out. So a forged one costs requests, and at worst a gap over packets
 * that do not exist; the sender's own packets then lie below `next`, which draws a challenge, too.
 */
static bool may_claim(const struct rrcp *r, const struct rrcp_window *w, uint64_t end)
{
    uint64_t count = end - w->highest - 1;

    return count <= r->config.missing_max && count <= r->config.jump_max &&
           end - w->next < r->config.window_packets;
}

/* A packet of the sender lies below what was delivered, or does not. With keys it cannot be forged,
 * so it is a late copy. */
static void heard(const struct rrcp *r, struct rrcp_peer *peer, bool is_below)
{
    struct rrcp_doubt *d = &peer->doubt;

    if (!is_below)
        d->below_ns = 0;
    else if (d->below_ns == 0 && r->config.key_count == 0)
        d->below_ns = r->now_ns;
}

void rrcp_receive_announce(struct rrcp *r, struct rrcp_peer *peer, uint64_t next_seq)
{
    struct rrcp_window *w = &peer->window;

    heard(r, peer, next_seq < w->next);
    if (next_seq <= w->highest + 1)
        return;
    if (may_claim(r, w, next_seq))
        rrcp_receive_sure(r, peer, next_seq);
    else
        rrcp_doubt_raise(r, peer, DOUBT_BEYOND);
}

void rrcp_receive_below_tick(struct rrcp *r, struct rrcp_peer *peer)
{
    const struct rrcp_doubt *d = &peer->doubt;

    if (d->below_ns != 0 && r->now_ns >= d->below_ns + DOUBT_BELOW_NS)
        rrcp_doubt_raise(r, peer, DOUBT_BELOW);
}

void rrcp_receive_rejoin(struct rrcp *r, struct rrcp_peer *peer, uint64_t next)
{
    struct rrcp_window *w = &peer->window;

    rrcp_receive_gap(r, peer);
    rrcp_receive_close(r, peer);
    w->next = next;
    w->highest = next - 1;
    w->gap_first = next - 1;
    w->gap_count = 1;
    w->gap_reason = BACKBONE_GAP_REJOIN;
    rrcp_receive_gap(r, peer);
    r->counters.rejoins++;
}

void rrcp_receive_trail(struct rrcp *r, struct rrcp_peer *peer, uint64_t trail)
{
    lose_before(&peer->window, trail, BACKBONE_GAP_NOT_HELD);
    rrcp_receive_drain(r, peer);
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
    r->counters.recover_us_sum += us;
    if (is_repair) {
        r->counters.packets_repaired++;
        r->useful_repairs++;
        peer->repaired++;
        /* A repair to all may answer an earlier request of another receiver: no sample. */
        if (slot->state == SLOT_ASKED && slot->tries == 1 && !r->is_group_arrival)
            rrcp_rtt_sample(r, peer, (uint64_t)(rrcp_us(r->now_ns) - slot->asked_us) * RRCP_US);
    } else {
        r->counters.reordered_packets++;
        if (slot->state == SLOT_ASKED)
            r->counters.reorder_false_loss++;
    }
}

/* How many packets of the peer, this one first, the pool may still keep. */
static uint32_t room_for(const struct rrcp *r, const struct rrcp_window *w, uint64_t seq)
{
    uint32_t share = r->pool.kind_max[BUFFER_RECEIVE] / (r->window_count ? r->window_count : 1);

    if (share < SHARE_MIN)
        share = SHARE_MIN;
    uint64_t room = w->have_count < share ? share - w->have_count : 0;
    if (r->pool.is_over)
        room =
            rrcp_min(room, seq < w->next + OVER_PACKETS_MAX ? w->next + OVER_PACKETS_MAX - seq : 0);
    return (uint32_t)rrcp_min(room, rrcp_pool_room(r, BUFFER_RECEIVE));
}

/*
 * When the room is nearly gone the oldest hole is given up, and what waits behind it is delivered:
 * otherwise this hole would cost all packets that come until it is mended. Buffers are free when
 * the user has taken the packets; until then no other hole goes.
 */
static void give_way(struct rrcp *r, struct rrcp_peer *peer, uint64_t seq)
{
    struct rrcp_window *w = &peer->window;
    uint32_t spare = r->pool.kind_max[BUFFER_RECEIVE] / SPARE_PART;

    spare = spare < r->config.arrivals_max ? spare : r->config.arrivals_max;
    if (room_for(r, w, seq) > spare || (int32_t)(r->item_head - r->way_tail) < 0)
        return;
    for (uint64_t at = w->next; at < seq && rrcp_window_slot(w, at)->state != SLOT_HAVE; at++) {
        if (rrcp_slot_is_missing(rrcp_window_slot(w, at)->state))
            rrcp_window_lose(w, at, BACKBONE_GAP_POOL);
    }
    rrcp_receive_drain(r, peer);
    r->way_tail = r->item_tail;
}

/* Copies a packet that arrived ahead of others into the pool. A packet that is longer than ours may
 * be fits no buffer: it can only be delivered in order. */
static void keep(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view,
                 uint64_t seq)
{
    struct rrcp_window *w = &peer->window;
    bool may = view->end <= r->config.packet_bytes_max && room_for(r, w, seq) > 0;
    uint32_t buffer = may ? rrcp_pool_take(r, BUFFER_RECEIVE) : RRCP_BUFFER_NONE;

    rrcp_window_set(w, seq, SLOT_HAVE);
    if (buffer == RRCP_BUFFER_NONE) {
        rrcp_drop(r, RRCP_DROP_WINDOW);
        rrcp_window_lose(w, seq, BACKBONE_GAP_POOL); /* no request: we dropped it ourselves */
        return;
    }
    memcpy(rrcp_pool_bytes(r, buffer), view->bytes, view->end);
    rrcp_pool_buffer(r, buffer)->length = (uint16_t)view->end;
    rrcp_window_slot(w, seq)->buffer = buffer;
    w->used_ns = r->now_ns;
    give_way(r, peer, seq);
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

/* Delivers a packet that arrived in order, without a copy. */
static void pass(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view,
                 uint64_t seq)
{
    struct rrcp_window *w = &peer->window;

    rrcp_receive_gap(r, peer);
    rrcp_deliver_packet(r, peer->index, peer->session, STREAM_MULTICAST, view->bytes, view->end,
                        seq, RRCP_BUFFER_NONE);
    w->next = seq + 1;
}

/* Handles a packet at or below the highest seen. */
static void arrive_late(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view,
                        uint64_t seq)
{
    struct rrcp_window *w = &peer->window;
    const struct rrcp_slot *slot = rrcp_window_slot(w, seq);

    if (slot->state == SLOT_HAVE) {
        count_duplicate(r, peer, view);
        return;
    }
    if (rrcp_slot_is_missing(slot->state))
        count_recovery(r, peer, slot, view->flags & PACKET_FLAG_RETRANS);
    if (seq != w->next) {
        keep(r, peer, view, seq);
        return;
    }
    rrcp_window_set(w, seq, SLOT_HAVE);
    rrcp_window_set(w, seq, SLOT_EMPTY);
    pass(r, peer, view, seq);
    rrcp_receive_drain(r, peer);
}

void rrcp_receive_data(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view)
{
    struct rrcp_window *w = &peer->window;
    uint64_t seq = md_be64(view->data->seq);

    if (seq < w->next) {
        count_duplicate(r, peer, view);
        if (!(view->flags & PACKET_FLAG_RETRANS))
            heard(r, peer, true);
        return;
    }
    peer->doubt.below_ns = 0;
    if (seq > w->highest + PUSH_MAX && !may_claim(r, w, seq)) {
        rrcp_drop(r, RRCP_DROP_JUMP);
        rrcp_doubt_raise(r, peer, DOUBT_BEYOND);
        return;
    }
    if (seq <= w->highest) {
        arrive_late(r, peer, view, seq);
        return;
    }
    if (view->flags & PACKET_FLAG_RETRANS)
        r->counters.packets_repaired++; /* a repair of a loss that we had not noticed yet */
    reach(r, peer, seq);
    w->highest = seq;
    if (seq == w->next) {
        pass(r, peer, view, seq);
    } else {
        keep(r, peer, view, seq);
        rrcp_receive_drain(r, peer);
    }
}

/* ---- skipped ------------------------------------------------------------------------------ */

static void mark_skipped(struct rrcp *r, struct rrcp_window *w, uint64_t first, uint64_t end)
{
    for (uint64_t seq = first; seq < end; seq++) {
        if (seq > w->highest)
            *rrcp_window_slot(w, seq) = (struct rrcp_slot){ .state = SLOT_EMPTY };
        else if (!rrcp_slot_is_missing(rrcp_window_slot(w, seq)->state) &&
                 rrcp_window_slot(w, seq)->state != SLOT_LOST)
            continue;
        rrcp_window_set(w, seq, SLOT_SKIPPED);
    }
    if (w->highest < end - 1)
        w->highest = end - 1;
    w->used_ns = r->now_ns;
}

/*
 * Beyond the highest seen. Only what lies before it becomes missing, and is a claim. It needs slots
 * while something is missing: what has none is asked for later, and skipped then.
 */
static void skip_beyond(struct rrcp *r, struct rrcp_peer *peer, uint64_t first, uint64_t end)
{
    struct rrcp_window *w = &peer->window;

    if (first > w->highest + 1) {
        if (!may_claim(r, w, first)) {
            rrcp_drop(r, RRCP_DROP_JUMP);
            rrcp_doubt_raise(r, peer, DOUBT_BEYOND);
            return;
        }
        reach(r, peer, first);
    }
    end = rrcp_min(end, first + SKIP_RUN_MAX);
    if (w->next > w->highest) { /* in order */
        rrcp_receive_gap(r, peer);
        w->next = end;
        w->highest = end - 1;
    } else {
        end = rrcp_min(end, w->next + r->config.window_packets);
        mark_skipped(r, w, first, end);
    }
    r->counters.skipped_rcvd += end - first;
}

void rrcp_receive_skip(struct rrcp *r, struct rrcp_peer *peer, uint64_t first, uint64_t end)
{
    struct rrcp_window *w = &peer->window;

    if (first < w->next)
        first = w->next;
    if (first <= w->highest && first < end) {
        uint64_t seen = rrcp_min(end, w->highest + 1);

        mark_skipped(r, w, first, seen);
        rrcp_receive_drain(r, peer);
        r->counters.skipped_rcvd += seen - first;
        first = seen;
    }
    if (first < end)
        skip_beyond(r, peer, first, end);
}
