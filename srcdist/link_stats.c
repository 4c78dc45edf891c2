/* link_stats.c - each route, provider and service, out to the statistics segment. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "route_loop.h"
#include "stats/rows.h"

/* ---- routes: src_dist.route.<number>.<name> ---- */

struct route_stats {
    struct stats_entry *state, *host, *transport, *connects, *rtt, *lag, *ceiling, *bytes_in;
};

static struct route_stats *create_route(struct stats_segment *segment, unsigned number)
{
    struct route_stats *stats = calloc(1, sizeof(*stats));

    if (!stats)
        return NULL;
    stats->state = stats_entry_addf(segment, STATS_KIND_STRING, "src_dist.route.%u.state", number);
    stats->host = stats_entry_addf(segment, STATS_KIND_STRING, "src_dist.route.%u.host", number);
    stats->transport =
        stats_entry_addf(segment, STATS_KIND_STRING, "src_dist.route.%u.transport", number);
    stats->connects =
        stats_entry_addf(segment, STATS_KIND_COUNTER, "src_dist.route.%u.connects", number);
    stats->rtt = stats_entry_addf(segment, STATS_KIND_GAUGE, "src_dist.route.%u.rttUs", number);
    stats->lag = stats_entry_addf(segment, STATS_KIND_GAUGE, "src_dist.route.%u.lagUs", number);
    stats->ceiling =
        stats_entry_addf(segment, STATS_KIND_GAUGE, "src_dist.route.%u.outputRate", number);
    stats->bytes_in =
        stats_entry_addf(segment, STATS_KIND_COUNTER, "src_dist.route.%u.bytesIn", number);
    return stats;
}

/* Of a p2ps at another site. lagUs is the way of its own message through its queue and back, rttUs
 * that of a packet: what is between them waited for the line. */
static void show_path(struct link *link)
{
    const struct srcdist_core *core = link->loop->core;
    struct srcdist_provider_info info = { .is_used = false };

    if (link->provider != UINT32_MAX)
        srcdist_provider_info(core, link->provider, &info);
    uint32_t rtt_us = link->session ? net_stream_rtt_us(client_session_stream(link->session)) : 0;
    stats_gauge_set(link->stats->rtt, rtt_us);
    stats_gauge_set(link->stats->lag, info.lag_us);
    stats_gauge_set(link->stats->ceiling, info.ceiling);
    if (link->session)
        md_ctr_set(&link->stats->bytes_in->value,
                   link->bytes_before +
                       rssl_channel_stats(client_session_channel(link->session))->bytes_in);
}

static void show_route(struct stats_segment *segment, struct link *link)
{
    char host[sizeof(link->hosts[0]) + 8];

    if (!link->stats)
        link->stats = create_route(segment, link->number);
    if (!link->stats)
        return;
    snprintf(host, sizeof(host), "%s:%u", link->hosts[link->retry.at], link->ports[link->retry.at]);
    stats_string_set(segment, link->stats->host, host);
    stats_string_set(segment, link->stats->transport, link->transport->name);
    stats_string_set(segment, link->stats->state,
                     link->provider != UINT32_MAX ? "up"
                     : link->session              ? "connecting"
                                                  : "waiting");
    md_ctr_set(&link->stats->connects->value, link->connects);
    show_path(link);
}

/* ---- providers: src_dist.provider.[<network>.]<number>.<name>, of routes and of the port ---- */

#define ROW(kind, name, member)                                                                    \
    STATS_ROW(STATS_KIND_##kind, name, struct srcdist_provider_info, member)

static const struct stats_row rows[] = {
    ROW(GAUGE, "services", services),
    ROW(GAUGE, "streams", streams),
    ROW(GAUGE, "outstanding", outstanding),
    ROW(COUNTER, "updatesIn", updates),
};

struct provider_stats {
    struct stats_entry *name, *user, *kind, *state;
    struct stats_entry *entries[STATS_ROW_COUNT(rows)];
};

static struct provider_stats *create_provider(const struct route_loop *loop, uint32_t number)
{
    struct provider_stats *stats = calloc(1, sizeof(*stats));
    struct stats_segment *segment = loop->config.daemon->stats;
    char prefix[STATS_PATH_BYTES];

    if (!stats)
        return NULL;
    snprintf(prefix, sizeof(prefix), "src_dist.provider.%s%u.", loop->config.stats_group, number);
    stats->name = stats_entry_addf(segment, STATS_KIND_STRING, "%sname", prefix);
    stats->user = stats_entry_addf(segment, STATS_KIND_STRING, "%suser", prefix);
    stats->kind = stats_entry_addf(segment, STATS_KIND_STRING, "%skind", prefix);
    stats->state = stats_entry_addf(segment, STATS_KIND_STRING, "%sstate", prefix);
    stats_rows_add(rows, STATS_ROW_COUNT(rows), segment, prefix, stats->entries);
    return stats;
}

static void destroy_provider(struct stats_segment *segment, struct provider_stats *stats)
{
    if (!stats)
        return;
    stats_entry_remove(segment, stats->name);
    stats_entry_remove(segment, stats->user);
    stats_entry_remove(segment, stats->kind);
    stats_entry_remove(segment, stats->state);
    stats_rows_remove(stats->entries, STATS_ROW_COUNT(rows), segment);
    free(stats);
}

static void show_provider(struct stats_segment *segment, struct provider_stats *stats,
                          const struct srcdist_provider_info *info)
{
    stats_string_set(segment, stats->name, info->name);
    stats_string_set(segment, stats->user, info->user);
    stats_string_set(segment, stats->kind,
                     info->kind == SRCDIST_INTERACTIVE ? "interactive" : "non-interactive");
    stats_string_set(segment, stats->state, info->state);
    stats_rows_set(rows, STATS_ROW_COUNT(rows), stats->entries, info);
}

/* ---- services: src_dist.service.<name>.<name> ---- */

struct service_stats {
    struct stats_entry *state, *id, *active, *pending, *load, *updates;
    char name[256];
};

static void destroy_service(struct stats_segment *segment, struct service_stats *stats)
{
    if (!stats)
        return;
    stats_entry_remove(segment, stats->state);
    stats_entry_remove(segment, stats->id);
    stats_entry_remove(segment, stats->active);
    stats_entry_remove(segment, stats->pending);
    stats_entry_remove(segment, stats->load);
    stats_entry_remove(segment, stats->updates);
    free(stats);
}

static struct service_stats *create_service(struct stats_segment *segment, const char *name)
{
    struct service_stats *stats = calloc(1, sizeof(*stats));

    if (!stats)
        return NULL;
    snprintf(stats->name, sizeof(stats->name), "%s", name);
    stats->state = stats_entry_addf(segment, STATS_KIND_STRING, "src_dist.service.%s.state", name);
    stats->id = stats_entry_addf(segment, STATS_KIND_GAUGE, "src_dist.service.%s.serviceId", name);
    stats->active = stats_entry_addf(segment, STATS_KIND_GAUGE, "src_dist.service.%s.active", name);
    stats->pending =
        stats_entry_addf(segment, STATS_KIND_GAUGE, "src_dist.service.%s.pending", name);
    stats->load = stats_entry_addf(segment, STATS_KIND_GAUGE, "src_dist.service.%s.load", name);
    stats->updates =
        stats_entry_addf(segment, STATS_KIND_COUNTER, "src_dist.service.%s.updatesIn", name);
    return stats;
}

/* Another service may have the place of one that was forgotten. */
static void show_services(struct route_loop *loop)
{
    struct stats_segment *segment = loop->config.daemon->stats;
    struct srcdist_service_info service;

    for (uint32_t i = 0; i < LINK_STATS_SERVICES && srcdist_service_info(loop->core, i, &service);
         i++) {
        struct service_stats **stats = &loop->service_stats[i];
        if (*stats && (!service.is_used || strcmp((*stats)->name, service.name) != 0)) {
            destroy_service(segment, *stats);
            *stats = NULL;
        }
        if (service.is_used && !*stats)
            *stats = create_service(segment, service.name);
        if (!service.is_used || !*stats)
            continue;
        stats_string_set(segment, (*stats)->state, service.is_up ? "up" : "down");
        stats_gauge_set((*stats)->id, service.id);
        stats_gauge_set((*stats)->active, service.active);
        stats_gauge_set((*stats)->pending, service.pending);
        stats_gauge_set((*stats)->load, service.load);
        md_ctr_set(&(*stats)->updates->value, service.updates);
    }
}

/* ---- all of it ---- */

void link_stats_show(struct route_loop *loop)
{
    struct stats_segment *segment = loop->config.daemon->stats;
    struct srcdist_provider_info info;
    uint32_t i = 0;

    for (struct link *link = loop->links; link; link = link->next) {
        if (link->is_route)
            show_route(segment, link);
    }
    for (; i < LINK_STATS_PROVIDERS && srcdist_provider_info(loop->core, i, &info); i++) {
        struct provider_stats **stats = &loop->provider_stats[i];
        if (!info.is_used) {
            destroy_provider(segment, *stats);
            *stats = NULL;
            continue;
        }
        if (!*stats)
            *stats = create_provider(loop, i);
        if (*stats)
            show_provider(segment, *stats, &info);
    }
    show_services(loop);
}

void link_stats_destroy(struct route_loop *loop)
{
    for (struct link *link = loop->links; link; link = link->next) {
        free(link->stats);
        link->stats = NULL;
    }
    for (uint32_t i = 0; i < LINK_STATS_PROVIDERS; i++) {
        free(loop->provider_stats[i]); /* the segment goes, too */
        loop->provider_stats[i] = NULL;
    }
    for (uint32_t i = 0; i < LINK_STATS_SERVICES; i++) {
        free(loop->service_stats[i]);
        loop->service_stats[i] = NULL;
    }
}
