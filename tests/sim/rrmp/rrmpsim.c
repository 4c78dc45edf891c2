/* rrmpsim.c - whole backbones of source and sink engines under one seed, judged all the time. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "follower.h"
#include "paces.h"
#include "wishes.h"
#include "world.h"

#define CALM_NS      (12 * SEC) /* after the last fault, updates going on */
#define REST_NS      (20 * SEC) /* after the last fault, until interest equals open items: R6 */
#define FOLLOWED_NS  (20 * SEC) /* after the last fault, until followers have what is open: R24 */
#define QUIET_NS     (80 * SEC) /* and then without any: lingers end, the dead are forgotten */
#define FOLLOWERS_NS (30 * SEC) /* the end of that: followers ask for nothing any more */

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

/* ---- the world ---- */

static void item_make(struct world *world, uint32_t number)
{
    struct world_item *item = &world->items[number];
    uint8_t name[240];
    int length = snprintf((char *)name, sizeof(name), "ITEM%u.N", number);

    for (; length < (int)world->follow.name_length; length++)
        name[length] = 'x';
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
    item->group = (uint8_t)(1 + number % 3);
    item->is_refused = number % 13 == 7;
    if (world->plan.core.has_broadcast && number % 5 == 4)
        item->service = SERVICES_MAX - 1;
}

static const struct proc_ops *ops_of(const struct world *world, uint32_t proc)
{
    bool is_source = proc < world->plan.source_count;

    if (proc >= world_sinks_end(world))
        return &follower_ops;
    if (world->options.is_engine_only)
        return is_source ? &model_source_ops : &model_sink_ops;
    return is_source ? &core_source_ops : &core_sink_ops;
}

static void world_make(struct world *world)
{
    const struct plan *plan = &world->plan;
    uint32_t nodes = plan->node_count > 1 ? plan->node_count : 1;

    if (!world->options.is_engine_only)
        outside_make(world);

    for (uint32_t i = 0; i < plan->item_count; i++)
        item_make(world, i);
    lines_settle(world);
    for (uint32_t n = 0; n < plan->node_count; n++)
        network_node_up(world, n);
    world->proc_count = world_sinks_end(world) + plan->follower_count;
    for (uint32_t p = 0; p < world->proc_count; p++) {
        world->procs[p].number = p;
        world->procs[p].is_source = p < plan->source_count;
        world->procs[p].node = p % nodes;
        world->procs[p].ops = ops_of(world, p);
        proc_start(world, &world->procs[p]);
    }
    world->calm_ns = plan->busy_ns;
    world_schedule(world, 0, EVENT_UPDATE, 0, 0);
    world_schedule(world, 0, EVENT_CHURN, 0, 0);
    world_schedule(world, 200 * MS, EVENT_FAULT, 0, 0);
    if (plan->hostile_per_s)
        world_schedule(world, 100 * MS, EVENT_HOSTILE, 0, 0);
}

static void deliver_event(struct world *world, struct event *event)
{
    const struct node *node = &world->nodes[event->a];

    if (node->is_up && node->session == event->c)
        network_deliver(world, event->a, &event->entry);
    else
        blob_give(event->entry.blob);
}

static void again(struct world *world, enum event_kind kind, uint32_t per_s)
{
    world_schedule(world, world->now_ns + md_prng_below(&world->random, 2000000000u / per_s), kind,
                   0, 0);
}

static void update_event(struct world *world, struct event *event)
{
    uint32_t item = md_prng_below(&world->random, world->plan.item_count);

    (void)event;
    if (world->is_quiet)
        return;
    world->items[item].counter++;
    world->items[item].changed_ns[world->items[item].counter % 64] = world->now_ns;
    if (world->outside) {
        providers_private_update(world);
        providers_update(world, item);
    } else {
        source_privates(world, world_any_proc(world));
        source_update(world, item);
    }
    again(world, EVENT_UPDATE, world->plan.updates_per_s);
}

static void churn_event(struct world *world, struct event *event)
{
    uint32_t p = world_between(world, world->plan.source_count, world_sinks_end(world) - 1);

    (void)event;
    if (world->is_quiet)
        return;
    if (world->outside)
        consumers_churn(world);
    else if (world->procs[p].is_alive)
        sink_churn(world, &world->procs[p]);
    again(world, EVENT_CHURN, world->plan.churn_per_s * world->plan.sink_count);
}

static void fault_event(struct world *world, struct event *event)
{
    (void)event;
    if (world->now_ns >= world->calm_ns) {
        world->is_calm = true;
        if (world->outside)
            providers_calm(world);
        return;
    }
    if (world->outside)
        cores_look(world);
    if (world->plan.core.experiment)
        experiment_step(world);
    else
        world_faults(world);
    world_schedule(world, world->now_ns + 20 * MS, EVENT_FAULT, 0, 0);
}

static void feed_event(struct world *world, struct event *event)
{
    struct proc *proc = &world->procs[event->a];

    if (!proc->is_alive || event->feed.epoch > proc->epoch)
        return;
    *(struct feed *)queue_put(&proc->feeds) = event->feed;
    proc_soon(world, proc, world->now_ns);
}

static void tick_event(struct world *world, struct event *event)
{
    proc_run(world, &world->procs[event->a]);
}

static void restart_event(struct world *world, struct event *event)
{
    world_trace(world, "proc %u restarts", event->a);
    proc_start(world, &world->procs[event->a]);
}

static void node_up_event(struct world *world, struct event *event)
{
    world_trace(world, "node %u is back", event->a);
    network_node_up(world, event->a);
}

static void peer_down_event(struct world *world, struct event *event)
{
    network_peer_down_event(world, event);
}

static void heal_event(struct world *world, struct event *event)
{
    network_heal(world, event->a, event->b);
}

static void wish_event(struct world *world, struct event *event)
{
    wishes_event(world, event);
    blob_give(event->entry.blob);
}

static void loss_end_event(struct world *world, struct event *event)
{
    network_loss_end(world, event);
}

static void provider_up_event(struct world *world, struct event *event)
{
    struct proc *proc = &world->procs[event->a];

    if (world->outside)
        provider_connect(world, event->a, event->b);
    else if (proc->is_alive && !proc->is_provider_up)
        source_provider(world, proc, true);
}

static void hostile_event(struct world *world, struct event *event)
{
    (void)event;
    if (world->is_calm)
        return;
    world_hostile(world);
    again(world, EVENT_HOSTILE, world->plan.hostile_per_s);
}

static void part_event(struct world *world, struct event *event)
{
    provider_part(world, event);
}

static void better_event(struct world *world, struct event *event)
{
    provider_better(world, event);
}

static void consumer_event(struct world *world, struct event *event)
{
    consumer_come(world, event->a);
}

static void drain_event(struct world *world, struct event *event)
{
    if (world->outside->consumers[event->a].epoch == event->b)
        consumer_drain(world, event->a);
}

static void (*const handlers[])(struct world *world, struct event *event) = {
    [EVENT_DELIVER] = deliver_event,
    [EVENT_TICK] = tick_event,
    [EVENT_UPDATE] = update_event,
    [EVENT_CHURN] = churn_event,
    [EVENT_FAULT] = fault_event,
    [EVENT_FEED] = feed_event,
    [EVENT_RESTART] = restart_event,
    [EVENT_NODE_UP] = node_up_event,
    [EVENT_PEER_DOWN] = peer_down_event,
    [EVENT_HEAL] = heal_event,
    [EVENT_WISH] = wish_event,
    [EVENT_LOSS_END] = loss_end_event,
    [EVENT_PROVIDER_UP] = provider_up_event,
    [EVENT_HOSTILE] = hostile_event,
    [EVENT_WORD] = provider_word,
    [EVENT_HEARD] = provider_heard,
    [EVENT_PART] = part_event,
    [EVENT_BETTER] = better_event,
    [EVENT_CONSUMER] = consumer_event,
    [EVENT_DRAIN] = drain_event,
};

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
        handlers[event.kind](world, &event);
    }
    world->now_ns = until_ns;
}

/* Nothing goes wrong in this plan: then nothing has to be mended either. */
static bool is_faultless(const struct plan *plan)
{
    return !plan->loss_ppm && !plan->unicast_loss_ppm && !plan->kills && !plan->hangs &&
           !plan->node_kills && !plan->partitions && !plan->laps && !plan->provider_losses &&
           !plan->hostile_per_s && !plan->core.experiment && !plan->core.silences &&
           !plan->core.refusals && !plan->core.service_downs && !plan->core.item_ends &&
           !plan->core.stops && !plan->core.has_broadcast && !plan->core.slow_percent;
}

/* Room for everything: then nobody is told that something was left out. */
static bool is_ample(const struct plan *plan)
{
    return plan->handle_limit >= 4096 && plan->ring_bytes >= 1 << 20 &&
           !plan->group_changes_per_s && plan->hold_records > 2;
}

/* Interest on both sides, at the end: R6. */
static void check_interest(struct world *world)
{
    const struct plan *plan = &world->plan;

    if (is_faultless(plan) && is_ample(plan) && world->told_suspect)
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
            for (uint32_t s = world->plan.source_count; s < world_sinks_end(world); s++) {
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
             proc->is_alive && !proc->is_source && s < rrmp_sink_service_count(proc->sink) &&
             rrmp_sink_service(proc->sink, s, &service);
             s++)
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

static void world_free(struct world *world)
{
    for (size_t i = 0; i < world->heap_count; i++) {
        enum event_kind kind = world->heap[i].kind;
        if (kind == EVENT_DELIVER || kind == EVENT_WISH || kind == EVENT_WORD ||
            kind == EVENT_HEARD)
            blob_give(world->heap[i].entry.blob);
    }
    for (uint32_t p = 0; p < world->proc_count; p++)
        proc_fini(world, &world->procs[p]);
    if (world->outside)
        outside_fini(world);
    paces_fini(world);
    for (uint32_t i = 0; i < OVERHEARD; i++)
        blob_give(world->overheard[i]);
    free(world->heap);
    free(world);
}

/* Where the network loses none, and leaves none out that is wanted, no number is missing. */
static void check_numbers(struct world *world)
{
    for (uint32_t p = world->plan.source_count; p < world->proc_count; p++) {
        const struct proc *proc = &world->procs[p];

        if (proc->is_alive && rrmp_sink_stats(proc->sink)->records_lost)
            world_fail(world, "R2", "process %u: %" PRIu64 " records are missing without any fault",
                       p, rrmp_sink_stats(proc->sink)->records_lost);
    }
}

static void check_end(struct world *world)
{
    followers_check_end(world);
    if (is_faultless(&world->plan))
        check_numbers(world);
    if (world->outside) {
        consumers_check_end(world);
        providers_check_end(world);
        cores_check_end(world);
        experiment_check_end(world);
        if (is_faultless(&world->plan) && is_ample(&world->plan) && world->told_suspect)
            world_fail(world, "R2", "%u times told suspect without any fault", world->told_suspect);
        return;
    }
    for (uint32_t p = world->plan.source_count; p < world_sinks_end(world) && !world->failure[0];
         p++)
        sink_check_end(world, &world->procs[p]);
    if (!world->failure[0])
        check_interest(world);
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
    plan_make(world);
    world_make(world);
    run_until(world, world->calm_ns + CALM_NS);
    world->is_quiet = true;
    if (world->outside) {
        consumers_calm(world);
        experiment_calm(world);
    }
    run_until(world, world->calm_ns + FOLLOWED_NS);
    followers_check_items(world);
    if (world->plan.core.checks_interest) {
        run_until(world, world->calm_ns + REST_NS);
        cores_check_interest(world);
    }
    run_until(world, world->calm_ns + CALM_NS + QUIET_NS - FOLLOWERS_NS);
    followers_rest(world);
    run_until(world, world->calm_ns + CALM_NS + QUIET_NS);
    if (!world->failure[0])
        check_end(world);
    if (world->failure[0])
        world_dump(world);
    coverage_add(world);
    *hash = world->hash;
    memcpy(failure, world->failure, sizeof(world->failure));
    world_free(world);
    return failure[0] == 0;
}

/* ---- the command ---- */

static int row(const char *group, const char *name, uint64_t count, bool must)
{
    printf("  %-12s %-30s %12" PRIu64 "%s\n", group, name, count,
           must && count == 0 ? "   NEVER" : "");
    return must && count == 0;
}

/* The number of rows that stayed zero. */
static int coverage_print(const struct coverage *coverage, const struct options *options)
{
    unsigned where = options->is_engine_only ? IN_ENGINES : IN_CORES;
    int zeros = 0;

    if (options->scenario && strcmp(options->scenario, "mirrors") == 0)
        where = IN_MIRRORS;
    where |= options->has_lines ? IN_FILTERS : 0;
    where |= options->has_paces ? IN_RATES : 0;
    where |= options->has_followers ? IN_FOLLOWERS : 0;
    where |= options->has_wishes ? IN_WISHES : 0;
    puts("coverage:");
#define PRINT(field, in, group, text)                                                              \
    if ((in)&where)                                                                                \
        zeros += row(group, text, coverage->field, true);
    COVERAGE(PRINT)
#undef PRINT
    printf("coverage: %d never occurred\n", zeros);
    return zeros;
}

static const char usage[] =
    "usage: rrmpsim [--seeds A..B,C,...] [--cores real|model] [--scenario NAME|all] [--filters]\n"
    "               [--rates] [--followers] [--wishes] [--trace] [--coverage] [--twice] "
    "[--stop] [--check-all]\n"
    "       rrmpsim --list                         names of the scenarios\n"
    "Each seed is one course of events. The cores of src_dist and p2ps run; with --cores model "
    "small\n"
    "models stand around their engines instead. --filters: the same course, with lines of\n"
    "filterFile that leave out fields and types and merge updates. --rates: with streams that "
    "choose\n"
    "a rate of conflateRates, and another when they ask again. --followers: with recorders that\n"
    "follow what others have open. --wishes: in a mesh, nodes are not sent what nobody there\n"
    "wants. --twice: the same seed must\n"
    "give the same (it is tried on each sixteenth seed anyway). --stop: at the first failure.\n"
    "--check-all: walk all tables after every step, not only now and then. Exit status 1 when any\n"
    "failed, or with --coverage when something never occurred.\n";

struct arguments {
    struct options options;
    const char *seeds;
    bool is_all; /* scenarios */
    bool is_twice;
    bool stops;
    bool has_coverage;
};

struct totals {
    uint64_t passed, failed;
};

static void run_one(const struct arguments *arguments, const struct options *options,
                    struct coverage *coverage, struct totals *totals)
{
    char failure[400];
    uint64_t hash, again_hash;
    bool is_good = run_seed(options, coverage, &hash, failure);

    if (is_good && !options->is_traced && (arguments->is_twice || options->seed % 16 == 0)) {
        struct coverage unused = { 0 };
        run_seed(options, &unused, &again_hash, failure);
        is_good = again_hash == hash;
        if (!is_good)
            snprintf(failure, sizeof(failure), "R23: it does not repeat itself");
    }
    totals->passed += is_good;
    totals->failed += !is_good;
    if (is_good)
        return;
    printf("seed %" PRIu64 " failed: %s (replay: rrmpsim --seeds %" PRIu64 "..%" PRIu64
           "%s%s%s%s%s%s%s --trace)\n",
           options->seed, failure, options->seed, options->seed,
           options->is_engine_only ? " --cores model" : "", options->has_lines ? " --filters" : "",
           options->has_paces ? " --rates" : "", options->has_followers ? " --followers" : "",
           options->has_wishes ? " --wishes" : "", options->scenario ? " --scenario " : "",
           options->scenario ? options->scenario : "");
    fflush(stdout);
}

/* One of the list: "A" or "A..B"; what follows its comma is the rest. */
static bool range_read(const char **rest, uint64_t *first, uint64_t *last)
{
    char *end;

    *first = *last = strtoull(*rest, &end, 10);
    if (end == *rest)
        return false;
    if (end[0] == '.' && end[1] == '.')
        *last = strtoull(end + 2, &end, 10);
    *rest = *end == ',' ? end + 1 : end;
    return (*end == ',' || *end == 0) && *last >= *first;
}

static void run_seeds(const struct arguments *arguments, const char *scenario,
                      struct coverage *coverage, struct totals *totals)
{
    struct options options = arguments->options;
    const char *rest = arguments->seeds;
    uint64_t last;

    options.scenario = scenario;
    while (*rest && range_read(&rest, &options.seed, &last)) {
        for (; options.seed <= last; options.seed++) {
            if (arguments->stops && totals->failed)
                return;
            run_one(arguments, &options, coverage, totals);
        }
    }
}

static bool parse_seeds(const char *text, struct arguments *arguments)
{
    uint64_t first, last;

    arguments->seeds = text;
    do {
        if (!range_read(&text, &first, &last))
            return false;
    } while (*text);
    return true;
}

static bool parse_scenario(const char *text, struct arguments *arguments)
{
    arguments->is_all = strcmp(text, "all") == 0;
    for (size_t i = 0; plan_scenario(i); i++) {
        if (strcmp(text, plan_scenario(i)) == 0)
            arguments->options.scenario = text;
    }
    return arguments->is_all || arguments->options.scenario;
}

static bool parse_cores(const char *text, struct arguments *arguments)
{
    arguments->options.is_engine_only = strcmp(text, "model") == 0;
    return arguments->options.is_engine_only || strcmp(text, "real") == 0;
}

static bool parse(int argc, char **argv, struct arguments *arguments)
{
    *arguments = (struct arguments){ .seeds = "1..200" };
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";

        if (strcmp(argv[i], "--trace") == 0)
            arguments->options.is_traced = true;
        else if (strcmp(argv[i], "--check-all") == 0)
            arguments->options.checks_each_step = true;
        else if (strcmp(argv[i], "--filters") == 0)
            arguments->options.has_lines = true;
        else if (strcmp(argv[i], "--rates") == 0)
            arguments->options.has_paces = true;
        else if (strcmp(argv[i], "--followers") == 0)
            arguments->options.has_followers = true;
        else if (strcmp(argv[i], "--wishes") == 0)
            arguments->options.has_wishes = true;
        else if (strcmp(argv[i], "--twice") == 0)
            arguments->is_twice = true;
        else if (strcmp(argv[i], "--stop") == 0)
            arguments->stops = true;
        else if (strcmp(argv[i], "--coverage") == 0)
            arguments->has_coverage = true;
        else if (strcmp(argv[i], "--seeds") == 0 && parse_seeds(value, arguments))
            i++;
        else if (strcmp(argv[i], "--scenario") == 0 && parse_scenario(value, arguments))
            i++;
        else if (strcmp(argv[i], "--cores") == 0 && parse_cores(value, arguments))
            i++;
        else
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    struct arguments arguments;
    struct coverage coverage = { 0 };
    struct totals totals = { 0, 0 };

    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (size_t i = 0; plan_scenario(i); i++)
            puts(plan_scenario(i));
        return 0;
    }
    if (!parse(argc, argv, &arguments)) {
        fputs(usage, stderr);
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; arguments.is_all && plan_scenario(i); i++) {
        if (plan_is_of_all(&arguments.options, i))
            run_seeds(&arguments, plan_scenario(i), &coverage, &totals);
    }
    if (!arguments.is_all)
        run_seeds(&arguments, arguments.options.scenario, &coverage, &totals);
    int zeros = arguments.has_coverage ? coverage_print(&coverage, &arguments.options) : 0;
    printf("%" PRIu64 " passed, %" PRIu64 " failed\n", totals.passed, totals.failed);
    return totals.failed || zeros ? 1 : 0;
}
