/* mount_stats.c - each mount, the services, and the queues, out to the statistics segment. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "names.h"
#include "rates.h"
#include "worker.h"

/* The statistics of one mount: p2ps.mount.<worker>.<number>.<name>. */
enum {
    MOUNT_ITEMS,
    MOUNT_BUFFERS,
    MOUNT_BUFFERS_MAX,
    MOUNT_SLOW,
    MOUNT_RTT_US,
    MOUNT_MSGS_IN,
    MOUNT_BYTES_IN,
    MOUNT_MSGS_OUT,
    MOUNT_BYTES_OUT,
    MOUNT_MSGS_OUT_RATE,
    MOUNT_BYTES_OUT_RATE,
    MOUNT_SINCE,
    MOUNT_VALUES,
};

static const struct {
    const char *name;
    enum stats_kind kind;
} values[MOUNT_VALUES] = {
    [MOUNT_ITEMS] = { "items", STATS_KIND_GAUGE },
    [MOUNT_BUFFERS] = { "buffers", STATS_KIND_GAUGE },
    [MOUNT_BUFFERS_MAX] = { "buffersMax", STATS_KIND_GAUGE },
    [MOUNT_SLOW] = { "slow", STATS_KIND_GAUGE },
    [MOUNT_RTT_US] = { "rttUs", STATS_KIND_GAUGE }, /* 0: not measured */
    [MOUNT_MSGS_IN] = { "msgsIn", STATS_KIND_COUNTER },
    [MOUNT_BYTES_IN] = { "bytesIn", STATS_KIND_COUNTER },
    [MOUNT_MSGS_OUT] = { "msgsOut", STATS_KIND_COUNTER },
    [MOUNT_BYTES_OUT] = { "bytesOut", STATS_KIND_COUNTER },
    [MOUNT_MSGS_OUT_RATE] = { "msgsOutRate", STATS_KIND_GAUGE },
    [MOUNT_BYTES_OUT_RATE] = { "bytesOutRate", STATS_KIND_GAUGE },
    [MOUNT_SINCE] = { "since", STATS_KIND_TIME },
};

struct text {
    struct stats_entry *entry;
    char shown[STATS_STRING_BYTES];
};

struct p2ps_mount_stats {
    struct stats_segment *segment;
    struct stats_entry *entries[MOUNT_VALUES];
    struct text user, position, host, application_id;
    struct p2ps_rates rates; /* over sessionStatsWindow */
};

static struct text add_text(struct stats_segment *segment, unsigned worker, uint32_t number,
                            const char *name)
{
    return (struct text){ .entry = stats_entry_addf(segment, STATS_KIND_STRING,
                                                    "p2ps.mount.%u.%u.%s", worker, number, name) };
}

/* Changing a text makes every reader look again: only when it is another one. */
static void show_text(struct stats_segment *segment, struct text *text, const char *now)
{
    if (strncmp(text->shown, now, sizeof(text->shown) - 1) == 0)
        return;
    snprintf(text->shown, sizeof(text->shown), "%s", now);
    stats_string_set(segment, text->entry, text->shown);
}

static struct p2ps_mount_stats *create(struct p2ps_worker *worker)
{
    struct p2ps_mount_stats *stats = calloc(1, sizeof(*stats));
    struct stats_segment *segment = worker->config.daemon->stats;
    unsigned index = worker->config.index;

    if (!stats)
        return NULL;
    uint32_t number = ++worker->mounts_shown;
    stats->segment = segment;
    stats->rates.window_ns = worker->config.stats_window_ns;
    stats->user = add_text(segment, index, number, "user");
    stats->position = add_text(segment, index, number, "position");
    stats->host = add_text(segment, index, number, "host");
    stats->application_id = add_text(segment, index, number, "applicationId");
    for (int i = 0; i < MOUNT_VALUES; i++)
        stats->entries[i] = stats_entry_addf(segment, values[i].kind, "p2ps.mount.%u.%u.%s", index,
                                             number, values[i].name);
    md_ctr_set(&stats->entries[MOUNT_SINCE]->value, md_clock_wall_ns());
    return stats;
}

void p2ps_mount_stats_destroy(struct p2ps_mount_stats *stats)
{
    if (!stats)
        return;
    for (int i = 0; i < MOUNT_VALUES; i++)
        stats_entry_remove(stats->segment, stats->entries[i]);
    stats_entry_remove(stats->segment, stats->user.entry);
    stats_entry_remove(stats->segment, stats->position.entry);
    stats_entry_remove(stats->segment, stats->host.entry);
    stats_entry_remove(stats->segment, stats->application_id.entry);
    free(stats);
}

static void show_rates(struct p2ps_mount_stats *stats, uint64_t now_ns,
                       const struct rssl_outq_stats *out)
{
    const uint64_t totals[P2PS_RATES] = {
        [P2PS_RATE_MSGS] = out->message_count,
        [P2PS_RATE_BYTES] = out->wire_bytes,
    };
    uint64_t rates[P2PS_RATES];

    p2ps_rates_take(&stats->rates, now_ns, totals, rates);
    stats_gauge_set(stats->entries[MOUNT_MSGS_OUT_RATE], rates[P2PS_RATE_MSGS]);
    stats_gauge_set(stats->entries[MOUNT_BYTES_OUT_RATE], rates[P2PS_RATE_BYTES]);
}

/* "10.1.2.3:40112", or, when that is known, "10.1.2.3:40112 (its name)". */
static void show_host(struct p2ps_mount *mount, const char *address)
{
    const char *name = mount->name ? p2ps_name_text(mount->name) : NULL;
    char text[STATS_STRING_BYTES];

    if (name)
        snprintf(text, sizeof(text), "%s (%s)", address, name);
    show_text(mount->stats->segment, &mount->stats->host, name ? text : address);
}

static void show_mount(struct p2ps_mount *mount, const struct p2ps_client_info *client)
{
    struct p2ps_mount_stats *stats = mount->stats;
    const struct rssl_outq *outq = rssl_channel_outq(mount->channel);
    const struct rssl_channel_stats *in = rssl_channel_stats(mount->channel);
    struct rssl_outq_stats out;

    rssl_outq_stats(outq, &out);
    show_text(stats->segment, &stats->user, client->user);
    show_text(stats->segment, &stats->position, client->position);
    show_text(stats->segment, &stats->application_id, client->application_id);
    show_host(mount, client->address);
    stats_gauge_set(stats->entries[MOUNT_ITEMS], client->streams);
    stats_gauge_set(stats->entries[MOUNT_BUFFERS], rssl_outq_depth(outq));
    stats_gauge_set(stats->entries[MOUNT_BUFFERS_MAX], outq->config.max_buffers);
    stats_gauge_set(stats->entries[MOUNT_SLOW], outq->is_slow || client->is_slow);
    stats_gauge_set(stats->entries[MOUNT_RTT_US], client->rtt_us);
    md_ctr_set(&stats->entries[MOUNT_MSGS_IN]->value, in->message_count);
    md_ctr_set(&stats->entries[MOUNT_BYTES_IN]->value, in->bytes_in);
    md_ctr_set(&stats->entries[MOUNT_MSGS_OUT]->value, out.message_count);
    md_ctr_set(&stats->entries[MOUNT_BYTES_OUT]->value, out.wire_bytes);
    show_rates(stats, md_loop_now(mount->worker->loop), &out);
}

void p2ps_mounts_show(struct p2ps_worker *worker, uint64_t *buffers, uint64_t *buffers_max)
{
    struct p2ps_client_info client;

    *buffers = *buffers_max = 0;
    for (struct p2ps_mount *mount = worker->mounts; mount; mount = mount->next) {
        const struct rssl_outq *outq = rssl_channel_outq(mount->channel);

        if (!p2ps_client_info(worker->core, mount->client, &client) || !client.is_used)
            continue;
        if (!mount->stats)
            mount->stats = create(worker);
        if (mount->stats)
            show_mount(mount, &client);
        *buffers += rssl_outq_depth(outq);
        *buffers_max += outq->config.max_buffers;
    }
}

static void show_service(struct stats_segment *segment, const struct rrmp_sink_service *service,
                         uint16_t id, bool is_forgotten)
{
    const char *name = (const char *)service->name.bytes;
    int length = (int)service->name.length;
    struct stats_entry *entry =
        stats_entry_addf(segment, STATS_KIND_STRING, "p2ps.service.%.*s.state", length, name);
    uint64_t mark = 1u + service->is_up + 2u * service->is_accepting + 4u * is_forgotten;

    if (md_ctr_get(&entry->aux) != mark) {
        md_ctr_set(&entry->aux, mark);
        stats_string_set(segment, entry,
                         is_forgotten             ? "deleted"
                         : !service->is_up        ? "down"
                         : !service->is_accepting ? "not accepting"
                                                  : "up");
    }
    stats_gauge_set(
        stats_entry_addf(segment, STATS_KIND_GAUGE, "p2ps.service.%.*s.serviceId", length, name),
        id);
    stats_gauge_set(
        stats_entry_addf(segment, STATS_KIND_GAUGE, "p2ps.service.%.*s.instances", length, name),
        service->instance_count);
}

/* Every worker knows the same services: the first one shows them. */
void p2ps_services_show(struct p2ps_worker *worker)
{
    struct stats_segment *segment = worker->config.daemon->stats;
    struct rrmp_sink_service service;
    uint64_t count = 0, down = 0;

    for (unsigned network = 0; network < worker->config.core.network_count; network++) {
        const struct rrmp_sink *sink = p2ps_core_sink(worker->core, network);
        for (uint16_t i = 0; rrmp_sink_service(sink, i, &service); i++) {
            if (!p2ps_core_service_is_taken(worker->core, network, i))
                continue;
            bool is_forgotten = p2ps_core_service_is_forgotten(worker->core, network, i);
            show_service(segment, &service, p2ps_core_service_id(worker->core, network, i),
                         is_forgotten);
            count += !is_forgotten;
            down += !service.is_up && !is_forgotten;
        }
    }
    stats_gauge_set(stats_entry_add(segment, STATS_KIND_GAUGE, "p2ps.services"), count);
    stats_gauge_set(stats_entry_add(segment, STATS_KIND_GAUGE, "p2ps.servicesDown"), down);
}
