/* test_client_idle.c - what a thousand connections cost while nothing happens on them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <malloc.h>
#include <stdlib.h>

#include "base/err.h"
#include "client/session.h"
#include "pipe.h"

#define COUNT 1000

static struct client_session *clients[COUNT];
static struct client_session *servers[COUNT];

static bool turn(struct client_session *session)
{
    struct rssl_event events[4];
    bool opened = false;
    size_t n;

    while ((n = client_session_turn(session, 1, events, 4)) > 0) {
        for (size_t i = 0; i < n; i++)
            opened |= events[i].kind == RSSL_EVENT_OPENED;
    }
    return opened;
}

/* The server's side of all of them, in a context of its own, over pipes of next to no size. */
static void a_thousand_idle_connections_cost_less_than_20_kb_each(void **state)
{
    struct client_context *far, *near;
    struct net_listener *listener;
    struct client_dial dial = { .transport = &pipe_polled_transport,
                                .rssl = rssl_config_default(RSSL_ROLE_CLIENT) };
    struct rssl_config config = rssl_config_default(RSSL_ROLE_SERVER);
    unsigned open = 0;

    (void)state;
    pipe_network_open(1024);
    assert_int_equal(pipe_polled_transport.listen(&dial.options, NULL, 0, &listener), MD_OK);
    dial.port = net_listener_port(listener);
    assert_int_equal(client_context_create(NULL, &far), MD_OK);
    assert_int_equal(client_context_create(NULL, &near), MD_OK);

    struct net_stream *streams[COUNT];
    for (unsigned i = 0; i < COUNT; i++) {
        assert_int_equal(client_session_dial(far, &dial, 0, &clients[i]), MD_OK);
        assert_int_equal(net_listener_accept(listener, &streams[i]), MD_OK);
    }
    for (unsigned i = 0; i < COUNT; i++)
        turn(clients[i]);
    size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    for (unsigned i = 0; i < COUNT; i++)
        assert_int_equal(client_session_serve(near, streams[i], &config, 0, &servers[i]), MD_OK);
    for (int round = 0; round < 4; round++) {
        for (unsigned i = 0; i < COUNT; i++) {
            open += turn(servers[i]);
            turn(clients[i]);
            if (round == 2) /* so that it is not just a new connection */
                assert_int_equal(rssl_outq_write(client_session_outq(servers[i]), "hello", 5), 0);
        }
    }
    assert_int_equal(open, COUNT);
    rssl_pool_trim(client_context_pool(near), 16); /* as a server does once a second */
    size_t each = (mallinfo2().uordblks + mallinfo2().hblkhd - before) / COUNT;
    print_message("%zu bytes for each of %u connections\n", each, COUNT);
    assert_true(each < 20000);

    for (unsigned i = 0; i < COUNT; i++) {
        client_session_destroy(servers[i]);
        client_session_destroy(clients[i]);
    }
    net_listener_close(listener);
    client_context_destroy(near);
    client_context_destroy(far);
    pipe_network_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thousand_idle_connections_cost_less_than_20_kb_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
