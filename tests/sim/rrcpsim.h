/* rrcpsim.h - nodes of the reliable multicast engine in a simulated network, and their checkers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCPSIM_H
#define RRCPSIM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "rrcp/rrcp.h"
#include "simnet.h"

#define US  1000ull
#define MS  1000000ull
#define SEC 1000000000ull

/* What a node is asked to send. */
struct sim_load {
    uint32_t per_s;     /* messages; 0 = none */
    uint32_t burst;     /* so many at a time; 0 = 1 */
    uint32_t bytes_max; /* ordinary ones have 48 to this */
    uint32_t large_ppm; /* of which large */
    uint32_t large_bytes_max;
    uint32_t unicast_ppm;  /* by the unicast stream to a random node */
    uint32_t directed_ppm; /* multicast DIRECTED to a random node */
};

struct sim_options {
    uint64_t seed;
    int nodes;
    enum simnet_personality personality;
    bool trace;
    size_t socket_bytes;
    uint32_t drain_per_s;      /* packets a node can take in; 0 = any number */
    struct rrcp_config config; /* what the scenario wants of the engines; rrcp_config_init first */
    bool no_gaps;              /* any gap is a failure */
    bool no_naks;              /* any request is a failure */
    bool clocks_differ;
    uint32_t check_every; /* turns of a node between two walks over all tables of its engine */
    int seeds;            /* mesh: each node knows the first so many from its start, and they know
                           * all; 0 = all know all */
    uint32_t wish_ms;     /* mesh: each node changes what it wants about so often; 0: never */
    bool users_alone;     /* no slow, dead and hostile users beside the others */
};

/* Coverage of all runs of a process. */
struct sim_coverage {
    uint64_t runs, nodes, packets, messages, virtual_ns;
    uint64_t faults[SIMNET_FAULT_count];
    uint64_t events[16];
    uint64_t gaps[8];
    uint64_t drops[RRCP_DROP_count];
    uint64_t transitions[RRCP_TRANSITION_count];
    uint64_t crashes, restarts, pauses, stops, detaches, hostile, forged;
    uint64_t full, dropped, over, resets, override, aimd, flow_lost, conflicts;
    uint64_t late_full, all_over, nonsense;
    uint64_t notes[RRCP_NOTE_count];
    uint64_t memory_high;
};

struct sim;

struct sim *sim_create(const struct sim_options *options, struct sim_coverage *coverage);
void sim_destroy(struct sim *sim);

struct simnet *sim_net(struct sim *sim);
struct md_prng *sim_prng(struct sim *sim);
void sim_load(struct sim *sim, int node, const struct sim_load *load);
void sim_run(struct sim *sim, uint64_t for_ns);
bool sim_has_failed(const struct sim *sim);
const char *sim_failure(const struct sim *sim);
void sim_fail(struct sim *sim, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Things that happen to nodes. A crashed node is gone without a word until it is restarted. */
void sim_pause(struct sim *sim, int node, uint64_t for_ns);
void sim_crash(struct sim *sim, int node);
void sim_restart(struct sim *sim, int node);
void sim_stop(struct sim *sim, int node); /* with BYE */
bool sim_is_up(const struct sim *sim, int node);
void sim_detach(struct sim *sim, int node); /* one of its users dies, another comes */
void sim_hostile(struct sim *sim, int packets);
/* The hostile node listens; then forges so many packets, of one type or of any (0). Without keys
 * nothing is judged until it is said that it is over. */
void sim_forger_begin(struct sim *sim);
void sim_forge(struct sim *sim, int packets, int type);
void sim_forger_over(struct sim *sim);
#define SIM_UNICAST_HEARD 500000 /* with so much unicast_ppm some is expected everywhere */
void sim_forger_heard(struct sim *sim);
/* Invented BEACONs to the group. */
void sim_forge_crowd(struct sim *sim, int packets);
/* Packets of one type to `to` from the address of `as`, in its name. */
void sim_forge_as(struct sim *sim, int to, int as, int packets, int type);
/* How many pairs of nodes do not see each other. */
int sim_strangers(const struct sim *sim);
void sim_sleep_until(struct sim *sim, int node, uint64_t at_ns); /* as if it had not started */
void sim_rotate(struct sim *sim, int node, const struct rrcp_key keys[], uint32_t count);
bool sim_seals_with(const struct sim *sim, int node, int of, int key_id);
void sim_rename(struct sim *sim, int node, int as); /* at its next restart */
#define SIM_WISH_ALL UINT32_MAX
/* Mesh: the node wants these topics from now on, as bits. */
void sim_wish(struct sim *sim, int node, uint32_t bits);
/* From now on each node must be sent what it wants. */
void sim_wishes_known(struct sim *sim);
void sim_partition(struct sim *sim, int node);
void sim_heal(struct sim *sim);

/* No faults and no load any more: within the promised time all must be well. */
void sim_settle(struct sim *sim);
/* After it: the users of node 0 read what is left, and it is seen what they were told. */
void sim_end_users(struct sim *sim);
void sim_settle_long(struct sim *sim); /* give it time for the dead to be noticed, too */

const struct rrcp_counters *sim_counters(const struct sim *sim, int node);
struct rrcp *sim_engine(struct sim *sim, int node);
/* Sum over all nodes that are or were. */
void sim_totals(const struct sim *sim, struct rrcp_counters *out);
uint64_t sim_hash(const struct sim *sim);       /* of everything that was sent and told */
uint64_t sim_users_hash(const struct sim *sim); /* of what the fast user was told */
uint64_t sim_latency_ns(const struct sim *sim, double quantile); /* of multicast messages */
void sim_latency_forget(struct sim *sim);
uint64_t sim_gap_count(const struct sim *sim, int node, enum backbone_gap_reason reason);
uint32_t sim_downs(const struct sim *sim, int node, int of);   /* PEER_DOWN `node` was given */
uint32_t sim_rejoins(const struct sim *sim, int node, int of); /* GAP(REJOIN) it was given */
uint32_t sim_packet_bytes(const struct sim *sim);              /* the longest of this transport */
uint64_t sim_repair_rate(const struct sim *sim);          /* bytes per second, of each sender */
uint64_t sim_repairs_to(const struct sim *sim, int node); /* bytes of repairs to it alone */
void sim_latency_without(struct sim *sim, int node);      /* from now on */
void sim_allow_gaps(struct sim *sim, int node);           /* despite no_gaps, at this node */
/* NAK packets per packet of the senders `first` to before `end` that was asked for at all. */
struct sim_naks {
    uint32_t packets;
    double mean;
    uint32_t p99, max;
};

struct sim_naks sim_naks(const struct sim *sim, int first, int end);

/* scenario.c: a page each. setup may change the options (which the seed has drawn); body drives the
 * simulation up to sim_settle(), which the caller does. */
struct sim_scenario {
    const char *name;
    void (*setup)(struct sim_options *options, struct md_prng *prng);
    void (*body)(struct sim *sim, int nodes, struct md_prng *prng);
};

extern const struct sim_scenario sim_scenarios[];

/* scenario.c and hostile.c */
void sim_load_all(struct sim *sim, int nodes, struct md_prng *prng, uint32_t per_s);
uint32_t sim_between(struct md_prng *prng, uint32_t low, uint32_t high);
void sim_keys_setup(struct sim_options *o, struct md_prng *prng);
void sim_answers_setup(struct sim_options *o, struct md_prng *prng);
void sim_answers(struct sim *sim, int nodes, struct md_prng *prng);
void sim_rotation_setup(struct sim_options *o, struct md_prng *prng);
void sim_rotation(struct sim *sim, int nodes, struct md_prng *prng);
void sim_crowd_setup(struct sim_options *o, struct md_prng *prng);
void sim_crowd(struct sim *sim, int nodes, struct md_prng *prng);
void sim_crowd_forged(struct sim *sim, int nodes, struct md_prng *prng);
void sim_restart_forged(struct sim *sim, int nodes, struct md_prng *prng);
extern const int sim_scenario_count;
extern const int sim_scenarios_drawn; /* the first so many; others are run by name */

/* mesh.c: scenarios of a mesh; on other transports nothing of theirs is checked. */
void sim_learn_setup(struct sim_options *o, struct md_prng *prng);
void sim_learn(struct sim *sim, int nodes, struct md_prng *prng);
void sim_translated(struct sim *sim, int nodes, struct md_prng *prng);
void sim_cut(struct sim *sim, int nodes, struct md_prng *prng);
void sim_claimed_setup(struct sim_options *o, struct md_prng *prng);
void sim_claimed(struct sim *sim, int nodes, struct md_prng *prng);
void sim_wishes_setup(struct sim_options *o, struct md_prng *prng);
void sim_wishes(struct sim *sim, int nodes, struct md_prng *prng);
void sim_readers_setup(struct sim_options *o, struct md_prng *prng);
void sim_readers(struct sim *sim, int nodes, struct md_prng *prng);
bool sim_is_mesh(const struct sim *sim);

/* figures.c: tables of repairs, delays and retries, and the scaling curve. */
int sim_figures(const char *which, int receivers); /* receivers 0: all sizes */
/* figures_mesh.c: of one size, or of all with 0. */
int sim_figure_mesh(int only);

#endif
