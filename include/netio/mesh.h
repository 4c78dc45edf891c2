/* netio/mesh.h - packet I/O over kernel UDP where the group is a list of addresses. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NETIO_MESH_H
#define NETIO_MESH_H

#include <stddef.h>

#include "netio/udp.h"

struct net_mesh_config {
    /* As for UDP, but that there are no groups and one path: the port is `unicast_port`, or
     * `group_port` where that is 0; arrivals from `peers` are marked as invited. */
    struct net_udp_config ip;
    const char *seeds; /* addresses with optional ports: "10.1.0.2, [fd00::7]:8501" */
};

/* As net_udp_open(). Packets are not longer than the paths to the seeds carry at this moment. */
int net_mesh_open(const struct net_mesh_config *config, struct net_udp_report *report, char *why,
                  size_t why_size, struct net_packet_io **out);

/* The addresses of `seeds`; returns how many. */
int net_mesh_seeds(const struct net_packet_io *io, struct rrcp_address out[], int max);

/* From now on a packet to the group goes to each of these, RRCP_MESH_PEERS_MAX at most, but those
 * all of whose places it skips. `places` NULL: to all. */
void net_mesh_group(struct net_packet_io *io, const struct rrcp_address group[],
                    const uint64_t places[], int count);

/* Bytes of payload that the kernel believes the path to carry; 0: it does not say. */
size_t net_mesh_payload(const struct rrcp_address *to);

#endif
