/* outq.c - see rssl/outq.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rssl/outq.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/err.h"
#include "codec.h"
#include "frame.h"
#include "pool_private.h"

#define FRAGMENT_HEADER_MAX 10u

/*
 * Invariants: queued_bytes is what head..tail hold between start and end, plus frame_max while a
 * frame is open. The open frame lies at the end of the tail chunk, which has room for all of it.
 * A chunk with nothing in it is given back, but for the tail with an open frame.
 */

static void tell_pressure(struct rssl_outq *q)
{
    bool is_slow = q->is_slow ? q->queued_bytes >= q->ok_bytes : q->queued_bytes > q->breach_bytes;

    if (is_slow == q->is_slow)
        return;
    q->is_slow = is_slow;
    if (is_slow)
        q->stats.breach_count++;
    if (q->config.pressure)
        q->config.pressure(q->config.pressure_user, is_slow);
}

/* The queue is to hold `bytes`; false, and no change, if it may not grow so far. `force`: pings
 * and what must follow a beginning already sent. */
static bool account(struct rssl_outq *q, uint64_t bytes, bool force)
{
    uint64_t shared = bytes > q->guaranteed_bytes ? bytes - q->guaranteed_bytes : 0;

    if (!force && bytes > q->queued_bytes && bytes > q->max_bytes)
        return false;
    if (shared != q->shared_bytes) {
        if (!rssl_pool_share(q->pool, &q->shares, q->shared_bytes, shared)) {
            if (!force)
                return false;
            shared = q->shared_bytes;
        }
        q->shared_bytes = shared;
    }
    q->queued_bytes = bytes;
    if (bytes > q->stats.queued_bytes_max)
        q->stats.queued_bytes_max = bytes;
    return true;
}

/* Room for `length` bytes at the end of the tail chunk, in a new chunk if need be. */
static uint8_t *tail_room(struct rssl_outq *q, size_t length)
{
    struct rssl_chunk *chunk = q->tail;

    if (!chunk || RSSL_CHUNK_BYTES - chunk->end < length) {
        chunk = rssl_pool_take(q->pool);
        if (!chunk)
            return NULL;
        if (q->tail)
            q->tail->next = chunk;
        else
            q->head = chunk;
        q->tail = chunk;
    }
    return chunk->bytes + chunk->end;
}

/* Give back an empty tail that an attempt left behind. Only ever the sole chunk. */
static void drop_empty_tail(struct rssl_outq *q)
{
    if (!q->tail || q->head != q->tail || q->tail->start != q->tail->end)
        return;
    rssl_pool_give(q->pool, q->tail);
    q->head = q->tail = NULL;
}

/* Compress the payload in place if that is agreed and safe; the new length. */
static size_t squeeze(struct rssl_outq *q, uint8_t *payload, size_t length, size_t header,
                      size_t worth, uint8_t *flags)
{
    size_t room = q->config.frame_max - header;

    if (!q->codec || worth < rssl_codec_threshold(q->codec) ||
        length > rssl_codec_payload_max(q->codec, room))
        return length;

    uint8_t *scratch = rssl_pool_deflate_scratch(q->pool);
    size_t squeezed = rssl_codec_compress(q->codec, payload, length, scratch, room);
    if (squeezed == 0) {
        /* payload_max promises that it fits; if not, the peer's stream is out of step with ours. */
        q->broken = true;
        return length;
    }
    memcpy(payload, scratch, squeezed);
    *flags = (uint8_t)((*flags & ~RSSL_FLAG_DATA) | RSSL_FLAG_COMP);
    q->stats.compressed_count++;
    if (squeezed < length)
        q->stats.saved_bytes += length - squeezed;
    return squeezed;
}

/* A frame with its payload behind `header` bytes is complete: length and flags, and it is part of
 * the chunk. */
static void finish_frame(struct rssl_outq *q, uint8_t *frame, size_t header, size_t payload,
                         size_t worth, uint8_t flags)
{
    payload = squeeze(q, frame + header, payload, header, worth, &flags);
    md_put_be16(frame, (uint16_t)(header + payload));
    frame[2] = flags;
    q->tail->end += (uint32_t)(header + payload);
    q->stats.frame_count++;
}

static void forget_frame(struct rssl_outq *q)
{
    q->frame = NULL;
    q->pos = q->limit = NULL;
    q->frame_message_count = 0;
    q->frame_message_bytes = 0;
}

static void close_frame(struct rssl_outq *q)
{
    uint8_t *frame = q->frame;

    if (!frame)
        return;
    MD_ASSERT(q->tail); /* it holds the open frame */
    uint32_t before = q->tail->end;
    size_t payload = (size_t)(q->pos - frame) - RSSL_FRAME_HEADER;
    if (q->frame_message_count == 1) {
        /* Alone it goes as a plain frame, as every sender would have it. */
        payload -= 2;
        memmove(frame + RSSL_FRAME_HEADER, frame + RSSL_FRAME_HEADER + 2, payload);
        finish_frame(q, frame, RSSL_FRAME_HEADER, payload, payload, RSSL_FLAG_DATA);
    } else if (q->frame_message_count > 1) {
        finish_frame(q, frame, RSSL_FRAME_HEADER, payload, payload,
                     RSSL_FLAG_DATA | RSSL_FLAG_PACKED);
        q->stats.packed_count += q->frame_message_count;
    }
    q->stats.message_count += q->frame_message_count;
    q->stats.message_bytes += q->frame_message_bytes;
    forget_frame(q);
    account(q, q->queued_bytes - q->config.frame_max + (q->tail->end - before), true);
    drop_empty_tail(q);
}

static bool open_frame(struct rssl_outq *q)
{
    if (!account(q, q->queued_bytes + q->config.frame_max, false))
        return false;
    uint8_t *frame = tail_room(q, q->config.frame_max);
    if (!frame) {
        account(q, q->queued_bytes - q->config.frame_max, true);
        return false;
    }
    q->frame = frame;
    q->pos = frame + RSSL_FRAME_HEADER;
    q->limit = q->pos + q->payload_max;
    tell_pressure(q);
    return true;
}

/* The most that is put in one frame with `room` for payload: less where it may be compressed. */
static size_t piece_max(const struct rssl_outq *q, size_t room)
{
    size_t piece = q->codec ? rssl_codec_payload_max(q->codec, room) : room;

    return piece ? piece : room;
}

/* Bytes on the wire of a message cut in fragments, at most. */
static uint64_t fragments_bytes(const struct rssl_outq *q, size_t length)
{
    uint64_t piece = piece_max(q, q->config.frame_max - FRAGMENT_HEADER_MAX);

    MD_ASSERT(piece > 0);
    return length + ((uint64_t)length / piece + 1) * FRAGMENT_HEADER_MAX;
}

/* Could the queue hold so much? */
static bool may_grow(const struct rssl_outq *q, uint64_t bytes)
{
    uint64_t shared = bytes > q->guaranteed_bytes ? bytes - q->guaranteed_bytes : 0;

    if (bytes > q->max_bytes || !rssl_pool_share(q->pool, &q->shares, q->shared_bytes, shared))
        return false;
    rssl_pool_share(q->pool, &q->shares, shared, q->shared_bytes);
    return true;
}

static uint8_t *reserve_staged(struct rssl_outq *q, size_t length)
{
    if (!may_grow(q, q->queued_bytes + fragments_bytes(q, length)))
        return NULL;
    if (q->staging_size < length) {
        uint8_t *staging = realloc(q->staging, length);
        if (!staging)
            return NULL;
        q->staging = staging;
        q->staging_size = length;
    }
    return q->staging;
}

static uint8_t *reserve_single(struct rssl_outq *q, size_t length)
{
    /* Compression in place may make it a little longer. */
    size_t room = q->codec ? q->config.frame_max : RSSL_FRAME_HEADER + length;

    if (!may_grow(q, q->queued_bytes + room))
        return NULL;
    uint8_t *frame = tail_room(q, room);
    return frame ? frame + RSSL_FRAME_HEADER : NULL;
}

uint8_t *rssl_outq_reserve_slow(struct rssl_outq *q, size_t length)
{
    uint8_t *room = NULL;

    q->mode = RSSL_OUTQ_SHUT;
    if (q->shut || length == 0 || length > rssl_outq_message_max(q))
        return NULL;
    q->reserved = length;
    close_frame(q);
    if (q->config.packing && length + 2 <= q->payload_max) {
        q->mode = RSSL_OUTQ_PACKED;
        room = open_frame(q) ? q->pos + 2 : NULL;
    } else if (length <= q->config.frame_max - RSSL_FRAME_HEADER) {
        q->mode = RSSL_OUTQ_SINGLE;
        room = reserve_single(q, length);
    } else {
        q->mode = RSSL_OUTQ_STAGED;
        room = reserve_staged(q, length);
    }
    if (!room) {
        q->mode = RSSL_OUTQ_SHUT;
        q->stats.full_count++;
        drop_empty_tail(q);
    }
    return room;
}

/* One fragment of the staged message; the bytes it took, 0 if memory ran out. */
static size_t put_fragment(struct rssl_outq *q, const uint8_t *bytes, size_t left, bool first,
                           size_t total)
{
    size_t id_size = q->config.fragment_id_size;
    size_t header = RSSL_FRAME_HEADER + 1 + (first ? 4 : 0) + id_size;
    size_t room = q->config.frame_max - header;
    size_t piece = piece_max(q, room);
    uint8_t *frame = tail_room(q, q->config.frame_max);

    if (!frame)
        return 0;
    if (piece > left)
        piece = left;
    uint8_t *p = frame + RSSL_FRAME_HEADER;
    *p++ = first ? RSSL_EXT_FRAGMENT_FIRST : RSSL_EXT_FRAGMENT_NEXT;
    if (first) {
        md_put_be32(p, (uint32_t)total);
        p += 4;
    }
    if (id_size == 2)
        *p++ = (uint8_t)(q->fragment_id >> 8);
    *p++ = (uint8_t)q->fragment_id;
    memcpy(p, bytes, piece);
    uint32_t before = q->tail->end;
    finish_frame(q, frame, header, piece, left, RSSL_FLAG_DATA | RSSL_FLAG_EXT);
    account(q, q->queued_bytes + (q->tail->end - before), true);
    q->stats.fragment_count++;
    return piece;
}

static void commit_staged(struct rssl_outq *q, size_t length)
{
    size_t done = 0;

    if (++q->fragment_id == 0)
        q->fragment_id = 1; /* 0 is not used */
    while (done < length) {
        size_t n = put_fragment(q, q->staging + done, length - done, done == 0, length);
        if (n == 0) {
            /* No memory in the middle of a message: this stream cannot go on. */
            rssl_outq_shut(q);
            q->broken = true;
            break;
        }
        done += n;
    }
    if (q->staging_size > RSSL_CHUNK_SIZE) {
        free(q->staging);
        q->staging = NULL;
        q->staging_size = 0;
    }
}

void rssl_outq_commit_slow(struct rssl_outq *q, size_t length)
{
    MD_ASSERT(length > 0 && length <= q->reserved);
    MD_ASSERT(q->mode == RSSL_OUTQ_SINGLE || q->mode == RSSL_OUTQ_STAGED);
    if (q->mode == RSSL_OUTQ_SINGLE) {
        uint32_t before = q->tail->end;
        finish_frame(q, q->tail->bytes + before, RSSL_FRAME_HEADER, length, length, RSSL_FLAG_DATA);
        account(q, q->queued_bytes + (q->tail->end - before), true);
    } else if (length <= q->config.frame_max - RSSL_FRAME_HEADER) {
        /* Reserved long, written short: it needs no fragments. */
        uint8_t *staging = q->staging;
        q->mode = RSSL_OUTQ_SHUT;
        uint8_t *room = rssl_outq_reserve_slow(q, length);
        if (!room) {
            rssl_outq_shut(q);
            q->broken = true;
            return;
        }
        memcpy(room, staging, length);
        rssl_outq_commit(q, length);
        return;
    } else {
        commit_staged(q, length);
    }
    q->mode = RSSL_OUTQ_SHUT;
    q->stats.message_count++;
    q->stats.message_bytes += length;
    tell_pressure(q);
}

int rssl_outq_write(struct rssl_outq *q, const void *message, size_t length)
{
    uint8_t *room = rssl_outq_reserve(q, length);

    if (!room) {
        if (q->shut)
            return MD_ERR_STATE;
        return length == 0 || length > rssl_outq_message_max(q) ? MD_ERR_RANGE : MD_ERR_FULL;
    }
    memcpy(room, message, length);
    rssl_outq_commit(q, length);
    return MD_OK;
}

size_t rssl_outq_message_max(const struct rssl_outq *q)
{
    return q->shut ? 0 : q->message_max;
}

bool rssl_outq_is_empty(const struct rssl_outq *q)
{
    return q->queued_bytes == 0;
}

uint32_t rssl_outq_depth(const struct rssl_outq *q)
{
    if (q->config.frame_max == 0)
        return 0;
    return (uint32_t)((q->queued_bytes + q->config.frame_max - 1) / q->config.frame_max);
}

void rssl_outq_stats(const struct rssl_outq *q, struct rssl_outq_stats *out)
{
    *out = q->stats;
    out->message_count += q->frame_message_count;
    out->message_bytes += q->frame_message_bytes;
}

void rssl_outq_set_packing(struct rssl_outq *q, bool packing)
{
    close_frame(q);
    q->config.packing = packing;
}

void rssl_outq_init(struct rssl_outq *q, struct rssl_pool *pool)
{
    memset(q, 0, sizeof(*q));
    q->pool = pool;
    q->shut = true;
    q->guaranteed_bytes = UINT64_MAX; /* handshake messages are nobody's burden */
    q->max_bytes = UINT64_MAX;
    q->breach_bytes = UINT64_MAX;
    q->mode = RSSL_OUTQ_SHUT;
}

void rssl_outq_clear(struct rssl_outq *q)
{
    forget_frame(q);
    while (q->head) {
        struct rssl_chunk *next = q->head->next;
        rssl_pool_give(q->pool, q->head);
        q->head = next;
    }
    q->tail = NULL;
    rssl_pool_share(q->pool, &q->shares, q->shared_bytes, 0);
    q->shared_bytes = 0;
    q->queued_bytes = 0;
}

void rssl_outq_fini(struct rssl_outq *q)
{
    rssl_outq_clear(q);
    free(q->staging);
    q->staging = NULL;
    q->staging_size = 0;
}

/* The configured bound, or what the queue's own bound leaves for a message in fragments. */
static size_t longest_message(const struct rssl_outq *q)
{
    uint64_t whole = q->config.frame_max - RSSL_FRAME_HEADER;
    uint64_t piece = piece_max(q, q->config.frame_max - FRAGMENT_HEADER_MAX);
    uint64_t max = (q->max_bytes - FRAGMENT_HEADER_MAX) / (piece + FRAGMENT_HEADER_MAX) * piece;

    if (max > q->config.message_max)
        max = q->config.message_max;
    return (size_t)(max > whole ? max : whole);
}

void rssl_outq_open(struct rssl_outq *q, const struct rssl_outq_config *config,
                    struct rssl_codec *codec)
{
    uint32_t room = config->frame_max - RSSL_FRAME_HEADER;

    MD_ASSERT(config->frame_max <= RSSL_CHUNK_BYTES);
    MD_ASSERT(config->guaranteed_buffers >= 1);
    MD_ASSERT(config->max_buffers >= config->guaranteed_buffers);
    q->config = *config;
    q->codec = codec;
    q->payload_max = (uint32_t)piece_max(q, room);
    q->guaranteed_bytes = (uint64_t)config->guaranteed_buffers * config->frame_max;
    q->max_bytes = (uint64_t)config->max_buffers * config->frame_max;
    q->breach_bytes = q->max_bytes * config->breach_percent / 100;
    q->ok_bytes = q->max_bytes * config->ok_percent / 100;
    q->message_max = longest_message(q);
    q->shut = false;
}

void rssl_outq_shut(struct rssl_outq *q)
{
    close_frame(q);
    q->shut = true;
}

int rssl_outq_raw(struct rssl_outq *q, const uint8_t *bytes, size_t length)
{
    close_frame(q);
    uint8_t *room = tail_room(q, length);
    if (!room)
        return MD_ERR_NOMEM;
    memcpy(room, bytes, length);
    q->tail->end += (uint32_t)length;
    account(q, q->queued_bytes + length, true);
    return MD_OK;
}

size_t rssl_outq_gather(struct rssl_outq *q, struct md_slice *slices, size_t max)
{
    size_t count = 0;

    close_frame(q);
    for (struct rssl_chunk *chunk = q->head; chunk && count < max; chunk = chunk->next) {
        if (chunk->start == chunk->end)
            continue;
        slices[count].bytes = chunk->bytes + chunk->start;
        slices[count].length = chunk->end - chunk->start;
        count++;
    }
    return count;
}

void rssl_outq_sent(struct rssl_outq *q, size_t length)
{
    uint64_t left = q->queued_bytes - length;

    if (length == 0)
        return;
    MD_ASSERT(!q->frame && length <= q->queued_bytes);
    q->stats.flush_count++;
    q->stats.wire_bytes += length;
    while (length > 0) {
        struct rssl_chunk *chunk = q->head;

        MD_ASSERT(chunk); /* as many bytes are queued as were sent */
        size_t here = chunk->end - chunk->start;
        if (length < here) {
            chunk->start += (uint32_t)length;
            break;
        }
        length -= here;
        q->head = chunk->next;
        if (!q->head)
            q->tail = NULL;
        rssl_pool_give(q->pool, chunk);
    }
    drop_empty_tail(q);
    account(q, left, true);
    tell_pressure(q);
}
