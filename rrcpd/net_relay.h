/* net_relay.h - the loop of a relay: two networks, one thread. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCPD_NET_RELAY_H
#define RRCPD_NET_RELAY_H

#include "forward/forward.h"
#include "net.h"

struct net_relay;

/*
 * Opens both networks and starts the thread. The nets are without users; mail goes to them as to
 * others, and net_alive_ns() of the first is that of both. `names`: services and topics.
 */
int net_relay_start(const struct net_config configs[FORWARD_SIDES],
                    const struct forward_config *names, char *why, size_t why_size,
                    struct net_relay **out);
void net_relay_destroy(struct net_relay *relay); /* NULL is allowed */

struct net *net_relay_net(struct net_relay *relay, int side);

#endif
