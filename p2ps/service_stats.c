/* service_stats.c - each service, out to the statistics segment. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/err.h"
#include "worker.h"

/* Items of one service at this worker, as it added them last to the counts of all workers. */
struct shares {
    uint32_t active, pending, pending_out;
};

struct p2ps_service_stats {
    struct shares *services[P2PS_NETWORKS_MAX]; /* by the number of the service there */
    uint16_t room[P2PS_NETWORKS_MAX];
};

int p2ps_service_stats_create(struct p2ps_service_stats **out)
{
    *out = calloc(1, sizeof(**out));
    return *out ? MD_OK : MD_ERR_NOMEM;
}

void p2ps_service_stats_destroy(struct p2ps_service_stats *stats)
{
    for (unsigned i = 0; stats && i < P2PS_NETWORKS_MAX; i++)
        free(stats->services[i]);
    free(stats);
}

static struct shares *shares_of(struct p2ps_service_stats *stats, unsigned network, uint16_t number)
{
    uint16_t room = stats->room[network];

    if (number >= room) {
        uint16_t more = (uint16_t)(number + 8);
        struct shares *services =
            realloc(stats->services[network], (size_t)more * sizeof(*services));

        if (!services)
            return NULL;
        for (uint16_t i = room; i < more; i++)
            services[i] = (struct shares){ 0 };
        stats->services[network] = services;
        stats->room[network] = more;
    }
    return &stats->services[network][number];
}

static struct stats_entry *gauge(struct stats_segment *segment, struct rrmp_view service,
                                 const char *name)
{
    return stats_entry_addf(segment, STATS_KIND_GAUGE, "p2ps.service.%.*s.%s", (int)service.length,
                            (const char *)service.bytes, name);
}

/* Every worker has items of its own of a service: each adds what has changed. */
static void add_share(struct stats_entry *entry, uint32_t *was, uint32_t now)
{
    uint64_t all = md_ctr_add_shared(&entry->value, (uint64_t)now - *was);

    md_ctr_raise(&entry->aux, all);
    *was = now;
}

static void show_items(const struct p2ps_worker *worker, unsigned network, uint16_t number,
                       const struct rrmp_sink_service *service)
{
    struct stats_segment *segment = worker->config.daemon->stats;
    struct shares *was = shares_of(worker->service_stats, network, number);

    if (!was)
        return;
    add_share(gauge(segment, service->name, "active"), &was->active, service->live_now);
    add_share(gauge(segment, service->name, "pending"), &was->pending,
              service->items_now - service->live_now);
    add_share(gauge(segment, service->name, "pendingOut"), &was->pending_out,
              service->requests_now);
}

static void show_service(struct stats_segment *segment, const struct rrmp_sink_service *service,
                         uint16_t id, bool is_forgotten)
{
    struct stats_entry *state =
        stats_entry_addf(segment, STATS_KIND_STRING, "p2ps.service.%.*s.state",
                         (int)service->name.length, (const char *)service->name.bytes);

    stats_string_set(segment, state,
                     is_forgotten             ? "deleted"
                     : !service->is_up        ? "down"
                     : !service->is_accepting ? "not accepting"
                                              : "up");
    stats_gauge_set(gauge(segment, service->name, "serviceId"), id);
    stats_gauge_set(gauge(segment, service->name, "instances"), service->instance_count);
    stats_gauge_set(gauge(segment, service->name, "load"), service->load_factor);
}

void p2ps_service_released(const struct p2ps_worker *worker, const struct p2ps_note *note)
{
    const struct rrmp_view name = { note->service.data, note->service.length };
    const struct rrmp_sink_service nothing = { .name = name };

    show_items(worker, note->network, note->sink_service, &nothing);
    if (worker->config.index == 0)
        show_service(worker->config.daemon->stats, &nothing, 0, true);
}

/* Every worker knows the same services: the first one shows their states. */
void p2ps_services_show(struct p2ps_worker *worker)
{
    struct stats_segment *segment = worker->config.daemon->stats;
    struct rrmp_sink_service service;
    uint64_t count = 0, down = 0;

    for (unsigned network = 0; network < worker->config.core.network_count; network++) {
        const struct rrmp_sink *sink = p2ps_core_sink(worker->core, network);
        for (uint16_t i = 0; i < rrmp_sink_service_count(sink); i++) {
            if (!p2ps_core_service_is_taken(worker->core, network, i) ||
                !rrmp_sink_service(sink, i, &service))
                continue;
            show_items(worker, network, i, &service);
            if (worker->config.index > 0)
                continue;
            bool is_forgotten = p2ps_core_service_is_forgotten(worker->core, network, i);
            show_service(segment, &service, p2ps_core_service_id(worker->core, network, i),
                         is_forgotten);
            count += !is_forgotten;
            down += !service.is_up && !is_forgotten;
        }
    }
    if (worker->config.index > 0)
        return;
    stats_gauge_set(stats_entry_add(segment, STATS_KIND_GAUGE, "p2ps.services"), count);
    stats_gauge_set(stats_entry_add(segment, STATS_KIND_GAUGE, "p2ps.servicesDown"), down);
}
