/* distance.h - the same line of the log again and again: after a second, two, four, an hour. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_DISTANCE_H
#define P2PS_DISTANCE_H

#include <stdbool.h>
#include <stdint.h>

#define P2PS_DISTANCE_MAX 3600000000000ull

/* Zeroed: nothing was said. */
struct p2ps_distance {
    uint64_t next_ns, distance_ns;
    uint64_t last_ns; /* it came, said or not */
    uint64_t held;    /* and was not said, since the last line */
};

/* It has come: is it to be said? *held: how many came since the last line. An hour without it
 * begins anew. */
static inline bool p2ps_distance_says(struct p2ps_distance *d, uint64_t now_ns, uint64_t *held)
{
    if (now_ns - d->last_ns >= P2PS_DISTANCE_MAX)
        d->next_ns = d->distance_ns = 0;
    d->last_ns = now_ns;
    *held = d->held;
    if (now_ns < d->next_ns) {
        d->held++;
        return false;
    }
    d->held = 0;
    d->distance_ns = d->distance_ns ? 2 * d->distance_ns : 1000000000u;
    if (d->distance_ns > P2PS_DISTANCE_MAX)
        d->distance_ns = P2PS_DISTANCE_MAX;
    d->next_ns = now_ns + d->distance_ns;
    return true;
}

#endif
