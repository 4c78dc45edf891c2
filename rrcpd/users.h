/* users.h - the control loop's side of local users: the attach socket. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCPD_USERS_H
#define RRCPD_USERS_H

#include "base/loop.h"
#include "net.h"

/*
 *      NEW      connected, has said nothing yet      request -> ADDING; 5 s or nonsense -> closed
 *      ADDING   the net loop was asked               NET_ADDED -> UP (reply with descriptors)
 *      UP       socket closed -> LEAVING
 *      LEAVING  the net loop was told                NET_REMOVED -> gone
 */
struct users;

/* Listen at `path` (mode 0660), whatever a dead predecessor left there is replaced. */
int users_open(struct md_loop *loop, struct net *net, const char *path, char *why, size_t why_size,
               struct users **out);

/* All outbound rings together; a user whose ring would go beyond it is refused. */
void users_limit_rings(struct users *users, uint64_t bytes);

/* The rules for programs of other uids than the daemons'; they outlive `users`. */
void users_access_set(struct users *users, const struct access *access);

/* Count the attachments refused, as <process>.usersRefused.*; before the loop runs. */
void users_show(struct users *users, struct stats_segment *stats, const char *process);

/* Call this when a session has no ports left: only a new one has. */
void users_on_exhausted(struct users *users, void (*exhausted)(void *owner), void *owner);

/* Stop accepting; remove the socket. Those attached stay until users_close(). */
void users_stop(struct users *users);
void users_close(struct users *users); /* after the net loop has ended; NULL is allowed */

/* A letter from the net loop. */
void users_mail(struct users *users, const struct net_mail *mail);

/* A p2ps and a src_dist: what one of them sends, the other gets here. Another
 * program may be on either side: it counts as both. */
bool users_have_both_sides(const struct users *users);

#endif
