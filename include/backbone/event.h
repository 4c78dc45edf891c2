/* backbone/event.h - what the backbone brings: messages, losses, nodes and users that come and go.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BACKBONE_EVENT_H
#define BACKBONE_EVENT_H

#include <stdint.h>

/*
 * One event, the same from the reliable multicast engine (rrcp), through an attachment (attach), to
 * the engines of market data (rrmp). The numbers of the first seven, and of DENIED, are those of
 * the records in the inbound ring.
 */
enum backbone_event_type {
    BACKBONE_MESSAGE = 1,
    BACKBONE_GAP = 2,        /* messages of `session` are lost for good: seq to last, count packets;
                                reason: enum backbone_gap_reason */
    BACKBONE_PEER_UP = 3,    /* the node `session` is heard; bytes: its name, if known */
    BACKBONE_PEER_DOWN = 4,  /* the node is gone, with all its users; enum backbone_down_reason */
    BACKBONE_USER_DOWN = 5,  /* (session, src_port) has ended; enum backbone_user_reason */
    BACKBONE_TX_DROPPED = 6, /* `count` messages to `session` were dropped; dst_port: the sender */
    BACKBONE_PEER_INFO = 7,  /* bytes: the name of the node `session` */
    BACKBONE_TX_READY = 8,   /* from rrcp only: rrcp_submit() returned full, and works again */
    /* From an attachment only. */
    BACKBONE_OVERRUN = 9,   /* its ring was lapped: `count` bytes skipped; GAPs follow */
    BACKBONE_ATTACHED = 10, /* it is (session, dst_port) from now on */
    BACKBONE_DETACHED = 11, /* its daemon is gone: all peers are, what was not sent is lost */
    BACKBONE_DENIED = 12,   /* rrcpd dropped messages of dst_port that it may not send, `count` by
                               now; bytes: what the last one was, for people */
};

enum backbone_gap_reason {
    BACKBONE_GAP_NOT_HELD = 1,      /* the sender no longer holds it */
    BACKBONE_GAP_TIMEOUT = 2,       /* no request was answered in time */
    BACKBONE_GAP_TOO_LARGE = 3,     /* more than nmissing packets in a row */
    BACKBONE_GAP_POOL = 4,          /* no room in the pool or the window */
    BACKBONE_GAP_OVERRUN = 5,       /* from readers of the inbound ring, never from rrcp */
    BACKBONE_GAP_REJOIN = 6,        /* the peer was down and is back */
    BACKBONE_GAP_UNICAST_RESET = 7, /* the unicast stream began anew, messages may be lost */
};

enum backbone_down_reason {
    BACKBONE_DOWN_TIMEOUT = 1,
    BACKBONE_DOWN_BYE = 2,
    BACKBONE_DOWN_REPLACED = 3, /* the node restarted: same name, new session */
};

enum backbone_user_reason {
    BACKBONE_USER_DETACHED = 1,
    BACKBONE_USER_DIED = 2,
    BACKBONE_USER_VIOLATED = 3, /* wrote an invalid record into its ring */
};

#define BACKBONE_FLAG_UNICAST  0x01u /* of the unicast stream (MESSAGE, GAP) */
#define BACKBONE_FLAG_DIRECTED 0x02u /* for this node only */
#define BACKBONE_FLAG_LOCAL    0x04u /* sent by a user of this same node; never from rrcp */
#define BACKBONE_FLAG_FILTERS                                                                      \
    0x08u /* ATTACHED: nodes leave out the topics that nobody here wants */

/* Unused members are 0. The giver says how long the bytes stay. */
struct backbone_event {
    uint8_t type; /* enum backbone_event_type */
    uint8_t reason;
    uint8_t flags;
    uint16_t src_port;
    uint16_t dst_port; /* 0: every user of the node that wants the topic */
    uint32_t topic;
    uint32_t length;
    const uint8_t *bytes;
    uint64_t session; /* the sender's */
    uint64_t seq;     /* MESSAGE: of the packet that ended it; GAP: first packet lost */
    uint64_t last;    /* GAP: last packet lost */
    uint64_t count;
    uint64_t rx_ns; /* when the packet was read from the network, monotonic */
};

#endif
