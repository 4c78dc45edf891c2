/* base/share.h - a pool that many parties hold bytes of, and the one that holds most gives way. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_SHARE_H
#define MD_SHARE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes that one party holds, of all pools together: threads count in it without a lock. */
struct md_share {
    _Atomic uint64_t bytes;
};

/* The owners of the bytes of one holder (a queue): each counts them; NULL: there is none. */
#define MD_SHARES 2
struct md_shares {
    struct md_share *of[MD_SHARES];
};

/* One thread's pool. */
struct md_pool_room {
    uint64_t used;
    uint64_t max;       /* 0: no bound */
    uint64_t share_max; /* while less than a quarter of `max` is left, a share that has reached this
                           gets no more; 0: no bound */
    uint64_t refused;
};

/* The bytes of a holder go from `from` to `to` bytes; false, and no change: there is no room. */
bool md_room_move(struct md_pool_room *room, const struct md_shares *shares, uint64_t from,
                  uint64_t to);

/* The holder's `bytes` are those of `share` from now on, in place of those of of[at]. */
void md_shares_set(struct md_shares *shares, size_t at, struct md_share *share, uint64_t bytes);

#endif
