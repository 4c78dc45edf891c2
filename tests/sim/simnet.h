/* simnet.h - a network that exists only in numbers: virtual time, seeded faults, any number of
 * nodes.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMNET_H
#define SIMNET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/prng.h"
#include "rrcp/rrcp.h"

/*
 * Nodes send bytes to the group or to one address; what arrives, when, how often and in which
 * shape is decided by the seed and the faults in force. The same seed and calls give the same
 * deliveries. simnet knows nothing of the protocol it carries.
 *
 * A delivery waits in the receiving node's socket, which has a size; what does not fit is lost, as
 * in a kernel. Wake-ups of nodes share the queue of events, so that a simulation is one loop:
 *
 *      while (simnet_step(net, &node)) run(node);
 */
struct simnet;

#define SIMNET_GROUP (-1)

/* How a transport may look; all scenarios run in each. */
enum simnet_personality {
    SIMNET_UDP,    /* payload 1472, packets leave at once, the group is a multicast group */
    SIMNET_VERBS,  /* payload 1024, headroom 40, buffers come back late, a short send queue */
    SIMNET_COPIES, /* the group is a copy to each node, lost independently */
    SIMNET_drawn,  /* those that a seed draws; the others are asked for by name */
    SIMNET_UD = SIMNET_drawn, /* a UD queue pair: 1024, 2044 or 4096 bytes by seed, no headroom,
                               * sends complete in lumps, a receive ring of packets that overruns */
    SIMNET_MESH, /* no group: an engine says to whom a copy goes, and learns who there is */
    SIMNET_personalities
};

/* Per million, and nanoseconds. A link has the faults of its sending and of its receiving end. */
struct simnet_faults {
    uint32_t loss_ppm;
    uint32_t burst_begin_ppm; /* Gilbert-Elliott: into the bad state, in which all is lost */
    uint32_t burst_end_ppm;   /* out of it, per packet; 0 = no bursts */
    uint32_t sender_loss_ppm; /* lost for all receivers at once */
    uint32_t path_loss_ppm[2];
    uint64_t path_delay_ns[2]; /* on top of the others */
    uint32_t reorder_ppm;
    uint64_t reorder_ns; /* up to so much later than its turn */
    uint32_t duplicate_ppm;
    uint32_t corrupt_ppm;  /* some bits flipped */
    uint32_t truncate_ppm; /* cut short */
    uint32_t mtu;          /* longer packets vanish; 0 = no limit */
    uint64_t delay_min_ns;
    uint64_t delay_max_ns;
};

enum simnet_fault {
    SIMNET_FAULT_LOSS,
    SIMNET_FAULT_BURST,
    SIMNET_FAULT_SENDER,
    SIMNET_FAULT_PATH,
    SIMNET_FAULT_REORDER,
    SIMNET_FAULT_DUPLICATE,
    SIMNET_FAULT_CORRUPT,
    SIMNET_FAULT_TRUNCATE,
    SIMNET_FAULT_MTU,
    SIMNET_FAULT_PARTITION,
    SIMNET_FAULT_OVERFLOW,
    SIMNET_FAULT_count
};

const char *simnet_fault_name(enum simnet_fault fault);

struct simnet_config {
    uint64_t seed;
    int nodes;
    enum simnet_personality personality;
    size_t socket_bytes;   /* receive buffer of each node */
    uint32_t ring_packets; /* or so many packets of any length; 0: no limit */
};

struct simnet *simnet_create(const struct simnet_config *config);
void simnet_destroy(struct simnet *net);

uint64_t simnet_now(const struct simnet *net);

/* The faults of everything a node receives, and of everything it sends. */
struct simnet_faults *simnet_in(struct simnet *net, int node);
struct simnet_faults *simnet_out(struct simnet *net, int node);

/* From `from` to `to` nothing arrives any more, or again. */
void simnet_block(struct simnet *net, int from, int to, bool is_blocked);
void simnet_heal(struct simnet *net); /* no blocks, no faults but the delays */

void simnet_address(const struct simnet *net, int node, int path, struct rrcp_address *out);
int simnet_node_of(const struct simnet *net, const struct rrcp_address *address, int *path);

/* Names the packets that simnet_inject() puts into the network from now on. */
enum simnet_hostile { SIMNET_HONEST, SIMNET_FORGED, SIMNET_REPLAYED };

void simnet_hostile(struct simnet *net, enum simnet_hostile kind);
/* Of an arrival that the last simnet_receive() of this node returned. */
enum simnet_hostile simnet_is_hostile(const struct simnet *net, int index, int arrival);

void simnet_send(struct simnet *net, int from, int path, int to, const uint8_t *bytes,
                 uint32_t length);
/* A packet out of nowhere, with any sender's address. */
void simnet_inject(struct simnet *net, int to, const struct rrcp_address *from,
                   const uint8_t *bytes, uint32_t length, bool is_group);

/* What waits in the socket, oldest first; the bytes are good until the next call for this node. */
int simnet_receive(struct simnet *net, int node, struct rrcp_arrival out[], int max);
bool simnet_is_waiting(const struct simnet *net, int node);
void simnet_flush(struct simnet *net, int node); /* the socket is closed: nothing waits */

/* The node wants to run at `at_ns`, or earlier when something arrives and it is not busy. */
void simnet_wake(struct simnet *net, int node, uint64_t at_ns);
/* Until then arrivals only fill the socket. */
void simnet_busy(struct simnet *net, int node, uint64_t until_ns);

/* Advance to the next node to run; false when nothing happens up to `until_ns`, which is then now.
 */
bool simnet_step(struct simnet *net, uint64_t until_ns, int *node);

/* How often each fault struck, and what was carried. */
struct simnet_counters {
    uint64_t faults[SIMNET_FAULT_count];
    uint64_t sent, delivered;
};

const struct simnet_counters *simnet_counters(const struct simnet *net);

#endif
