/* conn.c - one connection: its life, and the frames that come in. See ws/ws.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/err.h"
#include "conn.h"

#define NO_FRAME   UINT32_MAX
#define MASK_SIZE  4u
#define PONGS_MAX  4096u /* bytes of pongs that wait; who pings more gets none */
#define HEADER_MIN 2u

int ws_create(const struct ws_config *config, struct ws_pool *pool, uint64_t now_ns,
              const struct ws_owner_ops *ops, void *owner, struct ws_conn **out)
{
    struct ws_conn *conn = calloc(1, sizeof(*conn));

    *out = conn;
    if (!conn)
        return MD_ERR_NOMEM;
    conn->config = *config;
    conn->pool = pool;
    conn->ops = ops;
    conn->owner = owner;
    conn->opened_ns = conn->heard_ns = now_ns;
    conn->frame = NO_FRAME;
    conn->reason = "";
    return MD_OK;
}

bool ws_hold_input(struct ws_conn *conn, uint64_t from, uint64_t to)
{
    uint64_t held = conn->input_held - from + to;

    if (!md_room_move(&conn->pool->input, &conn->input_shares, conn->input_held, held))
        return false;
    conn->input_held = held;
    return true;
}

static void drop(struct ws_conn *conn, struct ws_kept *kept)
{
    ws_hold_input(conn, kept->room, 0);
    free(kept->bytes);
    *kept = (struct ws_kept){ 0 };
}

static void drop_input(struct ws_conn *conn)
{
    drop(conn, &conn->kept);
    drop(conn, &conn->parts);
}

void ws_destroy(struct ws_conn *conn)
{
    if (!conn)
        return;
    drop_input(conn);
    ws_out_clear(conn);
    free(conn);
}

void ws_share_set(struct ws_conn *conn, size_t at, struct md_share *output, struct md_share *input)
{
    uint64_t beyond =
        conn->held > conn->config.guaranteed ? conn->held - conn->config.guaranteed : 0;

    md_shares_set(&conn->shares, at, output, beyond);
    md_shares_set(&conn->input_shares, at, input, conn->input_held);
}

void ws_close(struct ws_conn *conn, enum ws_close_code code, const char *reason)
{
    uint8_t body[WS_CONTROL_MAX] = { (uint8_t)(code >> 8), (uint8_t)code };
    size_t length = strlen(reason);

    if (conn->phase == WS_CLOSING)
        return;
    if (conn->phase == WS_OPEN) {
        if (length > sizeof(body) - 2)
            length = sizeof(body) - 2;
        for (size_t i = 0; i < length; i++)
            body[2 + i] = (uint8_t)reason[i];
        ws_out_control(conn, WS_CLOSE, body, length + 2);
    }
    ws_end(conn, reason);
}

/* ---- what is kept between two reads ---- */

static bool grow(struct ws_conn *conn, struct ws_kept *kept, size_t length)
{
    size_t wanted = kept->room ? kept->room * 2 : 256;

    while (wanted < length)
        wanted *= 2;
    if (!ws_hold_input(conn, kept->room, wanted))
        return false;
    uint8_t *grown = realloc(kept->bytes, wanted);
    if (!grown) {
        ws_hold_input(conn, wanted, kept->room);
        return false;
    }
    kept->bytes = grown;
    kept->room = wanted;
    return true;
}

static bool keep(struct ws_conn *conn, struct ws_kept *kept, const uint8_t *bytes, size_t count)
{
    if (kept->length + count > kept->room && !grow(conn, kept, kept->length + count))
        return false;
    if (count)
        memcpy(kept->bytes + kept->length, bytes, count);
    kept->length += count;
    return true;
}

/* ---- frames ---- */

struct frame {
    bool is_last;
    unsigned opcode;
    uint8_t *payload;
    size_t length;
    size_t size; /* with its head */
};

static void unmask(uint8_t *payload, size_t length, const uint8_t mask[MASK_SIZE])
{
    uint8_t key[MASK_SIZE];
    uint64_t wide;

    memcpy(key, mask, MASK_SIZE);
    memcpy(&wide, key, 4);
    memcpy((uint8_t *)&wide + 4, key, 4);
    size_t i = 0;
    for (; i + 8 <= length; i += 8) {
        uint64_t eight;
        memcpy(&eight, payload + i, 8);
        eight ^= wide;
        memcpy(payload + i, &eight, 8);
    }
    for (; i < length; i++)
        payload[i] ^= key[i % MASK_SIZE];
}

/* The rules that the head alone can break; they end the connection before its payload is there. */
static bool check_head(struct ws_conn *conn, const uint8_t *head, uint64_t length)
{
    unsigned opcode = head[0] & 0x0F;
    bool is_control = opcode >= WS_CLOSE;

    if (head[0] & 0x70)
        ws_close(conn, WS_CLOSE_PROTOCOL, "reserved bits are set");
    else if (!(head[1] & 0x80))
        ws_close(conn, WS_CLOSE_PROTOCOL, "a frame of the client is not masked");
    else if (opcode > WS_PONG || (opcode > WS_BINARY && opcode < WS_CLOSE))
        ws_close(conn, WS_CLOSE_PROTOCOL, "unknown kind of frame");
    else if (is_control && (length > WS_CONTROL_MAX || !(head[0] & 0x80)))
        ws_close(conn, WS_CLOSE_PROTOCOL, "a control frame is too long or in parts");
    else if (!is_control && (opcode == WS_CONTINUATION) != conn->has_parts)
        ws_close(conn, WS_CLOSE_PROTOCOL, "a frame is out of order");
    else if (length > conn->config.message_max ||
             (!is_control && conn->parts.length + length > conn->config.message_max))
        ws_close(conn, WS_CLOSE_TOO_BIG, "a message is longer than wsMaxMsgSize");
    else
        return true;
    return false;
}

/* False: the frame is not whole, or it broke a rule. */
static bool read_frame(struct ws_conn *conn, uint8_t *bytes, size_t length, struct frame *out)
{
    size_t head = HEADER_MIN;
    uint64_t payload;

    if (length < HEADER_MIN)
        return false;
    payload = bytes[1] & 0x7F;
    head += payload == 126 ? 2 : payload == 127 ? 8 : 0;
    if (length < head)
        return false;
    if (payload == 126)
        payload = md_be16(bytes + 2);
    else if (payload == 127)
        payload = md_be64(bytes + 2);
    if (!check_head(conn, bytes, payload))
        return false;
    if (length < head + MASK_SIZE + payload)
        return false;
    *out = (struct frame){
        .is_last = (bytes[0] & 0x80) != 0,
        .opcode = bytes[0] & 0x0F,
        .payload = bytes + head + MASK_SIZE,
        .length = (size_t)payload,
        .size = head + MASK_SIZE + (size_t)payload,
    };
    unmask(out->payload, out->length, bytes + head);
    return true;
}

static void take_control(struct ws_conn *conn, const struct frame *frame)
{
    if (frame->opcode == WS_CLOSE) {
        ws_close(conn, WS_CLOSE_GOING_AWAY, "closed by the client");
    } else if (frame->opcode == WS_PING && conn->pongs_queued < PONGS_MAX &&
               ws_out_control(conn, WS_PONG, frame->payload, frame->length)) {
        conn->pongs_queued += (uint32_t)frame->length + 2;
        conn->pongs_end = conn->stats.bytes_out + conn->queued;
    }
}

static void tell(struct ws_conn *conn, const uint8_t *text, size_t length)
{
    conn->stats.messages_in++;
    conn->is_paused = !conn->ops->message(conn->owner, text, length);
}

static void take_data(struct ws_conn *conn, const struct frame *frame)
{
    if (frame->opcode != WS_CONTINUATION && frame->is_last) {
        tell(conn, frame->payload, frame->length);
        return;
    }
    conn->has_parts = !frame->is_last;
    if (!keep(conn, &conn->parts, frame->payload, frame->length)) {
        ws_close(conn, WS_CLOSE_TOO_BIG, "no memory for a message in parts");
        return;
    }
    if (!frame->is_last)
        return;
    tell(conn, conn->parts.bytes, conn->parts.length);
    drop(conn, &conn->parts);
}

/* Returns how many bytes were whole frames. */
static size_t take_frames(struct ws_conn *conn, uint8_t *bytes, size_t length)
{
    size_t at = 0;
    struct frame frame;

    while (conn->phase == WS_OPEN && !conn->is_paused &&
           read_frame(conn, bytes + at, length - at, &frame)) {
        at += frame.size;
        if (frame.opcode >= WS_CLOSE)
            take_control(conn, &frame);
        else
            take_data(conn, &frame);
    }
    return at;
}

/* ---- the handshake ---- */

/* The bytes of the request with its empty line; 0: it is not whole. */
static size_t request_length(const uint8_t *bytes, size_t length)
{
    const uint8_t *end = memmem(bytes, length, "\r\n\r\n", 4);

    return end ? (size_t)(end - bytes) + 4 : 0;
}

static size_t take_request(struct ws_conn *conn, const uint8_t *bytes, size_t length)
{
    size_t request = request_length(bytes, length < WS_REQUEST_MAX ? length : WS_REQUEST_MAX);

    if (request == 0) {
        if (length >= WS_REQUEST_MAX)
            ws_refuse(conn, 431, "", "The request is longer than 16 KB");
        return 0;
    }
    if (ws_handshake(conn, bytes, request)) {
        conn->phase = WS_OPEN;
        conn->ops->opened(conn->owner);
    }
    return request;
}

/* ---- input ---- */

static size_t take(struct ws_conn *conn, uint8_t *bytes, size_t length)
{
    size_t taken = 0;

    if (conn->phase == WS_HANDSHAKE)
        taken = take_request(conn, bytes, length);
    if (conn->phase == WS_OPEN)
        taken += take_frames(conn, bytes + taken, length - taken);
    return conn->phase == WS_CLOSING ? length : taken;
}

static void take_kept(struct ws_conn *conn)
{
    struct ws_kept *kept = &conn->kept;
    size_t taken = take(conn, kept->bytes, kept->length);

    kept->length -= taken;
    if (kept->length)
        memmove(kept->bytes, kept->bytes + taken, kept->length);
}

/* A connection that is over, or has no half frame, holds no memory. */
static void tidy(struct ws_conn *conn)
{
    if (conn->phase == WS_CLOSING)
        drop_input(conn);
    else if (conn->kept.length == 0)
        drop(conn, &conn->kept);
}

void ws_input(struct ws_conn *conn, uint64_t now_ns, uint8_t *bytes, size_t length)
{
    size_t taken = 0;

    conn->heard_ns = now_ns;
    conn->stats.bytes_in += length;
    if (conn->phase == WS_CLOSING)
        return;
    if (conn->kept.length == 0 && !conn->is_paused)
        taken = take(conn, bytes, length);
    if (taken < length && !keep(conn, &conn->kept, bytes + taken, length - taken))
        ws_close(conn, WS_CLOSE_TOO_BIG, "no memory for a frame");
    else if (taken == 0 && conn->kept.length > length && !conn->is_paused)
        take_kept(conn);
    tidy(conn);
}

void ws_resume(struct ws_conn *conn, uint64_t now_ns)
{
    conn->heard_ns = now_ns;
    conn->is_paused = false;
    if (conn->phase == WS_OPEN && conn->kept.length)
        take_kept(conn);
    tidy(conn);
}

bool ws_is_paused(const struct ws_conn *conn)
{
    return conn->is_paused && conn->phase == WS_OPEN;
}

/* ---- state ---- */

const char *ws_reason(const struct ws_conn *conn)
{
    return conn->reason;
}

const char *ws_origin(const struct ws_conn *conn)
{
    return conn->origin;
}

bool ws_is_open(const struct ws_conn *conn)
{
    return conn->phase == WS_OPEN;
}

bool ws_is_finished(const struct ws_conn *conn)
{
    return conn->phase == WS_CLOSING && !ws_has_output(conn);
}

void ws_tick(struct ws_conn *conn, uint64_t now_ns)
{
    if (conn->phase == WS_HANDSHAKE && now_ns >= ws_deadline(conn))
        ws_refuse(conn, 408, "", "The request did not come in time");
}

uint64_t ws_deadline(const struct ws_conn *conn)
{
    return conn->phase == WS_HANDSHAKE ? conn->opened_ns + conn->config.handshake_ns : UINT64_MAX;
}

uint64_t ws_heard_ns(const struct ws_conn *conn)
{
    return conn->heard_ns;
}

const struct ws_stats *ws_conn_stats(const struct ws_conn *conn)
{
    return &conn->stats;
}
