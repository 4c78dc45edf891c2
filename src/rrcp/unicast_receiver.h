/* unicast_receiver.h - the receiving half of a unicast stream. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_UNICAST_RECEIVER_H
#define RRCP_UNICAST_RECEIVER_H

#include "private.h"

void rrcp_udata_input(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view);
void rrcp_unicast_receiver_tick(struct rrcp *r, struct rrcp_peer *peer);

#endif
