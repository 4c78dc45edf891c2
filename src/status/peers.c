/* peers.c - the status ports of other hosts: who they are, and what a page of theirs may read here.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "peers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "gw1:8081", "10.1.0.11:8081", "[fd00::1]:8081": signs of which none means anything in a header.
 */
bool status_peer_is_sound(const char *text)
{
    static const char name_signs[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-";
    bool is_ipv6 = text[0] == '[';
    const char *name = text + is_ipv6;
    size_t length = strspn(name, is_ipv6 ? "0123456789abcdefABCDEF:." : name_signs);
    const char *rest = name + length;

    if (length == 0 || (is_ipv6 && *rest++ != ']') || *rest++ != ':')
        return false;
    size_t digits = strspn(rest, "0123456789");
    unsigned long port = strtoul(rest, NULL, 10);
    return digits > 0 && digits <= 5 && rest[digits] == 0 && port > 0 && port <= 65535 &&
           strlen(text) < STATUS_PEER_BYTES;
}

unsigned status_peers_read(const struct md_conf_object *daemon, struct status_peers *peers)
{
    char text[STATUS_PEER_BYTES + 1];

    *peers = (struct status_peers){ .count = 0 };
    for (size_t i = 0; md_conf_list(daemon, "statusPeers", i, text, sizeof(text)); i++) {
        if (peers->count == STATUS_PEERS_MAX || !status_peer_is_sound(text))
            peers->refused++;
        else
            memcpy(peers->names[peers->count++], text, strlen(text) + 1);
    }
    return peers->count;
}

void status_peers_sources(const struct status_peers *peers, char *out, size_t size)
{
    size_t used = 0;

    out[0] = 0;
    for (unsigned i = 0; i < peers->count && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, " http://%s", peers->names[i]);
}

const char *status_peers_origin(const struct status_peers *peers, struct md_slice origin)
{
    static const char scheme[] = "http://";
    const size_t skip = sizeof(scheme) - 1;

    if (origin.length <= skip || memcmp(origin.bytes, scheme, skip) != 0)
        return NULL;
    for (unsigned i = 0; i < peers->count; i++) {
        if (strlen(peers->names[i]) == origin.length - skip &&
            memcmp(peers->names[i], origin.bytes + skip, origin.length - skip) == 0)
            return peers->names[i];
    }
    return NULL;
}
