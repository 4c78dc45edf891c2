/* unicast_sender.h - the sending half of a unicast stream. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_UNICAST_SENDER_H
#define RRCP_UNICAST_SENDER_H

#include "private.h"

/* Puts what our users want into the stream, unless it is there. False: no room. */
bool rrcp_unicast_tell_interest(struct rrcp *r, struct rrcp_peer *peer);
int rrcp_unicast_submit(struct rrcp *r, uint16_t port, const struct rrcp_msg *msg);
/* The peer has all packets before `useq`. */
void rrcp_unicast_acknowledge(struct rrcp *r, struct rrcp_peer *peer, struct rrcp_unicast *u,
                              uint64_t useq);
void rrcp_uack_input(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view);
void rrcp_unicast_sender_tick(struct rrcp *r, struct rrcp_peer *peer);
/* Returns the next unicast packet that may leave, and its peer. */
uint32_t rrcp_unicast_output(struct rrcp *r, const struct rrcp_peer **to);
void rrcp_unicast_self(struct rrcp *r); /* messages to ourselves become events */

#endif
