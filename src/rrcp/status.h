/* status.h - STATUS, round trips, flow control, congestion control. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_STATUS_H
#define RRCP_STATUS_H

#include "private.h"

void rrcp_status_input(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view);
void rrcp_status_tick(struct rrcp *r, struct rrcp_peer *peer);
void rrcp_status_data(struct rrcp *r,
                      struct rrcp_peer *peer); /* a data packet of the peer arrived */
void rrcp_rtt_sample(struct rrcp *r, struct rrcp_peer *peer, uint64_t rtt_ns);
void rrcp_flow_look(struct rrcp *r); /* finds the slowest active receiver */
void rrcp_rate_tick(struct rrcp *r); /* congestion control */

#endif
