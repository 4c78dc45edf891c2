/* test_ws.c - a connection of WebSocket: answers to pings, and no room for the handshake. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "ws/ws.h"

#define SLICES 8

static void opened(void *owner)
{
    *(bool *)owner = true;
}

static bool message(void *owner, const uint8_t *text, size_t length)
{
    (void)owner;
    (void)text;
    (void)length;
    return true;
}

/* A connection whose handshake was read; the pool holds `pool_bytes`. */
static struct ws_conn *connection(struct ws_pool **pool, uint64_t pool_bytes, bool *is_open)
{
    static const char request[] =
        "GET /WebSocket HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Protocol: tr_json2\r\n\r\n";
    static const struct ws_owner_ops ops = { .opened = opened, .message = message };
    const struct ws_config config = {
        .path = "/WebSocket",
        .protocols = "tr_json2",
        .allowed_origins = "",
        .message_max = 1000,
        .queue_max = 1000000,
        .handshake_ns = 10,
    };
    uint8_t bytes[sizeof(request)];
    struct ws_conn *conn;

    *is_open = false;
    assert_int_equal(ws_pool_create(&(struct ws_pool_config){ .output_bytes = pool_bytes }, pool),
                     MD_OK);
    assert_int_equal(ws_create(&config, *pool, 0, &ops, is_open, &conn), MD_OK);
    memcpy(bytes, request, sizeof(bytes));
    ws_input(conn, 1, bytes, sizeof(bytes) - 1);
    return conn;
}

static void ping(struct ws_conn *conn)
{
    uint8_t frame[6 + 100] = { 0x89, 0x80 | 100 };

    ws_input(conn, 2, frame, sizeof(frame));
}

static void say(struct ws_conn *conn)
{
    uint8_t *room = ws_out_reserve(conn, 2, false);

    assert_non_null(room);
    memcpy(room, "{}", 2);
    ws_out_commit(conn, 2);
}

/* All but the last byte goes out, as to a peer that reads slower than we write. */
static size_t send_but_one(struct ws_conn *conn)
{
    struct md_slice slices[SLICES];
    size_t count = ws_output(conn, slices, SLICES);
    size_t total = 0;

    for (size_t i = 0; i < count; i++)
        total += slices[i].length;
    ws_sent(conn, total - 1);
    return total - 1;
}

static void each_ping_is_answered_though_the_queue_never_runs_empty(void **state)
{
    struct ws_pool *pool;
    bool is_open;
    struct ws_conn *conn = connection(&pool, 0, &is_open);
    size_t sent = 0;

    (void)state;
    assert_true(is_open);
    send_but_one(conn);
    for (int i = 0; i < 200; i++) {
        ping(conn);
        say(conn);
        sent += send_but_one(conn);
    }
    assert_int_equal(sent, 200 * (2 + 100 + 2 + 4));
    ws_destroy(conn);
    ws_pool_destroy(pool);
}

static void no_more_pongs_wait_than_a_few_kilobytes(void **state)
{
    struct ws_pool *pool;
    bool is_open;
    struct ws_conn *conn = connection(&pool, 0, &is_open);

    (void)state;
    for (int i = 0; i < 1000; i++)
        ping(conn);
    assert_in_range(ws_queued(conn), 4096, 5000);
    ws_destroy(conn);
    ws_pool_destroy(pool);
}

static void a_connection_ends_when_there_is_no_memory_to_answer_its_request(void **state)
{
    struct ws_pool *pool;
    bool is_open;
    struct ws_conn *conn = connection(&pool, 1, &is_open);

    (void)state;
    assert_false(is_open);
    assert_true(ws_is_finished(conn));
    assert_string_equal(ws_reason(conn), "no memory for the answer to its request");
    ws_destroy(conn);
    ws_pool_destroy(pool);
}

/* ---- the page ---- */

static const uint8_t page_text[] = "<title>page</title>";
static const struct ws_page page = {
    .body = { page_text, sizeof(page_text) - 1 },
    .headers = "X-Ours: yes\r\n",
};

/* The answer to a request at the loopback; each slice is taken in two parts. */
static void answer(const char *request, const char *allowed, const struct ws_page *served,
                   char out[4096])
{
    static const struct ws_owner_ops ops = { .opened = opened, .message = message };
    const struct ws_config config = {
        .path = "/WebSocket",
        .protocols = "tr_json2",
        .allowed_origins = allowed,
        .page = served,
        .is_loopback = true,
        .message_max = 1000,
        .queue_max = 1000000,
        .handshake_ns = 10,
    };
    struct ws_pool *pool;
    struct ws_conn *conn;
    struct md_slice slices[SLICES];
    uint8_t bytes[1024];
    bool is_open = false;
    size_t length = 0;

    assert_int_equal(ws_pool_create(&(struct ws_pool_config){ 0 }, &pool), MD_OK);
    assert_int_equal(ws_create(&config, pool, 0, &ops, &is_open, &conn), MD_OK);
    memcpy(bytes, request, strlen(request));
    ws_input(conn, 1, bytes, strlen(request));
    while (ws_output(conn, slices, SLICES) > 0) {
        size_t part = (slices[0].length + 1) / 2;
        memcpy(out + length, slices[0].bytes, part);
        length += part;
        ws_sent(conn, part);
    }
    out[length] = 0;
    assert_true(is_open || ws_is_finished(conn));
    ws_destroy(conn);
    ws_pool_destroy(pool);
}

static void browsers_get_the_page_and_the_connection_ends(void **state)
{
    char text[4096];

    (void)state;
    answer("GET /?x=1 HTTP/1.1\r\nHost: localhost:15000\r\n\r\n", "", &page, text);
    assert_ptr_equal(strstr(text, "HTTP/1.1 200 OK\r\n"), text);
    assert_non_null(strstr(text, "\r\nContent-Length: 19\r\n"));
    assert_non_null(strstr(text, "\r\nX-Ours: yes\r\n\r\n<title>page</title>"));
    answer("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "", NULL, text);
    assert_ptr_equal(strstr(text, "HTTP/1.1 404 "), text);
    answer("POST / HTTP/1.1\r\nHost: localhost\r\n\r\n", "", &page, text);
    assert_ptr_equal(strstr(text, "HTTP/1.1 405 "), text);
}

static void a_name_that_leads_to_the_loopback_gets_nothing(void **state)
{
    static const struct {
        const char *host, *allowed, *status;
    } cases[] = {
        { "localhost", "", "200" },
        { "LOCALHOST:15000", "", "200" },
        { "127.0.0.1:15000", "", "200" },
        { "[::1]:15000", "", "200" },
        { "evil.example:15000", "", "403" },
        { "127.0.0.1.evil.example", "", "403" },
        { "localhost.evil.example", "", "403" },
        { ":15000", "", "403" },
        { "desk.example:15000", "http://other http://desk.example:15000", "200" },
        { "desk.example", "http://desk.example:15000", "403" },
        { "any.example", "*", "200" },
    };
    char request[512], text[4096], wanted[32];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(request, sizeof(request), "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", cases[i].host);
        snprintf(wanted, sizeof(wanted), "HTTP/1.1 %s ", cases[i].status);
        answer(request, cases[i].allowed, &page, text);
        assert_ptr_equal(strstr(text, wanted), text);
        /* The page of a foreign name has an origin that equals its Host. */
        snprintf(request, sizeof(request),
                 "GET /WebSocket HTTP/1.1\r\nHost: %s\r\nOrigin: http://%s\r\n"
                 "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                 "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                 "Sec-WebSocket-Protocol: tr_json2\r\n\r\n",
                 cases[i].host, cases[i].host);
        snprintf(wanted, sizeof(wanted), "HTTP/1.1 %s ",
                 cases[i].status[0] == '2' ? "101" : cases[i].status);
        answer(request, cases[i].allowed, &page, text);
        assert_ptr_equal(strstr(text, wanted), text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_ping_is_answered_though_the_queue_never_runs_empty),
        cmocka_unit_test(no_more_pongs_wait_than_a_few_kilobytes),
        cmocka_unit_test(a_connection_ends_when_there_is_no_memory_to_answer_its_request),
        cmocka_unit_test(browsers_get_the_page_and_the_connection_ends),
        cmocka_unit_test(a_name_that_leads_to_the_loopback_gets_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
