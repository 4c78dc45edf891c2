/* quota.c - see quota.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "quota.h"

#include <stddef.h>

#include "base/clock.h"

#define BURST_NS (MD_NS_PER_S / 10)

struct quota *quota_of(struct quota quotas[QUOTAS_MAX], struct quota_limit limit)
{
    if (limit.amount == 0)
        return NULL;
    quotas[limit.rule].limit = limit.amount;
    return &quotas[limit.rule];
}

uint64_t quota_due_ns(const struct quota *quota)
{
    return quota && quota->used_ns > BURST_NS ? quota->used_ns - BURST_NS : 0;
}

void quota_charge(struct quota *quota, uint64_t amount, uint64_t now_ns)
{
    if (!quota)
        return;
    if (quota->used_ns < now_ns)
        quota->used_ns = now_ns;
    quota->used_ns += amount * MD_NS_PER_S / quota->limit;
}
