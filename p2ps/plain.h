/* plain.h - passwords on connections that others can read. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_PLAIN_H
#define P2PS_PLAIN_H

#include <pthread.h>
#include <stdatomic.h>

#include "distance.h"
#include "entitle/entitle.h"

enum p2ps_plain_policy { P2PS_PLAIN_ALLOW, P2PS_PLAIN_WARN, P2PS_PLAIN_REFUSE };

/* Zeroed, and the lock initialised: they are allowed. Any thread. */
struct p2ps_plain {
    _Atomic unsigned policy; /* plainPassword */
    pthread_mutex_t lock;    /* of what follows */
    struct p2ps_distance said;
};

/* NULL: the login may go on; else why not. Tells the log in growing distance, where it is to. */
const char *p2ps_plain_refuse(struct p2ps_plain *plain, uint64_t now_ns,
                              const struct entitle_query *query);

#endif
