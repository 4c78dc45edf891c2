/* process.c - processes of the simulation: start, run, hang, die; their queues. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "p2ps/core/core.h"
#include "wishes.h"

#define BATCH_MAX 64
#define EAGER_NS  1000u   /* until a turn that is due at once */
#define EAGER_MAX 200000u /* such turns in a row */

void queue_init(struct queue *queue, size_t cell_size)
{
    *queue = (struct queue){ .cell_size = cell_size };
}

void queue_fini(struct queue *queue)
{
    free(queue->cells);
    queue->cells = NULL;
}

void *queue_put(struct queue *queue)
{
    if (queue->tail - queue->head == queue->size) {
        uint32_t size = queue->size ? queue->size * 2 : 64;
        uint8_t *cells = malloc(size * queue->cell_size);
        if (!cells)
            abort();
        for (uint32_t i = 0; i < queue->size; i++)
            memcpy(cells + ((queue->head + i) & (size - 1)) * queue->cell_size,
                   (uint8_t *)queue->cells +
                       ((queue->head + i) & (queue->size - 1)) * queue->cell_size,
                   queue->cell_size);
        free(queue->cells);
        queue->cells = cells;
        queue->size = size;
    }
    return (uint8_t *)queue->cells + (queue->tail++ & (queue->size - 1)) * queue->cell_size;
}

void *queue_head(struct queue *queue)
{
    if (queue->head == queue->tail)
        return NULL;
    return (uint8_t *)queue->cells + (queue->head & (queue->size - 1)) * queue->cell_size;
}

void queue_pop(struct queue *queue)
{
    queue->head++;
}

/* ---- life ---- */

void proc_attach(struct world *world, struct proc *proc)
{
    struct node *node = &world->nodes[proc->node];

    proc->session = node->session;
    proc->port = node->next_port++;
    proc->ring_used = 0;
    proc->ring_ns = world->now_ns;
    if (world->attach_count < ATTACHES_MAX)
        world->attaches[world->attach_count++] =
            (struct attach){ .session = proc->session, .port = proc->port, .serial = proc->serial };
    bool filters = wishes_attached(world, proc);
    struct entry *entry = queue_put(&proc->inbox);
    *entry = (struct entry){ .event = { .type = BACKBONE_ATTACHED,
                                        .flags = filters ? BACKBONE_FLAG_FILTERS : 0,
                                        .session = proc->session,
                                        .dst_port = proc->port } };
    proc_soon(world, proc, world->now_ns);
}

void proc_start(struct world *world, struct proc *proc)
{
    uint32_t number = proc->number;
    uint32_t node = proc->node;
    bool is_source = proc->is_source;
    const struct proc_ops *ops = proc->ops;

    memset(proc, 0, sizeof(*proc));
    proc->number = number;
    proc->node = node;
    proc->is_source = is_source;
    proc->ops = ops;
    proc->is_alive = true;
    proc->serial = ++world->serial;
    proc->tick_at_ns = RRMP_NEVER;
    proc->woke_ns = world->now_ns;
    proc->room = malloc(MESSAGE_MAX);
    queue_init(&proc->inbox, sizeof(struct entry));
    ops->start(world, proc);
    if (world->nodes[node].is_up)
        proc_attach(world, proc);
}

void proc_fini(struct world *world, struct proc *proc)
{
    while (queue_head(&proc->inbox)) {
        blob_give(((struct entry *)queue_head(&proc->inbox))->blob);
        queue_pop(&proc->inbox);
    }
    queue_fini(&proc->inbox);
    if (proc->is_alive)
        proc->ops->fini(world, proc);
    proc->source = NULL;
    proc->sink = NULL;
    free(proc->room);
    proc->room = NULL;
    proc->is_alive = false;
}

void proc_kill(struct world *world, struct proc *proc)
{
    world->coverage->kills++;
    world_trace(world, "proc %u killed", proc->number);
    if (proc->session)
        network_user_down(world, proc);
    proc_fini(world, proc);
    wishes_gone(world, proc->node);
}

void proc_soon(struct world *world, struct proc *proc, uint64_t at_ns)
{
    if (at_ns < world->now_ns)
        at_ns = world->now_ns;
    if (at_ns < proc->hung_until_ns)
        at_ns = proc->hung_until_ns;
    if (at_ns >= proc->tick_at_ns)
        return;
    proc->tick_at_ns = at_ns;
    world_schedule(world, at_ns, EVENT_TICK, proc->number, 0);
}

/* ---- whose INSTANCE was heard: R12 ---- */

static void hears(const struct world *world, struct proc *proc, uint64_t session, uint16_t port,
                  bool is_instance)
{
    for (uint32_t i = 0; i < world->attach_count; i++) {
        const struct attach *attach = &world->attaches[i];
        bool is_meant = attach->session == session && (port == 0 || attach->port == port);

        if (is_meant && is_instance)
            proc->heard[i / 64] |= UINT64_C(1) << i % 64;
        else if (is_meant)
            proc->heard[i / 64] &= ~(UINT64_C(1) << i % 64);
    }
}

static void notice_note(const struct world *world, struct proc *proc,
                        const struct backbone_event *notice)
{
    if (notice->type == BACKBONE_ATTACHED || notice->type == BACKBONE_DETACHED)
        memset(proc->heard, 0, sizeof(proc->heard));
    else if (notice->type == BACKBONE_USER_DOWN)
        hears(world, proc, notice->session, notice->src_port, false);
    else if (notice->type == BACKBONE_PEER_DOWN)
        hears(world, proc, notice->session, 0, false);
    else
        return;
    proc->end_heard_ns = world->now_ns;
}

bool proc_hears(const struct world *world, const struct proc *proc, uint32_t serial)
{
    for (uint32_t i = 0; i < world->attach_count; i++) {
        if (world->attaches[i].serial == serial && proc->heard[i / 64] >> i % 64 & 1)
            return true;
    }
    return false;
}

/* ---- one turn: what is in the ring, then time ---- */

static void inbox_take(struct world *world, struct proc *proc)
{
    struct backbone_event events[BATCH_MAX];
    struct blob *blobs[BATCH_MAX];
    const struct entry *entry;
    size_t count;

    do {
        for (count = 0; count < BATCH_MAX && (entry = queue_head(&proc->inbox)) != NULL; count++) {
            struct backbone_event *event = &events[count];

            /* Earlier messages are judged by the knowledge of their time. */
            if (count > 0 && !entry->blob)
                break;
            *event = entry->event;
            blobs[count] = entry->blob;
            queue_pop(&proc->inbox);
            if (!blobs[count]) {
                notice_note(world, proc, event);
                continue;
            }
            event->bytes = blobs[count]->bytes;
            event->length = blobs[count]->length;
            if (event->length > 0 && event->bytes[0] == RRMP_INSTANCE)
                hears(world, proc, event->session, event->src_port, true);
        }
        if (count > 0)
            proc->ops->input(world, proc, events, count);
        for (size_t i = 0; i < count; i++)
            blob_give(blobs[i]);
    } while (count > 0);
}

static void bounds_check(struct world *world, const struct proc *proc)
{
    if (proc->is_source &&
        rrmp_source_stats(proc->source)->memory_now > rrmp_source_memory_max(proc->source))
        world_fail(world, "R14", "source %u holds too much memory", proc->number);
    if (!proc->is_source &&
        rrmp_sink_stats(proc->sink)->memory_now + rrmp_sink_stats(proc->sink)->held_bytes_now >
            rrmp_sink_memory_max(proc->sink))
        world_fail(world, "R14", "sink %u holds too much memory", proc->number);
}

/* A walk costs as much as there are items, so the more there are, the rarer it is. */
static void tables_check(struct world *world, struct proc *proc)
{
    uint32_t items = proc->is_source ? rrmp_source_stats(proc->source)->items_now
                                     : rrmp_sink_stats(proc->sink)->items_now;

    if (!world->options.checks_each_step && ++proc->unchecked_turns < 32 + items / 4)
        return;
    proc->unchecked_turns = 0;
    const char *broken =
        proc->is_source ? rrmp_source_check(proc->source) : rrmp_sink_check(proc->sink);
    if (!broken && proc->ops->check)
        broken = proc->ops->check(proc);

    if (!broken && proc->p2ps)
        broken = p2ps_core_check(proc->p2ps);
    if (broken)
        world_fail(world, "tables", "%s %u: %s", proc->is_source ? "source" : "sink", proc->number,
                   broken);
}

/* A process that always has something to do at once, and is told nothing, keeps a core busy. */
static void rest_check(struct world *world, struct proc *proc)
{
    bool is_eager = proc->tick_at_ns <= world->now_ns + EAGER_NS && !queue_head(&proc->inbox);

    proc->eager_turns = is_eager ? proc->eager_turns + 1 : 0;
    if (proc->eager_turns > EAGER_MAX)
        world_fail(world, "R13", "%s %u has turns without end", proc->is_source ? "source" : "sink",
                   proc->number);
}

void proc_run(struct world *world, struct proc *proc)
{
    if (!proc->is_alive || proc->tick_at_ns != world->now_ns)
        return;
    proc->tick_at_ns = RRMP_NEVER;
    if (world->now_ns < proc->hung_until_ns) {
        proc_soon(world, proc, proc->hung_until_ns);
        return;
    }
    inbox_take(world, proc);
    proc->ops->turn(world, proc);
    bounds_check(world, proc);
    tables_check(world, proc);
    rest_check(world, proc);
}
