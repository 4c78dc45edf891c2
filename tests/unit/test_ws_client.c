/* test_ws_client.c - the client of WebSocket, against our server and against bytes made by hand. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "ws/client.h"
#include "ws/ws.h"

#define TEXT_MAX 100000u

static const char answer[] = "HTTP/1.1 101 Switching Protocols\r\nupgrade: WebSocket\r\n"
                             "connection:upgrade\r\n"
                             "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
                             "Sec-WebSocket-Protocol: tr_json2\r\n\r\n";

struct seen {
    bool is_open;
    unsigned count;
    size_t length;
    uint8_t text[TEXT_MAX];
};

static void opened(void *self)
{
    ((struct seen *)self)->is_open = true;
}

static void note(void *self, const uint8_t *text, size_t length)
{
    struct seen *seen = self;

    assert_true(length <= TEXT_MAX);
    if (length)
        memcpy(seen->text, text, length);
    seen->length = length;
    seen->count++;
}

static bool server_note(void *self, const uint8_t *text, size_t length)
{
    note(self, text, length);
    return true;
}

static struct ws_client *client_of(struct seen *seen)
{
    static const struct ws_client_ops ops = { .opened = opened, .message = note };
    struct ws_client_config config = {
        .host = "localhost:15000",
        .path = "/WebSocket",
        .protocol = "tr_json2",
        .message_max = TEXT_MAX,
        .queue_max = TEXT_MAX,
        .handshake_ns = 100,
        .seed = 7,
    };
    struct ws_client *client;

    memset(seen, 0, sizeof(*seen));
    memcpy(config.key, "the sample nonce", sizeof(config.key));
    assert_int_equal(ws_client_create(&config, 0, &ops, seen, &client), MD_OK);
    return client;
}

static struct seen heard;

static struct ws_client *open_client(void)
{
    struct ws_client *client = client_of(&heard);

    ws_client_sent(client, ws_client_output(client).length);
    ws_client_input(client, 1, (const uint8_t *)answer, sizeof(answer) - 1);
    assert_true(heard.is_open);
    return client;
}

static void input(struct ws_client *client, const void *bytes, size_t length)
{
    ws_client_input(client, 2, bytes, length);
}

static void the_client_and_our_server_understand_each_other(void **state)
{
    static const struct ws_owner_ops ops = { .opened = opened, .message = server_note };
    static const size_t lengths[] = { 0, 1, 125, 126, 65535, 65536, 90000 };
    static struct seen served;
    static uint8_t text[TEXT_MAX], wire[TEXT_MAX + 4096];
    const struct ws_config config = {
        .path = "/WebSocket",
        .protocols = "tr_json2",
        .allowed_origins = "",
        .message_max = TEXT_MAX,
        .queue_max = 1000000,
        .handshake_ns = 10,
    };
    struct ws_client *client = client_of(&heard);
    struct md_slice slices[8];
    struct ws_pool *pool;
    struct ws_conn *conn;

    (void)state;
    memset(&served, 0, sizeof(served));
    assert_int_equal(ws_pool_create(&(struct ws_pool_config){ 0 }, &pool), MD_OK);
    assert_int_equal(ws_create(&config, pool, 0, &ops, &served, &conn), MD_OK);
    for (size_t i = 0; i <= sizeof(lengths) / sizeof(lengths[0]); i++) {
        struct md_slice out = ws_client_output(client);

        memcpy(wire, out.bytes, out.length);
        ws_input(conn, 1, wire, out.length);
        ws_client_sent(client, out.length);
        if (i > 0) {
            assert_int_equal(served.count, i);
            assert_int_equal(served.length, lengths[i - 1]);
            assert_memory_equal(served.text, text, served.length);
            uint8_t *room = ws_out_reserve(conn, served.length + 1, true);
            assert_non_null(room);
            memset(room, 'x', served.length + 1);
            ws_out_commit(conn, served.length + 1);
        }
        size_t count = ws_output(conn, slices, 8), total = 0;
        for (size_t s = 0; s < count; s++) {
            ws_client_input(client, 1, slices[s].bytes, slices[s].length);
            total += slices[s].length;
        }
        ws_sent(conn, total);
        assert_int_equal(heard.count, i);
        assert_true(i == 0 || heard.length == served.length + 3); /* [ and ] around it */
        if (i == sizeof(lengths) / sizeof(lengths[0]))
            break;
        memset(text, 'a' + (int)i, lengths[i]);
        assert_int_equal(ws_client_send(client, text, lengths[i]), MD_OK);
    }
    ws_client_destroy(client);
    ws_destroy(conn);
    ws_pool_destroy(pool);
}

static void an_answer_that_is_not_the_servers_of_this_key_ends_it(void **state)
{
    static const struct {
        const char *bytes, *reason;
    } cases[] = {
        { "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
          "Sec-WebSocket-Accept: AAAALMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
          "the answer to the handshake is no WebSocket" },
        { "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
          "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
          "the server does not speak tr_json2" },
        { "HTTP/1.1 403 Forbidden\r\nX: y\r\n\r\nNot \x1b[you\nmore",
          "the server answers 403 Forbidden: Not  [you" },
        { "RMDS 1 2 3 hello\r\n\r\n", "the answer to the handshake is no HTTP/1.1" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ws_client *client = client_of(&heard);

        input(client, cases[i].bytes, strlen(cases[i].bytes));
        assert_false(heard.is_open);
        assert_string_equal(ws_client_reason(client), cases[i].reason);
        ws_client_destroy(client);
    }
}

static void a_handshake_without_an_answer_ends(void **state)
{
    static uint8_t endless[17000];
    struct ws_client *client = client_of(&heard);

    (void)state;
    assert_int_equal(ws_client_deadline(client), 100);
    ws_client_tick(client, 99);
    assert_string_equal(ws_client_reason(client), "");
    ws_client_tick(client, 100);
    assert_string_equal(ws_client_reason(client), "no answer to the handshake");
    ws_client_destroy(client);
    client = client_of(&heard);
    memset(endless, 'x', sizeof(endless));
    input(client, endless, sizeof(endless));
    assert_string_equal(ws_client_reason(client),
                        "the answer to the handshake is longer than 16 KB");
    ws_client_destroy(client);
}

static void parts_are_one_message_with_pings_answered_between_them(void **state)
{
    static const uint8_t bytes[] = { 0x01, 2, '[', '1', 0x89, 1, 'p', 0x80, 1, ']' };
    struct ws_client *client = open_client();

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        input(client, bytes + i, 1);
    assert_int_equal(heard.count, 1);
    assert_int_equal(heard.length, 3);
    assert_memory_equal(heard.text, "[1]", 3);
    struct md_slice out = ws_client_output(client);
    assert_int_equal(out.length, 7); /* a masked pong */
    assert_int_equal(out.bytes[0], 0x8A);
    assert_int_equal(out.bytes[6] ^ out.bytes[2], 'p');
    ws_client_destroy(client);
}

static void frames_that_break_a_rule_end_it(void **state)
{
    static const struct {
        uint8_t bytes[12];
        size_t length;
        unsigned code;
    } cases[] = {
        { { 0x81, 0x81, 0, 0, 0, 0, 'x' }, 7, 1002 }, /* masked */
        { { 0xC1, 1, 'x' }, 3, 1002 },                /* reserved bits */
        { { 0x83, 1, 'x' }, 3, 1002 },                /* no such frame */
        { { 0x80, 1, 'x' }, 3, 1002 },                /* the rest of nothing */
        { { 0x09, 1, 'x' }, 3, 1002 },                /* a ping in parts */
        { { 0x81, 127, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF }, 10, 1009 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ws_client *client = open_client();

        input(client, cases[i].bytes, cases[i].length);
        struct md_slice out = ws_client_output(client);
        assert_true(out.length > 8 && out.bytes[0] == 0x88);
        unsigned code =
            (unsigned)(out.bytes[6] ^ out.bytes[2]) << 8 | (out.bytes[7] ^ out.bytes[3]);
        assert_int_equal(code, cases[i].code);
        assert_int_equal(heard.count, 0);
        assert_false(ws_client_is_finished(client));
        ws_client_sent(client, out.length);
        assert_true(ws_client_is_finished(client));
        ws_client_destroy(client);
    }
}

static void the_close_of_the_server_is_answered_and_told(void **state)
{
    static const uint8_t bytes[] = { 0x88, 5, 0x03, 0xE9, 'b', 'y', 'e', 0x81, 1, 'x' };
    struct ws_client *client = open_client();

    (void)state;
    input(client, bytes, sizeof(bytes));
    assert_int_equal(heard.count, 0);
    assert_string_equal(ws_client_reason(client), "closed by the server: 1001 bye");
    assert_int_equal(ws_client_output(client).length, 8);
    assert_int_equal(ws_client_send(client, (const uint8_t *)"x", 1), MD_ERR_STATE);
    ws_client_destroy(client);
}

static void output_ends_at_its_bound(void **state)
{
    static uint8_t text[TEXT_MAX];
    struct ws_client *client = open_client();
    unsigned sent = 0;

    (void)state;
    assert_int_equal(ws_client_send(client, text, TEXT_MAX), MD_ERR_FULL);
    while (ws_client_send(client, text, 1000) == MD_OK)
        sent++;
    assert_int_equal(sent, TEXT_MAX / 1008);
    assert_true(ws_client_is_open(client));
    ws_client_sent(client, 1008);
    assert_int_equal(ws_client_send(client, text, 1000), MD_OK);
    ws_client_destroy(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_client_and_our_server_understand_each_other),
        cmocka_unit_test(an_answer_that_is_not_the_servers_of_this_key_ends_it),
        cmocka_unit_test(a_handshake_without_an_answer_ends),
        cmocka_unit_test(parts_are_one_message_with_pings_answered_between_them),
        cmocka_unit_test(frames_that_break_a_rule_end_it),
        cmocka_unit_test(the_close_of_the_server_is_answered_and_told),
        cmocka_unit_test(output_ends_at_its_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
