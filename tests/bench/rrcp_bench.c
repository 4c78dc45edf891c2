/* rrcp_bench.c - what a message costs the reliable multicast engine, without any network. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/cursor.h"
#include "rrcp/rrcp.h"
#include "seal/seal.h"

/*
 * One engine sends, another receives; packets go from array to array. Three costs are told apart:
 * submit with output (packing), input with event (unpacking), and the same with every hundredth
 * packet lost and repaired, so that packets wait in the receive window.
 */

#define BATCH  64
#define ROUNDS 7
#define MS     1000000ull

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

enum security { PLAIN, AUTHENTICATED, ENCRYPTED };

static struct rrcp_seal seal;

static struct rrcp *engine(uint64_t session, enum security security)
{
    struct rrcp_env env = { .take = take, .give = give, .seed = { session, 1 }, .seal = &seal };
    struct rrcp_config config;
    struct rrcp *r;

    rrcp_config_init(&config);
    config.network = "bench";
    config.node = session == 1 ? "a" : "b";
    config.session = session;
    config.key_count = security != PLAIN;
    config.encrypts = security == ENCRYPTED;
    config.hold_ns = 100 * MS;
    MD_ASSERT(rrcp_create(&config, &env, &r) == 0);
    return r;
}

struct bench {
    struct rrcp *a, *b;
    uint64_t now_ns; /* virtual */
    uint64_t send_ns, receive_ns;
    uint64_t messages, received;
    uint32_t loss_every;
    uint64_t packets;
};

static void drain(struct bench *bench, struct rrcp *r)
{
    struct backbone_event events[256];
    int n;

    while ((n = rrcp_event(r, events, 256)) > 0)
        for (int i = 0; i < n; i++)
            bench->received += events[i].type == BACKBONE_MESSAGE;
}

/* What `from` has to say, to `to`. */
static void carry(struct bench *bench, struct rrcp *from, struct rrcp *to, uint8_t who)
{
    static const struct rrcp_address addresses[2] = { { .length = 1, .bytes = { 1 } },
                                                      { .length = 1, .bytes = { 2 } } };
    struct rrcp_packet out[BATCH];
    struct rrcp_arrival in[BATCH];
    int n;

    for (;;) {
        uint64_t before = md_clock_mono_ns();

        n = rrcp_output(from, bench->now_ns, out, BATCH);
        int kept = 0;

        for (int i = 0; i < n; i++) {
            if (out[i].type == 1 && !(out[i].bytes[4] & 1) && bench->loss_every &&
                ++bench->packets % bench->loss_every == 0)
                continue;
            in[kept++] = (struct rrcp_arrival){ .bytes = out[i].bytes,
                                                .length = out[i].length,
                                                .is_group = out[i].to == NULL,
                                                .from = &addresses[who] };
        }
        uint64_t middle = md_clock_mono_ns();

        rrcp_input(to, bench->now_ns, in, kept);
        drain(bench, to);
        bench->send_ns += middle - before;
        bench->receive_ns += md_clock_mono_ns() - middle;
        if (n == 0)
            return;
    }
}

static void round_trip(struct bench *bench, int port, const struct rrcp_msg *msg, int count)
{
    uint64_t before = md_clock_mono_ns();

    for (int i = 0; i < count; i++)
        if (rrcp_submit(bench->a, bench->now_ns, port, msg) == 0)
            bench->messages++;
    bench->send_ns += md_clock_mono_ns() - before;
    carry(bench, bench->a, bench->b, 0);
    rrcp_tick(bench->a, bench->now_ns);
    rrcp_tick(bench->b, bench->now_ns);
    carry(bench, bench->b, bench->a, 1);
    bench->now_ns += MS / 10;
}

static void measure(const char *name, uint32_t size, uint32_t loss_every, enum security security)
{
    static uint8_t bytes[65536];
    struct bench bench = { .a = engine(1, security), .b = engine(2, security) };
    struct rrcp_msg msg = { .bytes = bytes, .length = size, .topic = 7 };
    const struct rrcp_user user = { .receives = false };
    int port = rrcp_user_add(bench.a, &user);
    int count = size > 512 ? 60 : 1000;

    bench.now_ns = 1000 * MS;
    for (int i = 0; i < 4; i++, bench.now_ns += 50 * MS) {
        rrcp_tick(bench.a, bench.now_ns);
        rrcp_tick(bench.b, bench.now_ns);
        carry(&bench, bench.a, bench.b, 0);
        carry(&bench, bench.b, bench.a, 1);
    }
    bench.loss_every = loss_every;
    for (int round = 0; round < ROUNDS; round++) {
        bench.send_ns = bench.receive_ns = bench.messages = bench.received = 0;
        while (bench.messages < (size > 512 ? 100000u : 1000000u))
            round_trip(&bench, port, &msg, count);
        printf("%-22s %6u bytes  send %6.1f  receive %6.1f ns/message\n", name, size,
               (double)bench.send_ns / (double)bench.messages,
               (double)bench.receive_ns / (double)bench.messages);
    }
    rrcp_destroy(bench.a);
    rrcp_destroy(bench.b);
}

int main(void)
{
    if (seal_open(&seal) != 0)
        return 1;
    measure("no loss", 64, 0, PLAIN);
    measure("no loss", 1024, 0, PLAIN);
    measure("one packet in 100 lost", 64, 100, PLAIN);
    measure("authenticated", 64, 0, AUTHENTICATED);
    measure("authenticated", 1024, 0, AUTHENTICATED);
    measure("encrypted", 64, 0, ENCRYPTED);
    measure("encrypted", 1024, 0, ENCRYPTED);
    seal_close(&seal);
    return 0;
}
