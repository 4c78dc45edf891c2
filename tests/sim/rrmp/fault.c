/* fault.c - what goes wrong in a run, as often as its plan says. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "cores.h"

struct proc *world_any_proc(struct world *world)
{
    return &world->procs[md_prng_below(&world->random, world->proc_count)];
}

void world_lap(struct world *world, struct proc *proc)
{
    struct backbone_event overrun = { .type = BACKBONE_OVERRUN };
    bool is_new = false;

    /* What names its own life is not lost: the ring's reader keeps that apart. */
    for (uint32_t i = proc->inbox.head; i != proc->inbox.tail; i++) {
        struct entry *entry = (struct entry *)proc->inbox.cells + (i & (proc->inbox.size - 1));
        if (!entry->blob)
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
    *entry = (struct entry){ .event = overrun };
    proc_soon(world, proc, world->now_ns);
}

/* Each kind of fault as often as the plan says, over the busy time, in ticks of 20 ms. */
void world_faults(struct world *world)
{
    const struct plan *plan = &world->plan;
    uint32_t ticks = (uint32_t)(plan->busy_ns / (20 * MS));
    struct proc *proc = world_any_proc(world);
    uint64_t busy_left = world->calm_ns - world->now_ns;

    if (world_chance(world, plan->kills * 1000000 / ticks) && proc->is_alive) {
        proc_kill(world, proc);
        uint64_t pause = md_prng_below(&world->random, 2) ? 100 * MS : 3 * SEC;
        world_schedule(world, world->now_ns + md_prng_below(&world->random, (uint32_t)pause),
                       EVENT_RESTART, proc->number, 0);
    }
    proc = world_any_proc(world);
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
        if (world->outside)
            world->outside->trouble_ns = world->now_ns + 4 * SEC; /* until all know */
        world_schedule(world, world->now_ns + md_prng_below(&world->random, 2000000000),
                       EVENT_NODE_UP, node, 0);
    }
    if (world_chance(world, plan->partitions * 1000000 / ticks)) {
        uint32_t to = md_prng_below(&world->random, plan->node_count);
        uint64_t time = md_prng_u64(&world->random) % (6 * SEC);
        time = time < busy_left ? time : busy_left;
        world->coverage->partitions++;
        if (world->outside && world->outside->trouble_ns < world->now_ns + time)
            world->outside->trouble_ns = world->now_ns + time;
        world_trace(world, "node %u does not hear %u for %" PRIu64 " ms", to, node, time / MS);
        network_cut(world, node, to, world->now_ns + time);
        if (md_prng_below(&world->random, 2))
            network_cut(world, to, node, world->now_ns + time);
    }
    if (world_chance(world, plan->laps * 1000000 / ticks))
        world_lap(world, world_any_proc(world));
    if (world_chance(world, plan->stalls * 1000000 / ticks)) {
        proc = world_any_proc(world);
        proc->ring_ns = world->now_ns + 100 * MS + md_prng_below(&world->random, 2000000000);
        world_trace(world, "the ring of proc %u stalls", proc->number);
    }
    if (world->outside) {
        providers_faults(world, ticks);
        consumers_faults(world, ticks);
        return;
    }
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

static uint32_t nonsense(struct world *world, uint8_t *bytes, uint32_t size)
{
    static const uint8_t types[] = { 1,  2,  3,  4,  5,  16, 17, 18, 19, 20, 21, 22, 23,
                                     32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 63 };
    uint32_t length = md_prng_below(&world->random, size);

    for (uint32_t i = 0; i < length; i++)
        bytes[i] = md_prng_below(&world->random, 3) ? (uint8_t)md_prng_below(&world->random, 3)
                                                    : (uint8_t)md_prng_u32(&world->random);
    if (length > 8 && md_prng_below(&world->random, 10)) {
        bytes[0] = types[md_prng_below(&world->random, sizeof(types))];
        bytes[1] = (uint8_t)(RRMP_VERSION << 4 | (bytes[1] & 15));
    }
    return length;
}

/* A true record with a few bytes changed, or none. Who announces himself is a source of his own,
 * right or wrong: that is not repeated. */
static uint32_t mutated(struct world *world, uint8_t *bytes, uint32_t size)
{
    uint32_t type = md_prng_below(&world->random, OVERHEARD);
    const struct blob *blob = world->overheard[type];

    if (!blob || blob->length < 2 || blob->length > size || type == RRMP_INSTANCE ||
        type == RRMP_SERVICE)
        return 0;
    memcpy(bytes, blob->bytes, blob->length);
    for (uint32_t n = md_prng_below(&world->random, 4); n > 0; n--) {
        uint32_t at = 1 + md_prng_below(&world->random, blob->length - 1);
        bytes[at] ^= (uint8_t)(1u << md_prng_below(&world->random, 8));
    }
    world->coverage->mutated++;
    return blob->length;
}

/* Somebody sends what is wrong, from a port of his own, to everybody or to one. */
void world_hostile(struct world *world)
{
    uint8_t bytes[1024];
    uint32_t node = md_prng_below(&world->random, world->plan.node_count);
    struct proc ghost = { .node = node,
                          .session = world->nodes[node].session,
                          .port = (uint16_t)(60000 + md_prng_below(&world->random, 3)) };

    if (!world->nodes[node].is_up)
        return;
    uint32_t length = md_prng_below(&world->random, 2) ? mutated(world, bytes, sizeof(bytes)) : 0;
    if (length == 0)
        length = nonsense(world, bytes, 256);
    struct backbone_target target = { .path = BACKBONE_PATH_MULTICAST,
                                      .topic = RRMP_TOPIC_CONTROL };
    const struct proc *victim = world_any_proc(world);
    if (md_prng_below(&world->random, 2) && victim->session) {
        target.path = BACKBONE_PATH_UNICAST;
        target.session = victim->session;
        target.port = victim->port;
    }
    world->coverage->hostile++;
    network_send(world, &ghost, &target, bytes, length);
}
