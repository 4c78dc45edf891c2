/* deliver.h - the queue of events, and reassembly. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_DELIVER_H
#define RRCP_DELIVER_H

#include "private.h"

int rrcp_deliver_init(struct rrcp *r);
void rrcp_deliver_fini(struct rrcp *r);
/* Adds an item at the tail. The queue has room for all that can happen: see deliver.c. */
struct rrcp_item *rrcp_deliver_add(struct rrcp *r, uint16_t kind, uint32_t peer, uint64_t session);
void rrcp_deliver_packet(struct rrcp *r, uint32_t peer, uint64_t session, enum rrcp_stream stream,
                         const uint8_t *bytes, uint32_t end, uint64_t seq, uint32_t buffer);
/* False: `total` exceeds a limit, or no memory. */
bool rrcp_assembly_begin(struct rrcp *r, struct rrcp_assembly *a, uint32_t total);
void rrcp_assembly_give(struct rrcp *r, struct rrcp_assembly *assembly);

#endif
