/* door.c - see door.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "door.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

#define GREETING_MAX 64 /* accepted connections whose handshake is not done */

/* An IPv4 address as it is, one of IPv6 without its lower half: a host has all of these. */
static void host_of(const char *peer, char host[LINK_HOST_MAX])
{
    struct in6_addr address;
    const char *start = peer[0] == '[' ? peer + 1 : peer;
    size_t length = strcspn(start, peer[0] == '[' ? "]" : ":");

    snprintf(host, LINK_HOST_MAX, "%.*s", (int)(length < LINK_HOST_MAX ? length : 0), start);
    if (inet_pton(AF_INET6, host, &address) != 1)
        return;
    if (IN6_IS_ADDR_V4MAPPED(&address)) {
        inet_ntop(AF_INET, address.s6_addr + 12, host, LINK_HOST_MAX);
        return;
    }
    memset(address.s6_addr + 8, 0, 8);
    inet_ntop(AF_INET6, &address, host, LINK_HOST_MAX);
}

static bool is_logged_in(const struct route_loop *loop, const struct link *link)
{
    struct srcdist_provider_info info;

    return link->provider != UINT32_MAX &&
           srcdist_provider_info(loop->core, link->provider, &info) && info.is_logged_in;
}

/* Ever more rarely: the first one, the second, the fourth... */
static bool is_told(uint64_t count)
{
    return (count & (count - 1)) == 0;
}

/* Bounds connections without a handshake: at GREETING_MAX the oldest one is dropped. A publisher's
 * handshake takes no longer than the way to it. */
static void make_room(struct route_loop *loop)
{
    struct link *oldest = NULL;
    unsigned count = 0;

    for (struct link *link = loop->links; link; link = link->next) {
        if (!link->is_greeting || link->is_dead)
            continue;
        count++;
        if (!oldest || link->accepted_ns <= oldest->accepted_ns)
            oldest = link;
    }
    if (count < GREETING_MAX)
        return;
    if (is_told(++loop->greeting_ended))
        md_log(
            MD_LOG_WARNING,
            "provider: host=%s ended: no handshake, and too many others wait for theirs (%llu so "
            "far)",
            client_session_peer(oldest->session), (unsigned long long)loop->greeting_ended);
    link_give_way(oldest);
}

/* False: the host has as many providers as it may, and all of them are logged in. */
static bool make_room_for_host(struct route_loop *loop, const char *host)
{
    struct link *oldest = NULL;
    unsigned count = 0;

    for (struct link *link = loop->links; link; link = link->next) {
        if (link->is_route || link->is_dead || strcmp(link->host, host) != 0)
            continue;
        count++;
        if ((!oldest || link->accepted_ns <= oldest->accepted_ns) && !is_logged_in(loop, link))
            oldest = link;
    }
    if (loop->config.host_limit == 0 || count < loop->config.host_limit)
        return true;
    if (!oldest) {
        if (is_told(++loop->hosts_refused))
            md_log(MD_LOG_WARNING,
                   "provider: host=%s refused: %u providers of this address are logged in, as many "
                   "as providerLimitPerHost lets in (%llu refused so far)",
                   host, count, (unsigned long long)loop->hosts_refused);
        return false;
    }
    if (is_told(++loop->hosts_ended))
        md_log(MD_LOG_WARNING,
               "provider: host=%s ended: no login, and its address has as many connections as "
               "providerLimitPerHost lets in (%llu ended so far)",
               client_session_peer(oldest->session), (unsigned long long)loop->hosts_ended);
    link_give_way(oldest);
    return true;
}

struct link *door_admit(struct route_loop *loop, struct net_stream *stream)
{
    char host[LINK_HOST_MAX];

    host_of(net_stream_peer(stream), host);
    if (!make_room_for_host(loop, host)) {
        net_stream_close(stream);
        return NULL;
    }
    make_room(loop);
    struct link *link = link_accept(loop, stream, &loop->config.accepted);
    if (link)
        snprintf(link->host, sizeof(link->host), "%s", host);
    return link;
}
