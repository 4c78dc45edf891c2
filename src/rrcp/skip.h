/* skip.h - tells peers of a mesh what they were not sent. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_SKIP_H
#define RRCP_SKIP_H

#include "private.h"

bool rrcp_skip_before(struct rrcp *r, uint64_t seq);

/* Packet `seq` leaves now. False: SKIPs to those that get it must leave first, and were queued. */
static inline bool rrcp_skip_output(struct rrcp *r, uint64_t seq)
{
    return !r->interest || rrcp_skip_before(r, seq);
}

/* Tells everybody at once what he was not sent. */
void rrcp_skip_flush(struct rrcp *r);
void rrcp_skip_tick(struct rrcp *r);
uint64_t rrcp_skip_deadline(const struct rrcp *r);

/* True: packet `seq` was not sent to the peer since nothing in it was for it. */
bool rrcp_skip_was(const struct rrcp *r, const struct rrcp_peer *peer, uint64_t seq);
/* Tells the peer these numbers, with which the list is empty. */
void rrcp_skip_answer(struct rrcp *r, const struct rrcp_peer *peer, struct range_builder *ranges);

void rrcp_skip_input(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view);

#endif
