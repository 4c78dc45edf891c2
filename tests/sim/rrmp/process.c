/* process.c - processes of the simulation: start, run, hang, die; their queues. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "world.h"

#define BATCH_MAX 64

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
    struct entry *entry = queue_put(&proc->inbox);
    *entry = (struct entry){
        .is_notice = true,
        .notice = { .kind = RRMP_NOTICE_ATTACHED, .session = proc->session, .port = proc->port }
    };
    proc_soon(world, proc, world->now_ns);
}

void proc_start(struct world *world, struct proc *proc)
{
    uint32_t number = proc->number;
    uint32_t node = proc->node;
    bool is_source = proc->is_source;

    memset(proc, 0, sizeof(*proc));
    proc->number = number;
    proc->node = node;
    proc->is_source = is_source;
    proc->is_alive = proc->is_started = true;
    proc->tick_at_ns = RRMP_NEVER;
    proc->woke_ns = world->now_ns;
    proc->room = malloc(MESSAGE_MAX);
    queue_init(&proc->inbox, sizeof(struct entry));
    queue_init(&proc->feeds, sizeof(struct feed));
    if (is_source)
        source_start(world, proc);
    else
        sink_start(world, proc);
    if (world->nodes[node].is_up)
        proc_attach(world, proc);
}

void proc_fini(struct proc *proc)
{
    while (queue_head(&proc->inbox)) {
        blob_give(((struct entry *)queue_head(&proc->inbox))->blob);
        queue_pop(&proc->inbox);
    }
    queue_fini(&proc->inbox);
    queue_fini(&proc->feeds);
    rrmp_source_destroy(proc->source);
    rrmp_sink_destroy(proc->sink);
    proc->source = NULL;
    proc->sink = NULL;
    free(proc->upstream);
    proc->upstream = NULL;
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
    proc_fini(proc);
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

/* ---- one turn: what is in the ring, then time ---- */

static void events_take(struct world *world, struct proc *proc)
{
    if (proc->is_source)
        source_events(world, proc);
    else
        sink_events(world, proc);
}

static void batch_give(struct world *world, struct proc *proc, struct rrmp_message *messages,
                       size_t count)
{
    size_t done = 0;

    while (done < count && world->failure[0] == 0) {
        done += proc->is_source
                    ? rrmp_source_input(proc->source, world->now_ns, messages + done, count - done)
                    : rrmp_sink_input(proc->sink, world->now_ns, messages + done, count - done);
        events_take(world, proc);
    }
}

static void inbox_take(struct world *world, struct proc *proc)
{
    struct rrmp_message messages[BATCH_MAX];
    struct blob *blobs[BATCH_MAX];
    struct entry *entry;
    size_t count = 0;

    for (;;) {
        entry = queue_head(&proc->inbox);
        if (count > 0 && (!entry || entry->is_notice || count == BATCH_MAX)) {
            batch_give(world, proc, messages, count);
            for (size_t i = 0; i < count; i++)
                blob_give(blobs[i]);
            count = 0;
            continue;
        }
        if (!entry)
            return;
        if (entry->is_notice) {
            struct rrmp_notice notice = entry->notice;
            queue_pop(&proc->inbox);
            if (proc->is_source)
                rrmp_source_notice(proc->source, world->now_ns, &notice);
            else
                rrmp_sink_notice(proc->sink, world->now_ns, &notice);
            events_take(world, proc);
            continue;
        }
        blobs[count] = entry->blob;
        messages[count++] = (struct rrmp_message){ .session = entry->session,
                                                   .src_port = entry->src_port,
                                                   .dst_port = entry->dst_port,
                                                   .topic = entry->topic,
                                                   .bytes = entry->blob->bytes,
                                                   .length = entry->blob->length };
        queue_pop(&proc->inbox);
    }
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
    if (proc->is_source) {
        source_feeds(world, proc);
        rrmp_source_tick(proc->source, world->now_ns, true);
        source_events(world, proc);
        uint64_t due = rrmp_source_deadline(proc->source);
        if (proc->image.is_open || queue_head(&proc->feeds))
            due = due < world->now_ns + 1 * MS ? due : world->now_ns + 1 * MS;
        proc_soon(world, proc, due > world->now_ns ? due : world->now_ns + 1000);
        if (rrmp_source_stats(proc->source)->memory_now > rrmp_source_memory_max(proc->source))
            world_fail(world, "R14", "source %u holds too much memory", proc->number);
    } else {
        rrmp_sink_tick(proc->sink, world->now_ns, true);
        sink_events(world, proc);
        uint64_t due = rrmp_sink_deadline(proc->sink);
        if (due != RRMP_NEVER)
            proc_soon(world, proc, due > world->now_ns ? due : world->now_ns + 1000);
        sink_check(world, proc);
    }
}
