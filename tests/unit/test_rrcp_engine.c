/* test_rrcp_engine.c - engines that talk to each other through arrays, and a made-up clock. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cursor.h"
#include "base/err.h"
#include "base/writer.h"
#include "rrcp/rrcp.h"
#include "rrcp_introduce.h"

#define MS    1000000ull
#define NODES 3
#define HELD  64

typedef bool (*drop_fn)(const struct rrcp_packet *packet, int from, int to);

struct net {
    struct rrcp *r[NODES];
    int port[NODES];
    uint64_t now;
    drop_fn drop;
    bool is_cut[NODES]; /* hears nothing and is not heard */
    struct backbone_event events[4096];
    int owners[4096];
    int count;
    uint8_t text[4096][32]; /* the beginning of each message */
    struct rrcp_config config;
};

static size_t refused_bytes; /* the environment has no pieces as large as this; 0: it has all */

static void *take(void *context, size_t bytes)
{
    (void)context;
    return refused_bytes && bytes >= refused_bytes ? NULL : calloc(1, bytes);
}

static void give(void *context, void *memory, size_t bytes)
{
    (void)context;
    (void)bytes;
    free(memory);
}

static uint8_t test_ports[NODES]; /* a node has another after a restart */

static void address_of(int node, struct rrcp_address *out)
{
    *out = (struct rrcp_address){ .length = 3,
                                  .host_length = 2,
                                  .bytes = { 1, (uint8_t)node, test_ports[node] } };
}

static void node_start(struct net *net, int node, uint64_t session)
{
    struct rrcp_env env = { .take = take, .give = give, .seed = { session, 7 } };
    const struct rrcp_user user = { .receives = true };
    struct rrcp_config config = net->config;
    char name[16];

    snprintf(name, sizeof(name), "node%d", node);
    config.network = "test";
    config.node = name;
    config.session = session;
    assert_int_equal(rrcp_create(&config, &env, &net->r[node]), MD_OK);
    net->port[node] = rrcp_user_add(net->r[node], &user);
}

/* In every test, of every batch. */
static void check_plain(const struct rrcp *r, const struct backbone_event events[], int count)
{
    bool are_plain = true;

    for (int i = 0; i < count; i++)
        are_plain &= events[i].type == BACKBONE_MESSAGE && events[i].src_port != RRCP_PORT_RESERVED;
    assert_int_equal(rrcp_events_are_plain(r), are_plain);
}

static void drain(struct net *net, int node)
{
    struct backbone_event out[16];
    int n;

    while ((n = rrcp_event(net->r[node], out, 16)) > 0) {
        check_plain(net->r[node], out, n);
        for (int i = 0; i < n && net->count < 4096; i++, net->count++) {
            net->events[net->count] = out[i];
            net->owners[net->count] = node;
            memset(net->text[net->count], 0, 32);
            if (out[i].bytes && out[i].length)
                memcpy(net->text[net->count], out[i].bytes,
                       out[i].length < 31 ? out[i].length : 31);
        }
    }
    check_plain(net->r[node], out, 0);
}

static void deliver(struct net *net, int from, const struct rrcp_packet *p, int to)
{
    struct rrcp_address home;
    struct rrcp_arrival in = { .bytes = p->bytes, .length = p->length, .path = p->path };

    if (to == from || !net->r[to] || net->is_cut[from] || net->is_cut[to])
        return;
    if (net->drop && net->drop(p, from, to))
        return;
    address_of(from, &home);
    in.from = &home;
    in.is_group = p->to == NULL;
    rrcp_input(net->r[to], net->now, &in, 1);
    drain(net, to);
}

static bool speak(struct net *net, int node)
{
    struct rrcp_packet out[16];
    int n = rrcp_output(net->r[node], net->now, out, 16);

    for (int i = 0; i < n; i++)
        for (int to = 0; to < NODES; to++)
            if (!out[i].to || out[i].to->bytes[1] == to)
                deliver(net, node, &out[i], to);
    drain(net, node);
    return n > 0;
}

/* Everybody's loop, in steps of 0.1 ms. */
static void run(struct net *net, uint64_t for_ns)
{
    uint64_t end = net->now + for_ns;

    for (; net->now < end; net->now += MS / 10) {
        bool again = true;

        for (int i = 0; i < NODES; i++)
            if (net->r[i]) {
                rrcp_input(net->r[i], net->now, NULL, 0);
                rrcp_tick(net->r[i], net->now);
                drain(net, i);
            }
        for (int rounds = 0; again && rounds < 50; rounds++) {
            again = false;
            for (int i = 0; i < NODES; i++)
                again |= net->r[i] && speak(net, i);
        }
        for (int i = 0; i < NODES; i++)
            if (net->r[i] && net->now % MS == 0)
                assert_null(rrcp_check(net->r[i]));
    }
}

static struct net *net_make(void)
{
    struct net *net = calloc(1, sizeof(*net));

    assert_non_null(net);
    net->now = 100000 * MS;
    rrcp_config_init(&net->config);
    net->config.pool_packets = 1024;
    net->config.window_packets = 256;
    net->config.missing_max = 128;
    net->config.peers_max = 16;
    net->config.arrivals_max = 16;
    return net;
}

static void net_start(struct net *net)
{
    for (int i = 0; i < NODES; i++)
        node_start(net, i, 1001u + (uint64_t)i);
    run(net, 300 * MS);
    net->count = 0;
}

static void net_free(struct net *net)
{
    for (int i = 0; i < NODES; i++)
        rrcp_destroy(net->r[i]);
    free(net);
}

static int say(struct net *net, int node, const char *text)
{
    struct rrcp_msg msg = { .bytes = (const uint8_t *)text,
                            .length = (uint32_t)strlen(text),
                            .topic = 1 };

    return rrcp_submit(net->r[node], net->now, net->port[node], &msg);
}

/* The index of an event at a node; -1: none. */
static int find(const struct net *net, int node, int type, const char *text)
{
    for (int i = 0; i < net->count; i++)
        if (net->owners[i] == node && net->events[i].type == type &&
            (!text || strcmp((const char *)net->text[i], text) == 0))
            return i;
    return -1;
}

static int count(const struct net *net, int node, int type)
{
    int n = 0;

    for (int i = 0; i < net->count; i++)
        n += net->owners[i] == node && net->events[i].type == type;
    return n;
}

/* ---- sending and repair ------------------------------------------------------------------- */

static bool drop_first_data(const struct rrcp_packet *p, int from, int to)
{
    (void)from;
    return to == 1 && p->type == 1 && md_be64(p->bytes + 24) == 2 && !(p->bytes[4] & 1);
}

static void a_lost_packet_is_asked_for_and_delivered_in_its_place(void **state)
{
    struct net *net = net_make();

    (void)state;
    net_start(net);
    net->drop = drop_first_data;
    for (int i = 0; i < 3; i++) {
        say(net, 0, i == 0 ? "one" : i == 1 ? "two" : "three");
        run(net, MS / 10);
    }
    assert_true(find(net, 1, BACKBONE_MESSAGE, "one") >= 0);
    assert_int_equal(find(net, 1, BACKBONE_MESSAGE, "three"), -1);
    run(net, 30 * MS);
    assert_true(find(net, 1, BACKBONE_MESSAGE, "two") > 0);
    assert_true(find(net, 1, BACKBONE_MESSAGE, "three") > find(net, 1, BACKBONE_MESSAGE, "two"));
    assert_int_equal(count(net, 1, BACKBONE_GAP), 0);
    assert_int_equal(rrcp_counters(net->r[1])->packets_repaired, 1);
    net_free(net);
}

static void a_lost_tail_is_noticed_by_the_next_beacon(void **state)
{
    struct net *net = net_make();

    (void)state;
    net_start(net);
    say(net, 0, "one");
    run(net, MS / 10);
    net->drop = drop_first_data;
    say(net, 0, "two");
    run(net, 40 * MS);
    assert_true(find(net, 1, BACKBONE_MESSAGE, "two") >= 0);
    net_free(net);
}

static bool drop_two_for_ever(const struct rrcp_packet *p, int from, int to)
{
    (void)from;
    return to == 1 && p->type == 1 && md_be64(p->bytes + 24) == 2;
}

static void what_cannot_be_repaired_is_told_as_a_gap_in_its_place(void **state)
{
    struct net *net = net_make();

    (void)state;
    net_start(net);
    net->drop = drop_two_for_ever;
    for (int i = 0; i < 3; i++) {
        say(net, 0, i == 0 ? "one" : i == 1 ? "two" : "three");
        run(net, MS / 10);
    }
    run(net, 600 * MS);
    int gap = find(net, 1, BACKBONE_GAP, NULL);

    assert_true(gap > find(net, 1, BACKBONE_MESSAGE, "one"));
    assert_true(gap < find(net, 1, BACKBONE_MESSAGE, "three"));
    assert_true(net->events[gap].seq == 2 && net->events[gap].last == 2);
    assert_int_equal(net->events[gap].reason, BACKBONE_GAP_TIMEOUT);
    assert_int_equal(count(net, 2, BACKBONE_GAP), 0);
    net_free(net);
}

static void nothing_flows_before_three_beacons_then_tx_ready_is_told(void **state)
{
    struct net *net = net_make();

    (void)state;
    for (int i = 0; i < NODES; i++)
        node_start(net, i, 1001u + (uint64_t)i);
    assert_int_equal(say(net, 0, "early"), MD_ERR_FULL);
    run(net, 150 * MS);
    assert_true(find(net, 0, BACKBONE_TX_READY, NULL) >= 0);
    assert_int_equal(say(net, 0, "now"), MD_OK);
    net_free(net);
}

static void a_large_message_arrives_in_one_piece(void **state)
{
    struct net *net = net_make();
    static uint8_t large[100000];
    struct rrcp_msg msg = { .bytes = large, .length = sizeof(large), .topic = 1 };

    (void)state;
    net_start(net);
    assert_int_equal(rrcp_submit(net->r[0], net->now, net->port[0], &msg), MD_OK);
    run(net, 20 * MS);
    int at = find(net, 2, BACKBONE_MESSAGE, NULL);

    assert_true(at >= 0);
    assert_int_equal(net->events[at].length, sizeof(large));
    net_free(net);
}

static void a_message_that_can_never_fit_is_refused(void **state)
{
    struct net *net = net_make();
    static uint8_t large[5u << 20];
    struct rrcp_msg msg = { .bytes = large, .length = sizeof(large), .topic = 1 };
    struct rrcp_msg reserved = { .topic = RRCP_TOPIC_USER_DOWN };

    (void)state;
    net_start(net);
    assert_int_equal(rrcp_submit(net->r[0], net->now, 1, &msg), MD_ERR_RANGE);
    msg.length = 2u << 20; /* within message_bytes_max, but not within half this pool */
    assert_int_equal(rrcp_submit(net->r[0], net->now, 1, &msg), MD_ERR_RANGE);
    assert_int_equal(rrcp_submit(net->r[0], net->now, 1, &reserved), MD_ERR_RANGE);
    net_free(net);
}

static void fill_pool(uint32_t high, uint32_t low)
{
    struct net *net = net_make();
    static uint8_t body[1400];
    struct rrcp_msg msg = { .bytes = body, .length = sizeof(body), .topic = 1 };

    net->config.pool_packets = 128;
    net->config.pool_high = high;
    net->config.pool_low = low;
    net->config.unsent_max = 1000;
    net_start(net);
    for (int i = 0; i < 60 && rrcp_submit(net->r[0], net->now, 1, &msg) == MD_OK; i++)
        ;
    assert_int_equal(rrcp_submit(net->r[0], net->now, 1, &msg), MD_ERR_FULL);
    assert_int_equal(rrcp_counters(net->r[0])->over_entered, 1);
    run(net, 150 * MS);
    assert_int_equal(rrcp_counters(net->r[0])->over_left, 1);
    assert_true(find(net, 0, BACKBONE_TX_READY, NULL) >= 0);
    assert_int_equal(rrcp_submit(net->r[0], net->now, 1, &msg), MD_OK);
    net_free(net);
}

static void a_full_pool_makes_users_wait_until_it_is_low_again(void **state)
{
    (void)state;
    fill_pool(40, 20);
    fill_pool(40, 0); /* the low mark follows from the high one */
}

/* ---- peers -------------------------------------------------------------------------------- */

static void a_silent_peer_goes_down_and_comes_back_with_a_gap(void **state)
{
    struct net *net = net_make();

    (void)state;
    net_start(net);
    say(net, 0, "one");
    run(net, 10 * MS);
    net->is_cut[0] = true;
    for (int i = 0; i < 10; i++) {
        say(net, 0, "unheard");
        run(net, MS);
    }
    run(net, 3600 * MS);
    int down = find(net, 1, BACKBONE_PEER_DOWN, NULL);

    assert_true(down >= 0);
    assert_int_equal(net->events[down].reason, BACKBONE_DOWN_TIMEOUT);
    net->is_cut[0] = false;
    run(net, 1200 * MS);
    int up = find(net, 1, BACKBONE_PEER_UP, NULL);
    int gap = find(net, 1, BACKBONE_GAP, NULL);

    assert_true(up > down && gap > up);
    assert_int_equal(net->events[gap].reason, BACKBONE_GAP_REJOIN);
    assert_int_equal(net->events[gap].count, 10);
    net_free(net);
}

static void a_node_that_was_paused_reads_before_it_judges(void **state)
{
    struct net *net = net_make();

    (void)state;
    net_start(net);
    net->now += 5000 * MS; /* it slept, and has not looked at its network yet */
    rrcp_tick(net->r[1], net->now);
    drain(net, 1);
    assert_int_equal(count(net, 1, BACKBONE_PEER_DOWN), 0);
    assert_true(rrcp_deadline(net->r[1]) < net->now + MS); /* do not sleep now */
    rrcp_input(net->r[1], net->now + MS, NULL, 0);
    rrcp_tick(net->r[1], net->now + MS);
    drain(net, 1);
    assert_int_equal(count(net, 1, BACKBONE_PEER_DOWN), 2);
    net_free(net);
}

static void bye_is_told_at_once(void **state)
{
    struct net *net = net_make();

    (void)state;
    net_start(net);
    say(net, 0, "last words");
    rrcp_stop(net->r[0], net->now, 1);
    run(net, 5 * MS);
    int down = find(net, 1, BACKBONE_PEER_DOWN, NULL);

    assert_true(down > find(net, 1, BACKBONE_MESSAGE, "last words"));
    assert_int_equal(net->events[down].reason, BACKBONE_DOWN_BYE);
    run(net, 245 * MS); /* it stays for those who did not hear its answer */
    assert_true(rrcp_is_stopped(net->r[0]));
    assert_int_equal(count(net, 1, BACKBONE_PEER_UP), 0);
    net_free(net);
}

static void a_restarted_node_replaces_its_former_self(void **state)
{
    struct net *net = net_make();

    (void)state;
    net_start(net);
    rrcp_destroy(net->r[0]);
    test_ports[0]++;
    node_start(net, 0, 2001);
    run(net, 350 * MS);
    int down = find(net, 1, BACKBONE_PEER_DOWN, NULL);

    assert_true(down >= 0);
    assert_true(net->events[down].session == 1001);
    assert_int_equal(net->events[down].reason, BACKBONE_DOWN_REPLACED);
    assert_int_equal(rrcp_counters(net->r[1])->peers_now, 2);
    net_free(net);
}

static void a_joiner_gets_and_asks_for_nothing_from_before(void **state)
{
    struct net *net = net_make();

    (void)state;
    node_start(net, 0, 1001);
    run(net, 300 * MS);
    for (int i = 0; i < 20; i++) {
        say(net, 0, "before");
        run(net, MS);
    }
    node_start(net, 1, 1002);
    say(net, 0, "before"); /* by this it hears of node 0, which must still prove itself */
    run(net, MS);
    for (int i = 0; i < 20; i++) {
        say(net, 0, "after");
        run(net, MS);
    }
    assert_int_equal(find(net, 1, BACKBONE_MESSAGE, "before"), -1);
    assert_int_equal(count(net, 1, BACKBONE_MESSAGE), 20);
    assert_int_equal(rrcp_counters(net->r[1])->retrans_req_sent, 0);
    net_free(net);
}

/* ---- users -------------------------------------------------------------------------------- */

static void the_death_of_a_user_follows_its_last_message_everywhere(void **state)
{
    struct net *net = net_make();

    (void)state;
    net_start(net);
    say(net, 0, "last");
    assert_int_equal(rrcp_user_remove(net->r[0], net->now, net->port[0], BACKBONE_USER_DIED),
                     MD_OK);
    run(net, MS);
    for (int i = 1; i < NODES; i++) {
        int down = find(net, i, BACKBONE_USER_DOWN, NULL);

        assert_true(down > find(net, i, BACKBONE_MESSAGE, "last"));
        assert_int_equal(net->events[down].src_port, net->port[0]);
        assert_int_equal(net->events[down].reason, BACKBONE_USER_DIED);
    }
    net_free(net);
}

static void a_port_is_given_once_and_users_are_counted(void **state)
{
    struct net *net = net_make();
    const struct rrcp_user user = { .receives = true };

    (void)state;
    net_start(net);
    for (int i = 2; i <= RRCP_USER_MAX; i++)
        assert_int_equal(rrcp_user_add(net->r[0], &user), i);
    assert_int_equal(rrcp_user_add(net->r[0], &user), MD_ERR_FULL);
    rrcp_user_remove(net->r[0], net->now, 5, BACKBONE_USER_DETACHED);
    assert_int_equal(rrcp_user_add(net->r[0], &user), RRCP_USER_MAX + 1);
    net_free(net);
}

static void other_local_users_hear_a_message_in_the_order_of_the_network(void **state)
{
    struct net *net = net_make();
    const struct rrcp_user user = { .receives = true };

    (void)state;
    net_start(net);
    say(net, 0, "to nobody here");
    run(net, MS);
    assert_int_equal(count(net, 0, BACKBONE_MESSAGE), 0); /* its sender is alone */
    rrcp_user_add(net->r[0], &user);
    say(net, 0, "first");
    say(net, 0, "second");
    run(net, MS);
    assert_int_equal(count(net, 0, BACKBONE_MESSAGE), 2);
    assert_true(find(net, 0, BACKBONE_MESSAGE, "second") > find(net, 0, BACKBONE_MESSAGE, "first"));
    net_free(net);
}

/* check_plain() compares what the engine says of each batch with its events. */
static void messages_of_the_reserved_port_are_marked_among_those_of_users(void **state)
{
    static const int ports[] = { 0, 1, 0, 0, 1, 1, 0 };
    struct net *net = net_make();
    char text[2000] = "x";

    (void)state;
    net_start(net);
    for (int round = 0; round < 4; round++) {
        for (size_t i = 0; i < sizeof(ports) / sizeof(ports[0]); i++) {
            struct rrcp_msg msg = { .bytes = (const uint8_t *)text,
                                    .length = round == 1 ? sizeof(text) : 8,
                                    .topic = round < 3 ? 1 : (uint32_t)i,
                                    .session = round == 2 ? rrcp_session(net->r[1]) : 0,
                                    .flags = round == 2 ? RRCP_MSG_UNICAST : 0 };
            int port = ports[i] ? (int)RRCP_PORT_RESERVED : net->port[0];

            assert_int_equal(rrcp_submit(net->r[0], net->now, port, &msg), MD_OK);
        }
        run(net, 10 * MS);
    }
    assert_int_equal(count(net, 1, BACKBONE_MESSAGE), 28);
    net_free(net);
}

/* ---- directed ----------------------------------------------------------------------------- */

static void a_directed_message_reaches_one_node_by_either_way(void **state)
{
    struct net *net = net_make();
    struct rrcp_msg msg = { .bytes = (const uint8_t *)"you", .length = 3, .topic = 5, .port = 9 };

    (void)state;
    net_start(net);
    msg.session = rrcp_session(net->r[2]);
    for (uint16_t flags = 0; flags <= RRCP_MSG_UNICAST; flags++) {
        msg.flags = flags;
        assert_int_equal(rrcp_submit(net->r[0], net->now, net->port[0], &msg), MD_OK);
        run(net, 5 * MS);
    }
    assert_int_equal(count(net, 1, BACKBONE_MESSAGE), 0);
    assert_int_equal(count(net, 2, BACKBONE_MESSAGE), 2);
    msg.session = rrcp_session(net->r[0]); /* to itself, both ways */
    for (uint16_t flags = 0; flags <= RRCP_MSG_UNICAST; flags++) {
        msg.flags = flags;
        assert_int_equal(rrcp_submit(net->r[0], net->now, net->port[0], &msg), MD_OK);
        run(net, 5 * MS);
    }
    assert_int_equal(count(net, 0, BACKBONE_MESSAGE), 2);
    msg.session = 4711;
    assert_int_equal(rrcp_submit(net->r[0], net->now, net->port[0], &msg), MD_ERR_NOT_FOUND);
    net_free(net);
}

/* Acknowledgements wait for more to acknowledge: that wait is no part of the way there and back. */
static void an_acknowledgement_that_waited_does_not_lengthen_the_round_trip(void **state)
{
    struct net *net = net_make();
    struct rrcp_msg msg = { .bytes = (const uint8_t *)"you", .length = 3, .topic = 5, .port = 9 };
    struct rrcp_peer_info info;

    (void)state;
    net_start(net);
    msg.session = rrcp_session(net->r[2]);
    msg.flags = RRCP_MSG_UNICAST;
    assert_int_equal(rrcp_submit(net->r[0], net->now, net->port[0], &msg), MD_OK);
    run(net, 20 * MS);
    for (uint32_t i = 0; rrcp_peer_info(net->r[0], i, &info); i++)
        if (info.session == msg.session)
            break;
    assert_int_equal(info.session, msg.session);
    assert_in_range(info.rtt_us, 0, 200); /* two steps of the loop */
    net_free(net);
}

static void what_waits_for_its_acknowledgement_is_not_sent_again(void **state)
{
    struct net *net = net_make();
    struct rrcp_msg msg = { .bytes = (const uint8_t *)"you", .length = 3, .topic = 5, .port = 9 };

    (void)state;
    net->config.unicast_wait_ns = 1 * MS;
    net_start(net);
    msg.session = rrcp_session(net->r[2]);
    msg.flags = RRCP_MSG_UNICAST;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(rrcp_submit(net->r[0], net->now, net->port[0], &msg), MD_OK);
        run(net, 20 * MS);
    }
    assert_int_equal(rrcp_counters(net->r[0])->unicast_retrans, 0);
    net_free(net);
}

static void unicast_without_a_buffer_looks_for_one_again_in_time(void **state)
{
    struct net *net = net_make();
    static uint8_t body[1400];
    struct rrcp_msg msg = { .bytes = body, .length = sizeof(body), .flags = RRCP_MSG_UNICAST };
    const uint64_t wait_ns = 20 * MS;

    (void)state;
    net->config.pool_packets = 128; /* of which unicast gets 12 */
    net->config.unicast_wait_ns = wait_ns;
    net_start(net);
    net->is_cut[1] = true;
    msg.session = rrcp_session(net->r[1]);
    for (int i = 0; i < 12; i++)
        assert_int_equal(rrcp_submit(net->r[0], net->now, net->port[0], &msg), MD_OK);
    run(net, MS);
    msg.session = rrcp_session(net->r[2]);
    assert_int_equal(rrcp_submit(net->r[0], net->now, net->port[0], &msg), MD_OK);
    while (find(net, 0, BACKBONE_GAP, NULL) < 0) /* the stream to node 1 is given up */
        run(net, MS);
    assert_int_equal(find(net, 2, BACKBONE_MESSAGE, NULL), -1);
    run(net, wait_ns + MS);
    assert_true(find(net, 2, BACKBONE_MESSAGE, NULL) >= 0);
    net_free(net);
}

static void unicast_without_memory_is_dropped_alone(void **state)
{
    struct net *net = net_make();
    static uint8_t body[100000];
    struct rrcp_msg msg = { .bytes = body, .length = sizeof(body), .flags = RRCP_MSG_UNICAST };
    struct rrcp_msg one = { .bytes = (const uint8_t *)"one", .length = 3, .flags = msg.flags };
    struct rrcp_msg two = { .bytes = (const uint8_t *)"two", .length = 3, .flags = msg.flags };

    (void)state;
    net_start(net);
    msg.session = one.session = two.session = rrcp_session(net->r[1]);
    assert_int_equal(rrcp_submit(net->r[0], net->now, net->port[0], &one), MD_OK);
    refused_bytes = 8192;
    assert_int_equal(rrcp_submit(net->r[0], net->now, net->port[0], &msg), MD_OK);
    refused_bytes = 0;
    assert_int_equal(rrcp_submit(net->r[0], net->now, net->port[0], &two), MD_OK);
    run(net, 10 * MS);
    assert_int_equal(count(net, 0, BACKBONE_TX_DROPPED), 1);
    assert_int_equal(count(net, 1, BACKBONE_MESSAGE), 2);
    assert_true(find(net, 1, BACKBONE_MESSAGE, "one") >= 0);
    assert_true(find(net, 1, BACKBONE_MESSAGE, "two") >= 0);
    net_free(net);
}

static int in_lane(struct net *net, uint64_t lane, const void *bytes, uint32_t length)
{
    struct rrcp_msg msg = { .bytes = bytes,
                            .length = length,
                            .topic = 5,
                            .session = rrcp_session(net->r[1]),
                            .flags = RRCP_MSG_UNICAST,
                            .lane = lane };
    uint64_t before = rrcp_counters(net->r[0])->unicast_dropped;

    assert_int_equal(rrcp_submit(net->r[0], net->now, net->port[0], &msg), MD_OK);
    return rrcp_counters(net->r[0])->unicast_dropped == before;
}

static void a_storm_in_one_lane_keeps_no_other_waiting(void **state)
{
    struct net *net = net_make();
    char text[16];
    int late, last = -1;

    (void)state;
    net_start(net);
    for (int i = 0; i < 28000; i++) {
        snprintf(text, sizeof(text), "%05d", i);
        assert_true(in_lane(net, 7, text, 5));
    }
    assert_true(in_lane(net, 9, "late", 4));
    assert_true(in_lane(net, 0, "plain", 5));
    assert_null(rrcp_check(net->r[0]));
    run(net, 2 * MS);
    late = find(net, 1, BACKBONE_MESSAGE, "late");
    assert_true(late >= 0 && late < 400);
    assert_true(find(net, 1, BACKBONE_MESSAGE, "plain") > late);
    assert_true(find(net, 1, BACKBONE_MESSAGE, "plain") < 400);
    for (int i = 0; i < net->count; i++)
        if (net->owners[i] == 1 && net->text[i][0] >= '0' && net->text[i][0] <= '9')
            assert_int_equal(atoi((const char *)net->text[i]), ++last);
    assert_true(last > 1000);
    assert_int_equal(count(net, 0, BACKBONE_TX_DROPPED), 0);
    assert_null(rrcp_check(net->r[0]));
    net_free(net);
}

static void a_lane_that_was_alone_owes_nothing_for_it(void **state)
{
    static const char first[200] = "old", then[200] = "new";
    struct net *net = net_make();
    int old = 0, new = 0;

    (void)state;
    net_start(net);
    for (int i = 0; i < 28000; i++)
        assert_true(in_lane(net, 7, first, sizeof(first)));
    run(net, MS / 10);
    for (int i = 0; i < 4000; i++)
        assert_true(in_lane(net, 9, then, sizeof(then)));
    net->count = 0;
    run(net, 2 * MS);
    for (int i = 0; i < net->count && new < 1000; i++) {
        bool is_new = strcmp((const char *)net->text[i], "new") == 0;

        new += net->owners[i] == 1 && is_new;
        old += net->owners[i] == 1 && !is_new && new > 0;
    }
    assert_int_equal(new, 1000);
    assert_true(old > 900 && old < 1100);
    net_free(net);
}

static void a_lane_may_be_as_long_as_what_it_leaves_for_others(void **state)
{
    static uint8_t body[10000];
    struct net *net = net_make();
    int taken = 0;

    (void)state;
    net->config.unicast_queue_max = 1 << 20;
    net_start(net);
    while (in_lane(net, 7, body, sizeof(body)))
        taken++;
    assert_int_equal(taken, (1 << 20) / 2 / (int)(sizeof(body) + 12));
    for (uint64_t lane = 0; lane < 10; lane++)
        assert_true(lane == 7 || in_lane(net, lane, body, sizeof(body)));
    assert_null(rrcp_check(net->r[0]));
    net_free(net);
}

static void more_pairs_than_lanes_share_them(void **state)
{
    struct net *net = net_make();
    uint64_t before, lanes, after;
    int taken = 0;

    (void)state;
    net_start(net);
    assert_true(in_lane(net, 0, "x", 1));
    run(net, 20 * MS);
    before = rrcp_counters(net->r[0])->memory_bytes;
    assert_true(in_lane(net, 1, "x", 1));
    lanes = rrcp_counters(net->r[0])->memory_bytes - before;
    assert_true(lanes > 0 && lanes < 40000);
    for (int round = 0; round < 2; round++) {
        net->count = 0;
        for (uint64_t lane = 1; lane <= 1500; lane++)
            assert_true(in_lane(net, lane + 10000u * (unsigned)round, "x", 1));
        assert_null(rrcp_check(net->r[0]));
        run(net, 20 * MS);
        assert_int_equal(count(net, 1, BACKBONE_MESSAGE), 1500 + (round == 0));
        after = rrcp_counters(net->r[0])->memory_bytes;
        assert_true(after <= before + lanes + (1 << 20)); /* 128 spare segments */
    }
    while (in_lane(net, 0, "x", 1))
        taken++;
    assert_int_equal(taken, 131072);
    assert_true(in_lane(net, 1, "x", 1));
    net_free(net);
}

static void lanes_and_their_memory_end_with_their_peer(void **state)
{
    static const char body[3000];
    struct net *net = net_make();
    uint64_t before;

    (void)state;
    net_start(net);
    before = rrcp_counters(net->r[0])->memory_bytes;
    for (uint64_t lane = 1; lane <= 300; lane++)
        for (int i = 0; i < 4; i++)
            assert_true(in_lane(net, lane, body, sizeof(body)));
    run(net, MS / 10);
    net->is_cut[1] = true;
    for (int i = 0; i < 60 && rrcp_counters(net->r[0])->peers_now > 1; i++) {
        run(net, 100 * MS);
        net->count = 0;
    }
    assert_int_equal(rrcp_counters(net->r[0])->peers_now, 1);
    assert_true(rrcp_counters(net->r[0])->memory_bytes <= before + (1 << 20));
    net->is_cut[1] = false;
    run(net, 2000 * MS);
    net->count = 0;
    for (uint64_t lane = 1; lane <= 300; lane++)
        assert_true(in_lane(net, 1000 + lane, "again", 5));
    run(net, 100 * MS);
    assert_int_equal(count(net, 1, BACKBONE_MESSAGE), 300);
    net_free(net);
}

/* All memory that messages wait in is within unicast_bytes_max. */
static void what_waits_in_many_lanes_is_bounded_by_its_memory(void **state)
{
    struct net *net = net_make();
    uint64_t before;
    int refused = 0;

    (void)state;
    net->config.unicast_bytes_max = 1 << 20;
    net_start(net);
    assert_true(in_lane(net, 1, "x", 1));
    before = rrcp_counters(net->r[0])->memory_bytes;
    for (uint64_t lane = 1; lane <= 512; lane++)
        refused += !in_lane(net, lane, "x", 1);
    assert_true(refused > 100);
    assert_true(rrcp_counters(net->r[0])->memory_bytes <= before + (1 << 20));
    assert_null(rrcp_check(net->r[0]));
    net_free(net);
}

static void storms_leave_each_lane_a_little(void **state)
{
    static const char body[1000];
    struct net *net = net_make();

    (void)state;
    net_start(net);
    for (uint64_t lane = 1; lane <= 20; lane++)
        while (in_lane(net, lane, body, sizeof(body)))
            ;
    for (uint64_t lane = 0; lane < 1000; lane += 50)
        assert_true(lane == 1 || in_lane(net, lane, body, 400));
    assert_null(rrcp_check(net->r[0]));
    net_free(net);
}

/* ---- the share of a lane: A in lane 7, while B waits in lane 9 ---- */

static struct {
    struct net *net;
    const char *bytes; /* of A, each time the one before has come */
    uint32_t length;
    int sent, seen;
    uint64_t a_bytes, b_bytes;
} share;

static bool share_look(const struct rrcp_packet *p, int from, int to)
{
    struct net *net = share.net;

    (void)p;
    (void)from;
    (void)to;
    for (int i = 0; i < net->count; i++) {
        bool is_a = net->text[i][0] == 'A';
        uint32_t length = net->events[i].length + 12; /* a lane pays for the record's head, too */

        if (net->owners[i] != 1 || net->events[i].type != BACKBONE_MESSAGE)
            continue;
        share.seen += is_a;
        share.a_bytes += is_a ? length : 0;
        share.b_bytes += is_a ? 0 : length;
    }
    net->count = 0;
    if (share.seen == share.sent)
        share.sent += in_lane(net, 7, share.bytes, share.length);
    return false;
}

/* Of what B sends until it has sent `max` bytes. */
static void share_of_one_at_a_time(uint32_t length, uint64_t max)
{
    static char bytes[1 << 20];
    static const char other[200] = "B";
    struct net *net = net_make();

    memset(bytes, 'A', sizeof(bytes));
    memset(&share, 0, sizeof(share));
    share.net = net;
    share.bytes = bytes;
    share.length = length;
    net_start(net);
    for (int i = 0; i < 28000; i++)
        assert_true(in_lane(net, 9, other, sizeof(other)));
    net->drop = share_look;
    for (int i = 0; i < 20000 && share.b_bytes < max; i++) {
        run(net, MS / 10);
        (void)share_look(NULL, 0, 0);
    }
    assert_true(share.b_bytes >= max);
    assert_true(share.a_bytes <= share.b_bytes + 2ull * length);
    assert_true(share.a_bytes + 2ull * length >= share.b_bytes);
    net_free(net);
}

static void a_lane_that_is_empty_now_and_then_has_no_more_than_its_share(void **state)
{
    (void)state;
    share_of_one_at_a_time(60000, 1000000);
}

static void a_lane_of_long_messages_has_no_more_than_its_share(void **state)
{
    (void)state;
    share_of_one_at_a_time(1 << 20, 4 << 20);
}

static int dropped_unicast;

static bool drop_some_unicast(const struct rrcp_packet *p, int from, int to)
{
    (void)from;
    (void)to;
    return (p->type == 2 || p->type == 3) && dropped_unicast++ % 3 == 0;
}

static void unicast_comes_in_order_though_packets_are_lost(void **state)
{
    struct net *net = net_make();

    (void)state;
    dropped_unicast = 0;
    net_start(net);
    net->drop = drop_some_unicast;
    for (int i = 0; i < 100; i++) {
        char text[32];
        struct rrcp_msg msg = { .bytes = (const uint8_t *)text, .flags = RRCP_MSG_UNICAST };

        msg.session = rrcp_session(net->r[1]);
        msg.length = (uint32_t)snprintf(text, sizeof(text), "message %d", i);
        assert_int_equal(rrcp_submit(net->r[0], net->now, net->port[0], &msg), MD_OK);
        run(net, MS / 5);
    }
    run(net, 2000 * MS);
    assert_int_equal(count(net, 1, BACKBONE_MESSAGE), 100);
    for (int i = 0, want = 0; i < net->count; i++)
        if (net->owners[i] == 1 && net->events[i].type == BACKBONE_MESSAGE) {
            char text[32];

            snprintf(text, sizeof(text), "message %d", want++);
            assert_string_equal((char *)net->text[i], text);
        }
    net_free(net);
}

/* ---- determinism and memory --------------------------------------------------------------- */

static uint64_t sum_of_a_run(void)
{
    struct net *net = net_make();
    uint64_t sum = 0;

    dropped_unicast = 0;
    net_start(net);
    net->drop = drop_first_data;
    for (int i = 0; i < 50; i++) {
        say(net, i % NODES, "text");
        run(net, MS);
    }
    for (int i = 0; i < net->count; i++)
        sum = sum * 31 + net->events[i].seq + net->events[i].type + net->events[i].rx_ns;
    for (int i = 0; i < NODES; i++)
        sum = sum * 31 + rrcp_counters(net->r[i])->bytes_sent;
    net_free(net);
    return sum;
}

static void the_same_inputs_give_the_same_outputs(void **state)
{
    (void)state;
    assert_true(sum_of_a_run() == sum_of_a_run());
}

enum { FIRST_SENT = 0, REPAIR = 1 };

static struct rrcp_address home_of(uint64_t session)
{
    return (struct rrcp_address){ .length = 3,
                                  .bytes = { 1, (uint8_t)(session >> 8), (uint8_t)session } };
}

/* An invented peer that will send `next` next. */
static void feed_peer(struct rrcp *r, uint64_t now, uint64_t session, uint64_t next)
{
    struct rrcp_address from = home_of(session);
    struct backbone_event out[16];

    assert_true(introduce(r, now, "test", session, next, &from));
    while (rrcp_event(r, out, 16) > 0)
        ;
}

static uint32_t feed_held = 100; /* packets before it that the sender still holds */

/* A data packet of an invented peer; a repair comes to us alone. */
static void feed(struct rrcp *r, uint64_t now, uint64_t session, uint64_t seq, uint8_t flags)
{
    uint8_t bytes[56] = { 0 };
    struct rrcp_address from = home_of(session);
    struct rrcp_arrival in = {
        .bytes = bytes, .length = 56, .is_group = flags != REPAIR, .from = &from
    };
    struct backbone_event out[16];

    md_put_be16(bytes, 0x5252);
    bytes[2] = 0x11;
    bytes[3] = 1;
    bytes[4] = flags;
    md_put_be16(bytes + 6, 56);
    md_put_be64(bytes + 8, session);
    uint32_t id = 2166136261u;

    for (const char *c = "test"; *c; c++)
        id = (id ^ (uint8_t)*c) * 16777619u;
    md_put_be32(bytes + 16, id);
    md_put_be64(bytes + 24, seq);
    md_put_be32(bytes + 32, feed_held);
    md_put_be16(bytes + 36, 1);
    md_put_be16(bytes + 38, 40);
    md_put_be16(bytes + 40, 4);
    bytes[42] = 0xc0;
    rrcp_input(r, now, &in, 1);
    while (rrcp_event(r, out, 16) > 0)
        ;
    assert_null(rrcp_check(r));
}

static void feed_data(struct rrcp *r, uint64_t now, uint64_t session, uint64_t seq)
{
    feed(r, now, session, seq, FIRST_SENT);
}

/* ---- requests, by the size of the group --------------------------------------------------- */

#define SENDER 5000
#define US     1000ull

static struct net *net_of_one(uint64_t others, enum rrcp_retry retry)
{
    struct net *net = net_make();

    net->config.retry = retry;
    net->config.peers_max = 64;
    node_start(net, 0, 1001);
    for (uint64_t i = 0; i <= others; i++)
        feed_peer(net->r[0], net->now, SENDER + i, 1);
    for (uint64_t i = 0; i < others; i++)
        feed_data(net->r[0], net->now, SENDER + 1 + i, 1);
    feed_data(net->r[0], net->now, SENDER, 1);
    return net;
}

static void data_too_far_ahead_is_not_believed(void **state)
{
    struct net *net = net_make();

    (void)state;
    node_start(net, 0, 1001);
    feed_peer(net->r[0], net->now, SENDER, 1);
    feed_data(net->r[0], net->now, SENDER, 1);
    feed_data(net->r[0], net->now, SENDER, 1 + net->config.missing_max + 2);
    assert_int_equal(rrcp_counters(net->r[0])->drop[RRCP_DROP_JUMP], 1);
    feed_data(net->r[0], net->now, SENDER, 1 + net->config.missing_max + 1);
    assert_int_equal(rrcp_counters(net->r[0])->drop[RRCP_DROP_JUMP], 1);
    net_free(net);
}

static void what_is_not_believed_says_nothing_of_what_its_sender_holds(void **state)
{
    struct net *net = net_make();

    (void)state;
    node_start(net, 0, 1001);
    feed_peer(net->r[0], net->now, SENDER, 1);
    feed_data(net->r[0], net->now, SENDER, 1);
    feed_data(net->r[0], net->now, SENDER, 3);
    feed_data(net->r[0], net->now, SENDER, 5000); /* holds the hundred before it, it says */
    assert_int_equal(rrcp_counters(net->r[0])->drop[RRCP_DROP_JUMP], 1);
    feed(net->r[0], net->now, SENDER, 2, REPAIR);
    assert_int_equal(rrcp_counters(net->r[0])->packets_repaired, 1);
    assert_int_equal(rrcp_counters(net->r[0])->gaps_detected, 0);
    net_free(net);
}

/* ---- attacks of audit V2, by packets without a key ----------------------------------------- */

/* A packet may have 9,000 bytes, a buffer of the pool has 1,472; rrcp_check() looks at each. */
static void a_packet_longer_than_a_buffer_is_not_kept_behind_a_hole(void **state)
{
    static uint8_t bytes[RRCP_PACKET_BYTES_MAX];
    struct rrcp_address from = home_of(SENDER);
    struct backbone_event out[16];
    struct net *net = net_make();

    (void)state;
    node_start(net, 0, 1001);
    feed_peer(net->r[0], net->now, SENDER, 1);
    for (uint8_t type = 1; type <= 2; type++) {
        uint32_t at = type == 1 ? 40 : 52;

        introduce_beacon(bytes, "test", SENDER, 1);
        memset(bytes + 24, 0, sizeof(bytes) - 24);
        bytes[3] = type;
        md_put_be16(bytes + 6, sizeof(bytes));
        md_put_be64(bytes + 24, 3);
        md_put_be64(bytes + 32, type == 1 ? 0 : 1001);
        md_put_be16(bytes + at - 4, 1);
        md_put_be16(bytes + at - 2, (uint16_t)at);
        md_put_be16(bytes + at, (uint16_t)(sizeof(bytes) - at - 12));
        bytes[at + 2] = 0xc0;
        introduce_feed(net->r[0], net->now, bytes, sizeof(bytes), &from, true);
        while (rrcp_event(net->r[0], out, 16) > 0)
            ;
        assert_null(rrcp_check(net->r[0]));
        assert_int_equal(rrcp_counters(net->r[0])->drop[RRCP_DROP_WINDOW], type);
    }
    net_free(net);
}

/* At full rate a hole that is not mended in time fills the pool. It goes, not all that comes. */
static void a_pool_that_is_full_gives_up_what_is_missing_and_no_more(void **state)
{
    enum { HOLES = 100, LAST = 5000 };
    struct net *net = net_make();

    (void)state;
    net->config.window_packets = 1024;
    feed_held = LAST;
    node_start(net, 0, 1001);
    feed_peer(net->r[0], net->now, SENDER, 1);
    for (uint64_t seq = 1; seq <= LAST; seq++)
        if (seq % HOLES != 2)
            feed_data(net->r[0], net->now, SENDER, seq);
    const struct rrcp_counters *c = rrcp_counters(net->r[0]);
    assert_int_equal(c->drop[RRCP_DROP_WINDOW], 0);
    assert_in_range(c->packets_lost[BACKBONE_GAP_POOL], 1, LAST / HOLES);
    assert_int_equal(c->packets_lost[BACKBONE_GAP_POOL], c->gaps_detected); /* each one alone */
    /* What the pool has room for is still waited for: the last holes. */
    assert_in_range(c->packets_lost[BACKBONE_GAP_POOL], LAST / HOLES - 3, LAST / HOLES - 1);
    for (uint64_t seq = 2; seq <= LAST; seq += HOLES)
        feed(net->r[0], net->now, SENDER, seq, REPAIR);
    assert_int_equal(c->packets_missing, c->packets_repaired + c->packets_lost[BACKBONE_GAP_POOL]);
    net_free(net);
}

/* Node 0's own address, session and lead: what a raw socket in the group can forge. */
static void forge_beacon(struct net *net, int to, uint64_t session, uint64_t next)
{
    struct rrcp_address from;
    uint8_t bytes[128];

    address_of((int)(session - 1001), &from);
    introduce_feed(net->r[to], net->now, bytes, introduce_beacon(bytes, "test", session, next),
                   &from, true);
    drain(net, to);
}

static void a_forged_beacon_far_ahead_costs_no_message(void **state)
{
    struct net *net = net_make();

    (void)state;
    net_start(net);
    forge_beacon(net, 1, 1001, 1ull << 50);
    for (int i = 0; i < 50; i++) {
        say(net, 0, "text");
        run(net, MS);
    }
    assert_int_equal(count(net, 1, BACKBONE_MESSAGE), 50);
    assert_int_equal(count(net, 1, BACKBONE_GAP), 0);
    assert_int_equal(rrcp_counters(net->r[1])->echoes_rcvd, 1);
    net_free(net);
}

static void forged_claims_that_fit_the_window_are_healed_by_an_echo(void **state)
{
    struct net *net = net_make();

    (void)state;
    net_start(net);
    say(net, 0, "before");
    run(net, MS);
    for (uint64_t next = 100; next < 2000; next += 100) { /* step by step, each believed */
        forge_beacon(net, 1, 1001, next);
        run(net, 600 * MS); /* what does not exist is asked for, and given up */
    }
    run(net, 3000 * MS);
    net->count = 0;
    for (int i = 0; i < 50; i++) {
        say(net, 0, "text");
        run(net, MS);
    }
    assert_int_equal(count(net, 1, BACKBONE_MESSAGE), 50);
    assert_true(rrcp_counters(net->r[1])->rejoins > 0);
    assert_int_equal(count(net, 1, BACKBONE_PEER_DOWN), 0);
    net_free(net);
}

static void a_forged_bye_takes_nobody_away(void **state)
{
    struct net *net = net_make();
    struct rrcp_address from;
    uint8_t bytes[128];

    (void)state;
    net_start(net);
    address_of(0, &from);
    introduce_beacon(bytes, "test", 1001, 1);
    bytes[3] = 7;
    md_put_be16(bytes + 6, 33);
    introduce_feed(net->r[1], net->now, bytes, 33, &from, true);
    for (int i = 0; i < 500; i++) {
        say(net, 0, "text");
        run(net, MS);
    }
    assert_int_equal(count(net, 1, BACKBONE_MESSAGE), 500);
    assert_int_equal(count(net, 1, BACKBONE_PEER_DOWN), 0);
    assert_int_equal(rrcp_counters(net->r[1])->byes_false, 1);
    net_free(net);
}

static void invented_sessions_take_no_place_and_get_nothing(void **state)
{
    struct net *net = net_make();
    uint8_t bytes[128];
    uint8_t nonce[8] = { 0 };
    uint64_t memory;

    (void)state;
    net_start(net);
    memory = rrcp_counters(net->r[1])->memory_bytes;
    for (uint64_t i = 0; i < 1100; i++) {
        struct rrcp_address from = { .length = 3, .bytes = { 1, 0, (uint8_t)i } };
        uint32_t length = introduce_beacon(bytes, "test", 70000 + i, 1);

        introduce_feed(net->r[1], net->now, bytes, length, &from, false);
        assert_false(introduce_asked(net->r[1], net->now, 70000 + i, nonce)); /* by unicast */
        introduce_feed(net->r[1], net->now, bytes, length, &from, true);
        (void)introduce_asked(net->r[1], net->now, 70000 + i, nonce);
        memset(nonce, (int)i, sizeof(nonce)); /* a guess */
        introduce_feed(net->r[1], net->now, bytes, introduce_echo(net->r[1], bytes, nonce), &from,
                       false);
        drain(net, 1);
    }
    assert_int_equal(rrcp_counters(net->r[1])->peers_now, 2);
    assert_true(rrcp_counters(net->r[1])->memory_bytes == memory);
    net_free(net);
}

static void a_namesake_that_proves_its_address_does_not_replace_a_live_session(void **state)
{
    struct net *net = net_make();
    struct rrcp_address from = { .length = 3, .host_length = 2, .bytes = { 7, 7, 7 } };
    uint8_t bytes[128];
    uint8_t nonce[8] = { 0 };

    (void)state;
    net_start(net);
    for (int i = 0; i < 20; i++) {
        introduce_beacon(bytes, "test", 4711, 1);
        memcpy(bytes + 64, "node0\0\0\0\0\0\0\0\0\0\0", 16);
        bytes[62] = 5;
        md_put_be16(bytes + 6, 72);
        introduce_feed(net->r[1], net->now, bytes, 72, &from, true);
        assert_true(introduce_asked(net->r[1], net->now, 4711, nonce));
        bytes[63] = 1;
        bytes[72] = 5;
        bytes[73] = 16;
        md_put_be64(bytes + 74, rrcp_session(net->r[1]));
        memcpy(bytes + 82, nonce, 8);
        md_put_be16(bytes + 6, 90);
        introduce_feed(net->r[1], net->now, bytes, 90, &from, false);
        drain(net, 1);
        run(net, 50 * MS);
    }
    assert_int_equal(count(net, 1, BACKBONE_PEER_DOWN), 0);
    assert_int_equal(count(net, 1, BACKBONE_PEER_UP), 0);
    assert_true(rrcp_counters(net->r[1])->peer_name_conflicts > 0);
    net_free(net);
}

static void an_answer_is_no_longer_than_its_challenge_and_is_limited(void **state)
{
    struct net *net = net_make();
    struct rrcp_address from = { .length = 3, .bytes = { 9, 9, 9 } };
    struct rrcp_packet out[16];
    uint8_t bytes[148];
    uint64_t sent = 0;
    int n;

    (void)state;
    net_start(net);
    for (int i = 0; i < 5000; i++) {
        introduce_beacon(bytes, "test", 99, 1);
        memset(bytes + 24, 0, sizeof(bytes) - 24);
        bytes[3] = INTRODUCE_SOLICIT;
        md_put_be16(bytes + 6, sizeof(bytes));
        md_put_be64(bytes + 24, rrcp_session(net->r[0]));
        introduce_feed(net->r[0], net->now, bytes, sizeof(bytes), &from, false);
        while ((n = rrcp_output(net->r[0], net->now, out, 16)) > 0)
            for (int k = 0; k < n; k++)
                if (out[k].type == INTRODUCE_BEACON && out[k].to) {
                    assert_true(out[k].length <= sizeof(bytes));
                    sent++;
                }
    }
    assert_in_range(sent, 1, 513);
    net_free(net);
}

/* Time passes; how many requests left meanwhile. */
static uint64_t requests_within(struct net *net, uint64_t for_ns)
{
    uint64_t before = rrcp_counters(net->r[0])->retrans_req_sent;
    struct rrcp_packet out[16];

    for (uint64_t end = net->now + for_ns; net->now < end;) {
        net->now += 50 * US;
        rrcp_input(net->r[0], net->now, NULL, 0);
        rrcp_tick(net->r[0], net->now);
        while (rrcp_output(net->r[0], net->now, out, 16) > 0)
            ;
    }
    return rrcp_counters(net->r[0])->retrans_req_sent - before;
}

/* Of 50 lost packets, each repaired before the next is lost, how many were asked for that soon. */
static uint64_t asked_within(uint64_t others, enum rrcp_retry retry, uint64_t for_ns)
{
    struct net *net = net_of_one(others, retry);
    uint64_t asked = 0;

    for (uint64_t seq = 2; seq < 102; seq += 2) {
        feed_data(net->r[0], net->now, SENDER, seq + 1);
        asked += requests_within(net, for_ns);
        feed(net->r[0], net->now, SENDER, seq, REPAIR);
        requests_within(net, MS);
    }
    net_free(net);
    return asked;
}

static void a_receiver_that_is_alone_asks_at_once_and_one_of_many_waits_for_the_others(void **state)
{
    (void)state;
    assert_int_equal(asked_within(0, RRCP_RETRY_FAST, 50 * US), 0); /* it may just be late */
    assert_int_equal(asked_within(0, RRCP_RETRY_FAST, 100 * US), 50);
    uint64_t few = asked_within(1, RRCP_RETRY_FAST, 150 * US);
    uint64_t many = asked_within(8, RRCP_RETRY_FAST, 150 * US);
    assert_true(few > 25);
    assert_true(many < 15);
    assert_int_equal(asked_within(40, RRCP_RETRY_FIXED, 150 * US),
                     asked_within(40, RRCP_RETRY_FAST, 150 * US));
    assert_true(asked_within(0, RRCP_RETRY_FIXED, 100 * US) < 15);
}

/* When a request that is not answered is made again, once the round trip is known. */
static uint64_t repeated_after_us(uint64_t others)
{
    struct net *net = net_of_one(others, RRCP_RETRY_FAST);
    uint64_t seq = 2;
    uint64_t us = 0;

    for (; seq < 42; seq += 2) { /* it answers 0.2 ms after it is asked */
        feed_data(net->r[0], net->now, SENDER, seq + 1);
        while (requests_within(net, 50 * US) == 0)
            ;
        requests_within(net, 200 * US);
        feed(net->r[0], net->now, SENDER, seq, REPAIR);
    }
    feed_data(net->r[0], net->now, SENDER, seq + 1);
    while (requests_within(net, 50 * US) == 0)
        ;
    while (requests_within(net, 50 * US) == 0)
        us += 50;
    net_free(net);
    return us;
}

static void alone_a_request_is_repeated_when_the_round_trip_is_over(void **state)
{
    (void)state;
    assert_in_range(repeated_after_us(0), 900, 1050);
    assert_in_range(repeated_after_us(8), 1950, 6100); /* and twice a first delay, 2 ms at most */
}

/* Requests in a second in which every other packet is lost, 2,000 of them. */
static uint64_t requests_a_second(uint64_t others)
{
    struct net *net = net_of_one(others, RRCP_RETRY_FAST);
    uint64_t sum = 0;

    for (uint64_t seq = 2; seq < 4002; seq += 2) {
        feed_data(net->r[0], net->now, SENDER, seq + 1);
        sum += requests_within(net, 500 * US);
        feed(net->r[0], net->now, SENDER, seq, REPAIR);
    }
    net_free(net);
    return sum;
}

static void the_fewer_receivers_the_more_may_each_of_them_ask(void **state)
{
    (void)state;
    assert_in_range(requests_a_second(0), 1900, 2100);
    assert_true(requests_a_second(8) <= 1100);
}

static void a_hundred_peers_with_holes_stay_within_the_stated_memory(void **state)
{
    struct net *net = net_make();
    const struct rrcp_user user = { .receives = true };

    (void)state;
    rrcp_config_init(&net->config);
    node_start(net, 0, 1001);
    for (int i = 0; i < 23; i++)
        assert_true(rrcp_user_add(net->r[0], &user) > 0);
    for (uint64_t peer = 0; peer < 100; peer++) {
        feed_peer(net->r[0], net->now, 5000 + peer, 10);
        feed_data(net->r[0], net->now, 5000 + peer, 10);
        feed_data(net->r[0], net->now, 5000 + peer, 12);
    }
    assert_int_equal(rrcp_counters(net->r[0])->peers_now, 100);
    /* The figure of src/rrcp/README.md, default configuration. */
    print_message("24 users, 100 peers with holes: %llu KiB\n",
                  (unsigned long long)rrcp_counters(net->r[0])->memory_bytes / 1024);
    assert_true(rrcp_counters(net->r[0])->memory_bytes_high < 192u << 20);
    net_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_packet_is_asked_for_and_delivered_in_its_place),
        cmocka_unit_test(a_lost_tail_is_noticed_by_the_next_beacon),
        cmocka_unit_test(what_cannot_be_repaired_is_told_as_a_gap_in_its_place),
        cmocka_unit_test(nothing_flows_before_three_beacons_then_tx_ready_is_told),
        cmocka_unit_test(a_large_message_arrives_in_one_piece),
        cmocka_unit_test(a_message_that_can_never_fit_is_refused),
        cmocka_unit_test(a_full_pool_makes_users_wait_until_it_is_low_again),
        cmocka_unit_test(a_silent_peer_goes_down_and_comes_back_with_a_gap),
        cmocka_unit_test(a_node_that_was_paused_reads_before_it_judges),
        cmocka_unit_test(bye_is_told_at_once),
        cmocka_unit_test(a_restarted_node_replaces_its_former_self),
        cmocka_unit_test(a_joiner_gets_and_asks_for_nothing_from_before),
        cmocka_unit_test(the_death_of_a_user_follows_its_last_message_everywhere),
        cmocka_unit_test(a_port_is_given_once_and_users_are_counted),
        cmocka_unit_test(other_local_users_hear_a_message_in_the_order_of_the_network),
        cmocka_unit_test(messages_of_the_reserved_port_are_marked_among_those_of_users),
        cmocka_unit_test(a_directed_message_reaches_one_node_by_either_way),
        cmocka_unit_test(an_acknowledgement_that_waited_does_not_lengthen_the_round_trip),
        cmocka_unit_test(what_waits_for_its_acknowledgement_is_not_sent_again),
        cmocka_unit_test(unicast_without_a_buffer_looks_for_one_again_in_time),
        cmocka_unit_test(unicast_without_memory_is_dropped_alone),
        cmocka_unit_test(a_storm_in_one_lane_keeps_no_other_waiting),
        cmocka_unit_test(a_lane_that_was_alone_owes_nothing_for_it),
        cmocka_unit_test(a_lane_may_be_as_long_as_what_it_leaves_for_others),
        cmocka_unit_test(more_pairs_than_lanes_share_them),
        cmocka_unit_test(lanes_and_their_memory_end_with_their_peer),
        cmocka_unit_test(what_waits_in_many_lanes_is_bounded_by_its_memory),
        cmocka_unit_test(storms_leave_each_lane_a_little),
        cmocka_unit_test(a_lane_that_is_empty_now_and_then_has_no_more_than_its_share),
        cmocka_unit_test(a_lane_of_long_messages_has_no_more_than_its_share),
        cmocka_unit_test(unicast_comes_in_order_though_packets_are_lost),
        cmocka_unit_test(the_same_inputs_give_the_same_outputs),
        cmocka_unit_test(
            a_receiver_that_is_alone_asks_at_once_and_one_of_many_waits_for_the_others),
        cmocka_unit_test(a_packet_longer_than_a_buffer_is_not_kept_behind_a_hole),
        cmocka_unit_test(a_pool_that_is_full_gives_up_what_is_missing_and_no_more),
        cmocka_unit_test(a_forged_beacon_far_ahead_costs_no_message),
        cmocka_unit_test(forged_claims_that_fit_the_window_are_healed_by_an_echo),
        cmocka_unit_test(a_forged_bye_takes_nobody_away),
        cmocka_unit_test(invented_sessions_take_no_place_and_get_nothing),
        cmocka_unit_test(a_namesake_that_proves_its_address_does_not_replace_a_live_session),
        cmocka_unit_test(an_answer_is_no_longer_than_its_challenge_and_is_limited),
        cmocka_unit_test(data_too_far_ahead_is_not_believed),
        cmocka_unit_test(what_is_not_believed_says_nothing_of_what_its_sender_holds),
        cmocka_unit_test(alone_a_request_is_repeated_when_the_round_trip_is_over),
        cmocka_unit_test(the_fewer_receivers_the_more_may_each_of_them_ask),
        cmocka_unit_test(a_hundred_peers_with_holes_stay_within_the_stated_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
