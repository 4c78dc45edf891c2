/* locks.h - permission data that nobody can make sense of: counted, and told to the log. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_LOCKS_H
#define P2PS_LOCKS_H

#include <pthread.h>
#include <stdatomic.h>

#include "entitle/entitle.h"

#define P2PS_LOCKS_SERVICES 64 /* whose last line is remembered */

/* Zeroed, and the lock initialised. Any thread. */
struct p2ps_locks {
    _Atomic uint64_t bad;     /* they cannot be read */
    _Atomic uint64_t strange; /* they are of a service id that no peset has */
    pthread_mutex_t lock;     /* of what follows */
    struct {
        uint64_t service; /* a hash of its name */
        uint64_t next_ns;
    } said[P2PS_LOCKS_SERVICES];
};

/* A question about an item or a post was answered. The log hears of a service once a minute. */
void p2ps_locks_note(struct p2ps_locks *locks, uint64_t (*now)(void),
                     const struct entitle_query *query, const struct entitle_answer *answer);

#endif
