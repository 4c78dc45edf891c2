/* unicast.c - the unicast stream: one per pair of sessions and direction, acknowledged. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "unicast.h"

#include "common.h"
#include "deliver.h"
#include "pool.h"
#include "unicast_queue.h"

struct rrcp_unicast *rrcp_unicast_open(struct rrcp *r, struct rrcp_peer *peer)
{
    struct rrcp_unicast *u;

    if (peer && peer->unicast)
        return peer->unicast;
    if (!peer && r->self_unicast)
        return r->self_unicast;
    u = rrcp_take(r, sizeof(*u));
    if (!u)
        return NULL;
    u->base = u->next = u->send_next = 1;
    u->their_window = UNICAST_WINDOW;
    u->resend_due_ns = u->ack_due_ns = u->rx_due_ns = RRCP_NEVER;
    for (int i = 0; i < UNICAST_WINDOW; i++)
        u->rx_buffer[i] = u->sent[i].buffer = RRCP_BUFFER_NONE;
    if (!peer)
        return r->self_unicast = u;
    u->peer = peer->index;
    u->incarnation = peer->unicast_incarnation;
    if (peer->unicast_rx_next) {
        u->is_receiving = true;
        u->rx_next = peer->unicast_rx_next;
        u->rx_incarnation = peer->unicast_rx_incarnation;
    }
    return peer->unicast = u;
}

void rrcp_unicast_ready_add(struct rrcp *r, struct rrcp_unicast *u)
{
    if (u->is_ready || u == r->self_unicast)
        return;
    u->is_ready = true;
    u->ready_next = NULL;
    if (r->unicast_ready_tail)
        r->unicast_ready_tail->ready_next = u;
    else
        r->unicast_ready = u;
    r->unicast_ready_tail = u;
}

void rrcp_unicast_ready_remove(struct rrcp *r, struct rrcp_unicast *u)
{
    struct rrcp_unicast *before = NULL;

    if (!u->is_ready)
        return;
    for (struct rrcp_unicast *at = r->unicast_ready; at != u; at = at->ready_next)
        before = at;
    if (before)
        before->ready_next = u->ready_next;
    else
        r->unicast_ready = u->ready_next;
    if (r->unicast_ready_tail == u)
        r->unicast_ready_tail = before;
    u->is_ready = false;
}

void rrcp_unicast_tell_reset(struct rrcp *r, struct rrcp_peer *peer, bool is_theirs)
{
    struct rrcp_item *item = rrcp_deliver_add(r, BACKBONE_GAP, peer->index, peer->session);

    item->stream = STREAM_UNICAST;
    item->is_theirs = is_theirs;
    item->reason = BACKBONE_GAP_UNICAST_RESET;
    r->counters.unicast_resets++;
}

void rrcp_unicast_drop_received(struct rrcp *r, struct rrcp_unicast *u)
{
    for (int i = 0; i < UNICAST_WINDOW; i++) {
        if (u->rx_buffer[i] != RRCP_BUFFER_NONE)
            rrcp_pool_give(r, u->rx_buffer[i]);
        u->rx_buffer[i] = RRCP_BUFFER_NONE;
    }
    u->rx_have = 0;
    u->rx_due_ns = RRCP_NEVER;
}

static void stream_close(struct rrcp *r, struct rrcp_unicast *u)
{
    rrcp_unicast_ready_remove(r, u);
    rrcp_unicast_drop_received(r, u);
    for (; u->base < u->next; u->base++)
        if (u != r->self_unicast)
            rrcp_pool_give(r, rrcp_unicast_slot(u, u->base)->buffer);
    rrcp_unicast_queue_free(r, u);
    rrcp_give(r, u, sizeof(*u));
}

void rrcp_unicast_close(struct rrcp *r, struct rrcp_peer *peer)
{
    if (peer && peer->unicast) {
        stream_close(r, peer->unicast);
        peer->unicast = NULL;
    }
    if (!peer && r->self_unicast) {
        stream_close(r, r->self_unicast);
        r->self_unicast = NULL;
    }
}
