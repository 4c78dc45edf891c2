/* status.c - STATUS packets, round trips, flow control, congestion control. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "status.h"

#include "base/cursor.h"
#include "base/writer.h"
#include "budget.h"
#include "common.h"
#include "control.h"

#define STATUS_NS         (1 * RRCP_S)
#define STATUS_RATE       50
#define STATUS_BURST      50
#define FLOW_PACKETS      1024
#define FLOW_NS           (5 * RRCP_MS)
#define RATE_DOWN_NS      (500 * RRCP_MS)
#define RATE_UP_NS        (100 * RRCP_MS)
#define ROUND_TRIP_NS_MAX (10 * RRCP_S)

void rrcp_rtt_sample(struct rrcp *r, struct rrcp_peer *peer, uint64_t rtt_ns)
{
    uint64_t *all_ns = &r->sender.rtt_ns;

    if (rtt_ns > ROUND_TRIP_NS_MAX)
        return;
    if (rtt_ns == 0)
        rtt_ns = 1;
    *all_ns = *all_ns == 0 ? rtt_ns : (7 * *all_ns + rtt_ns + 7) / 8;
    if (peer->rtt_ns == 0) {
        peer->rtt_ns = rtt_ns;
        peer->rtt_var_ns = rtt_ns / 2;
        return;
    }
    uint64_t off_ns = rtt_ns > peer->rtt_ns ? rtt_ns - peer->rtt_ns : peer->rtt_ns - rtt_ns;

    peer->rtt_var_ns = (3 * peer->rtt_var_ns + off_ns) / 4;
    peer->rtt_ns = (7 * peer->rtt_ns + rtt_ns) / 8;
}

/* ---- what we report ----------------------------------------------------------------------- */

static uint64_t jittered(struct rrcp *r, uint64_t ns)
{
    return ns - ns / 5 + rrcp_random(r, 2 * ns / 5);
}

static void send_status(struct rrcp *r, struct rrcp_peer *peer)
{
    uint32_t buffer;
    struct packet_status *p = rrcp_control_make(r, PACKET_STATUS, &buffer);

    if (!p)
        return;
    md_put_be64(p->target, peer->session);
    md_put_be64(p->next, peer->window.next);
    md_put_be64(p->highest, peer->window.highest);
    md_put_be32(p->lost, (uint32_t)peer->lost);
    md_put_be32(p->repaired, (uint32_t)peer->repaired);
    md_put_be32(p->clock, peer->echo_tx_time);
    md_put_be32(p->delay_us, (uint32_t)((r->now_ns - peer->echo_ns) / RRCP_US));
    md_put_be16(p->pool_percent, (uint16_t)(100ull * r->pool.use / r->pool.count));
    md_put_be16(p->zeros, 0);
    rrcp_control_send(r, buffer, PACKET_STATUS_BYTES, peer);
    r->counters.status_sent++;
}

void rrcp_status_data(struct rrcp *r, struct rrcp_peer *peer)
{
    if (!peer->has_data) {
        bool is_first = peer->status_due_ns == RRCP_NEVER;

        peer->has_data = true;
        if (is_first) /* soon, so that both sides measure the round trip */
            peer->status_due_ns = r->now_ns + jittered(r, 50 * RRCP_MS);
    }
    if (!(peer->beacon_state & BEACON_STATE_FLOW))
        return;
    peer->flow_packets++;
    if (peer->flow_due_ns == RRCP_NEVER)
        peer->flow_due_ns = r->now_ns + FLOW_NS;
    if (peer->flow_packets >= FLOW_PACKETS)
        peer->flow_due_ns = r->now_ns;
}

void rrcp_status_tick(struct rrcp *r, struct rrcp_peer *peer)
{
    if (peer->flow_due_ns <= r->now_ns) {
        send_status(r, peer);
        peer->flow_due_ns = RRCP_NEVER;
        peer->flow_packets = 0;
    }
    if ((!peer->has_data && !peer->has_status) || peer->status_due_ns > r->now_ns)
        return;
    if (!rrcp_budget_take(&r->status_budget, r->now_ns, 1, STATUS_RATE, STATUS_BURST)) {
        peer->status_due_ns = r->now_ns + rrcp_budget_wait(&r->status_budget, r->now_ns) +
                              rrcp_random(r, 20 * RRCP_MS);
        return;
    }
    send_status(r, peer);
    peer->has_data = false;
    peer->has_status = false;
    peer->status_due_ns = r->now_ns + jittered(r, STATUS_NS);
}

/* ---- what they report --------------------------------------------------------------------- */

void rrcp_flow_look(struct rrcp *r)
{
    struct rrcp_sender *s = &r->sender;

    s->flow_next = UINT64_MAX;
    s->flow_due_ns = RRCP_NEVER;
    if (r->config.flow_control != RRCP_FLOW_CONTROL_MIN)
        return;
    for (uint32_t i = 0; i < r->live_count; i++) {
        struct rrcp_peer *peer = r->peers[r->live[i]];
        uint64_t due_ns = peer->their_progress_ns + r->config.flow_control_timeout_ns;

        if (!peer->is_flow_receiver)
            continue;
        if (peer->their_next < s->send_next && r->now_ns >= due_ns) {
            peer->is_flow_receiver = false;
            r->counters.flow_receivers_lost++;
            rrcp_note(r, RRCP_NOTE_FLOW_RECEIVER_LOST, peer->session, peer->their_next);
            continue;
        }
        if (peer->their_next < s->send_next)
            s->flow_due_ns = rrcp_min(s->flow_due_ns, due_ns);
        s->flow_next = rrcp_min(s->flow_next, peer->their_next);
    }
}

static void flow_input(struct rrcp *r, struct rrcp_peer *peer, uint64_t next)
{
    bool was_slowest = peer->is_flow_receiver && peer->their_next == r->sender.flow_next;

    if (next > peer->their_next || next == r->sender.send_next) {
        peer->their_progress_ns = r->now_ns;
        if (!peer->is_flow_receiver) {
            peer->is_flow_receiver = true;
            was_slowest = true;
        }
    }
    if (next > peer->their_next)
        peer->their_next = next;
    if (was_slowest)
        rrcp_flow_look(r);
}

void rrcp_status_input(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view)
{
    uint64_t next = md_be64(view->status->next);
    uint32_t echo = md_be32(view->status->clock);
    uint32_t delay = md_be32(view->status->delay_us);

    if (md_be64(view->status->target) != r->session || next > r->sender.next_seq) {
        rrcp_drop(r, RRCP_DROP_TARGET);
        return;
    }
    r->counters.status_rcvd++;
    uint32_t rtt_us = rrcp_us(r->now_ns) - echo - delay;

    if (echo != 0 && (int32_t)rtt_us >= 0)
        rrcp_rtt_sample(r, peer, rtt_us * RRCP_US);
    peer->their_lost = md_be32(view->status->lost);
    peer->their_repaired = md_be32(view->status->repaired);
    flow_input(r, peer, next);
    if (r->now_ns - r->sender.data_ns < 2 * RRCP_S && r->sender.data_ns != 0 && !peer->has_status) {
        /* The peer receives our data: a STATUS a second lets it measure its round trip to us. */
        peer->has_status = true;
        if (peer->status_due_ns == RRCP_NEVER)
            peer->status_due_ns = r->now_ns + jittered(r, 50 * RRCP_MS);
    }
}

/* ---- congestion control ------------------------------------------------------------------- */

/* True: since the last look the receiver missed more than 1 %, repaired or not. */
static bool is_losing(struct rrcp_peer *peer)
{
    uint32_t bad = peer->their_lost + peer->their_repaired;
    uint64_t got = peer->their_next - peer->rate_next;
    uint32_t lost = bad - peer->rate_lost;

    peer->rate_next = peer->their_next;
    peer->rate_lost = bad;
    return got > 0 && (uint64_t)lost * 100 > got;
}

void rrcp_rate_tick(struct rrcp *r)
{
    struct rrcp_sender *s = &r->sender;
    uint32_t losing = 0;

    if (s->flow_due_ns <= r->now_ns)
        rrcp_flow_look(r);
    if (r->config.congestion != RRCP_CONGESTION_AIMD)
        return;
    if (r->now_ns >= s->rate_down_ns) {
        s->rate_down_ns = r->now_ns + RATE_DOWN_NS;
        for (uint32_t i = 0; i < r->live_count; i++)
            losing += is_losing(r->peers[r->live[i]]);
        s->is_cut =
            losing * 10 >= r->live_count && losing > 0 && (losing >= 2 || r->live_count == 1);
        if (s->is_cut) {
            s->rate = s->rate * 7 / 8;
            if (s->rate < r->config.data_rate / 2)
                s->rate = r->config.data_rate / 2;
            r->counters.rate_cuts++;
        }
    }
    if (r->now_ns >= s->rate_up_ns) {
        s->rate_up_ns = r->now_ns + RATE_UP_NS;
        if (!s->is_cut)
            s->rate = rrcp_min(s->rate + s->rate / 50 + 1, r->config.data_rate);
    }
}
