/* unicast.c - the unicast stream: one per pair of sessions and direction, acknowledged. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"

#include <string.h>

#include "base/assert.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/writer.h"

/*
 * Messages wait as bytes in a queue of segments and become packets when the window lets them, so
 * whatever waits is packed as tightly as it can be:
 *
 *      queue: | record | payload | record | ...      base     send_next      next
 *             (head)                  (tail)           | sent    | packed      |  <= 256 packets
 *
 * A stream that is started anew gets the next incarnation (the upper 16 bits of useq) and counts
 * from 1 again; both sides tell their users GAP(UNICAST_RESET).
 */

#define USEQ_BITS       48
#define USEQ_MASK       ((1ull << USEQ_BITS) - 1)
#define QUEUE_MESSAGES  4096
#define ACK_NS          (5 * RRCP_MS)
#define ACK_PACKETS     2
#define RESEND_NS_MAX   (1 * RRCP_S)
#define RX_KEEP_NS      (2 * RESEND_NS_MAX) /* a sender that still cares repeats sooner */
#define FAST_LATER      3
#define FAST_NS_MIN     (1 * RRCP_MS)
#define PIECE_BYTES_MIN 256
#define CHUNK_BYTES     12

static struct rrcp_peer *peer_of(struct rrcp *r, const struct rrcp_unicast *u)
{
    return u == r->self_unicast ? NULL : r->peers[u->peer];
}

static struct unicast_sent *sent_slot(struct rrcp_unicast *u, uint64_t useq)
{
    return &u->sent[useq & (UNICAST_WINDOW - 1)];
}

static struct rrcp_unicast *stream_open(struct rrcp *r, struct rrcp_peer *peer)
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

/* ---- peers with something to send --------------------------------------------------------- */

static void ready_add(struct rrcp *r, struct rrcp_unicast *u)
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

static void ready_remove(struct rrcp *r, struct rrcp_unicast *u)
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

/* ---- the queue of bytes ------------------------------------------------------------------- */

static bool queue_write(struct rrcp *r, struct rrcp_unicast *u, const void *bytes, uint32_t length)
{
    const uint8_t *p = bytes;

    while (length > 0) {
        if (!u->tail || u->tail_offset == sizeof(u->tail->bytes)) {
            struct unicast_segment *segment = rrcp_take(r, sizeof(*segment));

            if (!segment)
                return false;
            if (u->tail)
                u->tail->next = segment;
            else
                u->head = segment;
            u->tail = segment;
            u->tail_offset = 0;
        }
        uint32_t piece = (uint32_t)sizeof(u->tail->bytes) - u->tail_offset;

        if (piece > length)
            piece = length;
        memcpy(u->tail->bytes + u->tail_offset, p, piece);
        u->tail_offset += piece;
        p += piece;
        length -= piece;
    }
    return true;
}

/* Take `length` bytes off the queue; out NULL: throw them away. */
static void queue_read(struct rrcp *r, struct rrcp_unicast *u, uint8_t *out, uint32_t length)
{
    while (length > 0) {
        uint32_t end = u->head == u->tail ? u->tail_offset : (uint32_t)sizeof(u->head->bytes);
        uint32_t piece = end - u->head_offset;

        MD_ASSERT(piece > 0);
        if (piece > length)
            piece = length;
        if (out) {
            memcpy(out, u->head->bytes + u->head_offset, piece);
            out += piece;
        }
        u->head_offset += piece;
        length -= piece;
        if (u->head_offset == end && u->head == u->tail) {
            u->head_offset = u->tail_offset = 0; /* empty: keep the segment */
        } else if (u->head_offset == end) {
            struct unicast_segment *gone = u->head;

            u->head = gone->next;
            u->head_offset = 0;
            rrcp_give(r, gone, sizeof(*gone));
        }
    }
}

static void queue_free(struct rrcp *r, struct rrcp_unicast *u)
{
    while (u->head) {
        struct unicast_segment *gone = u->head;

        u->head = gone->next;
        rrcp_give(r, gone, sizeof(*gone));
    }
    u->tail = NULL;
    r->unicast_bytes -= u->queue_bytes;
    u->queue_bytes = 0;
    u->queue_messages = 0;
}

static void tell_dropped(struct rrcp *r, uint16_t port, uint64_t session)
{
    struct rrcp_item *item = rrcp_deliver_add(r, RRCP_EVENT_TX_DROPPED, PEER_SELF, session);

    item->port = port;
    item->count = 1;
    r->counters.unicast_dropped++;
}

int rrcp_unicast_submit(struct rrcp *r, uint16_t port, const struct rrcp_msg *msg)
{
    struct rrcp_peer *peer = NULL;
    struct unicast_record record = {
        .length = msg->length, .topic = msg->topic, .source = port, .destination = msg->port
    };
    uint64_t bytes = sizeof(record) + msg->length;
    struct rrcp_unicast *u;

    if (msg->session != r->session) {
        peer = rrcp_peer_find(r, msg->session);
        if (!peer) {
            r->counters.unicast_unknown++;
            return MD_ERR_NOT_FOUND;
        }
    }
    if (r->item_tail - r->item_head > r->item_mask / 2)
        return MD_ERR_FULL;
    u = stream_open(r, peer);
    if (!u || u->queue_messages >= QUEUE_MESSAGES ||
        u->queue_bytes + bytes > r->config.unicast_queue_max ||
        r->unicast_bytes + bytes > r->config.unicast_bytes_max) {
        tell_dropped(r, port, msg->session);
        return MD_OK;
    }
    if (!queue_write(r, u, &record, sizeof(record)) ||
        !queue_write(r, u, msg->bytes, msg->length)) {
        /* Out of memory in the middle of a message: the stream cannot be told from garbage. */
        queue_free(r, u);
        u->head_offset = u->tail_offset = u->piece_left = 0;
        tell_dropped(r, port, msg->session);
        return MD_OK;
    }
    u->queue_messages++;
    u->queue_bytes += bytes;
    r->unicast_bytes += bytes;
    r->counters.msgs_sent++;
    ready_add(r, u);
    return MD_OK;
}

/* ---- packing ------------------------------------------------------------------------------ */

static void take_record(struct rrcp *r, struct rrcp_unicast *u)
{
    uint8_t bytes[sizeof(struct unicast_record)];

    queue_read(r, u, bytes, sizeof(bytes));
    memcpy(&u->record, bytes, sizeof(bytes));
    u->piece_left = u->record.length;
    u->has_record = true;
}

static void end_record(struct rrcp *r, struct rrcp_unicast *u)
{
    uint64_t bytes = sizeof(u->record) + u->record.length;

    u->has_record = false;
    u->queue_messages--;
    u->queue_bytes -= bytes;
    r->unicast_bytes -= bytes;
}

static uint32_t put_piece(struct rrcp *r, struct rrcp_unicast *u, uint8_t *bytes, uint32_t pos,
                          uint8_t flags, uint32_t length)
{
    uint8_t *p = bytes + pos;

    md_put_be16(p, (uint16_t)length);
    p[2] = flags;
    p[3] = 0;
    md_put_be32(p + 4, u->record.topic);
    md_put_be16(p + 8, u->record.source);
    md_put_be16(p + 10, u->record.destination);
    p += CHUNK_BYTES;
    if ((flags & (CHUNK_BEGIN | CHUNK_END)) == CHUNK_BEGIN) {
        md_put_be32(p, u->record.length);
        p += 4;
    }
    queue_read(r, u, p, length);
    u->piece_left -= length;
    return (uint32_t)(p - bytes) + length;
}

/* As many messages as fit, into a fresh packet. Returns its length. */
static uint32_t fill_packet(struct rrcp *r, struct rrcp_unicast *u, uint8_t *bytes,
                            uint64_t destination)
{
    uint32_t pos = PACKET_UDATA_BYTES;
    uint16_t first_begin = 0;
    uint16_t chunks = 0;

    while (u->queue_messages > 0 && r->chunks_end_max - pos >= CHUNK_BYTES) {
        if (!u->has_record)
            take_record(r, u);

        bool is_begin = u->piece_left == u->record.length;
        uint32_t room = r->chunks_end_max - pos - CHUNK_BYTES;
        uint8_t flags = is_begin ? CHUNK_BEGIN : 0;
        uint32_t length = u->piece_left;

        if (length <= room) {
            flags |= CHUNK_END;
        } else {
            if (is_begin && chunks > 0 && room < 4 + PIECE_BYTES_MIN)
                break;
            length = room - (is_begin ? 4 : 0);
        }
        if (is_begin && first_begin == 0)
            first_begin = (uint16_t)pos;
        pos = put_piece(r, u, bytes, pos, flags, length);
        chunks++;
        if (!(flags & CHUNK_END))
            break;
        end_record(r, u);
    }
    rrcp_packet_header(bytes, PACKET_UDATA, r->session, r->rules.network_id);
    md_put_be64(bytes + 32, destination);
    md_put_be16(bytes + 48, chunks);
    md_put_be16(bytes + 50, first_begin);
    return pos;
}

static bool may_pack(struct rrcp *r, const struct rrcp_unicast *u)
{
    uint32_t window = u->their_window < UNICAST_WINDOW ? u->their_window : UNICAST_WINDOW;

    if (window == 0)
        window = 1; /* one packet to find out whether it still has no room */
    return u->queue_messages > 0 && u->next - u->base < window &&
           rrcp_pool_room(r, BUFFER_UNICAST) > 0;
}

static void pack(struct rrcp *r, struct rrcp_unicast *u, uint64_t destination)
{
    struct unicast_sent *slot = sent_slot(u, u->next);

    *slot = (struct unicast_sent){ .buffer = rrcp_pool_take(r, BUFFER_UNICAST) };
    rrcp_pool_buffer(r, slot->buffer)->length =
        (uint16_t)fill_packet(r, u, rrcp_pool_bytes(r, slot->buffer), destination);
    u->next++;
}

void rrcp_unicast_self(struct rrcp *r)
{
    struct rrcp_unicast *u = r->self_unicast;

    while (u && u->queue_messages > 0 && rrcp_pool_room(r, BUFFER_UNICAST) > 0) {
        uint32_t buffer = rrcp_pool_take(r, BUFFER_UNICAST);
        uint8_t *bytes = rrcp_pool_bytes(r, buffer);

        rrcp_deliver_packet(r, PEER_SELF, r->session, STREAM_UNICAST, bytes,
                            fill_packet(r, u, bytes, r->session), u->next++, buffer);
    }
}

/* ---- sending ------------------------------------------------------------------------------ */

static uint64_t resend_wait_ns(const struct rrcp *r, const struct rrcp_unicast *u,
                               const struct rrcp_peer *peer)
{
    uint64_t wait_ns = r->config.unicast_wait_ns;

    if (wait_ns < 2 * (peer->rtt_ns + ACK_NS)) /* an acknowledgement may wait, too */
        wait_ns = 2 * (peer->rtt_ns + ACK_NS);
    return rrcp_min(wait_ns << (u->tries < 16 ? u->tries : 16), RESEND_NS_MAX);
}

/* The slot's packet, its header brought up to date; NONE while the transport still has it. */
static uint32_t hand_out(struct rrcp *r, struct rrcp_unicast *u, uint64_t useq)
{
    struct unicast_sent *slot = sent_slot(u, useq);
    uint8_t *bytes = rrcp_pool_bytes(r, slot->buffer);

    if (rrcp_pool_buffer(r, slot->buffer)->in_flight > 0)
        return RRCP_BUFFER_NONE;
    md_put_be64(bytes + 24, u->incarnation << USEQ_BITS | useq);
    md_put_be64(bytes + 40, u->is_receiving ? u->rx_incarnation << USEQ_BITS | u->rx_next : 0);
    if (slot->sent_ns != 0) {
        bytes[4] |= PACKET_FLAG_RETRANS;
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
        if (!sent_slot(u, useq)->is_again)
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
        if (u->queue_messages > 0 && u->base == u->next) { /* no room: look again */
            u->resend_due_ns = r->now_ns + r->config.unicast_wait_ns;
            rrcp_peer_arm(r, peer);
        }
        return RRCP_BUFFER_NONE;
    }
    buffer = hand_out(r, u, u->send_next);
    if (buffer == RRCP_BUFFER_NONE)
        return buffer;
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
        struct rrcp_peer *peer = peer_of(r, u);
        uint32_t buffer = stream_output(r, u, peer);

        ready_remove(r, u);
        if (buffer != RRCP_BUFFER_NONE) {
            ready_add(r, u); /* behind the others */
            *to = peer;
            return buffer;
        }
    }
    return RRCP_BUFFER_NONE;
}

/* ---- acknowledgements in ------------------------------------------------------------------ */

static void tell_reset(struct rrcp *r, struct rrcp_peer *peer)
{
    struct rrcp_item *item = rrcp_deliver_add(r, RRCP_EVENT_GAP, peer->index, peer->session);

    item->stream = STREAM_UNICAST;
    item->reason = RRCP_GAP_UNICAST_RESET;
    r->counters.unicast_resets++;
}

static void drop_sent(struct rrcp *r, struct rrcp_unicast *u)
{
    for (; u->base < u->next; u->base++) {
        rrcp_pool_give(r, sent_slot(u, u->base)->buffer);
        sent_slot(u, u->base)->buffer = RRCP_BUFFER_NONE;
    }
    if (u->has_record && u->piece_left < u->record.length) { /* the rest of a message begun there */
        queue_read(r, u, NULL, u->piece_left);
        end_record(r, u);
    }
    u->base = u->next = u->send_next = 1;
    u->again_count = 0;
    u->tries = 0;
    u->resend_due_ns = RRCP_NEVER;
}

/* The peer does not know the stream: what it has not acknowledged goes again, numbered anew. */
static void restart(struct rrcp *r, struct rrcp_peer *peer, struct rrcp_unicast *u,
                    uint64_t incarnation)
{
    struct unicast_sent kept[UNICAST_WINDOW];
    uint64_t count = u->next - u->base;

    for (uint64_t i = 0; i < count; i++)
        kept[i] = *sent_slot(u, u->base + i);
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
    u->recovered = 0;
    tell_reset(r, peer);
    ready_add(r, u);
}

static void acknowledge(struct rrcp *r, struct rrcp_peer *peer, struct rrcp_unicast *u,
                        uint64_t useq)
{
    uint64_t next = useq & USEQ_MASK;

    if (useq >> USEQ_BITS != u->incarnation || next <= u->base || next > u->send_next)
        return;
    for (; u->base < next; u->base++) {
        struct unicast_sent *slot = sent_slot(u, u->base);

        u->again_count -= slot->is_again;
        rrcp_pool_give(r, slot->buffer);
        slot->buffer = RRCP_BUFFER_NONE;
        slot->is_again = false;
    }
    u->tries = 0;
    u->resend_due_ns = u->base < u->send_next ? r->now_ns + resend_wait_ns(r, u, peer) : RRCP_NEVER;
    ready_add(r, u);
}

static void send_again(struct rrcp *r, struct rrcp_unicast *u, struct unicast_sent *slot)
{
    if (slot->is_again || slot->is_acked)
        return;
    slot->is_again = true;
    u->again_count++;
    ready_add(r, u);
}

/* What the bitmap says to be missing while three later packets have come is sent again. */
static void selective(struct rrcp *r, struct rrcp_peer *peer, struct rrcp_unicast *u,
                      uint64_t bitmap)
{
    uint64_t age_ns = peer->rtt_ns > FAST_NS_MIN ? peer->rtt_ns : FAST_NS_MIN;

    for (int i = 63; i >= 0; i--) {
        uint64_t useq = u->base + 1 + (uint64_t)i;

        if ((bitmap >> i & 1) && useq < u->send_next)
            sent_slot(u, useq)->is_acked = true;
    }
    for (int i = -1; i < 64; i++) {
        uint64_t useq = u->base + 1 + (uint64_t)(int64_t)i;
        uint64_t later = i < 63 ? bitmap >> (i + 1) : 0;

        if (__builtin_popcountll(later) < FAST_LATER || useq >= u->send_next)
            break;
        if (!sent_slot(u, useq)->is_acked && r->now_ns - sent_slot(u, useq)->sent_ns >= age_ns)
            send_again(r, u, sent_slot(u, useq));
    }
}

void rrcp_uack_input(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view)
{
    struct rrcp_unicast *u = peer->unicast;
    uint64_t next = md_be64(view->bytes + 32);
    uint32_t echo = md_be32(view->bytes + 48);

    if (md_be64(view->bytes + 24) != r->session) {
        rrcp_drop(r, RRCP_DROP_TARGET);
        return;
    }
    r->counters.uacks_rcvd++;
    if (!u)
        return;
    if (md_be16(view->bytes + 54) & UACK_RESET) {
        uint64_t incarnation = next >> USEQ_BITS;

        if (next == 0 || (uint16_t)(incarnation - u->incarnation - 1) < 0x8000)
            restart(r, peer, u, next == 0 ? u->incarnation : incarnation);
        return;
    }
    if (echo != 0 && (int32_t)(rrcp_us(r->now_ns) - echo) >= 0)
        rrcp_rtt_sample(r, peer, (uint64_t)(rrcp_us(r->now_ns) - echo) * RRCP_US);
    u->their_window = md_be16(view->bytes + 52);
    acknowledge(r, peer, u, next);
    if (next >> USEQ_BITS == u->incarnation && (next & USEQ_MASK) == u->base)
        selective(r, peer, u, md_be64(view->bytes + 40));
    ready_add(r, u);
}

/* ---- receiving ---------------------------------------------------------------------------- */

/* An acknowledgement may have waited for more to acknowledge; that is no part of the round trip. */
static uint32_t echo(const struct rrcp *r, const struct rrcp_unicast *u)
{
    uint32_t clock = u->echo_tx_time + (uint32_t)((r->now_ns - u->echo_ns) / RRCP_US);

    return u->echo_tx_time == 0 ? 0 : clock == 0 ? 1 : clock;
}

static void send_ack(struct rrcp *r, struct rrcp_peer *peer, struct rrcp_unicast *u)
{
    uint64_t bitmap = 0;
    uint8_t *bytes;
    uint32_t buffer = rrcp_control_make(r, PACKET_UACK, &bytes);
    uint64_t next = u->is_receiving ? u->rx_incarnation << USEQ_BITS | u->rx_next : 0;
    uint32_t room = rrcp_pool_room(r, BUFFER_UNICAST);

    u->ack_due_ns = RRCP_NEVER;
    if (buffer == RRCP_BUFFER_NONE)
        return;
    for (uint64_t i = 0; i < 64 && u->rx_have > 0; i++)
        if (u->rx_buffer[(u->rx_next + 1 + i) & (UNICAST_WINDOW - 1)] != RRCP_BUFFER_NONE)
            bitmap |= 1ull << i;
    md_put_be64(bytes + 24, peer->session);
    md_put_be64(bytes + 32, next);
    md_put_be64(bytes + 40, bitmap);
    md_put_be32(bytes + 48, echo(r, u));
    md_put_be16(bytes + 52, (uint16_t)(room < UNICAST_WINDOW ? room : UNICAST_WINDOW));
    md_put_be16(bytes + 54, u->reset_wanted ? UACK_RESET : 0);
    rrcp_control_send(r, buffer, PACKET_UACK_BYTES, peer);
    r->counters.uacks_sent++;
    u->echo_tx_time = 0;
    u->rx_unacked = 0;
    u->reset_wanted = false;
}

static void drop_received(struct rrcp *r, struct rrcp_unicast *u)
{
    for (int i = 0; i < UNICAST_WINDOW; i++) {
        if (u->rx_buffer[i] != RRCP_BUFFER_NONE)
            rrcp_pool_give(r, u->rx_buffer[i]);
        u->rx_buffer[i] = RRCP_BUFFER_NONE;
    }
    u->rx_have = 0;
    u->rx_due_ns = RRCP_NEVER;
}

/* Is the packet of the stream as we know it? Begins a new one where that is what it says. */
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
        tell_reset(r, peer);
    drop_received(r, u);
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
    if (useq - u->rx_next >= UNICAST_WINDOW ||
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
    uint64_t useq = md_be64(view->bytes + 24);
    struct rrcp_unicast *u;

    if (md_be64(view->bytes + 32) != r->session || (useq & USEQ_MASK) == 0) {
        rrcp_drop(r, RRCP_DROP_TARGET);
        return;
    }
    r->counters.unicast_rcvd++;
    u = stream_open(r, peer);
    if (!u)
        return;
    acknowledge(r, peer, u, md_be64(view->bytes + 40));
    u->echo_tx_time = view->flags & PACKET_FLAG_RETRANS ? 0 : view->tx_time;
    u->echo_ns = r->now_ns;
    if (!is_expected(r, peer, u, useq >> USEQ_BITS, useq & USEQ_MASK)) {
        u->ack_due_ns = rrcp_min(u->ack_due_ns, r->now_ns + ACK_NS);
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
        u->ack_due_ns = rrcp_min(u->ack_due_ns, r->now_ns + ACK_NS);
}

/* ---- time --------------------------------------------------------------------------------- */

static void resend_due(struct rrcp *r, struct rrcp_peer *peer, struct rrcp_unicast *u)
{
    if (u->base == u->send_next) { /* there was no room to pack what waits */
        u->resend_due_ns = RRCP_NEVER;
        ready_add(r, u);
        return;
    }
    if (++u->tries > r->config.unicast_tries) {
        drop_sent(r, u);
        u->incarnation = (u->incarnation + 1) & 0xffff;
        tell_reset(r, peer);
        ready_add(r, u);
        return;
    }
    for (uint64_t useq = u->base; useq < u->send_next; useq++) {
        sent_slot(u, useq)->is_acked = false;
        send_again(r, u, sent_slot(u, useq));
    }
    u->resend_due_ns = r->now_ns + resend_wait_ns(r, u, peer);
}

void rrcp_unicast_tick(struct rrcp *r, struct rrcp_peer *peer)
{
    struct rrcp_unicast *u = peer->unicast;

    if (u->ack_due_ns <= r->now_ns)
        send_ack(r, peer, u);
    if (u->resend_due_ns <= r->now_ns)
        resend_due(r, peer, u);
    if (u->rx_due_ns <= r->now_ns)
        drop_received(r, u); /* its sender has given up, and will say so with what it sends next */
    if (u->queue_messages > 0 || u->again_count > 0)
        ready_add(r, u);
}

uint64_t rrcp_unicast_deadline(const struct rrcp_peer *peer)
{
    const struct rrcp_unicast *u = peer->unicast;

    return rrcp_min(rrcp_min(u->ack_due_ns, u->resend_due_ns), u->rx_due_ns);
}

static void stream_close(struct rrcp *r, struct rrcp_unicast *u)
{
    ready_remove(r, u);
    drop_received(r, u);
    for (; u->base < u->next; u->base++)
        if (u != r->self_unicast)
            rrcp_pool_give(r, sent_slot(u, u->base)->buffer);
    queue_free(r, u);
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
