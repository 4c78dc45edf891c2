/* test_rrcp_interest.c - a mesh of three: who is sent what, and what is told of the rest. */
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
#include "base/prng.h"
#include "base/writer.h"
#include "rrcp/rrcp.h"

#define MS            1000000ull
#define NODES         3
#define TYPE_DATA     1
#define TYPE_UDATA    2
#define TYPE_BEACON   4
#define TYPE_NAK      5
#define TYPE_NCF      6
#define TYPE_SOLICIT  8
#define TYPE_SKIP     11
#define NOT_HELD      2
#define QUEUE         4096
#define CONTROL_QUEUE 512 /* of the engine */
#define WANTED        7
#define OTHER         8

/* Packets under way: one takes no time, but it is looked at first. */
struct flight {
    int to;
    struct rrcp_address from;
    uint32_t length;
    uint8_t bytes[1500];
};

static struct node {
    struct rrcp *r;
    int port;
    struct rrcp_address address;
    uint32_t messages, gaps, resets; /* told to its users; messages of the others' multicast */
    uint32_t wanted, other;
    uint32_t requests;
    bool answers; /* each unicast message with a multicast one of topic WANTED */
    uint64_t data[NODES], skips[NODES]; /* packets sent to each, without repairs */
} nodes[NODES];

static struct flight *queue;
static int queue_head, queue_count;
static uint64_t now;
static uint64_t sent_of[16]; /* packets by type */
static unsigned turns;
static uint32_t window_packets, missing_max;
static bool (*lose)(const struct flight *f, int from);

static void *take(void *context, size_t bytes)
{
    (void)context;
    return calloc(1, bytes);
}

static void give(void *context, void *memory, size_t bytes)
{
    (void)context;
    (void)bytes;
    free(memory);
}

static struct rrcp_address address_of(int number)
{
    return (struct rrcp_address){ .length = 6,
                                  .host_length = 4,
                                  .bytes = { 10, 0, 0, (uint8_t)(number + 1), 33, 52 } };
}

static int node_at(const struct rrcp_address *address)
{
    return address->bytes[3] - 1;
}

static void submit(int from, uint32_t topic, uint64_t session, uint16_t flags)
{
    struct rrcp_msg msg = { .bytes = (const uint8_t *)"message",
                            .length = 7,
                            .topic = topic,
                            .session = session,
                            .flags = flags };

    assert_int_equal(rrcp_submit(nodes[from].r, now, nodes[from].port, &msg), MD_OK);
}

/* ---- the network -------------------------------------------------------------------------- */

static void send_to(int from, int to, const struct rrcp_packet *p)
{
    struct flight *f = &queue[(queue_head + queue_count) % QUEUE];

    assert_true(queue_count < QUEUE && p->length <= sizeof(f->bytes));
    *f = (struct flight){ .to = to, .from = nodes[from].address, .length = p->length };
    memcpy(f->bytes, p->bytes, p->length);
    sent_of[p->type & 15]++;
    if (p->type == TYPE_DATA && !(p->bytes[4] & 1))
        nodes[from].data[to]++;
    nodes[from].skips[to] += p->type == TYPE_SKIP;
    if (!lose || !lose(f, from))
        queue_count++;
}

static void send_group(int from, const struct rrcp_packet *p)
{
    struct rrcp_address group[RRCP_MESH_PEERS_MAX];
    uint64_t places[RRCP_MESH_PEERS_MAX];
    int count = rrcp_group(nodes[from].r, group, places, RRCP_MESH_PEERS_MAX);

    for (int i = 0; i < count; i++)
        if (places[i] & ~p->skipped)
            send_to(from, node_at(&group[i]), p);
}

static void take_events(int at)
{
    struct node *node = &nodes[at];
    struct backbone_event events[16];
    int count;

    while ((count = rrcp_event(node->r, events, 16)) > 0)
        for (int i = 0; i < count; i++) {
            const struct backbone_event *e = &events[i];
            bool is_unicast = e->flags & BACKBONE_FLAG_UNICAST;

            node->gaps += e->type == BACKBONE_GAP && !is_unicast;
            node->resets += e->type == BACKBONE_GAP && is_unicast;
            if (e->type != BACKBONE_MESSAGE || e->session == rrcp_session(node->r))
                continue;
            node->messages += !is_unicast;
            node->wanted += e->topic == WANTED;
            node->other += e->topic == OTHER;
            node->requests += is_unicast;
        }
}

static void answer(int at)
{
    for (; nodes[at].answers && nodes[at].requests > 0; nodes[at].requests--)
        submit(at, WANTED, 0, 0);
}

static void turn(int at)
{
    struct rrcp_packet out[16];
    int count;

    take_events(at);
    answer(at);
    rrcp_tick(nodes[at].r, now);
    while ((count = rrcp_output(nodes[at].r, now, out, 16)) > 0)
        for (int i = 0; i < count; i++) {
            if (out[i].to)
                send_to(at, node_at(out[i].to), &out[i]);
            else
                send_group(at, &out[i]);
        }
    take_events(at);
    if (++turns % 64 == 0)
        assert_null(rrcp_check(nodes[at].r));
}

static void arrive(void)
{
    struct flight f = queue[queue_head];
    struct rrcp_arrival in = { .bytes = f.bytes, .length = f.length, .from = &f.from };

    queue_head = (queue_head + 1) % QUEUE;
    queue_count--;
    rrcp_input(nodes[f.to].r, now, &in, 1);
    turn(f.to);
}

static void run(uint64_t for_ns)
{
    uint64_t step = for_ns > 500 * MS ? MS : MS / 10;

    for (uint64_t end = now + for_ns; now < end; now += step) {
        for (int i = 0; i < NODES; i++) {
            rrcp_input(nodes[i].r, now, NULL, 0);
            turn(i);
        }
        while (queue_count > 0)
            arrive();
    }
}

static void start(int number)
{
    struct rrcp_env env = { .take = take, .give = give, .seed = { (uint64_t)number, 7 } };
    struct rrcp_user user = { .receives = true };
    struct rrcp_config config;
    char name[16];

    snprintf(name, sizeof(name), "node%d", number);
    rrcp_config_init(&config);
    config.pool_packets = 2048;
    config.window_packets = window_packets;
    config.missing_max = missing_max;
    config.peers_max = 16;
    config.arrivals_max = 16;
    config.network = "test";
    config.node = name;
    config.session = 1000 + (uint64_t)number;
    config.mesh.is_on = true;
    config.mesh.self = address_of(number);
    for (int i = 0; i < NODES; i++)
        config.mesh.seeds[config.mesh.seed_count++] = address_of(i);
    nodes[number] = (struct node){ .address = address_of(number) };
    assert_int_equal(rrcp_create(&config, &env, &nodes[number].r), MD_OK);
    nodes[number].port = rrcp_user_add(nodes[number].r, &user);
}

static int begin(uint32_t window, uint32_t missing, bool (*first)(const struct flight *f, int from))
{
    window_packets = window;
    missing_max = missing;
    queue = calloc(QUEUE, sizeof(*queue));
    now = 1000 * MS;
    lose = first;
    queue_head = queue_count = 0;
    for (int i = 0; i < NODES; i++)
        start(i);
    run(1000 * MS);
    for (int i = 0; i < NODES; i++)
        assert_int_equal(rrcp_counters(nodes[i].r)->peers_now, NODES - 1);
    memset(sent_of, 0, sizeof(sent_of));
    return 0;
}

static int setup(void **state)
{
    (void)state;
    return begin(1024, 1024, NULL);
}

static int setup_narrow(void **state)
{
    (void)state;
    return begin(64, 16, NULL);
}

/* Bit 32 of the state of a BEACON: an older node does not have it. */
static bool make_old(const struct flight *f, int from)
{
    uint8_t *bytes = (uint8_t *)(uintptr_t)f->bytes;

    if (bytes[3] == TYPE_BEACON && from == 0)
        bytes[55] &= (uint8_t)~32;
    return false;
}

static int setup_old(void **state)
{
    (void)state;
    return begin(1024, 1024, make_old);
}

static int teardown(void **state)
{
    (void)state;
    for (int i = 0; i < NODES; i++)
        rrcp_destroy(nodes[i].r);
    free(queue);
    return 0;
}

static void want(int node, uint32_t topic)
{
    rrcp_interest_set(nodes[node].r, now, &topic, 1);
}

/* Node 0 sends so many packets of one message each. */
static void send_each(int count, uint32_t topic)
{
    for (int i = 0; i < count; i++) {
        submit(0, topic, 0, 0);
        turn(0);
    }
}

/* ---- tests -------------------------------------------------------------------------------- */

static void without_interest_everything_goes_to_everybody(void **state)
{
    (void)state;
    send_each(50, OTHER);
    run(30 * MS);
    assert_int_equal(nodes[1].other, 50);
    assert_int_equal(nodes[2].other, 50);
    assert_int_equal(sent_of[TYPE_SKIP], 0);
    assert_int_equal(sent_of[TYPE_UDATA], 0);
}

static void a_peer_gets_what_it_wants_and_is_told_of_the_rest(void **state)
{
    (void)state;
    want(1, WANTED);
    run(10 * MS);
    for (int i = 0; i < 20; i++) {
        send_each(5, OTHER);
        send_each(1, WANTED);
        run(MS / 10);
    }
    run(100 * MS);
    assert_int_equal(nodes[1].wanted, 20);
    assert_int_equal(nodes[1].other, 0);
    assert_int_equal(nodes[0].data[1], 20);
    assert_int_equal(nodes[0].data[2], 120);
    assert_int_equal(nodes[2].messages, 120);
    assert_int_equal(nodes[0].skips[1], 20); /* one before each packet that is wanted */
    assert_int_equal(nodes[0].skips[2], 0);
    assert_int_equal(sent_of[TYPE_NAK], 0);
    assert_int_equal(nodes[1].gaps, 0);
    assert_int_equal(rrcp_counters(nodes[0].r)->packets_skipped, 100);
    assert_int_equal(rrcp_counters(nodes[1].r)->skipped_rcvd, 100);
}

static void what_is_skipped_is_told_within_10_ms(void **state)
{
    struct rrcp_peer_info info;

    (void)state;
    want(1, WANTED);
    run(1500 * MS);
    send_each(30, OTHER);
    run(11 * MS);
    assert_true(rrcp_peer_info(nodes[1].r, 0, &info));
    assert_int_equal(info.session, 1000);
    assert_int_equal(info.next_seq, 31);
    assert_int_equal(nodes[0].skips[1], 1);
    assert_int_equal(nodes[0].data[1], 0);
}

/* Each packet postpones the beacon, which would tell of the run, too. */
static void a_run_has_a_timer_of_10_ms_while_packets_are_held(void **state)
{
    (void)state;
    want(1, WANTED);
    run(1500 * MS);
    send_each(1, WANTED);
    uint64_t end = now + 10 * MS;

    for (int i = 0; i < 8; i++, now += MS) {
        send_each(1, OTHER);
        assert_true(rrcp_deadline(nodes[0].r) <= end);
    }
    run(3 * MS);
    assert_int_equal(nodes[0].skips[1], 1);
}

static void control_topics_and_what_is_directed_always_come(void **state)
{
    (void)state;
    want(1, WANTED);
    want(2, WANTED);
    run(10 * MS);
    send_each(3, UINT32_MAX);
    run(MS);
    assert_int_equal(nodes[0].data[1], 3);
    assert_int_equal(nodes[0].data[2], 3);
    submit(0, OTHER, 1001, 0);
    run(20 * MS);
    assert_int_equal(nodes[1].messages, 4);
    assert_int_equal(nodes[0].data[1], 4);
    assert_int_equal(nodes[0].data[2], 3); /* it is not for node 2 */
    assert_int_equal(nodes[1].gaps + nodes[2].gaps, 0);
}

static void a_packet_goes_to_whom_one_of_its_messages_is_for(void **state)
{
    (void)state;
    want(1, WANTED);
    run(10 * MS);
    submit(0, OTHER, 0, 0);
    submit(0, WANTED, 0, 0);
    run(20 * MS);
    assert_int_equal(nodes[1].wanted, 1);
    assert_int_equal(nodes[1].other, 1);
    assert_int_equal(sent_of[TYPE_SKIP], 0);
}

static void a_long_message_is_left_out_as_a_whole(void **state)
{
    static uint8_t bytes[10000];
    struct rrcp_msg msg = { .bytes = bytes, .length = sizeof(bytes), .topic = OTHER };

    (void)state;
    want(1, WANTED);
    run(10 * MS);
    for (int i = 0; i < 5; i++) {
        msg.topic = i % 2 ? WANTED : OTHER;
        assert_int_equal(rrcp_submit(nodes[0].r, now, nodes[0].port, &msg), MD_OK);
        rrcp_interest_set(nodes[1].r, now, &msg.topic, 1);
        run(20 * MS);
        msg.topic = WANTED;
        rrcp_interest_set(nodes[1].r, now, &msg.topic, 1);
        run(20 * MS);
    }
    assert_int_equal(nodes[1].wanted, 2);
    assert_int_equal(nodes[1].gaps, 0);
}

static void the_beginning_of_a_long_message_brings_the_rest(void **state)
{
    static uint8_t bytes[4000];
    struct rrcp_msg msg = { .bytes = bytes, .length = sizeof(bytes), .topic = OTHER };

    (void)state;
    want(1, WANTED);
    run(10 * MS);
    submit(0, WANTED, 0, 0);
    assert_int_equal(rrcp_submit(nodes[0].r, now, nodes[0].port, &msg), MD_OK);
    submit(0, WANTED, 0, 0);
    run(20 * MS);
    assert_int_equal(nodes[1].wanted, 2);
    assert_int_equal(nodes[1].gaps, 0);
    assert_int_equal(nodes[1].other, 1);
}

static bool lose_skips(const struct flight *f, int from)
{
    (void)from;
    return f->bytes[3] == TYPE_SKIP && !(f->bytes[4] & 1);
}

static uint64_t skips_lost;

static bool lose_ten_skips(const struct flight *f, int from)
{
    return lose_skips(f, from) && skips_lost++ < 10;
}

static void a_lost_skip_is_asked_for_and_told_again(void **state)
{
    (void)state;
    want(1, WANTED);
    run(10 * MS);
    skips_lost = 0;
    lose = lose_ten_skips;
    for (int i = 0; i < 20; i++) {
        send_each(5, OTHER);
        send_each(1, WANTED);
        run(5 * MS);
    }
    run(100 * MS);
    assert_true(skips_lost > 10);
    assert_true(sent_of[TYPE_NAK] > 0);
    assert_int_equal(sent_of[TYPE_NCF], 0);
    assert_int_equal(rrcp_counters(nodes[0].r)->retrans_pkts_sent, 0);
    assert_int_equal(nodes[1].wanted, 20);
    assert_int_equal(nodes[1].gaps, 0);
}

/* Gives node `to` a packet of our making, from the address of node `as`. */
static void inject(int to, int as, uint64_t session, uint8_t type, uint8_t *bytes, uint32_t length)
{
    struct rrcp_arrival in = { .bytes = bytes, .length = length, .from = &nodes[as].address };
    uint32_t network = 2166136261u;

    for (const char *c = "test"; *c; c++)
        network = (network ^ (uint8_t)*c) * 16777619u;
    memcpy(bytes, (uint8_t[]){ 0x52, 0x52, 0x11, type }, 4);
    md_put_be16(bytes + 6, (uint16_t)length);
    md_put_be64(bytes + 8, session);
    md_put_be32(bytes + 16, network);
    rrcp_input(nodes[to].r, now, &in, 1);
}

/* Asks node 0 for packets, as another. */
static void ask_as(int as, uint64_t first, uint32_t count)
{
    uint8_t bytes[52] = { 0 };

    md_put_be64(bytes + 24, 1000);
    md_put_be64(bytes + 32, first);
    md_put_be16(bytes + 40, 1);
    md_put_be16(bytes + 42, 1);
    md_put_be32(bytes + 48, count);
    inject(0, as, 1000 + (uint64_t)as, TYPE_NAK, bytes, sizeof(bytes));
}

static void ask(uint64_t first, uint32_t count)
{
    ask_as(1, first, count);
    turn(0);
}

static void what_is_no_longer_held_is_told_as_skipped_all_the_same(void **state)
{
    (void)state;
    want(1, WANTED);
    run(10 * MS);
    send_each(10, OTHER);
    send_each(10, WANTED);
    run(4000 * MS); /* held for 2 s */
    uint64_t skips = nodes[0].skips[1];
    ask(1, 10);
    assert_int_equal(nodes[0].skips[1], skips + 1);
    assert_int_equal(sent_of[TYPE_NCF], 0);
    ask(11, 10);
    assert_int_equal(nodes[0].skips[1], skips + 1);
    assert_int_equal(sent_of[TYPE_NCF], 1);
}

static void one_request_draws_two_skips_at_most(void **state)
{
    (void)state;
    want(1, WANTED);
    run(10 * MS);
    for (int i = 0; i < 300; i++) {
        send_each(1, OTHER);
        send_each(1, WANTED);
        run(MS / 10);
    }
    uint64_t skips = nodes[0].skips[1];

    ask(1, 600);
    assert_int_equal(nodes[0].skips[1], skips + 2);
    ask(257, 200);
    assert_int_equal(nodes[0].skips[1], skips + 4);
    ask(513, 2);
    assert_int_equal(nodes[0].skips[1], skips + 5);
}

static uint64_t answers_to_naks(void)
{
    const struct rrcp_counters *c = rrcp_counters(nodes[0].r);

    return c->skips_sent + c->ncf_sent[NOT_HELD];
}

/* The SKIP that must leave before a beacon takes the last place: the beacon has none. */
static void a_full_queue_of_control_packets_is_not_overrun(void **state)
{
    uint8_t solicit[148] = { 0 };

    (void)state;
    want(1, WANTED);
    run(10 * MS);
    send_each(10, OTHER);
    send_each(10, WANTED);
    run(4000 * MS);
    send_each(1, OTHER);
    uint64_t before = answers_to_naks();
    uint64_t answers = rrcp_counters(nodes[0].r)->answers_sent;

    for (int i = 0; i < 200; i++)
        ask_as(1, 10, 2); /* one that was skipped, and one that is not held */
    for (int i = 0; i < 200 && answers_to_naks() < before + CONTROL_QUEUE - 1; i++)
        ask_as(2, 11, 1);
    assert_int_equal(answers_to_naks(), before + CONTROL_QUEUE - 1);
    md_put_be64(solicit + 24, 1000);
    inject(0, 1, 77, TYPE_SOLICIT, solicit, sizeof(solicit));
    assert_null(rrcp_check(nodes[0].r));
    assert_int_equal(answers_to_naks(), before + CONTROL_QUEUE);
    assert_int_equal(rrcp_counters(nodes[0].r)->answers_sent, answers);
    assert_true(rrcp_counters(nodes[0].r)->control_dropped > 0);
    run(20 * MS);
    assert_int_equal(nodes[1].gaps, 0);
}

static void what_is_asked_for_behind_the_interest_is_not_left_out(void **state)
{
    (void)state;
    nodes[0].answers = true;
    for (uint32_t i = 0; i < 200; i++) {
        want(1, OTHER);
        run(i % 3 * MS);
        want(1, WANTED);
        submit(1, 0, 1000, RRCP_MSG_UNICAST);
        run((1 + i % 7) * MS);
        send_each(2, OTHER);
    }
    run(100 * MS);
    assert_int_equal(nodes[1].wanted, 200);
    assert_int_equal(nodes[1].gaps, 0);
}

static bool lose_unicast(const struct flight *f, int from)
{
    return f->bytes[3] == TYPE_UDATA && from == 1 && f->to == 0;
}

static void when_the_stream_begins_anew_everything_comes_until_it_is_told_again(void **state)
{
    (void)state;
    nodes[0].answers = true;
    want(1, OTHER);
    run(20 * MS);
    lose = lose_unicast;
    want(1, WANTED);
    run(8000 * MS); /* given up: the stream is reset */
    assert_true(nodes[1].resets > 0);
    submit(1, 0, 1000, RRCP_MSG_UNICAST);
    lose = NULL;
    run(2000 * MS);
    assert_true(nodes[0].resets > 0);
    assert_int_equal(nodes[1].wanted, 1);
    send_each(5, OTHER);
    send_each(5, WANTED);
    run(50 * MS);
    assert_int_equal(nodes[1].wanted, 6);
    assert_int_equal(nodes[1].other, 0);
}

static void too_many_topics_are_everything(void **state)
{
    uint32_t topics[RRCP_INTEREST_MAX + 1];

    (void)state;
    for (uint32_t i = 0; i <= RRCP_INTEREST_MAX; i++)
        topics[i] = 1000 + i;
    rrcp_interest_set(nodes[1].r, now, topics, RRCP_INTEREST_MAX);
    run(10 * MS);
    send_each(1, OTHER);
    send_each(1, 1000 + RRCP_INTEREST_MAX - 1);
    run(20 * MS);
    assert_int_equal(nodes[0].data[1], 1);
    rrcp_interest_set(nodes[1].r, now, topics, RRCP_INTEREST_MAX + 1);
    run(10 * MS);
    send_each(1, OTHER);
    run(20 * MS);
    assert_int_equal(nodes[0].data[1], 2);
    want(1, WANTED);
    run(10 * MS);
    send_each(1, 1000);
    run(20 * MS);
    assert_int_equal(nodes[0].data[1], 2);
    assert_int_equal(nodes[1].gaps, 0);
}

static void many_changes_leave_no_topic_behind(void **state)
{
    uint32_t topics[RRCP_INTEREST_MAX];

    (void)state;
    for (uint32_t round = 0; round < 150; round++) {
        for (uint32_t i = 0; i < RRCP_INTEREST_MAX; i++)
            topics[i] = 1000 + round * RRCP_INTEREST_MAX + i;
        rrcp_interest_set(nodes[1].r, now, topics, RRCP_INTEREST_MAX);
        run(6 * MS);
    }
    send_each(1, 1000);
    send_each(1, topics[0]);
    run(20 * MS);
    assert_int_equal(nodes[0].data[1], 1);
    assert_int_equal(nodes[1].messages, 1);
}

static void an_older_node_is_told_nothing_and_sends_everything(void **state)
{
    (void)state;
    want(1, WANTED);
    run(2000 * MS);
    send_each(10, OTHER);
    run(20 * MS);
    assert_int_equal(nodes[1].other, 10);
    assert_int_equal(rrcp_counters(nodes[0].r)->interests_rcvd, 0);
    assert_int_equal(rrcp_counters(nodes[2].r)->interests_rcvd, 1);
}

/* No key: anybody can forge the BEACONs of node 0, but not those by which one met it. */
static void a_beacon_without_the_promise_takes_nothing_back(void **state)
{
    (void)state;
    nodes[0].answers = true;
    want(1, OTHER);
    run(20 * MS);
    lose = make_old;
    run(1500 * MS);
    want(1, WANTED);
    submit(1, 0, 1000, RRCP_MSG_UNICAST);
    run(100 * MS);
    assert_int_equal(nodes[1].wanted, 1);
}

static uint64_t target_xor;
static uint32_t version_add;

static bool falsify_skips(const struct flight *f, int from)
{
    uint8_t *bytes = (uint8_t *)(uintptr_t)f->bytes;

    (void)from;
    if (bytes[3] == TYPE_SKIP) {
        md_put_be64(bytes + 24, md_be64(bytes + 24) ^ target_xor);
        md_put_be32(bytes + 40, md_be32(bytes + 40) + version_add);
    }
    return false;
}

static void a_skip_for_an_interest_that_one_never_had_is_not_believed(void **state)
{
    (void)state;
    lose = falsify_skips;
    want(1, WANTED);
    run(10 * MS);
    version_add = 1;
    target_xor = 0;
    send_each(5, OTHER);
    send_each(1, WANTED);
    run(2000 * MS);
    assert_true(rrcp_counters(nodes[1].r)->skips_refused > 1);
    assert_int_equal(rrcp_counters(nodes[1].r)->skips_rcvd, 0);
    assert_true(nodes[1].gaps > 0); /* told, not passed over */
    assert_int_equal(nodes[1].wanted, 1);
    version_add = 0;
    target_xor = 1;
    uint64_t before = rrcp_counters(nodes[1].r)->drop[RRCP_DROP_TARGET];
    send_each(5, OTHER);
    send_each(1, WANTED);
    run(20 * MS);
    assert_true(rrcp_counters(nodes[1].r)->drop[RRCP_DROP_TARGET] > before);
    assert_int_equal(rrcp_counters(nodes[1].r)->skips_rcvd, 0);
}

/* Tells node 1 in the name of node 0 that packets were left out. */
static void skip_as_0(uint64_t seq, uint32_t count, uint32_t version)
{
    uint8_t bytes[56] = { 0 };

    md_put_be64(bytes + 24, 1001);
    md_put_be64(bytes + 32, seq);
    md_put_be32(bytes + 40, version);
    md_put_be16(bytes + 44, 1);
    md_put_be32(bytes + 52, count);
    inject(1, 0, 1000, TYPE_SKIP, bytes, sizeof(bytes));
    turn(1);
}

/* Of node 1: the engine draws it first of all. */
static uint32_t first_version(void)
{
    struct md_prng prng = md_prng_init(1 ^ md_prng_rotate(7, 32));

    return (uint32_t)md_prng_u64(&prng);
}

static void a_skip_by_a_version_from_before_the_first_is_not_believed(void **state)
{
    uint32_t first = first_version();

    (void)state;
    for (uint32_t back = 0; back < 3; back++)
        skip_as_0(1, 1, first - back);
    skip_as_0(1, 1, first + 1);
    assert_int_equal(rrcp_counters(nodes[1].r)->skips_refused, 4);
    want(1, WANTED);
    skip_as_0(1, 1, first);
    skip_as_0(1, 1, first - 1);
    assert_int_equal(rrcp_counters(nodes[1].r)->skips_refused, 6);
    skip_as_0(1, 1, first + 1);
    assert_int_equal(rrcp_counters(nodes[1].r)->skips_rcvd, 1);
    rrcp_interest_set(nodes[1].r, now, NULL, 0);
    skip_as_0(2, 1, first + 1); /* it may be under way */
    assert_int_equal(rrcp_counters(nodes[1].r)->skips_rcvd, 2);
    skip_as_0(3, 1, first);
    skip_as_0(3, 1, first + 2);
    assert_int_equal(rrcp_counters(nodes[1].r)->skips_refused, 8);
}

static void whoever_is_not_believed_hears_once_a_second_what_is_wanted(void **state)
{
    uint64_t before;

    (void)state;
    want(1, WANTED);
    run(1500 * MS);
    before = rrcp_counters(nodes[1].r)->interests_sent;
    for (int i = 0; i < 100; i++) {
        skip_as_0(1, 1, first_version());
        submit(1, 0, 1000, RRCP_MSG_UNICAST);
        run(5 * MS);
    }
    assert_true(rrcp_counters(nodes[1].r)->skips_refused >= 100);
    assert_int_equal(rrcp_counters(nodes[1].r)->interests_sent - before, 1);
    run(1000 * MS);
    skip_as_0(1, 1, first_version());
    submit(1, 0, 1000, RRCP_MSG_UNICAST);
    assert_int_equal(rrcp_counters(nodes[1].r)->interests_sent - before, 2);
}

static void long_runs_fit_narrow_windows(void **state)
{
    (void)state;
    want(1, WANTED);
    run(10 * MS);
    for (int i = 0; i < 20; i++) {
        send_each(i == 10 ? 1500 : 100, OTHER);
        send_each(1, WANTED);
        run(MS);
    }
    run(100 * MS);
    assert_int_equal(nodes[1].wanted, 20);
    assert_int_equal(nodes[1].gaps, 0);
    assert_int_equal(sent_of[TYPE_NAK], 0);
    assert_int_equal(rrcp_counters(nodes[1].r)->skipped_rcvd, 3400);
    assert_int_equal(rrcp_counters(nodes[1].r)->drop[RRCP_DROP_JUMP], 0);
}

static bool lose_first(const struct flight *f, int from)
{
    return from == 0 && f->to == 1 && f->bytes[3] == TYPE_DATA && md_be64(f->bytes + 24) == 1 &&
           !(f->bytes[4] & 1);
}

static void only_what_becomes_missing_is_a_claim(void **state)
{
    (void)state;
    want(1, WANTED);
    run(10 * MS);
    lose = lose_first;
    send_each(1, WANTED);
    send_each(40, OTHER);
    send_each(1, WANTED);
    run(100 * MS);
    assert_int_equal(nodes[1].wanted, 2);
    assert_int_equal(nodes[1].gaps, 0);
    assert_int_equal(rrcp_counters(nodes[1].r)->drop[RRCP_DROP_JUMP], 0);
}

static bool lose_first_two(const struct flight *f, int from)
{
    return from == 0 && f->to == 1 && f->bytes[3] == TYPE_DATA && md_be64(f->bytes + 24) <= 2;
}

/* Packets 1 and 2 are missing, 3 is there; the window ends at 64. */
static void of_a_run_that_is_too_long_is_taken_what_fits(void **state)
{
    struct rrcp_peer_info info;

    (void)state;
    want(1, WANTED);
    run(10 * MS);
    lose = lose_first_two;
    send_each(3, WANTED);
    run(MS / 10);
    skip_as_0(100, 1, first_version() + 1);
    assert_int_equal(rrcp_counters(nodes[1].r)->drop[RRCP_DROP_JUMP], 1);
    skip_as_0(2, 60000, first_version() + 1);
    assert_true(rrcp_peer_info(nodes[1].r, 0, &info));
    assert_int_equal(info.missing_now, 1);
    assert_int_equal(info.highest_seq, 64);
    assert_null(rrcp_check(nodes[1].r));
    skip_as_0(1, 60000, first_version() + 1); /* now nothing is missing: 1,024 and no more */
    assert_true(rrcp_peer_info(nodes[1].r, 0, &info));
    assert_int_equal(info.missing_now, 0);
    assert_int_equal(info.next_seq, 64 + 1024 + 1);
    assert_int_equal(nodes[1].wanted, 1);
    assert_int_equal(nodes[1].gaps, 0);
    assert_null(rrcp_check(nodes[1].r));
}

static bool cut_0_from_1(const struct flight *f, int from)
{
    return from == 1 && f->to == 0;
}

static void a_node_that_lost_us_is_told_again(void **state)
{
    (void)state;
    want(1, WANTED);
    run(10 * MS);
    lose = cut_0_from_1;
    run(4200 * MS); /* node 0 has lost node 1, which hears its probes */
    lose = NULL;
    run(3000 * MS);
    uint64_t before = nodes[0].data[1];
    send_each(5, OTHER);
    run(20 * MS);
    assert_int_equal(nodes[0].data[1], before);
    send_each(5, WANTED);
    run(20 * MS);
    assert_int_equal(nodes[1].wanted, 5);
}

static bool cut_1_from_0(const struct flight *f, int from)
{
    return from == 0 && f->to == 1;
}

/* Node 1 wants nothing and loses node 0, which does not lose node 1. */
static void want_nothing_and_be_cut_off(void)
{
    uint32_t none = 0;

    rrcp_interest_set(nodes[1].r, now, &none, 0);
    run(10 * MS);
    lose = cut_1_from_0;
    run(4200 * MS);
    assert_int_equal(rrcp_counters(nodes[1].r)->peers_now, 1);
    assert_int_equal(rrcp_counters(nodes[0].r)->peers_now, 2);
}

static void what_is_wanted_since_we_lost_a_node_comes(void **state)
{
    (void)state;
    want_nothing_and_be_cut_off();
    rrcp_interest_set(nodes[1].r, now, NULL, 0);
    lose = NULL;
    run(3000 * MS);
    assert_int_equal(rrcp_counters(nodes[1].r)->peers_now, 2);
    assert_int_equal(rrcp_counters(nodes[0].r)->peers_down, 0);
    nodes[1].gaps = 0;
    send_each(5, OTHER);
    run(20 * MS);
    assert_int_equal(nodes[1].other, 5);
    assert_int_equal(nodes[1].gaps, 0);
}

static void a_node_that_lost_us_wants_everything_until_it_says_otherwise(void **state)
{
    (void)state;
    want_nothing_and_be_cut_off();
    uint64_t before = nodes[0].data[1];

    send_each(5, OTHER);
    assert_int_equal(nodes[0].data[1], before + 5);
    lose = NULL;
    run(3000 * MS);
    assert_int_equal(rrcp_counters(nodes[0].r)->peers_down, 0);
    before = nodes[0].data[1];
    send_each(5, OTHER);
    run(20 * MS);
    assert_int_equal(nodes[0].data[1], before);
}

/* Node 0 closes packets that node 1 does not want, and sends them when it has lost that. */
static bool ask_in_lane(uint64_t lane, uint32_t length)
{
    static const uint8_t body[1000];
    struct rrcp_msg msg = {
        .bytes = body, .length = length, .session = 1000, .flags = RRCP_MSG_UNICAST, .lane = lane
    };
    uint64_t before = rrcp_counters(nodes[1].r)->unicast_dropped;

    assert_int_equal(rrcp_submit(nodes[1].r, now, nodes[1].port, &msg), MD_OK);
    return rrcp_counters(nodes[1].r)->unicast_dropped == before;
}

static void what_is_wanted_is_told_behind_no_storm(void **state)
{
    uint32_t topics[200];

    (void)state;
    run(20 * MS);
    lose = lose_unicast;
    for (uint64_t lane = 0; lane <= 20; lane++)
        while (ask_in_lane(lane, 1000))
            ;
    for (uint32_t i = 0; i < 200; i++)
        topics[i] = 100 + i;
    uint64_t before = rrcp_counters(nodes[1].r)->interests_sent;
    rrcp_interest_set(nodes[1].r, now, topics, 200);
    assert_int_equal(rrcp_counters(nodes[1].r)->interests_sent, before + 2);
    assert_true(ask_in_lane(77, 20));
    assert_null(rrcp_check(nodes[1].r));
}

static void a_peer_that_is_lost_has_no_run(void **state)
{
    static uint8_t bytes[1000];
    struct rrcp_msg msg = { .bytes = bytes, .length = sizeof(bytes), .topic = OTHER };

    (void)state;
    want(1, WANTED);
    run(10 * MS);
    for (int i = 0; i < 4; i++)
        assert_int_equal(rrcp_submit(nodes[0].r, now, nodes[0].port, &msg), MD_OK);
    now += 10000 * MS;
    rrcp_input(nodes[0].r, now, NULL, 0);
    turn(0);
    assert_int_equal(rrcp_counters(nodes[0].r)->peers_now, 0);
    assert_int_equal(rrcp_counters(nodes[0].r)->packets_skipped, 0);
    assert_null(rrcp_check(nodes[0].r));
    run(3000 * MS);
    assert_int_equal(rrcp_counters(nodes[0].r)->peers_now, NODES - 1);
    send_each(1, OTHER);
    send_each(1, WANTED);
    run(20 * MS);
    assert_int_equal(nodes[1].wanted, 1);
    assert_int_equal(nodes[0].skips[1], 1);
}

#define TEST(name)        cmocka_unit_test_setup_teardown(name, setup, teardown)
#define TEST_OLD(name)    cmocka_unit_test_setup_teardown(name, setup_old, teardown)
#define TEST_NARROW(name) cmocka_unit_test_setup_teardown(name, setup_narrow, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(without_interest_everything_goes_to_everybody),
        TEST(a_peer_gets_what_it_wants_and_is_told_of_the_rest),
        TEST(what_is_skipped_is_told_within_10_ms),
        TEST(a_run_has_a_timer_of_10_ms_while_packets_are_held),
        TEST(control_topics_and_what_is_directed_always_come),
        TEST(a_packet_goes_to_whom_one_of_its_messages_is_for),
        TEST(a_long_message_is_left_out_as_a_whole),
        TEST(the_beginning_of_a_long_message_brings_the_rest),
        TEST(a_lost_skip_is_asked_for_and_told_again),
        TEST(what_is_no_longer_held_is_told_as_skipped_all_the_same),
        TEST(one_request_draws_two_skips_at_most),
        TEST(a_full_queue_of_control_packets_is_not_overrun),
        TEST(what_is_asked_for_behind_the_interest_is_not_left_out),
        TEST(when_the_stream_begins_anew_everything_comes_until_it_is_told_again),
        TEST(too_many_topics_are_everything),
        TEST(many_changes_leave_no_topic_behind),
        TEST_OLD(an_older_node_is_told_nothing_and_sends_everything),
        TEST(a_beacon_without_the_promise_takes_nothing_back),
        TEST(a_skip_for_an_interest_that_one_never_had_is_not_believed),
        TEST(a_skip_by_a_version_from_before_the_first_is_not_believed),
        TEST(whoever_is_not_believed_hears_once_a_second_what_is_wanted),
        TEST_NARROW(long_runs_fit_narrow_windows),
        TEST_NARROW(only_what_becomes_missing_is_a_claim),
        TEST_NARROW(of_a_run_that_is_too_long_is_taken_what_fits),
        TEST(a_node_that_lost_us_is_told_again),
        TEST(what_is_wanted_since_we_lost_a_node_comes),
        TEST(a_node_that_lost_us_wants_everything_until_it_says_otherwise),
        TEST(what_is_wanted_is_told_behind_no_storm),
        TEST(a_peer_that_is_lost_has_no_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
