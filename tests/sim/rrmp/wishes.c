/* wishes.c - see wishes.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "wishes.h"

#include <string.h>

/*
 * As docs/design/rrcp.md 13 has it: what a node wants is the union of what its processes want, and
 * is told to each other node by unicast, ahead of what they send afterwards. Nothing is kept after
 * its last user has gone, other than rrcpd does: so it is left out as soon as that can be.
 */
#define SALT 0x77697368657321ull

void wishes_draw(struct world *world)
{
    world->wishes.random = md_prng_init(world->options.seed ^ SALT);
    world->wishes.is_on = true;
    for (uint32_t n = 0; n < NODES_MAX; n++) {
        /* One in six is of an older release. */
        world->nodes[n].filters = md_prng_below(&world->wishes.random, 6) > 0;
        world->nodes[n].said.is_all = true;
        for (uint32_t other = 0; other < NODES_MAX; other++)
            world->nodes[n].wanted_at[other].is_all = true;
    }
    /* Services that nobody at a node wants are seldom where it has many consumers. With a narrow
     * window few of them see race 9 of docs/design/rrmp.md, which is told suspect. */
    if (md_prng_below(&world->wishes.random, 2) && world->plan.watch_count > 6 &&
        world->plan.window > 1)
        world->plan.watch_count = 2 + md_prng_below(&world->wishes.random, 5);
}

static bool has(const struct wants *wants, uint32_t topic)
{
    for (uint32_t i = 0; i < wants->count; i++) {
        if (wants->topics[i] == topic)
            return true;
    }
    return wants->is_all;
}

static void add(struct wants *wants, uint32_t topic)
{
    if (has(wants, topic))
        return;
    if (wants->count == WANTS_MAX)
        wants->is_all = true;
    else
        wants->topics[wants->count++] = topic;
}

static struct wants union_at(const struct world *world, uint32_t node)
{
    struct wants all = { .is_all = !world->nodes[node].filters };

    for (uint32_t p = 0; p < world->proc_count; p++) {
        const struct proc *proc = &world->procs[p];

        if (!proc->is_alive || proc->node != node || proc->session == 0)
            continue;
        all.is_all = all.is_all || proc->wants.is_all;
        for (uint32_t i = 0; i < proc->wants.count; i++)
            add(&all, proc->wants.topics[i]);
    }
    return all;
}

static bool is_same(const struct wants *a, const struct wants *b)
{
    bool is_same = a->is_all == b->is_all && (a->is_all || a->count == b->count);

    for (uint32_t i = 0; is_same && !a->is_all && i < a->count; i++)
        is_same = has(b, a->topics[i]);
    return is_same;
}

static void change(struct world *world, uint32_t node)
{
    struct wants now = union_at(world, node);

    if (!world->wishes.is_on || is_same(&now, &world->nodes[node].said))
        return;
    world->nodes[node].said = now;
    for (uint32_t n = 0; n < world->plan.node_count; n++)
        wishes_tell(world, node, n);
}

bool wishes_attached(struct world *world, struct proc *proc)
{
    proc->wants = (struct wants){ .count = 0 };
    change(world, proc->node);
    return world->wishes.is_on && world->nodes[proc->node].filters;
}

void wishes_say(struct world *world, struct proc *proc, const uint32_t topics[], uint32_t count)
{
    proc->wants = (struct wants){ .is_all = !topics };
    for (uint32_t i = 0; i < count; i++)
        add(&proc->wants, topics[i]);
    world->coverage->wishes++;
    change(world, proc->node);
}

void wishes_gone(struct world *world, uint32_t node)
{
    change(world, node);
}

void wishes_tell(struct world *world, uint32_t from, uint32_t to)
{
    const struct wants *said = &world->nodes[from].said;
    struct blob *blob;

    if (!world->wishes.is_on || from == to || !world->nodes[from].filters)
        return;
    blob = blob_take((const uint8_t *)said, sizeof(*said));
    network_wish(world, from, to, blob);
    blob_give(blob);
}

void wishes_doubt(struct world *world, uint32_t node, uint32_t of)
{
    world->nodes[node].wanted_at[of] = (struct wants){ .is_all = true };
}

void wishes_event(struct world *world, const struct event *event)
{
    struct node *node = &world->nodes[event->a];

    if (!node->is_up || !node->hears[event->b] || world->nodes[event->b].session != event->c)
        return;
    if (event->entry.blob)
        memcpy(&node->wanted_at[event->b], event->entry.blob->bytes, sizeof(struct wants));
    else
        wishes_doubt(world, event->a, event->b);
}

bool wishes_leave_out(struct world *world, uint32_t from, uint32_t to, uint32_t topic)
{
    if (!world->wishes.is_on || from == to || topic == RRMP_TOPIC_CONTROL ||
        has(&world->nodes[from].wanted_at[to], topic))
        return false;
    world->coverage->left_out++;
    return true;
}
