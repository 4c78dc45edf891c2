/* sender.h - packs messages into packets, and keeps sent packets for repair. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_SENDER_H
#define RRCP_SENDER_H

#include "private.h"

int rrcp_sender_init(struct rrcp *r);
void rrcp_sender_fini(struct rrcp *r);
void rrcp_sender_close_packet(struct rrcp *r); /* if one is open */
/* Returns the next data packet that may leave, or RRCP_BUFFER_NONE. */
uint32_t rrcp_sender_output(struct rrcp *r);
void rrcp_sender_tick(struct rrcp *r);
uint64_t rrcp_sender_deadline(const struct rrcp *r);
/* Returns the slot of a held packet. NULL: not sent yet, or no longer held. */
struct sent_slot *rrcp_sender_slot(struct rrcp *r, uint64_t seq);
/* Queues TX_READY when a user waits for it and submit works again. */
void rrcp_sender_ready(struct rrcp *r);
int rrcp_sender_submit(struct rrcp *r, uint16_t port, const struct rrcp_msg *msg);
/* The field `held` of a packet that is about to leave. */
uint32_t rrcp_sender_held(const struct rrcp *r, uint64_t seq);

#endif
