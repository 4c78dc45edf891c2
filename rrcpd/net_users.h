/* net_users.h - the net loop's side of its users. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCPD_NET_USERS_H
#define RRCPD_NET_USERS_H

#include "net_private.h"

int net_users_submit(struct net *net, uint64_t now_ns); /* bytes given to the engine */
void net_users_wake(struct net *net);                   /* readers that sleep */
/* False: something is there. A user above its quota has nothing. */
bool net_users_arm(struct net *net, uint64_t now_ns);
/* When messages that wait for a quota may go on; UINT64_MAX: none wait. */
uint64_t net_users_deadline(const struct net *net);
/* Users whose messages were dropped hear of it in the inbound ring. */
void net_users_tell_denied(struct net *net);
void net_users_disarm(struct net *net);
/* In a mesh others leave out what no user of this node wants. They are told before a user can ask
 * them for anything. */
void net_tell_interest(struct net *net, uint64_t now_ns);
bool net_users_behind(struct net *net, uint64_t now_ns); /* flowControl min: wait for readers */
void net_user_add(struct net *net, struct net_user *user, uint64_t now_ns);
void net_user_leave(struct net *net, struct net_user *user, enum backbone_user_reason reason);

#endif
