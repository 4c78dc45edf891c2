/* mesh.c - scenarios of a mesh: who is learnt from whom, who is refused, cuts of one way, seeds
 * in whose name others speak. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/writer.h"
#include "rrcpsim.h"

#define NODES_MOST 24

static void load(struct sim *sim, int node, struct md_prng *prng)
{
    struct sim_load load = { .per_s = sim_between(prng, 200, 2000),
                             .burst = sim_between(prng, 1, 8),
                             .bytes_max = 300,
                             .unicast_ppm = 50000 };

    sim_load(sim, node, &load);
}

void sim_learn_setup(struct sim_options *o, struct md_prng *prng)
{
    if (md_prng_below(prng, 2))
        sim_keys_setup(o, prng);
    o->nodes = (int)sim_between(prng, 3, o->nodes > NODES_MOST ? NODES_MOST : 12);
    o->config.peers_max = (uint32_t)o->nodes + 16;
    o->seeds = 1;
}

/*
 * All nodes know the first one, which alone knows them; they learn each other from it, one after
 * the other under load, and stay a mesh when it is gone. A node that comes back while it is gone is
 * known to the others, which find it.
 */
void sim_learn(struct sim *sim, int nodes, struct md_prng *prng)
{
    int last = nodes - 1;

    sim_settle_long(sim);
    for (int i = 1; i < nodes; i++)
        sim_sleep_until(sim, i, (uint64_t)i * sim_between(prng, 1, 60) * MS);
    load(sim, 0, prng);
    load(sim, 1, prng);
    sim_run(sim, 5 * SEC);
    if (sim_strangers(sim) > 0)
        sim_fail(sim, "after 5 s %d pairs do not know each other", sim_strangers(sim));
    sim_crash(sim, 0);
    sim_run(sim, sim_between(prng, 100, 6000) * MS);
    sim_crash(sim, last);
    sim_run(sim, sim_between(prng, 10, 5000) * MS);
    sim_restart(sim, last);
    sim_restart(sim, 0);
    sim_run(sim, 3 * SEC);
}

static uint32_t network_id(void)
{
    uint32_t id = 2166136261u;

    for (const char *c = "sim"; *c; c++)
        id = (id ^ (uint8_t)*c) * 16777619u;
    return id;
}

/* A BEACON of a session that nobody has: from an address that nobody named; or from that of a node,
 * while it says that it has another one. */
static void strange_beacon(struct sim *sim, int nodes, int to, bool is_translated)
{
    uint8_t bytes[128] = { 0x52, 0x52, 0x11, 4 };
    struct rrcp_address from;

    simnet_address(sim_net(sim), is_translated ? (to + 1) % nodes : to, 0, &from);
    if (!is_translated)
        from.bytes[0] = 99;
    bytes[63] = 1; /* TLV */
    bytes[62] = 1; /* byte of a name */
    bytes[64] = 'x';
    bytes[68] = 6;
    bytes[69] = from.length;
    memcpy(bytes + 70, from.bytes, from.length);
    bytes[70] ^= is_translated;
    md_put_be16(bytes + 6, (uint16_t)(70u + from.length));
    md_put_be64(bytes + 8, 7);
    md_put_be32(bytes + 16, network_id());
    md_put_be64(bytes + 24, 1);
    md_put_be64(bytes + 32, 1);
    simnet_inject(sim_net(sim), to, &from, bytes, 70u + from.length, false);
}

/* A node whose packets come from another address than its own, and one that nobody named: both have
 * the key, or there is none, and neither becomes a peer. */
void sim_translated(struct sim *sim, int nodes, struct md_prng *prng)
{
    uint64_t refused = 0;

    sim_load_all(sim, nodes, prng, 1000);
    sim_run(sim, 500 * MS);
    for (int i = 0; i < 20; i++) {
        strange_beacon(sim, nodes, (int)md_prng_below(prng, (uint32_t)nodes), i % 2);
        sim_run(sim, 50 * MS);
    }
    for (int i = 0; i < nodes; i++) {
        const struct rrcp_counters *c = sim_counters(sim, i);

        refused += c->mesh_refused;
        if (c->peers_now != (uint64_t)nodes - 1)
            sim_fail(sim, "node %d has %llu peers, of %d", i, (unsigned long long)c->peers_now,
                     nodes - 1);
    }
    if (sim_is_mesh(sim) && refused != 20)
        sim_fail(sim, "%llu of 20 strangers were refused", (unsigned long long)refused);
}

/*
 * Node 1 does not hear node 0 for longer than both wait. It stops sending to node 0, which hears
 * probes only and reports it down, too; neither may take what the other did not get for delivered.
 */
void sim_cut(struct sim *sim, int nodes, struct md_prng *prng)
{
    for (int i = 0; i < nodes; i++)
        load(sim, i, prng);
    sim_run(sim, 400 * MS);
    simnet_block(sim_net(sim), 0, 1, true);
    sim_run(sim, sim_between(prng, 8000, 10000) * MS);
    if (sim_downs(sim, 1, 0) != 1)
        sim_fail(sim, "node 1 hears nothing of node 0 and reports it down %u times",
                 sim_downs(sim, 1, 0));
    if (sim_is_mesh(sim) && sim_downs(sim, 0, 1) != 1)
        sim_fail(sim, "node 0 hears only probes of node 1 and reports it down %u times",
                 sim_downs(sim, 0, 1));
    for (int i = 2; i < nodes; i++)
        for (int j = 0; j < nodes; j++)
            if (sim_downs(sim, i, j) != 0)
                sim_fail(sim, "node %d reports node %d down, which it hears", i, j);
    sim_heal(sim);
    sim_run(sim, 2500 * MS);
    if (sim_strangers(sim) > 0)
        sim_fail(sim, "2.5 s after the cut %d pairs do not know each other", sim_strangers(sim));
}

void sim_claimed_setup(struct sim_options *o, struct md_prng *prng)
{
    sim_keys_setup(o, prng);
    o->nodes = (int)sim_between(prng, 2, 6);
}

/* BEACONs of sessions that nobody has, as if from the others' addresses, with a pass and a tag of
 * one who has no key. */
static void claim(struct sim *sim, int nodes, struct md_prng *prng)
{
    uint8_t bytes[160] = { 0x52, 0x52, 0x11, 4, 2 };
    int to = (int)md_prng_below(prng, (uint32_t)nodes);
    struct rrcp_address from;
    uint32_t length;

    simnet_address(sim_net(sim), (to + 1 + (int)md_prng_below(prng, (uint32_t)nodes - 1)) % nodes,
                   0, &from);
    bytes[63] = 2; /* TLVs */
    bytes[62] = 1; /* byte of a name */
    bytes[64] = 'x';
    bytes[68] = 6;
    bytes[69] = from.length;
    memcpy(bytes + 70, from.bytes, from.length);
    length = 70u + from.length;
    bytes[length] = 8;
    bytes[length + 1] = 8;
    md_put_be64(bytes + length + 2, md_prng_u64(prng));
    length += 10;
    bytes[length + 1] = RRCP_CIPHER_AES_128_GCM; /* of the trailer; key 0 */
    md_put_be64(bytes + length + 8, md_prng_u64(prng));
    length += 24;
    md_put_be16(bytes + 6, (uint16_t)length);
    md_put_be64(bytes + 8, md_prng_u64(prng) | 1);
    md_put_be32(bytes + 16, network_id());
    md_put_be64(bytes + 24, 1);
    md_put_be64(bytes + 32, 1);
    simnet_inject(sim_net(sim), to, &from, bytes, length, false);
}

/* Others speak in the name of each seed, from before it is there; a node that starts, and one that
 * comes back, are found all the same. */
void sim_claimed(struct sim *sim, int nodes, struct md_prng *prng)
{
    int late = nodes - 1;
    uint64_t refused = 0;

    sim_sleep_until(sim, late, 2500 * MS);
    for (int ms = 0; ms < 8000 && !sim_has_failed(sim); ms++) {
        if (ms == 4500)
            sim_crash(sim, 0);
        if (ms == 5000)
            sim_restart(sim, 0);
        for (int i = 0; i < 2 * nodes; i++)
            claim(sim, nodes, prng);
        sim_run(sim, MS);
    }
    if (sim_strangers(sim) > 0)
        sim_fail(sim, "3 s after its start %d pairs do not know each other", sim_strangers(sim));
    for (int i = 0; i < nodes; i++)
        refused += sim_counters(sim, i)->keys_refused;
    if (sim_is_mesh(sim) && refused == 0)
        sim_fail(sim, "the flood used up nothing");
}

void sim_wishes_setup(struct sim_options *o, struct md_prng *prng)
{
    if (md_prng_below(prng, 2))
        sim_keys_setup(o, prng);
    o->nodes = (int)sim_between(prng, 2, 5);
    o->wish_ms = sim_between(prng, 1, 200);
}

/*
 * Each node's wishes change at random, while packets are lost and overtake each other, nodes
 * crash and are cut off. Much goes by unicast: what follows a wish in its stream makes the wish a
 * promise, which check.c holds each sender to.
 */
void sim_wishes(struct sim *sim, int nodes, struct md_prng *prng)
{
    struct rrcp_counters totals;

    for (int i = 0; i < nodes; i++) {
        struct sim_load some = { .per_s = sim_between(prng, 100, 1200),
                                 .burst = sim_between(prng, 1, 8),
                                 .bytes_max = sim_between(prng, 50, 1000),
                                 .large_ppm = 2000,
                                 .large_bytes_max = 20000,
                                 .unicast_ppm = 100000,
                                 .directed_ppm = 20000 };
        struct simnet_faults *in = simnet_in(sim_net(sim), i);

        sim_load(sim, i, &some);
        in->loss_ppm = md_prng_below(prng, 30000);
        in->reorder_ppm = md_prng_below(prng, 100000);
        in->reorder_ns = 2 * MS;
    }
    sim_run(sim, SEC);
    for (int turn = 0; turn < 2 && !sim_has_failed(sim); turn++) {
        int node = (int)md_prng_below(prng, (uint32_t)nodes);

        if (md_prng_below(prng, 2)) {
            sim_crash(sim, node);
            sim_run(sim, sim_between(prng, 10, 1000) * MS);
            sim_restart(sim, node);
        } else {
            simnet_block(sim_net(sim), node, (node + 1) % nodes, true);
            sim_run(sim, sim_between(prng, 10, md_prng_below(prng, 4) ? 500 : 6000) * MS);
            sim_heal(sim);
        }
        sim_run(sim, 500 * MS);
    }
    sim_totals(sim, &totals);
    if (sim_is_mesh(sim) && (totals.packets_skipped == 0 || totals.skips_rcvd == 0))
        sim_fail(sim, "nothing was left out");
}

void sim_readers_setup(struct sim_options *o, struct md_prng *prng)
{
    if (md_prng_below(prng, 2))
        sim_keys_setup(o, prng);
    o->nodes = (int)sim_between(prng, 2, 4);
}

static uint32_t any_wish(struct md_prng *prng)
{
    return md_prng_below(prng, 2) ? SIM_WISH_ALL : md_prng_below(prng, 8);
}

/*
 * Node 0 only reads, and asks nobody by unicast, so nothing that it sends makes its wish a promise.
 * It is cut off from node 1, in one direction or in both, for about as long as one waits for the
 * other, and changes its mind meanwhile. A while after the cut it must be sent what it wants.
 */
void sim_readers(struct sim *sim, int nodes, struct md_prng *prng)
{
    for (int i = 1; i < nodes; i++) {
        struct sim_load some = { .per_s = sim_between(prng, 50, 500), .bytes_max = 300 };

        sim_load(sim, i, &some);
    }
    sim_run(sim, SEC);
    for (int turn = 0; turn < 3 && !sim_has_failed(sim); turn++) {
        uint32_t ms = sim_between(prng, 3800, 6000);
        uint32_t before_ms = sim_between(prng, 0, ms / 2);
        uint32_t ways = sim_between(prng, 1, 3);

        sim_wish(sim, 0, any_wish(prng));
        sim_run(sim, 100 * MS);
        for (int way = 0; way < 2; way++)
            if (ways >> way & 1)
                simnet_block(sim_net(sim), way, 1 - way, true);
        sim_run(sim, (ms - before_ms) * MS);
        sim_wish(sim, 0, any_wish(prng));
        sim_run(sim, before_ms * MS);
        sim_heal(sim);
        sim_run(sim, 4 * SEC);
        if (sim_strangers(sim) > 0)
            sim_fail(sim, "4 s after the cut %d pairs do not know each other", sim_strangers(sim));
        sim_wishes_known(sim);
        sim_run(sim, SEC);
    }
}
