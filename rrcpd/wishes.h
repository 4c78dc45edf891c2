/* wishes.h - what the users of this node want, together: other nodes of a mesh leave out the rest.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCPD_WISHES_H
#define RRCPD_WISHES_H

#include <stdbool.h>
#include <stdint.h>

#include "rrcp/rrcp.h"

/*
 * Each user wants everything, or topics, 256 at most. The node wants what any of them does. What
 * nobody wants any more is kept for ten seconds: an item that is opened again, or a user that comes
 * back, costs nothing, and one that changes its mind all the time makes 256 changes in that time,
 * and no more. More topics than 256 together are everything.
 *
 * Nothing here knows sockets or clocks.
 */
enum { WISHES_TOPICS_MAX = RRCP_INTEREST_MAX };

#define WISHES_KEEP_NS  10000000000ull
#define WISHES_LOOK_NS  1000000000ull /* from a change until it is seen what is wanted no more */
#define WISHES_NEVER    UINT64_MAX
#define WISHES_WANT_ALL UINT32_MAX /* of counts: everything */

/* Of a user: the number of its topics, or WISHES_WANT_ALL. */
struct wish {
    uint32_t count;
    uint32_t topics[WISHES_TOPICS_MAX];
};

struct wishes {
    struct wish *users[RRCP_USER_MAX];
    int user_count;
    bool has_begun; /* there was a user: before that everything is wanted, and nothing is said */
    bool is_over;   /* more than are kept apart: everything */
    bool is_all;    /* a user wants everything, or has wanted it */
    bool has_changed;
    uint64_t all_ns; /* when any of that was so last */
    uint64_t look_ns;
    uint32_t count;
    struct {
        uint32_t number;
        uint64_t wanted_ns;      /* when it was known to be wanted last */
    } topics[WISHES_TOPICS_MAX]; /* in order of their numbers */
};

/* All zero bytes are wishes without users. `user` is lent until wishes_remove(). */
void wishes_add(struct wishes *wishes, uint64_t now_ns, struct wish *user);
/* The user wants these from now on, and no others; WISHES_WANT_ALL as count: everything. */
void wishes_set(struct wishes *wishes, uint64_t now_ns, struct wish *user, const uint32_t topics[],
                uint32_t count);
void wishes_remove(struct wishes *wishes, uint64_t now_ns, const struct wish *user);

/* Forgets what has not been wanted for long. */
void wishes_tick(struct wishes *wishes, uint64_t now_ns);
uint64_t wishes_deadline(const struct wishes *wishes);

/* How many topics the node wants, or WISHES_WANT_ALL. */
uint32_t wishes_count(const struct wishes *wishes);
/* The same, with the topics in their order; true: something has changed since it was asked last. */
bool wishes_take(struct wishes *wishes, uint32_t topics[WISHES_TOPICS_MAX], uint32_t *count);

#endif
