/* far_impl.h - the tables of relay/far.h, for its own files. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FAR_IMPL_H
#define FAR_IMPL_H

#include "relay/far.h"

enum {
    FAR_RESTING_MAX = 256, /* sessions that nobody brings, whose place is still known */
    FAR_DROPS_MAX = 64,
};

/* So long nothing but repeats comes: then what was taken for its place is wrong. */
#define FAR_REPEATS_NS 10000000000ull
/* No session is behind by so many packets: a relay has lied about its place. */
#define FAR_BEHIND_MAX (1ull << 32)

struct far_relay {
    uint64_t session; /* 0: free */
    uint64_t id;      /* 0: it has not said its routes yet */
    uint32_t services;
    bool is_listing; /* a list of all that it carries has begun */
};

/* One relay's route of one session. */
struct far_offer {
    uint64_t relay; /* key of by_number, with `number`; 0: none */
    uint64_t number;
    uint64_t weight;
    uint8_t hops;
    uint8_t state; /* enum relay_route_state: UP, CLAIM */
    bool is_seen;  /* in the full list that is being read */
};

enum far_told { FAR_TOLD_NOTHING, FAR_TOLD_NATIVE, FAR_TOLD_UP };

struct far_session {
    uint64_t session;
    char name[RELAY_NAME_MAX];
    uint8_t name_length;
    bool is_native;
    bool was_native; /* this network is its own: no relay brings it back here */
    uint8_t told;    /* enum far_told */
    bool wants_info;
    bool is_dirty;
    uint8_t down_reason;
    uint8_t gap_reason; /* a GAP of its relay's own stream, to be told */
    bool has_reset;     /* the same of unicast, in either direction */
    uint64_t gap_count;
    uint64_t via; /* told UP: the relay that brings it */
    uint64_t via_number;
    uint64_t last_seq;   /* of its multicast stream, given out */
    uint64_t floor_seq;  /* given out before another relay brought it: not again */
    uint64_t repeats_ns; /* since when only such come, or that was told; 0: none do */
    struct far_offer offers[RELAY_RELAYS_MAX]; /* by the place of the relay */
    struct far_session *next_dirty;
    int index; /* in `all` */
};

struct far_drop {
    uint64_t session;
    uint16_t port;
    uint64_t count;
};

struct md_table;

struct relay_far {
    uint64_t session;
    bool is_relay;
    struct far_relay relays[RELAY_RELAYS_MAX];
    struct md_table *sessions;  /* to struct far_session */
    struct md_table *by_number; /* of an offer that is UP, to struct far_session */
    struct far_session **all;
    int count, size;
    int behind; /* of them those that a relay offers */
    int native; /* and those heard directly */
    struct far_session *dirty, *dirty_end;
    struct far_session *last; /* found last by number */
    uint64_t last_relay, last_number;
    struct far_drop drops[FAR_DROPS_MAX];
    int drop_count, drop_next;
    bool tells_drops;
    struct relay_event out;
    bool has_out, is_out_first;
    struct relay_far_counters counters;
};

/* The offer that is best, of those UP; `with_claims`: of all. NULL: none. */
const struct far_offer *far_best(const struct far_session *s, bool with_claims);

struct far_session *far_session_find(const struct relay_far *far, uint64_t session);
struct far_session *far_session_make(struct relay_far *far, uint64_t session);
bool far_is_offered(const struct far_session *s);
/* To be told of again, or to be forgotten. */
void far_touch(struct relay_far *far, struct far_session *s);
/* Frees it, if nobody hears of it any more and nothing of it has to be remembered. */
void far_session_rest(struct relay_far *far, struct far_session *s);
void far_offer_end(struct relay_far *far, struct far_session *s, int place, uint8_t reason);
int far_relay_place(const struct relay_far *far, uint64_t session);

/* ROUTES of a relay. */
void far_routes(struct relay_far *far, uint64_t relay, const struct relay_message *routes);
void far_relay_gone(struct relay_far *far, uint64_t relay, uint8_t reason);

#endif
