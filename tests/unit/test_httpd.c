/* test_httpd.c - requests in every shape, and a server that nobody can hold up. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "httpd/server.h"

/* ---- requests ---- */

static int parse(const char *text, struct http_request *request)
{
    return http_request_parse((const uint8_t *)text, strlen(text), request);
}

static void a_get_is_taken_apart(void **state)
{
    struct http_request request;
    const char *text =
        "GET /metrics?a=b HTTP/1.1\r\nHost:  localhost:80 \r\nAccept: */*\r\n\r\nrest";

    (void)state;
    assert_int_equal(parse(text, &request), HTTP_OK);
    assert_true(http_slice_is(request.path, "/metrics"));
    assert_true(http_slice_is(request.query, "a=b"));
    assert_true(http_slice_is(request.host, "localhost:80"));
    assert_true(request.keeps_alive);
    assert_false(request.is_head);
    assert_int_equal(request.length, strlen(text) - 4);
}

static void every_beginning_of_a_request_is_incomplete(void **state)
{
    const char *text = "\r\nHEAD http://h/x HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n";
    struct http_request request;

    (void)state;
    for (size_t i = 0; i < strlen(text); i++)
        assert_int_equal(http_request_parse((const uint8_t *)text, i, &request), HTTP_INCOMPLETE);
    assert_int_equal(parse(text, &request), HTTP_OK);
    assert_true(request.is_head && request.keeps_alive);
    assert_true(http_slice_is(request.host, "h"));
}

static void what_is_no_request_is_refused_with_its_reason(void **state)
{
    static const struct {
        int status;
        const char *text;
    } cases[] = {
        { 400, "GET /\r\n\r\n" },
        { 400, "GET  / HTTP/1.1\r\nHost: a\r\n\r\n" },
        { 400, "GET x HTTP/1.1\r\nHost: a\r\n\r\n" },
        { 400, "GET / HTTP/1.1\nHost: a\n\n" },
        { 400, "GET / HTTP/1.1\r\n\r\n" },
        { 400, "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n" },
        { 400, "GET / HTTP/1.1\r\nHost : a\r\n\r\n" },
        { 400, "GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n" },
        { 400, "GET / HTTP/1.1\r\nHost: a\x01\r\n\r\n" },
        { 400, "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n" },
        { 400, "GET http://host-without-a-path HTTP/1.1\r\nHost: a\r\n\r\n" },
        { 400, "G@T / HTTP/1.1\r\nHost: a\r\n\r\n" },
        { 405, "POST / HTTP/1.1\r\nHost: a\r\n\r\n" },
        { 405, "get / HTTP/1.1\r\nHost: a\r\n\r\n" },
        { 413, "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n" },
        { 413, "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" },
        { 505, "GET / HTTP/2.0\r\nHost: a\r\n\r\n" },
        { 400, "\x16\x03\x01\x02\r\n" },
    };
    struct http_request request;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (parse(cases[i].text, &request) != cases[i].status)
            fail_msg("%s: %d, wanted %d", cases[i].text, parse(cases[i].text, &request),
                     cases[i].status);
    }
}

static void a_connection_is_kept_as_the_client_says(void **state)
{
    struct http_request request;

    (void)state;
    assert_int_equal(parse("GET / HTTP/1.0\r\n\r\n", &request), HTTP_OK);
    assert_false(request.keeps_alive);
    assert_int_equal(parse("GET / HTTP/1.1\r\nHost: a\r\nConnection: x, CLOSE\r\n\r\n", &request),
                     HTTP_OK);
    assert_false(request.keeps_alive);
    assert_int_equal(parse("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", &request),
                     HTTP_OK);
    assert_true(request.keeps_alive);
}

static void only_addresses_and_localhost_are_literal_hosts(void **state)
{
    static const char *const good[] = { "localhost", "LOCALHOST:80", "127.0.0.1", "10.1.2.3:8080",
                                        "[::1]",     "[fe80::1]:80", "" };
    static const char *const bad[] = {
        "evil.example", "localhost.evil.example", "127.0.0.1.nip.io", "[evil]", "[::1", ":80"
    };

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_true(http_host_is_literal(
            (struct md_slice){ .bytes = (const uint8_t *)good[i], .length = strlen(good[i]) }));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(http_host_is_literal(
            (struct md_slice){ .bytes = (const uint8_t *)bad[i], .length = strlen(bad[i]) }));
}

/* ---- the server ---- */

#define BIG (8u << 20)

struct fixture {
    struct md_loop *loop;
    struct httpd *server;
    char output[BIG + 4096];
};

static void answer(void *owner, const struct http_request *request, struct http_answer *out)
{
    (void)owner;
    if (http_slice_is(request->path, "/big")) {
        char line[1024];
        memset(line, 'x', sizeof(line));
        for (size_t i = 0; i < BIG / sizeof(line); i++)
            http_answer_add_bytes(out, line, sizeof(line));
        return;
    }
    http_answer_add(out, "you asked for %.*s", (int)request->path.length,
                    (const char *)request->path.bytes);
}

static int start(struct fixture *f, uint32_t connections, uint64_t timeout_ns)
{
    struct httpd_config config = {
        .loop = f->loop,
        .address = "127.0.0.1",
        .connection_max = connections,
        .request_max = 512,
        .timeout_ns = timeout_ns,
        .answer = answer,
        .owner = f,
    };

    return httpd_open(&config, &f->server);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    *state = f;
    return !f || md_loop_create(0, &f->loop) != MD_OK;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    httpd_close(f->server);
    md_loop_destroy(f->loop);
    free(f);
    return 0;
}

static int dial(struct fixture *f)
{
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons(httpd_port(f->server)),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    return fd;
}

static void say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* Turns until `text` has come, or the connection was ended (true). */
static bool hear(struct fixture *f, int fd, const char *text)
{
    size_t length = 0;
    uint64_t until_ns = md_clock_mono_ns() + 20 * MD_NS_PER_S;

    f->output[0] = 0;
    while (md_clock_mono_ns() < until_ns) {
        assert_int_equal(md_loop_turn(f->loop, MD_NS_PER_MS), MD_OK);
        ssize_t got = recv(fd, f->output + length, sizeof(f->output) - 1 - length, 0);
        if (got == 0)
            return true;
        if (got < 0)
            continue;
        length += (size_t)got;
        f->output[length] = 0;
        if (text && strstr(f->output, text))
            return false;
    }
    fail_msg("nothing came; so far: %.300s", f->output);
    return false;
}

static void requests_are_answered_one_after_the_other(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(start(f, 4, 10 * MD_NS_PER_S), MD_OK);
    int fd = dial(f);
    say(fd, "GET /one HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_false(hear(f, fd, "you asked for /one"));
    assert_non_null(strstr(f->output, "HTTP/1.1 200 OK\r\n"));
    assert_non_null(strstr(f->output, "Content-Length: 18\r\n"));
    assert_non_null(strstr(f->output, "Content-Security-Policy: default-src 'none'"));
    say(fd, "GET /two HTTP/1.1\r\nHos");
    assert_int_equal(md_loop_turn(f->loop, 0), MD_OK);
    say(fd, "t: a\r\nConnection: close\r\n\r\n");
    assert_true(hear(f, fd, NULL));
    assert_non_null(strstr(f->output, "you asked for /two"));
    assert_int_equal(httpd_stats(f->server)->requests, 2);
    assert_int_equal(httpd_stats(f->server)->connections, 1);
    close(fd);
}

static void a_head_gets_the_head_alone(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(start(f, 4, 10 * MD_NS_PER_S), MD_OK);
    int fd = dial(f);
    say(fd, "HEAD /x HTTP/1.0\r\n\r\n");
    assert_true(hear(f, fd, NULL));
    assert_non_null(strstr(f->output, "Content-Length: 16\r\n"));
    assert_string_equal(strstr(f->output, "\r\n\r\n"), "\r\n\r\n");
    close(fd);
}

static void a_large_answer_waits_for_its_reader(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(start(f, 4, 10 * MD_NS_PER_S), MD_OK);
    int fd = dial(f);
    say(fd, "GET /big HTTP/1.0\r\n\r\n");
    for (int i = 0; i < 100; i++)
        assert_int_equal(md_loop_turn(f->loop, 0), MD_OK);
    assert_true(hear(f, fd, NULL));
    assert_int_equal(strlen(strstr(f->output, "\r\n\r\n") + 4), BIG);
    close(fd);
}

static void mistakes_are_told_and_end_the_connection(void **state)
{
    struct fixture *f = *state;
    char huge[2048];

    assert_int_equal(start(f, 4, 10 * MD_NS_PER_S), MD_OK);
    int fd = dial(f);
    say(fd, "PUT / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(hear(f, fd, NULL));
    assert_non_null(strstr(f->output, "HTTP/1.1 405 "));
    assert_non_null(strstr(f->output, "Allow: GET, HEAD\r\n"));
    close(fd);
    fd = dial(f);
    memset(huge, 'x', sizeof(huge));
    memcpy(huge, "GET /", 5);
    huge[sizeof(huge) - 1] = 0;
    say(fd, huge);
    assert_true(hear(f, fd, NULL));
    assert_non_null(strstr(f->output, "HTTP/1.1 431 "));
    close(fd);
}

static void one_who_sends_too_slowly_is_ended(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(start(f, 4, 50 * MD_NS_PER_MS), MD_OK);
    int fd = dial(f);
    say(fd, "GET / HTTP/1.1\r\nX: ");
    /* A byte now and then does not buy time. */
    uint64_t until_ns = md_clock_mono_ns() + 20 * MD_NS_PER_S;
    for (int i = 0; httpd_stats(f->server)->timeouts == 0 && md_clock_mono_ns() < until_ns; i++) {
        if (i < 300) /* less than the longest request */
            (void)send(fd, "x", 1, MSG_NOSIGNAL);
        assert_int_equal(md_loop_turn(f->loop, 5 * MD_NS_PER_MS), MD_OK);
    }
    assert_int_equal(httpd_stats(f->server)->timeouts, 1);
    close(fd);
    fd = dial(f); /* and one who says nothing, without a word */
    assert_true(hear(f, fd, NULL));
    assert_string_equal(f->output, "");
    close(fd);
}

static void one_who_does_not_read_is_ended(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(start(f, 4, 50 * MD_NS_PER_MS), MD_OK);
    int fd = dial(f);
    say(fd, "GET /big HTTP/1.1\r\nHost: a\r\n\r\n");
    uint64_t until_ns = md_clock_mono_ns() + 20 * MD_NS_PER_S;
    while (httpd_stats(f->server)->timeouts == 0 && md_clock_mono_ns() < until_ns)
        assert_int_equal(md_loop_turn(f->loop, 10 * MD_NS_PER_MS), MD_OK);
    assert_int_equal(httpd_stats(f->server)->timeouts, 1);
    assert_int_equal(httpd_stats(f->server)->connections_now, 0);
    close(fd);
}

static void connections_are_bounded_and_the_idlest_makes_room(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(start(f, 2, 10 * MD_NS_PER_S), MD_OK);
    int idle = dial(f), busy = dial(f);
    say(idle, "GET /idle HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_false(hear(f, idle, "/idle"));
    say(busy, "GET /busy HT");
    assert_int_equal(md_loop_turn(f->loop, MD_NS_PER_MS), MD_OK);
    int third = dial(f);
    say(third, "GET /third HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_false(hear(f, third, "/third"));
    assert_true(hear(f, idle, NULL)); /* that one went */
    say(third, "GET /");
    assert_int_equal(md_loop_turn(f->loop, MD_NS_PER_MS), MD_OK);
    int fourth = dial(f);
    assert_true(hear(f, fourth, NULL));
    assert_non_null(strstr(f->output, "HTTP/1.1 503 "));
    assert_int_equal(httpd_stats(f->server)->refused, 1);
    assert_int_equal(httpd_stats(f->server)->connections_now, 2);
    say(busy, "TP/1.1\r\nHost: a\r\n\r\n");
    assert_false(hear(f, busy, "/busy"));
    close(idle);
    close(busy);
    close(third);
    close(fourth);
}

static void a_port_that_is_taken_is_an_error(void **state)
{
    struct fixture *f = *state;
    struct httpd *second;

    assert_int_equal(start(f, 4, MD_NS_PER_S), MD_OK);
    struct httpd_config config = { .loop = f->loop,
                                   .address = "127.0.0.1",
                                   .port = httpd_port(f->server),
                                   .connection_max = 1,
                                   .request_max = 512,
                                   .timeout_ns = MD_NS_PER_S,
                                   .answer = answer };
    assert_int_equal(httpd_open(&config, &second), MD_ERR_SYS);
    assert_null(second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_get_is_taken_apart),
        cmocka_unit_test(every_beginning_of_a_request_is_incomplete),
        cmocka_unit_test(what_is_no_request_is_refused_with_its_reason),
        cmocka_unit_test(a_connection_is_kept_as_the_client_says),
        cmocka_unit_test(only_addresses_and_localhost_are_literal_hosts),
        cmocka_unit_test_setup_teardown(requests_are_answered_one_after_the_other, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_head_gets_the_head_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_large_answer_waits_for_its_reader, set_up, tear_down),
        cmocka_unit_test_setup_teardown(mistakes_are_told_and_end_the_connection, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(one_who_sends_too_slowly_is_ended, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_who_does_not_read_is_ended, set_up, tear_down),
        cmocka_unit_test_setup_teardown(connections_are_bounded_and_the_idlest_makes_room, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_port_that_is_taken_is_an_error, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
