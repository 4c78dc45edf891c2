/* budget.h - token buckets: rate in units per second, burst in units. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_BUDGET_H
#define RRCP_BUDGET_H

#include "private.h"

static inline uint64_t rrcp_budget_wait(const struct rrcp_budget *b, uint64_t now_ns)
{
    return b->paid_until_ns > now_ns ? b->paid_until_ns - now_ns : 0;
}

/* Pays for `units`. May go into debt: rrcp_budget_wait() returns when it is paid off. */
static inline void rrcp_budget_pay(struct rrcp_budget *b, uint64_t now_ns, uint64_t units,
                                   uint64_t rate, uint64_t burst)
{
    uint64_t burst_ns = burst * RRCP_S / rate;
    uint64_t floor_ns = now_ns > burst_ns ? now_ns - burst_ns : 0;

    if (b->paid_until_ns < floor_ns)
        b->paid_until_ns = floor_ns;
    b->paid_until_ns += units * RRCP_S / rate;
}

/* Pays if the bucket is not in debt. False: it is, nothing paid. */
static inline bool rrcp_budget_take(struct rrcp_budget *b, uint64_t now_ns, uint64_t units,
                                    uint64_t rate, uint64_t burst)
{
    if (rrcp_budget_wait(b, now_ns) > 0)
        return false;
    rrcp_budget_pay(b, now_ns, units, rate, burst);
    return true;
}

#endif
