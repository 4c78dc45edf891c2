/* test_ws_queue.c - what WebSocket connections may queue: each its own share, the rest shared. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "ws/ws.h"

#define OWN     100000u
#define SHARED  50000u
#define MESSAGE 1000u

static void opened(void *owner)
{
    (void)owner;
}

static bool message(void *owner, const uint8_t *text, size_t length)
{
    (void)owner;
    (void)text;
    (void)length;
    return true;
}

static const struct ws_owner_ops ops = { .opened = opened, .message = message };

static void drain(struct ws_conn *conn)
{
    struct md_slice slices[16];

    for (size_t count; (count = ws_output(conn, slices, 16)) > 0;) {
        size_t total = 0;

        for (size_t i = 0; i < count; i++)
            total += slices[i].length;
        ws_sent(conn, total);
    }
}

static struct ws_conn *come(struct ws_pool *pool)
{
    static const char handshake[] =
        "GET /WebSocket HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Protocol: tr_json2\r\n\r\n";
    const struct ws_config config = {
        .path = "/WebSocket",
        .protocols = "tr_json2",
        .allowed_origins = "",
        .message_max = 4096,
        .queue_max = 10 * OWN,
        .guaranteed = OWN,
        .handshake_ns = 1000000000,
    };
    uint8_t bytes[sizeof(handshake)];
    struct ws_conn *conn;

    assert_int_equal(ws_create(&config, pool, 1, &ops, NULL, &conn), MD_OK);
    memcpy(bytes, handshake, sizeof(bytes));
    ws_input(conn, 1, bytes, sizeof(bytes) - 1);
    assert_true(ws_is_open(conn));
    drain(conn);
    return conn;
}

/* Bytes that it took. */
static uint32_t fill(struct ws_conn *conn)
{
    uint8_t *room;

    while ((room = ws_out_reserve(conn, MESSAGE, false))) {
        memset(room, ' ', MESSAGE);
        ws_out_commit(conn, MESSAGE);
    }
    return ws_queued(conn);
}

static void what_one_connection_queues_leaves_the_others_their_share(void **state)
{
    struct ws_pool *pool;

    (void)state;
    assert_int_equal(ws_pool_create(SHARED, &pool), MD_OK);
    struct ws_conn *greedy = come(pool);
    struct ws_conn *other = come(pool);
    assert_in_range(fill(greedy), OWN, OWN + SHARED);
    assert_in_range(fill(other), OWN * 3 / 4, OWN + SHARED);
    drain(greedy);
    assert_in_range(fill(other), OWN, OWN + SHARED); /* what was shared is there again */
    assert_in_range(fill(greedy), OWN * 3 / 4, OWN + SHARED);
    ws_destroy(greedy);
    drain(other);
    assert_in_range(fill(other), OWN, OWN + SHARED);
    ws_destroy(other);
    ws_pool_destroy(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_one_connection_queues_leaves_the_others_their_share),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
