/* netio/verbs.h - packet I/O over RDMA: a UD queue pair for the group and for each node. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NETIO_VERBS_H
#define NETIO_VERBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "netio/udp.h"

/*
 * The code that knows RDMA is an object of its own, lib/openrmds/librmds-verbs.so beside the
 * program's bin/, which is loaded when it is asked for: a host without RDMA needs none of its
 * libraries.
 */
struct net_verbs_config {
    /* Interfaces, groups, hops, largest packet, memory of the receive ring (receive_buffer) and
     * sources that are taken mean what they mean for UDP; ports and the rest mean nothing. */
    struct net_udp_config ip;
    const char *device; /* RDMA device of the first path; NULL or "": that of the interface */
    uint8_t port;       /* 0: that of the interface */
};

/*
 * As net_udp_open(), and with the same `report`. A sentence begins with the parameter that it is
 * about, where there is one. MD_ERR_NOT_FOUND: no plug-in, no device, no active port; it may come.
 */
int net_verbs_open(const struct net_verbs_config *config, struct net_udp_report *report, char *why,
                   size_t why_size, struct net_packet_io **out);

/* Can the plug-in be loaded? `why` (at least 256 bytes): its path, or why it cannot. */
bool net_verbs_is_here(char *why, size_t why_size);

#endif
