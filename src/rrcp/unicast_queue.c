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
 */

#define PIECE_BYTES_MIN 256
#define CHUNK_BYTES     12

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

/* Takes `length` bytes off the queue; out NULL: drops them. */
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
            u->head_offset = u->tail_offset = 0; /* the queue is empty: reuse the segment */
        } else if (u->head_offset == end) {
            struct unicast_segment *gone = u->head;

            u->head = gone->next;
            u->head_offset = 0;
            rrcp_give(r, gone, sizeof(*gone));
        }
    }
}

void rrcp_unicast_queue_free(struct rrcp *r, struct rrcp_unicast *u)
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

/* Undoes writes: the queue ends at `offset` of `tail` again; NULL: it had no segment. */
static void queue_cut(struct rrcp *r, struct rrcp_unicast *u, struct unicast_segment *tail,
                      uint32_t offset)
{
    struct unicast_segment *gone = tail ? tail->next : u->head;

    while (gone) {
        struct unicast_segment *next = gone->next;

        rrcp_give(r, gone, sizeof(*gone));
        gone = next;
    }
    if (tail)
        tail->next = NULL;
    else
        u->head = NULL;
    u->tail = tail;
    u->tail_offset = offset;
}

bool rrcp_unicast_enqueue(struct rrcp *r, struct rrcp_unicast *u,
                          const struct unicast_record *record, const uint8_t *bytes)
{
    struct unicast_segment *tail = u->tail;
    uint32_t offset = u->tail_offset;

    if (!queue_write(r, u, record, sizeof(*record)) || !queue_write(r, u, bytes, record->length)) {
        queue_cut(r, u, tail, offset);
        return false;
    }
    u->queue_messages++;
    u->queue_bytes += sizeof(*record) + record->length;
    r->unicast_bytes += sizeof(*record) + record->length;
    return true;
}

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

void rrcp_unicast_queue_skip(struct rrcp *r, struct rrcp_unicast *u)
{
    if (!u->has_record || u->piece_left == u->record.length)
        return;
    queue_read(r, u, NULL, u->piece_left);
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

    queue_read(r, u, p, length);
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
