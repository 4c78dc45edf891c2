/* repair.h - receives NAKs, sends repairs and NCFs. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_REPAIR_H
#define RRCP_REPAIR_H

#include "private.h"

void rrcp_nak_input(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view);
/* Returns the next repair that may leave, with a reference, or RRCP_BUFFER_NONE. *to: its peer;
 * NULL: the group. */
uint32_t rrcp_repair_output(struct rrcp *r, const struct rrcp_peer **to);
uint64_t rrcp_repair_deadline(const struct rrcp *r);

#endif
