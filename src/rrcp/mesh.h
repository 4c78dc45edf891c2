/* mesh.h - the group as a list of peers: their addresses, probes, introduction. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_MESH_H
#define RRCP_MESH_H

#include "private.h"

void rrcp_mesh_init(struct rrcp *r);
/* The next address that gets a probe now; NULL: no more. */
const struct rrcp_address *rrcp_mesh_probe(struct rrcp *r);

/* Writes our own address behind a beacon of ours, at `tlv`. Returns the bytes written. */
uint32_t rrcp_mesh_write_self(const struct rrcp *r, struct packet_beacon *p, uint8_t *tlv);
/* Likewise our pass, if there are keys. */
uint32_t rrcp_mesh_write_pass(const struct rrcp *r, struct packet_beacon *p, uint8_t *tlv);
/* Writes as many addresses of live peers as fit before `end`; the next beacon goes on behind them.
 */
uint32_t rrcp_mesh_write_members(struct rrcp *r, struct packet_beacon *p, uint8_t *tlv,
                                 const uint8_t *end);

/* True: the address is in the book, or the operator names it. */
bool rrcp_mesh_knows(const struct rrcp *r, const struct rrcp_arrival *arrival);
/* True: a session without a peer may be asked, or become a peer. Else the packet is counted, and
 * noted if a holder of the key sent it. */
bool rrcp_mesh_admits(struct rrcp *r, const struct packet_view *view,
                      const struct rrcp_arrival *arrival);
/* False: a node sends this to addresses that are no peers of it, too. So a peer that sends nothing
 * else may not have us, and what it sends to its group does not come here. */
bool rrcp_mesh_shows_life(const struct rrcp *r, const struct packet_view *view);
/* Takes the addresses that a peer's beacon names. */
void rrcp_mesh_learn(struct rrcp *r, const struct packet_view *view);

void rrcp_mesh_met(struct rrcp *r, const struct rrcp_peer *peer);
void rrcp_mesh_lost(struct rrcp *r, const struct rrcp_peer *peer);

#endif
