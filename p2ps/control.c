/* control.c - see control.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "control.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"

static const struct daemon_order_kind kinds[] = {
    [P2PS_ORDER_MOUNTS] = { "mounts", "ID USER HOST POSITION APPLICATION ITEMS UPDATES SLOW",
                            "listed", "no consumer is connected" },
    [P2PS_ORDER_SERVICES] = { "services", "SERVICE ID STATE SOURCES", "listed",
                              "no service is offered" },
    [P2PS_ORDER_ITEMS] = { "items",
                           "SERVICE ITEM WORKER DOMAIN STATE SOURCE HANDLE SEQUENCE WATCHERS",
                           "listed", "no such item is open" },
    [P2PS_ORDER_TRACE] = { NULL, "SERVICE ITEM WORKER DOMAIN STATE SOURCE HANDLE SEQUENCE WATCHERS",
                           "found", "no consumer of this p2ps has that item open" },
    [P2PS_ORDER_KICK] = { NULL, "ID USER HOST", "disconnected",
                          "no such consumer is connected; list mounts has them" },
};

/* ---- verbs ---- */

static void act_kick(void *owner, struct daemon_request *request)
{
    const char *what = daemon_request_word(request, 0), *user = daemon_request_word(request, 1);
    bool is_user = strcmp(what, "user") == 0, is_all = strcmp(what, "all") == 0;
    unsigned worker = 0, number = 0;
    int end = 0;

    (void)owner;
    if (is_user && !user) {
        daemon_request_refuse(request, "kick user wants a name; list mounts has them");
        return;
    }
    if (!is_user && !is_all &&
        (sscanf(what, "%u.%u%n", &worker, &number, &end) != 2 || what[end] || number == 0)) {
        daemon_request_refuse(request,
                              "\"%.40s\" is no mount; list mounts has their numbers, for example "
                              "0.12",
                              what);
        return;
    }
    struct daemon_order *order = daemon_order_create(request, P2PS_ORDER_KICK);
    if (!order)
        return;
    daemon_order_word(order, 0, is_user ? user : NULL);
    order->is_all = is_all;
    order->numbers[0] = worker;
    order->numbers[1] = number;
    daemon_order_post(order);
}

/* No new consumers; those that are connected stay until they go, or are kicked. */
static void act_drain(void *owner, struct daemon_request *request)
{
    struct p2ps *p2ps = owner;
    const char *word = daemon_request_word(request, 0);
    bool begins = !word || strcmp(word, "on") == 0;
    uint32_t mounts = 0;

    if (word && !begins && strcmp(word, "off") != 0) {
        daemon_request_refuse(request, "drain wants on or off, not \"%.40s\"", word);
        return;
    }
    for (unsigned i = 0; i < p2ps->worker_count; i++)
        mounts += atomic_load_explicit(&p2ps->workers[i]->mount_count, memory_order_relaxed);
    p2ps->is_draining = begins;
    daemon_text_add(daemon_request_text(request),
                    begins ? "new consumers are refused, /ready says 503; %u are connected\n"
                           : "new consumers are accepted again; %u are connected\n",
                    mounts);
    daemon_request_done(request, "draining %s, %u consumers connected", begins ? "begins" : "ends",
                        mounts);
}

bool p2ps_control_drains(struct p2ps *p2ps, unsigned trouble)
{
    struct daemon *daemon = &p2ps->daemon;

    if (p2ps->is_draining)
        daemon_trouble_here(&daemon->troubles, trouble, md_loop_now(daemon->loop), 0,
                            "draining: new consumers are refused",
                            "draining: new consumers are refused, until rmdsctl drain off");
    else
        daemon_trouble_gone(&daemon->troubles, trouble, md_loop_now(daemon->loop),
                            "new consumers are accepted again");
    return p2ps->is_draining;
}

/* ---- life ---- */

static const struct daemon_verb verbs[] = {
    { "list", "mounts|services|items [SERVICE]", "what there is; at most 1,000 items a worker", 1,
      false, daemon_orders_list },
    { "trace", "SERVICE ITEM", "where an item is: source, handle, last record, watchers", 2, false,
      daemon_orders_trace },
    { "kick", "ID | user NAME | all", "disconnect consumers", 1, true, act_kick },
    { "drain", "[on|off]", "refuse new consumers; /ready says 503", 0, true, act_drain },
};

static void wake(void *owner, unsigned thread)
{
    struct p2ps *p2ps = owner;

    md_loop_wake_ring(p2ps->workers[thread]->wake);
}

void p2ps_control_open(struct p2ps *p2ps)
{
    const struct daemon_orders_config config = { .daemon = &p2ps->daemon,
                                                 .thread_count = p2ps->worker_count,
                                                 .wake = wake,
                                                 .owner = p2ps,
                                                 .kinds = kinds,
                                                 .kind_count = sizeof(kinds) / sizeof(kinds[0]),
                                                 .trace = P2PS_ORDER_TRACE,
                                                 .lists = "p2ps lists mounts, services and items" };

    if (daemon_orders_open(&config) == MD_OK)
        daemon_admin_open(&p2ps->daemon, verbs, sizeof(verbs) / sizeof(verbs[0]), p2ps);
}
