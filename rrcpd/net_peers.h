/* net_peers.h - the other nodes in the log and in the statistics. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCPD_NET_PEERS_H
#define RRCPD_NET_PEERS_H

#include "net_private.h"

int net_peers_create(struct net *net);
void net_peers_event(struct net *net, const struct backbone_event *event);
void net_strangers_tell(struct net *net, uint64_t now_ns); /* packets nobody here sends */
void net_peers_update(struct net *net);                    /* statistics */
void net_peers_destroy(struct net *net);

#endif
