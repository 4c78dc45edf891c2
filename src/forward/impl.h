/* impl.h - the tables of forward/forward.h, for its own files. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IMPL_H
#define IMPL_H

#include "filter.h"
#include "forward/forward.h"
#include "queue.h"

enum {
    ORIGINS_MAX = 2048, /* nodes heard on a side, those remembered included */
    OWED_MAX = 16,
};

enum origin_state {
    ORIGIN_IDLE,  /* not carried: nothing of it is wanted, or another has the better right */
    ORIGIN_CLAIM, /* will be carried, if nobody with a better right answers */
    ORIGIN_CARRY,
};

/* A node that is heard on one side, and may be carried onto the other. */
struct origin {
    uint64_t session;
    int index;
    char name[RELAY_NAME_MAX];
    uint8_t name_length;
    uint8_t hops;    /* over which it is heard */
    uint64_t weight; /* of this way */
    bool is_heard;   /* false: remembered */
    bool is_wanted;  /* it has sent something that is forwarded */
    bool stands_by;  /* somebody else carries it */
    bool is_greeted; /* it has been told, since it came, who is carried to it */
    bool is_full;    /* not carried: too many are */
    uint8_t state;   /* enum origin_state */
    uint32_t number; /* CARRY */
    uint64_t up_ns, claim_ns, gone_ns;
    uint64_t lost, lost_first, lost_last; /* to be told before its next message */
    /* Unicast between it and these sessions may be lost: it is to be told. The first is 0: of all,
     * for there were more. */
    uint64_t owed[OWED_MAX], owed_ns;
    uint8_t owed_count;
    uint8_t owed_hops;
};

/* One of the two networks. */
struct side {
    uint64_t session; /* the relay's own */
    uint32_t message_bytes_max;
    uint64_t peer_timeout_ns;
    struct relay_far *far;
    struct instances *instances; /* heard here */
    /* Carried onto it from the other one. */
    struct md_table *table;
    struct origin *all[ORIGINS_MAX];
    int count, carried;
    bool has_refused; /* nodes that are heard had no place */
    uint32_t next_number;
    uint64_t full_ns; /* when all routes are said again */
    uint64_t other_services;
    struct queue queue;
    uint64_t now_ns;
    bool is_over; /* the queue was full, or its first message old, and it is not half of that yet */
    struct forward_counters counters; /* of what is heard here */
};

struct forward {
    uint64_t id;
    uint64_t begin_ns, tick_ns;
    uint64_t secret[2]; /* spreads pairs over lanes */
    struct filter *filter;
    struct side sides[FORWARD_SIDES];
    uint8_t routes[RELAY_ROUTES_SIZE_MAX];
};

static inline struct side *other_side(struct forward *f, const struct side *side)
{
    return &f->sides[side == &f->sides[0]];
}

#endif
