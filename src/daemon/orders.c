/* orders.c - see daemon/orders.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/orders.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/err.h"

struct daemon_orders {
    struct daemon_orders_config config;
    struct md_loop_wake *wake;  /* the control loop's: a thread is done */
    struct daemon_order *first; /* under way; behind it those that wait */
    unsigned count;
    _Atomic(struct daemon_order *) slots[DAEMON_THREADS_MAX]; /* what each thread has to do */
};

static void order_free(struct daemon_order *order)
{
    for (unsigned i = 0; i < order->orders->config.thread_count; i++)
        daemon_text_free(&order->parts[i].text);
    free(order);
}

static void start(struct daemon_orders *orders)
{
    struct daemon_order *order = orders->first;

    atomic_store(&order->left, orders->config.thread_count);
    for (unsigned i = 0; i < orders->config.thread_count; i++) {
        atomic_store(&orders->slots[i], order);
        orders->config.wake(orders->config.owner, i);
    }
}

bool daemon_orders_work(const struct daemon *daemon, unsigned thread, bool is_over,
                        daemon_step_fn step, void *owner)
{
    struct daemon_orders *orders = atomic_load(&daemon->orders);
    struct daemon_order *order = orders ? atomic_load(&orders->slots[thread]) : NULL;

    if (!order)
        return false;
    if (!is_over && !step(owner, order, &order->parts[thread]))
        return true;
    atomic_store(&orders->slots[thread], NULL);
    if (atomic_fetch_sub(&order->left, 1) == 1)
        md_loop_wake_ring(orders->wake);
    return false;
}

/* The header, then what each thread wrote, then how much was left out. */
static void report(struct daemon_order *order)
{
    const struct daemon_order_kind *kind = &order->orders->config.kinds[order->kind];
    struct daemon_text *text = daemon_request_text(order->request);
    uint64_t found = 0, shown = 0;

    for (unsigned i = 0; i < order->orders->config.thread_count; i++)
        found += order->parts[i].found;
    if (found == 0) {
        daemon_request_refuse(order->request, "%s", kind->missing);
        return;
    }
    daemon_text_add(text, "%s\n", kind->header);
    for (unsigned i = 0; i < order->orders->config.thread_count; i++) {
        const struct daemon_order_part *part = &order->parts[i];
        shown += part->shown;
        daemon_text_add_bytes(text, part->text.bytes, part->text.length);
        text->is_cut |= part->text.is_cut;
    }
    if (shown < found)
        daemon_text_add(text, "... and %" PRIu64 " more\n", found - shown);
    daemon_request_done(order->request, "%" PRIu64 " %s", found, kind->outcome);
}

static void on_done(void *owner)
{
    struct daemon_orders *orders = owner;
    struct daemon_order *order = orders->first;

    if (!order || atomic_load(&order->left) != 0)
        return;
    orders->first = order->next;
    orders->count--;
    report(order);
    order_free(order);
    if (orders->first)
        start(orders);
}

struct daemon_order *daemon_order_create(struct daemon_request *request, unsigned kind)
{
    struct daemon_orders *orders = atomic_load(&daemon_request_daemon(request)->orders);
    struct daemon_order *order = NULL;

    if (orders->count < DAEMON_ORDERS_MAX)
        order = calloc(1, sizeof(*order));
    if (!order) {
        daemon_request_refuse(request,
                              "busy: %u requests wait for the threads of this daemon already",
                              orders->count);
        return NULL;
    }
    order->kind = kind;
    order->orders = orders;
    order->request = request;
    for (unsigned i = 0; i < orders->config.thread_count; i++)
        order->parts[i].text.max = DAEMON_ADMIN_ANSWER / orders->config.thread_count;
    return order;
}

void daemon_order_post(struct daemon_order *order)
{
    struct daemon_orders *orders = order->orders;
    struct daemon_order **at = &orders->first;

    while (*at)
        at = &(*at)->next;
    *at = order;
    orders->count++;
    if (orders->first == order)
        start(orders);
}

/* ---- verbs ---- */

void daemon_order_word(struct daemon_order *order, unsigned number, const char *word)
{
    snprintf(order->words[number], sizeof(order->words[number]), "%s", word ? word : "");
}

void daemon_orders_list(void *owner, struct daemon_request *request)
{
    const struct daemon_orders *orders = atomic_load(&daemon_request_daemon(request)->orders);
    const char *what = daemon_request_word(request, 0);

    (void)owner;
    for (unsigned i = 0; i < orders->config.kind_count; i++) {
        const char *list = orders->config.kinds[i].list;
        if (!list || strcmp(list, what) != 0)
            continue;
        struct daemon_order *order = daemon_order_create(request, i);
        if (!order)
            return;
        daemon_order_word(order, 0, daemon_request_word(request, 1));
        daemon_order_post(order);
        return;
    }
    daemon_request_refuse(request, "%s, not \"%.40s\"", orders->config.lists, what);
}

void daemon_orders_trace(void *owner, struct daemon_request *request)
{
    const struct daemon_orders *orders = atomic_load(&daemon_request_daemon(request)->orders);
    struct daemon_order *order = daemon_order_create(request, orders->config.trace);

    (void)owner;
    if (!order)
        return;
    daemon_order_word(order, 0, daemon_request_word(request, 0));
    daemon_order_word(order, 1, daemon_request_word(request, 1));
    daemon_order_post(order);
}

/* ---- life ---- */

int daemon_orders_open(const struct daemon_orders_config *config)
{
    struct daemon_orders *orders = calloc(1, sizeof(*orders));
    int err = orders ? MD_OK : MD_ERR_NOMEM;

    MD_ASSERT(config->thread_count > 0 && config->thread_count <= DAEMON_THREADS_MAX);
    if (err == MD_OK)
        err = md_loop_wake_create(config->daemon->loop, on_done, orders, &orders->wake);
    if (err != MD_OK) {
        free(orders);
        return err;
    }
    orders->config = *config;
    atomic_store(&config->daemon->orders, orders);
    return MD_OK;
}

void daemon_orders_close(struct daemon *daemon)
{
    struct daemon_orders *orders = atomic_load(&daemon->orders);

    if (!orders)
        return;
    atomic_store(&daemon->orders, NULL);
    while (orders->first) {
        struct daemon_order *order = orders->first;
        orders->first = order->next;
        order_free(order);
    }
    md_loop_wake_destroy(orders->wake);
    free(orders);
}
