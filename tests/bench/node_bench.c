/* node_bench.c - what nodes behind relays cost a node that has none in sight. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "node_far.h"

/*
 * One engine sends, another receives, from array to array. The receiver's events are taken from the
 * engine alone, or through node_far, as rrcpd does. Times differ by less than they vary; count
 * instructions:
 *
 *      valgrind --tool=callgrind --toggle-collect='take_events*' node_bench near 1000000
 */

enum { BATCH = 64, EVENTS = 512, MESSAGES = 1000, TOPICS = 7 };

#define MS 1000000ull

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

struct bench {
    struct rrcp *a, *b;
    struct node_far far;
    bool is_through; /* node_far */
    bool is_mixed;   /* each message has another topic than the one before */
    uint64_t now_ns; /* virtual */
    uint64_t bytes;
    long received;
};

static struct rrcp *engine(uint64_t session, const char *name)
{
    struct rrcp_env env = { .take = take, .give = give, .seed = { session, 1 } };
    struct rrcp_config config;
    struct rrcp *r;

    rrcp_config_init(&config);
    config.network = "bench";
    config.node = name;
    config.session = session;
    config.hold_ns = 100 * MS;
    MD_ASSERT(rrcp_create(&config, &env, &r) == 0);
    return r;
}

/* callgrind counts what is below it. */
__attribute__((noinline)) static int take_events(struct bench *bench,
                                                 struct backbone_event events[])
{
    return bench->is_through ? node_far_event(&bench->far, bench->b, events, EVENTS)
                             : rrcp_event(bench->b, events, EVENTS);
}

static void drain(struct bench *bench, struct rrcp *r)
{
    static struct backbone_event events[EVENTS];
    int n;

    while ((n = r == bench->b ? take_events(bench, events) : rrcp_event(r, events, EVENTS)) > 0)
        for (int i = 0; i < n; i++) {
            bench->received += r == bench->b && events[i].type == BACKBONE_MESSAGE;
            bench->bytes += events[i].length;
        }
}

static void carry(struct bench *bench, struct rrcp *from, struct rrcp *to)
{
    static const struct rrcp_address addresses[2] = { { .length = 1, .bytes = { 1 } },
                                                      { .length = 1, .bytes = { 2 } } };
    struct rrcp_packet out[BATCH];
    struct rrcp_arrival in[BATCH];
    int n;

    do {
        n = rrcp_output(from, bench->now_ns, out, BATCH);
        for (int i = 0; i < n; i++)
            in[i] = (struct rrcp_arrival){ .bytes = out[i].bytes,
                                           .length = out[i].length,
                                           .is_group = out[i].to == NULL,
                                           .from = &addresses[from == bench->b] };
        rrcp_input(to, bench->now_ns, in, n);
        drain(bench, to);
    } while (n > 0);
}

static void turn(struct bench *bench, uint64_t ns)
{
    carry(bench, bench->a, bench->b);
    rrcp_tick(bench->a, bench->now_ns);
    rrcp_tick(bench->b, bench->now_ns);
    carry(bench, bench->b, bench->a);
    bench->now_ns += ns;
}

static int usage(void)
{
    fprintf(stderr, "node_bench engine|near [MESSAGES [mixed]]\n"
                    "Events of an engine alone, or as a node takes them that knows of relays.\n");
    return 2;
}

int main(int argc, char **argv)
{
    static const uint8_t bytes[64] = "tick";
    struct bench bench = { .a = engine(1, "a"), .b = engine(2, "b"), .now_ns = 1000 * MS };
    const struct rrcp_user user = { .receives = false };
    long messages = argc > 2 ? atol(argv[2]) : 1000000;

    if (argc < 2 || (strcmp(argv[1], "engine") != 0 && strcmp(argv[1], "near") != 0))
        return usage();
    bench.is_through = strcmp(argv[1], "near") == 0;
    bench.is_mixed = argc > 3;
    MD_ASSERT(node_far_open(&bench.far, bench.b, 1 << 20) == 0);
    int port = rrcp_user_add(bench.a, &user);
    for (int i = 0; i < 4; i++)
        turn(&bench, 50 * MS);
    for (long sent = 0; sent < messages; turn(&bench, MS / 10))
        for (int i = 0; i < MESSAGES; i++, sent++) {
            struct rrcp_msg msg = { .bytes = bytes, .length = sizeof(bytes), .topic = 7 };

            msg.topic += bench.is_mixed ? (uint32_t)(sent % TOPICS) : 0;
            MD_ASSERT(rrcp_submit(bench.a, bench.now_ns, port, &msg) == 0);
        }
    printf("%ld messages, %llu bytes\n", bench.received, (unsigned long long)bench.bytes);
    node_far_close(&bench.far);
    rrcp_destroy(bench.a);
    rrcp_destroy(bench.b);
    return 0;
}
