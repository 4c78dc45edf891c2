/* node_far.h - nodes behind relays, between the engine of a node and its users. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NODE_FAR_H
#define NODE_FAR_H

#include "relay/far.h"
#include "rrcp/rrcp.h"

enum { NODE_RAW_MAX = 512 };

struct node_far {
    struct relay_far *far;
    /* Events of the engine that have still to go through `far`. */
    struct backbone_event raw[NODE_RAW_MAX];
    int next, count;
    bool has_more;    /* of the one that went in last */
    bool is_busy;     /* there is something to look at besides the engine */
    uint8_t *message; /* one for a node behind a relay, with its head */
    size_t size;
    uint32_t message_max;
};

int node_far_open(struct node_far *f, const struct rrcp *engine, uint32_t message_max);
void node_far_close(struct node_far *f);
int node_far_event(struct node_far *f, struct rrcp *engine, struct backbone_event out[], int max);
int node_far_submit(struct node_far *f, struct rrcp *engine, uint64_t now_ns, int port,
                    const struct rrcp_msg *msg);

#endif
