/* figures_mesh.c - what a mesh of more and more nodes costs each of them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "rrcpsim.h"

enum { SEEDS = 3, LOAD_PER_S = 4000, RUN_S = 2 };

#define STEP_NS     (10 * MS)
#define JOIN_MAX_NS (60 * SEC)

/* Packets that all nodes took, of each kind, and probes that they sent. */
struct traffic {
    uint64_t beacons, status, other, probes, data;
};

static struct traffic traffic_of(const struct sim *sim)
{
    struct rrcp_counters c;

    sim_totals(sim, &c);
    return (struct traffic){ .beacons = c.beacons_rcvd,
                             .status = c.status_rcvd,
                             .other = c.solicits_rcvd + c.echoes_rcvd + c.hsm_rcvd + c.byes_rcvd,
                             .probes = c.mesh_probes,
                             .data = c.mcast_rcvd };
}

static struct traffic between(const struct traffic *from, const struct traffic *to)
{
    return (struct traffic){ .beacons = to->beacons - from->beacons,
                             .status = to->status - from->status,
                             .other = to->other - from->other,
                             .probes = to->probes - from->probes,
                             .data = to->data - from->data };
}

/* Until each node sees each other one; JOIN_MAX_NS: they do not. */
static uint64_t join(struct sim *sim)
{
    uint64_t passed_ns = 0;

    while (sim_strangers(sim) > 0 && passed_ns < JOIN_MAX_NS) {
        sim_run(sim, STEP_NS);
        passed_ns += STEP_NS;
    }
    return passed_ns;
}

static struct traffic run(struct sim *sim)
{
    struct traffic before = traffic_of(sim);

    sim_run(sim, RUN_S * SEC);
    struct traffic after = traffic_of(sim);
    return between(&before, &after);
}

static void show(int nodes, uint64_t join_ns, const struct traffic *joined,
                 const struct traffic *idle, const struct traffic *busy, uint64_t memory)
{
    double n = nodes, idle_s = n * RUN_S;

    printf("%d,%.2f,%.0f,%.1f,%.1f,%.1f,%.1f,%.1f,%.1f,%llu\n", nodes, (double)join_ns / 1e9,
           (double)(joined->beacons + joined->status + joined->other) / n,
           (double)joined->probes / n, (double)idle->beacons / idle_s,
           (double)idle->status / idle_s, (double)idle->other / idle_s,
           (double)busy->data / RUN_S / LOAD_PER_S, (double)busy->status / RUN_S,
           (unsigned long long)(memory / 1024));
}

static int measure(int nodes)
{
    struct sim_coverage coverage = { 0 };
    struct sim_options options = { .seed = 1,
                                   .nodes = nodes,
                                   .personality = SIMNET_MESH,
                                   .seeds = nodes > SEEDS ? SEEDS : 0,
                                   .check_every = 1000 };
    const struct sim_load load = { .per_s = LOAD_PER_S, .bytes_max = 48 };

    rrcp_config_init(&options.config);
    options.config.peers_max = RRCP_MESH_PEERS_MAX;
    options.config.pool_packets = 8192;
    options.config.window_packets = 4096;
    struct sim *sim = sim_create(&options, &coverage);
    uint64_t join_ns = join(sim);
    struct traffic joined = traffic_of(sim);

    sim_run(sim, 5 * SEC); /* greetings are over */
    struct traffic idle = run(sim);
    sim_load(sim, 0, &load);
    struct traffic busy = run(sim);
    bool failed = sim_has_failed(sim) || join_ns >= JOIN_MAX_NS;
    if (sim_has_failed(sim))
        printf("FAILED: %s\n", sim_failure(sim));
    sim_destroy(sim);
    show(nodes, join_ns, &joined, &idle, &busy, coverage.memory_high);
    return failed;
}

int sim_figure_mesh(int only)
{
    static const int sizes[] = { 2, 4, 8, 16, 32, 64 };
    int failed = 0;

    printf("nodes,join_s,join_packets_rcvd_per_node,join_probes_per_node,idle_beacons_rcvd_per_s,"
           "idle_status_rcvd_per_s,idle_other_rcvd_per_s,copies_per_data_packet,"
           "busy_status_rcvd_per_s_by_all,engine_memory_kib\n");
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        if (only == 0 || only == sizes[i])
            failed |= measure(sizes[i]);
    return failed;
}
