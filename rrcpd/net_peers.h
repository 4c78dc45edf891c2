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

/* The name of the peer with this session. */
const char *net_peer_name(const struct net *net, uint64_t session);
/* True: it grew, and the last line about it is a minute old. */
bool net_must_tell(uint64_t count, uint64_t *told, uint64_t *at_ns, uint64_t now_ns);

/* More relays than can be. */
void net_relays_tell(struct net *net, const struct relay_far_counters *heard, uint64_t now_ns);

#endif
