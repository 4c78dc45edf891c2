/* unicast.h - the unicast stream to and from one peer. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_UNICAST_H
#define RRCP_UNICAST_H

#include "private.h"

#define USEQ_BITS      48
#define USEQ_MASK      ((1ull << USEQ_BITS) - 1)
#define UNICAST_ACK_NS (5 * RRCP_MS) /* longest delay of an acknowledgement */

/* Returns the peer's stream, or creates it; peer NULL: our own. NULL: no memory. */
struct rrcp_unicast *rrcp_unicast_open(struct rrcp *r, struct rrcp_peer *peer);
void rrcp_unicast_close(struct rrcp *r, struct rrcp_peer *peer);
/* The list of streams that have packets to send. */
void rrcp_unicast_ready_add(struct rrcp *r, struct rrcp_unicast *u);
void rrcp_unicast_ready_remove(struct rrcp *r, struct rrcp_unicast *u);
/* Drops the packets that wait for an earlier one. */
void rrcp_unicast_drop_received(struct rrcp *r, struct rrcp_unicast *u);
/* Queues GAP(UNICAST_RESET): the stream began anew, messages may be lost. */
/* `is_theirs`: the stream of the peer, not ours. */
void rrcp_unicast_tell_reset(struct rrcp *r, struct rrcp_peer *peer, bool is_theirs);

static inline struct unicast_sent *rrcp_unicast_slot(struct rrcp_unicast *u, uint64_t useq)
{
    return &u->sent[useq & (UNICAST_WINDOW - 1)];
}

#endif
