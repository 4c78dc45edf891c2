/* peer_table.h - live peers, by session and by their earliest timer. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_PEER_TABLE_H
#define RRCP_PEER_TABLE_H

#include "private.h"

/* A peer that is due but cannot act yet gets its next turn after this. */
#define PEER_STEP_NS   (50 * RRCP_US)
#define WINDOW_KEEP_NS (10 * RRCP_S) /* a receive window without holes is freed after this */

struct rrcp_peer *rrcp_peer_find(struct rrcp *r, uint64_t session);
/* FREE becomes LIVE, and LIVE becomes DEAD. */
void rrcp_peer_add(struct rrcp *r, struct rrcp_peer *peer);
void rrcp_peer_remove(struct rrcp *r, struct rrcp_peer *peer);
/* Returns the time of the peer's earliest timer. */
uint64_t rrcp_peer_due(const struct rrcp *r, const struct rrcp_peer *peer);
/* Moves the peer in the heap after its timers changed. */
void rrcp_peer_arm(struct rrcp *r, struct rrcp_peer *peer);
/* The same, but only to an earlier time: a timer that moved later costs one needless turn. */
void rrcp_peer_arm_earlier(struct rrcp *r, struct rrcp_peer *peer);
/* Postpones a peer that is still due after its turn, so that the turn ends. */
void rrcp_peer_postpone(struct rrcp *r, struct rrcp_peer *peer);
uint64_t rrcp_peers_deadline(const struct rrcp *r);

#endif
