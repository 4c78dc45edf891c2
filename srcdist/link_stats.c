/* link_stats.c - each route, provider and service, out to the statistics segment. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "route_loop.h"

/* A text that is changed only when it is another one: a change makes every reader look again. */
static void show_text(struct stats_segment *segment, struct stats_entry *entry, char *shown,
                      const char *now)
{
    if (strncmp(shown, now, STATS_STRING_BYTES - 1) == 0)
        return;
    snprintf(shown, STATS_STRING_BYTES, "%.*s", (int)STATS_STRING_BYTES - 1, now);
    stats_string_set(segment, entry, shown);
}

/* ---- routes: src_dist.route.<number>.<name> ---- */

struct route_stats {
    struct stats_entry *state, *host, *connects;
    char shown_state[STATS_STRING_BYTES], shown_host[STATS_STRING_BYTES];
};

static struct route_stats *create_route(struct stats_segment *segment, unsigned number)
{
    struct route_stats *stats = calloc(1, sizeof(*stats));

    if (!stats)
        return NULL;
    stats->state = stats_entry_addf(segment, STATS_KIND_STRING, "src_dist.route.%u.state", number);
    stats->host = stats_entry_addf(segment, STATS_KIND_STRING, "src_dist.route.%u.host", number);
    stats->connects =
        stats_entry_addf(segment, STATS_KIND_COUNTER, "src_dist.route.%u.connects", number);
    return stats;
}

static void show_route(struct stats_segment *segment, struct link *link)
{
    char host[sizeof(link->hosts[0]) + 8];

    if (!link->stats)
        link->stats = create_route(segment, link->number);
    if (!link->stats)
        return;
    snprintf(host, sizeof(host), "%s:%u", link->hosts[link->retry.at], link->ports[link->retry.at]);
    show_text(segment, link->stats->host, link->stats->shown_host, host);
    show_text(segment, link->stats->state, link->stats->shown_state,
              link->provider != UINT32_MAX ? "up"
              : link->session              ? "connecting"
                                           : "waiting");
    md_ctr_set(&link->stats->connects->value, link->connects);
}

/* ---- providers: src_dist.provider.[<network>.]<number>.<name>, of routes and of the port ---- */

struct provider_stats {
    struct stats_entry *name, *kind, *state, *services, *streams, *outstanding, *updates;
    char shown_name[STATS_STRING_BYTES], shown_kind[STATS_STRING_BYTES],
        shown_state[STATS_STRING_BYTES];
};

static struct stats_entry *add(const struct route_loop *loop, enum stats_kind kind, uint32_t number,
                               const char *name)
{
    return stats_entry_addf(loop->config.daemon->stats, kind, "src_dist.provider.%s%u.%s",
                            loop->config.stats_group, number, name);
}

static struct provider_stats *create_provider(const struct route_loop *loop, uint32_t number)
{
    struct provider_stats *stats = calloc(1, sizeof(*stats));

    if (!stats)
        return NULL;
    stats->name = add(loop, STATS_KIND_STRING, number, "name");
    stats->kind = add(loop, STATS_KIND_STRING, number, "kind");
    stats->state = add(loop, STATS_KIND_STRING, number, "state");
    stats->services = add(loop, STATS_KIND_GAUGE, number, "services");
    stats->streams = add(loop, STATS_KIND_GAUGE, number, "streams");
    stats->outstanding = add(loop, STATS_KIND_GAUGE, number, "outstanding");
    stats->updates = add(loop, STATS_KIND_COUNTER, number, "updatesIn");
    return stats;
}

static void destroy_provider(struct stats_segment *segment, struct provider_stats *stats)
{
    if (!stats)
        return;
    stats_entry_remove(segment, stats->name);
    stats_entry_remove(segment, stats->kind);
    stats_entry_remove(segment, stats->state);
    stats_entry_remove(segment, stats->services);
    stats_entry_remove(segment, stats->streams);
    stats_entry_remove(segment, stats->outstanding);
    stats_entry_remove(segment, stats->updates);
    free(stats);
}

static void show_provider(struct stats_segment *segment, struct provider_stats *stats,
                          const struct srcdist_provider_info *info)
{
    show_text(segment, stats->name, stats->shown_name, info->name);
    show_text(segment, stats->kind, stats->shown_kind,
              info->kind == SRCDIST_INTERACTIVE ? "interactive" : "non-interactive");
    show_text(segment, stats->state, stats->shown_state, info->state);
    stats_gauge_set(stats->services, info->services);
    stats_gauge_set(stats->streams, info->streams);
    stats_gauge_set(stats->outstanding, info->outstanding);
    md_ctr_set(&stats->updates->value, info->updates);
}

/* ---- services: src_dist.service.<name>.<name> ---- */

static void show_services(struct stats_segment *segment, const struct srcdist_core *core)
{
    struct srcdist_service_info service;

    for (uint32_t i = 0; srcdist_service_info(core, i, &service); i++) {
        struct stats_entry *state =
            stats_entry_addf(segment, STATS_KIND_STRING, "src_dist.service.%s.state", service.name);
        uint64_t mark = 1u + service.is_up;
        if (md_ctr_get(&state->aux) != mark) {
            md_ctr_set(&state->aux, mark);
            stats_string_set(segment, state, service.is_up ? "up" : "down");
        }
        stats_gauge_set(stats_entry_addf(segment, STATS_KIND_GAUGE, "src_dist.service.%s.serviceId",
                                         service.name),
                        service.id);
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
    show_services(segment, loop->core);
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
}
