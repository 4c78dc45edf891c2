/* control.h - the queue of control packets. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_CONTROL_H
#define RRCP_CONTROL_H

#include "private.h"

/* Makes a packet with the header of `type` for the caller to fill and queue. NULL: no room. */
void *rrcp_control_make(struct rrcp *r, enum packet_type type, uint32_t *buffer);
/* Queues the packet for one address, on one path. */
void rrcp_control_send_to(struct rrcp *r, uint32_t buffer, uint32_t length, uint8_t path,
                          const struct rrcp_address *to);
/* Queues the packet for `peer`; NULL: for the group. */
void rrcp_control_send(struct rrcp *r, uint32_t buffer, uint32_t length,
                       const struct rrcp_peer *peer);

#endif
