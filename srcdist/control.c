/* control.c - see control.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "control.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "loop_orders.h"

static const char provider_header[] =
    "ID PROVIDER USER KIND STATE SERVICES STREAMS OUTSTANDING UPDATES";
static const char item_header[] =
    "SERVICE ITEM DOMAIN STATE PROVIDER STREAM HANDLE SEQUENCE IMAGE REQUESTERS";

static const struct daemon_order_kind kinds[] = {
    [ROUTE_LOOP_PROVIDERS] = { "providers", provider_header, "listed", "no provider is connected" },
    [ROUTE_LOOP_SERVICES] = { "services", "SERVICE ID STATE KIND ITEMS UPDATES", "listed",
                              "no provider has announced a service" },
    [ROUTE_LOOP_ITEMS] = { "items", item_header, "listed", "no such item is held here" },
    [ROUTE_LOOP_TRACE] = { NULL, item_header, "found", "this src_dist does not hold that item" },
    [ROUTE_LOOP_KICK] = { NULL, provider_header, "disconnected",
                          "no such provider is connected; list providers has them" },
};

static void act_kick(void *owner, struct daemon_request *request)
{
    const char *what = daemon_request_word(request, 0);
    unsigned loop, provider;
    int end = 0;

    (void)owner;
    if (sscanf(what, "%u.%u%n", &loop, &provider, &end) != 2 || what[end]) {
        daemon_request_refuse(request,
                              "\"%.40s\" is no provider; list providers has their numbers, for "
                              "example 0.0",
                              what);
        return;
    }
    struct daemon_order *order = daemon_order_create(request, ROUTE_LOOP_KICK);
    if (!order)
        return;
    order->numbers[0] = loop;
    order->numbers[1] = provider;
    daemon_order_post(order);
}

static const struct daemon_verb verbs[] = {
    { "list", "providers|services|items [SERVICE]", "what there is; at most 1,000 items a network",
      1, false, daemon_orders_list },
    { "trace", "SERVICE ITEM", "where an item is: provider, handle, last record, requesters", 2,
      false, daemon_orders_trace },
    { "kick", "ID", "disconnect a provider; a route dials again", 1, true, act_kick },
};

static void wake(void *owner, unsigned thread)
{
    struct src_dist *sd = owner;

    md_loop_wake_ring(sd->networks[thread]->loop->wake);
}

void src_dist_control_open(struct src_dist *sd)
{
    const struct daemon_orders_config config = {
        .daemon = &sd->daemon,
        .thread_count = sd->network_count,
        .wake = wake,
        .owner = sd,
        .kinds = kinds,
        .kind_count = sizeof(kinds) / sizeof(kinds[0]),
        .trace = ROUTE_LOOP_TRACE,
        .lists = "src_dist lists providers, services and items"
    };

    if (daemon_orders_open(&config) == MD_OK)
        daemon_admin_open(&sd->daemon, verbs, sizeof(verbs) / sizeof(verbs[0]), sd);
}
