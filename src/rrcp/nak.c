/* nak.c - see nak.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "nak.h"

#include <math.h>

#include "crowd.h"
#include "packet.h"
#include "units.h"

#define GATHER_US        200 /* requests that are due within this time share a packet */
#define HOLDOFF_US       50000
#define CONFIRMS_MAX     3
#define WAIT_US_MAX      320000
#define FIRST_RTT_NS     (625 * RRCP_US) /* for a peer not measured yet: T = 5 ms */
#define FAST_WAIT_US_MIN 2000
#define ALONE_US         100  /* a packet that was merely overtaken arrives sooner */
#define ALONE_WAIT_US    1000 /* least wait before the next request */

/* T, the longest first delay: 16 one-way delays, between 1 and 20 ms. */
static uint64_t delay_max_us(const struct rrcp_nak *n)
{
    uint64_t rtt_ns = n->rtt_ns ? n->rtt_ns : FIRST_RTT_NS;

    return rrcp_clamp(8 * rtt_ns / RRCP_US, 1000, 20000);
}

/*
 * Draws the delay of a first request. The truncated exponential distribution (RFC 5740 section 5)
 * keeps the number of requests small when a group of G receivers misses the same packet. Fewer
 * receivers draw shorter delays, since the sender can bear all their requests. A receiver that is
 * alone does not wait for others.
 */
static uint32_t draw_delay_us(const struct rrcp_nak *n)
{
    uint32_t crowd = rrcp_crowd(n->config, n->peers);

    if (crowd == 0)
        return 0;
    double t = (double)(delay_max_us(n) * crowd) / CROWD_FULL;
    double g = (double)rrcp_clamp(n->peers, 2, 1000);
    double lambda = log(g) + 1.0;
    double e = exp(lambda) - 1.0;
    double x = lambda / (t * e) + md_prng_unit(n->prng) * lambda / t;

    return (uint32_t)(t / lambda * log(x * e * t / lambda));
}

/*
 * The wait between the first request and the second. In a group a repair may already be on its way
 * for another receiver, and a needless request costs the whole group: eight round trips. A receiver
 * that is alone waits four, or the time of RFC 6298 if that is longer.
 */
static uint64_t first_wait_us(const struct rrcp_nak *n)
{
    uint64_t most = n->config->request_wait_ns / RRCP_US;

    if (n->config->retry == RRCP_RETRY_FIXED || n->rtt_ns == 0)
        return most;
    uint64_t rtt_us = n->rtt_ns / RRCP_US;
    uint64_t group =
        rrcp_clamp(8 * rtt_us, FAST_WAIT_US_MIN, most > FAST_WAIT_US_MIN ? most : FAST_WAIT_US_MIN);
    uint64_t late_us = rtt_us + 4 * n->rtt_var_ns / RRCP_US;
    uint64_t alone = rrcp_clamp(late_us > 4 * rtt_us ? late_us : 4 * rtt_us, ALONE_WAIT_US, group);

    return alone + (group - alone) * rrcp_crowd(n->config, n->peers) / CROWD_FULL;
}

static uint32_t wait_us(const struct rrcp_nak *n, uint8_t tries)
{
    uint64_t wait = first_wait_us(n) << (tries - 1);

    if (wait > WAIT_US_MAX)
        wait = WAIT_US_MAX;
    return (uint32_t)wait + 2 * draw_delay_us(n);
}

/* The engine's microseconds wrap: compares by distance. */
static bool is_due(uint32_t due_us, uint32_t now_us)
{
    return (int32_t)(due_us - now_us) <= 0;
}

/* No timer runs past the time at which the packet is given up. */
static void limit_due(const struct rrcp_nak *n, struct rrcp_slot *slot)
{
    uint32_t limit_us = slot->first_us + (uint32_t)(n->config->recover_timeout_ns / RRCP_US);

    if (!is_due(slot->due_us, limit_us))
        slot->due_us = limit_us;
}

void rrcp_nak_begin(const struct rrcp_nak *n, struct rrcp_window *w, uint64_t seq)
{
    struct rrcp_slot *slot = rrcp_window_slot(w, seq);

    slot->due_us = rrcp_us(n->now_ns);
    if (n->config->path_count > 1) {
        rrcp_window_set(w, seq, SLOT_REORDER);
        slot->due_us += (uint32_t)(n->config->path_skew_ns / RRCP_US);
    } else if (n->config->switch_reorder) {
        rrcp_window_set(w, seq, SLOT_REORDER);
        slot->due_us += (uint32_t)(n->config->reorder_ns / RRCP_US);
    } else {
        rrcp_window_set(w, seq, SLOT_BACKOFF);
        slot->due_us += rrcp_crowd(n->config, n->peers) ? draw_delay_us(n) : ALONE_US;
    }
    rrcp_window_arm(w, slot, n->now_ns);
}

/* All requests are used up, or the packet is missing for recoverTimeout when its timer fires. */
static bool is_hopeless(const struct rrcp_nak *n, const struct rrcp_slot *slot, uint32_t now_us)
{
    return (slot->state == SLOT_ASKED && slot->tries >= n->config->request_tries) ||
           now_us + GATHER_US - slot->first_us >= n->config->recover_timeout_ns / RRCP_US;
}

/* After a pause of our own the repair may wait in the socket: read the network first. */
static bool may_give_up(const struct rrcp_nak *n, const struct rrcp_slot *slot, uint32_t now_us)
{
    uint64_t overdue_ns = (uint64_t)(now_us - slot->due_us) * RRCP_US;

    return n->input_empty_ns + overdue_ns >= n->now_ns || overdue_ns > RRCP_S;
}

/* REORDER ends early when enough newer packets have arrived. */
static bool is_overtaken(const struct rrcp_nak *n, const struct rrcp_window *w,
                         const struct rrcp_slot *slot, uint64_t seq)
{
    return slot->state == SLOT_REORDER && n->config->switch_reorder &&
           w->highest - seq >= n->config->reorder_packets;
}

enum nak_act rrcp_nak_look(const struct rrcp_nak *n, struct rrcp_window *w, uint64_t seq)
{
    struct rrcp_slot *slot = rrcp_window_slot(w, seq);
    uint32_t now_us = rrcp_us(n->now_ns);

    if (!is_due(slot->due_us, now_us + GATHER_US) && !is_overtaken(n, w, slot, seq))
        return NAK_WAIT;
    if (is_hopeless(n, slot, now_us)) {
        if (!is_due(slot->due_us, now_us))
            return NAK_WAIT;
        if (may_give_up(n, slot, now_us))
            return NAK_LOSE;
        slot->due_us = now_us; /* read the network first */
        return NAK_WAIT;
    }
    if (slot->state == SLOT_REORDER && n->config->switch_reorder) {
        rrcp_window_set(w, seq, SLOT_BACKOFF);
        slot->due_us = now_us + draw_delay_us(n);
        return NAK_WAIT;
    }
    if (n->is_leaving) {
        slot->due_us = slot->first_us + (uint32_t)(n->config->recover_timeout_ns / RRCP_US);
        return NAK_WAIT;
    }
    return NAK_ASK;
}

void rrcp_nak_asked(const struct rrcp_nak *n, struct rrcp_window *w, uint64_t seq)
{
    struct rrcp_slot *slot = rrcp_window_slot(w, seq);
    uint32_t now_us = rrcp_us(n->now_ns);

    rrcp_window_set(w, seq, SLOT_ASKED);
    slot->tries++;
    slot->asked_us = now_us;
    slot->due_us = now_us + wait_us(n, slot->tries);
    limit_due(n, slot);
}

void rrcp_nak_answered(const struct rrcp_nak *n, struct rrcp_window *w, uint64_t seq,
                       uint8_t reason, uint32_t busy_us)
{
    struct rrcp_slot *slot = rrcp_window_slot(w, seq);

    if (reason == NCF_NOT_HELD) {
        rrcp_window_lose(w, seq, BACKBONE_GAP_NOT_HELD);
        return;
    }
    if (reason == NCF_BUSY) {
        slot->due_us += busy_us;
        w->transitions[RRCP_TRANSITION_ASKED_BUSY] += slot->state == SLOT_ASKED;
    } else if (slot->state == SLOT_REORDER || slot->state == SLOT_BACKOFF) {
        rrcp_window_set(w, seq, SLOT_HOLDOFF);
        slot->due_us = rrcp_us(n->now_ns) + HOLDOFF_US;
    } else if (slot->state == SLOT_ASKED && slot->confirms < CONFIRMS_MAX) {
        w->transitions[RRCP_TRANSITION_ASKED_CONFIRMED]++;
        slot->confirms++;
        slot->tries = slot->tries > 1 ? slot->tries - 1 : 1;
        slot->due_us += HOLDOFF_US;
    }
    limit_due(n, slot);
    rrcp_window_arm(w, slot, n->now_ns);
}
