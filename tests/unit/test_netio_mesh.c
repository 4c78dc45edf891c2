/* test_netio_mesh.c - a group that is a list of addresses: who gets what, and in which order. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "netio/mesh.h"

enum { SENT_MAX = 4096 };

/* In place of the kernel: notes what goes to which port, takes `room` messages, then has none. */
static struct {
    uint16_t port;
    uint8_t first; /* byte of the packet */
} sent[SENT_MAX];

static int sent_count, room, refuse_port, calls;

int sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
    unsigned done = 0;

    (void)fd;
    (void)flags;
    calls++;
    for (; done < count && room > 0; done++, room--) {
        const struct msghdr *message = &messages[done].msg_hdr;
        uint16_t port = ntohs(((const struct sockaddr_in *)message->msg_name)->sin_port);

        if (port == refuse_port) {
            errno = EMSGSIZE;
            return done ? (int)done : -1;
        }
        for (size_t i = 0; i < message->msg_iovlen; i++) {
            assert_true(sent_count < SENT_MAX);
            sent[sent_count].port = port;
            sent[sent_count++].first = *(const uint8_t *)message->msg_iov[i].iov_base;
        }
    }
    if (done == 0)
        errno = EAGAIN;
    return done ? (int)done : -1;
}

static uint8_t memory[256][128];

static struct net_packet packet(int i, uint32_t length)
{
    memset(memory[i], i, sizeof(memory[i]));
    return (struct net_packet){ .bytes = memory[i], .length = length };
}

static struct net_packet_io *open_mesh(const char *seeds, const char *invited)
{
    struct net_mesh_config config = {
        .ip = { .paths[0] = { "lo", NULL },
                .path_count = 1,
                .unicast_port = 20000,
                .port_roam_range = 1000, /* other tests may run at the same time */
                .group_port = 8500,
                .receive_buffer = 1 << 18,
                .send_buffer = 1 << 18,
                .peers = invited },
        .seeds = seeds,
    };
    struct net_udp_report report;
    struct net_packet_io *io;
    char why[256];
    int err = net_mesh_open(&config, &report, why, sizeof(why), &io);

    if (err)
        printf("%s\n", why);
    assert_int_equal(err, 0);
    assert_non_null(strstr(report.transport, "mesh over UDP, packets of 1472 bytes"));
    sent_count = calls = refuse_port = 0;
    room = SENT_MAX;
    return io;
}

static void join(struct net_packet_io *io, int count)
{
    struct rrcp_address group[RRCP_MESH_PEERS_MAX];

    assert_int_equal(net_mesh_seeds(io, group, RRCP_MESH_PEERS_MAX), 3);
    net_mesh_group(io, group, (const uint64_t[]){ 1, 2, 4 }, count);
}

#define SEEDS "127.0.0.1:1001, 127.0.0.1:1002 127.0.0.1:1003"

static void each_peer_gets_each_packet_and_none_is_always_last(void **state)
{
    struct net_packet_io *io = open_mesh(SEEDS, NULL);
    int first[3] = { 0 };

    (void)state;
    join(io, 3);
    for (int i = 0; i < 30; i++) {
        struct net_packet one = packet(i, 100);
        int seen = 0;

        sent_count = 0;
        assert_int_equal(net_packet_send(io, &one, 1), 1);
        assert_int_equal(sent_count, 3);
        for (int j = 0; j < 3; j++)
            seen |= 1 << (sent[j].port - 1001);
        assert_int_equal(seen, 7);
        first[sent[0].port - 1001]++;
    }
    assert_int_equal(calls, 30);
    for (int i = 0; i < 3; i++)
        assert_int_equal(first[i], 10);
    assert_int_equal(io->counters.packets_sent, 90);
    net_packet_close(io);
}

static void a_packet_skips_those_that_do_not_want_it(void **state)
{
    struct net_packet_io *io = open_mesh(SEEDS, NULL);
    struct net_packet packets[40];
    int next[3] = { 0 };
    int done = 0;

    (void)state;
    join(io, 3);
    for (int i = 0; i < 40; i++) { /* trains of five; the last one skips everybody */
        packets[i] = packet(i, 100);
        packets[i].skipped = (uint64_t)(i / 5);
    }
    for (int tries = 0; done < 40; tries++) {
        assert_true(tries < 200);
        room = 1 + tries % 2;
        done += net_packet_send(io, packets + done, 40 - done);
    }
    for (int i = 0; i < sent_count; i++) {
        int peer = sent[i].port - 1001;

        while (packets[next[peer]].skipped >> peer & 1)
            next[peer]++;
        assert_int_equal(sent[i].first, next[peer]++);
    }
    for (int peer = 0; peer < 3; peer++) {
        while (next[peer] < 40 && packets[next[peer]].skipped >> peer & 1)
            next[peer]++;
        assert_int_equal(next[peer], 40);
    }
    net_packet_close(io);
}

static void a_full_queue_costs_no_peer_a_packet(void **state)
{
    struct net_packet_io *io = open_mesh(SEEDS, NULL);
    struct net_packet packets[40];
    struct rrcp_address group[3];
    int next[3] = { 0 };
    int done = 0;

    (void)state;
    join(io, 3);
    assert_int_equal(net_mesh_seeds(io, group, 3), 3);
    for (int i = 0; i < 40; i++) /* no trains of all: lengths go up; some go to one node */
        packets[i] = packet(i, 20 + (uint32_t)i / 4 * 4 + (i % 8 == 0 ? 50 : 0));
    for (int i = 5; i < 40; i += 9)
        packets[i].to = &group[1];
    for (int tries = 0; done < 40; tries++) {
        assert_true(tries < 200);
        room = 1 + tries % 2; /* never a whole message for all three at once */
        done += net_packet_send(io, packets + done, 40 - done);
    }
    for (int i = 0; i < sent_count; i++) { /* each in order, once */
        int peer = sent[i].port - 1001;
        int *at = &next[peer];

        while (*at % 9 == 5 && peer != 1)
            ++*at;
        assert_int_equal(sent[i].first, *at);
        ++*at;
    }
    for (int i = 0; i < 3; i++)
        assert_int_equal(next[i], 40);
    assert_true(io->counters.send_full > 0);
    net_packet_close(io);
}

static void a_peer_that_a_packet_is_too_long_for_is_named(void **state)
{
    struct net_packet_io *io = open_mesh(SEEDS, NULL);
    struct net_packet one = packet(1, 100);
    char text[64];

    (void)state;
    join(io, 3);
    refuse_port = 1002;
    assert_int_equal(net_packet_send(io, &one, 1), 1);
    assert_int_equal(sent_count, 2);
    assert_int_equal(io->counters.send_too_big, 1);
    assert_int_equal(io->counters.send_errors, 0);
    net_packet_address_text(&io->counters.too_big_to, text, sizeof(text));
    assert_string_equal(text, "127.0.0.1:1002");
    net_packet_close(io);
}

static void without_peers_nothing_is_sent(void **state)
{
    struct net_packet_io *io = open_mesh(SEEDS, NULL);
    struct net_packet two[2] = { packet(1, 100), packet(2, 100) };

    (void)state;
    assert_int_equal(net_packet_send(io, two, 2), 2);
    assert_int_equal(calls, 0);
    net_packet_close(io);
}

static void who_is_named_is_invited(void **state)
{
    static const char *const lists[] = { "10.0.0.0/8, 127.0.0.0/8", "10.0.0.0/8", NULL };

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct net_packet_io *io = open_mesh(SEEDS, lists[i]);
        struct rrcp_address own;
        struct sockaddr_in to = { .sin_family = AF_INET };
        struct rrcp_arrival in[4];
        int fd = socket(AF_INET, SOCK_DGRAM, 0);
        int count = 0;

        net_packet_local(io, 0, &own);
        memcpy(&to.sin_addr, own.bytes, 4);
        memcpy(&to.sin_port, own.bytes + 4, 2);
        assert_int_equal(sendto(fd, "x", 1, 0, (struct sockaddr *)&to, sizeof(to)), 1);
        for (int tries = 0; count == 0 && tries < 1000000; tries++)
            count = net_packet_receive(io, in, 4);
        assert_int_equal(count, 1);
        assert_int_equal(in[0].is_invited, i == 0);
        assert_false(in[0].is_group);
        close(fd);
        net_packet_close(io);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_peer_gets_each_packet_and_none_is_always_last),
        cmocka_unit_test(a_packet_skips_those_that_do_not_want_it),
        cmocka_unit_test(a_full_queue_costs_no_peer_a_packet),
        cmocka_unit_test(a_peer_that_a_packet_is_too_long_for_is_named),
        cmocka_unit_test(without_peers_nothing_is_sent),
        cmocka_unit_test(who_is_named_is_invited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
