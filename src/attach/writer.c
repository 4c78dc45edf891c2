/* writer.c - a user's side of its outbound ring. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/assert.h"
#include "base/err.h"
#include "base/trace.h"
#include "internal.h"

/* Published without a doorbell after this much, so that a busy daemon can begin. */
enum { PUBLISH_BYTES = 32 * 1024 };

void outbound_writer_init(struct outbound_writer *writer, struct attach_outbound_map *map,
                          uint32_t size)
{
    *writer = (struct outbound_writer){ .map = map, .size = size };
}

/* Room for `need` bytes from head on; looks at the consumer only when what it knew is used up. */
static bool has_room(struct outbound_writer *writer, uint64_t need)
{
    if (writer->head + need - writer->tail <= writer->size)
        return true;
    writer->tail = atomic_load_explicit(&writer->map->tail, memory_order_acquire);
    if (writer->head + need - writer->tail <= writer->size)
        return true;
    /* Full. Ask to be woken, then look once more: the consumer may just have been done. */
    outbound_publish(writer);
    writer->is_waiting = true;
    atomic_store_explicit(&writer->map->producer_waits, 1, memory_order_relaxed);
    attach_fence(memory_order_seq_cst);
    writer->tail = atomic_load_explicit(&writer->map->tail, memory_order_acquire);
    return writer->head + need - writer->tail <= writer->size;
}

static void write_target(struct outbound_writer *writer, const struct backbone_target *target)
{
    uint32_t offset = (uint32_t)writer->head & (writer->size - 1);
    /* Field by field, in place: a copy of a record just filled would wait for its small stores. */
    struct attach_outbound_record *record = (void *)(writer->map->data + offset);

    MD_ASSERT(writer->claimed != 0);
    record->type = ATTACH_OUTBOUND_SEND;
    record->flags = target->path == BACKBONE_PATH_UNICAST ? ATTACH_OUTBOUND_UNICAST : 0;
    record->dst_session = target->path == BACKBONE_PATH_MULTICAST ? 0 : target->session;
    record->topic = target->topic;
    record->dst_port = target->port;
    record->zero = 0;
}

int outbound_claim(struct outbound_writer *writer, const struct backbone_target *target,
                   size_t length, uint8_t **room)
{
    uint64_t whole = (sizeof(struct attach_outbound_record) + length + 7) & ~7ull;
    uint32_t offset = (uint32_t)writer->head & (writer->size - 1);
    uint32_t to_end = writer->size - offset;
    uint64_t pad = whole > to_end ? to_end : 0;

    MD_ASSERT(writer->claimed == 0);
    *room = NULL;
    if (whole > writer->size / 2)
        return MD_ERR_RANGE;
    if (!has_room(writer, pad + whole))
        return MD_ERR_FULL;
    if (pad) {
        struct attach_outbound_record filler = { .length = to_end, .type = ATTACH_OUTBOUND_PAD };
        size_t fits = to_end < sizeof(filler) ? to_end : sizeof(filler);

        memcpy(writer->map->data + offset, &filler, fits);
        writer->head += pad;
        offset = 0;
    }
    writer->claimed = whole;
    write_target(writer, target);
    *room = writer->map->data + offset + sizeof(struct attach_outbound_record);
    return 0;
}

void outbound_commit(struct outbound_writer *writer, size_t length)
{
    uint32_t offset = (uint32_t)writer->head & (writer->size - 1);
    uint32_t bytes = (uint32_t)(sizeof(struct attach_outbound_record) + length);
    uint64_t whole = (bytes + 7u) & ~7ull;

    MD_ASSERT(whole <= writer->claimed);
    md_trace_tick(MD_TRACE_COMMITTED,
                  writer->map->data + offset + sizeof(struct attach_outbound_record), length);
    memcpy(writer->map->data + offset, &bytes, sizeof(bytes)); /* `length` is the first field */
    writer->head += whole;
    writer->claimed = 0;
    if (writer->head - writer->published >= PUBLISH_BYTES)
        outbound_publish(writer);
}

int outbound_want(struct outbound_writer *writer, const uint32_t topics[], uint32_t count)
{
    static const struct backbone_target nobody;
    size_t length = topics ? count * sizeof(*topics) : 0;
    uint8_t *room;
    int err = outbound_claim(writer, &nobody, length, &room);

    if (err)
        return err;
    struct attach_outbound_record *record =
        (void *)(writer->map->data + ((uint32_t)writer->head & (writer->size - 1)));
    record->type = ATTACH_OUTBOUND_WANT;
    record->flags = (uint16_t)(topics ? 0 : ATTACH_OUTBOUND_EVERYTHING);
    if (length)
        memcpy(room, topics, length);
    outbound_commit(writer, length);
    return 0;
}

void outbound_publish(struct outbound_writer *writer)
{
    atomic_store_explicit(&writer->map->head, writer->head, memory_order_release);
    writer->published = writer->head;
}
