/* rrcp_trace.c - three engines on a network that loses packets: what they send and what they say.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "lines.h"
#include "rrcp/rrcp.h"
#include "seal/seal.h"

/*
 * Prints one line for each thing that happens, for documents.py, which decodes the packets with
 * docs/design/rrcp.md alone and must come to the same messages:
 *
 *      run NAME KEY                                 a run begins; KEY in hex, or -
 *      node N SESSION
 *      out N TYPE PATH TO HEX                       TO: a node, or - for the group
 *      in N HEX                                     what was not lost on its way
 *      msg N SESSION STREAM SPORT DPORT TOPIC HEX   delivered; STREAM m or u
 *      event N TYPE SESSION PORT REASON NAME
 *      counters N naks ncfs
 *      check REASON HEX                             a damaged packet; ok: it passed the checks
 */
#define MS    1000000ull
#define STEP  (MS / 5)
#define NODES 3

struct node {
    struct rrcp *engine;
    struct rrcp_address address;
    int port;
};

static struct node nodes[NODES];
static struct md_prng prng;
static uint64_t now;
static uint32_t loss_per_mille;
static bool is_mesh;

static struct rrcp_seal seal;

static struct rrcp_address address_of(int n)
{
    return (struct rrcp_address){ .length = 1, .bytes = { (uint8_t)n } };
}

static void set_mesh(struct rrcp_config *config, int n)
{
    config->peers_max = 16;
    config->mesh.is_on = true;
    config->mesh.self = address_of(n);
    for (int i = 0; i < NODES; i++)
        config->mesh.seeds[config->mesh.seed_count++] = address_of(i);
}

static void open_node(int n, uint32_t incarnation, const uint8_t *key, bool encrypts)
{
    struct rrcp_env env = {
        .take = lines_take, .give = lines_give, .seed = { 7, incarnation }, .seal = &seal
    };
    const struct rrcp_user user = { .receives = true };
    struct rrcp_config config;
    char name[32];

    snprintf(name, sizeof(name), "host%d.1.rrcpd", n);
    rrcp_config_init(&config);
    config.network = "net1";
    config.node = name;
    config.session = 0x1111000000000000u * (uint64_t)(n + 1) + incarnation;
    config.packet_bytes_max = 600;
    config.pool_packets = 2048;
    config.start_ms = 1767225600000;
    config.unicast_port = (uint16_t)(40000 + n);
    config.hsm_interval_ns = 500 * MS;
    config.repair_rate = 100000; /* so little that some requests are answered by NCF */
    config.recover_timeout_ns = 5000 * MS;
    config.request_tries = 20; /* and nothing is given up */
    config.hold_ns = 10000 * MS;
    config.flow_control = n == 1 ? RRCP_FLOW_CONTROL_MIN : RRCP_FLOW_CONTROL_MAX;
    if (key) {
        config.key_count = 1;
        config.keys[0].id = 9;
        memcpy(config.keys[0].bytes, key, 32);
        config.encrypts = encrypts;
        config.cipher = encrypts && n == 1 ? RRCP_CIPHER_AES_256_GCM : RRCP_CIPHER_AES_128_GCM;
    }
    nodes[n].address = address_of(n);
    if (is_mesh)
        set_mesh(&config, n);
    if (rrcp_create(&config, &env, &nodes[n].engine) != 0)
        abort();
    nodes[n].port = rrcp_user_add(nodes[n].engine, &user);
    printf("node %d %016llx\n", n, (unsigned long long)rrcp_session(nodes[n].engine));
}

static void print_event(int n, const struct backbone_event *e)
{
    static const char *const names[] = { "?",          "MSG",       "GAP",
                                         "PEER_UP",    "PEER_DOWN", "USER_DOWN",
                                         "TX_DROPPED", "PEER_INFO", "TX_READY" };

    if (e->type == BACKBONE_MESSAGE) {
        printf("msg %d %016llx %c %u %u %u ", n, (unsigned long long)e->session,
               e->flags & BACKBONE_FLAG_UNICAST ? 'u' : 'm', e->src_port, e->dst_port, e->topic);
        print_hex(e->bytes, e->length);
        return;
    }
    printf("event %d %s %016llx %u %u %.*s\n", n, names[e->type], (unsigned long long)e->session,
           e->src_port, e->reason, e->type == BACKBONE_PEER_INFO ? (int)e->length : 1,
           e->type == BACKBONE_PEER_INFO ? (const char *)e->bytes : "-");
}

static void take_events(int n)
{
    struct backbone_event events[32];
    int count;

    while ((count = rrcp_event(nodes[n].engine, events, 32)) > 0)
        for (int i = 0; i < count; i++)
            print_event(n, &events[i]);
}

static void arrive(int to, int from, const uint8_t *bytes, uint32_t length, bool is_group)
{
    struct rrcp_arrival arrival = {
        .bytes = bytes, .length = length, .is_group = is_group, .from = &nodes[from].address
    };

    if (md_prng_u64(&prng) % 1000 < loss_per_mille)
        return;
    printf("in %d ", to);
    print_hex(bytes, length);
    rrcp_input(nodes[to].engine, now, &arrival, 1);
    take_events(to);
}

/* A packet for the group goes to this node. */
static bool is_for(int from, int to, const struct rrcp_packet *p)
{
    struct rrcp_address group[RRCP_MESH_PEERS_MAX];
    uint64_t places[RRCP_MESH_PEERS_MAX];
    int count = is_mesh ? rrcp_group(nodes[from].engine, group, places, RRCP_MESH_PEERS_MAX) : 0;

    for (int i = 0; i < count; i++)
        if (group[i].bytes[0] == to)
            return (places[i] & ~p->skipped) != 0;
    return !is_mesh;
}

static void send_all(int n)
{
    struct rrcp_packet out[16];
    int count;

    while ((count = rrcp_output(nodes[n].engine, now, out, 16)) > 0)
        for (int i = 0; i < count; i++) {
            int to = out[i].to ? out[i].to->bytes[0] : -1;

            printf("out %d %u %u %d ", n, out[i].type, out[i].path, to);
            print_hex(out[i].bytes, out[i].length);
            for (int other = 0; other < NODES; other++)
                if (other != n && nodes[other].engine &&
                    (to == other || (to < 0 && is_for(n, other, &out[i]))))
                    arrive(other, n, out[i].bytes, out[i].length, to < 0);
        }
}

/* One step: time for everybody, then everybody's packets. */
static void step(void)
{
    now += STEP;
    for (int n = 0; n < NODES; n++) {
        if (!nodes[n].engine)
            continue;
        rrcp_input(nodes[n].engine, now, NULL, 0);
        rrcp_tick(nodes[n].engine, now);
        send_all(n);
        take_events(n);
    }
}

static void run_for(uint64_t ns)
{
    for (uint64_t end = now + ns; now < end;)
        step();
}

static void submit(int n, uint32_t number)
{
    static uint8_t bytes[5000];
    static const uint32_t lengths[] = { 0, 7, 100, 300, 560, 700, 2500, 5000 };
    struct rrcp_msg msg = { .bytes = bytes, .length = lengths[md_prng_u64(&prng) % 8] };
    int to = (int)(md_prng_u64(&prng) % NODES);

    for (uint32_t i = 0; i < msg.length; i++)
        bytes[i] = (uint8_t)(number + i * 13);
    msg.topic = (uint32_t)(md_prng_u64(&prng) % 3 + 0xfffffffcu);
    if (msg.topic == RRCP_TOPIC_USER_DOWN)
        msg.topic = 5;
    if (md_prng_u64(&prng) % 3 == 0 && nodes[to].engine) {
        msg.session = rrcp_session(nodes[to].engine);
        msg.port = (uint16_t)(md_prng_u64(&prng) % 2);
        msg.flags = md_prng_u64(&prng) % 2 ? RRCP_MSG_UNICAST : 0;
    }
    (void)rrcp_submit(nodes[n].engine, now, nodes[n].port, &msg);
}

static void close_all(void)
{
    for (int n = 0; n < NODES; n++) {
        const struct rrcp_counters *c = rrcp_counters(nodes[n].engine);

        printf("counters %d %llu %llu %llu\n", n, (unsigned long long)c->retrans_req_sent,
               (unsigned long long)c->retrans_pkts_rcvd, (unsigned long long)c->packets_lost[0]);
        rrcp_destroy(nodes[n].engine);
        nodes[n].engine = NULL;
    }
}

static void run(const char *name, uint32_t per_mille, const uint8_t *key, bool encrypts)
{
    printf("run %s ", name);
    print_hex(key, key ? 32 : 0);
    now = 61000 * MS; /* the first beacons are padded */
    loss_per_mille = 0;
    for (int n = 0; n < NODES; n++)
        open_node(n, per_mille, key, encrypts);
    run_for(200 * MS);
    if (is_mesh)
        rrcp_interest_set(nodes[1].engine, now, &(uint32_t){ 5 }, 1);
    loss_per_mille = per_mille;
    for (uint32_t i = 0; i < 400; i++) {
        submit((int)(i % NODES), i);
        if (i % 4 == 0)
            step();
    }
    run_for(1500 * MS);
    rrcp_user_remove(nodes[1].engine, now, nodes[1].port, BACKBONE_USER_DIED);
    run_for(100 * MS);
    rrcp_stop(nodes[2].engine, now, 1);
    run_for(600 * MS);
    close_all();
}

/* ---- damaged packets ---------------------------------------------------------------------- */

/* What the engine counts for this packet: the name of a format check, or ok. */
static const char *verdict(const uint8_t *bytes, uint32_t length)
{
    static const struct rrcp_address from = { .length = 1, .bytes = { 77 } };
    struct rrcp_arrival arrival = { .bytes = bytes, .length = length, .from = &from };
    struct rrcp_env env = { .take = lines_take, .give = lines_give, .seed = { 5, 5 } };
    struct rrcp_config config;
    struct backbone_event events[32];
    struct rrcp *r;
    const char *name = "ok";

    rrcp_config_init(&config);
    config.network = "net1";
    config.node = "hostx.1.rrcpd";
    config.session = 0x2222000000000000ull;
    config.pool_packets = 128;
    config.peers_max = 4;
    config.arrivals_max = 4;
    if (rrcp_create(&config, &env, &r) != 0)
        abort();
    rrcp_input(r, 61000 * MS, &arrival, 1);
    while (rrcp_event(r, events, 32) > 0)
        ;
    for (int drop = 0; drop < RRCP_DROP_TARGET; drop++)
        if (rrcp_counters(r)->drop[drop] > 0)
            name = rrcp_drop_name((enum rrcp_drop)drop);
    rrcp_destroy(r);
    return name;
}

static void damage(const char *hex)
{
    uint8_t bytes[256];
    uint32_t length = read_hex(hex, bytes, sizeof(bytes));

    for (int i = 0; i < 250; i++) {
        uint8_t copy[256];
        uint32_t cut = md_prng_u64(&prng) % 4 ? length : (uint32_t)(md_prng_u64(&prng) % length);
        uint64_t changes = md_prng_u64(&prng) % 3;

        memcpy(copy, bytes, length);
        if (cut < length && md_prng_u64(&prng) % 2)
            copy[7] = (uint8_t)cut;
        for (uint64_t k = 0; k < changes; k++)
            copy[md_prng_u64(&prng) % length] = (uint8_t)md_prng_u64(&prng);
        printf("check %s ", verdict(copy, cut));
        print_hex(copy, cut);
    }
}

int main(int argc, char **argv)
{
    uint8_t key[32];

    for (int i = 0; i < 32; i++)
        key[i] = (uint8_t)(i * 7);
    prng = md_prng_init(20260101);
    if (seal_open(&seal) != 0)
        return 1;
    run("no-loss", 0, NULL, false);
    run("loss", 30, NULL, false);
    run("key", 30, key, false);
    run("sealed", 30, key, true);
    is_mesh = true;
    run("mesh", 30, NULL, false);
    is_mesh = false;
    printf("run damage -\n");
    for (int i = 1; i < argc; i++)
        damage(argv[i]);
    seal_close(&seal);
    return 0;
}
