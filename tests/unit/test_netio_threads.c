/* test_netio_threads.c - two ends of a pipe on two threads: nothing is lost, nobody sleeps on. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "netio/stream.h"
#include "pipe.h"

#define TOTAL (4u << 20)

struct end {
    struct net_stream *stream;
    uint64_t sent;
    uint64_t received;
    bool damaged;
};

/* Each byte is told by its place. */
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
    if (taken > 0)
        end->sent += (uint64_t)taken;
    return taken > 0;
}

static bool read_some(struct end *end)
{
    uint8_t bytes[4000];
    int64_t n = net_stream_read(end->stream, bytes, sizeof(bytes));

    for (int64_t i = 0; i < n; i++)
        end->damaged |= bytes[i] != byte_at(end->received + (uint64_t)i);
    if (n > 0)
        end->received += (uint64_t)n;
    return n > 0;
}

/* As a loop does: all that can be done, then sleep until the descriptor says so. */
static void *run(void *arg)
{
    struct end *end = arg;

    while (end->sent < TOTAL || end->received < TOTAL) {
        bool moved = false;
        while (end->sent < TOTAL && write_some(end))
            moved = true;
        while (end->received < TOTAL && read_some(end))
            moved = true;
        struct pollfd fd = { .fd = net_stream_descriptor(end->stream), .events = POLLIN };
        if (!moved && fd.fd >= 0 && poll(&fd, 1, 20000) == 0)
            end->damaged = true; /* slept through a change */
    }
    return NULL;
}

static void exchange(const struct net_transport *transport)
{
    struct net_stream_options options = { 0 };
    struct end ends[2] = { 0 };
    struct net_listener *listener;
    pthread_t threads[2];

    pipe_network_open(10000);
    assert_int_equal(transport->listen(&options, NULL, 0, &listener), MD_OK);
    assert_int_equal(transport->dial(&options, NULL, net_listener_port(listener), &ends[0].stream),
                     MD_OK);
    assert_int_equal(net_listener_accept(listener, &ends[1].stream), MD_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run, &ends[i]), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 2; i++) {
        assert_false(ends[i].damaged);
        assert_int_equal(ends[i].received, TOTAL);
        net_stream_close(ends[i].stream);
    }
    net_listener_close(listener);
    pipe_network_close();
}

static void both_directions_at_once_driven_by_descriptors(void **state)
{
    (void)state;
    exchange(&pipe_transport);
}

static void both_directions_at_once_driven_by_polling(void **state)
{
    (void)state;
    exchange(&pipe_polled_transport);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_directions_at_once_driven_by_descriptors),
        cmocka_unit_test(both_directions_at_once_driven_by_polling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
