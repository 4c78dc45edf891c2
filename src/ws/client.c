/* client.c - the client's connection: its life, and the frames of the server. See ws/client.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "client_handshake.h"

#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/err.h"
#include "base/writer.h"

#define HEADER_MIN 2u
#define PONGS_MAX  4096u /* bytes of output above which pings get no answer */

int ws_client_create(const struct ws_client_config *config, uint64_t now_ns,
                     const struct ws_client_ops *ops, void *owner, struct ws_client **out)
{
    struct ws_client *c = calloc(1, sizeof(*c));

    *out = NULL;
    if (!c)
        return MD_ERR_NOMEM;
    c->message_max = config->message_max;
    c->queue_max = config->queue_max;
    c->ops = ops;
    c->owner = owner;
    c->heard_ns = now_ns;
    c->deadline_ns = now_ns + config->handshake_ns;
    c->masks = md_prng_init(config->seed);
    int rc = ws_client_ask(c, config);
    if (rc != MD_OK) {
        ws_client_destroy(c);
        return rc;
    }
    *out = c;
    return MD_OK;
}

void ws_client_destroy(struct ws_client *c)
{
    if (!c)
        return;
    free(c->kept.bytes);
    free(c->parts.bytes);
    free(c->out.bytes);
    free(c);
}

/* ---- output ---- */

static int queue_frame(struct ws_client *c, unsigned opcode, const uint8_t *bytes, size_t length)
{
    uint8_t head[14] = { (uint8_t)(0x80 | opcode) };
    uint8_t mask[4];
    uint32_t random = md_prng_u32(&c->masks);
    size_t size = HEADER_MIN;

    if (length < 126) {
        head[1] = (uint8_t)(0x80 | length);
    } else if (length <= UINT16_MAX) {
        head[1] = 0x80 | 126;
        md_put_be16(head + 2, (uint16_t)length);
        size += 2;
    } else {
        head[1] = 0x80 | 127;
        md_put_be64(head + 2, length);
        size += 8;
    }
    memcpy(mask, &random, sizeof(mask));
    memcpy(head + size, mask, sizeof(mask));
    size += sizeof(mask);
    size_t waits = c->out.length - c->out.begin;
    if (length > c->queue_max || waits + size + length > c->queue_max)
        return MD_ERR_FULL;
    int rc = ws_client_keep(&c->out, SIZE_MAX / 2, head, size);
    if (rc == MD_OK)
        rc = ws_client_keep(&c->out, SIZE_MAX / 2, bytes, length);
    if (rc != MD_OK) {
        ws_client_end(c, "no memory for its output");
        return rc;
    }
    uint8_t *payload = c->out.bytes + c->out.length - length;
    for (size_t i = 0; i < length; i++)
        payload[i] ^= mask[i % sizeof(mask)];
    return MD_OK;
}

int ws_client_send(struct ws_client *c, const uint8_t *text, size_t length)
{
    return c->phase == WS_CLIENT_OPEN ? queue_frame(c, WS_TEXT, text, length) : MD_ERR_STATE;
}

void ws_client_close(struct ws_client *c, unsigned code, const char *reason)
{
    uint8_t body[WS_CONTROL_MAX] = { (uint8_t)(code >> 8), (uint8_t)code };
    size_t length = strlen(reason);

    if (c->phase == WS_CLIENT_CLOSING)
        return;
    if (length > sizeof(body) - 2)
        length = sizeof(body) - 2;
    for (size_t i = 0; i < length; i++)
        body[2 + i] = (uint8_t)reason[i];
    if (c->phase == WS_CLIENT_OPEN)
        (void)queue_frame(c, WS_CLOSE, body, length + 2);
    ws_client_end(c, "%s", reason);
}

struct md_slice ws_client_output(const struct ws_client *c)
{
    return (struct md_slice){ c->out.bytes ? c->out.bytes + c->out.begin : NULL,
                              c->out.length - c->out.begin };
}

void ws_client_sent(struct ws_client *c, size_t length)
{
    c->out.begin += length;
    if (c->out.begin >= c->out.length)
        c->out.begin = c->out.length = 0;
}

/* ---- frames ---- */

struct frame {
    bool is_last;
    unsigned opcode;
    const uint8_t *payload;
    size_t length;
    size_t size; /* with its head */
};

/* The rules that the head alone can break; they end the connection before its payload is there. */
static bool check_head(struct ws_client *c, const uint8_t *head, uint64_t length)
{
    unsigned opcode = head[0] & 0x0F;
    bool is_control = opcode >= WS_CLOSE;

    if (head[0] & 0x70)
        ws_client_close(c, WS_CLOSE_PROTOCOL, "reserved bits are set");
    else if (head[1] & 0x80)
        ws_client_close(c, WS_CLOSE_PROTOCOL, "a frame of the server is masked");
    else if (opcode > WS_PONG || (opcode > WS_BINARY && opcode < WS_CLOSE))
        ws_client_close(c, WS_CLOSE_PROTOCOL, "unknown kind of frame");
    else if (is_control && (length > WS_CONTROL_MAX || !(head[0] & 0x80)))
        ws_client_close(c, WS_CLOSE_PROTOCOL, "a control frame is too long or in parts");
    else if (!is_control && (opcode == WS_CONTINUATION) != c->has_parts)
        ws_client_close(c, WS_CLOSE_PROTOCOL, "a frame is out of order");
    else if (!is_control && (length > c->message_max || c->parts.length > c->message_max - length))
        ws_client_close(c, WS_CLOSE_TOO_BIG, "a message of the server is too long");
    else
        return true;
    return false;
}

/* False: the frame is not whole, or it broke a rule. */
static bool read_frame(struct ws_client *c, const uint8_t *bytes, size_t length, struct frame *out)
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
    if (!check_head(c, bytes, payload) || length - head < payload)
        return false;
    *out = (struct frame){
        .is_last = (bytes[0] & 0x80) != 0,
        .opcode = bytes[0] & 0x0F,
        .payload = bytes + head,
        .length = (size_t)payload,
        .size = head + (size_t)payload,
    };
    return true;
}

static void take_close(struct ws_client *c, const struct frame *frame)
{
    unsigned code = frame->length >= 2 ? md_be16(frame->payload) : 1005;
    int length = frame->length > 2 ? (int)frame->length - 2 : 0;

    (void)queue_frame(c, WS_CLOSE, frame->payload, frame->length >= 2 ? 2 : 0);
    ws_client_end(c, "closed by the server: %u%s%.*s", code, length ? " " : "", length,
                  (const char *)frame->payload + 2);
}

static void take_data(struct ws_client *c, const struct frame *frame)
{
    if (frame->opcode != WS_CONTINUATION && frame->is_last) {
        c->ops->message(c->owner, frame->payload, frame->length);
        return;
    }
    c->has_parts = !frame->is_last;
    if (ws_client_keep(&c->parts, c->message_max, frame->payload, frame->length) != MD_OK) {
        ws_client_close(c, WS_CLOSE_TOO_BIG, "no memory for a message in parts");
        return;
    }
    if (!frame->is_last)
        return;
    size_t length = c->parts.length;
    c->parts.length = 0;
    c->ops->message(c->owner, c->parts.bytes, length);
}

static size_t take_frames(struct ws_client *c, const uint8_t *bytes, size_t length)
{
    size_t at = 0;
    struct frame frame;

    while (c->phase == WS_CLIENT_OPEN && read_frame(c, bytes + at, length - at, &frame)) {
        at += frame.size;
        if (frame.opcode == WS_CLOSE)
            take_close(c, &frame);
        else if (frame.opcode == WS_PING && c->out.length - c->out.begin < PONGS_MAX)
            (void)queue_frame(c, WS_PONG, frame.payload, frame.length);
        else if (frame.opcode < WS_CLOSE)
            take_data(c, &frame);
    }
    return at;
}

static size_t take(struct ws_client *c, const uint8_t *bytes, size_t length)
{
    size_t taken = 0;

    if (c->phase == WS_CLIENT_HANDSHAKE) {
        taken = ws_client_answer(c, bytes, length);
        if (c->phase == WS_CLIENT_OPEN)
            c->ops->opened(c->owner);
    }
    if (c->phase == WS_CLIENT_OPEN)
        taken += take_frames(c, bytes + taken, length - taken);
    return taken;
}

void ws_client_input(struct ws_client *c, uint64_t now_ns, const uint8_t *bytes, size_t length)
{
    size_t taken = 0;

    c->heard_ns = now_ns;
    if (c->kept.length == 0)
        taken = take(c, bytes, length);
    if (c->phase == WS_CLIENT_CLOSING || taken == length)
        return;
    bool was_empty = c->kept.length == 0;
    /* A frame is judged by its head, so that what is kept is less than one frame and one read. */
    if (ws_client_keep(&c->kept, SIZE_MAX / 2, bytes + taken, length - taken) != MD_OK) {
        ws_client_close(c, WS_CLOSE_TOO_BIG, "no memory for a frame");
        return;
    }
    if (was_empty)
        return;
    taken = take(c, c->kept.bytes, c->kept.length);
    if (c->phase == WS_CLIENT_CLOSING)
        return;
    c->kept.begin = taken;
    if (taken == c->kept.length)
        c->kept.begin = c->kept.length = 0;
    else
        (void)ws_client_keep(&c->kept, SIZE_MAX / 2, NULL, 0);
}

/* ---- state ---- */

bool ws_client_is_open(const struct ws_client *c)
{
    return c->phase == WS_CLIENT_OPEN;
}

bool ws_client_is_finished(const struct ws_client *c)
{
    return c->phase == WS_CLIENT_CLOSING && c->out.begin == c->out.length;
}

const char *ws_client_reason(const struct ws_client *c)
{
    return c->reason;
}

void ws_client_tick(struct ws_client *c, uint64_t now_ns)
{
    if (c->phase == WS_CLIENT_HANDSHAKE && now_ns >= c->deadline_ns)
        ws_client_end(c, "no answer to the handshake");
}

uint64_t ws_client_deadline(const struct ws_client *c)
{
    return c->phase == WS_CLIENT_HANDSHAKE ? c->deadline_ns : UINT64_MAX;
}

uint64_t ws_client_heard_ns(const struct ws_client *c)
{
    return c->heard_ns;
}
