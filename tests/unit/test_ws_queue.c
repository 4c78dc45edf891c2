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
    assert_int_equal(ws_pool_create(&(struct ws_pool_config){ .output_bytes = SHARED }, &pool),
                     MD_OK);
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

static void the_last_quarter_of_the_output_is_for_parties_that_have_little(void **state)
{
    const struct ws_pool_config config = { .output_bytes = 16 * OWN, .output_share_max = 2 * OWN };
    struct md_share parties[2] = { 0 };
    struct ws_pool *pool;

    (void)state;
    assert_int_equal(ws_pool_create(&config, &pool), MD_OK);
    struct ws_conn *greedy[2] = { come(pool), come(pool) };
    struct ws_conn *other = come(pool);
    for (int i = 0; i < 2; i++)
        ws_share_set(greedy[i], 0, &parties[0], NULL);
    ws_share_set(other, 0, &parties[1], NULL);
    assert_in_range(fill(greedy[0]) + fill(greedy[1]), 11 * OWN, 14 * OWN);
    assert_in_range(fill(other), 2 * OWN, 4 * OWN);
    assert_true(ws_pool_refused(pool) >= 2);
    drain(greedy[0]);
    assert_in_range(fill(other), 5 * OWN, 10 * OWN); /* the pool is not short any more */
    for (int i = 0; i < 2; i++)
        ws_destroy(greedy[i]);
    ws_destroy(other);
    assert_int_equal(atomic_load(&parties[0].bytes) + atomic_load(&parties[1].bytes), 0);
    ws_pool_destroy(pool);
}

/* A masked frame of 4,000 bytes, of which 3,000 come: the connection keeps 4 KB. */
static bool begins_a_message(struct ws_conn *conn)
{
    uint8_t bytes[3000] = { 0x81, 0x80 | 126, 4000 >> 8, 4000 & 255, 1, 2, 3, 4 };

    ws_input(conn, 1, bytes, sizeof(bytes));
    return ws_is_open(conn);
}

static void parts_of_messages_are_bounded_and_who_has_most_is_closed(void **state)
{
    const struct ws_pool_config config = { .input_bytes = 4 * 4096, .input_share_max = 4096 };
    struct md_share parties[2] = { 0 };
    struct ws_conn *conns[6];
    struct ws_pool *pool;

    (void)state;
    assert_int_equal(ws_pool_create(&config, &pool), MD_OK);
    for (int i = 0; i < 6; i++) {
        conns[i] = come(pool);
        ws_share_set(conns[i], 1, NULL, &parties[i / 4]);
    }
    for (int i = 0; i < 3; i++)
        assert_true(begins_a_message(conns[i]));
    assert_false(begins_a_message(conns[3])); /* the fourth of its party */
    assert_true(begins_a_message(conns[4]));
    assert_false(begins_a_message(conns[5])); /* nothing is left */
    ws_destroy(conns[5]);
    ws_destroy(conns[0]);
    conns[0] = come(pool);
    conns[5] = come(pool);
    assert_true(begins_a_message(conns[5]));
    assert_false(ws_hold_input(conns[5], 0, 4096)); /* what the owner keeps is counted, too */
    for (int i = 0; i < 6; i++)
        ws_destroy(conns[i]);
    assert_int_equal(atomic_load(&parties[0].bytes) + atomic_load(&parties[1].bytes), 0);
    ws_pool_destroy(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_one_connection_queues_leaves_the_others_their_share),
        cmocka_unit_test(the_last_quarter_of_the_output_is_for_parties_that_have_little),
        cmocka_unit_test(parts_of_messages_are_bounded_and_who_has_most_is_closed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
