/* crowd.h - the size of the group. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_CROWD_H
#define RRCP_CROWD_H

#include "common.h"

#define CROWD_FULL 8

/*
 * How far the waits that spread a group's requests apply: from 0, where the sender and one receiver
 * are alone and there is nobody to wait for, to CROWD_FULL with so many other receivers or more.
 */
static inline uint32_t rrcp_crowd(const struct rrcp *r)
{
    uint32_t others = r->live_count > 0 ? r->live_count - 1 : 0;

    return r->config.retry == RRCP_RETRY_FIXED || others > CROWD_FULL ? CROWD_FULL : others;
}

/* What one receiver may take of a rate that is meant for `CROWD_SHARES` of them at a time. */
#define CROWD_SHARES 4

static inline uint32_t rrcp_crowd_share(const struct rrcp *r, uint32_t rate)
{
    uint64_t receivers = rrcp_clamp(r->live_count, 1, CROWD_SHARES);

    return r->config.retry == RRCP_RETRY_FIXED
               ? rate
               : (uint32_t)((uint64_t)rate * CROWD_SHARES / receivers);
}

#endif
