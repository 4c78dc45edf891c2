/* request.h - sends NAKs for missing packets, receives NCFs. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_REQUEST_H
#define RRCP_REQUEST_H

#include "private.h"

/* Runs when the window's timer is due. */
void rrcp_request_tick(struct rrcp *r, struct rrcp_peer *peer);
void rrcp_ncf_input(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view);

#endif
