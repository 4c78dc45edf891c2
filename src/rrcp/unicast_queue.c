/* unicast_queue.c - the queue of messages that wait for room in a unicast window. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "unicast_queue.h"

#include <string.h>

#include "base/assert.h"
#include "base/siphash.h"
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
 * take all the room. Pairs are spread over the lanes by a hash that no stranger can foresee. Lanes
 * send a packet's worth in turn; one that sent more waits longer, also if it was empty meanwhile.
 */

#define PIECE_BYTES_MIN 256
#define CHUNK_BYTES     12

static struct unicast_segment *segment_take(struct rrcp *r)
{
    struct unicast_segment *segment = r->segments;

    if (segment) {
        r->segments = segment->next;
        r->segment_count--;
    } else {
        segment = rrcp_take(r, sizeof(*segment));
    }
    if (segment) {
        segment->next = NULL;
        r->unicast_bytes += sizeof(*segment);
    }
    return segment;
}

static void segment_give(struct rrcp *r, struct unicast_segment *segment)
{
    r->unicast_bytes -= sizeof(*segment);
    if (r->segment_count == SEGMENTS_SPARE) {
        rrcp_give(r, segment, sizeof(*segment));
        return;
    }
    segment->next = r->segments;
    r->segments = segment;
    r->segment_count++;
}

void rrcp_unicast_segments_free(struct rrcp *r)
{
    while (r->segments) {
        struct unicast_segment *gone = r->segments;

        r->segments = gone->next;
        rrcp_give(r, gone, sizeof(*gone));
    }
    r->segment_count = 0;
}

uint64_t rrcp_unicast_memory(const struct unicast_lane *lane, uint64_t size)
{
    uint64_t bytes = sizeof(lane->tail->bytes);
    uint64_t room = lane->tail ? bytes - lane->tail_offset : 0;

    return size <= room ? 0 : (size - room + bytes - 1) / bytes * sizeof(*lane->tail);
}

static bool queue_write(struct rrcp *r, struct unicast_lane *lane, const void *bytes,
                        uint32_t length)
{
    const uint8_t *p = bytes;

    while (length > 0) {
        if (!lane->tail || lane->tail_offset == sizeof(lane->tail->bytes)) {
            struct unicast_segment *segment = segment_take(r);

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

static void head_give(struct rrcp *r, struct unicast_lane *lane)
{
    struct unicast_segment *gone = lane->head;

    lane->head = gone->next;
    lane->head_offset = 0;
    if (!lane->head)
        lane->tail = NULL;
    segment_give(r, gone);
}

/* Takes `length` bytes off the lane; out NULL: drops them. */
static void queue_read(struct rrcp *r, struct unicast_lane *lane, uint8_t *out, uint32_t length)
{
    while (length > 0) {
        uint32_t end =
            lane->head == lane->tail ? lane->tail_offset : (uint32_t)sizeof(lane->head->bytes);
        uint32_t piece = end - lane->head_offset;

        MD_ASSERT(lane->head && piece > 0);
        if (piece > length)
            piece = length;
        if (out) {
            memcpy(out, lane->head->bytes + lane->head_offset, piece);
            out += piece;
        }
        lane->head_offset += piece;
        length -= piece;
        if (lane->head_offset == end)
            head_give(r, lane);
    }
}

static void lane_free(struct rrcp *r, struct unicast_lane *lane)
{
    while (lane->head)
        head_give(r, lane);
    *lane = (struct unicast_lane){ 0 };
}

void rrcp_unicast_queue_free(struct rrcp *r, struct rrcp_unicast *u)
{
    lane_free(r, &u->plain);
    lane_free(r, &u->wishes);
    for (uint32_t i = 0; u->lanes && i < UNICAST_LANES; i++)
        lane_free(r, &u->lanes[i]);
    rrcp_give(r, u->lanes, UNICAST_LANES * sizeof(*u->lanes));
    u->lanes = NULL;
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

        segment_give(r, gone);
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
    if (key == 0)
        return &u->plain;
    if (!u->lanes)
        u->lanes = rrcp_take(r, UNICAST_LANES * sizeof(*u->lanes));
    return u->lanes ? &u->lanes[md_siphash(r->hash_key, &key, sizeof(key)) % UNICAST_LANES] : NULL;
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

/* As many rounds at once as nobody would send in. */
static void turn_skip(struct rrcp_unicast *u)
{
    int64_t most = INT64_MIN;

    for (const struct unicast_lane *lane = u->turn_first; lane; lane = lane->after)
        if (lane->credit > most)
            most = lane->credit;
    for (struct unicast_lane *lane = u->turn_first; most <= 0 && lane; lane = lane->after)
        lane->credit += -most / UNICAST_TURN * UNICAST_TURN;
}

/* The lane that sends next. It stays the first one until its message is packed. */
static struct unicast_lane *turn_take(struct rrcp_unicast *u)
{
    const struct unicast_lane *begin = u->turn_first;

    if (u->wishes.messages > 0)
        return &u->wishes;
    if (u->turn_first == u->turn_last && u->turn_first->credit < 0)
        u->turn_first->credit = 0; /* alone it takes nothing from others */
    while (u->turn_first != u->turn_last && u->turn_first->credit <= 0) {
        struct unicast_lane *lane = u->turn_first;

        lane->credit += UNICAST_TURN;
        turn_remove_first(u);
        turn_add(u, lane);
        if (u->turn_first == begin)
            turn_skip(u);
    }
    return u->turn_first;
}

/* It owes less by what others sent meanwhile. */
static void turn_begin(struct rrcp_unicast *u, struct unicast_lane *lane)
{
    uint64_t since = u->bytes_sent - lane->left;
    uint64_t missing = (uint64_t)(UNICAST_TURN - lane->credit);

    lane->credit = since < missing ? lane->credit + (int64_t)since : UNICAST_TURN;
    turn_add(u, lane);
}

/* When nobody waits any more nobody owes anything. */
static void turn_end(const struct rrcp *r, struct rrcp_unicast *u, struct unicast_lane *lane)
{
    MD_ASSERT(lane == u->turn_first);
    turn_remove_first(u);
    lane->left = u->bytes_sent;
    if (!u->turn_first)
        u->bytes_sent += 2ull * UNICAST_TURN + r->config.message_bytes_max;
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
    if (lane->messages == 0 && lane != &u->wishes)
        turn_begin(u, lane);
    lane->messages++;
    lane->bytes += size;
    u->queue_messages++;
    u->queue_bytes += size;
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
    if (lane != &u->wishes) {
        lane->credit -= (int64_t)sizeof(bytes) + u->record.length;
        u->bytes_sent += sizeof(bytes) + u->record.length;
    }
}

static void end_record(const struct rrcp *r, struct rrcp_unicast *u)
{
    struct unicast_lane *lane = u->record_lane;
    uint64_t bytes = sizeof(u->record) + u->record.length;

    u->has_record = false;
    lane->messages--;
    lane->bytes -= bytes;
    u->queue_messages--;
    u->queue_bytes -= bytes;
    if (lane->messages == 0 && lane != &u->wishes)
        turn_end(r, u, lane);
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
