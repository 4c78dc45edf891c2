/* link_stats.c - each route, provider and service, out to the statistics segment. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "route_loop.h"
#include "stats/rows.h"

/* ---- routes: src_dist.route.<number>.<name> ---- */

/* lagUs is the way of the message of a p2ps at another site through its queue and back, rttUs that
 * of a packet: what is between them waited for the line. */
struct route {
    const char *state, *host, *transport;
    uint64_t connects, rtt_us, lag_us, ceiling, bytes_in;
};

#define ROUTE(kind, name, member) STATS_ROW(STATS_KIND_##kind, name, struct route, member)

static const struct stats_row route_rows[] = {
    ROUTE(STRING, "state", state),         ROUTE(STRING, "host", host),
    ROUTE(STRING, "transport", transport), ROUTE(COUNTER, "connects", connects),
    ROUTE(GAUGE, "rttUs", rtt_us),         ROUTE(GAUGE, "lagUs", lag_us),
    ROUTE(GAUGE, "outputRate", ceiling),   ROUTE(COUNTER, "bytesIn", bytes_in),
};

static void show_route(struct stats_segment *segment, struct link *link)
{
    struct srcdist_provider_info info = { .is_used = false };
    char host[sizeof(link->hosts[0]) + 8], prefix[32];

    if (!link->stats) {
        snprintf(prefix, sizeof(prefix), "src_dist.route.%u.", link->number);
        link->stats = stats_group_create(route_rows, STATS_ROW_COUNT(route_rows), segment, prefix);
    }
    if (link->provider != UINT32_MAX)
        srcdist_provider_info(link->loop->core, link->provider, &info);
    snprintf(host, sizeof(host), "%s:%u", link->hosts[link->retry.at], link->ports[link->retry.at]);
    struct route route = {
        .state = link->provider != UINT32_MAX ? "up"
                 : link->session              ? "connecting"
                                              : "waiting",
        .host = host,
        .transport = link->transport->name,
        .connects = link->connects,
        .lag_us = info.lag_us,
        .ceiling = info.ceiling,
        .bytes_in = link->bytes_before,
    };
    if (link->session) {
        route.rtt_us = net_stream_rtt_us(client_session_stream(link->session));
        route.bytes_in += rssl_channel_stats(client_session_channel(link->session))->bytes_in;
    }
    stats_group_set(link->stats, &route);
}

/* ---- providers: src_dist.provider.[<network>.]<number>.<name>, of routes and of the port ---- */

#define PROVIDER(kind, name, member)                                                               \
    STATS_ROW(STATS_KIND_##kind, name, struct srcdist_provider_info, member)

static const struct stats_row provider_rows[] = {
    PROVIDER(STRING, "name", name),
    PROVIDER(STRING, "user", user),
    PROVIDER(STRING, "kind", kind),
    PROVIDER(STRING, "state", state),
    PROVIDER(GAUGE, "services", services),
    PROVIDER(GAUGE, "streams", streams),
    PROVIDER(GAUGE, "outstanding", outstanding),
    PROVIDER(COUNTER, "updatesIn", updates),
};

static void show_provider(struct route_loop *loop, uint32_t number,
                          const struct srcdist_provider_info *info)
{
    struct stats_group **stats = &loop->provider_stats[number];
    char prefix[STATS_PATH_BYTES];

    if (!info->is_used) {
        stats_group_destroy(*stats);
        *stats = NULL;
        return;
    }
    snprintf(prefix, sizeof(prefix), "src_dist.provider.%s%u.", loop->config.stats_group, number);
    if (!*stats)
        *stats = stats_group_create(provider_rows, STATS_ROW_COUNT(provider_rows),
                                    loop->config.daemon->stats, prefix);
    stats_group_set(*stats, info);
}

/* ---- services: src_dist.service.<name>.<name> ---- */

#define SERVICE(kind, name, member)                                                                \
    STATS_ROW(STATS_KIND_##kind, name, struct srcdist_service_info, member)

static const struct stats_row service_rows[] = {
    SERVICE(STRING, "state", state),  SERVICE(GAUGE, "serviceId", id),
    SERVICE(GAUGE, "active", active), SERVICE(GAUGE, "pending", pending),
    SERVICE(GAUGE, "load", load),     SERVICE(COUNTER, "updatesIn", updates),
};

/* Another service may have the place of one that was forgotten. */
static void show_service(struct stats_segment *segment, struct service_stats *stats,
                         const struct srcdist_service_info *service)
{
    char prefix[sizeof(stats->name) + 32];

    if (stats->group && (!service->is_used || strcmp(stats->name, service->name) != 0)) {
        stats_group_destroy(stats->group);
        stats->group = NULL;
    }
    if (service->is_used && !stats->group) {
        snprintf(stats->name, sizeof(stats->name), "%s", service->name);
        snprintf(prefix, sizeof(prefix), "src_dist.service.%s.", stats->name);
        stats->group =
            stats_group_create(service_rows, STATS_ROW_COUNT(service_rows), segment, prefix);
    }
    stats_group_set(stats->group, service);
}

/* ---- all of it ---- */

void link_stats_show(struct route_loop *loop)
{
    struct stats_segment *segment = loop->config.daemon->stats;
    struct srcdist_provider_info provider;
    struct srcdist_service_info service;

    for (struct link *link = loop->links; link; link = link->next) {
        if (link->is_route)
            show_route(segment, link);
    }
    for (uint32_t i = 0;
         i < LINK_STATS_PROVIDERS && srcdist_provider_info(loop->core, i, &provider); i++)
        show_provider(loop, i, &provider);
    for (uint32_t i = 0; i < LINK_STATS_SERVICES && srcdist_service_info(loop->core, i, &service);
         i++)
        show_service(segment, &loop->service_stats[i], &service);
}

void link_stats_destroy(struct route_loop *loop)
{
    for (struct link *link = loop->links; link; link = link->next)
        stats_group_destroy(link->stats);
    for (uint32_t i = 0; i < LINK_STATS_PROVIDERS; i++)
        stats_group_destroy(loop->provider_stats[i]);
    for (uint32_t i = 0; i < LINK_STATS_SERVICES; i++)
        stats_group_destroy(loop->service_stats[i].group);
}
