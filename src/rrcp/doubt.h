/* doubt.h - what follows when a peer answers a challenge, and when it does not. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_DOUBT_H
#define RRCP_DOUBT_H

#include "private.h"

/* Sends the challenge that is due, or ends the round: the peer did not answer. */
void rrcp_doubt_tick(struct rrcp *r, struct rrcp_peer *peer);
/* The peer's beacon echoes the nonce of the present round: what it says counts. It may be down
 * afterwards. */
void rrcp_doubt_answered(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view);
/* A session with the name of a live peer has proved its address. The peer is asked whether it
 * lives. */
void rrcp_doubt_rival(struct rrcp *r, struct rrcp_peer *peer, uint64_t session,
                      const struct rrcp_arrival *arrival);

#endif
