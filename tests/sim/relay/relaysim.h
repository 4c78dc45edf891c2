/* relaysim.h - networks, nodes and relays of a simulation. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RELAYSIM_H
#define RELAYSIM_H

#include "base/prng.h"
#include "forward/forward.h"
#include "node_far.h"
#include "simnet.h"

enum {
    NETS_MAX = 6,
    PLACES_MAX = 8, /* of a network */
    NODES_MAX = 16,
    RELAYS_MAX = 5,
    SESSIONS_MAX = 96, /* of a run, those that ended included */
    PACKETS_MAX = 64,
    TOLD_MAX = 64, /* of a pair, each in another millisecond */
    HOLES_MAX = 4096,
};

#define STEP_NS (1000 * 1000ull)

/* The kinds of networks of a run: the seed takes them in turn. */
enum nets {
    NETS_GROUPS, /* multicast */
    NETS_MESHES,
    NETS_MIXED,  /* by turns */
    NETS_SEALED, /* by turns, and each third one has a key */
    NETS_KINDS
};

/* An engine and its place in a network. */
struct place {
    struct rrcp *engine;
    int net, index;
    bool is_up;
};

/* A node's knowledge of another session, and the messages that came of it. */
struct view {
    bool is_up;
    uint64_t last;    /* counter of its last tick */
    uint64_t asked;   /* counter of its last request, or answer */
    bool is_offering; /* it has said, since it came up, which services it has: it may be asked */
    bool is_told;     /* since the last tick */
    bool knows_ticks; /* since it came up, or is told */
    uint64_t imaged;  /* counter of its last image; 0: none since it came up, or is told */
    uint64_t tick_ns, answer_ns;
    uint64_t answers, images; /* since it came up, or is told */
    uint64_t sent;            /* requests to it */
    uint64_t sent_ns;         /* when the last request, or answer, to it went */
};

/* A requester, or an instance with one service. */
struct node {
    struct place place;
    struct node_far far;
    bool is_source;
    int port;
    int session; /* number in the world's table */
    uint64_t ticks, answers[SESSIONS_MAX], images[SESSIONS_MAX];
    uint64_t beat_ns, tick_ns, ask_ns;
    uint32_t svc_seq;
    struct view views[SESSIONS_MAX];
};

struct relay {
    struct place places[FORWARD_SIDES];
    struct forward *forward;
    bool is_up;
};

/* A request, or an answer, did not come, and one behind it did: one of the two must have been told,
 * between the time when the lost one was sent and a second after the next one came. */
struct hole {
    uint64_t from_ns, to_ns;
    int from, to; /* sessions */
};

struct world {
    uint64_t seed, now_ns;
    struct md_prng prng;
    int net_count, node_count, relay_count;
    struct simnet *nets[NETS_MAX];
    int places[NETS_MAX];
    bool is_mesh[NETS_MAX], is_sealed[NETS_MAX];
    struct rrcp_seal seal;
    struct node nodes[NODES_MAX];
    struct relay relays[RELAYS_MAX];
    uint64_t sessions[SESSIONS_MAX];
    int owner[SESSIONS_MAX]; /* the node; -1: of a relay */
    int home[SESSIONS_MAX];  /* its network */
    /* When one was told something of another, the last times. */
    uint64_t told_ns[SESSIONS_MAX][SESSIONS_MAX][TOLD_MAX];
    uint32_t told_count[SESSIONS_MAX][SESSIONS_MAX];
    int session_count;
    struct hole holes[HOLES_MAX];
    int hole_count;
    uint64_t ticks_sent, ticks_got, answers_got, images_got, gaps_told, downs_told, forwarded;
    uint64_t data_rate; /* of relays on network 1; 0: no limit */
    int tick_rate;      /* of each source, a step */
    bool is_quiet;
    const char *failed;
    char why[256];
};

void fail(struct world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* relaysim_node.c */
void node_start(struct world *w, struct node *node);
void node_stop(struct world *w, struct node *node);
void node_run(struct world *w, struct node *node);
void check_holes(struct world *w); /* those whose time is over */

/* relaysim_relay.c */
void place_start(struct world *w, struct place *place, const char *name, int owner);
void place_receive(struct world *w, struct place *place);
void place_send(struct world *w, struct place *place);
void relay_begin(struct world *w, struct relay *relay);
void relay_end(struct world *w, struct relay *relay);
void relay_run(struct world *w, struct relay *relay);
int world_session(const struct world *w, uint64_t session);
/* On a mesh the others leave out the rest. */
void place_want(struct world *w, struct place *place, const uint32_t topics[], int count);

#endif
