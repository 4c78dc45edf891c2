/* peers.h - birth and death of peers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_PEERS_H
#define RRCP_PEERS_H

#include "private.h"

int rrcp_peers_init(struct rrcp *r);
void rrcp_peers_fini(struct rrcp *r);
/* Creates a peer from the beacon by which it has proved its address, and queues its PEER_UP. NULL:
 * dropped. */
struct rrcp_peer *rrcp_peer_meet(struct rrcp *r, const struct packet_view *view,
                                 const struct rrcp_arrival *arrival);
void rrcp_peer_lose(struct rrcp *r, struct rrcp_peer *peer, enum backbone_down_reason reason);
void rrcp_peer_free(struct rrcp *r, struct rrcp_peer *peer); /* the user took its PEER_DOWN */
struct rrcp_tombstone *rrcp_tombstone_find(struct rrcp *r, uint64_t session);

#endif
