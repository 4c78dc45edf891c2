/* relay/far.h - the nodes behind relays, as a node of this network sees them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RELAY_FAR_H
#define RELAY_FAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backbone/event.h"
#include "relay/wire.h"

/*
 * It stands between the reliable multicast engine and the users of a node. Events of the engine go
 * in; those that come out are the same, but that what relays sent has become what the nodes behind
 * them sent: messages of their sessions and ports, PEER_UP and PEER_DOWN of them, their GAPs. Users
 * see no difference. A session that is heard directly is never taken through a relay; else the
 * relay with the fewest hops brings it, of these the one whose way has the lowest weight, and only
 * that one.
 *
 *      more = relay_far_take(far, &event, &out)     an event of the engine
 *      while (more) {
 *          use out;
 *          more = relay_far_take(far, NULL, &out);
 *      }
 *
 * Names in events live until the next event goes in. Allocates when a node comes, never for a
 * message.
 */
struct relay_far;

enum {
    RELAY_RELAYS_MAX = 32,    /* on one network, heard by a node */
    RELAY_SESSIONS_MAX = 512, /* behind all of them */
    RELAY_NODES_MAX = 1099,   /* with those heard directly: rows that users have for them */
};

struct relay_event {
    struct backbone_event event;
    /* At a relay: a message that is to go on, to this session; 0: it is for this node. */
    uint64_t target;
    uint64_t weight; /* PEER_UP: of its way */
    uint8_t hops;    /* that it came over; 0: heard directly */
    uint8_t kind;    /* enum relay_kind; 0: it did not come through a relay */
};

struct relay_far_counters {
    uint64_t messages; /* of nodes behind relays, given to users */
    uint64_t repeated; /* dropped: the node was heard this far by another relay */
    uint64_t others;   /* dropped: of a relay that does not bring this node now, or of none */
    uint64_t malformed;
    uint64_t too_long;    /* to nodes behind relays: no room for the relay's head */
    uint64_t full;        /* nodes not taken: too many */
    uint64_t relays_full; /* words of relays that were not taken: too many */
    uint64_t sessions_now, relays_now;
};

/* `is_relay`: messages for other nodes come out, too. */
int relay_far_create(uint64_t session, bool is_relay, struct relay_far **out);
void relay_far_destroy(struct relay_far *far); /* NULL is allowed */

bool relay_far_take(struct relay_far *far, const struct backbone_event *in,
                    struct relay_event *out);

struct relay_far_place {
    bool is_native;  /* heard directly */
    bool was_native; /* and before: perhaps it still hears us */
    uint64_t via;    /* else through this relay */
    uint8_t hops;
};

/* False: this session is not heard. */
bool relay_far_find(const struct relay_far *far, uint64_t session, struct relay_far_place *out);

/* Node number `index` that is heard, as its PEER_UP; a session of 0: none there. False: no more. */
bool relay_far_at(const struct relay_far *far, int index, struct relay_event *out);

/* Of the relays that are heard; 0: there are none. */
uint64_t relay_far_highest_id(const struct relay_far *far);

/* A node that says it is a relay. */
bool relay_far_is_relay(const struct relay_far *far, uint64_t session);

/* The best right that others have to bring a session onto this network, claims included. */
struct relay_far_right {
    uint8_t hops; /* 0: it is heard directly, or was: it is of this network */
    uint64_t weight, relay;
    uint32_t services;
};
bool relay_far_right(const struct relay_far *far, uint64_t session, struct relay_far_right *out);

/* The engine dropped a message of the user `port` to `session`, which is behind a relay: told when
 * its TX_DROPPED comes. */
void relay_far_dropped(struct relay_far *far, uint64_t session, uint16_t port);

/* With the head of a relay the message is longer than may be: counted, and told at once. */
void relay_far_too_long(struct relay_far *far, uint64_t session, uint16_t port);

/* There is something to tell: relay_far_take() with NULL gives it. */
bool relay_far_has_more(const struct relay_far *far);

const struct relay_far_counters *relay_far_counters(const struct relay_far *far);

/* NULL, or the invariant that does not hold. */
const char *relay_far_check(const struct relay_far *far);

#endif
