/* sim.h - inside of the simulation: nodes. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include "check.h"

#define SIM_USERS   2
#define SIM_BATCH   64
#define SIM_FLIGHTS 4096
#define SIM_QUEUE   64 /* the short send queue: so many packets the transport takes at a time */

/* What a node took in and put out in one second. */
struct sim_second {
    uint64_t begin_ns;
    uint64_t input_bytes, input_packets;
    uint64_t repair_bytes, answer_bytes;
    uint64_t challenges;
    uint64_t naks, statuses, beacons, probes; /* packets */
};

struct sim_node {
    struct rrcp *r; /* NULL: down */
    uint32_t life;
    int number;
    int name;
    int ports[SIM_USERS];
    int64_t clock_offset_ns;
    double clock_rate;
    struct sim_load load;
    uint64_t next_message_ns;
    uint64_t next_wish_ns;
    bool is_full;
    bool may_gap;
    bool is_apart; /* its latency does not count */
    bool is_over;  /* its pool, when it ran last */
    uint64_t stopping_ns;
    uint64_t met_ns; /* when it had a new peer last */
    uint64_t turns;
    uint32_t looked; /* the peer whose holes were looked at last */
    uint32_t spins;  /* runs in a row at the same instant */
    uint64_t spin_ns;
    struct {
        uint32_t buffer;
        uint32_t length;
        const uint8_t *bytes;
        uint64_t sum; /* of the bytes, which nobody may change meanwhile */
        uint64_t done_ns;
    } flights[SIM_FLIGHTS]; /* late completions */
    uint32_t flight_head, flight_count;
    uint64_t entered_use, left_use; /* of its pool, when it said that it is over, and no more */
    struct sim_users *users;        /* node 0 has them */
    struct sim_second second, second_before;
    uint64_t repair_bytes_to;  /* repairs that others sent to it alone */
    struct rrcp_counters last; /* of its lives that are over, summed */
    uint64_t memory;
    uint64_t memory_base; /* what create took */
    char name_text[32];
};

struct sim {
    struct sim_options options;
    struct sim_coverage *coverage;
    struct simnet *net;
    struct md_prng prng;
    struct md_prng wishes; /* its own: what is wanted changes nothing else */
    struct sim_node *nodes;
    struct sim_check check;
    bool has_hostile;
    bool is_forged; /* a hostile node without a key to stop it: nothing is promised yet */
    struct sim_forger *forger;
    struct sim_cipher *cipher; /* with keys */
    struct rrcp_seal seal;
    bool is_settling;
    bool is_long_settle;
    char failure[256];
    uint64_t hash;
    uint64_t users_hash;
    uint64_t messages;
    uint32_t *latency; /* histogram, 2 % steps */
    uint8_t *scratch;
    uint64_t events[16];
};

void sim_latency(struct sim *sim, int node, uint64_t sent_ns);

/* users.c: the inbound ring of one life of a node and its readers. users_end() says whether each
 * was told what it should. */
struct sim_users *users_begin(struct sim *sim, uint64_t session);
void users_event(struct sim *sim, struct sim_users *users, const struct backbone_event *event);
void users_run(struct sim *sim, struct sim_users *users, struct rrcp *r, uint64_t now_ns, int port);
void users_end(struct sim *sim, struct sim_users *users);

/* sealed.c: the engines' cipher, which asserts that no nonce comes twice. */
struct sim_cipher *sealed_begin(struct sim *sim, struct rrcp_seal *out);
void sealed_end(struct sim_cipher *c);
/* The bytes of a packet that an engine has just handed out, before they were encrypted. */
uint8_t *sealed_plain(struct sim_cipher *c, const struct rrcp_packet *packet);

/* forger.c: the hostile node. */
extern const char forger_mark[8];

struct sim_forger *forger_begin(const struct sim *sim);
void forger_end(struct sim_forger *f);
void forger_hear(struct sim *sim, int node, const struct rrcp_packet *packet);

/* limits.c: what a node may put on the wire, in all and in proportion to what it takes in. */
void limits_received(struct sim_node *node, const struct rrcp_arrival in[], int count);
void limits_sent(struct sim_node *node, const struct rrcp_packet *packet);
void limits_check(struct sim *sim, struct sim_node *node);

#endif
