/* follower_end.c - a follower at the end of a run: it has what is open, and asks for nothing. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cores.h"
#include "follower_inside.h"

#define LISTS_AT_REST 5u /* LISTREQs of a link in half a minute */

static bool is_open_at(const struct world *world, const struct proc *source, uint32_t item)
{
    struct rrmp_source_item info;

    return follower_find_at(world, source, item, &info) != RRMP_ITEM_NONE && info.is_active &&
           info.is_bound;
}

static void check_item(struct world *world, const struct proc *proc, uint32_t item)
{
    struct followed *it = &proc->follower->items[item];
    struct rrmp_sink_item info = { .instance = 0xFFFF };
    bool has_it = it->watch.state != WATCH_IDLE;
    bool is_open = false;
    bool is_there = false;

    if (has_it && !rrmp_sink_item_info(proc->sink, it->number, &info))
        world_fail(world, "R24", "follower %u item %u: the engine has it not", proc->number, item);
    for (uint32_t p = 0; p < world->plan.source_count; p++) {
        const struct proc *source = &world->procs[p];
        if (!source->is_alive || !is_open_at(world, source, item))
            continue;
        is_open = true;
        is_there = is_there || (info.instance != 0xFFFF &&
                                rrmp_sink_instance_is(proc->sink, info.instance, source->session,
                                                      source->port));
    }
    if (has_it != is_open || (is_open && !is_there))
        world_fail(world, "R24", "follower %u item %u: it is %s, and %s%s", proc->number, item,
                   is_open ? "bound" : "bound nowhere", has_it ? "followed" : "not followed",
                   is_open && has_it && !is_there ? " elsewhere" : "");
    if (!is_open || !has_it)
        return;
    bool is_behind = !world->lines.is_on && it->watch.counter != world->items[item].counter;
    if (info.state != RRMP_SINK_LIVE || it->watch.state != WATCH_STEP || it->watch.is_suspect ||
        is_behind)
        world_fail(world, "R24",
                   "follower %u item %u: in state %d%s at %u of %u, engine in state %d told %d",
                   proc->number, item, it->watch.state, it->watch.is_suspect ? " suspect" : "",
                   it->watch.counter, world->items[item].counter, info.state, info.suspect_sent);
    world->coverage->followed_judged++;
}

static uint32_t links_of(const struct rrmp_sink *sink)
{
    struct rrmp_sink_service service;
    uint32_t count = 0;

    for (uint16_t s = 0; s < rrmp_sink_service_count(sink); s++)
        count += rrmp_sink_service(sink, s, &service) ? service.instance_count : 0;
    return count;
}

static void check_follower(struct world *world, const struct proc *proc)
{
    const struct rrmp_sink_stats *stats = rrmp_sink_stats(proc->sink);
    const struct follower *f = proc->follower;
    uint32_t open = 0;

    for (uint32_t i = 0; i < world->plan.item_count; i++) {
        check_item(world, proc, i);
        open += f->items[i].watch.state != WATCH_IDLE;
    }
    if (stats->items_now != open || stats->held_bytes_now)
        world_fail(world, "R6", "follower %u: %u items at the engine, %u above it, %zu bytes held",
                   proc->number, stats->items_now, open, stats->held_bytes_now);
    for (int q = 0; q < 3; q++) {
        if (stats->queued_now[q])
            world_fail(world, "R13", "follower %u: queue %d holds %u", proc->number, q,
                       stats->queued_now[q]);
    }
    if (stats->requests_sent != f->requests_at_rest)
        world_fail(world, "R13", "follower %u: asks for items while nothing happens", proc->number);
    uint64_t lists = stats->records_out[RRMP_LISTREQ] - f->lists_at_rest;
    if (lists > LISTS_AT_REST * links_of(proc->sink))
        world_fail(world, "R13", "follower %u: %llu lists asked for while nothing happens",
                   proc->number, (unsigned long long)lists);
}

void followers_check_items(struct world *world)
{
    for (uint32_t p = world_sinks_end(world); p < world->proc_count; p++) {
        const struct proc *proc = &world->procs[p];
        for (uint32_t i = 0; i < world->plan.item_count && proc->is_alive; i++)
            check_item(world, proc, i);
    }
}

void followers_rest(struct world *world)
{
    for (uint32_t p = world_sinks_end(world); p < world->proc_count; p++) {
        const struct proc *proc = &world->procs[p];
        if (!proc->is_alive)
            continue;
        proc->follower->requests_at_rest = rrmp_sink_stats(proc->sink)->requests_sent;
        proc->follower->lists_at_rest = rrmp_sink_stats(proc->sink)->records_out[RRMP_LISTREQ];
    }
}

void followers_check_end(struct world *world)
{
    for (uint32_t p = world_sinks_end(world); p < world->proc_count; p++) {
        const struct proc *proc = &world->procs[p];
        if (proc->is_alive)
            check_follower(world, proc);
        else
            world_fail(world, "R5", "process %u is dead at the end", p);
    }
}
