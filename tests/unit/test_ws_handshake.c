/* test_ws_handshake.c - which requests are let in, and what the others are told. */
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

#define KEY      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
#define UPGRADE  "Upgrade: websocket\r\nConnection: Upgrade\r\n"
#define VERSION  "Sec-WebSocket-Version: 13\r\n"
#define PROTOCOL "Sec-WebSocket-Protocol: tr_json2\r\n"
#define REST     UPGRADE KEY VERSION PROTOCOL
#define PATH     "GET /WebSocket HTTP/1.1\r\n"

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

struct fixture {
    struct ws_pool *pool;
    struct ws_conn *conn;
    char answer[2048];
};

static struct ws_conn *come(struct fixture *f, const char *allowed, const char *refusal)
{
    static const struct ws_owner_ops ops = { .opened = opened, .message = message };
    const struct ws_config config = {
        .path = "/WebSocket",
        .protocols = "tr_json2 rssl.json.v2",
        .allowed_origins = allowed,
        .refusal = refusal,
        .message_max = 1000,
        .queue_max = 100000,
        .handshake_ns = 10,
    };

    assert_int_equal(ws_pool_create(&(struct ws_pool_config){ 0 }, &f->pool), MD_OK);
    assert_int_equal(ws_create(&config, f->pool, 0, &ops, NULL, &f->conn), MD_OK);
    return f->conn;
}

static void go(struct fixture *f)
{
    ws_destroy(f->conn);
    ws_pool_destroy(f->pool);
}

/* What it has said so far, as a text. */
static const char *answer_of(struct fixture *f)
{
    struct md_slice slice;
    size_t length = 0;

    if (ws_output(f->conn, &slice, 1) == 1) {
        length = slice.length < sizeof(f->answer) ? slice.length : sizeof(f->answer) - 1;
        memcpy(f->answer, slice.bytes, length);
    }
    f->answer[length] = 0;
    return f->answer;
}

/* The status of the answer to a request; 0: there is none yet. */
static int ask_as(struct fixture *f, const char *allowed, const char *request)
{
    static uint8_t bytes[20000];
    size_t length = strlen(request);
    int status = 0;

    assert_true(length < sizeof(bytes));
    memcpy(bytes, request, length);
    ws_input(come(f, allowed, NULL), 1, bytes, length);
    sscanf(answer_of(f), "HTTP/1.1 %d", &status);
    assert_true(ws_is_open(f->conn) == (status == 101));
    return status;
}

static int status_of(const char *allowed, const char *request)
{
    struct fixture f;
    int status = ask_as(&f, allowed, request);

    go(&f);
    return status;
}

static void a_page_of_another_origin_is_let_in_only_by_name(void **state)
{
    static const struct {
        const char *allowed, *headers;
        int status;
    } cases[] = {
        { "", "Host: h:15000\r\n", 101 },
        { "", "Host: h:15000\r\nOrigin: http://h:15000\r\n", 101 },
        { "", "Host: H:15000\r\nOrigin: https://h:15000\r\n", 101 },
        { "", "Host: h:15000\r\nOrigin: http://h:15001\r\n", 403 },
        { "", "Host: h:15000\r\nOrigin: http://h\r\n", 403 },
        { "", "Host: h:15000\r\nOrigin: http://evil.example\r\n", 403 },
        { "", "Host: h:15000\r\nOrigin: null\r\n", 403 },
        { "", "Host: h:15000\r\nOrigin: http://\r\n", 403 },
        { "", "Origin: http://\r\n", 403 },
        { "", "Host:\r\nOrigin: http://\r\n", 403 },
        { "", "Origin: http://h\r\n", 403 },
        { "https://one.example null", "Host: h\r\nOrigin: null\r\n", 101 },
        { "https://one.example", "Host: h\r\nOrigin: https://one.example\r\n", 101 },
        { "https://one.example", "Host: h\r\nOrigin: http://one.example\r\n", 403 },
        { "https://one.example", "Host: h\r\nOrigin: https://one.example.evil\r\n", 403 },
        { "*", "Host: h\r\nOrigin: http://evil.example\r\n", 101 },
        { "*", "Origin: http://\r\n", 101 },
    };
    char request[1024];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(request, sizeof(request), PATH "%s" REST "\r\n", cases[i].headers);
        if (status_of(cases[i].allowed, request) != cases[i].status)
            fail_msg("%s with \"%s\" is not answered by %d", cases[i].headers, cases[i].allowed,
                     cases[i].status);
    }
}

static void each_mistake_has_its_status_of_http(void **state)
{
    static const struct {
        const char *request;
        int status;
    } cases[] = {
        { PATH REST "\r\n", 101 },
        { "GET /websocket/?x=1 HTTP/1.1\r\n" REST "\r\n", 101 },
        { "GET /a/WebSocket HTTP/1.1\r\n" REST "\r\n", 404 },
        { "GET / HTTP/1.1\r\n" REST "\r\n", 404 },
        { "POST /WebSocket HTTP/1.1\r\n" REST "\r\n", 405 },
        { "GET /WebSocket\r\n" REST "\r\n", 400 },
        { "GET /WebSocket SPDY/99\r\n" REST "\r\n", 400 },
        { PATH "a line without a colon\r\n" REST "\r\n", 400 },
        { PATH KEY VERSION PROTOCOL "\r\n", 426 },
        { PATH UPGRADE KEY PROTOCOL "\r\n", 426 },
        { PATH UPGRADE KEY "Sec-WebSocket-Version: 8\r\n" PROTOCOL "\r\n", 426 },
        { PATH UPGRADE VERSION PROTOCOL "\r\n", 400 },
        { PATH UPGRADE VERSION PROTOCOL "Sec-WebSocket-Key: short\r\n\r\n", 400 },
        { PATH UPGRADE KEY VERSION "\r\n", 400 },
        { PATH UPGRADE KEY VERSION "Sec-WebSocket-Protocol: rssl.rwf\r\n\r\n", 400 },
        { PATH UPGRADE KEY VERSION "Sec-WebSocket-Protocol: foo, TR_JSON2\r\n\r\n", 101 },
        { PATH REST "X", 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(status_of("", cases[i].request), cases[i].status);
}

static void the_answer_proves_that_the_key_was_read(void **state)
{
    struct fixture f;

    (void)state;
    assert_int_equal(ask_as(&f, "",
                            PATH UPGRADE KEY VERSION
                            "Sec-WebSocket-Extensions: "
                            "permessage-deflate\r\nSec-WebSocket-Protocol: RSSL.json.v2"
                            "\r\n\r\n"),
                     101);
    assert_non_null(strstr(f.answer, "\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
    assert_non_null(strstr(f.answer, "\r\nSec-WebSocket-Protocol: rssl.json.v2\r\n"));
    assert_null(strstr(f.answer, "Extensions")); /* compression is offered, and not taken up */
    go(&f);
}

static void a_request_without_an_end_is_answered_at_its_limits(void **state)
{
    char request[17000];
    struct fixture f;

    (void)state;
    memset(request, 'x', sizeof(request) - 1);
    memcpy(request, PATH "Cookie: ", sizeof(PATH "Cookie: ") - 1);
    request[sizeof(request) - 1] = 0;
    assert_int_equal(status_of("", request), 431);

    assert_int_equal(ask_as(&f, "", PATH "Host: h\r\n"), 0);
    assert_int_equal(ws_deadline(f.conn), 10);
    ws_tick(f.conn, 9);
    assert_string_equal(ws_reason(f.conn), "");
    ws_tick(f.conn, 10);
    assert_non_null(strstr(answer_of(&f), "HTTP/1.1 408 "));
    go(&f);
}

static void one_too_many_is_told_in_words(void **state)
{
    uint8_t request[] = PATH REST "\r\n";
    struct fixture f;

    (void)state;
    ws_input(come(&f, "", "Maximum number reached"), 1, request, sizeof(request) - 1);
    assert_non_null(strstr(answer_of(&f), "HTTP/1.1 503 Service Unavailable\r\n"));
    assert_non_null(strstr(f.answer, "\r\n\r\nMaximum number reached\n"));
    go(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_of_another_origin_is_let_in_only_by_name),
        cmocka_unit_test(each_mistake_has_its_status_of_http),
        cmocka_unit_test(the_answer_proves_that_the_key_was_read),
        cmocka_unit_test(a_request_without_an_end_is_answered_at_its_limits),
        cmocka_unit_test(one_too_many_is_told_in_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
