/* sender.h - messages into packets, and the window of packets kept for repair. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_SENDER_H
#define RRCP_SENDER_H

#include "private.h"

int rrcp_sender_init(struct rrcp *r);
void rrcp_sender_fini(struct rrcp *r);
void rrcp_sender_close_packet(struct rrcp *r); /* the open one, if any */
/* The next data packet that may go now, or RRCP_BUFFER_NONE. */
uint32_t rrcp_sender_output(struct rrcp *r);
void rrcp_sender_tick(struct rrcp *r);
uint64_t rrcp_sender_deadline(const struct rrcp *r);
/* The window's slot of a held packet, or NULL. */
struct sent_slot *rrcp_sender_slot(struct rrcp *r, uint64_t seq);
/* Events: submit works again. */
void rrcp_sender_ready(struct rrcp *r);
int rrcp_sender_submit(struct rrcp *r, uint16_t port, const struct rrcp_msg *msg);
/* `held` of the header of a packet about to leave. */
uint32_t rrcp_sender_held(const struct rrcp *r, uint64_t seq);

#endif
