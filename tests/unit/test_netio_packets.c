/* test_netio_packets.c - packet I/O: the same cases over kernel UDP on loopback and over memory. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "netio/udp.h"
#include "sim.h"

enum { ENDS = 3, PATIENCE = 200000 };

struct network {
    struct net_sim *sim; /* NULL: UDP */
    struct net_packet_io *ends[ENDS];
};

static struct net_udp_config udp_config(void)
{
    static char group[32];

    /* A group and port of this process, so that tests that run at the same time do not meet. */
    snprintf(group, sizeof(group), "239.255.%d.%d", getpid() / 250 % 250, getpid() % 250 + 1);
    return (struct net_udp_config){ .paths[0] = { "lo", group },
                                    .path_count = 1,
                                    .group_port = (uint16_t)(20000 + getpid() % 10000),
                                    .ttl = 0,
                                    .receive_buffer = 1 << 20,
                                    .send_buffer = 1 << 20 };
}

static int udp_setup(void **state)
{
    struct network *network = calloc(1, sizeof(*network));
    struct net_udp_config config = udp_config();
    struct net_udp_report report;
    char why[256];

    for (int i = 0; network && i < ENDS; i++)
        if (net_udp_open(&config, &report, why, sizeof(why), &network->ends[i]) != 0) {
            printf("no multicast on loopback here: %s\n", why);
            exit(77);
        }
    *state = network;
    return 0;
}

static int sim_setup(void **state)
{
    const struct net_sim_config config = {
        .headroom = 40, .payload_max = 1024, .send_depth = 8, .late = 2
    };
    struct network *network = calloc(1, sizeof(*network));

    if (!network || net_sim_create(&config, &network->sim) != 0)
        return -1;
    for (int i = 0; i < ENDS; i++)
        assert_int_equal(net_sim_open(network->sim, &network->ends[i]), 0);
    *state = network;
    return 0;
}

static int teardown(void **state)
{
    struct network *network = *state;

    for (int i = 0; i < ENDS; i++)
        net_packet_close(network->ends[i]);
    net_sim_destroy(network->sim);
    free(network);
    return 0;
}

static uint8_t memory[256][1536];

/* Packet number `i` with `length` bytes of its number, behind enough headroom. */
static struct net_packet packet(int i, uint32_t length, const struct rrcp_address *to)
{
    memset(memory[i], i, sizeof(memory[i]));
    return (struct net_packet){
        .bytes = memory[i] + 64, .length = length, .to = to, .cookie = (uint32_t)i
    };
}

static void send_all(struct net_packet_io *io, struct net_packet packets[], int count)
{
    struct rrcp_arrival nothing[8];
    uint32_t cookies[64];
    int sent = 0;

    for (int tries = 0; sent < count && tries < PATIENCE; tries++) {
        sent += net_packet_send(io, packets + sent, count - sent);
        if (sent < count)
            (void)net_packet_receive(io, nothing, 8);
        while (net_packet_complete(io, cookies, 64) > 0) {
        }
    }
    assert_int_equal(sent, count);
}

/* Receive `count` packets at `io` and check that they are first, first + 1, ... of `length`. */
static void expect(struct net_packet_io *io, int first, int count, uint32_t length, bool is_group)
{
    struct rrcp_arrival in[64];
    int got = 0;

    for (int tries = 0; got < count && tries < PATIENCE; tries++) {
        int n = net_packet_receive(io, in, 64);

        for (int i = 0; i < n; i++, got++) {
            assert_int_equal(in[i].length, length);
            assert_int_equal(in[i].bytes[0], first + got);
            assert_int_equal(in[i].bytes[length - 1], first + got);
            assert_int_equal(in[i].is_group, is_group);
        }
    }
    assert_int_equal(got, count);
}

static void what_is_sent_to_the_group_reaches_all_others_and_not_oneself(void **state)
{
    struct network *network = *state;
    struct net_packet packets[100];
    struct rrcp_arrival in[8];

    for (int i = 0; i < 100; i++)
        packets[i] = packet(i, 1000, NULL);
    send_all(network->ends[0], packets, 100);
    expect(network->ends[1], 0, 100, 1000, true);
    expect(network->ends[2], 0, 100, 1000, true);
    assert_int_equal(net_packet_receive(network->ends[0], in, 8), 0);
}

static void what_is_sent_to_one_reaches_only_him(void **state)
{
    struct network *network = *state;
    struct rrcp_address to;
    struct rrcp_arrival in[8];
    struct net_packet packets[3];

    net_packet_local(network->ends[2], 0, &to);
    for (int i = 0; i < 3; i++)
        packets[i] = packet(i, 77, &to);
    send_all(network->ends[0], packets, 3);
    expect(network->ends[2], 0, 3, 77, false);
    assert_int_equal(net_packet_receive(network->ends[1], in, 8), 0);
}

static void the_sender_of_a_packet_is_his_unicast_address(void **state)
{
    struct network *network = *state;
    struct net_packet one = packet(1, 50, NULL);
    struct rrcp_address own;
    struct rrcp_arrival in[8];
    int n = 0;

    net_packet_local(network->ends[0], 0, &own);
    send_all(network->ends[0], &one, 1);
    for (int tries = 0; n == 0 && tries < PATIENCE; tries++)
        n = net_packet_receive(network->ends[1], in, 8);
    assert_int_equal(n, 1);
    assert_int_equal(in[0].from->length, own.length);
    assert_memory_equal(in[0].from->bytes, own.bytes, own.length);
}

static void packets_of_all_lengths_keep_their_borders(void **state)
{
    struct network *network = *state;
    struct net_packet packets[200];
    struct rrcp_arrival in[64];
    int got = 0;

    for (int i = 0; i < 200; i++)
        packets[i] = packet(i, (uint32_t)(1 + i * 311 % 1000), NULL);
    send_all(network->ends[0], packets, 200);
    for (int tries = 0; got < 200 && tries < PATIENCE; tries++) {
        int n = net_packet_receive(network->ends[1], in, 64);

        for (int i = 0; i < n; i++, got++) {
            assert_int_equal(in[i].length, packets[got].length);
            assert_int_equal(in[i].bytes[0], got);
        }
    }
    assert_int_equal(got, 200);
}

static void every_packet_is_reported_complete_once(void **state)
{
    struct network *network = *state;
    struct net_packet_limits limits;
    struct net_packet packets[8];
    struct rrcp_arrival in[8];
    uint32_t cookies[64];
    unsigned seen = 0;

    net_packet_limits(network->ends[0], &limits);
    for (int i = 0; i < 8; i++)
        packets[i] = packet(i, 10, NULL);
    assert_int_equal(net_packet_send(network->ends[0], packets, 8), 8);
    for (int turn = 0; turn < 4; turn++) {
        int n = net_packet_complete(network->ends[0], cookies, 64);

        for (int i = 0; i < n; i++) {
            assert_int_equal(seen >> cookies[i] & 1, 0);
            seen |= 1u << cookies[i];
        }
        (void)net_packet_receive(network->ends[0], in, 8);
    }
    assert_int_equal(seen, limits.send_depth ? 0xff : 0);
}

/* ---- the shim ------------------------------------------------------------------------------- */

static int count_through_shim(const struct net_shim_config *config, struct net_packet_counters *out)
{
    const struct net_sim_config plain = { 0 };
    struct net_packet packets[200];
    struct rrcp_arrival in[64];
    struct net_packet_io *from, *to;
    struct net_sim *sim;
    int got = 0;

    assert_int_equal(net_sim_create(&plain, &sim), 0);
    assert_int_equal(net_sim_open(sim, &from), 0);
    assert_int_equal(net_sim_open(sim, &to), 0);
    assert_int_equal(net_shim_open(config, to, &to), 0);
    for (int i = 0; i < 200; i++)
        packets[i] = packet(i, 100, NULL);
    for (int round = 0; round < 10; round++) {
        send_all(from, packets, 200);
        for (;;) {
            int n = net_packet_receive(to, in, 64);

            got += n;
            if (n == 0 && net_packet_deadline(to) == UINT64_MAX)
                break;
        }
    }
    *out = to->counters;
    net_packet_close(to);
    net_packet_close(from);
    net_sim_destroy(sim);
    return got;
}

static void the_shim_loses_what_its_seed_says(void **state)
{
    const struct net_shim_config config = { .seed = 5, .loss_ppm = 100000 };
    struct net_packet_counters first, second;

    (void)state;
    int one = count_through_shim(&config, &first);
    int two = count_through_shim(&config, &second);
    assert_int_equal(one, two);
    assert_true(one > 1700 && one < 1900);
    assert_int_equal(first.shim_dropped, 2000 - one);
}

static void the_shim_delays_and_doubles_but_loses_nothing(void **state)
{
    const struct net_shim_config config = {
        .seed = 5, .duplicate_ppm = 50000, .delay_ppm = 100000, .delay_us = 200
    };
    struct net_packet_counters counters;

    (void)state;
    int got = count_through_shim(&config, &counters);
    assert_true(counters.shim_delayed > 100);
    assert_int_equal(got, 2000 + (int)counters.shim_duplicated);
}

static void the_shim_takes_other_faults_while_it_runs(void **state)
{
    const struct net_shim_config none = { .seed = 5 }, all = { .loss_ppm = 1000000 };
    const struct net_sim_config plain = { 0 };
    struct net_packet one = packet(0, 100, NULL);
    struct rrcp_arrival in[4];
    struct net_packet_io *from, *to;
    struct net_sim *sim;

    (void)state;
    assert_true(net_shim_wanted(&none));
    assert_int_equal(net_sim_create(&plain, &sim), 0);
    assert_int_equal(net_sim_open(sim, &from), 0);
    assert_int_equal(net_sim_open(sim, &to), 0);
    assert_int_equal(net_shim_set(to, &all), MD_ERR_STATE);
    assert_int_equal(net_shim_open(&none, to, &to), 0);
    send_all(from, &one, 1);
    assert_int_equal(net_packet_receive(to, in, 4), 1);
    assert_int_equal(net_shim_set(to, &all), 0);
    send_all(from, &one, 1);
    assert_int_equal(net_packet_receive(to, in, 4), 0);
    net_packet_close(to);
    net_packet_close(from);
    net_sim_destroy(sim);
}

/* ---- what an operator is told ---------------------------------------------------------------- */

static void refused(struct net_udp_config config, const char *expected)
{
    struct net_udp_report report;
    struct net_packet_io *io;
    char why[256];

    assert_true(net_udp_open(&config, &report, why, sizeof(why), &io) < 0);
    assert_null(io);
    if (!strstr(why, expected))
        fail_msg("\"%s\" does not say \"%s\"", why, expected);
}

static void a_wrong_address_or_interface_is_explained(void **state)
{
    struct net_udp_config config = udp_config();

    (void)state;
    config.paths[0].interface = "nosuch0";
    refused(
        config,
        "interface: no interface of this host has the name or address nosuch0; there are: lo (");
    config = udp_config();
    config.paths[0].group = "example";
    refused(config, "\"example\" is neither");
    config.paths[0].group = "fe80::1";
    refused(config, "\"fe80::1\" is neither");
}

/* ---- from whom packets are taken ------------------------------------------------------------- */

static void only_sources_of_the_subnet_and_named_ones_are_heard(void **state)
{
    struct net_udp_config config = udp_config();

    (void)state;
    config.peers = "10.1.0.0/16 fd00::/64, 10.9.8.7";
    struct net_udp_report report;
    struct net_packet_io *io;
    char why[256];

    assert_int_equal(net_udp_open(&config, &report, why, sizeof(why), &io), 0);
    net_packet_close(io);
    config = udp_config();
    config.peers = "10.1.0.0/33";
    refused(config, "peerAddresses: \"10.1.0.0/33\" is neither an address nor a prefix");
    config.peers = "hostb";
    refused(config, "peerAddresses: \"hostb\" is neither");
    config.peers = "10.0.0.0/";
    refused(config, "is neither");
}

static void a_taken_unicast_port_is_roamed_from(void **state)
{
    struct net_udp_config config = udp_config();
    struct net_udp_report report;
    struct net_packet_io *first, *second;
    char why[256];

    (void)state;
    if (net_udp_open(&config, &report, why, sizeof(why), &first) != 0)
        return;
    config.unicast_port = report.unicast_port;
    refused(config, "is in use");
    config.port_roam_range = 50;
    assert_int_equal(net_udp_open(&config, &report, why, sizeof(why), &second), 0);
    assert_true(report.unicast_port > config.unicast_port);
    net_packet_close(first);
    net_packet_close(second);
}

/* The kernel tells of its drops with the next packet that finds room. */
static void what_the_kernel_drops_is_counted(void **state)
{
    enum { FLOOD = 200 };
    struct net_udp_config config = udp_config();
    struct network *network = *state;
    struct net_packet packets[FLOOD];
    struct net_udp_report report;
    struct net_packet_io *small;
    struct rrcp_arrival in[64];
    char why[256];
    int got = 0;

    config.receive_buffer = 16384;
    config.no_segmentation = true;
    assert_int_equal(net_udp_open(&config, &report, why, sizeof(why), &small), 0);
    for (int i = 0; i < FLOOD; i++)
        packets[i] = packet(i, (uint32_t)(600 + i), NULL);
    send_all(network->ends[0], packets, FLOOD);
    for (int n; (n = net_packet_receive(small, in, 64)) > 0;)
        got += n;
    assert_in_range(got, 1, FLOOD - 1);
    for (int n = 0; net_packet_receive(small, in, 64) > 0; n++)
        assert_true(n < PATIENCE);
    send_all(network->ends[0], packets, 1);
    for (int tries = 0, n = 0; n == 0 && tries < PATIENCE; tries++)
        n = net_packet_receive(small, in, 64);
    assert_int_equal(small->counters.receive_drops, FLOOD - got);
    net_packet_close(small);
}

/* Anybody may send up to 65,507 bytes; no packet of ours has more than 9,000. */
static void a_datagram_longer_than_any_packet_is_counted_and_dropped(void **state)
{
    static uint8_t bytes[65507];
    static const size_t lengths[] = { 9001, 20000, sizeof(bytes), 9000 };
    struct network *network = *state;
    struct net_packet_io *io = network->ends[1];
    struct sockaddr_in to = { .sin_family = AF_INET };
    struct rrcp_arrival in[8];
    struct rrcp_address own;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    int got = 0;

    net_packet_local(io, 0, &own);
    memcpy(&to.sin_addr, own.bytes, 4);
    memcpy(&to.sin_port, own.bytes + 4, 2);
    for (int i = 0; i < 4; i++)
        assert_int_equal(sendto(fd, bytes, lengths[i], 0, (const struct sockaddr *)&to, sizeof(to)),
                         lengths[i]);
    for (int tries = 0; got == 0 && tries < PATIENCE; tries++)
        got = net_packet_receive(io, in, 8);
    assert_int_equal(got, 1);
    assert_int_equal(in[0].length, 9000);
    assert_int_equal(io->counters.truncated, 3);
    close(fd);
}

static void equal_packets_leave_in_one_call(void **state)
{
    struct network *network = *state;
    struct net_packet packets[100];
    struct net_packet_limits limits;

    net_packet_limits(network->ends[0], &limits);
    for (int i = 0; i < 100; i++)
        packets[i] = packet(i, 1400, NULL);
    send_all(network->ends[0], packets, 100);
    expect(network->ends[1], 0, 100, 1400, true);
    assert_int_equal(network->ends[0]->counters.send_calls, 1 + !limits.wants_equal_sizes);
    if (limits.wants_equal_sizes) /* and arrive in few: merged again where the kernel can */
        assert_true(network->ends[1]->counters.receive_calls <= 2 * 8);
}

/* Repairs over an interface of unknown speed have a small budget. A receiver on the same host that
 * had been without a CPU needed more: its requests were refused, and packets given up. */
static void the_loopback_is_not_taken_for_a_slow_interface(void **state)
{
    struct network *network = *state;
    struct net_packet_limits limits;

    net_packet_limits(network->ends[0], &limits);
    assert_true(limits.bits_per_s >= 10ull * 1000 * 1000 * 1000);
}

/* Each longer than the one before, so that the kernel merges none: many messages are waiting. */
static void a_flood_to_the_group_hides_no_request(void **state)
{
    struct network *network = *state;
    struct net_packet packets[100];
    struct rrcp_address one;
    struct rrcp_arrival in[16];
    int before = 0;

    for (int i = 0; i < 100; i++)
        packets[i] = packet(i, (uint32_t)(100 + i), NULL);
    send_all(network->ends[0], packets, 100);
    assert_int_equal(net_packet_receive(network->ends[1], in, 16), 16);
    net_packet_local(network->ends[1], 0, &one);
    packets[0] = packet(200, 50, &one);
    send_all(network->ends[2], packets, 1);
    for (bool has_request = false; !has_request && before < 100;) {
        int n = net_packet_receive(network->ends[1], in, 16);

        for (int i = 0; i < n && !has_request; i++) {
            has_request = !in[i].is_group;
            before += in[i].is_group;
        }
    }
    assert_true(before <= 16);
}

static void what_was_quiet_is_not_asked_once_more(void **state)
{
    struct network *network = *state;
    struct net_packet_io *io = network->ends[1];
    struct net_packet hello = packet(0, 100, NULL);
    struct rrcp_arrival in[4];

    while (net_packet_receive(io, in, 4) > 0) {
    }
    uint64_t calls = io->counters.receive_calls;
    for (int i = 0; net_packet_fd(io, i) >= 0; i++)
        net_packet_quiet(io, i);
    send_all(network->ends[0], &hello, 1);
    assert_int_equal(net_packet_receive(io, in, 4), 0);
    assert_int_equal(io->counters.receive_calls, calls);
    expect(io, 0, 1, 100, true); /* only that once */
}

int main(void)
{
#define BOTH(test)                                                                                 \
    cmocka_unit_test_setup_teardown(test, sim_setup, teardown),                                    \
        cmocka_unit_test_setup_teardown(test, udp_setup, teardown)
    const struct CMUnitTest tests[] = {
        BOTH(what_is_sent_to_the_group_reaches_all_others_and_not_oneself),
        BOTH(what_is_sent_to_one_reaches_only_him),
        BOTH(the_sender_of_a_packet_is_his_unicast_address),
        BOTH(packets_of_all_lengths_keep_their_borders),
        BOTH(every_packet_is_reported_complete_once),
        cmocka_unit_test_setup_teardown(what_the_kernel_drops_is_counted, udp_setup, teardown),
        cmocka_unit_test_setup_teardown(a_datagram_longer_than_any_packet_is_counted_and_dropped,
                                        udp_setup, teardown),
        cmocka_unit_test_setup_teardown(equal_packets_leave_in_one_call, udp_setup, teardown),
        cmocka_unit_test_setup_teardown(the_loopback_is_not_taken_for_a_slow_interface, udp_setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_flood_to_the_group_hides_no_request, udp_setup, teardown),
        cmocka_unit_test_setup_teardown(what_was_quiet_is_not_asked_once_more, udp_setup, teardown),
        cmocka_unit_test(the_shim_loses_what_its_seed_says),
        cmocka_unit_test(the_shim_delays_and_doubles_but_loses_nothing),
        cmocka_unit_test(the_shim_takes_other_faults_while_it_runs),
        cmocka_unit_test(a_wrong_address_or_interface_is_explained),
        cmocka_unit_test(only_sources_of_the_subnet_and_named_ones_are_heard),
        cmocka_unit_test(a_taken_unicast_port_is_roamed_from),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
