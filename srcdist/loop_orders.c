/* loop_orders.c - see loop_orders.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "loop_orders.h"

#include <inttypes.h>
#include <string.h>

#include "daemon/orders.h"
#include "operator.h"

/* In one turn: about 50 us. */
enum { ITEMS_A_STEP = 256, ITEMS_SHOWN = 1000 };

static void add_word(struct daemon_text *text, const char *word)
{
    daemon_text_add_word(text, word, strlen(word));
}

static void add_provider(struct daemon_order_part *part, const struct route_loop *loop,
                         uint32_t number, const struct srcdist_provider_info *provider)
{
    part->found++;
    part->shown++;
    daemon_text_add(&part->text, "%u.%" PRIu32 " ", loop->config.index, number);
    add_word(&part->text, provider->name);
    daemon_text_add(&part->text, " ");
    add_word(&part->text, provider->user && provider->user[0] ? provider->user : "-");
    daemon_text_add(&part->text, " %s %s %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu64 "\n",
                    provider->kind, provider->state, provider->services, provider->streams,
                    provider->outstanding, provider->updates);
}

static bool list_providers(struct daemon_order_part *part, const struct route_loop *loop)
{
    struct srcdist_provider_info provider;

    for (uint32_t i = 0; srcdist_provider_info(loop->core, i, &provider); i++) {
        if (provider.is_used)
            add_provider(part, loop, i, &provider);
    }
    return true;
}

static bool list_services(struct daemon_order_part *part, const struct route_loop *loop)
{
    struct srcdist_service_info service;

    for (uint32_t i = 0; srcdist_service_info(loop->core, i, &service); i++) {
        if (!service.is_used)
            continue;
        part->found++;
        part->shown++;
        add_word(&part->text, service.name);
        daemon_text_add(&part->text, " %u %s %s %" PRIu32 " %" PRIu64 "\n", service.id,
                        service.state, service.is_broadcast ? "broadcast" : "on-request",
                        service.active, service.updates);
    }
    return true;
}

static void add_item(struct daemon_text *text, const struct srcdist_item_info *item)
{
    add_word(text, item->service);
    daemon_text_add(text, " ");
    daemon_text_add_word(text, (const char *)item->name.data, item->name.length);
    daemon_text_add(text, " %u %s ", item->domain, item->state);
    add_word(text, item->provider);
    daemon_text_add(text, " %" PRId32 " ", item->stream_id);
    if (item->is_bound)
        daemon_text_add(text, "%" PRIu32 " %" PRIu32, item->handle, item->item_seq);
    else
        daemon_text_add(text, "- -");
    daemon_text_add(text, " %s %" PRIu32 "\n", item->has_image ? "cached" : "-",
                    item->requester_count);
}

static bool is_text(struct rwf_bytes bytes, const char *text)
{
    return bytes.length == strlen(text) && memcmp(bytes.data, text, bytes.length) == 0;
}

static bool step_items(const struct daemon_order *order, struct daemon_order_part *part,
                       const struct route_loop *loop)
{
    struct srcdist_item_info item;
    bool is_trace = order->kind == ROUTE_LOOP_TRACE;

    for (unsigned i = 0; i < ITEMS_A_STEP; i++) {
        if (!srcdist_core_item(loop->core, part->cursor, &item))
            return true;
        part->cursor++;
        if (!item.is_used || (order->words[0][0] && strcmp(item.service, order->words[0]) != 0) ||
            (is_trace && !is_text(item.name, order->words[1])))
            continue;
        part->found++;
        if (part->shown == ITEMS_SHOWN)
            continue;
        part->shown++;
        add_item(&part->text, &item);
    }
    return false;
}

static bool kick(const struct daemon_order *order, struct daemon_order_part *part,
                 struct route_loop *loop)
{
    struct srcdist_provider_info provider;
    uint32_t number = order->numbers[1];

    if (loop->config.index != order->numbers[0] ||
        !srcdist_provider_info(loop->core, number, &provider) || !provider.is_used)
        return true;
    add_provider(part, loop, number, &provider);
    (void)srcdist_provider_kick(loop->core, number, "an operator disconnected it (rmdsctl kick)");
    return true;
}

static bool step(void *owner, const struct daemon_order *order, struct daemon_order_part *part)
{
    struct route_loop *loop = owner;

    switch ((enum route_loop_order)order->kind) {
    case ROUTE_LOOP_PROVIDERS:
        return list_providers(part, loop);
    case ROUTE_LOOP_SERVICES:
        return list_services(part, loop);
    case ROUTE_LOOP_ITEMS:
    case ROUTE_LOOP_TRACE:
        return step_items(order, part, loop);
    case ROUTE_LOOP_KICK:
        return kick(order, part, loop);
    }
    return true;
}

void route_loop_orders(struct route_loop *loop)
{
    bool is_over = atomic_load_explicit(&loop->stop, memory_order_acquire);

    if (daemon_orders_work(loop->config.daemon, loop->config.index, is_over, step, loop))
        md_loop_wake_ring(loop->wake);
}
