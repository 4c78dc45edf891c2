/* nak.h - which packets to ask for, and when. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_NAK_H
#define RRCP_NAK_H

#include "private.h"

void rrcp_nak_schedule(struct rrcp *r, struct rrcp_peer *peer, struct rrcp_slot *slot);
void rrcp_nak_tick(struct rrcp *r, struct rrcp_peer *peer);
void rrcp_ncf_input(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view);

#endif
