/* control.h - the queue of packets that are not data. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_CONTROL_H
#define RRCP_CONTROL_H

#include "private.h"

/* A packet with the header of `type`, to be filled and queued; NULL: no room. */
void *rrcp_control_make(struct rrcp *r, enum packet_type type, uint32_t *buffer);
/* Queue it; peer NULL: to the group. */
void rrcp_control_send(struct rrcp *r, uint32_t buffer, uint32_t length,
                       const struct rrcp_peer *peer);

#endif
