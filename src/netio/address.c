/* address.c - see address.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "address.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"

int net_look_up(const char *host, uint16_t port, int flags, struct addrinfo **out)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = flags | AI_NUMERICSERV };
    char service[8];

    *out = NULL;
    snprintf(service, sizeof(service), "%u", port);
    /* First as an address: that never asks a name server. */
    hints.ai_flags |= AI_NUMERICHOST;
    if (getaddrinfo(host, service, &hints, out) == 0)
        return MD_OK;
    hints.ai_flags &= ~AI_NUMERICHOST;
    return getaddrinfo(host, service, &hints, out) == 0 ? MD_OK : MD_ERR_NOT_FOUND;
}

int net_addresses_find(struct net_addresses *addresses, const char *host, uint16_t port,
                       uint32_t attempt)
{
    int rc = net_look_up(host, port, 0, &addresses->list);

    addresses->next = NULL;
    addresses->left = 0;
    if (rc != MD_OK)
        return rc;
    addresses->left = 1; /* a name that was found has an address */
    for (const struct addrinfo *at = addresses->list->ai_next; at; at = at->ai_next)
        addresses->left++;
    addresses->next = addresses->list;
    for (unsigned skip = attempt % addresses->left; skip > 0; skip--)
        addresses->next = addresses->next->ai_next;
    return MD_OK;
}

const struct addrinfo *net_addresses_take(struct net_addresses *addresses)
{
    const struct addrinfo *taken = addresses->next;

    if (addresses->left == 0)
        return NULL;
    addresses->left--;
    addresses->next = taken->ai_next ? taken->ai_next : addresses->list;
    return taken;
}

void net_addresses_free(struct net_addresses *addresses)
{
    int error = errno;

    if (addresses->list)
        freeaddrinfo(addresses->list);
    *addresses = (struct net_addresses){ 0 };
    errno = error;
}

bool net_address_text(const struct sockaddr_storage *address, socklen_t length, char *out,
                      size_t size)
{
    char host[48], port[8];

    if (getnameinfo((const struct sockaddr *)address, length, host, sizeof(host), port,
                    sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return false;
    const char *plain = strncmp(host, "::ffff:", 7) == 0 ? host + 7 : host;
    snprintf(out, size, strchr(plain, ':') ? "[%s]:%s" : "%s:%s", plain, port);
    return true;
}

uint16_t net_address_port(const struct sockaddr_storage *address)
{
    size_t offset = address->ss_family == AF_INET6 ? offsetof(struct sockaddr_in6, sin6_port)
                                                   : offsetof(struct sockaddr_in, sin_port);
    uint16_t port = 0;

    memcpy(&port, (const uint8_t *)address + offset, sizeof(port));
    return ntohs(port);
}
