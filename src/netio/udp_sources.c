/* udp_sources.c - see udp_sources.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "udp_sources.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

static size_t address_bytes(const struct sockaddr *address, uint8_t out[16])
{
    if (address->sa_family == AF_INET) {
        memcpy(out, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
        return 4;
    }
    memcpy(out, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, 16);
    return 16;
}

static bool fits(const struct udp_prefix *prefix, int family, const uint8_t *bytes)
{
    unsigned whole = prefix->bits / 8;
    unsigned rest = prefix->bits % 8;

    if (prefix->family != family || memcmp(prefix->bytes, bytes, whole) != 0)
        return false;
    return rest == 0 || (prefix->bytes[whole] ^ bytes[whole]) >> (8 - rest) == 0;
}

bool udp_sources_allow(const struct udp_sources *sources, const struct sockaddr_storage *from)
{
    uint8_t bytes[16];

    address_bytes((const struct sockaddr *)from, bytes);
    for (int i = 0; i < sources->count; i++)
        if (fits(&sources->prefixes[i], from->ss_family, bytes))
            return true;
    return false;
}

/* ---- building the list ---------------------------------------------------------------------- */

static int add(struct udp_sources *sources, int family, const uint8_t *bytes, unsigned bits)
{
    if (sources->count == UDP_SOURCES_MAX)
        return MD_ERR_FULL;

    struct udp_prefix *prefix = &sources->prefixes[sources->count++];

    *prefix = (struct udp_prefix){ .family = family, .bits = bits };
    memcpy(prefix->bytes, bytes, family == AF_INET ? 4 : 16);
    return 0;
}

void udp_sources_interface(struct udp_sources *sources, const char *name)
{
    struct ifaddrs *all;

    if (getifaddrs(&all) != 0)
        return;
    for (const struct ifaddrs *entry = all; entry; entry = entry->ifa_next) {
        uint8_t bytes[16];
        uint8_t mask[16];
        unsigned bits = 0;

        if (!entry->ifa_addr || !entry->ifa_netmask || strcmp(entry->ifa_name, name) != 0 ||
            (entry->ifa_addr->sa_family != AF_INET && entry->ifa_addr->sa_family != AF_INET6))
            continue;
        size_t length = address_bytes(entry->ifa_addr, bytes);
        entry->ifa_netmask->sa_family = entry->ifa_addr->sa_family;
        address_bytes(entry->ifa_netmask, mask);
        while (bits < 8 * length && (mask[bits / 8] >> (7 - bits % 8) & 1))
            bits++;
        (void)add(sources, entry->ifa_addr->sa_family, bytes, bits);
    }
    freeifaddrs(all);
}

/* One address or prefix. */
static int add_text(struct udp_sources *sources, char *text)
{
    char *slash = strchr(text, '/');
    uint8_t bytes[16];
    char *end = NULL;
    int family = strchr(text, ':') ? AF_INET6 : AF_INET;
    unsigned long most = family == AF_INET ? 32 : 128;
    unsigned long bits = most;

    if (slash) {
        *slash = '\0';
        bits = strtoul(slash + 1, &end, 10);
    }
    if (inet_pton(family, text, bytes) != 1 || bits > most || (end && (end == slash + 1 || *end)))
        return MD_ERR_RANGE;
    return add(sources, family, bytes, (unsigned)bits);
}

int udp_sources_list(struct udp_sources *sources, const char *list, char *why, size_t why_size)
{
    static const char *const between = " \t,;";

    while (list && *(list += strspn(list, between))) {
        size_t length = strcspn(list, between);
        char text[INET6_ADDRSTRLEN + 5];

        snprintf(text, sizeof(text), "%.*s", (int)length, list);
        int err = length < sizeof(text) ? add_text(sources, text) : MD_ERR_RANGE;

        if (err) {
            snprintf(why, why_size,
                     err == MD_ERR_FULL
                         ? "peerAddresses: too many, at \"%.*s\"; write prefixes in their place"
                         : "peerAddresses: \"%.*s\" is neither an address nor a prefix; example: "
                           "10.1.7.3, 10.2.0.0/16, fd00:7::/64",
                     (int)length, list);
            return MD_ERR_RANGE;
        }
        list += length;
    }
    return 0;
}
