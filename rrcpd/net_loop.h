/* net_loop.h - parts of the net loop that the loop of a relay has, too. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCPD_NET_LOOP_H
#define RRCPD_NET_LOOP_H

#include "net_private.h"

/* Opens the network, and starts no thread. `why` (256 bytes) is a sentence on failure. */
int net_open(const struct net_config *config, char *why, size_t why_size, struct net **out);

void net_settle_thread(const struct net_config *config);
void net_take_mail(struct net *net, uint64_t now_ns);

/* Behind each turn: statistics and log; `work`: how much there was to do. */
void net_keep_books(struct net *net, uint64_t begin_ns, int work);

/* Until a descriptor is readable or the time has come. */
void net_sleep_until(struct net *net, uint64_t now_ns, uint64_t deadline_ns);

#endif
