/* sink_refusals.c - see sink_refusals.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sink_refusals.h"

#include <string.h>

#define SHORT_NS 1000000000ull /* shorter ones get no bit, which may last longer */

static void rest_put(struct sink_refusals *refusals, uint64_t now_ns, uint32_t instance,
                     uint64_t until_ns)
{
    if (refusals->rest_until_ns <= now_ns)
        memset(refusals->rest, 0, sizeof(refusals->rest));
    refusals->rest[instance / 64] |= 1ull << instance % 64;
    if (refusals->rest_until_ns < until_ns)
        refusals->rest_until_ns = until_ns;
}

void sink_refusals_put(struct sink_refusals *refusals, uint64_t now_ns, uint32_t instance,
                       uint64_t time_ns)
{
    uint32_t at = 0;

    sink_refusals_forgive(refusals, instance);
    for (uint32_t i = 1; i < SINK_REFUSED; i++) {
        if (refusals->last[i].until_ns < refusals->last[at].until_ns)
            at = i;
    }
    if (refusals->last[at].until_ns > now_ns + SHORT_NS)
        rest_put(refusals, now_ns, refusals->last[at].instance, refusals->last[at].until_ns);
    refusals->last[at].instance = instance;
    refusals->last[at].until_ns = now_ns + time_ns;
}

void sink_refusals_forgive(struct sink_refusals *refusals, uint32_t instance)
{
    for (uint32_t i = 0; i < SINK_REFUSED; i++) {
        if (refusals->last[i].instance == instance)
            refusals->last[i].until_ns = 0;
    }
    refusals->rest[instance / 64] &= ~(1ull << instance % 64);
}

bool sink_refusals_has(const struct sink_refusals *refusals, uint64_t now_ns, uint32_t instance)
{
    for (uint32_t i = 0; i < SINK_REFUSED; i++) {
        if (refusals->last[i].until_ns > now_ns && refusals->last[i].instance == instance)
            return true;
    }
    return refusals->rest_until_ns > now_ns && refusals->rest[instance / 64] >> (instance % 64) & 1;
}

bool sink_refusals_has_any(const struct sink_refusals *refusals, uint64_t now_ns)
{
    for (uint32_t i = 0; i < SINK_REFUSED; i++) {
        if (refusals->last[i].until_ns > now_ns)
            return true;
    }
    return refusals->rest_until_ns > now_ns;
}
