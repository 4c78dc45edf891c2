/* auth.h - the authentication trailer and the replay windows. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_AUTH_H
#define RRCP_AUTH_H

#include "private.h"

void rrcp_auth_sign(struct rrcp *r, uint8_t *bytes, uint32_t length);
/* -1: valid. Else an enum rrcp_drop. */
int rrcp_auth_verify(struct rrcp *r, const struct packet_view *view);
int rrcp_auth_replay(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view);

#endif
