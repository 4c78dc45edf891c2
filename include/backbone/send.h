/* backbone/send.h - where a message goes, and how an engine sends it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BACKBONE_SEND_H
#define BACKBONE_SEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BACKBONE_TOPICS_MAX 256u /* that can be wanted one by one */

enum backbone_path {
    BACKBONE_PATH_MULTICAST, /* to every subscriber of `topic` */
    BACKBONE_PATH_DIRECTED,  /* multicast stream, read by one node (port 0) or user only */
    BACKBONE_PATH_UNICAST,   /* acknowledged stream to (session, port) */
};

struct backbone_target {
    uint8_t path; /* enum backbone_path */
    uint16_t port;
    uint32_t topic;
    uint64_t session; /* DIRECTED and UNICAST */
};

/*
 * How an engine sends: it asks for room in the outbound ring, writes the message there and commits
 * it. One reservation is open at a time. These are the only calls an engine makes; they must not
 * call back into it.
 */
struct backbone_send {
    void *context;
    /* Room for `length` bytes to `target`, or NULL when the ring has none now. */
    uint8_t *(*reserve)(void *context, const struct backbone_target *target, size_t length);
    /* Sends the first `length` bytes of the room; 0 gives the room back unsent. */
    void (*commit)(void *context, size_t length);
    /* How full the outbound ring is, 0 empty .. 256 full. */
    unsigned (*fill)(void *context);
    /* These topics are wanted from now on, and no others; NULL, or more than BACKBONE_TOPICS_MAX:
     * everything. What is sent afterwards is behind it. False: the ring has no room now. NULL, the
     * function: everything comes always. */
    bool (*want)(void *context, const uint32_t topics[], uint32_t count);
};

#endif
