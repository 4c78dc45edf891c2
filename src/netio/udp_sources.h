/* udp_sources.h - from which addresses packets are taken. Private to netio. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NETIO_UDP_SOURCES_H
#define NETIO_UDP_SOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum { UDP_SOURCES_MAX = 64 };

struct udp_prefix {
    int family;
    unsigned bits;
    uint8_t bytes[16];
};

struct udp_sources {
    int count;
    struct udp_prefix prefixes[UDP_SOURCES_MAX];
};

/* Adds the subnets of all addresses of this interface. */
void udp_sources_interface(struct udp_sources *sources, const char *name);
/* Adds a list of addresses and prefixes; NULL: none. MD_ERR_RANGE: `why` is a sentence. */
int udp_sources_list(struct udp_sources *sources, const char *list, char *why, size_t why_size);

bool udp_sources_allow(const struct udp_sources *sources, const struct sockaddr_storage *from);

#endif
