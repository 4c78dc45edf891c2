/* door.h - who comes in at the ports for providers, and who makes room. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_DOOR_H
#define SRCDIST_DOOR_H

#include "route_loop.h"

/* A connection that was accepted: a place for it, or its end. NULL: it has ended. */
struct link *door_admit(struct route_loop *loop, struct net_stream *stream);

#endif
