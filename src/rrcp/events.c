/* events.c - the events that users take: messages, gaps, peers that come and go. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common.h"
#include "deliver.h"
#include "interest.h"
#include "peers.h"
#include "pool.h"
#include "unicast_sender.h"

static struct rrcp_assembly *assembly_of(struct rrcp *r, const struct rrcp_item *item)
{
    return item->peer == PEER_SELF ? &r->self_assembly[item->stream]
                                   : &r->peers[item->peer]->assembly[item->stream];
}

/* ---- events ------------------------------------------------------------------------------- */

static void fill_message(const struct rrcp_item *item, const struct packet_chunk *chunk,
                         const uint8_t *bytes, uint32_t length, struct backbone_event *out)
{
    out->type = BACKBONE_MESSAGE;
    out->flags = (uint8_t)((item->stream == STREAM_UNICAST ? BACKBONE_FLAG_UNICAST : 0) |
                           (chunk->flags & CHUNK_DIRECTED ? BACKBONE_FLAG_DIRECTED : 0));
    out->src_port = chunk->source_port;
    out->dst_port = chunk->destination_port;
    out->topic = chunk->topic;
    out->length = length;
    out->bytes = bytes;
    out->session = item->session;
    out->seq = item->seq;
    out->last = 0;
    out->rx_ns = item->time_ns;
    out->count = 0;
    out->reason = 0;
}

/* Not a user's message for users. */
static bool is_odd(const struct packet_chunk *chunk)
{
    return __builtin_expect(chunk->topic == RRCP_TOPIC_USER_DOWN, 0) ||
           __builtin_expect(chunk->source_port == RRCP_PORT_RESERVED, 0);
}

/* A peer's interest is for the engine, in its place among their messages. */
static bool is_interest(const struct rrcp_item *item, const struct packet_chunk *chunk)
{
    return chunk->topic == RRCP_TOPIC_USER_DOWN && chunk->source_port == 0 &&
           item->stream == STREAM_UNICAST && item->peer != PEER_SELF;
}

/* True: *out is an event. */
static bool take_odd(struct rrcp *r, const struct rrcp_item *item, const struct packet_chunk *chunk,
                     const uint8_t *bytes, uint32_t length, struct backbone_event *out)
{
    if (is_interest(item, chunk)) {
        rrcp_interest_input(r, r->peers[item->peer], bytes, length);
        return false;
    }
    fill_message(item, chunk, bytes, length, out);
    r->are_odd = true;
    if (chunk->topic == RRCP_TOPIC_USER_DOWN) {
        out->type = BACKBONE_USER_DOWN;
        out->reason = length > 0 ? bytes[0] : 0;
        out->bytes = NULL;
        out->length = 0;
    }
    return true;
}

/* No memory for a message of several packets: the user gets a gap instead. */
static void fill_refused(struct rrcp *r, const struct rrcp_item *item, struct backbone_event *out)
{
    r->are_odd = true;
    r->counters.assembly_refused++;
    r->counters.packets_lost[BACKBONE_GAP_POOL]++;
    if (item->stream == STREAM_UNICAST && item->peer != PEER_SELF)
        rrcp_interest_doubt(r, r->peers[item->peer]); /* perhaps that was it */
    *out = (struct backbone_event){
        .type = BACKBONE_GAP,
        .flags = item->stream == STREAM_UNICAST ? BACKBONE_FLAG_UNICAST : 0,
        .session = item->session,
        .seq = item->seq,
        .last = item->seq,
        .count = 1,
        .reason = BACKBONE_GAP_POOL,
        .rx_ns = item->time_ns,
    };
}

/* Adds a piece to its message. True: *out is an event. */
static bool take_piece(struct rrcp *r, const struct rrcp_item *item,
                       const struct packet_chunk *chunk, struct backbone_event *out)
{
    struct rrcp_assembly *a = assembly_of(r, item);

    if (chunk->flags & CHUNK_BEGIN) {
        if (!rrcp_assembly_begin(r, a, chunk->total)) {
            fill_refused(r, item, out);
            return true;
        }
    } else if (!a->is_open) {
        return false; /* the message began before we joined, or in a gap that the user knows */
    }
    if (a->total - a->have < chunk->length) {
        a->is_open = false;
        fill_refused(r, item, out);
        return true;
    }
    if (chunk->length)
        memcpy(a->bytes + a->have, chunk->bytes, chunk->length);
    a->have += chunk->length;
    if (!(chunk->flags & CHUNK_END))
        return false;
    a->is_open = false;
    if (a->have != a->total) {
        fill_refused(r, item, out);
        return true;
    }
    if (is_odd(chunk))
        return take_odd(r, item, chunk, a->bytes, a->total, out);
    fill_message(item, chunk, a->bytes, a->total, out);
    return true;
}

/*
 * Finds messages in the packet at the head. Returns the number of events. *is_done: the packet has
 * no more. *is_lent: the last event points into an assembly, which the next piece would overwrite.
 */
static int walk_packet(struct rrcp *r, const struct rrcp_item *item, struct backbone_event out[],
                       int max, bool *is_done, bool *is_lent)
{
    struct packet_chunk *chunk = &r->walk_chunk;
    int n = 0;

    if (r->walk_pos == 0)
        r->walk_pos = item->stream == STREAM_UNICAST ? PACKET_UDATA_BYTES : PACKET_DATA_BYTES;
    while (r->walk_pos < item->length && n < max && !*is_lent) {
        rrcp_chunk_next(item->bytes, &r->walk_pos, chunk);
        if ((chunk->flags & CHUNK_DIRECTED) && chunk->session != r->session)
            continue;
        if ((chunk->flags & (CHUNK_BEGIN | CHUNK_END)) == (CHUNK_BEGIN | CHUNK_END)) {
            if (is_odd(chunk))
                n += take_odd(r, item, chunk, chunk->bytes, chunk->length, &out[n]);
            else
                fill_message(item, chunk, chunk->bytes, chunk->length, &out[n++]);
        } else if (take_piece(r, item, chunk, &out[n])) {
            n++;
            *is_lent = true;
        }
    }
    r->counters.msgs_rcvd += (uint64_t)n;
    *is_done = r->walk_pos >= item->length;
    return n;
}

static void fill_event(struct rrcp *r, const struct rrcp_item *item, struct backbone_event *out)
{
    *out = (struct backbone_event){
        .type = (uint8_t)item->kind,
        .flags = item->stream == STREAM_UNICAST ? BACKBONE_FLAG_UNICAST : 0,
        .dst_port = item->port,
        .session = item->session,
        .seq = item->seq,
        .last = item->last,
        .count = item->count,
        .reason = (uint8_t)item->reason,
        .bytes = item->bytes,
        .length = item->length,
        .rx_ns = item->time_ns,
    };
    if (item->kind == BACKBONE_GAP && item->peer != PEER_SELF)
        r->peers[item->peer]->assembly[item->stream].is_open = false;
    if (item->is_theirs)
        rrcp_interest_doubt(r, r->peers[item->peer]);
}

/* The previous call's events are no longer in use: releases the packets and the peer. */
static void release(struct rrcp *r)
{
    if (r->release_peer)
        rrcp_peer_free(r, r->release_peer);
    r->release_peer = NULL;
    for (; r->release_count > 0; r->release_count--) {
        struct rrcp_item *item = &r->items[r->item_head++ & r->item_mask];

        if (item->buffer != RRCP_BUFFER_NONE)
            rrcp_pool_give(r, item->buffer);
    }
}

/* Makes events of the packets at the head. release() drops the packets later. */
static int take_packets(struct rrcp *r, struct backbone_event out[], int max)
{
    uint32_t next = r->item_head;
    bool is_lent = false;
    int n = 0;

    while (n < max && next != r->item_tail && !is_lent) {
        const struct rrcp_item *item = &r->items[next & r->item_mask];
        bool is_done = false;

        if (item->kind != ITEM_PACKET)
            break;
        n += walk_packet(r, item, out + n, max - n, &is_done, &is_lent);
        if (!is_done)
            break;
        r->walk_pos = 0;
        r->release_count++;
        next++;
    }
    return n;
}

/* Takes the items at the head that are not packets. */
static int take_others(struct rrcp *r, struct backbone_event out[], int max)
{
    int n = 0;

    while (n < max && r->item_head != r->item_tail) {
        const struct rrcp_item *item = &r->items[r->item_head & r->item_mask];

        if (item->kind == ITEM_PACKET)
            break;
        fill_event(r, item, &out[n++]);
        r->are_odd = true;
        r->item_head++;
        if (item->kind == BACKBONE_PEER_DOWN) {
            r->release_peer = r->peers[item->peer];
            break;
        }
    }
    return n;
}

int rrcp_event(struct rrcp *r, struct backbone_event out[], int max)
{
    int n = 0;

    rrcp_unicast_self(r);
    r->are_odd = false;
    while (n == 0) {
        release(r);
        if (r->item_head == r->item_tail)
            break;
        n = take_others(r, out, max);
        if (n == 0)
            n = take_packets(r, out, max);
    }
    return n;
}

bool rrcp_events_are_plain(const struct rrcp *r)
{
    return !r->are_odd;
}
