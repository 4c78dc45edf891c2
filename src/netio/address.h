/* address.h - names and addresses of streams. Private to netio. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NETIO_ADDRESS_H
#define NETIO_ADDRESS_H

#include <netdb.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* The addresses of a name, of which one after the other is dialed. All zero: none. */
struct net_addresses {
    struct addrinfo *list;
    struct addrinfo *next; /* the one to dial now */
    unsigned left;         /* how many were not dialed yet */
};

/* `flags` are AI_... An address never asks a name server. MD_ERR_NOT_FOUND: there is no such name.
 */
int net_look_up(const char *host, uint16_t port, int flags, struct addrinfo **out);

/* All addresses of a name; `attempt` says which is the first, counted round. */
int net_addresses_find(struct net_addresses *addresses, const char *host, uint16_t port,
                       uint32_t attempt);
/* The one to dial now, which is dialed then; NULL: all were. */
const struct addrinfo *net_addresses_take(struct net_addresses *addresses);
void net_addresses_free(struct net_addresses *addresses);

/* "127.0.0.1:40112", "[::1]:40112"; false: `out` is as it was. */
bool net_address_text(const struct sockaddr_storage *address, socklen_t length, char *out,
                      size_t size);
uint16_t net_address_port(const struct sockaddr_storage *address);

#endif
