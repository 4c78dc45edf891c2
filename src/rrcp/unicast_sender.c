/* unicast_sender.c - the sending half of a unicast stream. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "unicast_sender.h"

#include "base/cursor.h"
#include "base/err.h"
#include "base/writer.h"
#include "common.h"
#include "deliver.h"
#include "interest.h"
#include "peer_table.h"
#include "pool.h"
#include "status.h"
#include "unicast.h"
#include "unicast_queue.h"

/*
 *      base     send_next      next
 *       | sent    | packed      |  <= 256 packets; what waits behind them: unicast_queue.c
 *
 * A reset stream gets the next incarnation (the upper 16 bits of useq) and counts from 1 again. The
 * users of both sides get GAP(UNICAST_RESET).
 */

#define RESEND_NS_MAX (1 * RRCP_S)
#define SAY_AGAIN_NS  (1 * RRCP_S)
#define FAST_LATER    3
#define BEHIND_NS     (500 * RRCP_MS)
#define BEHIND_NS_MAX (2 * RRCP_S)
#define FAST_NS_MIN   (1 * RRCP_MS)

static void tell_dropped(struct rrcp *r, uint16_t port, uint64_t session)
{
    struct rrcp_item *item = rrcp_deliver_add(r, BACKBONE_TX_DROPPED, PEER_SELF, session);

    item->port = port;
    item->count = 1;
    r->counters.unicast_dropped++;
}

/* A lane may be as long as what it leaves for the others. A few bytes are its own; so are those of
 * the wishes, without which nobody could ask for anything. */
static bool has_room(const struct rrcp *r, const struct rrcp_unicast *u,
                     const struct unicast_lane *lane, uint64_t size)
{
    uint64_t bytes = lane->bytes + size;
    uint64_t wait = u->queue_bytes - u->wishes.bytes;
    uint64_t max = r->config.unicast_queue_max;

    if (lane == &u->wishes)
        return bytes <= WISHES_BYTES;
    if (r->unicast_bytes + rrcp_unicast_memory(lane, size) > r->config.unicast_bytes_max ||
        lane->messages >= (lane == &u->plain ? UNICAST_MESSAGES : LANE_MESSAGES))
        return false;
    if (bytes <= LANE_BYTES)
        return true;
    return wait + size <= max && (lane == &u->plain || bytes + wait <= max);
}

/* False: no room. `lane` NULL: there is none. */
static bool enqueue(struct rrcp *r, struct rrcp_unicast *u, struct unicast_lane *lane,
                    const struct unicast_record *record, const uint8_t *bytes)
{
    uint64_t size = sizeof(*record) + record->length;

    if (!lane || !has_room(r, u, lane, size) || !rrcp_unicast_enqueue(r, u, lane, record, bytes))
        return false;
    rrcp_unicast_ready_add(r, u);
    return true;
}

/* Without keys anybody can make us say it again: that waits. A change must not. */
static bool must_tell(const struct rrcp *r, const struct rrcp_peer *peer)
{
    if (!r->interest || !(peer->beacon_state & BEACON_STATE_FILTERS))
        return false;
    return !peer->is_interest_told ||
           (peer->is_interest_lost && r->now_ns - peer->interest_said_ns >= SAY_AGAIN_NS);
}

bool rrcp_unicast_tell_interest(struct rrcp *r, struct rrcp_peer *peer)
{
    uint8_t bytes[INTEREST_BYTES_MAX];
    struct unicast_record record = { .topic = RRCP_TOPIC_USER_DOWN };

    if (!must_tell(r, peer))
        return true;
    if (rrcp_interest_was_less(r) || peer->had_interest) {
        struct rrcp_unicast *u = rrcp_unicast_open(r, peer);

        record.length = rrcp_interest_write(r, bytes);
        if (!u || !enqueue(r, u, &u->wishes, &record, bytes))
            return false;
        r->counters.interests_sent++;
        peer->had_interest = true;
        peer->interest_said_ns = r->now_ns;
    }
    peer->is_interest_told = true;
    peer->is_interest_lost = false;
    return true;
}

/* A function of its own: in rrcp_submit() gcc reads length and topic at once before it looks
 * whether this is unicast, and waits for the two stores that made them; multicast pays for it. */
__attribute__((noinline)) int rrcp_unicast_submit(struct rrcp *r, uint16_t port,
                                                  const struct rrcp_msg *msg)
{
    struct rrcp_peer *peer = NULL;
    struct unicast_record record = {
        .length = msg->length, .topic = msg->topic, .source = port, .destination = msg->port
    };

    if (msg->session != r->session) {
        peer = rrcp_peer_find(r, msg->session);
        if (!peer) {
            r->counters.unicast_unknown++;
            return MD_ERR_NOT_FOUND;
        }
    }
    if (r->item_tail - r->item_head > r->item_mask / 2)
        return MD_ERR_FULL;
    /* The answer must not be left out: what our users want goes before the question. */
    struct rrcp_unicast *u =
        peer && !rrcp_unicast_tell_interest(r, peer) ? NULL : rrcp_unicast_open(r, peer);

    if (!u || !enqueue(r, u, rrcp_unicast_lane(r, u, msg->lane), &record, msg->bytes)) {
        tell_dropped(r, port, msg->session);
        return MD_OK;
    }
    r->counters.msgs_sent++;
    return MD_OK;
}

static bool may_pack(struct rrcp *r, const struct rrcp_unicast *u)
{
    uint32_t window = u->their_window < UNICAST_WINDOW ? u->their_window : UNICAST_WINDOW;

    if (window == 0)
        window = 1; /* one packet, to learn whether the peer has room again */
    return u->queue_messages > 0 && u->next - u->base < window &&
           rrcp_pool_room(r, BUFFER_UNICAST) > 0;
}

static void pack(struct rrcp *r, struct rrcp_unicast *u, uint64_t destination)
{
    struct unicast_sent *slot = rrcp_unicast_slot(u, u->next);

    *slot = (struct unicast_sent){ .buffer = rrcp_pool_take(r, BUFFER_UNICAST) };
    rrcp_pool_buffer(r, slot->buffer)->length =
        (uint16_t)rrcp_unicast_fill(r, u, rrcp_pool_bytes(r, slot->buffer), destination);
    u->next++;
}

void rrcp_unicast_self(struct rrcp *r)
{
    struct rrcp_unicast *u = r->self_unicast;

    while (u && u->queue_messages > 0 && rrcp_pool_room(r, BUFFER_UNICAST) > 0) {
        uint32_t buffer = rrcp_pool_take(r, BUFFER_UNICAST);
        uint8_t *bytes = rrcp_pool_bytes(r, buffer);

        rrcp_deliver_packet(r, PEER_SELF, r->session, STREAM_UNICAST, bytes,
                            rrcp_unicast_fill(r, u, bytes, r->session), u->next++, buffer);
    }
}

static uint64_t resend_wait_ns(const struct rrcp *r, const struct rrcp_unicast *u,
                               const struct rrcp_peer *peer)
{
    uint64_t wait_ns = r->config.unicast_wait_ns;

    if (wait_ns < 2 * (peer->rtt_ns + UNICAST_ACK_NS)) /* the peer may delay its acknowledgement */
        wait_ns = 2 * (peer->rtt_ns + UNICAST_ACK_NS);
    return rrcp_min(wait_ns << (u->tries < 16 ? u->tries : 16), RESEND_NS_MAX);
}

/* Updates the header of the packet. RRCP_BUFFER_NONE: the transport still has it. */
static uint32_t hand_out(struct rrcp *r, struct rrcp_unicast *u, uint64_t useq)
{
    struct unicast_sent *slot = rrcp_unicast_slot(u, useq);
    struct packet_udata *p = (void *)rrcp_pool_bytes(r, slot->buffer);

    if (rrcp_pool_buffer(r, slot->buffer)->in_flight > 0)
        return RRCP_BUFFER_NONE;
    md_put_be64(p->useq, u->incarnation << USEQ_BITS | useq);
    md_put_be64(p->ack, u->is_receiving ? u->rx_incarnation << USEQ_BITS | u->rx_next : 0);
    if (slot->sent_ns != 0) {
        p->header.flags |= PACKET_FLAG_RETRANS;
        r->counters.unicast_retrans++;
    }
    slot->sent_ns = r->now_ns;
    slot->is_again = false;
    rrcp_pool_hold(r, slot->buffer);
    return slot->buffer;
}

static uint32_t again_output(struct rrcp *r, struct rrcp_unicast *u)
{
    for (uint64_t useq = u->base; u->again_count > 0 && useq < u->send_next; useq++) {
        if (!rrcp_unicast_slot(u, useq)->is_again)
            continue;
        uint32_t buffer = hand_out(r, u, useq);

        if (buffer != RRCP_BUFFER_NONE) {
            u->again_count--;
            return buffer;
        }
    }
    return RRCP_BUFFER_NONE;
}

static uint32_t stream_output(struct rrcp *r, struct rrcp_unicast *u, struct rrcp_peer *peer)
{
    uint32_t buffer = again_output(r, u);

    if (buffer != RRCP_BUFFER_NONE)
        return buffer;
    if (u->send_next == u->next && may_pack(r, u))
        pack(r, u, peer->session);
    if (u->send_next == u->next) {
        if (u->queue_messages > 0 && u->base == u->next) { /* no buffer: try again then */
            u->resend_due_ns = r->now_ns + r->config.unicast_wait_ns;
            rrcp_peer_arm(r, peer);
        }
        return RRCP_BUFFER_NONE;
    }
    buffer = hand_out(r, u, u->send_next);
    if (buffer == RRCP_BUFFER_NONE) { /* renumbered while the transport had it: try again then */
        if (u->resend_due_ns == RRCP_NEVER)
            u->resend_due_ns = r->now_ns + RRCP_MS;
        rrcp_peer_arm(r, peer);
        return buffer;
    }
    u->send_next++;
    r->counters.unicast_sent++;
    if (u->resend_due_ns == RRCP_NEVER) {
        u->resend_due_ns = r->now_ns + resend_wait_ns(r, u, peer);
        rrcp_peer_arm(r, peer);
    }
    return buffer;
}

uint32_t rrcp_unicast_output(struct rrcp *r, const struct rrcp_peer **to)
{
    while (r->unicast_ready) {
        struct rrcp_unicast *u = r->unicast_ready;
        struct rrcp_peer *peer = r->peers[u->peer];
        uint32_t buffer = stream_output(r, u, peer);

        rrcp_unicast_ready_remove(r, u);
        if (buffer != RRCP_BUFFER_NONE) {
            rrcp_unicast_ready_add(r, u); /* behind the others */
            *to = peer;
            return buffer;
        }
    }
    return RRCP_BUFFER_NONE;
}

static void drop_sent(struct rrcp *r, struct rrcp_unicast *u)
{
    for (; u->base < u->next; u->base++) {
        rrcp_pool_give(r, rrcp_unicast_slot(u, u->base)->buffer);
        rrcp_unicast_slot(u, u->base)->buffer = RRCP_BUFFER_NONE;
    }
    rrcp_unicast_queue_skip(r, u);
    u->base = u->next = u->send_next = 1;
    u->again_count = 0;
    u->tries = 0;
    u->resend_due_ns = RRCP_NEVER;
}

/* The peer takes us for one that wants everything, as soon as it sees that. */
static void begun_anew(struct rrcp *r, struct rrcp_peer *peer, struct rrcp_unicast *u)
{
    rrcp_unicast_tell_reset(r, peer, false);
    rrcp_unicast_ready_add(r, u);
    peer->is_interest_told = false;
    (void)rrcp_unicast_tell_interest(r, peer);
}

/* The peer does not know the stream: renumbers the unacknowledged packets and sends them again. */
static void restart(struct rrcp *r, struct rrcp_peer *peer, struct rrcp_unicast *u,
                    uint64_t incarnation)
{
    struct unicast_sent kept[UNICAST_WINDOW];
    uint64_t count = u->next - u->base;

    for (uint64_t i = 0; i < count; i++)
        kept[i] = *rrcp_unicast_slot(u, u->base + i);
    for (uint64_t i = 0; i < count; i++)
        *rrcp_unicast_slot(u, u->base + i) = (struct unicast_sent){ .buffer = RRCP_BUFFER_NONE };
    for (uint64_t i = 0; i < count; i++) {
        kept[i].is_acked = kept[i].is_again = false;
        u->sent[(i + 1) & (UNICAST_WINDOW - 1)] = kept[i];
    }
    u->incarnation = (incarnation + 1) & 0xffff;
    u->base = u->send_next = 1;
    u->next = 1 + count;
    u->again_count = 0;
    u->tries = 0;
    u->resend_due_ns = RRCP_NEVER;
    begun_anew(r, peer, u);
}

void rrcp_unicast_acknowledge(struct rrcp *r, struct rrcp_peer *peer, struct rrcp_unicast *u,
                              uint64_t useq)
{
    uint64_t next = useq & USEQ_MASK;

    if (useq >> USEQ_BITS != u->incarnation || next <= u->base || next > u->send_next)
        return;
    for (; u->base < next; u->base++) {
        struct unicast_sent *slot = rrcp_unicast_slot(u, u->base);

        u->again_count -= slot->is_again;
        rrcp_pool_give(r, slot->buffer);
        slot->buffer = RRCP_BUFFER_NONE;
        slot->is_again = false;
    }
    u->tries = 0;
    u->resend_due_ns = u->base < u->send_next ? r->now_ns + resend_wait_ns(r, u, peer) : RRCP_NEVER;
    rrcp_unicast_ready_add(r, u);
}

static void send_again(struct rrcp *r, struct rrcp_unicast *u, struct unicast_sent *slot)
{
    if (slot->is_again || slot->is_acked)
        return;
    slot->is_again = true;
    u->again_count++;
    rrcp_unicast_ready_add(r, u);
}

/* Sends a packet again when the bitmap shows that three later ones have arrived. */
static void selective(struct rrcp *r, struct rrcp_peer *peer, struct rrcp_unicast *u,
                      uint64_t bitmap)
{
    uint64_t age_ns = peer->rtt_ns > FAST_NS_MIN ? peer->rtt_ns : FAST_NS_MIN;

    for (int i = 63; i >= 0; i--) {
        uint64_t useq = u->base + 1 + (uint64_t)i;

        if (!(bitmap >> i & 1) || useq >= u->send_next)
            continue;
        struct unicast_sent *slot = rrcp_unicast_slot(u, useq);

        /* Its repetition may wait for the transport, which still has the buffer: not needed. */
        u->again_count -= slot->is_again;
        slot->is_again = false;
        slot->is_acked = true;
    }
    for (int i = -1; i < 64; i++) {
        uint64_t useq = u->base + 1 + (uint64_t)(int64_t)i;
        uint64_t later = i < 63 ? bitmap >> (i + 1) : 0;

        if (__builtin_popcountll(later) < FAST_LATER || useq >= u->send_next)
            break;
        if (!rrcp_unicast_slot(u, useq)->is_acked &&
            r->now_ns - rrcp_unicast_slot(u, useq)->sent_ns >= age_ns)
            send_again(r, u, rrcp_unicast_slot(u, useq));
    }
}

static void reset(struct rrcp *r, struct rrcp_peer *peer, struct rrcp_unicast *u)
{
    drop_sent(r, u);
    u->incarnation = (u->incarnation + 1) & 0xffff;
    u->behind_ns = 0;
    begun_anew(r, peer, u);
}

/*
 * A forged acknowledgement took packets from us that the receiver still waits for, as its own
 * acknowledgements say. One of these may be a late copy; for half a second they are none.
 */
static bool is_contradicted(const struct rrcp *r, struct rrcp_unicast *u, uint64_t next)
{
    if (next >> USEQ_BITS != u->incarnation || (next & USEQ_MASK) >= u->base) {
        u->behind_ns = 0;
        return false;
    }
    if (u->behind_ns == 0 || r->now_ns - u->behind_ns > BEHIND_NS_MAX)
        u->behind_ns = r->now_ns;
    return r->now_ns - u->behind_ns >= BEHIND_NS;
}

void rrcp_uack_input(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view)
{
    struct rrcp_unicast *u = peer->unicast;
    uint64_t next = md_be64(view->uack->next);
    uint32_t echo = md_be32(view->uack->clock);

    if (md_be64(view->uack->destination) != r->session) {
        rrcp_drop(r, RRCP_DROP_TARGET);
        return;
    }
    r->counters.uacks_rcvd++;
    if (!u)
        return;
    if (md_be16(view->uack->flags) & UACK_RESET) {
        uint64_t incarnation = next >> USEQ_BITS;

        if (next == 0 || (uint16_t)(incarnation - u->incarnation - 1) < 0x8000)
            restart(r, peer, u, next == 0 ? u->incarnation : incarnation);
        return;
    }
    if (echo != 0 && (int32_t)(rrcp_us(r->now_ns) - echo) >= 0)
        rrcp_rtt_sample(r, peer, (uint64_t)(rrcp_us(r->now_ns) - echo) * RRCP_US);
    u->their_window = md_be16(view->uack->window);
    if (is_contradicted(r, u, next)) {
        reset(r, peer, u);
        return;
    }
    rrcp_unicast_acknowledge(r, peer, u, next);
    if (next >> USEQ_BITS == u->incarnation && (next & USEQ_MASK) == u->base)
        selective(r, peer, u, md_be64(view->uack->bitmap));
    rrcp_unicast_ready_add(r, u);
}

static void resend_due(struct rrcp *r, struct rrcp_peer *peer, struct rrcp_unicast *u)
{
    if (u->base == u->send_next) { /* the queue waits for a buffer */
        u->resend_due_ns = RRCP_NEVER;
        rrcp_unicast_ready_add(r, u);
        return;
    }
    if (++u->tries > r->config.unicast_tries) {
        reset(r, peer, u);
        return;
    }
    for (uint64_t useq = u->base; useq < u->send_next; useq++) {
        rrcp_unicast_slot(u, useq)->is_acked = false;
        send_again(r, u, rrcp_unicast_slot(u, useq));
    }
    u->resend_due_ns = r->now_ns + resend_wait_ns(r, u, peer);
}

void rrcp_unicast_sender_tick(struct rrcp *r, struct rrcp_peer *peer)
{
    struct rrcp_unicast *u = peer->unicast;

    if (u->resend_due_ns <= r->now_ns)
        resend_due(r, peer, u);
    if (u->queue_messages > 0 || u->again_count > 0)
        rrcp_unicast_ready_add(r, u);
}
