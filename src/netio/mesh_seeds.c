/* mesh_seeds.c - see mesh_seeds.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "mesh_seeds.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "udp_private.h"

/* Cuts the port off "10.1.0.2:8501" and "[fd00::7]:8501", and the brackets. */
static int take_port(char **text, uint16_t *port)
{
    char *colon = strrchr(*text, ':');
    char *end;

    if (**text == '[') {
        char *bracket = strchr(++*text, ']');

        if (!bracket || (bracket[1] != ':' && bracket[1] != '\0'))
            return MD_ERR_RANGE;
        colon = bracket[1] == ':' ? bracket + 1 : NULL;
        *bracket = '\0';
    } else if (colon && strchr(*text, ':') != colon) {
        colon = NULL; /* IPv6 without a port */
    }
    if (!colon)
        return 0;
    *colon = '\0';
    unsigned long value = strtoul(colon + 1, &end, 10);
    if (end == colon + 1 || *end || value == 0 || value > UINT16_MAX)
        return MD_ERR_RANGE;
    *port = (uint16_t)value;
    return 0;
}

static int read_v4(const char *text, uint16_t port, struct sockaddr_storage *out)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)out;

    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    if (inet_pton(AF_INET, text, &v4->sin_addr) != 1)
        return MD_ERR_RANGE;
    uint32_t address = ntohl(v4->sin_addr.s_addr);
    return IN_MULTICAST(address) || address == INADDR_ANY || address == INADDR_BROADCAST
               ? MD_ERR_RANGE
               : 0;
}

/* An address of one link means another interface on each host. */
static int read_v6(const char *text, uint16_t port, struct sockaddr_storage *out)
{
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;

    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    if (inet_pton(AF_INET6, text, &v6->sin6_addr) != 1)
        return MD_ERR_RANGE;
    return IN6_IS_ADDR_MULTICAST(&v6->sin6_addr) || IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr) ||
                   IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr)
               ? MD_ERR_RANGE
               : 0;
}

/* MD_ERR_EXISTS: of another family than those before. */
static int add(struct mesh_seeds *seeds, char *text, uint16_t port)
{
    struct sockaddr_storage address;
    int err = take_port(&text, &port);

    memset(&address, 0, sizeof(address));
    if (!err)
        err = strchr(text, ':') ? read_v6(text, port, &address) : read_v4(text, port, &address);
    if (err)
        return err;
    if (seeds->count == RRCP_MESH_SEEDS_MAX)
        return MD_ERR_FULL;
    if (seeds->count > 0 && seeds->family != address.ss_family)
        return MD_ERR_EXISTS;
    seeds->family = address.ss_family;
    udp_address_make(&address, &seeds->list[seeds->count++]);
    return 0;
}

int mesh_seeds_read(struct mesh_seeds *seeds, const char *text, uint16_t port, char *why,
                    size_t why_size)
{
    static const char *const between = " \t,;";

    *seeds = (struct mesh_seeds){ .count = 0 };
    while (text && *(text += strspn(text, between))) {
        int length = (int)strcspn(text, between);
        char one[INET6_ADDRSTRLEN + 9];
        int wrote = snprintf(one, sizeof(one), "%.*s", length, text);
        int err = wrote < (int)sizeof(one) ? add(seeds, one, port) : MD_ERR_RANGE;

        if (err == MD_ERR_FULL)
            snprintf(why, why_size,
                     "peers: more than %d addresses; nodes learn the others from these",
                     RRCP_MESH_SEEDS_MAX);
        else if (err == MD_ERR_EXISTS)
            snprintf(why, why_size,
                     "peers: \"%.*s\" is not of the family of the addresses before it", length,
                     text);
        else if (err)
            snprintf(why, why_size,
                     "peers: \"%.*s\" is not an address of one host, with or without a port; "
                     "example: 10.1.0.2, 10.1.0.3:8501, [fd00::7]:8500",
                     length, text);
        if (err)
            return MD_ERR_RANGE;
        text += length;
    }
    if (seeds->count > 0)
        return 0;
    snprintf(why, why_size,
             "peers: transport : mesh needs the address of another node at least; example: "
             "10.1.0.2, 10.1.0.3:8501");
    return MD_ERR_RANGE;
}
