/* repair.c - receives NAKs, sends repairs and NCFs. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "repair.h"

#include <string.h>

#include "base/cursor.h"
#include "base/writer.h"
#include "budget.h"
#include "common.h"
#include "control.h"
#include "crowd.h"
#include "pool.h"
#include "ranges.h"
#include "sender.h"
#include "skip.h"

#define NAK_RATE       4000 /* packets/s in all */
#define NAK_BURST      400
#define NAK_PEER_RATE  1000
#define NAK_PEER_BURST 200
#define NOT_HELD_NS    (50 * RRCP_MS) /* at most one NCF per packet in this time */
#define QUEUE_NS_MAX   (20 * RRCP_MS) /* BUSY refuses a repair that would wait longer */
#define COMING_NS      (2 * RRCP_MS)  /* REPAIR_COMING announces a repair that waits longer */
#define OVERRIDES_MAX  3
#define SKIPS_MAX      2 /* that answer one NAK: it may ask for many numbers, few in a row */
#define SHARED_PERCENT 30
#define SHARED_LEAST   8
#define SHARED_WINDOW  256
#define RTT_UNKNOWN_NS (1 * RRCP_MS)

/* ---- confirmations ------------------------------------------------------------------------ */

struct answer {
    struct range_builder ranges;
    uint8_t reason;
    const struct rrcp_peer *to; /* NULL: the group */
};

static void send_answer(struct rrcp *r, struct answer *a)
{
    struct packet_ncf *p;
    uint32_t buffer;

    if (a->ranges.count == 0)
        return;
    p = rrcp_control_make(r, PACKET_NCF, &buffer);
    if (p) {
        md_put_be64(p->base, a->ranges.base);
        md_put_be16(p->ranges, (uint16_t)a->ranges.count);
        p->reason = a->reason;
        p->zero = 0;
        md_put_be16(p->wait_ms, (uint16_t)a->ranges.wait_ms);
        md_put_be16(p->zeros, 0);
        rrcp_control_send(r, buffer, PACKET_NCF_BYTES + rrcp_ranges_write(&a->ranges, p->list),
                          a->to);
        r->counters.ncf_sent[a->reason]++;
    }
    a->ranges = (struct range_builder){ 0 };
}

static void answer_add(struct rrcp *r, struct answer *a, uint64_t seq, uint64_t wait_ns)
{
    uint32_t wait_ms = (uint32_t)rrcp_min((wait_ns + RRCP_MS - 1) / RRCP_MS, 200);

    if (a->ranges.count > 0 && !rrcp_ranges_add(&a->ranges, seq, 1))
        send_answer(r, a);
    if (a->ranges.count == 0) {
        a->ranges.base = seq;
        rrcp_ranges_add(&a->ranges, seq, 1);
    }
    if (wait_ms > a->ranges.wait_ms)
        a->ranges.wait_ms = wait_ms;
}

/* ---- one packet asked for ----------------------------------------------------------------- */

struct answers {
    struct answer coming;
    struct answer not_held;
    struct answer busy;
    struct answer busy_peer;
    struct range_builder skipped;
    uint32_t skips; /* SKIPs sent */
};

/* Answers NOT_HELD to all, once for all receivers that ask within NOT_HELD_NS; in a mesh to who
 * asks. */
static void refuse(struct rrcp *r, struct answers *a, uint64_t seq)
{
    struct not_held_mark *mark = &r->sender.not_held[seq & 255];

    if (!r->config.mesh.is_on && mark->seq == seq && r->now_ns - mark->time_ns < NOT_HELD_NS)
        return;
    mark->seq = seq;
    mark->time_ns = r->now_ns;
    answer_add(r, &a->not_held, seq, 0);
}

/*
 * A repair sent less than this ago is still on its way, so a new request for it is ignored. Four
 * round trips, at least 1 ms, in a group; one round trip, at least 0.5 ms, for a receiver that is
 * alone. Receivers repeat a request later than that.
 */
static uint64_t damping_ns(const struct rrcp *r, const struct rrcp_peer *peer)
{
    uint64_t wait_ns = r->config.repair_wait_ns;
    uint32_t crowd = rrcp_crowd(&r->config, r->live_count);

    if (r->config.retry == RRCP_RETRY_FIXED || peer->rtt_ns == 0)
        return wait_ns;
    uint64_t damp_ns = peer->rtt_ns + 3 * peer->rtt_ns * crowd / CROWD_FULL;
    uint64_t least_ns = RRCP_MS / 2 + RRCP_MS / 2 * crowd / CROWD_FULL;

    return rrcp_clamp(damp_ns, rrcp_min(least_ns, wait_ns), wait_ns);
}

static void note_asker(struct rrcp *r, struct sent_slot *slot, const struct rrcp_peer *peer)
{
    struct rrcp_sender *s = &r->sender;

    if (!slot->is_asked) {
        slot->is_asked = true;
        slot->first_asker = peer->index;
        s->asked_recently++;
    } else if (slot->first_asker != peer->index && !slot->is_shared) {
        slot->is_shared = true;
        s->shared_recently++;
    }
    if (s->asked_recently >= SHARED_WINDOW) {
        s->asked_recently /= 2;
        s->shared_recently /= 2;
    }
}

/*
 * STATUS packets are rare: in a large group most pairs have not measured each other yet. The mean
 * round trip of all peers stands in.
 */
static uint64_t round_trip_ns(const struct rrcp *r, const struct rrcp_peer *peer)
{
    if (peer->rtt_ns)
        return peer->rtt_ns;
    return r->sender.rtt_ns ? r->sender.rtt_ns : RTT_UNKNOWN_NS;
}

/*
 * True: send the repair to all again. Two peers asked late enough to have received it, so the
 * repair itself was lost near us. More requests would be a surer sign, but the requests of a large
 * group double in one round trip. The new repair may be lost as well, hence OVERRIDES_MAX.
 */
static bool is_override(struct rrcp *r, struct sent_slot *slot, const struct rrcp_peer *peer)
{
    uint64_t rtt_ns = round_trip_ns(r, peer);

    if (slot->overrides == OVERRIDES_MAX || r->now_ns - slot->multicast_ns <= rtt_ns + rtt_ns / 2)
        return false;
    if (slot->has_late && slot->late_asker != peer->index)
        return true;
    slot->has_late = true;
    slot->late_asker = peer->index;
    return false;
}

static bool is_damped(struct rrcp *r, struct sent_slot *slot, const struct rrcp_peer *peer,
                      bool *is_again)
{
    uint64_t damp_ns = damping_ns(r, peer);

    if (slot->multicast_ns != 0 && (slot->is_queued || r->now_ns - slot->multicast_ns < damp_ns)) {
        *is_again = !slot->is_queued && is_override(r, slot, peer);
        return !*is_again;
    }
    return slot->unicast_ns != 0 && slot->unicast_peer == peer->index &&
           r->now_ns - slot->unicast_ns < damp_ns;
}

static bool is_for_all(const struct rrcp *r, const struct sent_slot *slot, uint32_t attempt)
{
    const struct rrcp_sender *s = &r->sender;

    if (r->config.mesh.is_on) /* "all" would be a copy to each */
        return false;
    return slot->is_shared || (attempt == 1 && s->asked_recently >= SHARED_LEAST &&
                               s->shared_recently * 100 > s->asked_recently * SHARED_PERCENT);
}

static void queue_repair(struct rrcp *r, struct sent_slot *slot, const struct rrcp_peer *peer,
                         uint64_t seq, bool to_all, uint64_t ready_ns)
{
    struct rrcp_sender *s = &r->sender;
    struct repair *repair = &s->repairs[(s->repair_head + s->repair_count++) % REPAIR_QUEUE];

    *repair = (struct repair){
        .seq = seq,
        .ready_ns = ready_ns,
        .peer = to_all ? PEER_SELF : peer->index,
        .session = peer->session,
    };
    if (to_all) {
        slot->multicast_ns = r->now_ns;
        slot->is_queued = true;
    } else {
        slot->unicast_ns = r->now_ns;
        slot->unicast_peer = peer->index;
    }
}

static void consider(struct rrcp *r, struct rrcp_peer *peer, struct answers *a, uint64_t seq,
                     uint32_t attempt)
{
    struct rrcp_sender *s = &r->sender;
    struct sent_slot *slot = rrcp_sender_slot(r, seq);
    uint64_t rate = s->repair_rate;
    uint64_t burst = r->config.repair_burst_bytes ? r->config.repair_burst_bytes
                                                  : rate / 100 + 4 * r->config.packet_bytes_max;
    bool is_again = false;

    note_asker(r, slot, peer);
    if (is_damped(r, slot, peer, &is_again)) {
        r->counters.nak_damped++;
        return;
    }
    uint32_t bytes = rrcp_pool_buffer(r, slot->buffer)->length;
    uint64_t wait_ns = rrcp_budget_wait(&s->repair_budget, r->now_ns);
    uint64_t peer_wait_ns = rrcp_budget_wait(&peer->repair_budget, r->now_ns);

    if (wait_ns > QUEUE_NS_MAX || s->repair_count == REPAIR_QUEUE) {
        answer_add(r, &a->busy, seq, wait_ns);
        r->counters.repairs_busy++;
        return;
    }
    if (peer_wait_ns > 0) {
        answer_add(r, &a->busy_peer, seq, peer_wait_ns);
        r->counters.repairs_busy++;
        return;
    }
    rrcp_budget_pay(&s->repair_budget, r->now_ns, bytes, rate, burst);
    rrcp_budget_pay(&peer->repair_budget, r->now_ns, bytes, rate * 2 / 5, burst / 2);
    bool to_all = is_again || is_for_all(r, slot, attempt);

    if (to_all) {
        slot->has_late = false;
        slot->overrides = is_again ? slot->overrides + 1 : 0;
        r->counters.nak_override += is_again;
    }
    queue_repair(r, slot, peer, seq, to_all, r->now_ns + wait_ns);
    peer->repairs_sent++;
    if (wait_ns > COMING_NS)
        answer_add(r, &a->coming, seq, 0);
}

/* It was told so before, and that was lost. What two SKIPs cannot say it asks for again. */
static void skip(struct rrcp *r, const struct rrcp_peer *peer, struct answers *a, uint64_t seq)
{
    if (a->skips == SKIPS_MAX || (a->skipped.count > 0 && rrcp_ranges_add(&a->skipped, seq, 1)))
        return;
    if (a->skipped.count > 0) {
        rrcp_skip_answer(r, peer, &a->skipped);
        if (++a->skips == SKIPS_MAX)
            return;
    }
    a->skipped.base = seq;
    rrcp_ranges_add(&a->skipped, seq, 1);
}

static void consider_range(struct rrcp *r, struct rrcp_peer *peer, struct answers *a,
                           uint64_t first, uint64_t count, uint32_t attempt)
{
    const struct rrcp_sender *s = &r->sender;
    uint64_t end = first + count;

    if (end < first || end > s->send_next) { /* never sent */
        r->counters.nak_bad++;
        if (end < first || first >= s->send_next)
            return;
        end = s->send_next;
    }
    if (first < s->first_seq) {
        r->counters.nak_bad++;
        return;
    }
    for (uint64_t seq = first; seq < end; seq++) {
        if (rrcp_skip_was(r, peer, seq))
            skip(r, peer, a, seq);
        else if (seq < s->trail)
            refuse(r, a, seq);
        else
            consider(r, peer, a, seq, attempt);
    }
}

void rrcp_nak_input(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view)
{
    const struct rrcp_peer *group = r->config.mesh.is_on ? peer : NULL;
    struct answers a = {
        .coming = { .reason = NCF_REPAIR_COMING, .to = group },
        .not_held = { .reason = NCF_NOT_HELD, .to = group },
        .busy = { .reason = NCF_BUSY, .to = group },
        .busy_peer = { .reason = NCF_BUSY, .to = peer },
    };
    uint64_t base = md_be64(view->nak->base);
    uint32_t count = md_be16(view->nak->ranges);
    uint32_t attempt = md_be16(view->nak->attempt);

    if (md_be64(view->nak->target) != r->session) {
        rrcp_drop(r, RRCP_DROP_TARGET);
        return;
    }
    if (!rrcp_budget_take(&peer->nak_budget, r->now_ns, 1,
                          rrcp_crowd_share(&r->config, r->live_count, NAK_PEER_RATE),
                          NAK_PEER_BURST) ||
        !rrcp_budget_take(&r->sender.nak_in_budget, r->now_ns, 1, NAK_RATE, NAK_BURST)) {
        r->counters.nak_dropped_rate++;
        return;
    }
    r->counters.retrans_req_rcvd++;
    peer->naks_rcvd++;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t first = base + md_be32(view->nak->list[i].offset);

        if (first < base) {
            r->counters.nak_bad++;
            break;
        }
        consider_range(r, peer, &a, first, md_be32(view->nak->list[i].count), attempt);
    }
    rrcp_skip_answer(r, peer, &a.skipped);
    send_answer(r, &a.coming);
    send_answer(r, &a.not_held);
    send_answer(r, &a.busy);
    send_answer(r, &a.busy_peer);
}

/* ---- repairs out -------------------------------------------------------------------------- */

/* Marks the packet as a repair. Copies it while the transport still has the original. */
static uint32_t repair_buffer(struct rrcp *r, const struct sent_slot *slot)
{
    uint32_t buffer = slot->buffer;
    uint32_t length = rrcp_pool_buffer(r, buffer)->length;

    if (rrcp_pool_buffer(r, buffer)->in_flight > 0) {
        uint32_t copy = rrcp_pool_take(r, BUFFER_CONTROL);

        if (copy == RRCP_BUFFER_NONE)
            return copy;
        memcpy(rrcp_pool_bytes(r, copy), rrcp_pool_bytes(r, buffer), length);
        rrcp_pool_buffer(r, copy)->length = (uint16_t)length;
        buffer = copy;
    } else {
        rrcp_pool_hold(r, buffer);
    }
    rrcp_pool_header(r, buffer)->flags |= PACKET_FLAG_RETRANS;
    return buffer;
}

uint32_t rrcp_repair_output(struct rrcp *r, const struct rrcp_peer **to)
{
    struct rrcp_sender *s = &r->sender;

    while (s->repair_count > 0) {
        struct repair *repair = &s->repairs[s->repair_head];
        struct sent_slot *slot = rrcp_sender_slot(r, repair->seq);
        const struct rrcp_peer *peer = repair->peer == PEER_SELF ? NULL : r->peers[repair->peer];
        uint32_t buffer = RRCP_BUFFER_NONE;

        if (repair->ready_ns > r->now_ns)
            break;
        if (slot && (!peer || (peer->state == PEER_LIVE && peer->session == repair->session)))
            buffer = repair_buffer(r, slot);
        if (slot && !peer) {
            slot->is_queued = false;
            slot->multicast_ns = r->now_ns;
        }
        s->repair_head = (s->repair_head + 1) % REPAIR_QUEUE;
        s->repair_count--;
        if (buffer == RRCP_BUFFER_NONE)
            continue; /* the packet was freed meanwhile, or the peer is gone */
        r->counters.retrans_pkts_sent++;
        if (peer)
            r->counters.repairs_unicast++;
        else
            r->counters.repairs_multicast++;
        *to = peer;
        return buffer;
    }
    return RRCP_BUFFER_NONE;
}

uint64_t rrcp_repair_deadline(const struct rrcp *r)
{
    const struct rrcp_sender *s = &r->sender;

    return s->repair_count > 0 ? s->repairs[s->repair_head].ready_ns : RRCP_NEVER;
}
