/* unicast_queue.c - the queue of messages that wait for room in a unicast window. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "unicast_queue.h"

#include <string.h>

#include "base/assert.h"
#include "base/writer.h"
#include "common.h"

/*
 * Messages wait as bytes in a list of segments. They become packets only when the window has room,
 * so that each packet is as full as possible:
 *
 *      | record | payload | record | ...
 *      (head)                    (tail)
 *
 * Each lane has such a list. Behind a relay there are many nodes, and one stream goes to it: a lane
 * for each pair of nodes, so that a storm between two of them does not keep the others waiting, nor
 * take all the room. Lanes send a packet's worth in turn; one that sent more waits longer.
 */

#define PIECE_BYTES_MIN 256
#define CHUNK_BYTES     12
#define TURN_BYTES      1400
#define CREDIT_MIN      (-(int64_t)65536)

static bool queue_write(struct rrcp *r, struct unicast_lane *lane, const void *bytes,
                        uint32_t length)
{
    const uint8_t *p = bytes;

    while (length > 0) {
        if (!lane->tail || lane->tail_offset == sizeof(lane->tail->bytes)) {
            struct unicast_segment *segment = rrcp_take(r, sizeof(*segment));

            if (!segment)
                return false;
            if (lane->tail)
                lane->tail->next = segment;
            else
                lane->head = segment;
            lane->tail = segment;
            lane->tail_offset = 0;
        }
        uint32_t piece = (uint32_t)sizeof(lane->tail->bytes) - lane->tail_offset;

        if (piece > length)
            piece = length;
        memcpy(lane->tail->bytes + lane->tail_offset, p, piece);
        lane->tail_offset += piece;
        p += piece;
        length -= piece;
    }
    return true;
}

/* Takes `length` bytes off the lane; out NULL: drops them. */
static void queue_read(struct rrcp *r, struct unicast_lane *lane, uint8_t *out, uint32_t length)
{
    while (length > 0) {
        uint32_t end =
            lane->head == lane->tail ? lane->tail_offset : (uint32_t)sizeof(lane->head->bytes);
        uint32_t piece = end - lane->head_offset;

        MD_ASSERT(piece > 0);
        if (piece > length)
            piece = length;
        if (out) {
            memcpy(out, lane->head->bytes + lane->head_offset, piece);
            out += piece;
        }
        lane->head_offset += piece;
        length -= piece;
        if (lane->head_offset == end && lane->head == lane->tail) {
            lane->head_offset = lane->tail_offset = 0; /* the lane is empty: reuse the segment */
        } else if (lane->head_offset == end) {
            struct unicast_segment *gone = lane->head;

            lane->head = gone->next;
            lane->head_offset = 0;
            rrcp_give(r, gone, sizeof(*gone));
        }
    }
}

static void lane_free(struct rrcp *r, struct unicast_lane *lane)
{
    while (lane->head) {
        struct unicast_segment *gone = lane->head;

        lane->head = gone->next;
        rrcp_give(r, gone, sizeof(*gone));
    }
    *lane = (struct unicast_lane){ 0 };
}

void rrcp_unicast_queue_free(struct rrcp *r, struct rrcp_unicast *u)
{
    lane_free(r, &u->plain);
    lane_free(r, &u->wishes);
    while (u->lanes) {
        struct unicast_lane *gone = u->lanes;

        u->lanes = gone->next;
        lane_free(r, gone);
        rrcp_give(r, gone, sizeof(*gone));
    }
    r->unicast_bytes -= u->queue_bytes;
    u->lane_count = 0;
    u->turn_first = u->turn_last = NULL;
    u->queue_bytes = 0;
    u->queue_messages = 0;
    u->has_record = false;
}

/* Undoes writes: the lane ends at `offset` of `tail` again; NULL: it had no segment. */
static void queue_cut(struct rrcp *r, struct unicast_lane *lane, struct unicast_segment *tail,
                      uint32_t offset)
{
    struct unicast_segment *gone = tail ? tail->next : lane->head;

    while (gone) {
        struct unicast_segment *next = gone->next;

        rrcp_give(r, gone, sizeof(*gone));
        gone = next;
    }
    if (tail)
        tail->next = NULL;
    else
        lane->head = NULL;
    lane->tail = tail;
    lane->tail_offset = offset;
}

struct unicast_lane *rrcp_unicast_lane(struct rrcp *r, struct rrcp_unicast *u, uint64_t key)
{
    struct unicast_lane *empty = NULL;

    if (key == 0)
        return &u->plain;
    for (struct unicast_lane *lane = u->lanes; lane; lane = lane->next) {
        if (lane->key == key)
            return lane;
        if (lane->messages == 0)
            empty = lane;
    }
    if (!empty && u->lane_count < UNICAST_LANES_MAX) {
        empty = rrcp_take(r, sizeof(*empty));
        if (!empty)
            return NULL;
        empty->next = u->lanes;
        u->lanes = empty;
        u->lane_count++;
    }
    if (empty)
        empty->key = key;
    return empty;
}

/* ---- turns -------------------------------------------------------------------------------- */

static void turn_add(struct rrcp_unicast *u, struct unicast_lane *lane)
{
    lane->after = NULL;
    if (u->turn_last)
        u->turn_last->after = lane;
    else
        u->turn_first = lane;
    u->turn_last = lane;
}

static void turn_remove_first(struct rrcp_unicast *u)
{
    u->turn_first = u->turn_first->after;
    if (!u->turn_first)
        u->turn_last = NULL;
}

/* The lane that sends next. It stays the first one until its message is packed. */
static struct unicast_lane *turn_take(struct rrcp_unicast *u)
{
    if (u->wishes.messages > 0)
        return &u->wishes;
    if (u->turn_first == u->turn_last && u->turn_first->credit < 0)
        u->turn_first->credit = 0; /* alone it takes nothing from others */
    while (u->turn_first != u->turn_last && u->turn_first->credit <= 0) {
        struct unicast_lane *lane = u->turn_first;

        lane->credit += TURN_BYTES;
        turn_remove_first(u);
        turn_add(u, lane);
    }
    return u->turn_first;
}

bool rrcp_unicast_enqueue(struct rrcp *r, struct rrcp_unicast *u, struct unicast_lane *lane,
                          const struct unicast_record *record, const uint8_t *bytes)
{
    struct unicast_segment *tail = lane->tail;
    uint32_t offset = lane->tail_offset;
    uint64_t size = sizeof(*record) + record->length;

    if (!queue_write(r, lane, record, sizeof(*record)) ||
        !queue_write(r, lane, bytes, record->length)) {
        queue_cut(r, lane, tail, offset);
        return false;
    }
    if (lane->messages == 0 && lane != &u->wishes) {
        lane->credit = TURN_BYTES;
        turn_add(u, lane);
    }
    lane->messages++;
    lane->bytes += size;
    u->queue_messages++;
    u->queue_bytes += size;
    r->unicast_bytes += size;
    return true;
}

static void take_record(struct rrcp *r, struct rrcp_unicast *u)
{
    struct unicast_lane *lane = turn_take(u);
    uint8_t bytes[sizeof(struct unicast_record)];

    queue_read(r, lane, bytes, sizeof(bytes));
    memcpy(&u->record, bytes, sizeof(bytes));
    u->record_lane = lane;
    u->piece_left = u->record.length;
    u->has_record = true;
    lane->credit -= (int64_t)sizeof(bytes) + u->record.length;
    if (lane->credit < CREDIT_MIN)
        lane->credit = CREDIT_MIN;
}

static void end_record(struct rrcp *r, struct rrcp_unicast *u)
{
    struct unicast_lane *lane = u->record_lane;
    uint64_t bytes = sizeof(u->record) + u->record.length;

    u->has_record = false;
    lane->messages--;
    lane->bytes -= bytes;
    u->queue_messages--;
    u->queue_bytes -= bytes;
    r->unicast_bytes -= bytes;
    if (lane->messages == 0 && lane != &u->wishes) {
        MD_ASSERT(lane == u->turn_first);
        turn_remove_first(u);
    }
}

void rrcp_unicast_queue_skip(struct rrcp *r, struct rrcp_unicast *u)
{
    if (!u->has_record || u->piece_left == u->record.length)
        return;
    queue_read(r, u->record_lane, NULL, u->piece_left);
    end_record(r, u);
}

static uint32_t put_piece(struct rrcp *r, struct rrcp_unicast *u, uint8_t *bytes, uint32_t pos,
                          uint8_t flags, uint32_t length)
{
    uint8_t *p = rrcp_chunk_put(bytes + pos,
                                &(struct packet_chunk){ .flags = flags,
                                                        .source_port = u->record.source,
                                                        .destination_port = u->record.destination,
                                                        .topic = u->record.topic,
                                                        .length = length,
                                                        .total = u->record.length });

    queue_read(r, u->record_lane, p, length);
    u->piece_left -= length;
    return (uint32_t)(p - bytes) + length;
}

uint32_t rrcp_unicast_fill(struct rrcp *r, struct rrcp_unicast *u, uint8_t *bytes,
                           uint64_t destination)
{
    struct packet_udata *p = (void *)bytes;
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
    rrcp_packet_header(&p->header, PACKET_UDATA, r->session, r->rules.network_id);
    md_put_be64(p->destination, destination);
    md_put_be16(p->chunks, chunks);
    md_put_be16(p->first_begin, first_begin);
    return pos;
}
