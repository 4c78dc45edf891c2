/* room.h - connections without a login: how long they may last, and for whom they make room. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_ROOM_H
#define P2PS_ROOM_H

#include "mount.h"

struct p2ps_worker;

/* Ends a connection that has not logged in: of the hosts that have such connections the one with
 * most, and of its connections the one that has been silent longest;
 * of this protocol only, unless it is NULL. False: all are logged in. */
bool p2ps_room_make(struct p2ps_worker *worker, const struct p2ps_protocol *of);
/* Ends the mount if its login has not come in time. */
void p2ps_room_look(struct p2ps_mount *mount, uint64_t now_ns);
/* Before the mounts are looked at: a stall of our own loop does not count against loginTimeout. */
void p2ps_room_forgive(struct p2ps_worker *worker, uint64_t now_ns);
/* Logs how many gave way, at growing distances. */
void p2ps_room_tell(struct p2ps_worker *worker, uint64_t now_ns);

#endif
