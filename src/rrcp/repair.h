/* repair.h - requests in, repairs out. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_REPAIR_H
#define RRCP_REPAIR_H

#include "private.h"

void rrcp_nak_input(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view);
/* The next repair that may go now: a buffer (one reference to the caller) and whereto (NULL: the
 * group); RRCP_BUFFER_NONE: none. */
uint32_t rrcp_repair_output(struct rrcp *r, const struct rrcp_peer **to);
uint64_t rrcp_repair_deadline(const struct rrcp *r);

#endif
