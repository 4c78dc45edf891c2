/* challenge.h - nonces: who answers one can be reached where its packets say. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_CHALLENGE_H
#define RRCP_CHALLENGE_H

#include "private.h"

#define STRANGER_ROUND 0 /* of sessions without a peer; rounds of a peer begin at 1 */

void rrcp_challenge_init(struct rrcp *r);
/* Sends a nonce to `address`. */
void rrcp_challenge_send(struct rrcp *r, uint64_t session, uint8_t path,
                         const struct rrcp_address *address, uint32_t round);
/* The same for a session that is not known on this path, within the limits for strangers. */
void rrcp_challenge_stranger(struct rrcp *r, uint64_t session, const struct rrcp_arrival *arrival);
/* True: the beacon echoes our nonce for its session, this path, its address and this round. */
bool rrcp_challenge_holds(const struct rrcp *r, const struct packet_view *view,
                          const struct rrcp_arrival *arrival, uint32_t round);
/* False: the budgets for answers to challenges are used up. */
bool rrcp_answer_pay(struct rrcp *r, const struct rrcp_address *from);
/* False: the budgets for session keys of strangers are used up. */
bool rrcp_key_pay(struct rrcp *r, const struct rrcp_address *from, enum key_class class);
/* False: so many new sessions came from this address lately. */
bool rrcp_creation_pay(struct rrcp *r, const struct rrcp_address *from);
/* Begins a round of challenges to a peer, or adds a reason to the present round. */
void rrcp_doubt_raise(struct rrcp *r, struct rrcp_peer *peer, enum doubt_why why);

#endif
