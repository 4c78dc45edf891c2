/* nak.c - which missing packets to ask for, and when. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "nak.h"

#include <math.h>

#include "base/assert.h"
#include "base/cursor.h"
#include "base/writer.h"
#include "budget.h"
#include "common.h"
#include "control.h"
#include "crowd.h"
#include "ranges.h"
#include "window.h"

/*
 *      state      an arrival   NCF coming     NCF busy   NCF not held   its timer
 *      REORDER    HAVE         HOLDOFF        -          LOST           BACKOFF
 *      BACKOFF    HAVE         HOLDOFF        later      LOST           ask: ASKED
 *      HOLDOFF    HAVE         -              later      LOST           ask: ASKED
 *      ASKED      HAVE         later          later      LOST           ask again, or LOST
 */

#define GATHER_US        200 /* requests due so soon after share the packet */
#define HOLDOFF_US       50000
#define BUSY_US_MAX      200000
#define CONFIRMS_MAX     3
#define WAIT_US_MAX      320000
#define FIRST_RTT_NS     (625 * RRCP_US) /* until measured: T = 5 ms */
#define FAST_WAIT_US_MIN 2000
#define ALONE_US         100  /* by then a packet that was overtaken has come */
#define ALONE_WAIT_US    1000 /* at least, until it is asked for again */
#define NAK_BURST        100

/* The longest first delay: 16 times the one-way delay, between 1 and 20 ms. */
static uint64_t delay_max_us(const struct rrcp_peer *peer)
{
    uint64_t rtt_ns = peer->rtt_ns ? peer->rtt_ns : FIRST_RTT_NS;

    return rrcp_clamp(8 * rtt_ns / RRCP_US, 1000, 20000);
}

/*
 * A random delay after which, of a group of G that all miss the same packet, as few as possible
 * have asked when the repair comes: truncated exponential, RFC 5740 section 5. A few receivers ask
 * sooner: the sender can bear all their requests. One that is alone does not draw at all.
 */
static uint32_t draw_delay_us(struct rrcp *r, const struct rrcp_peer *peer)
{
    uint32_t crowd = rrcp_crowd(r);

    if (crowd == 0)
        return 0;
    double t = (double)(delay_max_us(peer) * crowd) / CROWD_FULL;
    double g = (double)rrcp_clamp(r->live_count, 2, 1000);
    double lambda = log(g) + 1.0;
    double e = exp(lambda) - 1.0;
    double x = lambda / (t * e) + md_prng_unit(&r->prng) * lambda / t;

    return (uint32_t)(t / lambda * log(x * e * t / lambda));
}

/*
 * Until a request is repeated. In a group the repair may be on its way to somebody else first, and
 * a wrong repetition costs everybody; alone, half of that will do, or RFC 6298's time if it is
 * more.
 */
static uint64_t first_wait_us(const struct rrcp *r, const struct rrcp_peer *peer)
{
    uint64_t most = r->config.request_wait_ns / RRCP_US;

    if (r->config.retry == RRCP_RETRY_FIXED || peer->rtt_ns == 0)
        return most;
    uint64_t rtt_us = peer->rtt_ns / RRCP_US;
    uint64_t group =
        rrcp_clamp(8 * rtt_us, FAST_WAIT_US_MIN, most > FAST_WAIT_US_MIN ? most : FAST_WAIT_US_MIN);
    uint64_t late_us = rtt_us + 4 * peer->rtt_var_ns / RRCP_US;
    uint64_t alone = rrcp_clamp(late_us > 4 * rtt_us ? late_us : 4 * rtt_us, ALONE_WAIT_US, group);

    return alone + (group - alone) * rrcp_crowd(r) / CROWD_FULL;
}

static uint32_t wait_us(struct rrcp *r, const struct rrcp_peer *peer, uint8_t tries)
{
    uint64_t wait = first_wait_us(r, peer) << (tries - 1);

    if (wait > WAIT_US_MAX)
        wait = WAIT_US_MAX;
    return (uint32_t)wait + 2 * draw_delay_us(r, peer);
}

/* Compare by distance: the engine's microseconds wrap. */
static bool is_due(uint32_t due_us, uint32_t now_us)
{
    return (int32_t)(due_us - now_us) <= 0;
}

static void arm(struct rrcp *r, struct rrcp_peer *peer, const struct rrcp_slot *slot)
{
    uint32_t now_us = rrcp_us(r->now_ns);
    uint64_t due_ns = r->now_ns;

    if (!is_due(slot->due_us, now_us))
        due_ns += (uint64_t)(slot->due_us - now_us) * RRCP_US;
    peer->window.due_ns = rrcp_min(peer->window.due_ns, due_ns);
}

void rrcp_nak_schedule(struct rrcp *r, struct rrcp_peer *peer, struct rrcp_slot *slot)
{
    uint32_t delay_us;

    if (r->config.path_count > 1) {
        slot->state = SLOT_REORDER;
        delay_us = (uint32_t)(r->config.path_skew_ns / RRCP_US);
    } else if (r->config.switch_reorder) {
        slot->state = SLOT_REORDER;
        delay_us = (uint32_t)(r->config.reorder_ns / RRCP_US);
    } else {
        slot->state = SLOT_BACKOFF;
        delay_us = rrcp_crowd(r) ? draw_delay_us(r, peer) : ALONE_US;
    }
    rrcp_moved(r, slot->state == SLOT_REORDER ? RRCP_TRANSITION_MISSING_REORDER
                                              : RRCP_TRANSITION_MISSING_BACKOFF);
    slot->due_us = rrcp_us(r->now_ns) + delay_us;
    arm(r, peer, slot);
}

/* ---- asking ------------------------------------------------------------------------------- */

struct request {
    struct range_builder ranges;
    bool is_open;
};

static void send_request(struct rrcp *r, struct rrcp_peer *peer, struct request *q)
{
    uint8_t *bytes;
    uint32_t buffer;

    if (!q->is_open)
        return;
    q->is_open = false;
    buffer = rrcp_control_make(r, PACKET_NAK, &bytes);
    if (buffer == RRCP_BUFFER_NONE)
        return; /* as if it were lost on its way */
    md_put_be64(bytes + 24, peer->session);
    md_put_be64(bytes + 32, q->ranges.base);
    md_put_be16(bytes + 40, (uint16_t)q->ranges.count);
    md_put_be16(bytes + 42, (uint16_t)q->ranges.attempt);
    rrcp_control_send(r, buffer, rrcp_ranges_write(&q->ranges, bytes, PACKET_NAK_BYTES), peer);
    r->counters.retrans_req_sent++;
    peer->naks_sent++;
}

/* Put `seq` on the request, in a new packet if need be; false: the budget is used up. */
static bool ask(struct rrcp *r, struct rrcp_peer *peer, struct request *q, uint64_t seq,
                uint32_t attempt)
{
    if (!q->is_open || !rrcp_ranges_add(&q->ranges, seq, 1)) {
        send_request(r, peer, q);
        if (!rrcp_budget_take(&r->nak_out_budget, r->now_ns, 1,
                              rrcp_crowd_share(r, r->config.nak_rate), NAK_BURST))
            return false;
        q->ranges = (struct range_builder){ .base = seq };
        q->is_open = true;
        rrcp_ranges_add(&q->ranges, seq, 1);
    }
    if (attempt > q->ranges.attempt)
        q->ranges.attempt = attempt;
    return true;
}

/* It was asked for often enough, or long enough. */
static bool is_hopeless(const struct rrcp *r, const struct rrcp_slot *slot, uint32_t now_us)
{
    uint64_t limit_us = r->config.recover_timeout_ns / RRCP_US;
    uint32_t age_us = now_us - slot->first_us;

    if (slot->state == SLOT_ASKED && slot->tries >= r->config.request_tries)
        return true;
    return age_us >= limit_us;
}

/* Nothing is given up before we have looked at what waits in the network. */
static bool may_give_up(const struct rrcp *r, const struct rrcp_slot *slot, uint32_t now_us)
{
    uint64_t overdue_ns = (uint64_t)(now_us - slot->due_us) * RRCP_US;

    return r->input_empty_ns + overdue_ns >= r->now_ns || overdue_ns > RRCP_S;
}

/* The timer of one missing packet; false: no budget to ask. */
static bool slot_due(struct rrcp *r, struct rrcp_peer *peer, struct request *q, uint64_t seq)
{
    struct rrcp_slot *slot = rrcp_window_slot(r, &peer->window, seq);
    uint32_t now_us = rrcp_us(r->now_ns);
    uint32_t limit_us = slot->first_us + (uint32_t)(r->config.recover_timeout_ns / RRCP_US);

    if (is_due(slot->due_us, now_us) && is_hopeless(r, slot, now_us)) {
        if (may_give_up(r, slot, now_us))
            rrcp_window_lose(r, peer, seq, RRCP_GAP_TIMEOUT);
        else
            slot->due_us = now_us; /* the network first */
        return true;
    }
    if (slot->state == SLOT_REORDER && r->config.switch_reorder) {
        slot->state = SLOT_BACKOFF;
        rrcp_moved(r, RRCP_TRANSITION_REORDER_BACKOFF);
        slot->due_us = now_us + draw_delay_us(r, peer);
        return true;
    }
    if (peer->beacon_state & BEACON_STATE_LEAVING) {
        slot->due_us = limit_us;
        return true;
    }
    if (!ask(r, peer, q, seq, slot->tries + 1u)) {
        slot->due_us =
            now_us + 1 + (uint32_t)(rrcp_budget_wait(&r->nak_out_budget, r->now_ns) / RRCP_US);
        return false;
    }
    rrcp_moved(r, slot->state == SLOT_REORDER   ? RRCP_TRANSITION_REORDER_ASKED
                  : slot->state == SLOT_BACKOFF ? RRCP_TRANSITION_BACKOFF_ASKED
                  : slot->state == SLOT_HOLDOFF ? RRCP_TRANSITION_HOLDOFF_ASKED
                                                : RRCP_TRANSITION_ASKED_ASKED);
    slot->state = SLOT_ASKED;
    slot->tries++;
    slot->asked_us = now_us;
    slot->due_us = now_us + wait_us(r, peer, slot->tries);
    if ((int32_t)(slot->due_us - limit_us) > 0)
        slot->due_us = limit_us;
    return true;
}

/* In REORDER a packet also counts as missing once enough newer ones have come. */
static bool is_overtaken(const struct rrcp *r, const struct rrcp_peer *peer,
                         const struct rrcp_slot *slot, uint64_t seq)
{
    return slot->state == SLOT_REORDER && r->config.switch_reorder &&
           peer->window.highest - seq >= r->config.reorder_packets;
}

void rrcp_nak_tick(struct rrcp *r, struct rrcp_peer *peer)
{
    struct rrcp_window *w = &peer->window;
    struct request q = { .is_open = false };
    uint32_t now_us = rrcp_us(r->now_ns);
    uint64_t left = w->missing_count;
    bool has_budget = true;

    w->due_ns = RRCP_NEVER;
    for (uint64_t seq = w->next; left > 0 && seq <= w->highest; seq++) {
        uint64_t index = seq & (r->config.window_packets - 1);
        uint64_t word = w->missing[index >> 6] >> (index & 63);

        if (word == 0) { /* nothing missing up to the end of this word */
            seq += 63 - (index & 63);
            continue;
        }
        seq += (uint64_t)__builtin_ctzll(word);
        left--;

        struct rrcp_slot *slot = rrcp_window_slot(r, w, seq);
        bool is_now = is_due(slot->due_us, now_us + GATHER_US) || is_overtaken(r, peer, slot, seq);

        if (is_now && has_budget)
            has_budget = slot_due(r, peer, &q, seq);
        if (slot->state != SLOT_LOST)
            arm(r, peer, slot);
    }
    send_request(r, peer, &q);
    if (!has_budget && w->missing_count > 0)
        w->due_ns = r->now_ns + rrcp_budget_wait(&r->nak_out_budget, r->now_ns) + RRCP_US;
    rrcp_window_drain(r, peer);
    if (w->missing_count == 0)
        w->due_ns = RRCP_NEVER;
}

/* ---- answers ------------------------------------------------------------------------------ */

static void apply(struct rrcp *r, struct rrcp_peer *peer, uint64_t seq, uint8_t reason,
                  uint32_t busy_us)
{
    struct rrcp_slot *slot = rrcp_window_slot(r, &peer->window, seq);

    if (slot->state < SLOT_REORDER || slot->state > SLOT_ASKED)
        return;
    if (reason == NCF_NOT_HELD) {
        rrcp_window_lose(r, peer, seq, RRCP_GAP_NOT_HELD);
        return;
    }
    if (reason == NCF_BUSY) {
        slot->due_us += busy_us;
        if (slot->state == SLOT_ASKED)
            rrcp_moved(r, RRCP_TRANSITION_ASKED_BUSY);
    } else if (slot->state == SLOT_REORDER || slot->state == SLOT_BACKOFF) {
        rrcp_moved(r, slot->state == SLOT_REORDER ? RRCP_TRANSITION_REORDER_HOLDOFF
                                                  : RRCP_TRANSITION_BACKOFF_HOLDOFF);
        slot->state = SLOT_HOLDOFF;
        slot->due_us = rrcp_us(r->now_ns) + HOLDOFF_US;
    } else if (slot->state == SLOT_ASKED && slot->confirms < CONFIRMS_MAX) {
        slot->confirms++;
        rrcp_moved(r, RRCP_TRANSITION_ASKED_CONFIRMED);
        slot->tries = slot->tries > 1 ? slot->tries - 1 : 1;
        slot->due_us += HOLDOFF_US;
    }
    uint32_t limit_us = slot->first_us + (uint32_t)(r->config.recover_timeout_ns / RRCP_US);

    if ((int32_t)(slot->due_us - limit_us) > 0)
        slot->due_us = limit_us;
    arm(r, peer, slot);
}

void rrcp_ncf_input(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view)
{
    struct rrcp_window *w = &peer->window;
    uint64_t base = md_be64(view->bytes + 24);
    uint32_t count = md_be16(view->bytes + 32);
    uint8_t reason = view->bytes[34];
    uint32_t busy_us = md_be16(view->bytes + 36) * 1000u;

    if (reason < NCF_REPAIR_COMING || reason > NCF_BUSY) {
        rrcp_drop(r, RRCP_DROP_BODY);
        return;
    }
    r->counters.ncf_rcvd[reason]++;
    if (w->missing_count == 0)
        return;
    if (busy_us > BUSY_US_MAX)
        busy_us = BUSY_US_MAX;
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *p = view->bytes + PACKET_NCF_BYTES + 8 * i;
        uint64_t first = base + md_be32(p);
        uint64_t end = first + md_be32(p + 4);

        if (first < base || end < first)
            break;
        if (first < w->next)
            first = w->next;
        for (uint64_t seq = first; seq < end && seq <= w->highest; seq++)
            apply(r, peer, seq, reason, busy_us);
    }
    rrcp_window_drain(r, peer);
}
