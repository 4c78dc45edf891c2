/* rrmpsim.c - whole backbones of source and sink engines under one seed, judged all the time. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

#define CALM_NS  (12 * SEC) /* after the last fault, updates going on */
#define QUIET_NS (80 * SEC) /* and then without any: lingers end, the dead are forgotten */

void network_peer_down_event(struct world *world, const struct event *event);

void world_fail(struct world *world, const char *rule, const char *format, ...)
{
    va_list args;

    if (world->failure[0])
        return;
    int length = snprintf(world->failure, sizeof(world->failure), "%s at %.6f s: ", rule,
                          (double)world->now_ns / 1e9);
    va_start(args, format);
    vsnprintf(world->failure + length, sizeof(world->failure) - (size_t)length, format, args);
    va_end(args);
}

void world_trace(struct world *world, const char *format, ...)
{
    va_list args;

    if (!world->options.is_traced)
        return;
    printf("%12.6f ", (double)world->now_ns / 1e9);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

bool world_chance(struct world *world, uint32_t ppm)
{
    return ppm && md_prng_below(&world->random, 1000000) < ppm;
}

/* ---- plans ---- */

static uint32_t between(struct world *world, uint32_t low, uint32_t high)
{
    return low + md_prng_below(&world->random, high - low + 1);
}

static uint32_t sometimes(struct world *world, uint32_t one_in, uint32_t high)
{
    return md_prng_below(&world->random, one_in) ? 0 : between(world, 1, high);
}

static void plan_calm(struct world *world)
{
    world->plan = (struct plan){
        .node_count = 3,
        .source_count = 1,
        .sink_count = 2,
        .item_count = 40,
        .service_count = 1,
        .watch_count = 60,
        .updates_per_s = 500,
        .busy_ns = 8 * SEC,
        .delay_ns = 200000,
        .loss_run = 1,
        .churn_per_s = 20,
        .ring_bytes = 1 << 20,
        .ring_rate = 50000000,
        .source_cache = true,
        .gap_log = 4096,
        .window = 100,
        .hold_records = 256,
        .handle_limit = 4096,
        .handle_rest_ns = 2 * SEC,
        .close_linger_ns = 1 * SEC,
        .posts_per_s = 1,
    };
}

static void plan_draw(struct world *world)
{
    struct plan *plan = &world->plan;

    plan_calm(world);
    plan->node_count = between(world, 2, 8);
    plan->source_count = between(world, 1, 4);
    plan->sink_count = between(world, 1, 6);
    plan->item_count = between(world, 4, 120);
    plan->service_count = between(world, 1, 2);
    plan->watch_count = between(world, 4, 100);
    plan->updates_per_s = between(world, 50, 1200);
    plan->delay_ns = between(world, 50000, 20000000);
    plan->loss_ppm = sometimes(world, 2, 4000);
    plan->unicast_loss_ppm = sometimes(world, 3, 4000);
    plan->loss_run = between(world, 1, 40);
    plan->kills = sometimes(world, 3, 4);
    plan->hangs = sometimes(world, 3, 4);
    plan->node_kills = sometimes(world, 4, 2);
    plan->partitions = sometimes(world, 3, 4);
    plan->laps = sometimes(world, 3, 4);
    plan->provider_losses = sometimes(world, 3, 4);
    plan->churn_per_s = between(world, 1, 60);
    plan->group_changes_per_s = sometimes(world, 3, 4);
    plan->hostile_per_s = sometimes(world, 4, 200);
    plan->source_cache = md_prng_below(&world->random, 2);
    plan->unicast_images = md_prng_below(&world->random, 2);
    plan->gap_log = md_prng_below(&world->random, 4) ? 4096 : 16;
    plan->window = md_prng_below(&world->random, 3) ? 100 : between(world, 1, 4);
    plan->hold_records = md_prng_below(&world->random, 3) ? 256 : 2;
    plan->handle_limit = 4096;
    if (md_prng_below(&world->random, 6) == 0) /* all items fit, but hardly */
        plan->handle_limit = plan->item_count + PRIVATES_MAX + between(world, 0, 8);
    plan->handle_rest_ns = between(world, 0, 1) ? 0 : 5 * SEC;
    plan->handle_rest_ns += 1;
    if (md_prng_below(&world->random, 4) == 0) {
        plan->ring_bytes = between(world, 10000, 65536);
        plan->ring_rate = between(world, 20000, 80000);
        /* What a provider says has to fit through in the end. */
        uint32_t most = (uint32_t)plan->ring_rate / 42;
        plan->updates_per_s = plan->updates_per_s < most ? plan->updates_per_s : most;
    }
}

/* ---- scenarios: named, so that a failure keeps its name ---- */

static void no_faults(struct world *world)
{
    plan_calm(world);
}

static void no_faults_unicast(struct world *world)
{
    plan_calm(world);
    world->plan.unicast_images = true;
    world->plan.delay_ns = 20 * MS;
}

static void no_faults_no_cache(struct world *world)
{
    plan_calm(world);
    world->plan.source_cache = false;
}

static void losses(struct world *world)
{
    plan_calm(world);
    world->plan.loss_ppm = 2000;
    world->plan.loss_run = 20;
    world->plan.unicast_loss_ppm = 500;
}

/* Most losses are followed by nothing of the same item: only svcSeq and heartbeat tell of them. */
static void losses_sparse(struct world *world)
{
    losses(world);
    world->plan.item_count = 300;
    world->plan.watch_count = 200;
    world->plan.updates_per_s = 60;
    world->plan.churn_per_s = 40;
    world->plan.loss_ppm = 20000;
    world->plan.loss_run = 2;
    world->plan.unicast_loss_ppm = 5000;
}

static void many_parts(struct world *world)
{
    losses(world);
    world->plan.source_cache = false;
    world->plan.item_count = 10;
    world->plan.churn_per_s = 100;
    world->plan.loss_ppm = 10000;
    world->plan.loss_run = 2;
}

static void losses_unicast(struct world *world)
{
    losses(world);
    world->plan.unicast_images = true;
    world->plan.delay_ns = 20 * MS;
}

static void restarts(struct world *world)
{
    plan_calm(world);
    world->plan.kills = 6;
}

static void failover(struct world *world)
{
    plan_calm(world);
    world->plan.source_count = 3;
    world->plan.node_count = 5;
    world->plan.kills = 3;
    world->plan.hangs = 3;
    world->plan.provider_losses = 2;
}

static void daemons_die(struct world *world)
{
    plan_calm(world);
    world->plan.source_count = 2;
    world->plan.node_kills = 4;
}

static void partitions(struct world *world)
{
    plan_calm(world);
    world->plan.source_count = 2;
    world->plan.partitions = 6;
}

static void lapped(struct world *world)
{
    plan_calm(world);
    world->plan.laps = 8;
    world->plan.gap_log = 16;
}

static void tiny_limits(struct world *world)
{
    plan_calm(world);
    world->plan.window = 1;
    world->plan.hold_records = 2;
    world->plan.gap_log = 16;
    world->plan.handle_limit = 56;
    world->plan.unicast_images = true;
    world->plan.loss_ppm = 500;
    world->plan.loss_run = 10;
}

static void hostile(struct world *world)
{
    plan_calm(world);
    world->plan.hostile_per_s = 1000;
}

static void provider_lost(struct world *world)
{
    plan_calm(world);
    world->plan.provider_losses = 5;
    world->plan.source_count = 2;
}

static void slow_ring(struct world *world)
{
    plan_calm(world);
    world->plan.ring_bytes = 10000;
    world->plan.ring_rate = 14000;
}

static const struct scenario {
    const char *name;
    void (*plan)(struct world *world);
} scenarios[] = {
    { "no_faults", no_faults },
    { "no_faults_unicast", no_faults_unicast },
    { "no_faults_no_cache", no_faults_no_cache },
    { "losses", losses },
    { "losses_sparse", losses_sparse },
    { "many_parts", many_parts },
    { "losses_unicast", losses_unicast },
    { "restarts", restarts },
    { "failover", failover },
    { "daemons_die", daemons_die },
    { "partitions", partitions },
    { "lapped", lapped },
    { "tiny_limits", tiny_limits },
    { "hostile", hostile },
    { "provider_lost", provider_lost },
    { "slow_ring", slow_ring },
};

/* ---- the world ---- */

static struct proc *any_proc(struct world *world)
{
    return &world->procs[md_prng_below(&world->random, world->proc_count)];
}

static void item_make(struct world *world, uint32_t number)
{
    struct world_item *item = &world->items[number];
    uint8_t name[16];
    int length = snprintf((char *)name, sizeof(name), "ITEM%u.N", number);
    const struct rrmp_key key = {
        .domain = 6,
        .members = RRMP_KEY_NAME,
        .name_type = 1,
        .qos = { .timeliness = 1, .rate = 1 },
        .name = { .bytes = name, .length = (size_t)length },
    };
    struct md_wr wr = md_wr_init(item->key, sizeof(item->key));

    rrmp_key_encode(&wr, &key);
    item->key_length = (uint16_t)md_wr_length(&wr);
    item->counter = 1;
    item->service = (uint16_t)(number % world->plan.service_count);
    item->parts = number % 5 == 3 ? 3 : 1;
    item->is_refused = number % 13 == 7;
}

static void world_make(struct world *world)
{
    const struct plan *plan = &world->plan;

    for (uint32_t i = 0; i < plan->item_count; i++)
        item_make(world, i);
    for (uint32_t n = 0; n < plan->node_count; n++)
        network_node_up(world, n);
    world->proc_count = plan->source_count + plan->sink_count;
    for (uint32_t p = 0; p < world->proc_count; p++) {
        world->procs[p].number = p;
        world->procs[p].is_source = p < plan->source_count;
        world->procs[p].node = p % plan->node_count;
        proc_start(world, &world->procs[p]);
    }
    world->calm_ns = plan->busy_ns;
    world_schedule(world, 0, EVENT_UPDATE, 0, 0);
    world_schedule(world, 0, EVENT_CHURN, 0, 0);
    world_schedule(world, 200 * MS, EVENT_FAULT, 0, 0);
    if (plan->hostile_per_s)
        world_schedule(world, 100 * MS, EVENT_HOSTILE, 0, 0);
}

static void lap(struct world *world, struct proc *proc)
{
    struct rrmp_notice overrun = { .kind = RRMP_NOTICE_OVERRUN };
    bool is_new = false;

    /* What names its own life is not lost: the ring's reader keeps that apart. */
    for (uint32_t i = proc->inbox.head; i != proc->inbox.tail; i++) {
        struct entry *entry = (struct entry *)proc->inbox.cells + (i & (proc->inbox.size - 1));
        if (entry->is_notice)
            is_new = true;
    }
    if (is_new || !proc->is_alive || proc->session == 0)
        return;
    world->coverage->laps++;
    while (queue_head(&proc->inbox)) {
        blob_give(((struct entry *)queue_head(&proc->inbox))->blob);
        queue_pop(&proc->inbox);
    }
    struct entry *entry = queue_put(&proc->inbox);
    *entry = (struct entry){ .is_notice = true, .notice = overrun };
    proc_soon(world, proc, world->now_ns);
}

/* Each kind of fault as often as the plan says, over the busy time, in ticks of 20 ms. */
static void faults(struct world *world)
{
    const struct plan *plan = &world->plan;
    uint32_t ticks = (uint32_t)(plan->busy_ns / (20 * MS));
    struct proc *proc = any_proc(world);
    uint64_t busy_left = world->calm_ns - world->now_ns;

    if (world_chance(world, plan->kills * 1000000 / ticks) && proc->is_alive) {
        proc_kill(world, proc);
        uint64_t pause = md_prng_below(&world->random, 2) ? 100 * MS : 3 * SEC;
        world_schedule(world, world->now_ns + md_prng_below(&world->random, (uint32_t)pause),
                       EVENT_RESTART, proc->number, 0);
    }
    proc = any_proc(world);
    if (world_chance(world, plan->hangs * 1000000 / ticks) && proc->is_alive) {
        uint64_t hang = 100 * MS + md_prng_u64(&world->random) % (10 * SEC);
        hang = hang < busy_left ? hang : busy_left;
        world->coverage->hangs++;
        world_trace(world, "proc %u hangs for %" PRIu64 " ms", proc->number, hang / MS);
        proc->hung_until_ns = world->now_ns + hang;
        proc->tick_at_ns = RRMP_NEVER;
        proc_soon(world, proc, proc->hung_until_ns);
    }
    uint32_t node = md_prng_below(&world->random, plan->node_count);
    if (world_chance(world, plan->node_kills * 1000000 / ticks) && world->nodes[node].is_up) {
        world_trace(world, "node %u dies", node);
        network_node_down(world, node);
        world_schedule(world, world->now_ns + md_prng_below(&world->random, 2000000000),
                       EVENT_NODE_UP, node, 0);
    }
    if (world_chance(world, plan->partitions * 1000000 / ticks)) {
        uint32_t to = md_prng_below(&world->random, plan->node_count);
        uint64_t time = md_prng_u64(&world->random) % (6 * SEC);
        time = time < busy_left ? time : busy_left;
        world->coverage->partitions++;
        world_trace(world, "node %u does not hear %u for %" PRIu64 " ms", to, node, time / MS);
        network_cut(world, node, to, world->now_ns + time);
        if (md_prng_below(&world->random, 2))
            network_cut(world, to, node, world->now_ns + time);
    }
    if (world_chance(world, plan->laps * 1000000 / ticks))
        lap(world, any_proc(world));
    proc = &world->procs[md_prng_below(&world->random, plan->source_count)];
    if (world_chance(world, plan->provider_losses * 1000000 / ticks) && proc->is_alive &&
        proc->is_provider_up) {
        world_trace(world, "provider of %u lost", proc->number);
        source_provider(world, proc, false);
        world_schedule(world, world->now_ns + md_prng_below(&world->random, 3000000000u),
                       EVENT_PROVIDER_UP, proc->number, proc->port);
    }
    if (world_chance(world, plan->group_changes_per_s * 1000000 / 50) && proc->is_alive &&
        proc->is_provider_up) {
        uint32_t group = md_prng_below(&world->random, 4);
        source_feed_put(world, proc, (struct feed){ .kind = FEED_GROUP, .item = group });
        source_feed_put(world, proc,
                        (struct feed){ .kind = FEED_GROUP, .item = group, .counter = 1 });
    }
}

/* Somebody sends nonsense, from a port of his own, to everybody. */
static void hostile_send(struct world *world)
{
    uint8_t bytes[256];
    uint32_t node = md_prng_below(&world->random, world->plan.node_count);
    uint32_t length = md_prng_below(&world->random, sizeof(bytes));
    static const uint8_t types[] = { 1,  2,  3,  4,  5,  16, 17, 18, 19, 20, 21, 22, 23,
                                     32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 63 };
    struct proc ghost = { .node = node,
                          .session = world->nodes[node].session,
                          .port = (uint16_t)(60000 + md_prng_below(&world->random, 3)) };

    if (!world->nodes[node].is_up)
        return;
    for (uint32_t i = 0; i < length; i++)
        bytes[i] = md_prng_below(&world->random, 3) ? (uint8_t)md_prng_below(&world->random, 3)
                                                    : (uint8_t)md_prng_u32(&world->random);
    if (length > 8 && md_prng_below(&world->random, 10)) {
        bytes[0] = types[md_prng_below(&world->random, sizeof(types))];
        bytes[1] = (uint8_t)(RRMP_VERSION << 4 | (bytes[1] & 15));
    }
    struct rrmp_dest dest = { .path = RRMP_PATH_MULTICAST, .topic = RRMP_TOPIC_CONTROL };
    const struct proc *victim = any_proc(world);
    if (md_prng_below(&world->random, 2) && victim->session) {
        dest.path = RRMP_PATH_UNICAST;
        dest.session = victim->session;
        dest.port = victim->port;
    }
    world->coverage->hostile++;
    network_send(world, &ghost, &dest, bytes, length);
}

static void event_run(struct world *world, struct event *event)
{
    struct proc *proc = &world->procs[event->a < PROCS_MAX ? event->a : 0];

    switch (event->kind) {
    case EVENT_DELIVER:
        if (world->nodes[event->a].is_up && world->nodes[event->a].session == event->c)
            network_deliver(world, event->a, &event->entry);
        else
            blob_give(event->entry.blob);
        return;
    case EVENT_TICK:
        proc_run(world, proc);
        return;
    case EVENT_UPDATE:
        if (world->is_quiet)
            return;
        event->a = md_prng_below(&world->random, world->plan.item_count);
        world->items[event->a].counter++;
        world->items[event->a].changed_ns[world->items[event->a].counter % 64] = world->now_ns;
        source_privates(world, any_proc(world));
        source_update(world, event->a);
        world_schedule(world,
                       world->now_ns +
                           md_prng_below(&world->random, 2000000000u / world->plan.updates_per_s),
                       EVENT_UPDATE, 0, 0);
        return;
    case EVENT_CHURN: {
        uint32_t p = between(world, world->plan.source_count, world->proc_count - 1);
        if (world->is_quiet)
            return;
        if (world->procs[p].is_alive)
            sink_churn(world, &world->procs[p]);
        world_schedule(world,
                       world->now_ns +
                           md_prng_below(&world->random, 2000000000u / (world->plan.churn_per_s *
                                                                        world->plan.sink_count)),
                       EVENT_CHURN, 0, 0);
        return;
    }
    case EVENT_FAULT:
        if (world->now_ns >= world->calm_ns) {
            world->is_calm = true;
            return;
        }
        faults(world);
        world_schedule(world, world->now_ns + 20 * MS, EVENT_FAULT, 0, 0);
        return;
    case EVENT_FEED:
        if (!proc->is_alive || event->feed.epoch > proc->epoch)
            return;
        *(struct feed *)queue_put(&proc->feeds) = event->feed;
        proc_soon(world, proc, world->now_ns);
        return;
    case EVENT_RESTART:
        world_trace(world, "proc %u restarts", event->a);
        proc_start(world, proc);
        return;
    case EVENT_NODE_UP:
        world_trace(world, "node %u is back", event->a);
        network_node_up(world, event->a);
        return;
    case EVENT_PEER_DOWN:
        network_peer_down_event(world, event);
        return;
    case EVENT_HEAL:
        network_heal(world, event->a, event->b);
        return;
    case EVENT_PROVIDER_UP:
        if (proc->is_alive && !proc->is_provider_up)
            source_provider(world, proc, true);
        return;
    case EVENT_HOSTILE:
        if (world->is_calm)
            return;
        hostile_send(world);
        world_schedule(world,
                       world->now_ns +
                           md_prng_below(&world->random, 2000000000u / world->plan.hostile_per_s),
                       EVENT_HOSTILE, 0, 0);
        return;
    }
}

static void run_until(struct world *world, uint64_t until_ns)
{
    while (world->heap_count > 0 && world->heap[0].at_ns <= until_ns && !world->failure[0]) {
        struct event event = world->heap[0];
        struct event last = world->heap[--world->heap_count];
        size_t i = 0;

        for (;;) {
            size_t child = 2 * i + 1;
            if (child >= world->heap_count)
                break;
            const struct event *left = &world->heap[child];
            if (child + 1 < world->heap_count) {
                const struct event *right = &world->heap[child + 1];
                if (right->at_ns < left->at_ns ||
                    (right->at_ns == left->at_ns && right->order < left->order))
                    child++;
            }
            const struct event *next = &world->heap[child];
            if (last.at_ns < next->at_ns || (last.at_ns == next->at_ns && last.order < next->order))
                break;
            world->heap[i] = *next;
            i = child;
        }
        if (world->heap_count > 0)
            world->heap[i] = last;
        world->now_ns = event.at_ns;
        event_run(world, &event);
    }
    world->now_ns = until_ns;
}

/* Nothing goes wrong in this plan: then nothing has to be mended either. */
static bool is_faultless(const struct plan *plan)
{
    return !plan->loss_ppm && !plan->unicast_loss_ppm && !plan->kills && !plan->hangs &&
           !plan->node_kills && !plan->partitions && !plan->laps && !plan->provider_losses &&
           !plan->hostile_per_s;
}

/* Interest on both sides, at the end: R6. */
static void check_interest(struct world *world)
{
    const struct plan *plan = &world->plan;
    bool is_ample = plan->handle_limit >= 4096 && plan->ring_bytes >= 1 << 20 &&
                    !plan->group_changes_per_s && plan->hold_records > 2;

    if (is_faultless(plan) && is_ample && world->told_suspect)
        world_fail(world, "R2", "%u times told suspect without any fault", world->told_suspect);
    for (uint32_t p = 0; p < world->plan.source_count; p++) {
        struct proc *proc = &world->procs[p];
        if (!proc->is_alive)
            continue;
        for (uint32_t i = 0; i < world->plan.item_count; i++) {
            struct upstream *up = &proc->upstream[i];
            struct rrmp_source_item info;
            bool is_there =
                up->item != RRMP_ITEM_NONE && rrmp_source_item_info(proc->source, up->item, &info);
            uint32_t holders = 0;
            for (uint32_t s = world->plan.source_count; s < world->proc_count; s++) {
                struct rrmp_sink_item has;
                const struct proc *sink = &world->procs[s];
                if (sink->is_alive && rrmp_sink_item_info(sink->sink, sink->sink_item[i], &has) &&
                    has.state == RRMP_SINK_LIVE && has.user == i && has.instance != 0xFFFF)
                    holders +=
                        rrmp_sink_instance_is(sink->sink, has.instance, proc->session, proc->port);
            }
            if (is_there && info.requester_count == 0)
                world_fail(world, "R6", "source %u item %u: open upstream for nobody", p, i);
            if ((is_there ? info.requester_count : 0) != holders)
                world_fail(world, "R6", "source %u item %u: %u bits of interest, %u holders", p, i,
                           is_there ? info.requester_count : 0, holders);
        }
        if (is_faultless(&world->plan) && rrmp_source_stats(proc->source)->sum_mismatch > 2)
            world_fail(world, "R6", "source %u: %" PRIu64 " digests differ without any fault", p,
                       rrmp_source_stats(proc->source)->sum_mismatch);
        if (rrmp_source_stats(proc->source)->asks_now != 0)
            world_fail(world, "R6", "source %u: %u asks left", p,
                       rrmp_source_stats(proc->source)->asks_now);
    }
}

/* With --trace a failure is followed by what everybody believes. */
static void world_dump(struct world *world)
{
    for (uint32_t p = 0; p < world->proc_count; p++) {
        struct proc *proc = &world->procs[p];
        world_trace(world, "%s %u on node %u: %s session %" PRIx64 " port %u inbox %u feeds %u",
                    proc->is_source ? "source" : "sink", p, proc->node,
                    proc->is_alive ? "alive" : "dead", proc->session, proc->port,
                    proc->inbox.tail - proc->inbox.head, proc->feeds.tail - proc->feeds.head);
        if (proc->is_alive && proc->is_source)
            world_trace(
                world, "  provider %s, %u items, %u bound, %" PRIu64 " sums differ, %u asks",
                proc->is_provider_up ? "up" : "down", rrmp_source_stats(proc->source)->items_now,
                rrmp_source_stats(proc->source)->bound_now,
                rrmp_source_stats(proc->source)->sum_mismatch,
                rrmp_source_stats(proc->source)->asks_now);
        struct rrmp_sink_service service;
        for (uint16_t s = 0;
             proc->is_alive && !proc->is_source && rrmp_sink_service(proc->sink, s, &service); s++)
            world_trace(world, "  service %.*s: %u instances, %s %s", (int)service.name.length,
                        (const char *)service.name.bytes, service.instance_count,
                        service.is_up ? "up" : "down", service.is_accepting ? "accepting" : "");
        if (proc->is_alive && !proc->is_source)
            world_trace(
                world, "  %u instances, %u items, %u live, queues %u %u %u",
                rrmp_sink_stats(proc->sink)->instances_now, rrmp_sink_stats(proc->sink)->items_now,
                rrmp_sink_stats(proc->sink)->live_now, rrmp_sink_stats(proc->sink)->queued_now[0],
                rrmp_sink_stats(proc->sink)->queued_now[1],
                rrmp_sink_stats(proc->sink)->queued_now[2]);
    }
}

static void coverage_add(struct world *world)
{
    struct coverage *coverage = world->coverage;

    for (uint32_t p = world->plan.source_count; p < world->proc_count; p++) {
        if (!world->procs[p].is_alive)
            continue;
        const struct rrmp_sink_stats *stats = rrmp_sink_stats(world->procs[p].sink);
        coverage->gap_hits += stats->gap_items_hit;
        coverage->whole += stats->whole_service_recoveries;
        coverage->failovers += stats->failovers;
        coverage->unicast_images += stats->images_unicast;
        coverage->held_over += stats->hold_overflows;
        coverage->audits += stats->audits;
        coverage->audit_mended += stats->audit_mended;
        coverage->redundant += stats->images_redundant;
        coverage->not_held += stats->gap_not_held;
        coverage->refused += stats->refused[1] + stats->refused[2] + stats->refused[3];
    }
}

/* One seed from start to end; the fingerprint of all that was delivered, or a failure. */
static bool run_seed(const struct options *options, struct coverage *coverage, uint64_t *hash,
                     char failure[400])
{
    struct world *world = calloc(1, sizeof(*world));

    if (!world)
        abort();
    world->options = *options;
    world->coverage = coverage;
    world->random = md_prng_init(options->seed);
    plan_draw(world);
    for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
        if (options->scenario && strcmp(options->scenario, scenarios[i].name) == 0)
            scenarios[i].plan(world);
    }
    world_make(world);
    run_until(world, world->calm_ns + CALM_NS);
    world->is_quiet = true;
    run_until(world, world->calm_ns + CALM_NS + QUIET_NS);
    for (uint32_t p = world->plan.source_count; p < world->proc_count && !world->failure[0]; p++)
        sink_check_end(world, &world->procs[p]);
    if (!world->failure[0])
        check_interest(world);
    if (world->failure[0])
        world_dump(world);
    coverage_add(world);
    *hash = world->hash;
    memcpy(failure, world->failure, sizeof(world->failure));
    for (size_t i = 0; i < world->heap_count; i++) {
        if (world->heap[i].kind == EVENT_DELIVER)
            blob_give(world->heap[i].entry.blob);
    }
    for (uint32_t p = 0; p < world->proc_count; p++)
        proc_fini(&world->procs[p]);
    free(world->heap);
    free(world);
    return failure[0] == 0;
}

/* ---- the command ---- */

static void coverage_print(const struct coverage *c)
{
    const struct {
        const char *name;
        uint64_t count;
    } rows[] = {
        { "updates delivered", c->updates },
        { "image parts delivered", c->images },
        { "images by unicast, bound", c->unicast_images },
        { "images redundant", c->redundant },
        { "hold overflows", c->held_over },
        { "opens", c->opens },
        { "closes", c->closes },
        { "reissues", c->reissues },
        { "streams closed by the source", c->closed },
        { "refusals", c->refused },
        { "statuses delivered", c->statuses },
        { "told suspect", c->suspects },
        { "losses beyond repair", c->losses },
        { "records lost", c->lost },
        { "items hit by GAPITEMS", c->gap_hits },
        { "gap log did not hold", c->not_held },
        { "whole service recoveries", c->whole },
        { "failovers of a service", c->failovers },
        { "processes killed", c->kills },
        { "processes hung", c->hangs },
        { "daemons killed", c->node_kills },
        { "partitions", c->partitions },
        { "rings lapped", c->laps },
        { "providers lost", c->provider_losses },
        { "private streams opened", c->privates },
        { "their updates delivered", c->private_updates },
        { "snapshots answered", c->snapshots },
        { "generic messages up", c->generics },
        { "dictionary parts", c->dictionaries },
        { "posts taken", c->posts },
        { "acks", c->acks },
        { "posts without answer", c->post_lost },
        { "audits", c->audits },
        { "mended by audit", c->audit_mended },
        { "hostile records", c->hostile },
        { "outbound ring full", c->ring_full },
        { "directory changes", c->directory },
    };

    printf("\ncovered:\n");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        printf("  %-30s %12" PRIu64 "%s\n", rows[i].name, rows[i].count,
               rows[i].count ? "" : "   <- never");
}

static int usage(void)
{
    fprintf(stderr, "usage: rrmpsim [--seeds A..B] [--scenario NAME|all|list] [--trace] [--twice]\n"
                    "  --seeds A..B   run these seeds (default 1..20)\n"
                    "  --scenario     faults of a named scenario instead of drawn ones\n"
                    "  --trace        print what happens, for one seed\n"
                    "  --twice        run each seed twice: the same must come out\n"
                    "  --first-failure  stop at the first seed that fails\n");
    return 2;
}

struct totals {
    uint64_t passed, failed;
};

static void run_one(struct options *options, struct coverage *coverage, bool is_twice,
                    struct totals *totals)
{
    char failure[400];
    uint64_t hash, again;
    bool passed = run_seed(options, coverage, &hash, failure);

    if (passed && is_twice) {
        struct coverage unused = { 0 };
        run_seed(options, &unused, &again, failure);
        if (again != hash) {
            passed = false;
            snprintf(failure, sizeof(failure), "R23: two runs differ");
        }
    }
    if (passed) {
        totals->passed++;
        return;
    }
    totals->failed++;
    printf("FAILED seed %" PRIu64 "%s%s: %s\n", options->seed,
           options->scenario ? " scenario " : "", options->scenario ? options->scenario : "",
           failure);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct options options = { .seed = 1 };
    struct coverage coverage = { 0 };
    struct totals totals = { 0, 0 };
    uint64_t first = 1, last = 20;
    bool is_twice = false, stops = false;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seeds") == 0 && i + 1 < argc) {
            if (sscanf(argv[++i], "%" SCNu64 "..%" SCNu64, &first, &last) != 2)
                last = first;
        } else if (strcmp(argv[i], "--scenario") == 0 && i + 1 < argc) {
            options.scenario = argv[++i];
        } else if (strcmp(argv[i], "--trace") == 0) {
            options.is_traced = true;
        } else if (strcmp(argv[i], "--twice") == 0) {
            is_twice = true;
        } else if (strcmp(argv[i], "--first-failure") == 0) {
            stops = true;
        } else {
            return usage();
        }
    }
    const char *wanted = options.scenario;
    for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]) && wanted; i++) {
        bool is_meant = strcmp(wanted, "all") == 0 || strcmp(wanted, scenarios[i].name) == 0;
        if (strcmp(wanted, "list") == 0)
            printf("%s\n", scenarios[i].name);
        options.scenario = scenarios[i].name;
        for (options.seed = first; is_meant && options.seed <= last && !(stops && totals.failed);
             options.seed++)
            run_one(&options, &coverage, is_twice, &totals);
    }
    for (options.seed = first; !wanted && options.seed <= last && !(stops && totals.failed);
         options.seed++)
        run_one(&options, &coverage, is_twice, &totals);
    if (wanted && strcmp(wanted, "list") == 0)
        return 0;
    coverage_print(&coverage);
    printf("\n%" PRIu64 " passed, %" PRIu64 " failed\n", totals.passed, totals.failed);
    return totals.failed != 0 || totals.passed == 0;
}
