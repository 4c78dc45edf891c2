/* output.c - messages packed into frames, frames laid end to end. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/writer.h"
#include "conn.h"

#define NO_FRAME    UINT32_MAX
#define IDLE_MAX    256u
#define SHORT_HEAD  4u /* of a frame up to 65535 bytes; moved down by 2 below 126 */
#define VITAL_SHARE 8u /* this share of the queue is kept for what may not be lost */
#define FIN         0x80

/* ---- chunks ---- */

int ws_pool_create(const struct ws_pool_config *config, struct ws_pool **out)
{
    *out = calloc(1, sizeof(**out));
    if (!*out)
        return MD_ERR_NOMEM;
    (*out)->output.max = config->output_bytes;
    (*out)->output.share_max = config->output_share_max;
    (*out)->input.max = config->input_bytes;
    (*out)->input.share_max = config->input_share_max;
    return MD_OK;
}

uint64_t ws_pool_refused(const struct ws_pool *pool)
{
    return pool->output.refused + pool->input.refused;
}

void ws_pool_destroy(struct ws_pool *pool)
{
    while (pool && pool->idle) {
        struct ws_chunk *chunk = pool->idle;
        pool->idle = chunk->next;
        free(chunk);
    }
    free(pool);
}

/* The pool counts the bytes that a connection holds beyond its own share. */
static uint64_t beyond(const struct ws_conn *conn, uint64_t held)
{
    return held > conn->config.guaranteed ? held - conn->config.guaranteed : 0;
}

static bool hold(struct ws_conn *conn, uint64_t held)
{
    if (!md_room_move(&conn->pool->output, &conn->shares, beyond(conn, conn->held),
                      beyond(conn, held)))
        return false;
    conn->held = held;
    return true;
}

static struct ws_chunk *take_chunk(struct ws_conn *conn, size_t wanted)
{
    struct ws_pool *pool = conn->pool;
    size_t size = wanted <= WS_CHUNK_SIZE ? WS_CHUNK_SIZE : wanted;
    struct ws_chunk *chunk = pool->idle;

    if (!hold(conn, conn->held + size))
        return NULL;
    if (size == WS_CHUNK_SIZE && chunk) {
        pool->idle = chunk->next;
        pool->idle_count--;
    } else {
        chunk = malloc(sizeof(*chunk) + size);
        if (!chunk) {
            hold(conn, conn->held - size);
            return NULL;
        }
        chunk->size = (uint32_t)size;
    }
    chunk->next = NULL;
    chunk->begin = chunk->end = 0;
    return chunk;
}

static void give_chunk(struct ws_conn *conn, struct ws_chunk *chunk)
{
    struct ws_pool *pool = conn->pool;

    hold(conn, conn->held - chunk->size);
    if (chunk->size > WS_CHUNK_SIZE || pool->idle_count == IDLE_MAX) {
        free(chunk);
        return;
    }
    chunk->next = pool->idle;
    pool->idle = chunk;
    pool->idle_count++;
}

static bool add_chunk(struct ws_conn *conn, size_t size)
{
    struct ws_chunk *chunk = take_chunk(conn, size);

    if (!chunk)
        return false;
    if (conn->tail)
        conn->tail->next = chunk;
    else
        conn->head = chunk;
    conn->tail = chunk;
    return true;
}

static size_t left(const struct ws_chunk *chunk)
{
    return chunk ? chunk->size - chunk->end : 0;
}

void ws_out_clear(struct ws_conn *conn)
{
    while (conn->head) {
        struct ws_chunk *chunk = conn->head;
        conn->head = chunk->next;
        give_chunk(conn, chunk);
    }
    conn->tail = NULL;
    conn->page = (struct md_slice){ 0 };
    conn->frame = NO_FRAME;
    conn->queued = 0;
}

/* ---- frames ---- */

/* Writes the head in front of the payload that begins at `payload`; returns where it begins. */
static uint32_t write_head(uint8_t *bytes, uint32_t payload, uint32_t length)
{
    uint8_t *p = bytes + payload;

    if (length < 126) {
        p -= 2;
        p[1] = (uint8_t)length;
    } else if (length <= UINT16_MAX) {
        p -= 4;
        p[1] = 126;
        md_put_be16(p + 2, (uint16_t)length);
    } else {
        p -= 10;
        p[1] = 127;
        md_put_be64(p + 2, length);
    }
    p[0] = FIN | WS_TEXT;
    return (uint32_t)(p - bytes);
}

void ws_out_end_frame(struct ws_conn *conn)
{
    struct ws_chunk *chunk = conn->tail;
    uint32_t frame = conn->frame;

    if (frame == NO_FRAME)
        return;
    conn->frame = NO_FRAME;
    chunk->bytes[chunk->end++] = ']';
    uint32_t head = chunk->size > WS_CHUNK_SIZE ? WS_HEAD_MAX : SHORT_HEAD;
    uint32_t length = chunk->end - frame - head;
    uint32_t start = write_head(chunk->bytes, frame + head, length);
    /* The head is shorter than its room: a large frame is alone in its chunk, a small one moves. */
    if (chunk->size > WS_CHUNK_SIZE)
        chunk->begin = start;
    else if (start > frame)
        memmove(chunk->bytes + frame, chunk->bytes + start, chunk->end - start);
    if (chunk->size <= WS_CHUNK_SIZE)
        chunk->end -= start - frame;
    conn->queued -= start - frame;
    conn->stats.frames_out++;
}

static bool start_frame(struct ws_conn *conn, size_t length)
{
    size_t need = SHORT_HEAD + length + 2;

    if (need > WS_CHUNK_SIZE)
        need = WS_HEAD_MAX + length + 2;
    if ((left(conn->tail) < need || conn->tail->size > WS_CHUNK_SIZE) && !add_chunk(conn, need))
        return false;
    struct ws_chunk *chunk = conn->tail;
    uint32_t head = chunk->size > WS_CHUNK_SIZE ? WS_HEAD_MAX : SHORT_HEAD;
    conn->frame = chunk->end;
    chunk->end += head;
    chunk->bytes[chunk->end++] = '[';
    conn->queued += head + 2;
    return true;
}

uint8_t *ws_out_reserve(struct ws_conn *conn, size_t length, bool is_vital)
{
    uint32_t max = conn->config.queue_max;
    bool is_empty = conn->queued == 0;

    if (!is_vital)
        max -= max / VITAL_SHARE;
    if (conn->phase != WS_OPEN || length > UINT32_MAX / 2)
        return NULL;
    /* An empty queue takes any message: it could never go out otherwise. */
    if (conn->queued + length > max && !is_empty) {
        conn->stats.full_count++;
        return NULL;
    }
    if (conn->frame != NO_FRAME && left(conn->tail) < length + 2)
        ws_out_end_frame(conn);
    if (conn->frame == NO_FRAME && !start_frame(conn, length)) {
        conn->stats.full_count++;
        return NULL;
    }
    struct ws_chunk *chunk = conn->tail;
    return chunk->bytes + chunk->end + (chunk->bytes[chunk->end - 1] != '[');
}

void ws_out_commit(struct ws_conn *conn, size_t length)
{
    struct ws_chunk *chunk = conn->tail;

    if (chunk->bytes[chunk->end - 1] != '[') {
        chunk->bytes[chunk->end++] = ',';
        conn->queued++;
    }
    chunk->end += (uint32_t)length;
    conn->queued += (uint32_t)length;
    conn->stats.messages_out++;
}

bool ws_out_raw(struct ws_conn *conn, const uint8_t *bytes, size_t length)
{
    ws_out_end_frame(conn);
    if ((left(conn->tail) < length || conn->tail->size > WS_CHUNK_SIZE) && !add_chunk(conn, length))
        return false;
    memcpy(conn->tail->bytes + conn->tail->end, bytes, length);
    conn->tail->end += (uint32_t)length;
    conn->queued += (uint32_t)length;
    return true;
}

bool ws_out_control(struct ws_conn *conn, enum ws_opcode opcode, const uint8_t *bytes,
                    size_t length)
{
    uint8_t frame[2 + WS_CONTROL_MAX] = { (uint8_t)(FIN | opcode), (uint8_t)length };

    if (length)
        memcpy(frame + 2, bytes, length);
    return ws_out_raw(conn, frame, length + 2);
}

void ws_out_page(struct ws_conn *conn, struct md_slice page)
{
    conn->page = page;
    conn->queued += (uint32_t)page.length;
}

/* ---- to the stream ---- */

void ws_end(struct ws_conn *conn, const char *reason)
{
    if (conn->phase == WS_CLOSING)
        return;
    conn->phase = WS_CLOSING;
    conn->reason = reason;
}

size_t ws_output(struct ws_conn *conn, struct md_slice *slices, size_t max)
{
    size_t count = 0;

    ws_out_end_frame(conn);
    for (struct ws_chunk *c = conn->head; c && count < max; c = c->next) {
        if (c->end > c->begin)
            slices[count++] = (struct md_slice){ c->bytes + c->begin, c->end - c->begin };
    }
    if (conn->page.length && count < max)
        slices[count++] = conn->page;
    return count;
}

void ws_sent(struct ws_conn *conn, size_t length)
{
    conn->stats.bytes_out += length;
    conn->queued -= (uint32_t)length;
    if (conn->stats.bytes_out >= conn->pongs_end)
        conn->pongs_queued = 0;
    while (conn->head) {
        struct ws_chunk *chunk = conn->head;
        size_t taken = chunk->end - chunk->begin < length ? chunk->end - chunk->begin : length;

        chunk->begin += (uint32_t)taken;
        length -= taken;
        if (chunk->begin < chunk->end)
            return;
        conn->head = chunk->next;
        give_chunk(conn, chunk);
    }
    conn->tail = NULL;
    if (length) {
        conn->page.bytes += length;
        conn->page.length -= length;
    }
}

bool ws_has_output(const struct ws_conn *conn)
{
    return conn->queued > 0;
}

uint32_t ws_queued(const struct ws_conn *conn)
{
    return conn->queued;
}

uint32_t ws_queue_max(const struct ws_conn *conn)
{
    return conn->config.queue_max;
}
