/* udp_socket.h - what udp.c and udp_open.c share: one path's sockets. Private to netio. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NETIO_UDP_SOCKET_H
#define NETIO_UDP_SOCKET_H

#include <net/if.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "netio/udp.h"
#include "udp_sources.h"

/*
 * Two sockets: the group socket only receives; the unicast socket receives what is for this node
 * alone and sends everything, so that all our packets come from the one address peers pin us to.
 */
struct udp_path {
    int group_fd, unicast_fd;
    struct sockaddr_storage group, local;
    socklen_t group_length;
    unsigned index;
    uint64_t bits_per_s;
    char name[IF_NAMESIZE];
    bool is_broadcast, is_mesh, is_loopback, has_gso, has_gro;
    uint32_t overflow_group, overflow_unicast; /* drops counted so far */
    uint32_t own_filtered; /* our own packets the filter dropped: the kernel counts them as drops */
    bool has_filter;
    struct udp_sources sources;
};

struct udp_setup {
    const struct net_udp_config *config;
    struct net_udp_report *report;
    int path_index;
    char *why;
    size_t why_size;
};

/* Only reads the group and chooses the interface: their addresses, name and index. */
int udp_path_choose(struct udp_setup *setup, const struct net_udp_path *wanted,
                    struct udp_path *path);
int udp_path_open(struct udp_setup *setup, const struct net_udp_path *wanted,
                  struct udp_path *path);
/* Without a group: an address of `family`, AF_INET or AF_INET6, and the socket for all. */
int udp_path_open_mesh(struct udp_setup *setup, const char *interface, int family,
                       struct udp_path *path);
void udp_path_close(struct udp_path *path);

#endif
