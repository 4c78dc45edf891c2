/* fuzz_ws_input.c - any bytes, in pieces of any size, are a handshake, frames, or the end. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "ws/ws.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MESSAGE_MAX 4096

static const struct ws_page page = { .body = { (const uint8_t *)"page", 4 }, .headers = "" };

struct owner {
    struct ws_conn *conn;
    bool is_open;
};

static void opened(void *self)
{
    struct owner *owner = self;

    owner->is_open = true;
}

static bool message(void *self, const uint8_t *text, size_t length)
{
    struct owner *owner = self;
    uint8_t sum = 0;

    if (!owner->is_open || length > MESSAGE_MAX)
        abort();
    for (size_t i = 0; i < length; i++)
        sum = (uint8_t)(sum + text[i]);
    uint8_t *room = ws_out_reserve(owner->conn, length + 1, sum & 1);
    if (!room)
        return true;
    memset(room, 'x', length + 1);
    ws_out_commit(owner->conn, length + 1);
    return sum % 5 != 0;
}

static void drain(struct ws_conn *conn)
{
    struct md_slice slices[4];
    size_t count = ws_output(conn, slices, 4);
    size_t total = 0;

    for (size_t i = 0; i < count; i++)
        total += slices[i].length;
    if (total == 0 && ws_has_output(conn))
        abort();
    ws_sent(conn, total);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char handshake[] =
        "GET /WebSocket HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Protocol: tr_json2\r\n\r\n";
    static const struct ws_owner_ops ops = { .opened = opened, .message = message };
    const struct ws_config config = {
        .path = "/WebSocket",
        .protocols = "tr_json2",
        .page = &page,
        .is_loopback = true,
        .allowed_origins = "",
        .message_max = MESSAGE_MAX,
        .queue_max = 20000,
        .handshake_ns = 10,
    };
    struct ws_pool *pool;
    struct owner owner = { 0 };

    if (size < 1 || ws_pool_create(&(struct ws_pool_config){ 0 }, &pool) != 0 ||
        ws_create(&config, pool, 0, &ops, &owner, &owner.conn) != 0)
        return 0;
    size_t piece = (size_t)(data[0] >> 1) + 1;
    uint8_t bytes[sizeof(handshake) + 128];
    if (data[0] & 1) {
        memcpy(bytes, handshake, sizeof(handshake) - 1);
        ws_input(owner.conn, 1, bytes, sizeof(handshake) - 1);
        if (!owner.is_open)
            abort();
    }
    for (size_t at = 1; at < size; at += piece) {
        size_t length = size - at < piece ? size - at : piece;

        memcpy(bytes, data + at, length);
        ws_input(owner.conn, 1, bytes, length);
        if (at % 3 == 0)
            drain(owner.conn);
        while (ws_is_paused(owner.conn) && at % 2)
            ws_resume(owner.conn, 2);
    }
    drain(owner.conn);
    ws_close(owner.conn, WS_CLOSE_NORMAL, "");
    while (ws_has_output(owner.conn))
        drain(owner.conn);
    if (!ws_is_finished(owner.conn))
        abort();
    ws_destroy(owner.conn);
    ws_pool_destroy(pool);
    return 0;
}
