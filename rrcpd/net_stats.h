/* net_stats.h - the counters of the net loop in the statistics. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCPD_NET_STATS_H
#define RRCPD_NET_STATS_H

#include "net_private.h"

int net_stats_create(struct net *net, const char *transport); /* for people */
void net_stats_update(struct net *net, uint64_t now_ns);
void net_stats_user_add(struct net *net, struct net_user *user);
/* After the user said what it wants. */
void net_stats_user_wants(struct net *net, const struct net_user *user);
void net_stats_user_remove(struct net *net, struct net_user *user);
void net_stats_destroy(struct net *net);

/* A note of the engine to the operator: a log line. */
void net_note(void *argument, enum rrcp_note note, uint64_t session, uint64_t value);

#endif
