/* window.h - the receive window. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_WINDOW_H
#define RRCP_WINDOW_H

#include "private.h"

void rrcp_window_data(struct rrcp *r, struct rrcp_peer *peer, const struct packet_view *view);
/* Everything below `next_seq` was sent: what of it was not seen is missing. */
void rrcp_window_announce(struct rrcp *r, struct rrcp_peer *peer, uint64_t next_seq);
/* Nothing below `trail` is held any more. */
void rrcp_window_trail(struct rrcp *r, struct rrcp_peer *peer, uint64_t trail);
/* One missing packet will not come. */
void rrcp_window_lose(struct rrcp *r, struct rrcp_peer *peer, uint64_t seq,
                      enum rrcp_gap_reason reason);
/* Deliver what can be. */
void rrcp_window_drain(struct rrcp *r, struct rrcp_peer *peer);
/* Deliver all there is, with gaps for what is not; nothing is missing afterwards. */
void rrcp_window_finish(struct rrcp *r, struct rrcp_peer *peer, enum rrcp_gap_reason reason);
void rrcp_window_close(struct rrcp *r, struct rrcp_peer *peer);
void rrcp_window_gap(struct rrcp *r, struct rrcp_peer *peer); /* tell the pending one */

static inline struct rrcp_slot *rrcp_window_slot(const struct rrcp *r, const struct rrcp_window *w,
                                                 uint64_t seq)
{
    return &w->slots[seq & (r->config.window_packets - 1)];
}

#endif
