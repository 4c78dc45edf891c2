/* mount_stats.c - each mount and the queues, out to the statistics segment. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "names.h"
#include "rates.h"
#include "stats/rows.h"
#include "worker.h"

/* One mount as p2ps.mount.<worker>.<number>.<name> shows it. */
struct shown {
    const char *user, *position, *host, *application_id, *kind, *because;
    uint64_t items, buffers, buffers_max, is_slow, rtt_us;
    uint64_t messages_in, bytes_in, messages_out, bytes_out;
    uint64_t rates[P2PS_RATES]; /* of what goes out */
    uint64_t since_ns;
    uint64_t first_slow_ns, merged, lost, worst_lag_us, behind_bytes, is_conflated;
    uint64_t output_rate;
};

#define ROW(kind, name, member) STATS_ROW(STATS_KIND_##kind, name, struct shown, member)

static const struct stats_row rows[] = {
    ROW(STRING, "user", user),
    ROW(STRING, "position", position),
    ROW(STRING, "host", host),
    ROW(STRING, "applicationId", application_id),
    ROW(STRING, "kind", kind),
    ROW(STRING, "toldBecause", because),
    ROW(GAUGE, "items", items),
    ROW(GAUGE, "buffers", buffers),
    ROW(GAUGE, "buffersMax", buffers_max),
    ROW(GAUGE, "slow", is_slow),
    ROW(GAUGE, "rttUs", rtt_us), /* 0: not measured */
    ROW(COUNTER, "msgsIn", messages_in),
    ROW(COUNTER, "bytesIn", bytes_in),
    ROW(COUNTER, "msgsOut", messages_out),
    ROW(COUNTER, "bytesOut", bytes_out),
    ROW(GAUGE, "msgsOutRate", rates[P2PS_RATE_MSGS]),
    ROW(GAUGE, "bytesOutRate", rates[P2PS_RATE_BYTES]),
    ROW(TIME, "since", since_ns),
    ROW(GAUGE, "conflated", is_conflated),
    ROW(TIME, "firstSlow", first_slow_ns), /* 0: never */
    ROW(COUNTER, "slowMerged", merged),
    ROW(COUNTER, "slowLost", lost),
    ROW(GAUGE, "worstLagUs", worst_lag_us),
    ROW(GAUGE, "behindBytes", behind_bytes),
    ROW(GAUGE, "outputRate", output_rate), /* bytes a second, 0: no limit */
};

struct p2ps_mount_stats {
    struct stats_group *group;
    uint32_t number;
    uint64_t since_ns;
    struct p2ps_rates rates; /* over sessionStatsWindow */
};

static struct p2ps_mount_stats *create(struct p2ps_worker *worker)
{
    struct p2ps_mount_stats *stats = calloc(1, sizeof(*stats));
    char prefix[64];

    if (!stats)
        return NULL;
    snprintf(prefix, sizeof(prefix), "p2ps.mount.%u.%u.", worker->config.index,
             ++worker->mounts_shown);
    stats->group =
        stats_group_create(rows, STATS_ROW_COUNT(rows), worker->config.daemon->stats, prefix);
    stats->number = worker->mounts_shown;
    stats->rates.window_ns = worker->config.stats_window_ns;
    stats->since_ns = md_clock_wall_ns();
    return stats;
}

uint32_t p2ps_mount_stats_number(const struct p2ps_mount_stats *stats)
{
    return stats->number;
}

void p2ps_mount_stats_destroy(struct p2ps_mount_stats *stats)
{
    if (!stats)
        return;
    stats_group_destroy(stats->group);
    free(stats);
}

/* "10.1.2.3:40112", or, when that is known, "10.1.2.3:40112 (its name)". */
static const char *host_text(const struct p2ps_mount *mount, const char *address,
                             char text[STATS_STRING_BYTES])
{
    const char *name = mount->name ? p2ps_name_text(mount->name) : NULL;

    if (!name)
        return address;
    snprintf(text, STATS_STRING_BYTES, "%s (%s)", address, name);
    return text;
}

/* "RSSL"; over another transport than TCP "RSSL/rsocket". */
static const char *kind_text(const struct p2ps_mount *mount, char text[STATS_STRING_BYTES])
{
    const char *transport = net_stream_transport(mount->stream);

    if (strcmp(transport, "tcp") == 0)
        return mount->protocol->name;
    snprintf(text, STATS_STRING_BYTES, "%s/%s", mount->protocol->name, transport);
    return text;
}

static void show_mount(struct p2ps_mount *mount, const struct p2ps_client_info *client)
{
    struct p2ps_mount_stats *stats = mount->stats;
    struct p2ps_mount_figures now;
    char host[STATS_STRING_BYTES], kind[STATS_STRING_BYTES], because[STATS_STRING_BYTES];

    mount->protocol->figures(mount, &now);
    p2ps_reasons_text(client->reasons, because, sizeof(because));
    struct shown shown = {
        .user = client->user,
        .position = client->position,
        .host = host_text(mount, client->address, host),
        .application_id = client->application_id,
        .kind = kind_text(mount, kind),
        .because = because,
        .items = client->streams,
        .buffers = now.buffers,
        .buffers_max = now.buffers_max,
        .is_slow = now.is_slow || client->is_slow,
        .rtt_us = client->rtt_us,
        .messages_in = now.messages_in,
        .bytes_in = now.bytes_in,
        .messages_out = now.messages_out,
        .bytes_out = now.bytes_out,
        .since_ns = stats->since_ns,
        .is_conflated = client->is_merging,
        .first_slow_ns = client->first_slow_s * 1000000000u,
        .merged = client->merged,
        .lost = client->lost,
        .worst_lag_us = client->worst_lag_ns / 1000,
        .behind_bytes = client->behind_bytes,
        .output_rate = mount->ceiling.rate,
    };
    const uint64_t totals[P2PS_RATES] = {
        [P2PS_RATE_MSGS] = now.messages_out,
        [P2PS_RATE_BYTES] = now.bytes_out,
    };
    p2ps_rates_take(&stats->rates, md_loop_now(mount->worker->loop), totals, shown.rates);
    stats_group_set(stats->group, &shown);
}

void p2ps_mounts_show(struct p2ps_worker *worker, uint64_t *buffers, uint64_t *buffers_max)
{
    struct p2ps_client_info client;

    *buffers = *buffers_max = 0;
    for (struct p2ps_mount *mount = worker->mounts; mount; mount = mount->next) {
        struct p2ps_mount_figures now;

        if (!p2ps_client_info(worker->core, mount->client, &client) || !client.is_used)
            continue;
        if (!mount->stats)
            mount->stats = create(worker);
        if (mount->stats)
            show_mount(mount, &client);
        mount->protocol->figures(mount, &now);
        *buffers += now.buffers;
        *buffers_max += now.buffers_max;
    }
}
