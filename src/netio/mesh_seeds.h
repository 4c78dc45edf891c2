/* mesh_seeds.h - the list of addresses that a configuration names. Private to netio. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NETIO_MESH_SEEDS_H
#define NETIO_MESH_SEEDS_H

#include <stddef.h>
#include <stdint.h>

#include "rrcp/rrcp.h"

struct mesh_seeds {
    int count;
    int family; /* AF_INET or AF_INET6, of all of them */
    struct rrcp_address list[RRCP_MESH_SEEDS_MAX];
};

/* Reads "10.1.0.2, 10.1.0.3:8501 [fd00::7]:8500"; `port` where none is written. MD_ERR_RANGE: `why`
 * is a sentence. */
int mesh_seeds_read(struct mesh_seeds *seeds, const char *text, uint16_t port, char *why,
                    size_t why_size);

#endif
