/* unicast_queue.h - the queue of messages that wait for room in a unicast window. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_UNICAST_QUEUE_H
#define RRCP_UNICAST_QUEUE_H

#include "private.h"

#define UNICAST_LANES    512u
#define UNICAST_MESSAGES 131072u /* without a lane */
#define LANE_MESSAGES    32768u  /* between two nodes, one of them behind a relay */
#define LANE_BYTES       2048u   /* of its own for each lane, when the others leave nothing */
#define WISHES_BYTES     4096u
#define UNICAST_TURN     1400
#define SEGMENTS_SPARE   128u

/* Returns the lane of this key; keys may share one. NULL: no memory. */
struct unicast_lane *rrcp_unicast_lane(struct rrcp *r, struct rrcp_unicast *u, uint64_t key);
/* Returns the memory that a lane needs for `size` bytes more. */
uint64_t rrcp_unicast_memory(const struct unicast_lane *lane, uint64_t size);
void rrcp_unicast_segments_free(struct rrcp *r); /* the spare ones */
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
