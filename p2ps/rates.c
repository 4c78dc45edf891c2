/* rates.c - see rates.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rates.h"

#include <string.h>

#define SAMPLES   (P2PS_RATE_STEPS + 2u)
#define SECOND_NS 1000000000u

static struct p2ps_rate_sample *at(struct p2ps_rates *rates, unsigned n)
{
    return &rates->samples[(rates->first + n) % SAMPLES];
}

/* The oldest is where the window begins: it goes when the next one can take its place. A step less
 * than the window will do, for calls are never exactly as far apart as they should be. */
static void drop_old(struct p2ps_rates *rates, uint64_t now_ns)
{
    uint64_t enough_ns = rates->window_ns - rates->window_ns / P2PS_RATE_STEPS;

    while (rates->count > 1 && now_ns - at(rates, 1)->ns >= enough_ns) {
        rates->first = (rates->first + 1) % SAMPLES;
        rates->count--;
    }
}

void p2ps_rates_take(struct p2ps_rates *rates, uint64_t now_ns, const uint64_t totals[P2PS_RATES],
                     uint64_t per_second[P2PS_RATES])
{
    drop_old(rates, now_ns);
    for (unsigned i = 0; i < P2PS_RATES; i++) {
        const struct p2ps_rate_sample *oldest = at(rates, 0);
        double seconds = rates->count ? (double)(now_ns - oldest->ns) / SECOND_NS : 0;
        double grown = rates->count ? (double)(totals[i] - oldest->totals[i]) : 0;
        per_second[i] = seconds > 0 ? (uint64_t)(grown / seconds + 0.5) : 0;
    }
    if (rates->count == SAMPLES || (rates->count && now_ns - at(rates, rates->count - 1)->ns <
                                                        rates->window_ns / P2PS_RATE_STEPS))
        return;
    struct p2ps_rate_sample *newest = at(rates, rates->count++);
    newest->ns = now_ns;
    memcpy(newest->totals, totals, sizeof(newest->totals));
}
