/* sim.h - packet I/O within one process: a network made of memory, for tests. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SIM_H
#define TESTS_SIM_H

#include <stdint.h>

#include "netio/packet.h"

/*
 * A hub with any number of ends; all of it belongs to one thread. What one end sends to the group
 * arrives at every other end, in order, when that end receives. It has no descriptors: it is
 * polled. With the numbers below it behaves as transports quite unlike UDP do.
 */
struct net_sim;

struct net_sim_config {
    uint32_t payload_max; /* 0 = 1472 */
    uint32_t headroom;    /* written over at each send, so that nobody relies on it */
    uint32_t send_depth;  /* 0 = complete at once; else packets in flight */
    uint32_t late;        /* with send_depth: a packet completes this many receive calls later */
    uint32_t queue_max;   /* packets an end holds before it drops, 0 = 65536 */
};

int net_sim_create(const struct net_sim_config *config, struct net_sim **out);
void net_sim_destroy(struct net_sim *sim); /* after all its ends are closed */

int net_sim_open(struct net_sim *sim, struct net_packet_io **out);

#endif
