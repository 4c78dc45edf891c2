/* unicast_queue.h - the queue of messages that wait for room in a unicast window. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_UNICAST_QUEUE_H
#define RRCP_UNICAST_QUEUE_H

#include "private.h"

#define UNICAST_LANES_MAX 512u

/* The lane of this key, made if there is none. NULL: no memory, or too many have messages. */
struct unicast_lane *rrcp_unicast_lane(struct rrcp *r, struct rrcp_unicast *u, uint64_t key);
/* Queues a copy. False: no memory, the lane is unchanged. */
bool rrcp_unicast_enqueue(struct rrcp *r, struct rrcp_unicast *u, struct unicast_lane *lane,
                          const struct unicast_record *record, const uint8_t *bytes);
void rrcp_unicast_queue_free(struct rrcp *r, struct rrcp_unicast *u);
/* Drops the rest of a message whose beginning was packed. */
void rrcp_unicast_queue_skip(struct rrcp *r, struct rrcp_unicast *u);
/* Packs as many messages as fit into a fresh packet. Returns its length. */
uint32_t rrcp_unicast_fill(struct rrcp *r, struct rrcp_unicast *u, uint8_t *bytes,
                           uint64_t destination);

#endif
