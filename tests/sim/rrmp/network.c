/* network.c - the simulated reliable multicast: order kept, losses told, ends told. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cores.h"
#include "follower.h"
#include "wishes.h"

#define PEER_TIMEOUT  (3500 * MS)
#define RECOVER_LIMIT (500 * MS)
#define LOCAL_LATE    (1 * MS) /* at most */

/* ---- the heap of what is to happen ---- */

static bool sooner(const struct event *a, const struct event *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

void world_push(struct world *world, struct event *event)
{
    if (world->heap_count == world->heap_size) {
        world->heap_size = world->heap_size ? world->heap_size * 2 : 1024;
        world->heap = realloc(world->heap, world->heap_size * sizeof(*world->heap));
        if (!world->heap)
            abort();
    }
    event->order = world->order++;
    size_t i = world->heap_count++;
    while (i > 0 && sooner(event, &world->heap[(i - 1) / 2])) {
        world->heap[i] = world->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    world->heap[i] = *event;
}

void world_schedule(struct world *world, uint64_t at_ns, enum event_kind kind, uint32_t a,
                    uint32_t b)
{
    struct event event = { .at_ns = at_ns, .kind = kind, .a = a, .b = b };

    world_push(world, &event);
}

/* ---- bytes ---- */

struct blob *blob_take(const uint8_t *bytes, size_t length)
{
    struct blob *blob = malloc(sizeof(*blob) + length);

    if (!blob)
        abort();
    blob->refs = 1;
    blob->length = (uint32_t)length;
    memcpy(blob->bytes, bytes, length);
    return blob;
}

void blob_give(struct blob *blob)
{
    if (blob && --blob->refs == 0)
        free(blob);
}

/* ---- streams between nodes ---- */

static uint64_t arrival(struct world *world, uint32_t from, uint32_t to, int stream)
{
    struct node *node = &world->nodes[to];
    uint64_t delay =
        from == to ? 1000 : 20000 + md_prng_below(&world->random, (uint32_t)world->plan.delay_ns);
    uint64_t at = world->now_ns + delay;

    /* One stream may overtake the other inside a host, too. */
    if (from == to && stream == 1 && world->follow.is_on)
        at += md_prng_below(&world->follow.random, LOCAL_LATE);
    if (at <= node->last_ns[from][stream])
        at = node->last_ns[from][stream] + 1;
    node->last_ns[from][stream] = at;
    return at;
}

/* With the stream a word about what is wanted may be lost: everything is, until it is said anew. */
static void wish_lost(struct world *world, uint32_t from, uint32_t to, uint64_t at_ns)
{
    struct event event = {
        .at_ns = at_ns, .kind = EVENT_WISH, .a = to, .b = from, .c = world->nodes[from].session
    };

    if (!world->wishes.is_on)
        return;
    world_push(world, &event);
    wishes_tell(world, from, to);
}

void network_notice_at(struct world *world, uint32_t from, uint32_t to, int stream,
                       const struct backbone_event *notice)
{
    struct event event = {
        .at_ns = arrival(world, from, to, stream), .kind = EVENT_DELIVER, .a = to, .b = from
    };

    event.entry.event = *notice;
    event.c = world->nodes[to].session;
    world_push(world, &event);
    if (stream == 1 && notice->type == BACKBONE_GAP)
        wish_lost(world, from, to, event.at_ns);
}

/* The GAP is told when the search ends, whether or not more follows. */
static void gap_tell(struct world *world, uint32_t from, uint32_t to, int stream)
{
    struct node *node = &world->nodes[to];
    struct backbone_event gap = { .type = BACKBONE_GAP,
                                  .session = world->nodes[from].session,
                                  .reason = stream == 0 ? 2 : BACKBONE_GAP_UNICAST_RESET };

    if (!node->gap_due[from][stream])
        return;
    node->gap_due[from][stream] = false;
    network_notice_at(world, from, to, stream, &gap);
}

/* A run of losses begins. It ends with its last message, or when the time to look for repairs is
 * over: a stream on which little is said does not stay silent for longer. */
static void loss_begin(struct world *world, uint32_t from, uint32_t to, int stream)
{
    struct node *node = &world->nodes[to];
    uint64_t until = world->now_ns + md_prng_below(&world->random, RECOVER_LIMIT);

    node->losing[from][stream] = 1 + md_prng_below(&world->random, world->plan.loss_run);
    node->gap_due[from][stream] = true;
    if (node->last_ns[from][stream] < until)
        node->last_ns[from][stream] = until;
    node->losing_until[from][stream] = world->now_ns + RECOVER_LIMIT;
    world->coverage->losses++;
    world_schedule(world, world->now_ns + RECOVER_LIMIT, EVENT_LOSS_END, to,
                   from * 2 + (uint32_t)stream);
}

void network_loss_end(struct world *world, const struct event *event)
{
    struct node *node = &world->nodes[event->a];
    uint32_t from = event->b / 2;
    int stream = (int)(event->b % 2);

    if (node->losing[from][stream] == 0 || world->now_ns < node->losing_until[from][stream])
        return;
    node->losing[from][stream] = 0;
    gap_tell(world, from, event->a, stream);
}

/* Is this message lost on its way to that node? Runs of losses stop the stream for a while, as the
 * search for repairs does, and end with a GAP in their place. */
static bool is_lost(struct world *world, uint32_t from, uint32_t to, int stream)
{
    struct node *node = &world->nodes[to];
    uint32_t ppm = stream == 0 ? world->plan.loss_ppm : world->plan.unicast_loss_ppm;

    if (world->now_ns < node->cut_until[from]) {
        node->gap_due[from][stream] = true;
        return true;
    }
    if (!node->hears[from])
        return true;
    if (from == to || world->is_calm)
        ppm = 0;
    if (node->losing[from][stream] == 0 && world_chance(world, ppm))
        loss_begin(world, from, to, stream);
    if (node->losing[from][stream] == 0)
        return false;
    node->losing[from][stream]--;
    world->coverage->lost++;
    if (node->losing[from][stream] == 0)
        gap_tell(world, from, to, stream);
    return true;
}

static void send_to(struct world *world, uint32_t from, uint32_t to, int stream,
                    const struct entry *entry)
{
    if (!world->nodes[to].is_up || is_lost(world, from, to, stream))
        return;
    gap_tell(world, from, to, stream);
    struct event event = { .at_ns = arrival(world, from, to, stream),
                           .kind = EVENT_DELIVER,
                           .a = to,
                           .b = from,
                           .c = world->nodes[to].session,
                           .entry = *entry };
    entry->blob->refs++;
    world_push(world, &event);
}

void network_wish(struct world *world, uint32_t from, uint32_t to, struct blob *blob)
{
    if (!world->nodes[to].is_up || is_lost(world, from, to, 1))
        return;
    gap_tell(world, from, to, 1);
    struct event event = { .at_ns = arrival(world, from, to, 1),
                           .kind = EVENT_WISH,
                           .a = to,
                           .b = from,
                           .c = world->nodes[from].session,
                           .entry = { .blob = blob } };
    blob->refs++;
    world_push(world, &event);
}

static uint32_t node_of(const struct world *world, uint64_t session)
{
    for (uint32_t n = 0; n < world->plan.node_count; n++) {
        if (world->nodes[n].is_up && world->nodes[n].session == session)
            return n;
    }
    return NODES_MAX;
}

/* By the type of the record, so that the rare ones are there, too. */
static void overhear(struct world *world, struct blob *blob)
{
    struct blob **place = &world->overheard[blob->length ? blob->bytes[0] % OVERHEARD : 0];

    if (!world->plan.hostile_per_s)
        return;
    blob_give(*place);
    *place = blob;
    blob->refs++;
}

void network_send(struct world *world, struct proc *from, const struct backbone_target *target,
                  const uint8_t *bytes, size_t length)
{
    struct entry entry = {
        .event = { .type = BACKBONE_MESSAGE,
                   .flags = target->path == BACKBONE_PATH_UNICAST ? BACKBONE_FLAG_UNICAST : 0,
                   .session = from->session,
                   .src_port = from->port,
                   .topic = target->topic }
    };

    if (world->outside)
        experiment_record(world, target, bytes, length);
    followers_hear(world, bytes, length);
    entry.blob = blob_take(bytes, length);
    overhear(world, entry.blob);
    if (target->path == BACKBONE_PATH_MULTICAST) {
        for (uint32_t n = 0; n < world->plan.node_count; n++) {
            if (!wishes_leave_out(world, from->node, n, target->topic))
                send_to(world, from->node, n, 0, &entry);
        }
    } else {
        uint32_t to = node_of(world, target->session);
        entry.event.dst_port = target->port;
        if (to < NODES_MAX)
            send_to(world, from->node, to, target->path == BACKBONE_PATH_UNICAST, &entry);
    }
    blob_give(entry.blob);
}

/* An entry has reached a node: every user of it reads it from the ring. */
void network_deliver(struct world *world, uint32_t node, struct entry *entry)
{
    for (uint32_t p = 0; p < world->proc_count; p++) {
        struct proc *proc = &world->procs[p];
        if (!proc->is_alive || proc->node != node || proc->session == 0)
            continue;
        struct entry *copy = queue_put(&proc->inbox);
        *copy = *entry;
        if (copy->blob)
            copy->blob->refs++;
        proc_soon(world, proc, world->now_ns + md_prng_below(&world->random, 100000));
    }
    blob_give(entry->blob);
}

void network_notice(struct world *world, uint32_t node, const struct backbone_event *notice)
{
    struct entry entry = { .event = *notice };

    network_deliver(world, node, &entry);
}

/* The daemon drains the user's ring and tells everybody, behind its last message. */
void network_user_down(struct world *world, struct proc *proc)
{
    struct backbone_event notice = { .type = BACKBONE_USER_DOWN,
                                     .session = proc->session,
                                     .src_port = proc->port };

    for (uint32_t n = 0; n < world->plan.node_count; n++) {
        /* The network tells this reliably while the peer is heard. */
        if (world->nodes[n].is_up && world->nodes[n].hears[proc->node] &&
            world->now_ns >= world->nodes[n].cut_until[proc->node])
            network_notice_at(world, proc->node, n, 0, &notice);
    }
}

static void peer_down(struct world *world, uint32_t at, uint32_t of, uint64_t session)
{
    struct backbone_event notice = { .type = BACKBONE_PEER_DOWN, .session = session };

    if (!world->nodes[at].hears[of])
        return;
    world->nodes[at].hears[of] = false;
    network_notice(world, at, &notice);
}

static void peer_up(struct world *world, uint32_t at, uint32_t of)
{
    struct backbone_event notice = { .type = BACKBONE_PEER_UP,
                                     .session = world->nodes[of].session };

    if (world->nodes[at].hears[of] || !world->nodes[at].is_up || !world->nodes[of].is_up)
        return;
    world->nodes[at].hears[of] = true;
    world->nodes[at].gap_due[of][0] = world->nodes[at].gap_due[of][1] = false;
    network_notice_at(world, of, at, 0, &notice);
    wishes_doubt(world, at, of);
    wishes_tell(world, at, of);
    wishes_tell(world, of, at);
}

void network_node_down(struct world *world, uint32_t node)
{
    struct backbone_event detached = { .type = BACKBONE_DETACHED };
    uint64_t session = world->nodes[node].session;

    world->coverage->node_kills++;
    for (uint32_t p = 0; p < world->proc_count; p++) {
        struct proc *proc = &world->procs[p];
        if (!proc->is_alive || proc->node != node || proc->session == 0)
            continue;
        /* What lay unread in the ring is lost with it. */
        while (queue_head(&proc->inbox)) {
            blob_give(((struct entry *)queue_head(&proc->inbox))->blob);
            queue_pop(&proc->inbox);
        }
        struct entry *entry = queue_put(&proc->inbox);
        *entry = (struct entry){ .event = detached };
        proc->session = 0;
        proc_soon(world, proc, world->now_ns);
    }
    world->nodes[node].is_up = false;
    for (uint32_t n = 0; n < world->plan.node_count; n++) {
        world->nodes[node].hears[n] = false;
        if (n == node || !world->nodes[n].is_up)
            continue;
        struct event event = { .at_ns = world->now_ns + PEER_TIMEOUT,
                               .kind = EVENT_PEER_DOWN,
                               .a = n,
                               .b = node,
                               .c = session };
        world_push(world, &event);
    }
}

void network_node_up(struct world *world, uint32_t node)
{
    struct node *it = &world->nodes[node];

    it->is_up = true;
    it->said = (struct wants){ .is_all = true };
    it->session = ++world->next_session * 0x9e3779b97f4a7c15u;
    it->next_port = 1;
    for (uint32_t n = 0; n < world->plan.node_count; n++) {
        struct node *other = &world->nodes[n];
        it->cut_until[n] = other->cut_until[node] = 0;
        memset(it->losing[n], 0, sizeof(it->losing[n]));
        memset(other->losing[node], 0, sizeof(other->losing[node]));
        memset(it->gap_due[n], 0, sizeof(it->gap_due[n]));
        other->hears[node] = false; /* of the new session; the old one ends by itself */
        it->hears[n] = false;
        if (n != node && other->is_up) {
            peer_up(world, n, node);
            peer_up(world, node, n);
        }
    }
    it->hears[node] = true;
    for (uint32_t p = 0; p < world->proc_count; p++) {
        if (world->procs[p].is_alive && world->procs[p].node == node)
            proc_attach(world, &world->procs[p]);
    }
}

void network_cut(struct world *world, uint32_t from, uint32_t to, uint64_t until_ns)
{
    struct node *node = &world->nodes[to];

    if (from == to || !node->is_up || !world->nodes[from].is_up)
        return;
    node->cut_until[from] = until_ns;
    node->cut_since[from] = world->now_ns;
    node->gap_due[from][0] = true;
    if (until_ns - world->now_ns > PEER_TIMEOUT) {
        struct event event = { .at_ns = world->now_ns + PEER_TIMEOUT,
                               .kind = EVENT_PEER_DOWN,
                               .a = to,
                               .b = from,
                               .c = world->nodes[from].session };
        world_push(world, &event);
    }
    world_schedule(world, until_ns, EVENT_HEAL, from, to);
}

/* PEER_DOWN of a session: after a cut, or after the node's death. */
void network_heal(struct world *world, uint32_t from, uint32_t to)
{
    struct node *node = &world->nodes[to];

    if (world->now_ns < node->cut_until[from] || !node->is_up || !world->nodes[from].is_up)
        return;
    if (!node->hears[from])
        peer_up(world, to, from);
    for (int stream = 0; stream < 2; stream++) {
        struct backbone_event gap = { .type = BACKBONE_GAP,
                                      .session = world->nodes[from].session,
                                      .reason = stream == 0 ? 6 : BACKBONE_GAP_UNICAST_RESET };
        if (node->gap_due[from][stream] || stream == 0)
            network_notice_at(world, from, to, stream, &gap);
        node->gap_due[from][stream] = false;
    }
}

void network_peer_down_event(struct world *world, const struct event *event)
{
    const struct node *of = &world->nodes[event->b];
    bool is_old = !of->is_up || of->session != event->c;
    struct backbone_event notice = { .type = BACKBONE_PEER_DOWN, .session = event->c };

    if (!world->nodes[event->a].is_up)
        return;
    if (is_old)
        network_notice(world, event->a, &notice);
    else if (world->now_ns < world->nodes[event->a].cut_until[event->b])
        peer_down(world, event->a, event->b, event->c);
}

/* ---- the outbound ring of a process: filled by the engine, drained at a rate ---- */

struct ring {
    struct world *world;
    struct proc *proc;
    struct backbone_target target; /* of the open reservation */
};

static struct ring rings[PROCS_MAX];

static void ring_drain(struct ring *ring)
{
    struct proc *proc = ring->proc;
    if (ring->world->now_ns < proc->ring_ns)
        return;
    uint64_t elapsed = ring->world->now_ns - proc->ring_ns;
    uint64_t drained = elapsed / 1000 * ring->world->plan.ring_rate / 1000000;

    proc->ring_ns = ring->world->now_ns;
    proc->ring_used -= drained < proc->ring_used ? drained : proc->ring_used;
}

static uint8_t *ring_reserve(void *context, const struct backbone_target *target, size_t length)
{
    struct ring *ring = context;

    ring_drain(ring);
    if (ring->proc->session == 0 || length > MESSAGE_MAX ||
        ring->proc->ring_used + length > ring->world->plan.ring_bytes) {
        ring->world->coverage->ring_full++;
        if (ring->world->plan.drains_meanwhile && md_prng_below(&ring->world->random, 2))
            ring->proc->ring_used /= 2;
        return NULL;
    }
    ring->target = *target;
    return ring->proc->room;
}

static void ring_commit(void *context, size_t length)
{
    struct ring *ring = context;

    if (length == 0)
        return;
    ring->proc->ring_used += length;
    network_send(ring->world, ring->proc, &ring->target, ring->proc->room, length);
}

static unsigned ring_fill(void *context)
{
    struct ring *ring = context;

    ring_drain(ring);
    return (unsigned)(ring->proc->ring_used * 256 / ring->world->plan.ring_bytes);
}

static bool ring_want(void *context, const uint32_t topics[], uint32_t count)
{
    struct ring *ring = context;

    if (ring->proc->session == 0)
        return true;
    ring_drain(ring);
    if (ring->proc->ring_used + 24 + count * sizeof(*topics) > ring->world->plan.ring_bytes)
        return false;
    ring->proc->ring_used += 24 + count * sizeof(*topics);
    wishes_say(ring->world, ring->proc, topics, count);
    return true;
}

struct backbone_send proc_send(struct world *world, struct proc *proc)
{
    struct ring *ring = &rings[proc->number];

    *ring = (struct ring){ .world = world, .proc = proc };
    return (struct backbone_send){
        .context = ring,
        .reserve = ring_reserve,
        .commit = ring_commit,
        .fill = ring_fill,
        .want = ring_want,
    };
}
