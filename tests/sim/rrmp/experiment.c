/* experiment.c - one fault in a system at rest: what it may cost, and whom it may concern. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/cursor.h"
#include "runs.h"

#define FAULT_AT   (3 * SEC)
#define LATENCY    (10 * MS) /* from the world to a consumer, when nobody is in the way */
#define MIRROR_AT  (5 * SEC) /* all is kept ready by then */
#define AGAIN_AT   (3 * SEC) /* a provider is lost, which numbers from 1 when it comes again */
#define PARTED     UINT64_C(0x706172746564)
#define SINGLE_NS  (50 * MS)
#define CROWD_STEP 3000u

/* Of numbers of its own: the other faults of a seed stay what they are. */
static void mirror_draw(struct world *world)
{
    struct md_prng random = md_prng_init(world->options.seed ^ PARTED);

    numbers_draw(world);
    if (world->plan.core.numbers.kind == NUMBERS_RESTART) {
        world->plan.core.rebalances = false; /* a move back could not go unseen */
        world->plan.busy_ns += 3 * SEC;
    } else {
        world->plan.core.is_parted = md_prng_below(&random, 5) == 0;
    }
}

/* Each process on a node of its own, no fault but the one. */
void experiment_plan(struct world *world)
{
    struct plan *plan = &world->plan;
    enum experiment kind = plan->core.experiment;

    plan->source_count = kind == EXPERIMENT_KILL ? world_between(world, 1, 2) : 1;
    plan->sink_count = world_between(world, 2, 3);
    plan->node_count = plan->source_count + plan->sink_count;
    plan->item_count = world_between(world, 20, 40);
    plan->updates_per_s = world_between(world, 50, 300);
    plan->busy_ns = 9 * SEC;
    plan->source_cache = md_prng_below(&world->random, 2);
    plan->unicast_images = md_prng_below(&world->random, 2);
    plan->posts_per_s = 0;
    plan->core.providers = 1;
    plan->core.consumers = world_between(world, 1, 2);
    plan->core.streams = plan->item_count;
    plan->core.window = 500;
    plan->core.sink_cache = md_prng_below(&world->random, 2);
    if (kind == EXPERIMENT_MIRROR) {
        plan->core.is_mirrored = true;
        plan->core.rebalances = world->options.seed % 2;
        plan->source_count = 2;
        plan->node_count = plan->source_count + plan->sink_count;
        plan->item_count = 20;
        plan->updates_per_s = world_between(world, 200, 600);
        plan->busy_ns = 10 * SEC;
        mirror_draw(world);
    }
    if (kind == EXPERIMENT_CROWD && plan->core.crowd == 0)
        plan->core.crowd = CROWD_STEP;
}

/* ---- before the fault ---- */

static void settle_in(struct world *world)
{
    for (uint32_t i = 0; i < world->outside->consumer_count; i++) {
        struct consumer *c = &world->outside->consumers[i];
        if (!c->is_in)
            continue;
        if (!c->has_directory)
            consumer_follow(c);
        for (uint32_t item = 0; item < world->plan.item_count && c->knows_service[0]; item++) {
            bool has_it = false;
            for (uint32_t s = 0; s < STREAMS_MAX; s++)
                has_it |= c->streams[s].kind != STREAM_FREE && c->streams[s].item == item;
            if (!has_it && !world->items[item].is_refused)
                consumer_open(c, item);
        }
    }
}

/* Consumers who are not at that p2ps, or all but one. */
static void watch_bystanders(struct world *world, uint32_t sink, const struct consumer *victim)
{
    for (uint32_t i = 0; i < world->outside->consumer_count; i++) {
        struct consumer *c = &world->outside->consumers[i];
        c->is_bystander = c != victim && (victim || c->proc != sink);
    }
}

/* ---- the faults ---- */

struct switched {
    uint64_t resumed, moved; /* items, of all p2ps */
};

static struct switched switched_of(const struct world *world)
{
    struct switched all = { 0 };

    for (uint32_t p = 0; p < world->proc_count; p++) {
        const struct proc *proc = &world->procs[p];
        if (proc->is_source || !proc->is_alive)
            continue;
        all.resumed += rrmp_sink_stats(proc->sink)->resumed;
        all.moved += rrmp_sink_stats(proc->sink)->moved;
    }
    return all;
}

static uint32_t any_sink(struct world *world)
{
    return world->plan.source_count + md_prng_below(&world->random, world->plan.sink_count);
}

/* Fewer than a quarter of the items: then it costs what was lost, and no more. */
static void lose(struct world *world, uint32_t sink)
{
    struct node *node = &world->nodes[world->procs[sink].node];
    uint32_t from = world->procs[0].node;

    world->outside->test.lost = world_between(world, 1, world->plan.item_count / 4 - 2);
    node->losing[from][0] = world->outside->test.lost;
    node->gap_due[from][0] = true;
    world->coverage->losses++;
}

static void kill_and_restart(struct world *world, struct proc *proc)
{
    proc_kill(world, proc);
    world_schedule(world, world->now_ns + 10 * MS + md_prng_below(&world->random, 1000000000),
                   EVENT_RESTART, proc->number, 0);
}

static void requester_fails(struct world *world, uint32_t sink)
{
    struct proc *proc = &world->procs[sink];

    if (md_prng_below(&world->random, 2)) {
        kill_and_restart(world, proc);
        return;
    }
    world->coverage->hangs++;
    proc->hung_until_ns = world->now_ns + 100 * MS + md_prng_below(&world->random, 3000000000u);
    proc->tick_at_ns = RRMP_NEVER;
    proc_soon(world, proc, proc->hung_until_ns);
}

static void crowd_comes(struct world *world, uint32_t sink)
{
    struct outside *outside = world->outside;
    struct consumer *many = NULL;
    struct consumer *single = NULL;

    for (uint32_t i = 0; i < outside->consumer_count; i++) {
        struct consumer *c = &outside->consumers[i];
        if (c->proc == sink)
            many = c;
        else
            single = c;
    }
    if (!many || !single || !many->is_in || !single->is_in)
        return;
    for (uint32_t i = 0; i < world->plan.core.crowd; i++)
        consumer_ask_crowd(many, CROWD_FIRST + i, CROWD_STREAM + (int32_t)i);
    outside->test.single_ns = world->now_ns + 2 * MS;
    outside->test.sink = single->number;
}

static void providers_of_lose(struct world *world, uint32_t number)
{
    for (uint32_t i = 0; i < world->outside->provider_count; i++) {
        if (world->outside->providers[i].proc == number)
            provider_lose(world, &world->outside->providers[i], 1 * SEC);
    }
}

/* The source that keeps what it said numbers from 1: no longer as the other one does. */
static void numbers_begin_again(struct world *world)
{
    if (world->outside->test.has_begun_again)
        return;
    world->outside->test.has_begun_again = true;
    providers_of_lose(world, world->options.seed / 2 % 2);
}

/* A source ends, or its daemon, or its connection to its provider, or its way to one p2ps. */
static void mirror_fails(struct world *world, uint32_t sink)
{
    uint32_t number = md_prng_below(&world->random, 2);
    uint32_t fault = md_prng_below(&world->random, 3);

    if (world->plan.core.numbers.kind == NUMBERS_RESTART)
        number = 1 - world->options.seed / 2 % 2;
    struct proc *proc = &world->procs[number];
    fault = world->plan.core.is_parted ? 3 : fault;
    world->coverage->mirror_faults[fault]++;
    switch (fault) {
    case 0:
        kill_and_restart(world, proc);
        break;
    case 1:
        network_node_down(world, proc->node);
        world_schedule(world, world->now_ns + 10 * MS + md_prng_below(&world->random, 2000000000),
                       EVENT_NODE_UP, proc->node, 0);
        break;
    case 2:
        providers_of_lose(world, number);
        break;
    default: {
        uint64_t until_ns = world->now_ns + 4 * SEC + md_prng_below(&world->random, 1000000000);
        uint32_t node = world->procs[sink].node;
        network_cut(world, proc->node, node, until_ns);
        network_cut(world, node, proc->node, until_ns);
        break;
    }
    }
}

static void begin(struct world *world)
{
    struct outside *outside = world->outside;
    uint32_t sink = any_sink(world);
    struct consumer *victim =
        &outside->consumers[md_prng_below(&world->random, outside->consumer_count)];

    outside->test.is_on = true;
    outside->test.at_ns = world->now_ns;
    outside->test.keeps_source = world->plan.core.experiment != EXPERIMENT_KILL;
    outside->test.node = world->procs[sink].node;
    for (uint32_t i = 0; i < outside->provider_count; i++)
        memset(outside->providers[i].asked, 0, sizeof(outside->providers[i].asked));
    if (world->plan.core.experiment < EXPERIMENT_count)
        world->coverage->experiments[world->plan.core.experiment]++;
    world_trace(world, "experiment %d begins, p2ps %u", world->plan.core.experiment, sink);
    switch (world->plan.core.experiment) {
    case EXPERIMENT_LOSS:
        watch_bystanders(world, sink, NULL);
        lose(world, sink);
        break;
    case EXPERIMENT_LAP:
        watch_bystanders(world, sink, NULL);
        world_lap(world, &world->procs[sink]);
        break;
    case EXPERIMENT_KILL:
        kill_and_restart(world, &world->procs[0]);
        break;
    case EXPERIMENT_DAEMON:
        network_node_down(world, world->procs[0].node);
        world_schedule(world, world->now_ns + 10 * MS + md_prng_below(&world->random, 2000000000),
                       EVENT_NODE_UP, world->procs[0].node, 0);
        break;
    case EXPERIMENT_REQUESTER:
        watch_bystanders(world, sink, NULL);
        requester_fails(world, sink);
        break;
    case EXPERIMENT_CONSUMER:
        watch_bystanders(world, sink, victim);
        if (md_prng_below(&world->random, 3) == 0)
            consumer_leave(victim);
        else
            consumer_stop(victim, 100 * MS + md_prng_below(&world->random, 4000000000u));
        break;
    case EXPERIMENT_CROWD:
        watch_bystanders(world, sink, NULL);
        crowd_comes(world, sink);
        break;
    case EXPERIMENT_MIRROR:
        outside->test.resumed = switched_of(world).resumed;
        mirror_fails(world, sink);
        break;
    case EXPERIMENT_NONE:
        break;
    }
}

/* Another p2ps asks for one item while the thousands are under way: R15. */
static void single_step(struct world *world)
{
    struct outside *outside = world->outside;
    struct consumer *c = &outside->consumers[outside->test.sink];

    if (outside->test.single_ns == 0 || world->now_ns < outside->test.single_ns ||
        outside->test.is_single_asked)
        return;
    outside->test.is_single_asked = true;
    outside->test.single_ns = world->now_ns;
    consumer_ask_crowd(c, CROWD_FIRST + world->plan.core.crowd, CROWD_STREAM);
}

void experiment_step(struct world *world)
{
    struct outside *outside = world->outside;

    if (!outside->test.is_on)
        settle_in(world);
    bool is_mirror = world->plan.core.experiment == EXPERIMENT_MIRROR;
    uint64_t at = is_mirror ? MIRROR_AT : FAULT_AT;
    if (world->plan.core.numbers.kind == NUMBERS_RESTART) {
        at += 3 * SEC;
        if (world->now_ns >= AGAIN_AT)
            numbers_begin_again(world);
    }
    if (!outside->test.is_on && world->now_ns >= at)
        begin(world);
    single_step(world);
}

/* ---- what is seen of it ---- */

void experiment_told(struct consumer *c, struct stream *s)
{
    struct outside *outside = c->world->outside;

    if (!outside->test.is_on || !is_item(c->world, s->item))
        return;
    outside->test.was_told[c->proc][s->item] = true;
    bool is_mirror = c->world->plan.core.experiment == EXPERIMENT_MIRROR;
    bool is_equal = numbers_are_equal(c->world, s->item);
    c->world->coverage->mirror_told += is_mirror && !is_equal;
    if (is_mirror && is_equal)
        world_fail(c->world, "R20", "consumer %u item %u: told suspect, though its mirror goes on",
                   c->number, s->item);
    if (c->is_bystander)
        world_fail(c->world, "R16", "consumer %u item %u: told suspect, though nothing concerns it",
                   c->number, s->item);
}

/* R20: updates are judged by R2, which lets nobody miss one, nor get one twice. */
void experiment_news(struct consumer *c, struct stream *s)
{
    if (c->world->plan.core.experiment == EXPERIMENT_MIRROR && c->world->outside->test.is_on &&
        numbers_are_equal(c->world, s->item))
        world_fail(c->world, "R20", "consumer %u item %u: got an image, though its mirror goes on",
                   c->number, s->item);
}

void experiment_data(struct consumer *c, struct stream *s, uint32_t counter)
{
    const struct world *world = c->world;

    if (!c->is_bystander || !is_item(world, s->item) || s->wants || counter + 60 < s->counter)
        return;
    uint32_t first = run_first(world, s->item, s->counter, counter);
    uint64_t late_ns = world->now_ns - world->items[s->item].changed_ns[first % 64];
    bool is_next = first <= counter && counter - s->counter < 60;
    if (is_next && late_ns > LATENCY + lines_of(world, s->item)->interval * MS)
        world_fail(c->world, "R16", "consumer %u item %u: update %u after %.3f s", c->number,
                   s->item, counter, (double)late_ns / 1e9);
}

void experiment_crowd_answered(struct consumer *c, int32_t stream_id)
{
    struct outside *outside = c->world->outside;

    if (stream_id != CROWD_STREAM || c->number != outside->test.sink ||
        !outside->test.is_single_asked || outside->test.is_single_answered)
        return;
    outside->test.is_single_answered = true;
    if (c->world->now_ns - outside->test.single_ns > SINGLE_NS)
        world_fail(c->world, "R15", "a single request was answered after %.3f s",
                   (double)(c->world->now_ns - outside->test.single_ns) / 1e9);
}

void experiment_record(struct world *world, const struct backbone_target *target,
                       const uint8_t *bytes, size_t length)
{
    if (world->outside->test.is_on && length > 32 && bytes[0] == RRMP_IMAGE &&
        target->path != BACKBONE_PATH_UNICAST && md_be16(bytes + 30) & RRMP_IMAGE_FIRST)
        world->outside->test.images++;
}

/* ---- R8, R9, R10 ---- */

static void check_requests(struct world *world)
{
    const struct core_plan *plan = &world->plan.core;
    bool is_cached = world->plan.source_cache && world->outside->test.keeps_source;
    /* Who dies or goes away closes what nobody else wants, and asks again when it is back. */
    uint32_t allowed = is_cached && plan->experiment != EXPERIMENT_REQUESTER &&
                               plan->experiment != EXPERIMENT_CONSUMER
                           ? 0
                           : 1;

    /* All p2ps have lost that instance, and ask one after the other: only a cache joins them. */
    if ((plan->experiment == EXPERIMENT_DAEMON && !is_cached) ||
        (plan->experiment == EXPERIMENT_KILL && !world->plan.source_cache))
        allowed = world->plan.sink_count;
    for (uint32_t i = 0; i < world->outside->provider_count; i++) {
        const struct provider *p = &world->outside->providers[i];
        for (uint32_t item = 0; item < world->plan.item_count; item++) {
            if (p->asked[item] > allowed)
                world_fail(world, "R8", "item %u was asked %u times of provider %u after one fault",
                           item, p->asked[item], i);
        }
    }
}

/* Items that went to the mirror go back when the source has come again. Where providers do not
 * number alike no item goes on; where numbers go back or updates are merged some do. */
static void check_moves(struct world *world)
{
    struct switched now = switched_of(world);
    enum numbers_kind kind = world->plan.core.numbers.kind;

    world_trace(world, "%llu items went on at the mirror, %llu were moved",
                (unsigned long long)now.resumed, (unsigned long long)now.moved);
    world->coverage->mirror_resumed += now.resumed;
    world->coverage->mirror_moved += now.moved;
    if (numbers_are_unequal(world) && now.resumed != world->outside->test.resumed)
        world_fail(world, "R20", "%llu items went on at a mirror that says something else",
                   (unsigned long long)(now.resumed - world->outside->test.resumed));
    if (kind >= NUMBERS_MERGED)
        return;
    if (world->plan.core.rebalances ? now.resumed != 2 * now.moved : now.moved > 0)
        world_fail(world, "R20", "%llu items went on at the mirror, %llu were moved back",
                   (unsigned long long)(now.resumed - now.moved), (unsigned long long)now.moved);
}

/* The thousands are nobody's streams: who asked for them leaves with them. */
void experiment_calm(struct world *world)
{
    struct outside *outside = world->outside;

    for (uint32_t i = 0; world->plan.core.crowd && i < outside->consumer_count; i++) {
        if (outside->consumers[i].is_connected)
            consumer_leave(&outside->consumers[i]);
    }
}

void experiment_check_end(struct world *world)
{
    const struct outside *outside = world->outside;
    enum experiment kind = world->plan.core.experiment;
    uint32_t told = 0;

    if (kind == EXPERIMENT_NONE || !outside->test.is_on)
        return;
    if (kind == EXPERIMENT_MIRROR) {
        check_moves(world);
        return; /* what it costs is judged when it comes; each standby asks for all, again and again
                 */
    }
    check_requests(world);
    for (uint32_t p = 0; p < world->proc_count; p++) {
        for (uint32_t i = 0; i < world->plan.item_count; i++)
            told += outside->test.was_told[p][i];
    }
    if (kind == EXPERIMENT_LOSS &&
        (told > outside->test.lost || outside->test.images > outside->test.lost))
        world_fail(world, "R10", "%u records lost: %u items told, %u images multicast",
                   outside->test.lost, told, outside->test.images);
    if (kind == EXPERIMENT_KILL && outside->test.images * 10 > world->plan.item_count * 12)
        world_fail(world, "R9", "%u images multicast for %u items", outside->test.images,
                   world->plan.item_count);
    if (kind == EXPERIMENT_CROWD && outside->test.is_single_asked &&
        !outside->test.is_single_answered)
        world_fail(world, "R15", "a single request has no answer");
}
