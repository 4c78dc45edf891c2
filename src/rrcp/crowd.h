/* crowd.h - the size of the group: how many receivers may ask for the same packet. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_CROWD_H
#define RRCP_CROWD_H

#include "rrcp/rrcp.h"
#include "units.h"

#define CROWD_FULL   8
#define CROWD_SHARES 4

/*
 * Weights the waits that spread the requests of a group: 0 for a receiver that is alone with its
 * sender, CROWD_FULL with that many other receivers or more.
 */
static inline uint32_t rrcp_crowd(const struct rrcp_config *config, uint32_t peers)
{
    uint32_t others = peers > 0 && !config->mesh.is_on ? peers - 1 : 0; /* a mesh repairs to one */

    return config->retry == RRCP_RETRY_FIXED || others > CROWD_FULL ? CROWD_FULL : others;
}

/* One receiver's share of a rate that is meant for CROWD_SHARES receivers at a time. */
static inline uint32_t rrcp_crowd_share(const struct rrcp_config *config, uint32_t peers,
                                        uint32_t rate)
{
    if (config->retry == RRCP_RETRY_FIXED)
        return rate;
    return (uint32_t)((uint64_t)rate * CROWD_SHARES / rrcp_clamp(peers, 1, CROWD_SHARES));
}

#endif
