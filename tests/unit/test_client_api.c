/* test_client_api.c - the installed library, as an application uses it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "rmds/client.h"
#include "tls_files.h"

struct side {
    struct rmds_channel *channel;
    bool opened;
    bool closed;
    unsigned messages;
    char last[64];
};

struct fixture {
    struct rmds_context *context;
    struct rmds_options options;
    struct rmds_listener *listener;
    struct side client;
    struct side server;
};

static void listen_and_connect(struct fixture *f)
{
    f->options.host = "127.0.0.1";
    f->options.port = 0;
    assert_int_equal(rmds_listen(f->context, &f->options, &f->listener), 0);
    f->options.port = rmds_listener_port(f->listener);
    assert_int_equal(rmds_connect(f->context, &f->options, &f->client.channel), 0);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    assert_int_equal(rmds_context_create(&f->context), 0);
    rmds_options_init(&f->options);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    rmds_channel_destroy(f->client.channel);
    rmds_channel_destroy(f->server.channel);
    rmds_listener_close(f->listener);
    rmds_context_destroy(f->context);
    free(f);
    return 0;
}

static void turn(struct side *side)
{
    struct rmds_event events[8];
    size_t n;

    if (!side->channel)
        return;
    while ((n = rmds_channel_turn(side->channel, rmds_now(), events, 8)) > 0) {
        for (size_t i = 0; i < n; i++) {
            side->opened |= events[i].kind == RMDS_EVENT_OPENED;
            side->closed |= events[i].kind == RMDS_EVENT_CLOSED;
            if (events[i].kind != RMDS_EVENT_MESSAGE)
                continue;
            side->messages++;
            if (events[i].length < sizeof(side->last)) {
                memcpy(side->last, events[i].bytes, events[i].length);
                side->last[events[i].length] = '\0';
            }
        }
    }
}

/* Some turns of a loop, until `*done` or nothing more is to be expected. */
static void run_until(struct fixture *f, const bool *done)
{
    for (int i = 0; i < 20000 && !*done; i++) {
        struct pollfd fds[3] = { { .fd = -1 }, { .fd = -1 }, { .fd = -1 } };
        struct side *sides[] = { &f->client, &f->server };
        if (!f->server.channel)
            (void)rmds_listener_accept(f->listener, f->context, &f->server.channel);
        for (int k = 0; k < 2; k++) {
            turn(sides[k]);
            if (!sides[k]->channel)
                continue;
            unsigned wants = rmds_channel_wants(sides[k]->channel);
            fds[k].fd = rmds_channel_descriptor(sides[k]->channel);
            fds[k].events = (short)((wants & RMDS_READABLE ? POLLIN : 0) |
                                    (wants & RMDS_WRITABLE ? POLLOUT : 0));
        }
        fds[2] = (struct pollfd){ .fd = rmds_listener_descriptor(f->listener), .events = POLLIN };
        if (!*done)
            poll(fds, f->server.channel ? 2 : 3, 10);
    }
    assert_true(*done);
}

static void messages_go_both_ways_and_are_counted(void **state)
{
    struct fixture *f = *state;
    struct rmds_channel_stats stats;
    struct rmds_channel_info info;

    f->options.component = "the tester";
    listen_and_connect(f);
    run_until(f, &f->client.opened);
    run_until(f, &f->server.opened);
    assert_int_equal(rmds_channel_send(f->client.channel, "question", 8), 0);
    uint8_t *room = rmds_channel_reserve(f->server.channel, 6);
    assert_non_null(room);
    memcpy(room, "answer", 6); /* NOLINT: a message, no string */
    rmds_channel_commit(f->server.channel, 6);
    assert_int_equal(rmds_channel_flush(f->client.channel, rmds_now()), 0);
    assert_int_equal(rmds_channel_flush(f->server.channel, rmds_now()), 0);
    for (int i = 0; i < 1000 && !(f->client.messages && f->server.messages); i++) {
        turn(&f->client);
        turn(&f->server);
    }
    assert_string_equal(f->client.last, "answer");
    assert_string_equal(f->server.last, "question");
    rmds_channel_stats(f->client.channel, &stats);
    assert_int_equal(stats.messages_out, 1);
    assert_int_equal(stats.messages_in, 1);
    assert_int_equal(stats.queued_buffers, 0);
    rmds_channel_info(f->server.channel, &info);
    assert_string_equal(info.component, "the tester");
    assert_int_equal(info.rwf_major, 14);
    assert_int_equal(info.fragment_size, 6144);
    assert_non_null(strstr(info.peer, "127.0.0.1:"));
    assert_true(rmds_channel_deadline(f->client.channel) > rmds_now());
}

static void a_closed_channel_says_why(void **state)
{
    struct fixture *f = *state;

    listen_and_connect(f);
    run_until(f, &f->client.opened);
    rmds_channel_close(f->client.channel);
    run_until(f, &f->server.closed);
    assert_string_equal(rmds_channel_reason(f->server.channel), "closed by the peer");
    assert_int_equal(rmds_channel_send(f->server.channel, "x", 1), RMDS_ERROR_STATE);
    rmds_channel_destroy(f->server.channel);
    f->server.channel = NULL;
    rmds_listener_close(f->listener);
    f->listener = NULL;
    for (int i = 0; i < 5000 && !f->client.closed; i++)
        turn(&f->client);
    assert_true(f->client.closed);
    assert_string_equal(rmds_channel_reason(f->client.channel), "closed by us");
}

static void a_refusal_reaches_the_client_with_its_text(void **state)
{
    struct fixture *f = *state;

    listen_and_connect(f);
    for (int i = 0; i < 1000 && !f->server.channel; i++) {
        turn(&f->client);
        if (rmds_listener_accept(f->listener, f->context, &f->server.channel) == 0)
            rmds_channel_refuse(f->server.channel, "come back tomorrow");
    }
    run_until(f, &f->client.closed);
    assert_string_equal(rmds_channel_reason(f->client.channel),
                        "refused by the server: come back tomorrow");
}

static void a_full_queue_refuses_and_says_so(void **state)
{
    struct fixture *f = *state;
    struct rmds_channel_stats stats;
    static uint8_t message[6000];
    int rc;

    f->options.guaranteed_buffers = 2;
    f->options.max_buffers = 4;
    listen_and_connect(f);
    run_until(f, &f->client.opened);
    while ((rc = rmds_channel_send(f->client.channel, message, sizeof(message))) == 0)
        ;
    assert_int_equal(rc, RMDS_ERROR_FULL);
    assert_null(rmds_channel_reserve(f->client.channel, sizeof(message)));
    assert_int_equal(rmds_channel_send(f->client.channel, message, 0), RMDS_ERROR_RANGE);
    rmds_channel_stats(f->client.channel, &stats);
    assert_int_equal(stats.queued_buffers, 4);
    assert_true(stats.refused >= 2);
    assert_int_equal(rmds_channel_flush(f->client.channel, rmds_now()), 0);
    assert_int_equal(rmds_channel_send(f->client.channel, message, sizeof(message)), 0);
}

static void tls_needs_its_files_and_then_works(void **state)
{
    struct fixture *f = *state;
    struct tls_files files;

    assert_int_equal(tls_files_create(&files), 0);
    f->options.transport = "tls";
    f->options.host = "127.0.0.1";
    assert_int_equal(rmds_listen(f->context, &f->options, &f->listener), RMDS_ERROR_SYSTEM);
    assert_null(f->listener);
    f->options.tls_certificate = files.certificate;
    f->options.tls_key = files.key;
    f->options.tls_ca = files.certificate;
    listen_and_connect(f);
    run_until(f, &f->client.opened);
    run_until(f, &f->server.opened);
    assert_int_equal(rmds_listener_reload(f->listener), 0);
    tls_files_remove(&files);
    assert_int_equal(rmds_listener_reload(f->listener), RMDS_ERROR_SYSTEM);
}

static void options_out_of_range_are_refused(void **state)
{
    struct fixture *f = *state;
    struct rmds_channel *channel = (struct rmds_channel *)state;

    f->options.host = NULL;
    assert_int_equal(rmds_connect(f->context, &f->options, &channel), RMDS_ERROR_RANGE);
    assert_null(channel);
    f->options.host = "127.0.0.1";
    f->options.ping_timeout_s = 256;
    assert_int_equal(rmds_connect(f->context, &f->options, &channel), RMDS_ERROR_RANGE);
    f->options.ping_timeout_s = 0;
    assert_int_equal(rmds_connect(f->context, &f->options, &channel), RMDS_ERROR_RANGE);
    f->options.ping_timeout_s = 60;
    f->options.max_buffers = 1;
    assert_int_equal(rmds_connect(f->context, &f->options, &channel), RMDS_ERROR_RANGE);
    f->options.max_buffers = 400;
    f->options.transport = "carrier pigeon";
    assert_int_equal(rmds_connect(f->context, &f->options, &channel), RMDS_ERROR_UNSUPPORTED);
    assert_string_equal(rmds_error_text(RMDS_ERROR_UNSUPPORTED), "unsupported");
    assert_null(channel);
}

static void what_belongs_to_the_application_is_kept(void **state)
{
    struct fixture *f = *state;
    int mine;

    listen_and_connect(f);
    assert_null(rmds_channel_user(f->client.channel));
    rmds_channel_set_user(f->client.channel, &mine);
    assert_ptr_equal(rmds_channel_user(f->client.channel), &mine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(messages_go_both_ways_and_are_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_closed_channel_says_why, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_refusal_reaches_the_client_with_its_text, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_full_queue_refuses_and_says_so, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tls_needs_its_files_and_then_works, set_up, tear_down),
        cmocka_unit_test_setup_teardown(options_out_of_range_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_belongs_to_the_application_is_kept, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
