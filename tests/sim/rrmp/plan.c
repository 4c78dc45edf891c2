/* plan.c - what a run does: drawn from its seed, or the faults of a named scenario. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "follower.h"
#include "paces.h"
#include "wishes.h"

uint32_t world_between(struct world *world, uint32_t low, uint32_t high)
{
    return low + md_prng_below(&world->random, high - low + 1);
}

static uint32_t sometimes(struct world *world, uint32_t one_in, uint32_t high)
{
    return md_prng_below(&world->random, one_in) ? 0 : world_between(world, 1, high);
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
        .part_delay_ns = 10 * MS,
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
    plan->node_count = world_between(world, 2, 8);
    plan->source_count = world_between(world, 1, 4);
    plan->sink_count = world_between(world, 1, 6);
    plan->item_count = world_between(world, 4, 120);
    plan->service_count = world_between(world, 1, 2);
    plan->watch_count = world_between(world, 4, 100);
    plan->updates_per_s = world_between(world, 50, 1200);
    plan->delay_ns = world_between(world, 50000, 20000000);
    plan->loss_ppm = sometimes(world, 2, 4000);
    plan->unicast_loss_ppm = sometimes(world, 3, 4000);
    plan->loss_run = world_between(world, 1, 40);
    plan->kills = sometimes(world, 3, 4);
    plan->hangs = sometimes(world, 3, 4);
    plan->node_kills = sometimes(world, 4, 2);
    plan->partitions = sometimes(world, 3, 4);
    plan->laps = sometimes(world, 3, 4);
    plan->provider_losses = sometimes(world, 3, 4);
    plan->churn_per_s = world_between(world, 1, 60);
    plan->group_changes_per_s = sometimes(world, 3, 4);
    plan->hostile_per_s = sometimes(world, 4, 200);
    plan->source_cache = md_prng_below(&world->random, 2);
    plan->unicast_images = md_prng_below(&world->random, 2);
    plan->gap_log = md_prng_below(&world->random, 4) ? 4096 : 16;
    plan->window = md_prng_below(&world->random, 3) ? 100 : world_between(world, 1, 4);
    plan->hold_records = md_prng_below(&world->random, 3) ? 256 : 2;
    plan->handle_limit = 4096;
    if (md_prng_below(&world->random, 6) == 0) /* all items fit, but hardly */
        plan->handle_limit = plan->item_count + PRIVATES_MAX + world_between(world, 0, 8);
    plan->handle_rest_ns = world_between(world, 0, 1) ? 0 : 5 * SEC;
    plan->handle_rest_ns += 1;
    if (md_prng_below(&world->random, 4) == 0) {
        plan->ring_bytes = world_between(world, 10000, 65536);
        plan->ring_rate = world_between(world, 20000, 80000);
        /* What a provider says has to fit through in the end. */
        uint32_t most = (uint32_t)plan->ring_rate / 42;
        plan->updates_per_s = plan->updates_per_s < most ? plan->updates_per_s : most;
    }
}

/* What the models around the engines have no need of. */
static void plan_cores(struct world *world)
{
    struct core_plan *core = &world->plan.core;

    core->providers = 1;
    core->consumers = 2;
    core->streams = 20;
    core->window = 500;
    core->sink_cache = true;
    world->plan.updates_per_s = world->plan.updates_per_s < 400 ? world->plan.updates_per_s : 400;
}

static void draw_cores(struct world *world)
{
    struct plan *plan = &world->plan;
    struct core_plan *core = &plan->core;

    plan_cores(world);
    plan->sink_count = world_between(world, 1, 4);
    plan->item_count = world_between(world, 4, 60);
    plan->updates_per_s = world_between(world, 30, 300);
    plan->churn_per_s = world_between(world, 2, 100);
    if (plan->ring_rate < 1000000) {
        uint32_t most = (uint32_t)plan->ring_rate / 120;
        plan->updates_per_s = plan->updates_per_s < most ? plan->updates_per_s : most;
        plan->ring_bytes = 2000 + plan->ring_bytes % 20000;
        plan->stalls = 4;
    }
    if (plan->handle_limit < 4096)
        plan->handle_limit += 128; /* private streams of all consumers */
    core->providers = world_between(world, 1, 2);
    core->has_broadcast = md_prng_below(&world->random, 3) == 0;
    core->consumers = world_between(world, 1, 5);
    core->streams = world_between(world, 3, 30);
    core->window = md_prng_below(&world->random, 2) ? 500 : world_between(world, 1, 6);
    core->slow_percent = sometimes(world, 2, 60);
    core->sink_cache = md_prng_below(&world->random, 2);
    core->authority_is_late = md_prng_below(&world->random, 4) == 0;
    core->silences = sometimes(world, 4, 3);
    core->jams = sometimes(world, 4, 3);
    core->refusals = sometimes(world, 5, 2);
    core->service_downs = sometimes(world, 4, 3);
    core->item_ends = sometimes(world, 3, 6);
    core->group_moves = sometimes(world, 3, 4);
    core->permission_changes = sometimes(world, 3, 4);
    core->stops = sometimes(world, 3, 4);
    core->consumer_deaths = sometimes(world, 3, 4);
    if (md_prng_below(&world->random, 4) == 0) {
        plan_calm(world);
        plan_cores(world);
        core->experiment = (enum experiment)world_between(world, 1, EXPERIMENT_count - 1);
        experiment_plan(world);
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

/* An item waits for its turn while another requester's image of it passes, and nothing goes wrong:
 * who takes that image has to make its interest known all the same. */
static void narrow_window(struct world *world)
{
    plan_calm(world);
    world->plan.sink_count = 4;
    world->plan.window = 1;
    world->plan.churn_per_s = 100;
    world->plan.delay_ns = 5 * MS;
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

/* Images are on their way for so long that others ask for them meanwhile, up to the end. */
static void slow_parts(struct world *world)
{
    plan_calm(world);
    world->plan.source_cache = false;
    world->plan.item_count = 20;
    world->plan.churn_per_s = 60;
    world->plan.part_delay_ns = 400 * MS;
}

static void losses_unicast(struct world *world)
{
    losses(world);
    world->plan.unicast_images = true;
    world->plan.delay_ns = 20 * MS;
}

static void slow_ring(struct world *world)
{
    plan_calm(world);
    world->plan.ring_bytes = 10000;
    world->plan.ring_rate = 14000;
}

/* Nothing follows a loss for a while, neither of the same item nor of the service: only what the
 * engines say of themselves tells of it, and what they ask may be lost, too. */
static void little_traffic(struct world *world)
{
    plan_calm(world);
    plan_cores(world);
    world->plan.item_count = 30;
    world->plan.updates_per_s = 3;
    world->plan.churn_per_s = 10;
    world->plan.busy_ns = 20 * SEC;
    world->plan.loss_ppm = 40000;
    world->plan.unicast_loss_ppm = 40000;
    world->plan.loss_run = 3;
    world->plan.core.has_silent_privates = true;
}

/* Processes die with requests under way, which arrive after the news of their end. */
static void requests_of_the_dead(struct world *world)
{
    plan_calm(world);
    plan_cores(world);
    world->plan.kills = 12;
    world->plan.sink_count = 4;
    world->plan.source_count = 1;
    world->plan.delay_ns = 50 * MS;
    world->plan.churn_per_s = 100;
    world->plan.core.consumers = 4;
    world->plan.core.checks_interest = true;
}

/* A daemon makes room in the ring of a process while the process has a turn. */
static void ring_drained_meanwhile(struct world *world)
{
    slow_ring(world);
    plan_cores(world);
    world->plan.ring_bytes = 3000;
    world->plan.ring_rate = 40000;
    world->plan.updates_per_s = 200;
    world->plan.churn_per_s = 60;
    world->plan.stalls = 6;
    world->plan.drains_meanwhile = true;
    world->plan.core.service_downs = 3;
    world->plan.core.item_ends = 3;
    world->plan.group_changes_per_s = 2;
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

static void slow_consumers(struct world *world)
{
    plan_calm(world);
    plan_cores(world);
    world->plan.core.slow_percent = 60;
    world->plan.core.stops = 6;
    world->plan.core.service_downs = 3;
    world->plan.core.group_moves = 2;
    world->plan.group_changes_per_s = 2;
}

/* Lines of filterFile over consumers that come and go, slow ones among them. */
static void filters(struct world *world)
{
    plan_calm(world);
    plan_cores(world);
    world->lines.is_on = true;
    world->plan.churn_per_s = 60;
    world->plan.core.slow_percent = 30;
    world->plan.core.stops = 3;
    world->plan.source_cache = world->options.seed % 2;
}

static void filters_and_faults(struct world *world)
{
    filters(world);
    world->plan.source_count = 2;
    world->plan.kills = 3;
    world->plan.loss_ppm = 2000;
    world->plan.loss_run = 20;
    world->plan.provider_losses = 3;
    world->plan.core.permission_changes = 3;
    world->plan.core.item_ends = 3;
}

/* Streams with rates of their choice, on items that others open, close and ask for again. */
static void rates(struct world *world)
{
    plan_calm(world);
    plan_cores(world);
    world->paces.is_on = true;
    world->lines.is_on = world->options.seed % 4 == 3;
    world->plan.churn_per_s = 20;
    world->plan.core.consumers = 4;
    world->plan.core.sink_cache = world->options.seed % 3 > 0;
    world->plan.source_cache = world->options.seed % 2;
}

static void rates_and_faults(struct world *world)
{
    rates(world);
    world->plan.churn_per_s = 60;
    world->plan.source_count = 2;
    world->plan.kills = 3;
    world->plan.loss_ppm = 2000;
    world->plan.loss_run = 20;
    world->plan.provider_losses = 3;
    world->plan.core.slow_percent = 30;
    world->plan.core.stops = 3;
    world->plan.core.group_moves = 3;
    world->plan.core.permission_changes = 3;
    world->plan.core.item_ends = 3;
}

static void broadcast(struct world *world)
{
    plan_calm(world);
    plan_cores(world);
    world->plan.core.has_broadcast = true;
    world->plan.core.providers = 2;
    world->plan.provider_losses = 4;
    world->plan.core.silences = 3;
}

/* Services that go for longer than serviceForget, and come again. */
static void services_forgotten(struct world *world)
{
    broadcast(world);
    world->plan.service_count = 2;
    world->plan.provider_losses = 8;
    world->plan.kills = 2;
    world->plan.core.providers = 1;
    world->plan.core.forget_ns = 200 * MS;
}

/* Of numbers of its own, as lines and rates. */
static void forget_draw(struct world *world)
{
    struct md_prng random = md_prng_init(world->options.seed ^ UINT64_C(0x666f72676574));

    if (md_prng_below(&random, 2))
        world->plan.core.forget_ns = (100 + md_prng_below(&random, 2000)) * MS;
}

static void experiment(struct world *world, enum experiment kind)
{
    plan_calm(world);
    plan_cores(world);
    world->plan.core.experiment = kind;
    experiment_plan(world);
}

static void one_loss(struct world *world)
{
    experiment(world, EXPERIMENT_LOSS);
}

static void one_lap(struct world *world)
{
    experiment(world, EXPERIMENT_LAP);
}

static void one_kill(struct world *world)
{
    experiment(world, EXPERIMENT_KILL);
}

static void one_daemon(struct world *world)
{
    experiment(world, EXPERIMENT_DAEMON);
}

static void one_requester(struct world *world)
{
    experiment(world, EXPERIMENT_REQUESTER);
}

static void one_consumer(struct world *world)
{
    experiment(world, EXPERIMENT_CONSUMER);
}

static void mirrors(struct world *world)
{
    experiment(world, EXPERIMENT_MIRROR);
}

static void crowd(struct world *world)
{
    experiment(world, EXPERIMENT_CROWD);
}

/* As the design says it. */
static void crowd_of_100000(struct world *world)
{
    crowd(world);
    world->plan.core.crowd = 100000;
}

static const struct scenario {
    const char *name;
    void (*plan)(struct world *world);
    bool is_of_cores;
    bool is_long; /* only by its name */
} scenarios[] = {
    { "no_faults", no_faults, false, false },
    { "no_faults_unicast", no_faults_unicast, false, false },
    { "no_faults_no_cache", no_faults_no_cache, false, false },
    { "narrow_window", narrow_window, false, false },
    { "losses", losses, false, false },
    { "losses_sparse", losses_sparse, false, false },
    { "many_parts", many_parts, false, false },
    { "slow_parts", slow_parts, false, false },
    { "losses_unicast", losses_unicast, false, false },
    { "restarts", restarts, false, false },
    { "failover", failover, false, false },
    { "daemons_die", daemons_die, false, false },
    { "partitions", partitions, false, false },
    { "lapped", lapped, false, false },
    { "tiny_limits", tiny_limits, false, false },
    { "hostile", hostile, false, false },
    { "provider_lost", provider_lost, false, false },
    { "slow_ring", slow_ring, false, false },
    { "slow_consumers", slow_consumers, true, false },
    { "little_traffic", little_traffic, true, false },
    { "requests_of_the_dead", requests_of_the_dead, true, false },
    { "ring_drained_meanwhile", ring_drained_meanwhile, true, false },
    { "broadcast", broadcast, true, false },
    { "services_forgotten", services_forgotten, true, false },
    { "filters", filters, true, false },
    { "filters_and_faults", filters_and_faults, true, false },
    { "rates", rates, true, false },
    { "rates_and_faults", rates_and_faults, true, false },
    { "one_loss", one_loss, true, false },
    { "one_lap", one_lap, true, false },
    { "one_kill", one_kill, true, false },
    { "one_daemon", one_daemon, true, false },
    { "one_requester", one_requester, true, false },
    { "one_consumer", one_consumer, true, false },
    { "mirrors", mirrors, true, false },
    { "crowd", crowd, true, false },
    { "crowd_of_100000", crowd_of_100000, true, true },
};

const char *plan_scenario(size_t index)
{
    return index < sizeof(scenarios) / sizeof(scenarios[0]) ? scenarios[index].name : NULL;
}

bool plan_is_of_all(const struct options *options, size_t index)
{
    return !scenarios[index].is_long && !(options->is_engine_only && scenarios[index].is_of_cores);
}

void plan_make(struct world *world)
{
    const char *name = world->options.scenario;

    plan_draw(world);
    if (!world->options.is_engine_only)
        draw_cores(world);
    for (size_t i = 0; name && i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
        if (strcmp(name, scenarios[i].name) != 0)
            continue;
        scenarios[i].plan(world);
        if (!world->options.is_engine_only && !scenarios[i].is_of_cores)
            plan_cores(world);
    }
    if (world->options.has_wishes)
        wishes_draw(world);
    if (world->options.has_paces)
        forget_draw(world);
    if (world->follow.is_on || world->options.has_followers)
        followers_draw(world);
    if (world->lines.is_on || world->options.has_lines)
        lines_draw(world);
    if (world->paces.is_on || (world->options.has_paces && !world->options.is_engine_only))
        paces_draw(world);
}
