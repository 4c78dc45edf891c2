/* worker_orders.c - see worker_orders.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "worker_orders.h"

#include <inttypes.h>
#include <string.h>

#include "control.h"
#include "operator.h"

/* In one turn: about 50 us. */
enum { CLIENTS_A_STEP = 64, ITEMS_A_STEP = 256, KICKS_A_STEP = 4, ITEMS_SHOWN = 1000 };
enum { WATCHERS_SHOWN = 50 };

static void add_field(struct daemon_text *text, struct rwf_bytes bytes)
{
    daemon_text_add_word(text, (const char *)bytes.data, bytes.length);
}

static void add_word(struct daemon_text *text, const char *word)
{
    daemon_text_add(text, " ");
    daemon_text_add_word(text, word, strlen(word));
}

/* "0.12"; the number is 0 in the first second of a mount. */
static void add_mount(struct daemon_text *text, const struct p2ps_worker *worker,
                      const struct p2ps_client_info *client)
{
    const struct p2ps_mount *mount = client->self;

    daemon_text_add(text, "%u.%" PRIu32, worker->config.index,
                    mount->stats ? p2ps_mount_stats_number(mount->stats) : 0);
    add_word(text, client->user);
}

static bool step_mounts(struct daemon_order_part *part, const struct p2ps_worker *worker)
{
    struct p2ps_client_info client;

    for (unsigned i = 0; i < CLIENTS_A_STEP; i++) {
        if (!p2ps_client_info(worker->core, part->cursor, &client))
            return true;
        part->cursor++;
        if (!client.is_used)
            continue;
        part->found++;
        part->shown++;
        add_mount(&part->text, worker, &client);
        add_word(&part->text, client.address);
        add_word(&part->text, client.position);
        add_word(&part->text, client.application_id);
        daemon_text_add(&part->text, " %" PRIu32 " %" PRIu64 " %s\n", client.streams,
                        client.updates_out,
                        client.is_merging ? "conflated"
                        : client.is_slow  ? "slow"
                                          : "-");
    }
    return false;
}

/* Every worker knows the same services: the first one lists them. */
static bool step_services(struct daemon_order_part *part, const struct p2ps_worker *worker)
{
    struct rrmp_sink_service service;

    for (unsigned network = 0;
         worker->config.index == 0 && network < worker->config.core.network_count; network++) {
        const struct rrmp_sink *sink = p2ps_core_sink(worker->core, network);
        for (uint16_t i = 0; i < rrmp_sink_service_count(sink); i++) {
            if (!p2ps_core_service_is_taken(worker->core, network, i) ||
                !rrmp_sink_service(sink, i, &service))
                continue;
            part->found++;
            part->shown++;
            daemon_text_add_word(&part->text, (const char *)service.name.bytes,
                                 service.name.length);
            daemon_text_add(&part->text, " %u %s %u\n",
                            p2ps_core_service_id(worker->core, network, i),
                            p2ps_core_service_is_forgotten(worker->core, network, i) ? "deleted"
                            : !service.is_up                                         ? "down"
                            : !service.is_accepting ? "not-accepting"
                                                    : "up",
                            service.instance_count);
        }
    }
    return true;
}

static bool is_text(struct rwf_bytes bytes, const char *text)
{
    return bytes.length == strlen(text) && memcmp(bytes.data, text, bytes.length) == 0;
}

static void add_item(struct daemon_text *text, const struct p2ps_worker *worker,
                     const struct p2ps_item_info *item)
{
    add_field(text, item->service);
    daemon_text_add(text, " ");
    add_field(text, item->name);
    daemon_text_add(text, " %u %u %s%s ", worker->config.index, item->domain, item->state,
                    item->is_suspect ? ",suspect" : "");
    add_field(text, item->source);
    if (item->is_bound)
        daemon_text_add(text, " %" PRIu32 " %" PRIu32, item->handle, item->item_seq);
    else
        daemon_text_add(text, " - -");
    daemon_text_add(text, " %" PRIu32 "\n", item->watch_count);
}

static void add_watchers(struct daemon_text *text, const struct p2ps_worker *worker, uint32_t item)
{
    struct p2ps_client_info client;
    uint32_t number, shown = 0, left = 0;
    int32_t stream_id;

    for (uint32_t i = 0; p2ps_core_item_watch(worker->core, item, i, &number, &stream_id); i++) {
        if (number == UINT32_MAX || !p2ps_client_info(worker->core, number, &client) ||
            !client.is_used)
            continue;
        if (shown == WATCHERS_SHOWN) {
            left++;
            continue;
        }
        shown++;
        daemon_text_add(text, "  watcher ");
        add_mount(text, worker, &client);
        add_word(text, client.address);
        daemon_text_add(text, " %" PRId32 "\n", stream_id);
    }
    if (left)
        daemon_text_add(text, "  ... and %" PRIu32 " watchers more\n", left);
}

static bool step_items(const struct daemon_order *order, struct daemon_order_part *part,
                       const struct p2ps_worker *worker)
{
    struct p2ps_item_info item;
    bool is_trace = order->kind == P2PS_ORDER_TRACE;

    for (unsigned i = 0; i < ITEMS_A_STEP; i++) {
        uint32_t number = part->cursor;
        if (!p2ps_core_item(worker->core, number, &item))
            return true;
        part->cursor++;
        if (!item.is_used || (order->words[0][0] && !is_text(item.service, order->words[0])) ||
            (is_trace && !is_text(item.name, order->words[1])))
            continue;
        part->found++;
        if (part->shown == ITEMS_SHOWN)
            continue;
        part->shown++;
        add_item(&part->text, worker, &item);
        if (is_trace)
            add_watchers(&part->text, worker, number);
    }
    return false;
}

static bool is_meant(const struct daemon_order *order, const struct p2ps_worker *worker,
                     const struct p2ps_client_info *client)
{
    const struct p2ps_mount *mount = client->self;

    if (order->is_all)
        return true;
    if (order->words[0][0])
        return strcmp(client->user, order->words[0]) == 0;
    return worker->config.index == order->numbers[0] && mount->stats &&
           p2ps_mount_stats_number(mount->stats) == order->numbers[1];
}

static bool step_kick(const struct daemon_order *order, struct daemon_order_part *part,
                      struct p2ps_worker *worker)
{
    struct p2ps_client_info client;
    unsigned kicks = 0;

    for (unsigned i = 0; i < CLIENTS_A_STEP && kicks < KICKS_A_STEP; i++) {
        uint32_t number = part->cursor;
        if (!p2ps_client_info(worker->core, number, &client))
            return true;
        part->cursor++;
        if (!client.is_used || !is_meant(order, worker, &client))
            continue;
        part->found++;
        part->shown++;
        kicks++;
        add_mount(&part->text, worker, &client);
        add_word(&part->text, client.address);
        daemon_text_add(&part->text, "\n");
        p2ps_client_kick(worker->core, md_loop_now(worker->loop), number,
                         "an operator disconnected it (rmdsctl kick)");
    }
    return false;
}

static bool step(void *owner, const struct daemon_order *order, struct daemon_order_part *part)
{
    struct p2ps_worker *worker = owner;

    switch ((enum p2ps_order)order->kind) {
    case P2PS_ORDER_MOUNTS:
        return step_mounts(part, worker);
    case P2PS_ORDER_SERVICES:
        return step_services(part, worker);
    case P2PS_ORDER_ITEMS:
    case P2PS_ORDER_TRACE:
        return step_items(order, part, worker);
    case P2PS_ORDER_KICK:
        return step_kick(order, part, worker);
    }
    return true;
}

void p2ps_worker_orders(struct p2ps_worker *worker)
{
    bool is_over = worker->stop_asked; /* the core is left alone from there on */

    if (daemon_orders_work(worker->config.daemon, worker->config.index, is_over, step, worker))
        md_loop_wake_ring(worker->wake);
}

void p2ps_worker_wake(void *worker)
{
    md_loop_wake_ring(((struct p2ps_worker *)worker)->wake);
}

void p2ps_worker_stop(struct p2ps_worker *worker)
{
    atomic_store_explicit(&worker->stop, true, memory_order_release);
    md_loop_wake_ring(worker->wake);
}
