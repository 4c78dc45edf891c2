/* route_loop.c - see route_loop.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "route_loop.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/trace.h"
#include "daemon/threads.h"
#include "door.h"
#include "entitle/entitle.h"
#include "loop_orders.h"
#include "rates/rates.h"

#define POLLS_A_TURN 32
#define EVENTS_MAX   64 /* with what is made of them they stay in the first cache */
#define SHOW_NS      100000000ull
#define STOP_NS      200000000ull
#define DRAIN_NS     3500000000ull
#define FULL_SHOWS   2  /* refused in so many shows running: told */
#define ROOM_SHOWS   30 /* nothing refused in so many: over */

/* ---- the backbone ---- */

static void on_attachment(struct route_loop *loop, const struct backbone_event *event)
{
    if (event->type == BACKBONE_ATTACHED || event->type == BACKBONE_DETACHED)
        atomic_store_explicit(&loop->is_attached, event->type == BACKBONE_ATTACHED,
                              memory_order_relaxed);
    if (event->type == BACKBONE_ATTACHED)
        atomic_store_explicit(&loop->has_attached, true, memory_order_relaxed);
    if (event->type == BACKBONE_ATTACHED)
        md_log(MD_LOG_NOTICE, "backbone %s: attached, port %u", loop->config.attach.network,
               event->dst_port);
    else if (event->type == BACKBONE_DETACHED)
        md_log(MD_LOG_ERROR, "backbone %s: lost its rrcpd; trying again every second",
               loop->config.attach.network);
}

static int poll_backbone(struct route_loop *loop)
{
    struct backbone_event events[EVENTS_MAX];
    int total = 0;

    for (int i = 0; i < POLLS_A_TURN; i++) {
        uint64_t now_ns = md_loop_now(loop->loop);
        int count = attach_poll(loop->attach, now_ns, events, EVENTS_MAX);
        if (count == 0) {
            loop->input_is_empty = true;
            break;
        }
        for (int k = 0; k < count; k++) {
            if (events[k].type != BACKBONE_MESSAGE)
                on_attachment(loop, &events[k]);
        }
        srcdist_core_backbone(loop->core, now_ns, events, (size_t)count);
        total += count;
    }
    return total;
}

/* ---- the turn ---- */

/* The next turn begins where this one had to leave off. */
static void begin_with(struct route_loop *loop, struct link **at)
{
    struct link *first = *at;
    struct link **end = at;

    if (!first)
        return;
    *at = NULL;
    for (end = &first->next; *end;)
        end = &(*end)->next;
    *end = loop->links;
    loop->links = first;
}

/* All providers together have one budget of a turn (inputBias): what many of them send must not
 * keep the backbone waiting. */
static int turn_links(struct route_loop *loop, uint64_t now_ns)
{
    struct link **cut = NULL;
    int done = 0;

    for (struct link **at = &loop->links; *at;) {
        struct link *link = *at;

        done += link_turn(link, now_ns, loop->config.input_budget - done);
        if (link->is_dead && !link->is_leaving) {
            *at = link->next;
            link_destroy(link);
        } else {
            at = &link->next;
        }
        if (!cut && done >= loop->config.input_budget)
            cut = at;
    }
    if (cut) {
        loop->input_cut++;
        if (cut != &loop->links)
            begin_with(loop, cut);
    }
    return done;
}

/* Records may wait a little to be packed with others, when the configuration says so. */
static void flush_backbone(struct route_loop *loop, uint64_t now_ns)
{
    uint64_t interval_ns = atomic_load_explicit(&loop->flush_interval_ns, memory_order_relaxed);

    if (interval_ns && now_ns < loop->flush_at_ns)
        return;
    attach_flush(loop->attach);
    md_trace_end(MD_TRACE_FLUSHED);
    loop->flush_at_ns = now_ns + interval_ns;
}

static int work(void *owner)
{
    struct route_loop *loop = owner;
    uint64_t now_ns = md_loop_now(loop->loop);

    md_trace_turn();
    int done = poll_backbone(loop);

    srcdist_core_settle(loop->core, now_ns); /* what waits for room, before updates take it again */
    done += turn_links(loop, now_ns);
    if (now_ns >= srcdist_core_deadline(loop->core)) {
        srcdist_core_tick(loop->core, now_ns, loop->input_is_empty);
        loop->input_is_empty = false;
    }
    srcdist_core_settle(loop->core, now_ns);
    for (struct link *link = loop->links; link; link = link->next) {
        if (link->session && !link->is_blocked &&
            !rssl_outq_is_empty(client_session_outq(link->session)))
            client_session_flush(link->session, now_ns);
    }
    flush_backbone(loop, now_ns);
    return done;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t deadline(void *owner)
{
    struct route_loop *loop = owner;
    uint64_t result = earlier(srcdist_core_deadline(loop->core), attach_deadline(loop->attach));

    for (struct link *link = loop->links; link; link = link->next)
        result = earlier(result, link_deadline(link));
    if (atomic_load_explicit(&loop->flush_interval_ns, memory_order_relaxed))
        result = earlier(result, loop->flush_at_ns);
    return result;
}

/* False: the attachment was looking for work in place of asking to be woken; it asks in a turn. */
static bool arm(void *owner)
{
    return !attach_end_look(((struct route_loop *)owner)->attach);
}

static void nothing(void *owner, int fd, unsigned events)
{
    (void)owner;
    (void)fd;
    (void)events; /* the source's work() does it */
}

/* At the ceiling of items, or under it again. */
static void tell_fullness(struct route_loop *loop)
{
    bool is_full = rrmp_source_is_full(srcdist_core_source(loop->core));

    if (is_full == loop->is_full)
        return;
    loop->is_full = is_full;
    if (is_full)
        md_log(MD_LOG_WARNING,
               "items: %u are open, and there is no room for more (itemLimit, "
               "memoryLimit)",
               srcdist_core_stats(loop->core)->items_now);
    else
        md_log(MD_LOG_NOTICE, "items: there is room for more again");
}

/* More comes in than the backbone takes. A burst is none of the log's business, and who comes and
 * goes around the limit is one fault. */
static void tell_outbound(struct route_loop *loop)
{
    uint64_t refused = srcdist_core_stats(loop->core)->backbone_refused;
    const char *network = loop->config.attach.network;
    bool has_grown = refused != loop->outbound.refused;

    loop->outbound.refused = refused;
    loop->outbound.growing = has_grown ? loop->outbound.growing + 1 : 0;
    loop->outbound.quiet = has_grown ? 0 : loop->outbound.quiet + 1;
    if (!loop->outbound.is_logged && loop->outbound.growing >= FULL_SHOWS) {
        loop->outbound.is_logged = true;
        md_log(MD_LOG_WARNING,
               "backbone %s: outbound ring full: rrcpd takes less than the providers send, they "
               "are read more slowly; see maxDataRate and poolUse of rrcpd",
               network);
    } else if (loop->outbound.is_logged && loop->outbound.quiet >= ROOM_SHOWS) {
        loop->outbound.is_logged = false;
        md_log(MD_LOG_NOTICE, "backbone %s: the outbound ring has room again", network);
    }
}

/* The backbone has had time to hear of it, and every provider has hung up or had time to. */
static void finish_stop(struct route_loop *loop)
{
    uint64_t now_ns = md_loop_now(loop->loop);
    bool is_connected = false;

    for (const struct link *link = loop->links; link; link = link->next)
        is_connected |= link->session != NULL;
    if (now_ns >= loop->stop_at_ns + (is_connected ? DRAIN_NS : 0))
        md_loop_stop(loop->loop);
}

static void on_timer(void *owner)
{
    struct route_loop *loop = owner;

    atomic_store_explicit(&loop->alive_ns, md_loop_now(loop->loop), memory_order_relaxed);
    srcdist_core_wall_set(loop->core, md_loop_now(loop->loop), md_clock_wall_ns());
    route_loop_stats_show(loop);
    tell_fullness(loop);
    tell_outbound(loop);
    if (loop->stop_at_ns)
        finish_stop(loop);
}

static void close_listeners(struct route_loop *loop)
{
    for (unsigned i = 0; i < ROUTE_LISTENERS; i++) {
        md_loop_fd_remove(loop->listener_watches[i]);
        net_listener_close(loop->listeners[i]);
        loop->listener_watches[i] = NULL;
        loop->listeners[i] = NULL;
    }
}

struct route_loop_letter {
    enum { LETTER_RULES, LETTER_ACCESS, LETTER_RATES, LETTER_KINDS } kind;
    struct srcdist_rules rules;
    struct entitle_rules *access;
    struct rates *rates;
};

static void take_rates(struct route_loop *loop, struct rates *rates)
{
    if (srcdist_core_rates_set(loop->core, md_loop_now(loop->loop), rates) != MD_OK)
        md_log(MD_LOG_ERROR, "filterFile: no memory for the new rules; none are in force");
}

static void take_settings(struct route_loop *loop)
{
    struct route_loop_letter letter;

    while (md_mailbox_take(&loop->settings, &letter)) {
        if (letter.kind == LETTER_RULES)
            srcdist_core_rules_set(loop->core, &letter.rules);
        else if (letter.kind == LETTER_RATES)
            take_rates(loop, letter.rates);
        else if (letter.access)
            srcdist_core_access_set(loop->core, md_loop_now(loop->loop), letter.access);
    }
}

/* Stopping: notify every provider, and leave when that output had time to go out. */
static void on_wake(void *owner)
{
    struct route_loop *loop = owner;

    take_settings(loop);
    route_loop_orders(loop);
    if (!atomic_load_explicit(&loop->stop, memory_order_acquire) || loop->stop_at_ns)
        return;
    close_listeners(loop);
    srcdist_core_leave(loop->core, md_loop_now(loop->loop));
    for (struct link *link = loop->links; link; link = link->next)
        link_leave(link);
    attach_flush(loop->attach);
    loop->stop_at_ns = md_loop_now(loop->loop) + STOP_NS;
}

static void on_listener(void *owner, int fd, unsigned events)
{
    struct route_loop *loop = owner;
    struct net_stream *stream;

    (void)fd;
    (void)events;
    for (unsigned i = 0; i < ROUTE_LISTENERS; i++) {
        while (loop->listeners[i] && net_listener_accept(loop->listeners[i], &stream) == MD_OK) {
            loop->config.accepted.packing = atomic_load(&loop->packing);
            net_stream_nodelay_set(stream, atomic_load(&loop->tcp_nodelay));
            struct link *link = door_admit(loop, stream);
            if (!link)
                continue;
            link->next = loop->links;
            loop->links = link;
        }
    }
}

/* ---- life ---- */

void route_loop_add_route(struct route_loop *loop, struct link *route)
{
    route->loop = loop;
    route->is_route = true;
    route->watched_fd = -1;
    route->provider = UINT32_MAX;
    srcdist_retry_init(&route->retry, route->host_count);
    route->next = loop->links;
    loop->links = route;
}

int route_loop_add_listener(struct route_loop *loop, struct net_listener *listener)
{
    unsigned slot = 0;

    while (loop->listeners[slot])
        slot++;
    MD_ASSERT(slot < ROUTE_LISTENERS);
    loop->listeners[slot] = listener;
    return md_loop_fd_add(loop->loop, net_listener_descriptor(listener), MD_LOOP_READ, on_listener,
                          loop, &loop->listener_watches[slot]);
}

static int create_loop(struct route_loop *loop)
{
    static const struct md_loop_source_ops ops = { .work = work, .deadline = deadline, .arm = arm };
    int err = md_loop_create(loop->config.busy_poll_ns, &loop->loop);

    if (err == MD_OK)
        err = md_loop_wake_create(loop->loop, on_wake, loop, &loop->wake);
    if (err == MD_OK)
        err = md_loop_timer_create(loop->loop, on_timer, loop, &loop->timer);
    if (err == MD_OK)
        err = md_loop_fd_add(loop->loop, attach_fd(loop->attach), MD_LOOP_READ, nothing, loop,
                             &loop->attach_watch);
    if (err == MD_OK)
        err = md_loop_source_add(loop->loop, &ops, loop, &loop->source);
    return err;
}

int route_loop_create(const struct route_loop_config *config, struct route_loop **out)
{
    struct route_loop *loop = calloc(1, sizeof(*loop));
    int err = loop ? MD_OK : MD_ERR_NOMEM;

    *out = NULL;
    if (err != MD_OK)
        return err;
    loop->config = *config;
    route_loop_connections_set(loop, config->tcp_nodelay, config->accepted.packing);
    err = md_mailbox_init(&loop->settings, sizeof(struct route_loop_letter), 0, LETTER_KINDS);
    if (err == MD_OK)
        err = attach_open(&config->attach, &loop->attach);
    if (err == MD_OK) {
        loop->config.core.source.send = attach_sender(loop->attach);
        err = srcdist_core_create(&loop->config.core, &loop->core);
    }
    if (err == MD_OK)
        err = client_context_create(&config->pool, &loop->context);
    if (err == MD_OK)
        err = create_loop(loop);
    if (err == MD_OK)
        err = route_loop_stats_create(loop);
    if (err != MD_OK) {
        route_loop_destroy(loop);
        return err;
    }
    *out = loop;
    return MD_OK;
}

static void *run(void *argument)
{
    struct route_loop *loop = argument;
    char cpu[32];

    snprintf(cpu, sizeof(cpu), "sourceThreadCpu.%u", loop->config.index);
    daemon_thread_settle(&loop->config.daemon->object, cpu);
    md_thread_settled(&loop->thread);
    srcdist_core_wall_set(loop->core, md_loop_now(loop->loop), md_clock_wall_ns());
    md_loop_timer_every(loop->timer, SHOW_NS);
    if (md_loop_run(loop->loop) != MD_OK)
        md_log(MD_LOG_CRITICAL, "the route loop failed");
    return NULL;
}

void route_loop_flush_interval_set(struct route_loop *loop, uint64_t interval_ns)
{
    atomic_store_explicit(&loop->flush_interval_ns, interval_ns, memory_order_relaxed);
}

void route_loop_connections_set(struct route_loop *loop, bool tcp_nodelay, bool packing)
{
    atomic_store(&loop->tcp_nodelay, tcp_nodelay);
    atomic_store(&loop->packing, packing);
}

static void send_letter(struct route_loop *loop, const struct route_loop_letter *letter)
{
    struct route_loop_letter old;

    if (md_mailbox_replace(&loop->settings, letter, &old)) {
        entitle_rules_destroy(old.access);
        rates_destroy(old.rates);
    }
    md_loop_wake_ring(loop->wake);
}

void route_loop_rules_set(struct route_loop *loop, const struct srcdist_rules *rules)
{
    send_letter(loop, &(struct route_loop_letter){ .kind = LETTER_RULES, .rules = *rules });
}

void route_loop_access_set(struct route_loop *loop, struct entitle_rules *access)
{
    send_letter(loop, &(struct route_loop_letter){ .kind = LETTER_ACCESS, .access = access });
}

void route_loop_rates_set(struct route_loop *loop, struct rates *rates)
{
    send_letter(loop, &(struct route_loop_letter){ .kind = LETTER_RATES, .rates = rates });
}

int route_loop_start(struct route_loop *loop)
{
    return md_thread_start(&loop->thread, run, loop);
}

void route_loop_stop(struct route_loop *loop)
{
    atomic_store_explicit(&loop->stop, true, memory_order_release);
    md_loop_wake_ring(loop->wake);
}

void route_loop_join(struct route_loop *loop)
{
    md_thread_join(&loop->thread);
}

void route_loop_destroy(struct route_loop *loop)
{
    if (!loop)
        return;
    close_listeners(loop);
    link_stats_destroy(loop);
    while (loop->links) {
        struct link *link = loop->links;
        loop->links = link->next;
        link_destroy(link);
    }
    route_loop_stats_destroy(loop);
    srcdist_core_destroy(loop->core);
    client_context_destroy(loop->context);
    md_loop_source_remove(loop->source);
    md_loop_fd_remove(loop->attach_watch);
    md_loop_timer_destroy(loop->timer);
    md_loop_wake_destroy(loop->wake);
    if (loop->loop)
        md_loop_destroy(loop->loop);
    attach_close(loop->attach);
    struct route_loop_letter letter;
    while (md_mailbox_take(&loop->settings, &letter)) {
        entitle_rules_destroy(letter.access);
        rates_destroy(letter.rates);
    }
    md_mailbox_fini(&loop->settings);
    free(loop);
}
