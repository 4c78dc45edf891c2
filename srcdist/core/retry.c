/* retry.c - see retry.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "retry.h"

#define FIRST_NS    1000000000ull
#define TOLD_ROUNDS 64

static uint64_t wait_max(const struct srcdist_retry *retry)
{
    return SRCDIST_RETRY_ROUND_NS / retry->hosts;
}

static uint64_t at_most(uint64_t wait_ns, const struct srcdist_retry *retry)
{
    return wait_ns < wait_max(retry) ? wait_ns : wait_max(retry);
}

void srcdist_retry_init(struct srcdist_retry *retry, unsigned hosts)
{
    *retry = (struct srcdist_retry){ .hosts = hosts };
    retry->wait_ns = at_most(FIRST_NS, retry);
}

void srcdist_retry_opened(struct srcdist_retry *retry)
{
    retry->wait_ns = at_most(FIRST_NS, retry);
    retry->failures = 0;
}

bool srcdist_retry_is_logged(const struct srcdist_retry *retry)
{
    uint64_t round = retry->failures / retry->hosts + 1;

    return round % TOLD_ROUNDS == 0 || (round < TOLD_ROUNDS && (round & (round - 1)) == 0);
}

void srcdist_retry_failed(struct srcdist_retry *retry, uint64_t now_ns)
{
    retry->failures++;
    retry->due_ns = now_ns + retry->wait_ns;
    retry->wait_ns = at_most(2 * retry->wait_ns, retry);
    retry->at = (retry->at + 1) % retry->hosts;
    retry->round += retry->at == 0;
}
