/* quota.c - see quota.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "quota.h"

#include <stddef.h>

#include "base/clock.h"

#define BURST_NS (MD_NS_PER_S / 10)

struct quota *quotas_enter(struct quotas *quotas, uid_t uid, struct quota_limits limits)
{
    struct quota *best = NULL;

    for (int i = 0; i < QUOTAS_MAX; i++) {
        struct quota *quota = &quotas->list[i];

        if (quota->in_use && quota->uid == uid) {
            best = quota;
            break;
        }
        /* A slot that was never used, else the one whose quota is whole again first. */
        if (quota->users == 0 &&
            (!best ||
             (best->in_use && (!quota->in_use || quota_due_ns(quota) < quota_due_ns(best)))))
            best = quota;
    }
    if (!best)
        return NULL;
    if (!best->in_use || best->uid != uid)
        *best = (struct quota){ .uid = uid, .in_use = true };
    best->limits = limits;
    best->users++;
    return best;
}

void quota_leave(struct quota *quota)
{
    quota->users--;
}

uint64_t quota_due_ns(const struct quota *quota)
{
    uint64_t last_ns = quota->messages_ns > quota->bytes_ns ? quota->messages_ns : quota->bytes_ns;

    return last_ns > BURST_NS ? last_ns - BURST_NS : 0;
}

static void use(uint64_t *used_ns, uint64_t amount, uint64_t limit, uint64_t now_ns)
{
    if (limit == 0)
        return;
    if (*used_ns < now_ns)
        *used_ns = now_ns;
    *used_ns += amount * MD_NS_PER_S / limit;
}

void quota_charge(struct quota *quota, uint64_t bytes, uint64_t now_ns)
{
    use(&quota->messages_ns, 1, quota->limits.messages, now_ns);
    use(&quota->bytes_ns, bytes, quota->limits.bytes, now_ns);
}
