/* unicast.h - the unicast stream to and from one peer. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_UNICAST_H
#define RRCP_UNICAST_H

#include "private.h"

#define USEQ_BITS 48
#define USEQ_MASK ((1ull << USEQ_BITS) - 1)
#define UNICAST_ACK_NS                                                                             \
    (5 * RRCP_MS) /* an acknowledgement waits so long for more to acknowledge                      \
                   */

/* The stream of a peer, made if need be; peer NULL: messages to ourselves. NULL: no memory. */
struct rrcp_unicast *rrcp_unicast_open(struct rrcp *r, struct rrcp_peer *peer);
void rrcp_unicast_close(struct rrcp *r, struct rrcp_peer *peer);
/* The list of streams with something to send. */
void rrcp_unicast_ready_add(struct rrcp *r, struct rrcp_unicast *u);
void rrcp_unicast_ready_remove(struct rrcp *r, struct rrcp_unicast *u);
/* Packets that came before those they must follow. */
void rrcp_unicast_drop_received(struct rrcp *r, struct rrcp_unicast *u);
/* Users learn that the stream began anew: messages may be lost. */
void rrcp_unicast_tell_reset(struct rrcp *r, struct rrcp_peer *peer);

static inline struct unicast_sent *rrcp_unicast_slot(struct rrcp_unicast *u, uint64_t useq)
{
    return &u->sent[useq & (UNICAST_WINDOW - 1)];
}

#endif
