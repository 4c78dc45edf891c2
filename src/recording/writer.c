/* writer.c - records into the chunk that is filled. See recording/writer.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/writer.h"

#include "base/err.h"
#include "chunk.h"

#define DRIFT_NS    100000 /* a wall clock that differs by more is told */
#define ITEM_ROOM   600u   /* the longest record of an item's key, and the head of one behind it */
#define RECORD_ROOM 40u    /* the longest head of a record, and a clock before it */

void rec_writer_init(struct rec_writer *writer, const struct rec_writer_ops *ops, void *context)
{
    *writer = (struct rec_writer){ .ops = *ops, .context = context, .starts_file = true };
}

void rec_writer_flush(struct rec_writer *writer, bool cuts)
{
    if (writer->chunk)
        writer->ops.give(writer->context, writer->chunk);
    writer->chunk = NULL;
    writer->starts_file = writer->starts_file || cuts;
}

uint64_t rec_writer_tick(struct rec_writer *writer, uint64_t mono_ns)
{
    if (!writer->chunk)
        return UINT64_MAX;
    uint64_t due_ns = writer->chunk->first_mono_ns + REC_CHUNK_NS;
    if (mono_ns < due_ns)
        return due_ns;
    rec_writer_flush(writer, false);
    return UINT64_MAX;
}

static bool has_room(const struct rec_chunk *chunk, size_t length)
{
    return chunk->length + length + ITEM_ROOM + RECORD_ROOM <= REC_CHUNK_MAX &&
           chunk->touched_count < REC_CHUNK_ITEMS;
}

static int begin(struct rec_writer *writer, struct rec_moment now)
{
    struct rec_chunk *chunk = writer->ops.take(writer->context);

    if (!chunk)
        return MD_ERR_FULL;
    chunk->length = chunk->records = chunk->touched_count = chunk->lost = 0;
    chunk->number = writer->next++;
    chunk->first_mono_ns = chunk->last_mono_ns = now.mono_ns;
    chunk->first_wall_ns = now.wall_ns;
    chunk->starts_file = writer->starts_file;
    writer->starts_file = false;
    writer->wall_offset_ns = (int64_t)(now.wall_ns - now.mono_ns);
    writer->chunk = chunk;
    return MD_OK;
}

static void tell_clock(struct rec_writer *writer, struct rec_moment now)
{
    int64_t offset = (int64_t)(now.wall_ns - now.mono_ns);
    int64_t drift = offset - writer->wall_offset_ns;

    if (drift <= DRIFT_NS && drift >= -DRIFT_NS)
        return;
    writer->wall_offset_ns = offset;
    rec_chunk_put_clock(writer->chunk, now);
}

static void touch(struct rec_writer *writer, const struct rec_put *put, uint64_t mono_ns)
{
    struct rec_chunk *chunk = writer->chunk;
    struct rec_item *item = put->item;

    if (item->chunk != chunk->number) {
        item->chunk = chunk->number;
        item->touched_at = chunk->touched_count++;
        chunk->touched[item->touched_at] = (struct rec_touch){ .item = item };
        rec_chunk_put_item(chunk, mono_ns, item);
    }
    if (put->flags & REC_FIRST)
        chunk->touched[item->touched_at].has_image = true;
}

int rec_writer_put(struct rec_writer *writer, struct rec_moment now, const struct rec_put *put)
{
    if (now.mono_ns < writer->last_mono_ns) {
        now.wall_ns += writer->last_mono_ns - now.mono_ns;
        now.mono_ns = writer->last_mono_ns;
    }
    if (put->bytes.length > REC_MESSAGE_MAX)
        return MD_ERR_RANGE;
    (void)rec_writer_tick(writer, now.mono_ns);
    if (writer->chunk && !has_room(writer->chunk, put->bytes.length))
        rec_writer_flush(writer, false);
    if (!writer->chunk && begin(writer, now) != MD_OK)
        return MD_ERR_FULL;
    writer->last_mono_ns = now.mono_ns;
    tell_clock(writer, now);
    touch(writer, put, now.mono_ns);
    rec_chunk_put(writer->chunk, now.mono_ns, put);
    return MD_OK;
}
