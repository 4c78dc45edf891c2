/* hostile.c - scenarios of attacks, of keys that change, and of many nodes that start at once. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "rrcpsim.h"

/* ---- challenges in the name of a peer ----------------------------------------------------- */

void sim_answers_setup(struct sim_options *o, struct md_prng *prng)
{
    (void)prng;
    o->socket_bytes = 0; /* else the flood itself is what is lost */
    o->drain_per_s = 0;
    o->clocks_differ = false;
}

/*
 * Node 0 is asked thousands of times a second in the name of node 1, and node 1 is told that node 0
 * leaves. Node 1 then asks node 0, whose silence would be its end.
 */
void sim_answers(struct sim *sim, int nodes, struct md_prng *prng)
{
    uint32_t each_ms = sim_between(prng, 1, 10);

    sim_settle_long(sim);
    sim_load_all(sim, nodes, prng, 500);
    sim_forger_begin(sim);
    sim_run(sim, 1 * SEC);
    for (int i = 0; i < 3000 && !sim_has_failed(sim); i++) {
        sim_forge_as(sim, 0, 1, (int)each_ms, 8);
        if (i % 250 == 249)
            sim_forge_as(sim, 1, 0, 1, 7);
        sim_run(sim, 1 * MS);
    }
    if (sim_downs(sim, 1, 0) != 0)
        sim_fail(sim, "challenges in the name of node 1 made it lose node 0 %u times",
                 sim_downs(sim, 1, 0));
    sim_run(sim, 3 * SEC);
    sim_forger_over(sim);
    sim_run(sim, 1 * SEC);
    sim_forger_heard(sim);
}

/* ---- keys --------------------------------------------------------------------------------- */

void sim_rotation_setup(struct sim_options *o, struct md_prng *prng)
{
    sim_keys_setup(o, prng);
    o->config.key_count = 1;
    o->config.path_count = (uint8_t)sim_between(prng, 1, 2);
    o->no_gaps = true;
}

/*
 * The key is changed, by SIGHUP of one node after the other, while packets are lost and repaired,
 * and changed back; one node is started anew in between. Nothing is lost, and no nonce used twice.
 */
void sim_rotation(struct sim *sim, int nodes, struct md_prng *prng)
{
    struct simnet_faults faults = { .loss_ppm = sim_between(prng, 0, 5000) };
    struct rrcp_key a = { .id = 0 };
    struct rrcp_key b = { .id = 7, .bytes = { 1, 2, 3 } };

    for (int i = 0; i < 32; i++)
        a.bytes[i] = (uint8_t)i; /* that of sim_keys_setup() */

    const struct rrcp_key steps[][2] = {
        { a, b }, { b, a }, { b, b }, { b, a }, { a, b }, { a, a }
    };

    sim_load_all(sim, nodes, prng, 2000);
    sim_run(sim, 400 * MS);
    for (int i = 0; i < nodes; i++)
        *simnet_in(sim_net(sim), i) = faults;
    for (size_t step = 0; step < sizeof(steps) / sizeof(steps[0]); step++) {
        bool is_alone = steps[step][0].id == steps[step][1].id;

        for (int i = 0; i < nodes; i++) {
            sim_rotate(sim, i, steps[step], is_alone ? 1 : 2);
            sim_run(sim, sim_between(prng, 1, 60) * MS);
        }
        sim_run(sim, 3200 * MS); /* beacons of each, one may be lost */
        for (int i = 0; i < nodes; i++)
            for (int j = 0; j < nodes && !sim_has_failed(sim); j++)
                if (i != j && !sim_seals_with(sim, i, j, steps[step][0].id))
                    sim_fail(sim, "node %d does not show that node %d seals with key %d", i, j,
                             steps[step][0].id);
    }
    for (int i = 0; i < nodes; i++)
        if (sim_counters(sim, i)->drop[RRCP_DROP_AUTH_TAG] > 0)
            sim_fail(sim, "node %d took a packet of a known key for forged", i);
    sim_stop(sim, nodes - 1);
    sim_run(sim, 800 * MS);
    sim_restart(sim, nodes - 1);
    sim_run(sim, 1500 * MS);
}

/* ---- many nodes at once ------------------------------------------------------------------- */

void sim_crowd_setup(struct sim_options *o, struct md_prng *prng)
{
    (void)prng;
    o->socket_bytes = 0;
    o->drain_per_s = 0;
    o->clocks_differ = false;
    o->config.pool_packets = 4096;
    o->config.window_packets = 1024;
    o->config.missing_max = 512;
    o->check_every = 1000;
}

static void crowd(struct sim *sim, int nodes, struct md_prng *prng, int forged_per_ms)
{
    uint64_t begin_ns = simnet_now(sim_net(sim));
    int left = -1;

    if (forged_per_ms > 0)
        sim_forger_begin(sim);
    for (int i = 0; i < nodes; i++)
        sim_sleep_until(sim, i, begin_ns + sim_between(prng, 0, 1000) * MS);
    for (int ms = 0; ms < 6000 && left != 0 && !sim_has_failed(sim); ms += 10) {
        for (int i = 0; i < 10; i++) {
            if (forged_per_ms > 0)
                sim_forge_crowd(sim, forged_per_ms);
            sim_run(sim, 1 * MS);
        }
        left = ms % 100 == 0 ? sim_strangers(sim) : -1;
        if (ms > 5000 && left > 0)
            sim_fail(
                sim,
                "of %d nodes that started within 1 s %d pairs do not know each other after 5 s",
                nodes, left);
    }
    if (forged_per_ms > 0) {
        sim_run(sim, 3 * SEC);
        sim_forger_over(sim);
    }
}

void sim_crowd(struct sim *sim, int nodes, struct md_prng *prng)
{
    crowd(sim, nodes, prng, 0);
}

/* Under 10,000 forged BEACONs a second. */
void sim_crowd_forged(struct sim *sim, int nodes, struct md_prng *prng)
{
    crowd(sim, nodes, prng, 10);
}

static void forge_for(struct sim *sim, int forged_per_ms, int ms)
{
    for (int i = 0; i < ms && !sim_has_failed(sim); i++) {
        sim_forge_crowd(sim, forged_per_ms);
        sim_run(sim, 1 * MS);
    }
}

/* A host crashes and starts again under 5,000 forged BEACONs a second: all hear it, and it hears
 * all, as fast as a crowd does. */
void sim_restart_forged(struct sim *sim, int nodes, struct md_prng *prng)
{
    int left = -1;

    sim_forger_begin(sim);
    sim_run(sim, 3 * SEC);
    sim_crash(sim, nodes - 1);
    forge_for(sim, 5, (int)sim_between(prng, 50, 1000));
    sim_restart(sim, nodes - 1);
    for (int ms = 0; ms < 5000 && left != 0 && !sim_has_failed(sim); ms += 100) {
        forge_for(sim, 5, 100);
        left = sim_strangers(sim);
    }
    if (left > 0)
        sim_fail(sim, "%d pairs do not know each other 5 s after a node started again", left);
    sim_run(sim, 3 * SEC);
    sim_forger_over(sim);
}
