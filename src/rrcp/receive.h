/* receive.h - puts one sender's packets in order. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_RECEIVE_H
#define RRCP_RECEIVE_H

#include "nak.h"
#include "private.h"

void rrcp_receive_data(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view);
/* The sender claims to have sent all packets below `next_seq`: those not seen are missing. A claim
 * beyond what the window takes draws a challenge and moves nothing. */
void rrcp_receive_announce(struct rrcp *r, struct rrcp_peer *peer, uint64_t next_seq);
/* The same, but the sender has proved that it says so. */
void rrcp_receive_sure(struct rrcp *r, struct rrcp_peer *peer, uint64_t next_seq);
/* The sender has proved that its next packet is `next`, below what was taken for delivered: forged
 * packets were. Forgets what is here, queues GAP(REJOIN) and goes on there. */
void rrcp_receive_rejoin(struct rrcp *r, struct rrcp_peer *peer, uint64_t next);
/* Everything of the sender lay below `next` for DOUBT_BELOW_NS. */
void rrcp_receive_below_tick(struct rrcp *r, struct rrcp_peer *peer);
/* The sender no longer holds packets below `trail`: gives up those missing. */
void rrcp_receive_trail(struct rrcp *r, struct rrcp_peer *peer, uint64_t trail);
/* Delivers all packets that are in order. */
/* The sender says that it did not send us `first` to before `end`, since nothing in them is for us.
 */
void rrcp_receive_skip(struct rrcp *r, struct rrcp_peer *peer, uint64_t first, uint64_t end);
void rrcp_receive_drain(struct rrcp *r, struct rrcp_peer *peer);
/* Delivers all packets that are here, with gaps between. No packet is missing afterwards. */
void rrcp_receive_finish(struct rrcp *r, struct rrcp_peer *peer, enum backbone_gap_reason reason);
void rrcp_receive_close(struct rrcp *r, struct rrcp_peer *peer); /* frees the window */
void rrcp_receive_gap(struct rrcp *r, struct rrcp_peer *peer);   /* queues the pending gap */

static inline struct rrcp_nak rrcp_receive_nak(struct rrcp *r, const struct rrcp_peer *peer)
{
    return (struct rrcp_nak){
        .config = &r->config,
        .prng = &r->prng,
        .now_ns = r->now_ns,
        .input_empty_ns = r->input_empty_ns,
        .rtt_ns = peer->rtt_ns,
        .rtt_var_ns = peer->rtt_var_ns,
        .peers = r->live_count,
        .is_leaving = peer->beacon_state & BEACON_STATE_LEAVING,
    };
}

#endif
