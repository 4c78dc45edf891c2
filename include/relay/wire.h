/* relay/wire.h - what relays and the nodes behind them say to each other, byte by byte. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RELAY_WIRE_H
#define RELAY_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Messages of the reliable multicast from a port that no user has. docs/design/relay.md has the
 * tables. Numbers are big endian.
 *
 *  STREAM  0 u8 1 << 4 | hops   1 u8 0   2 u16 source port   4 u32 number of the origin
 *          8 u64 seq of the origin   16 message
 *  TO      0 u8 2 << 4 | hops   1 u8 flags   2 u16 source port   4 u32 topic, or 0   8 u64 seq
 *         16 u64 origin   24 u64 target   32 message
 *  DROPPED 0 u8 3 << 4 | hops   1 u8 0   2 u16 port of the sender   4 u32 count   8 u64 0
 *         16 u64 session that was not reached   24 u64 session of the sender
 *  ROUTES  0 u8 4 << 4   1 u8 flags   2 u16 n   4 u32 digest of the services   8 u64 relay's id
 *         16 n routes: u32 number, u8 hops, u8 state, u8 reason, u8 length of the name, u64
 *            session, u64 weight, name
 *  NOTICE  0 u8 5 << 4   1 u8 type   2 u16 source port   4 u32 number   8 u64 first   16 u64 last
 *         24 u32 count   28 u8 reason   29 u24 0
 *  RESET   0 u8 6 << 4 | hops   1 u8 0   2 u16 0   4 u32 0   8 u64 0
 *         16 u64 session whose messages may be lost, 0: any   24 u64 session that they were for
 */
#define RELAY_PORT     65535u /* the source port of all of these; users have 1 to 65534 */
#define RELAY_HOPS_MAX 4
/* For relays alone: on a mesh only they want it. */
#define RELAY_TOPIC 0xfffffffdu
/* Of all kinds, for ever: older releases drop them since there is no version in its upper bits. */
#define RELAY_BYTE_1_MAX      15u
#define RELAY_NAME_MAX        64
#define RELAY_STREAM_BYTES    16u
#define RELAY_TO_BYTES        32u
#define RELAY_NOTICE_BYTES    32u
#define RELAY_ROUTES_BYTES    16u
#define RELAY_ROUTE_BYTES     24u
#define RELAY_ROUTES_MAX      512                /* origins that a relay carries onto a network */
#define RELAY_ID_MAX          ((1ull << 62) - 1) /* so that four of them can be added */
#define RELAY_ROUTES_SIZE_MAX 8192u              /* of one part */

enum relay_kind {
    RELAY_STREAM = 1,  /* a message of an origin's multicast stream */
    RELAY_TO = 2,      /* a message for one node behind a relay, or from one */
    RELAY_DROPPED = 3, /* messages to a node behind a relay were dropped there */
    RELAY_ROUTES = 4,  /* which origins a relay carries onto this network */
    RELAY_NOTICE = 5,  /* of an origin: messages are lost, a user has ended */
    RELAY_RESET = 6,   /* unicast between two nodes may be lost, in either direction */
};

#define RELAY_FLAG_UNICAST 0x01u /* TO: of the origin's unicast stream */
#define RELAY_FLAG_TOPIC   0x02u /* TO: `number` is the topic; it came on RELAY_TOPIC */
#define RELAY_FLAG_FIRST   0x01u /* ROUTES: a list of all there are begins */
#define RELAY_FLAG_LAST    0x02u /* it ends: what was in none of its parts is carried no more */
#define RELAY_FLAG_FULL    (RELAY_FLAG_FIRST | RELAY_FLAG_LAST) /* it is one part */

enum relay_route_state {
    RELAY_ROUTE_UP = 1,
    RELAY_ROUTE_DOWN = 2,
    RELAY_ROUTE_CLAIM = 3, /* it will be carried, if nobody has a better right */
};

enum relay_notice { RELAY_NOTICE_GAP = 1, RELAY_NOTICE_USER_DOWN = 2 };

/* Members that a kind does not have are 0. */
struct relay_message {
    uint8_t kind; /* enum relay_kind */
    uint8_t hops;
    uint8_t flags;
    uint8_t notice; /* enum relay_notice */
    uint8_t reason;
    uint16_t port;
    uint16_t count;    /* ROUTES */
    uint32_t number;   /* of the origin; TO with RELAY_FLAG_TOPIC: the topic */
    uint32_t lost;     /* NOTICE, DROPPED: how many */
    uint32_t services; /* ROUTES: a digest of the names that the relay forwards */
    uint64_t seq, last;
    uint64_t origin, target;
    uint64_t id;
    const uint8_t *bytes; /* STREAM, TO: the message; ROUTES: the routes */
    size_t length;
};

struct relay_route {
    uint32_t number; /* 0 with CLAIM */
    uint8_t hops;
    uint8_t state; /* enum relay_route_state */
    uint8_t reason;
    uint8_t name_length;
    uint64_t session;
    uint64_t weight; /* the sum of the ids of the relays on the way, this one included */
    const char *name;
};

/* False: none of these, or not whole. All routes of ROUTES are looked at. */
bool relay_decode(const uint8_t *bytes, size_t length, struct relay_message *out);

/* Of ROUTES: the next one; *at begins with 0. False: no more. */
bool relay_route_next(const struct relay_message *routes, size_t *at, struct relay_route *out);

/* The head of a message: what stands before `bytes`. Returns its length, 32 at most. */
size_t relay_encode(const struct relay_message *message, uint8_t out[RELAY_TO_BYTES]);

/* Returns the bytes written, RELAY_ROUTE_BYTES and the name. */
size_t relay_route_encode(const struct relay_route *route, uint8_t *out);

#endif
