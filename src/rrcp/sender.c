/* sender.c - packs messages into packets, and keeps sent packets for repair. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sender.h"

#include <string.h>

#include "base/assert.h"
#include "base/err.h"
#include "base/writer.h"
#include "budget.h"
#include "common.h"
#include "deliver.h"
#include "interest.h"
#include "pool.h"
#include "skip.h"
#include "status.h"

/*
 *        trail          send_next      next_seq
 *          |   sent, held   | closed, unsent | the open packet
 *
 * A packet leaves the window when it is older than hold_ns, or when a new one needs its buffer.
 */

/* The least first piece of a message: with less room left it starts in a new packet. */
#define PIECE_BYTES_MIN 256
#define OVER_AGE_NS     (100 * RRCP_MS)
#define DATA_BURST      64

int rrcp_sender_init(struct rrcp *r)
{
    struct rrcp_sender *s = &r->sender;
    uint32_t slots = 1;

    while (slots <= r->pool.kind_max[BUFFER_SEND] + 1)
        slots *= 2;
    s->slot_mask = slots - 1;
    s->slots = rrcp_take(r, slots * sizeof(*s->slots));
    if (!s->slots)
        return MD_ERR_NOMEM;
    s->open.buffer = RRCP_BUFFER_NONE;
    s->first_seq = r->config.first_seq ? r->config.first_seq : 1;
    s->next_seq = s->send_next = s->trail = s->first_seq;
    s->rate = r->config.data_rate;
    s->repair_rate = r->config.repair_rate;
    if (s->repair_rate == 0)
        s->repair_rate = r->config.interface_bits_per_s / 8 / 5;
    if (s->repair_rate < 10000)
        s->repair_rate = 10000;
    s->flow_next = UINT64_MAX;
    s->flow_due_ns = RRCP_NEVER;
    return MD_OK;
}

void rrcp_sender_fini(struct rrcp *r)
{
    rrcp_give(r, r->sender.slots, (r->sender.slot_mask + 1) * sizeof(*r->sender.slots));
}

struct sent_slot *rrcp_sender_slot(struct rrcp *r, uint64_t seq)
{
    struct rrcp_sender *s = &r->sender;

    return seq >= s->trail && seq < s->send_next ? &s->slots[seq & s->slot_mask] : NULL;
}

uint32_t rrcp_sender_held(const struct rrcp *r, uint64_t seq)
{
    return seq > r->sender.trail ? (uint32_t)(seq - r->sender.trail) : 0;
}

static void free_oldest(struct rrcp *r)
{
    struct rrcp_sender *s = &r->sender;
    struct sent_slot *slot = &s->slots[s->trail & s->slot_mask];

    MD_ASSERT(s->trail < s->send_next);
    rrcp_pool_give(r, slot->buffer);
    slot->buffer = RRCP_BUFFER_NONE;
    s->trail++;
}

/* Frees packets older than hold_ns, or than OVER_AGE_NS while the pool is over its mark. */
static void expire(struct rrcp *r)
{
    struct rrcp_sender *s = &r->sender;
    uint64_t age_ns = r->pool.is_over ? OVER_AGE_NS : r->config.hold_ns;

    while (s->trail < s->send_next &&
           r->now_ns - s->slots[s->trail & s->slot_mask].sent_ns >= age_ns)
        free_oldest(r);
}

/* Makes room for `packets` more, at the cost of the oldest sent ones. False: no room. */
static bool make_room(struct rrcp *r, uint32_t packets)
{
    struct rrcp_sender *s = &r->sender;

    while (rrcp_pool_room(r, BUFFER_SEND) < packets && s->trail < s->send_next &&
           r->pool.kind_use[BUFFER_SEND] + packets > r->pool.kind_max[BUFFER_SEND])
        free_oldest(r);
    return rrcp_pool_room(r, BUFFER_SEND) >= packets;
}

/* ---- packing ------------------------------------------------------------------------------ */

static void open_packet(struct rrcp *r)
{
    struct open_packet *open = &r->sender.open;

    *open = (struct open_packet){ .buffer = rrcp_pool_take(r, BUFFER_SEND) };
    MD_ASSERT(open->buffer != RRCP_BUFFER_NONE); /* make_room() made sure */
    open->bytes = rrcp_pool_bytes(r, open->buffer);
    open->pos = PACKET_DATA_BYTES;
    open->end = r->chunks_end_max;
    rrcp_packet_header((void *)open->bytes, PACKET_DATA, r->session, r->rules.network_id);
}

void rrcp_sender_close_packet(struct rrcp *r)
{
    struct rrcp_sender *s = &r->sender;
    struct open_packet *open = &s->open;
    struct packet_data *p = (void *)open->bytes;

    if (open->buffer == RRCP_BUFFER_NONE)
        return;
    md_put_be64(p->seq, s->next_seq);
    md_put_be32(p->held, 0);
    md_put_be16(p->chunks, open->chunks);
    md_put_be16(p->first_begin, open->first_begin);
    rrcp_pool_buffer(r, open->buffer)->length = (uint16_t)open->pos;
    s->slots[s->next_seq & s->slot_mask] = (struct sent_slot){ .buffer = open->buffer };
    rrcp_interest_close(r, s->next_seq, open->wanted);
    if (open->is_looped) {
        rrcp_pool_hold(r, open->buffer);
        rrcp_deliver_packet(r, PEER_SELF, r->session, STREAM_MULTICAST, open->bytes, open->pos,
                            s->next_seq, open->buffer);
    }
    s->next_seq++;
    open->buffer = RRCP_BUFFER_NONE;
}

/* Writes one chunk into the open packet, which has room for it. */
static void put_chunk(struct rrcp *r, uint16_t port, const struct rrcp_msg *msg, uint8_t flags,
                      uint32_t offset, uint32_t length)
{
    struct open_packet *open = &r->sender.open;
    struct packet_chunk chunk = { .flags = flags,
                                  .source_port = port,
                                  .destination_port = msg->port,
                                  .topic = msg->topic,
                                  .session = msg->session,
                                  .length = length,
                                  .total = msg->length };
    uint8_t *p = open->bytes + open->pos;

    if ((flags & CHUNK_BEGIN) && open->first_begin == 0)
        open->first_begin = (uint16_t)open->pos;
    if (open->can_same && msg->session == 0 && msg->topic == open->last_topic &&
        port == open->last_source && msg->port == open->last_destination) {
        chunk.flags |= CHUNK_SAME;
    } else {
        open->last_topic = msg->topic;
        open->last_source = port;
        open->last_destination = msg->port;
        open->can_same = msg->session == 0;
    }
    p = rrcp_chunk_put(p, &chunk);
    if (length)
        memcpy(p, msg->bytes + offset, length);
    open->pos = (uint32_t)(p - open->bytes) + length;
    open->chunks++;
}

static void put_message(struct rrcp *r, uint16_t port, const struct rrcp_msg *msg, bool is_looped)
{
    struct open_packet *open = &r->sender.open;
    uint8_t directed = msg->session ? CHUNK_DIRECTED : 0;
    uint32_t header = msg->session ? 20 : 12; /* at most: without SAME */
    uint64_t wanted = rrcp_interest_wanted(r, msg);
    uint32_t offset = 0;
    uint8_t begin = CHUNK_BEGIN;

    if (open->buffer != RRCP_BUFFER_NONE) {
        bool fits_here = open->end - open->pos >= header + msg->length;
        bool fits_fresh = r->chunks_end_max - PACKET_DATA_BYTES >= header + msg->length;

        if (!fits_here && (fits_fresh || open->end - open->pos < header + 4 + PIECE_BYTES_MIN))
            rrcp_sender_close_packet(r);
    }
    do {
        if (open->buffer == RRCP_BUFFER_NONE)
            open_packet(r);
        open->is_looped |= is_looped;
        open->wanted |= wanted;

        uint32_t left = msg->length - offset;
        uint32_t room = open->end - open->pos - header;

        if (left <= room) {
            put_chunk(r, port, msg, directed | begin | CHUNK_END, offset, left);
            break;
        }
        room -= begin ? 4 : 0;
        put_chunk(r, port, msg, directed | begin, offset, room);
        offset += room;
        begin = 0;
        wanted = open->wanted; /* who gets its beginning, with other messages, gets all of it */
        rrcp_sender_close_packet(r);
    } while (true);

    /* No chunk fits behind this one. Close the packet, so that the next output sends it. */
    if (open->end - open->pos < 8 || open->chunks == UINT16_MAX)
        rrcp_sender_close_packet(r);
}

/* ---- submit ------------------------------------------------------------------------------- */

static bool is_flow_open(const struct rrcp *r)
{
    const struct rrcp_sender *s = &r->sender;

    if (r->config.flow_control != RRCP_FLOW_CONTROL_MIN || s->flow_next == UINT64_MAX)
        return true;
    return s->next_seq < s->flow_next + r->pool.kind_max[BUFFER_SEND] / 2;
}

static bool may_submit(const struct rrcp *r)
{
    const struct rrcp_sender *s = &r->sender;

    return s->start_beacons == 0 && s->stop_reason == 0 && !r->pool.is_over &&
           s->next_seq - s->send_next < r->config.unsent_max && is_flow_open(r);
}

/* True: a local user gets a copy. */
static bool must_loop(const struct rrcp *r, uint16_t port, const struct rrcp_msg *msg)
{
    if (msg->session != 0)
        return msg->session == r->session;
    if (r->receiver_count > 1)
        return true;
    if (r->receiver_count == 0)
        return false;
    for (int i = 0; i < RRCP_USER_MAX; i++)
        if (r->users[i].port != 0 && r->users[i].receives)
            return r->users[i].port != port || msg->port == port;
    return false;
}

int rrcp_sender_submit(struct rrcp *r, uint16_t port, const struct rrcp_msg *msg)
{
    struct rrcp_sender *s = &r->sender;
    uint32_t payload = r->chunks_end_max - PACKET_DATA_BYTES - 24;
    uint32_t packets = msg->length <= payload ? 1 : msg->length / payload + 2;

    if (packets + r->config.unsent_max + 1 > r->pool.kind_max[BUFFER_SEND] && packets > 1)
        return MD_ERR_RANGE; /* the window can never hold it */
    if (!may_submit(r)) {
        s->is_ready_wanted = true;
        return MD_ERR_FULL;
    }
    if ((packets > 1 || s->open.buffer == RRCP_BUFFER_NONE ||
         s->open.end - s->open.pos < 24 + msg->length) &&
        !make_room(r, packets)) {
        s->is_ready_wanted = true;
        return MD_ERR_FULL;
    }
    put_message(r, port, msg, must_loop(r, port, msg));
    r->counters.msgs_sent++;
    return MD_OK;
}

void rrcp_sender_ready(struct rrcp *r)
{
    struct rrcp_sender *s = &r->sender;

    if (!s->is_ready_wanted || !may_submit(r) || !make_room(r, 2))
        return;
    s->is_ready_wanted = false;
    rrcp_deliver_add(r, BACKBONE_TX_READY, PEER_SELF, r->session);
}

/* ---- output and time ---------------------------------------------------------------------- */

uint32_t rrcp_sender_output(struct rrcp *r)
{
    struct rrcp_sender *s = &r->sender;

    if (s->start_beacons > 0)
        return RRCP_BUFFER_NONE;
    if (s->send_next == s->next_seq)
        rrcp_sender_close_packet(r);
    if (s->send_next == s->next_seq)
        return RRCP_BUFFER_NONE;
    if (s->rate > 0 && rrcp_budget_wait(&s->data_budget, r->now_ns) > 0)
        return RRCP_BUFFER_NONE;

    if (!rrcp_skip_output(r, s->send_next))
        return RRCP_BUFFER_NONE; /* SKIPs go first */
    struct sent_slot *slot = &s->slots[s->send_next & s->slot_mask];

    if (s->rate > 0)
        rrcp_budget_pay(&s->data_budget, r->now_ns, rrcp_pool_buffer(r, slot->buffer)->length,
                        s->rate, DATA_BURST * r->config.packet_bytes_max);
    slot->sent_ns = r->now_ns;
    s->send_next++;
    r->counters.mcast_sent++;
    rrcp_pool_hold(r, slot->buffer);
    return slot->buffer;
}

void rrcp_sender_tick(struct rrcp *r)
{
    expire(r);
    rrcp_rate_tick(r);
    rrcp_skip_tick(r);
}

uint64_t rrcp_sender_deadline(const struct rrcp *r)
{
    const struct rrcp_sender *s = &r->sender;
    uint64_t due_ns = rrcp_skip_deadline(r);

    if (s->trail < s->send_next) {
        uint64_t age_ns = r->pool.is_over ? OVER_AGE_NS : r->config.hold_ns + 10 * RRCP_MS;

        due_ns = rrcp_min(due_ns, s->slots[s->trail & s->slot_mask].sent_ns + age_ns);
    }
    if (s->rate > 0 && s->start_beacons == 0 &&
        (s->send_next < s->next_seq || s->open.buffer != RRCP_BUFFER_NONE))
        due_ns = rrcp_min(due_ns, s->data_budget.paid_until_ns);
    if (s->flow_due_ns < due_ns)
        due_ns = s->flow_due_ns;
    if (r->config.congestion != RRCP_CONGESTION_OFF)
        due_ns = rrcp_min(due_ns, rrcp_min(s->rate_up_ns, s->rate_down_ns));
    return due_ns;
}
