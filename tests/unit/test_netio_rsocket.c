/* test_netio_rsocket.c - streams over rsockets, which are fake and have bad manners. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "fake_rsocket.h"
#include "netio/rsocket.h"

#define PATIENCE_MS 30000
#define TOTAL       (4u << 20)
#define MANY        150

static const struct fake_rsocket_manners KIND;
static const struct fake_rsocket_manners UNKIND = { .short_percent = 30,
                                                    .again_percent = 20,
                                                    .spurious_percent = 30 };

struct end {
    struct net_stream *stream;
    uint64_t sent, received;
    bool is_damaged;
};

static int set_up(void **state)
{
    (void)state;
    rsocket_calls_set(&fake_rsocket_calls);
    fake_rsocket_manners_set(&KIND);
    return 0;
}

/* All rsockets of a test are closed in the end, however late. */
static int tear_down(void **state)
{
    struct net_rsocket_figures figures;

    (void)state;
    fake_rsocket_hold(false);
    for (int i = 0; i < PATIENCE_MS; i++) {
        net_rsocket_figures(&figures);
        if (fake_rsocket_open_count() == 0 && figures.streams == 0)
            break;
        usleep(1000);
    }
    assert_int_equal(fake_rsocket_open_count(), 0);
    assert_int_equal(figures.streams, 0);
    assert_int_equal(figures.pinned, 0);
    net_rsocket_memory_set(1ull << 30);
    return 0;
}

static bool is_ready_for(int fd, short events, int timeout_ms)
{
    struct pollfd poll_fd = { .fd = fd, .events = events };

    return poll(&poll_fd, 1, timeout_ms) == 1;
}

static struct net_listener *listen_with(const struct net_stream_options *options)
{
    struct net_listener *listener;

    assert_int_equal(net_rsocket_transport.listen(options, "127.0.0.1", 0, &listener), MD_OK);
    assert_true(net_listener_port(listener) > 0);
    return listener;
}

static struct net_stream *dial(const struct net_listener *listener)
{
    const struct net_stream_options options = { 0 };
    struct net_stream *stream;

    assert_int_equal(
        net_rsocket_transport.dial(&options, "127.0.0.1", net_listener_port(listener), &stream),
        MD_OK);
    return stream;
}

static struct net_stream *accept_one(struct net_listener *listener)
{
    struct net_stream *stream;
    int err;

    while ((err = net_listener_accept(listener, &stream)) == MD_ERR_AGAIN)
        assert_true(is_ready_for(net_listener_descriptor(listener), POLLIN, PATIENCE_MS));
    assert_int_equal(err, MD_OK);
    return stream;
}

static void wait_ready(struct net_stream *stream)
{
    int err;

    while ((err = net_stream_ready(stream)) == MD_ERR_AGAIN) {
        assert_int_equal(net_stream_wants(stream, false), NET_WRITABLE);
        assert_true(is_ready_for(net_stream_descriptor(stream), POLLOUT, PATIENCE_MS));
    }
    assert_int_equal(err, MD_OK);
}

static void connect_ends(struct net_listener *listener, struct net_stream *ends[2])
{
    ends[0] = dial(listener);
    ends[1] = accept_one(listener);
    wait_ready(ends[0]);
}

static int64_t write_bytes(struct net_stream *stream, const void *bytes, size_t size)
{
    const struct md_slice slice = { bytes, size };

    return net_stream_write(stream, &slice, 1);
}

/* All of it, as a loop does. */
static void say(struct net_stream *stream, const char *text)
{
    size_t done = 0;

    while (done < strlen(text)) {
        int64_t n = write_bytes(stream, text + done, strlen(text) - done);

        assert_true(n >= 0);
        done += (size_t)n;
        if (n == 0)
            assert_true(is_ready_for(net_stream_descriptor(stream), POLLOUT, PATIENCE_MS));
    }
}

static void hear(struct net_stream *stream, const char *text)
{
    char got[64] = "";
    size_t done = 0;

    while (done < strlen(text)) {
        int64_t n = net_stream_read(stream, (uint8_t *)got + done, strlen(text) - done);

        assert_true(n > 0 || n == MD_ERR_AGAIN);
        if (n == MD_ERR_AGAIN)
            assert_true(is_ready_for(net_stream_descriptor(stream), POLLIN, PATIENCE_MS));
        else
            done += (size_t)n;
    }
    assert_string_equal(got, text);
}

static int64_t read_end(struct net_stream *stream)
{
    uint8_t byte;
    int64_t n;

    while ((n = net_stream_read(stream, &byte, 1)) == MD_ERR_AGAIN)
        assert_true(is_ready_for(net_stream_descriptor(stream), POLLIN, PATIENCE_MS));
    return n;
}

/* ---- data ---- */

static uint8_t byte_at(uint64_t place)
{
    return (uint8_t)(place * 131 + (place >> 9));
}

static bool write_some(struct end *end)
{
    uint8_t bytes[3000];
    size_t n = TOTAL - end->sent < sizeof(bytes) ? TOTAL - end->sent : sizeof(bytes);

    for (size_t i = 0; i < n; i++)
        bytes[i] = byte_at(end->sent + i);
    struct md_slice slices[2] = { { bytes, n / 3 }, { bytes + n / 3, n - n / 3 } };
    int64_t taken = net_stream_write(end->stream, slices, 2);
    end->is_damaged |= taken < 0;
    if (taken > 0)
        end->sent += (uint64_t)taken;
    return taken == (int64_t)n;
}

static bool read_some(struct end *end)
{
    uint8_t bytes[4000];
    int64_t n = net_stream_read(end->stream, bytes, sizeof(bytes));

    for (int64_t i = 0; i < n; i++)
        end->is_damaged |= bytes[i] != byte_at(end->received + (uint64_t)i);
    end->is_damaged |= n < 0 && n != MD_ERR_AGAIN;
    if (n > 0)
        end->received += (uint64_t)n;
    return n == sizeof(bytes);
}

/* As a loop: a read or a write that did a part is the last until the descriptor says more. */
static void *run(void *arg)
{
    struct end *end = arg;
    short events = POLLIN | POLLOUT;

    while ((end->sent < TOTAL || end->received < TOTAL) && !end->is_damaged) {
        struct pollfd fd = { .fd = net_stream_descriptor(end->stream), .events = events };
        if (poll(&fd, 1, PATIENCE_MS) == 0)
            end->is_damaged = true; /* slept through a change */
        if (fd.revents & POLLIN)
            while (end->received < TOTAL && read_some(end))
                ;
        while (end->sent < TOTAL && write_some(end))
            ;
        events = (short)((end->received < TOTAL ? POLLIN : 0) | (end->sent < TOTAL ? POLLOUT : 0));
    }
    return NULL;
}

static void exchange(const struct fake_rsocket_manners *manners)
{
    struct net_stream_options options = { 0 };
    struct net_listener *listener;
    struct net_stream *streams[2];
    struct end ends[2] = { 0 };
    pthread_t threads[2];

    fake_rsocket_manners_set(manners);
    listener = listen_with(&options);
    connect_ends(listener, streams);
    for (int i = 0; i < 2; i++) {
        ends[i].stream = streams[i];
        assert_int_equal(pthread_create(&threads[i], NULL, run, &ends[i]), 0);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 2; i++) {
        assert_false(ends[i].is_damaged);
        assert_int_equal(ends[i].received, TOTAL);
        net_stream_close(ends[i].stream);
    }
    net_listener_close(listener);
}

static void bytes_go_both_ways_at_once(void **state)
{
    (void)state;
    exchange(&KIND);
}

static void bytes_survive_bad_manners(void **state)
{
    (void)state;
    exchange(&UNKIND);
}

static void a_descriptor_tells_what_is_possible_and_nothing_else(void **state)
{
    const struct net_stream_options options = { 0 };
    static uint8_t much[1 << 20];
    struct net_stream *ends[2];
    struct net_listener *listener = listen_with(&options);
    int64_t n, sent = 0, read = 0;

    (void)state;
    connect_ends(listener, ends);
    int reader = net_stream_descriptor(ends[1]);
    int writer = net_stream_descriptor(ends[0]);
    assert_int_equal(net_stream_read(ends[1], much, sizeof(much)), MD_ERR_AGAIN);
    assert_false(is_ready_for(reader, POLLIN, 0));
    do { /* until what is below has settled, too */
        while ((n = write_bytes(ends[0], much, sizeof(much))) > 0)
            sent += n;
    } while (is_ready_for(writer, POLLOUT, 50));
    assert_int_equal(net_stream_wants(ends[0], true), NET_READABLE | NET_WRITABLE);
    while (read < sent) {
        assert_true(is_ready_for(reader, POLLIN, PATIENCE_MS));
        while ((n = net_stream_read(ends[1], much, sizeof(much))) > 0)
            read += n;
    }
    assert_false(is_ready_for(reader, POLLIN, 0));
    assert_true(is_ready_for(writer, POLLOUT, PATIENCE_MS));
    unsigned long polls = fake_rsocket_poll_count();
    usleep(20000); /* nobody reads, writes or comes: no thread may turn */
    polls = fake_rsocket_poll_count() - polls;
    if (polls >= 10)
        print_message("%lu polls\n", polls);
    assert_true(polls < 10);
    for (int i = 0; i < 2; i++)
        net_stream_close(ends[i]);
    net_listener_close(listener);
}

static void both_ends_know_each_other(void **state)
{
    const struct net_stream_options options = { 0 };
    struct net_listener *listener = listen_with(&options);
    struct net_stream *ends[2];

    (void)state;
    connect_ends(listener, ends);
    assert_memory_equal(net_stream_peer(ends[0]), "127.0.0.1:", 10);
    assert_memory_equal(net_stream_peer(ends[1]), "127.0.0.1:", 10);
    say(ends[0], "to the server");
    hear(ends[1], "to the server");
    say(ends[1], "and back");
    hear(ends[0], "and back");
    net_stream_close(ends[0]);
    assert_int_equal(read_end(ends[1]), MD_ERR_CLOSED);
    net_stream_close(ends[1]);
    net_listener_close(listener);
}

static void many_streams_share_threads(void **state)
{
    const struct net_stream_options options = { 0 };
    struct net_listener *listener = listen_with(&options);
    static struct net_stream *ends[MANY][2];
    struct net_rsocket_figures figures;

    (void)state;
    fake_rsocket_manners_set(&UNKIND);
    for (int i = 0; i < MANY; i++)
        connect_ends(listener, ends[i]);
    net_rsocket_figures(&figures);
    assert_int_equal(figures.streams, 2 * MANY + 1);
    assert_int_equal(figures.pinned, 2 * MANY * 2 * 131072);
    for (int i = 0; i < MANY; i++)
        say(ends[i][i % 2], "here");
    for (int i = 0; i < MANY; i++)
        hear(ends[i][1 - i % 2], "here");
    for (int i = 0; i < MANY; i++)
        for (int k = 0; k < 2; k++)
            net_stream_close(ends[i][k]);
    net_listener_close(listener);
}

/* ---- ends ---- */

static void what_was_written_comes_before_the_end(void **state)
{
    const struct net_stream_options options = { 0 };
    struct net_listener *listener = listen_with(&options);
    struct net_stream *ends[2];

    (void)state;
    connect_ends(listener, ends);
    say(ends[0], "last words");
    net_stream_shutdown(ends[0]);
    hear(ends[1], "last words");
    assert_int_equal(read_end(ends[1]), MD_ERR_CLOSED);
    say(ends[1], "still heard");
    hear(ends[0], "still heard");
    net_stream_close(ends[1]);
    assert_int_equal(read_end(ends[0]), MD_ERR_CLOSED);
    net_stream_close(ends[0]);
    net_listener_close(listener);
}

static void an_end_that_takes_long_keeps_nobody(void **state)
{
    const struct net_stream_options options = { 0 };
    struct net_listener *listener = listen_with(&options);
    struct net_stream *first[2];
    struct net_stream *second[2];

    (void)state;
    connect_ends(listener, first);
    fake_rsocket_hold(true);
    net_stream_shutdown(first[0]);
    net_stream_close(first[1]);
    connect_ends(listener, second);
    say(second[0], "goes on");
    hear(second[1], "goes on");
    net_stream_close(first[0]);
    fake_rsocket_hold(false);
    for (int i = 0; i < 2; i++)
        net_stream_close(second[i]);
    net_listener_close(listener);
}

static void a_listener_takes_along_who_was_not_taken(void **state)
{
    const struct net_stream_options options = { 0 };
    struct net_listener *listener = listen_with(&options);
    struct net_stream *stream = dial(listener);

    (void)state;
    wait_ready(stream);
    assert_true(is_ready_for(net_listener_descriptor(listener), POLLIN, PATIENCE_MS));
    net_listener_close(listener);
    assert_int_equal(read_end(stream), MD_ERR_CLOSED);
    net_stream_close(stream);
}

static void a_stream_closes_before_it_is_open(void **state)
{
    const struct net_stream_options options = { 0 };
    struct net_listener *listener = listen_with(&options);

    (void)state;
    for (int i = 0; i < 50; i++)
        net_stream_close(dial(listener));
    net_listener_close(listener);
}

/* ---- refusals ---- */

static int error_of(struct net_stream *stream)
{
    int err;

    while ((err = net_stream_ready(stream)) == MD_ERR_AGAIN)
        assert_true(is_ready_for(net_stream_descriptor(stream), POLLOUT, PATIENCE_MS));
    return err;
}

static void nobody_listens(void **state)
{
    const struct net_stream_options options = { 0 };
    struct net_listener *listener = listen_with(&options);
    uint16_t port = net_listener_port(listener);
    struct net_stream *stream;

    (void)state;
    net_listener_close(listener);
    tear_down(state);
    assert_int_equal(net_rsocket_transport.dial(&options, "127.0.0.1", port, &stream), MD_OK);
    assert_int_equal(error_of(stream), MD_ERR_SYS);
    assert_string_equal(net_stream_error(stream), "Connection refused");
    net_stream_close(stream);
}

static void an_address_has_no_next_one(void **state)
{
    const struct net_stream_options options = { 0 };
    struct net_listener *listener = listen_with(&options);
    struct net_stream *stream;
    struct net_stream *next;

    (void)state;
    assert_int_equal(net_rsocket_transport.dial(&options, "127.0.0.1", 1, &stream), MD_OK);
    assert_int_equal(error_of(stream), MD_ERR_SYS);
    assert_int_equal(net_stream_next(stream, &options, "127.0.0.1", &next), MD_ERR_NOT_FOUND);
    net_stream_close(stream);
    net_listener_close(listener);
}

static void without_a_device_it_says_so(void **state)
{
    const struct net_stream_options options = { 0 };
    struct net_listener *listener;
    struct net_stream *stream;

    (void)state;
    fake_rsocket_manners_set(&(struct fake_rsocket_manners){ .is_without_device = true });
    assert_int_equal(net_rsocket_transport.listen(&options, NULL, 0, &listener), MD_ERR_SYS);
    assert_non_null(strstr(net_error(), "rdma link"));
    assert_int_equal(net_rsocket_transport.dial(&options, "127.0.0.1", 1, &stream), MD_OK);
    assert_int_equal(error_of(stream), MD_ERR_SYS);
    assert_non_null(strstr(net_stream_error(stream), "rdma link"));
    net_stream_close(stream);
}

static void a_taken_port_is_told_by_errno(void **state)
{
    const struct net_stream_options options = { 0 };
    struct net_listener *listener = listen_with(&options);
    struct net_listener *other;

    (void)state;
    assert_int_equal(
        net_rsocket_transport.listen(&options, "127.0.0.1", net_listener_port(listener), &other),
        MD_ERR_SYS);
    assert_int_equal(errno, EADDRINUSE);
    net_listener_close(listener);
}

static void pinned_memory_is_bounded(void **state)
{
    const struct net_stream_options options = { .send_buffer = 40000, .recv_buffer = 20000 };
    struct net_listener *listener = listen_with(&options);
    struct net_rsocket_figures before;
    struct net_rsocket_figures after;
    struct net_stream *stream;
    struct net_stream *refused;

    (void)state;
    net_rsocket_figures(&before);
    net_rsocket_memory_set(130000); /* of 60000 each */
    assert_int_equal(
        net_rsocket_transport.dial(&options, "127.0.0.1", net_listener_port(listener), &stream),
        MD_OK);
    struct net_stream *accepted = accept_one(listener);
    assert_int_equal(
        net_rsocket_transport.dial(&options, "127.0.0.1", net_listener_port(listener), &refused),
        MD_OK);
    assert_int_equal(error_of(refused), MD_ERR_SYS);
    assert_non_null(strstr(net_stream_error(refused), "rsocketMemory"));
    net_rsocket_figures(&after);
    assert_int_equal(after.pinned, 120000);
    assert_int_equal(after.refused, before.refused + 1);
    net_stream_close(refused);
    net_stream_close(accepted);
    net_stream_close(stream);
    net_listener_close(listener);
}

static void a_connection_that_may_not_be_taken_is_told_to_both(void **state)
{
    const struct net_stream_options options = { .send_buffer = 40000, .recv_buffer = 20000 };
    struct net_listener *listener = listen_with(&options);
    struct net_stream *stream;
    int err;

    (void)state;
    net_rsocket_memory_set(60000);
    assert_int_equal(
        net_rsocket_transport.dial(&options, "127.0.0.1", net_listener_port(listener), &stream),
        MD_OK);
    struct net_stream *accepted;
    while ((err = net_listener_accept(listener, &accepted)) == MD_ERR_AGAIN)
        assert_true(is_ready_for(net_listener_descriptor(listener), POLLIN, PATIENCE_MS));
    assert_int_equal(err, MD_ERR_SYS);
    assert_non_null(strstr(net_error(), "rsocketMemory"));
    wait_ready(stream);
    assert_true(read_end(stream) < 0);
    net_stream_close(stream);
    net_listener_close(listener);
}

/* Closing the one that is refused takes long; who is connected notices nothing. */
static void a_refused_connection_keeps_nobody(void **state)
{
    const struct net_stream_options options = { .send_buffer = 40000, .recv_buffer = 20000 };
    struct net_listener *listener = listen_with(&options);
    struct net_stream *stream, *refused, *accepted;
    int err;

    (void)state;
    assert_int_equal(
        net_rsocket_transport.dial(&options, "127.0.0.1", net_listener_port(listener), &stream),
        MD_OK);
    struct net_stream *served = accept_one(listener);
    wait_ready(stream);
    net_rsocket_memory_set(180000);
    fake_rsocket_hold(true);
    assert_int_equal(
        net_rsocket_transport.dial(&options, "127.0.0.1", net_listener_port(listener), &refused),
        MD_OK);
    while ((err = net_listener_accept(listener, &accepted)) == MD_ERR_AGAIN)
        assert_true(is_ready_for(net_listener_descriptor(listener), POLLIN, PATIENCE_MS));
    assert_int_equal(err, MD_ERR_SYS);
    say(stream, "still here");
    hear(served, "still here");
    fake_rsocket_hold(false);
    net_stream_close(refused);
    net_stream_close(served);
    net_stream_close(stream);
    net_listener_close(listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bytes_go_both_ways_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bytes_survive_bad_manners, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_descriptor_tells_what_is_possible_and_nothing_else,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(both_ends_know_each_other, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_streams_share_threads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_written_comes_before_the_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_end_that_takes_long_keeps_nobody, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_listener_takes_along_who_was_not_taken, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_stream_closes_before_it_is_open, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nobody_listens, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_address_has_no_next_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_device_it_says_so, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_taken_port_is_told_by_errno, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pinned_memory_is_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_connection_that_may_not_be_taken_is_told_to_both, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_refused_connection_keeps_nobody, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
