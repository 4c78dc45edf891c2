/* control.c - see control.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "control.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "loop_orders.h"

static const char provider_header[] = "ID PROVIDER KIND STATE SERVICES STREAMS OUTSTANDING UPDATES";
static const char item_header[] =
    "SERVICE ITEM DOMAIN STATE PROVIDER STREAM HANDLE SEQUENCE IMAGE REQUESTERS";

static const struct daemon_order_kind kinds[] = {
    [ROUTE_LOOP_PROVIDERS] = { provider_header, "listed", "no provider is connected" },
    [ROUTE_LOOP_SERVICES] = { "SERVICE ID STATE KIND", "listed",
                              "no provider has announced a service" },
    [ROUTE_LOOP_ITEMS] = { item_header, "listed", "no such item is held here" },
    [ROUTE_LOOP_TRACE] = { item_header, "found", "this src_dist does not hold that item" },
    [ROUTE_LOOP_KICK] = { provider_header, "disconnected",
                          "no such provider is connected; list providers has them" },
};

static struct daemon_order *create(struct src_dist *sd, struct daemon_request *request,
                                   enum route_loop_order kind)
{
    return daemon_order_create(atomic_load(&sd->daemon.orders), request, kind);
}

static void take_word(struct daemon_order *order, unsigned number, const char *word)
{
    snprintf(order->words[number], sizeof(order->words[number]), "%s", word ? word : "");
}

static void act_list(void *owner, struct daemon_request *request)
{
    static const struct {
        const char *name;
        enum route_loop_order kind;
    } lists[] = { { "providers", ROUTE_LOOP_PROVIDERS },
                  { "services", ROUTE_LOOP_SERVICES },
                  { "items", ROUTE_LOOP_ITEMS } };
    const char *what = daemon_request_word(request, 0);

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        if (strcmp(lists[i].name, what) != 0)
            continue;
        struct daemon_order *order = create(owner, request, lists[i].kind);
        if (!order)
            return;
        take_word(order, 0, daemon_request_word(request, 1));
        daemon_order_post(order);
        return;
    }
    daemon_request_refuse(request, "src_dist lists providers, services and items, not \"%.40s\"",
                          what);
}

static void act_trace(void *owner, struct daemon_request *request)
{
    struct daemon_order *order = create(owner, request, ROUTE_LOOP_TRACE);

    if (!order)
        return;
    take_word(order, 0, daemon_request_word(request, 0));
    take_word(order, 1, daemon_request_word(request, 1));
    daemon_order_post(order);
}

static void act_kick(void *owner, struct daemon_request *request)
{
    const char *what = daemon_request_word(request, 0);
    unsigned loop, provider;
    int end = 0;

    if (sscanf(what, "%u.%u%n", &loop, &provider, &end) != 2 || what[end]) {
        daemon_request_refuse(request,
                              "\"%.40s\" is no provider; list providers has their numbers, for "
                              "example 0.0",
                              what);
        return;
    }
    struct daemon_order *order = create(owner, request, ROUTE_LOOP_KICK);
    if (!order)
        return;
    order->numbers[0] = loop;
    order->numbers[1] = provider;
    daemon_order_post(order);
}

static const struct daemon_verb verbs[] = {
    { "list", "providers|services|items [SERVICE]", "what there is; at most 1,000 items a network",
      1, false, act_list },
    { "trace", "SERVICE ITEM", "where an item is: provider, handle, last record, requesters", 2,
      false, act_trace },
    { "kick", "ID", "disconnect a provider; a route dials again", 1, true, act_kick },
};

static void wake(void *owner, unsigned thread)
{
    struct src_dist *sd = owner;

    md_loop_wake_ring(sd->networks[thread]->loop->wake);
}

void src_dist_control_open(struct src_dist *sd)
{
    const struct daemon_orders_config config = { .daemon = &sd->daemon,
                                                 .thread_count = sd->network_count,
                                                 .wake = wake,
                                                 .owner = sd,
                                                 .kinds = kinds };

    if (daemon_orders_open(&config) == MD_OK)
        daemon_admin_open(&sd->daemon, verbs, sizeof(verbs) / sizeof(verbs[0]), sd);
}
