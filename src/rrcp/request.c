/* request.c - sends NAKs for missing packets, receives NCFs. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "request.h"

#include "base/cursor.h"
#include "base/writer.h"
#include "budget.h"
#include "common.h"
#include "control.h"
#include "crowd.h"
#include "ranges.h"
#include "receive.h"

#define BUSY_US_MAX 200000
#define NAK_BURST   100

struct request {
    struct range_builder ranges;
    bool is_open;
};

static void send_request(struct rrcp *r, struct rrcp_peer *peer, struct request *q)
{
    struct packet_nak *p;
    uint32_t buffer;

    if (!q->is_open)
        return;
    q->is_open = false;
    p = rrcp_control_make(r, PACKET_NAK, &buffer);
    if (!p)
        return; /* as if the network lost it */
    md_put_be64(p->target, peer->session);
    md_put_be64(p->base, q->ranges.base);
    md_put_be16(p->ranges, (uint16_t)q->ranges.count);
    md_put_be16(p->attempt, (uint16_t)q->ranges.attempt);
    rrcp_control_send(r, buffer, PACKET_NAK_BYTES + rrcp_ranges_write(&q->ranges, p->list), peer);
    r->counters.retrans_req_sent++;
    peer->naks_sent++;
}

/* Adds `seq` to the request, in a new packet if the old one is full. False: no budget. */
static bool ask(struct rrcp *r, struct rrcp_peer *peer, struct request *q, uint64_t seq,
                uint32_t attempt)
{
    if (!q->is_open || !rrcp_ranges_add(&q->ranges, seq, 1)) {
        send_request(r, peer, q);
        if (!rrcp_budget_take(&r->nak_out_budget, r->now_ns, 1,
                              rrcp_crowd_share(&r->config, r->live_count, r->config.nak_rate),
                              NAK_BURST))
            return false;
        q->ranges = (struct range_builder){ .base = seq };
        q->is_open = true;
        rrcp_ranges_add(&q->ranges, seq, 1);
    }
    if (attempt > q->ranges.attempt)
        q->ranges.attempt = attempt;
    return true;
}

void rrcp_request_tick(struct rrcp *r, struct rrcp_peer *peer)
{
    struct rrcp_nak n = rrcp_receive_nak(r, peer);
    struct rrcp_window *w = &peer->window;
    struct request q = { .is_open = false };
    bool has_budget = true;

    w->due_ns = RRCP_NEVER;
    for (uint64_t seq = rrcp_window_missing(w, w->next); seq <= w->highest;
         seq = rrcp_window_missing(w, seq + 1)) {
        struct rrcp_slot *slot = rrcp_window_slot(w, seq);
        enum nak_act act = has_budget ? rrcp_nak_look(&n, w, seq) : NAK_WAIT;

        if (act == NAK_LOSE) {
            rrcp_window_lose(w, seq, BACKBONE_GAP_TIMEOUT);
            continue;
        }
        if (act == NAK_ASK) {
            has_budget = ask(r, peer, &q, seq, slot->tries + 1u);
            if (has_budget)
                rrcp_nak_asked(&n, w, seq);
            else
                slot->due_us = rrcp_us(r->now_ns) + 1 +
                               rrcp_us(rrcp_budget_wait(&r->nak_out_budget, r->now_ns));
        }
        rrcp_window_arm(w, slot, r->now_ns);
    }
    send_request(r, peer, &q);
    if (!has_budget && w->missing_count > 0)
        w->due_ns = r->now_ns + rrcp_budget_wait(&r->nak_out_budget, r->now_ns) + RRCP_US;
    rrcp_receive_drain(r, peer);
}

void rrcp_ncf_input(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view)
{
    struct rrcp_nak n = rrcp_receive_nak(r, peer);
    struct rrcp_window *w = &peer->window;
    uint64_t base = md_be64(view->ncf->base);
    uint32_t count = md_be16(view->ncf->ranges);
    uint8_t reason = view->ncf->reason;
    uint32_t busy_us = md_be16(view->ncf->wait_ms) * 1000u;

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
        uint64_t first = base + md_be32(view->ncf->list[i].offset);
        uint64_t end = first + md_be32(view->ncf->list[i].count);

        if (first < base || end < first)
            break;
        if (first < w->next)
            first = w->next;
        end = rrcp_min(end, w->highest + 1);
        for (uint64_t seq = rrcp_window_missing(w, first); seq < end;
             seq = rrcp_window_missing(w, seq + 1))
            rrcp_nak_answered(&n, w, seq, reason, busy_us);
    }
    rrcp_receive_drain(r, peer);
}
