/* peer_table.h - live peers, by session and by their earliest timer. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_PEER_TABLE_H
#define RRCP_PEER_TABLE_H

#include "private.h"

/* A peer whose timer is due but that cannot act yet is looked at again after this. */
#define PEER_STEP_NS   (50 * RRCP_US)
#define WINDOW_KEEP_NS (10 * RRCP_S) /* a receive window without holes goes after */

struct rrcp_peer *rrcp_peer_find(struct rrcp *r, uint64_t session);
/* FREE becomes LIVE, and LIVE becomes DEAD. */
void rrcp_peer_add(struct rrcp *r, struct rrcp_peer *peer);
void rrcp_peer_remove(struct rrcp *r, struct rrcp_peer *peer);
/* When its earliest timer is due. */
uint64_t rrcp_peer_due(const struct rrcp *r, const struct rrcp_peer *peer);
/* Its timers changed. */
void rrcp_peer_arm(struct rrcp *r, struct rrcp_peer *peer);
/* The same, but only what became due earlier; later is found out in time. */
void rrcp_peer_arm_earlier(struct rrcp *r, struct rrcp_peer *peer);
/* Still due after its turn: not again in this one. */
void rrcp_peer_postpone(struct rrcp *r, struct rrcp_peer *peer);
uint64_t rrcp_peers_deadline(const struct rrcp *r);

#endif
