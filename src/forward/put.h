/* put.h - what the relay says on a network: into its queue. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PUT_H
#define PUT_H

#include "base/clock.h"
#include "impl.h"

/* No message waits longer for its network: below the half second in which RRMP has an answer about
 * a loss. Then messages are dropped, and told, until those that wait are half as old. */
#define PUT_WAIT_NS (400 * MD_NS_PER_MS)

/* False: no room, or the network is behind. `is_own`: of the relay itself, for which some room is
 * kept. */
bool put_message(struct side *side, const struct rrcp_msg *msg, const struct relay_message *head,
                 bool is_own);

bool put_notice(struct side *side, struct relay_message notice);

/* By unicast to the head's target, heard on `side` directly or through a relay. `event` NULL: the
 * head is all. False: no room, or it is not heard. */
bool put_unicast(const struct forward *f, struct side *side, const struct relay_message *head,
                 const struct backbone_event *event);

/* Hops over one relay more; news of a loss goes the last way, too, with those that it has. */
static inline uint8_t hops_further(uint8_t hops)
{
    return hops < RELAY_HOPS_MAX ? (uint8_t)(hops + 1) : RELAY_HOPS_MAX;
}

/* Tells losses of an origin. False: there is no room to tell them now. */
bool put_lost(struct side *side, struct origin *o);

#endif
