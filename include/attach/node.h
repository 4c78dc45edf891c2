/* attach/node.h - one node of one network: the engine and its packet I/O, pumped by a loop. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTACH_NODE_H
#define ATTACH_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "netio/mesh.h"
#include "netio/udp.h"
#include "netio/verbs.h"
#include "relay/far.h"
#include "rrcp/rrcp.h"

/*
 * What rrcpd's net loop and the library form have in common. One thread.
 *
 *      attach_node_input(node, now)      some of what has arrived; 0: there was nothing more
 *      attach_node_event(node, ...)      until 0
 *      attach_node_submit(node, ...)     what users want sent
 *      attach_node_output(node, now)     tick, and put on the network what there is
 *      attach_node_event(node, ...)      until 0: own messages for local users
 */
struct attach_node;

typedef void attach_note_fn(void *argument, enum rrcp_note note, uint64_t session, uint64_t value);

struct attach_node_config {
    struct rrcp_config engine; /* `network` and `node` may be left to the names below */
    struct net_udp_config udp; /* interfaces and groups may be left to the names below */
    struct net_shim_config shim;
    uint64_t seed; /* 0: from the kernel */
    bool lock_memory;
    bool uses_verbs; /* in place of UDP; `udp` is read for both */
    bool uses_mesh;  /* UDP to each node alone; `udp` is read for it, too */
    uint8_t rdma_port;
    char rdma_device[64];
    /* Storage for the names of the two above, so that this is a value that can be copied. */
    char network[64];
    char node[RRCP_NODE_NAME_MAX + 1];
    char interface[2][64];
    char group[2][64];
    char peers[1024]; /* peerAddresses */
    char seeds[4096]; /* peers */
    attach_note_fn *note;
    void *note_argument;
    /* Not NULL: use this network instead of opening UDP; the node's, closed with it. */
    struct net_packet_io *io;
    bool is_open; /* `authKeyFile : none` is written down: no key off loopback, either */
};

void attach_node_config_init(struct attach_node_config *config);

/* True: an interface of the open network is not loopback, so that its packets want a key, or the
 * words `authKeyFile : none`. `why`: a sentence for the operator. */
bool attach_network_needs_key(const struct net_udp_report *report, char *why, size_t why_size);

/* `why` (at least 256 bytes): a sentence for the operator. *report may be NULL. */
int attach_node_open(const struct attach_node_config *config, struct net_udp_report *report,
                     char *why, size_t why_size, struct attach_node **out);
void attach_node_close(struct attach_node *node); /* NULL is allowed */

struct rrcp *attach_node_engine(struct attach_node *node);
struct net_packet_io *attach_node_io(struct attach_node *node);

/* The library that seals the packets; NULL without keys. */
const char *attach_node_sealer(const struct attach_node *node);

/*
 * As rrcp_event() and rrcp_submit(), for users: nodes behind relays (relay/far.h) are among those
 * that they hear and speak to. A relay itself asks its engine.
 */
int attach_node_event(struct attach_node *node, struct backbone_event out[], int max);
int attach_node_submit(struct attach_node *node, uint64_t now_ns, int port,
                       const struct rrcp_msg *msg);

/* Counts messages that came through relays. */
const struct relay_far_counters *attach_node_relayed(const struct attach_node *node);

/* Feed one batch of arrivals to the engine (also when there is none, which it wants to know). */
int attach_node_input(struct attach_node *node, uint64_t now_ns);

/* rrcp_tick(), then send all there is, or all the network takes. Returns packets sent. */
int attach_node_output(struct attach_node *node, uint64_t now_ns);

/* Packets that the network had no room for are waiting. */
bool attach_node_is_blocked(const struct attach_node *node);

/* When the loop must come back: the engine's, the transport's, or a blocked sender's time. */
uint64_t attach_node_deadline(const struct attach_node *node);

/* The owner is about to sleep on the descriptors; false: something has come meanwhile. */
bool attach_node_arm(struct attach_node *node);

/* Nothing left to do until the deadline or until a descriptor is readable. */
bool attach_node_is_idle(struct attach_node *node);

/* Value of authKeyFile: without a key on any interface. */
#define ATTACH_KEYS_NONE "none"

/* Readings of a key file, which others must not read and only its owner may write: lines `ID
 * HEX64`, first signs; '#' comments. For `authKeyFile`. */
int attach_keys_read(const char *path, struct rrcp_key keys[RRCP_KEY_MAX], uint32_t *count,
                     char *why, size_t why_size);

#endif
