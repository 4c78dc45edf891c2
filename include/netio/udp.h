/* netio/udp.h - packet I/O over kernel UDP: multicast, subnet broadcast, unicast. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NETIO_UDP_H
#define NETIO_UDP_H

#include <stddef.h>
#include <stdint.h>

#include "netio/packet.h"

/* One of the (at most two, redundant) networks. */
struct net_udp_path {
    const char *interface; /* name or address of an interface; NULL or "": the only candidate */
    const char *group;     /* IPv4 or IPv6 multicast group, or an IPv4 subnet broadcast address */
};

struct net_udp_config {
    struct net_udp_path paths[2];
    int path_count;
    uint16_t group_port;
    uint16_t unicast_port;    /* 0 = any free one */
    uint16_t port_roam_range; /* how many next ports to try when it is taken */
    uint8_t ttl;
    size_t payload_max;                 /* 0 = 1472 on IPv4, 1452 on IPv6 */
    size_t receive_buffer, send_buffer; /* bytes asked of the kernel */
    uint32_t busy_poll_us;              /* SO_BUSY_POLL, 0 = off */
    bool any_source;                    /* false: sources outside the subnet are dropped */
    const char *peers;                  /* addresses and prefixes that are taken all the same */
    bool no_segmentation;               /* do without GSO and GRO even where the kernel has them */
};

/* The result of opening; for the log. */
struct net_udp_report {
    char interface[2][64]; /* name and address chosen, per path */
    bool is_loopback[2];
    uint16_t unicast_port;
    size_t receive_buffer_got, send_buffer_got; /* bytes of payload the kernel granted */
    bool has_segmentation;
    char transport[96];     /* "RDMA device rxe1 port 1, packets of 1024 bytes"; "" for UDP */
    bool port_is_ephemeral; /* the fixed unicast or group port lies in ip_local_port_range */
};

/*
 * Open the sockets. On failure *out is NULL and `why` (at least 256 bytes) is a sentence for the
 * operator: which interface or address, what was found, what is accepted. MD_ERR_RANGE for what is
 * wrong in the configuration, MD_ERR_EXISTS for a port in use, MD_ERR_SYS for the rest.
 */
int net_udp_open(const struct net_udp_config *config, struct net_udp_report *report, char *why,
                 size_t why_size, struct net_packet_io **out);

/* ---- the shim: a worse network in front of a real one -------------------------------------- */

struct net_shim_config {
    uint64_t seed;
    uint32_t loss_ppm;      /* independent loss of received packets */
    uint32_t burst_ppm;     /* chance that a burst of losses starts at a packet */
    uint32_t burst_length;  /* its mean length, packets */
    uint32_t duplicate_ppm; /* received twice */
    uint32_t delay_ppm;     /* held back for up to delay_us, so that later ones overtake */
    uint32_t delay_us;
};

/* Any fault asked for, or a seed, for faults to come? */
bool net_shim_wanted(const struct net_shim_config *config);

/*
 * Put the shim in front of `inner`, which then belongs to it (closed with it, also on failure).
 * Everything is decided by the seed and the order of arrival. At most 4096 packets are held back;
 * what comes beyond passes at once.
 */
int net_shim_open(const struct net_shim_config *config, struct net_packet_io *inner,
                  struct net_packet_io **out);

/* Other faults from now on; the seed stays. MD_ERR_STATE: there is no shim. */
int net_shim_set(struct net_packet_io *io, const struct net_shim_config *config);

#endif
