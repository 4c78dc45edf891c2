/* unicast_receiver.c - the receiving half of a unicast stream: order, and acknowledgements. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "unicast_receiver.h"

#include <string.h>

#include "base/cursor.h"
#include "base/writer.h"
#include "common.h"
#include "control.h"
#include "deliver.h"
#include "pool.h"
#include "unicast.h"
#include "unicast_sender.h"

#define ACK_PACKETS 2
#define RX_KEEP_NS  (2 * RRCP_S) /* a sender that still tries repeats sooner */

/* Adds the acknowledgement's own delay to the echo, so that the round trip excludes it. */
static uint32_t echo(const struct rrcp *r, const struct rrcp_unicast *u)
{
    uint32_t clock = u->echo_tx_time + (uint32_t)((r->now_ns - u->echo_ns) / RRCP_US);

    return u->echo_tx_time == 0 ? 0 : clock == 0 ? 1 : clock;
}

static void send_ack(struct rrcp *r, struct rrcp_peer *peer, struct rrcp_unicast *u)
{
    uint64_t bitmap = 0;
    uint32_t buffer;
    struct packet_uack *p = rrcp_control_make(r, PACKET_UACK, &buffer);
    uint64_t next = u->is_receiving ? u->rx_incarnation << USEQ_BITS | u->rx_next : 0;
    uint32_t room = rrcp_pool_room(r, BUFFER_UNICAST);

    u->ack_due_ns = RRCP_NEVER;
    if (!p)
        return;
    for (uint64_t i = 0; i < 64 && u->rx_have > 0; i++)
        if (u->rx_buffer[(u->rx_next + 1 + i) & (UNICAST_WINDOW - 1)] != RRCP_BUFFER_NONE)
            bitmap |= 1ull << i;
    md_put_be64(p->destination, peer->session);
    md_put_be64(p->next, next);
    md_put_be64(p->bitmap, bitmap);
    md_put_be32(p->clock, echo(r, u));
    md_put_be16(p->window, (uint16_t)(room < UNICAST_WINDOW ? room : UNICAST_WINDOW));
    md_put_be16(p->flags, u->reset_wanted ? UACK_RESET : 0);
    rrcp_control_send(r, buffer, PACKET_UACK_BYTES, peer);
    r->counters.uacks_sent++;
    u->echo_tx_time = 0;
    u->rx_unacked = 0;
    u->reset_wanted = false;
}

/* False: the packet is of a stream we do not know. Starts a new incarnation if it is one. */
static bool is_expected(struct rrcp *r, struct rrcp_peer *peer, struct rrcp_unicast *u,
                        uint64_t incarnation, uint64_t useq)
{
    uint16_t ahead = (uint16_t)(incarnation - u->rx_incarnation);

    if (u->is_receiving && ahead == 0)
        return true;
    if ((u->is_receiving && ahead >= 0x8000) || useq > UNICAST_WINDOW) {
        u->reset_wanted = true;
        return false;
    }
    if (u->is_receiving || incarnation != 0)
        rrcp_unicast_tell_reset(r, peer, true);
    rrcp_unicast_drop_received(r, u);
    u->is_receiving = true;
    u->rx_incarnation = incarnation;
    u->rx_next = 1;
    return true;
}

static void receive_in_order(struct rrcp *r, struct rrcp_peer *peer, struct rrcp_unicast *u,
                             const struct packet_view *view)
{
    rrcp_deliver_packet(r, peer->index, peer->session, STREAM_UNICAST, view->bytes, view->end,
                        u->rx_next++, RRCP_BUFFER_NONE);
    while (u->rx_have > 0) {
        uint32_t *slot = &u->rx_buffer[u->rx_next & (UNICAST_WINDOW - 1)];

        if (*slot == RRCP_BUFFER_NONE)
            break;
        rrcp_deliver_packet(r, peer->index, peer->session, STREAM_UNICAST,
                            rrcp_pool_bytes(r, *slot), rrcp_pool_buffer(r, *slot)->length,
                            u->rx_next++, *slot);
        *slot = RRCP_BUFFER_NONE;
        u->rx_have--;
    }
}

static void receive_ahead(struct rrcp *r, struct rrcp_unicast *u, const struct packet_view *view,
                          uint64_t useq)
{
    uint32_t *slot = &u->rx_buffer[useq & (UNICAST_WINDOW - 1)];

    if (*slot != RRCP_BUFFER_NONE) {
        r->counters.dup_packets++;
        return;
    }
    if (useq - u->rx_next >= UNICAST_WINDOW || view->end > r->config.packet_bytes_max ||
        (*slot = rrcp_pool_take(r, BUFFER_UNICAST)) == RRCP_BUFFER_NONE) {
        rrcp_drop(r, RRCP_DROP_WINDOW);
        return;
    }
    memcpy(rrcp_pool_bytes(r, *slot), view->bytes, view->end);
    rrcp_pool_buffer(r, *slot)->length = (uint16_t)view->end;
    u->rx_have++;
}

void rrcp_udata_input(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view)
{
    uint64_t useq = md_be64(view->udata->useq);
    struct rrcp_unicast *u;

    if (md_be64(view->udata->destination) != r->session || (useq & USEQ_MASK) == 0) {
        rrcp_drop(r, RRCP_DROP_TARGET);
        return;
    }
    r->counters.unicast_rcvd++;
    u = rrcp_unicast_open(r, peer);
    if (!u)
        return;
    rrcp_unicast_acknowledge(r, peer, u, md_be64(view->udata->ack));
    u->echo_tx_time = view->flags & PACKET_FLAG_RETRANS ? 0 : view->tx_time;
    u->echo_ns = r->now_ns;
    if (!is_expected(r, peer, u, useq >> USEQ_BITS, useq & USEQ_MASK)) {
        u->ack_due_ns = rrcp_min(u->ack_due_ns, r->now_ns + UNICAST_ACK_NS);
        return;
    }
    useq &= USEQ_MASK;
    u->rx_unacked++;
    if (useq == u->rx_next)
        receive_in_order(r, peer, u, view);
    else if (useq > u->rx_next)
        receive_ahead(r, u, view, useq);
    else
        r->counters.dup_packets++;
    u->rx_due_ns = u->rx_have > 0 ? r->now_ns + RX_KEEP_NS : RRCP_NEVER;
    if (u->rx_unacked >= ACK_PACKETS || u->rx_have > 0)
        send_ack(r, peer, u);
    else
        u->ack_due_ns = rrcp_min(u->ack_due_ns, r->now_ns + UNICAST_ACK_NS);
}

void rrcp_unicast_receiver_tick(struct rrcp *r, struct rrcp_peer *peer)
{
    struct rrcp_unicast *u = peer->unicast;

    if (u->ack_due_ns <= r->now_ns)
        send_ack(r, peer, u);
    if (u->rx_due_ns <= r->now_ns)
        rrcp_unicast_drop_received(r, u); /* the sender gave up and will start a new stream */
}
