/* rrmp/backbone.h - what an RRMP engine sees of the backbone: messages, notices, a way to send. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRMP_BACKBONE_H
#define RRMP_BACKBONE_H

#include <stddef.h>
#include <stdint.h>

#define RRMP_NEVER UINT64_MAX

/* One message as the reliable multicast delivered it. The bytes are the caller's, private memory
 * (not the shared ring itself), and stay until every event they caused has been taken. */
struct rrmp_message {
    uint64_t session;
    uint16_t src_port;
    uint16_t dst_port; /* 0: every user of this node; set only in directed messages */
    uint32_t topic;    /* 0 in directed messages */
    const uint8_t *bytes;
    size_t length;
};

/* What else the backbone tells, in its place between the messages. */
enum rrmp_notice_kind {
    RRMP_NOTICE_GAP,        /* messages of `session` were lost for good; see `reason` */
    RRMP_NOTICE_OVERRUN,    /* this user's own ring was lapped: any session may be concerned */
    RRMP_NOTICE_PEER_UP,    /* a node is heard */
    RRMP_NOTICE_PEER_DOWN,  /* a node is gone, with all its users */
    RRMP_NOTICE_USER_DOWN,  /* (session, port) has ended; nothing of it follows */
    RRMP_NOTICE_TX_DROPPED, /* something we sent to `session` was dropped */
    RRMP_NOTICE_ATTACHED,   /* we are (session, port) from now on */
    RRMP_NOTICE_DETACHED,   /* our daemon is gone: nothing is known of anybody */
};

/* Reasons of a GAP, as the reliable multicast numbers them; only this one matters here. */
#define RRMP_GAP_UNICAST_RESET 7

struct rrmp_notice {
    enum rrmp_notice_kind kind;
    uint64_t session;
    uint16_t port;
    uint8_t reason;
};

enum rrmp_path {
    RRMP_PATH_MULTICAST, /* to `topic` */
    RRMP_PATH_DIRECTED,  /* multicast stream, read by one node (port 0) or user only */
    RRMP_PATH_UNICAST,   /* unicast stream to (session, port) */
};

struct rrmp_dest {
    enum rrmp_path path;
    uint32_t topic;
    uint64_t session;
    uint16_t port;
};

/*
 * How an engine sends: it asks for room in the outbound ring, writes the message there and commits
 * it. One reservation is open at a time. These are the only calls an engine makes; they must not
 * call back into it.
 */
struct rrmp_send {
    void *context;
    /* Room for `length` bytes, or NULL when the ring has none now. */
    uint8_t *(*reserve)(void *context, size_t length);
    /* Send the first `length` bytes of the room to `dest`; 0 gives the room back unsent. */
    void (*commit)(void *context, const struct rrmp_dest *dest, size_t length);
    /* How full the outbound ring is, 0 empty .. 256 full. */
    unsigned (*fill)(void *context);
};

#endif
