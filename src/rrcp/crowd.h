/* crowd.h - the size of the group: how many may ask for the same packet. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_CROWD_H
#define RRCP_CROWD_H

#include "rrcp/rrcp.h"
#include "units.h"

#define CROWD_FULL   8
#define CROWD_SHARES 4

/*
 * How far the waits that spread a group's requests apply: from 0, where the sender and one receiver
 * are alone and there is nobody to wait for, to CROWD_FULL with so many other receivers or more.
 */
static inline uint32_t rrcp_crowd(const struct rrcp_config *config, uint32_t peers)
{
    uint32_t others = peers > 0 ? peers - 1 : 0;

    return config->retry == RRCP_RETRY_FIXED || others > CROWD_FULL ? CROWD_FULL : others;
}

/* What one receiver may take of a rate that is meant for CROWD_SHARES of them at a time. */
static inline uint32_t rrcp_crowd_share(const struct rrcp_config *config, uint32_t peers,
                                        uint32_t rate)
{
    if (config->retry == RRCP_RETRY_FIXED)
        return rate;
    return (uint32_t)((uint64_t)rate * CROWD_SHARES / rrcp_clamp(peers, 1, CROWD_SHARES));
}

#endif
