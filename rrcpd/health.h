/* health.h - whether the backbone works: the interface, what is sent, who is heard. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCPD_HEALTH_H
#define RRCPD_HEALTH_H

#include "daemon/trouble.h"
#include "net.h"

/*
 * The control loop looks once a second, at the interfaces and at the counters that the net loop
 * shows in the statistics. What is wrong is a trouble (daemon/trouble.h).
 */
struct health;

struct health_config {
    struct stats_segment *stats;
    struct daemon_troubles *troubles;
    const char *process; /* prefix of the counters' paths */
    const char *network;
    const struct net *net;
    const struct net_udp_config *udp;
    char groups[2][64]; /* "mesh" where there is none */
    bool is_mesh;
    bool is_second; /* of a relay */
};

int health_open(const struct health_config *config, struct health **out);
void health_close(struct health *health); /* NULL is allowed */

/* `has_both`: consumers' and providers' sides are both attached here, so nobody else is needed.
 * False: nothing can be sent. */
bool health_look(struct health *health, uint64_t now_ns, bool has_both);

#endif
