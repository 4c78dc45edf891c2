/* rates.h - how fast counters have grown over the last while (sessionStatsWindow). */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_RATES_H
#define P2PS_RATES_H

#include <stdint.h>

enum {
    P2PS_RATE_MSGS,
    P2PS_RATE_BYTES,
    P2PS_RATES, /* counters of one mount */
};

#define P2PS_RATE_STEPS 16 /* a window is so many; it is as exact as that */

struct p2ps_rates {
    uint64_t window_ns;
    unsigned first, count; /* of the samples, oldest first, around the end of the array */
    struct p2ps_rate_sample {
        uint64_t ns;
        uint64_t totals[P2PS_RATES];
    } samples[P2PS_RATE_STEPS + 2];
};

/* The counters are `totals` now; what they grew by in a second, on average over the window, or
 * since the first call as long as that is shorter. Call it at least once a second. */
void p2ps_rates_take(struct p2ps_rates *rates, uint64_t now_ns, const uint64_t totals[P2PS_RATES],
                     uint64_t per_second[P2PS_RATES]);

#endif
