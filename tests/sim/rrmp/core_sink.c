/* core_sink.c - a process that is the core of p2ps, its authority, and what both cores must have
 * come to in the end. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "itemkey/itemkey.h"
#include "paces.h"

#define ANSWERS_MAX 64

/* ---- who may see what: the user "low" nothing of permission 1 ---- */

struct judge {
    struct world *world;
    uint32_t proc;
};

static struct judge judges[PROCS_MAX];

static enum entitle_verdict judge(const struct entitle_query *query)
{
    bool is_low = query->user.length == 3 && memcmp(query->user.data, "low", 3) == 0;
    bool is_guarded = query->permission_data.length == 1 && query->permission_data.data[0] == 'b';

    return query->kind == ENTITLE_ITEM && is_low && is_guarded ? ENTITLE_DENY : ENTITLE_ALLOW;
}

static enum entitle_verdict ask(void *self, const struct entitle_query *query, uint64_t ticket,
                                struct entitle_answer *out)
{
    struct judge *it = self;
    struct world *world = it->world;
    struct outside *outside = world->outside;
    uint32_t *count = &outside->answer_count[it->proc];

    *out = (struct entitle_answer){ .ticket = ticket, .verdict = judge(query), .text = "no" };
    if (!world->plan.core.authority_is_late || *count == ANSWERS_MAX ||
        md_prng_below(&world->random, 4))
        return out->verdict;
    outside->answers[it->proc][*count].at_ns =
        world->now_ns + md_prng_below(&world->random, 100000000);
    outside->answers[it->proc][(*count)++].answer = *out;
    proc_soon(world, &world->procs[it->proc], world->now_ns + 100 * MS);
    return ENTITLE_PENDING;
}

static int answers(void *self, struct entitle_answer out[], int max)
{
    struct judge *it = self;
    struct outside *outside = it->world->outside;
    uint32_t kept = 0;
    int count = 0;

    for (uint32_t i = 0; i < outside->answer_count[it->proc]; i++) {
        if (count < max && outside->answers[it->proc][i].at_ns <= it->world->now_ns)
            out[count++] = outside->answers[it->proc][i].answer;
        else
            outside->answers[it->proc][kept++] = outside->answers[it->proc][i];
    }
    outside->answer_count[it->proc] = kept;
    return count;
}

/* ---- the process ---- */

static void start(struct world *world, struct proc *proc)
{
    struct judge *it = &judges[proc->number];
    struct p2ps_core_config config = {
        .sink = { .send = proc_send(world, proc),
                  .random = md_prng_u64(&world->random),
                  .item_limit = 1u << 20,
                  .open_window_minimum = world->plan.window,
                  .hold_records = world->plan.hold_records,
                  .post_limit = 64,
                  .move_rate = 100,
                  .rebalances = world->plan.core.rebalances },
        .authority = { .ask = ask, .answers = answers, .self = it },
        .client_limit = 16,
        .message_max = 4096,
        .slow_timeout_ns = 3 * SEC,
        .service_forget_ns = world->plan.core.forget_ns,
        .keeps_images = world->plan.core.sink_cache,
        .random = md_prng_u64(&world->random),
    };

    paces_configure(world, &config);
    *it = (struct judge){ world, proc->number };
    world->outside->answer_count[proc->number] = 0;
    if (p2ps_core_create(&config, &proc->p2ps) != 0)
        abort();
    proc->sink = p2ps_core_sink(proc->p2ps, 0);
}

static void input(struct world *world, struct proc *proc, const struct backbone_event *events,
                  size_t count)
{
    p2ps_core_backbone(proc->p2ps, 0, world->now_ns, events, count);
}

static void turn(struct world *world, struct proc *proc)
{
    bool has_answers = world->outside->answer_count[proc->number] > 0;

    if (world->now_ns >= p2ps_core_deadline(proc->p2ps) || has_answers)
        p2ps_core_tick(proc->p2ps, world->now_ns, true);
    p2ps_core_settle(proc->p2ps, world->now_ns);
    p2ps_core_flush(proc->p2ps);
    uint64_t due = p2ps_core_deadline(proc->p2ps);
    due = due > world->now_ns ? due : world->now_ns + 1000;
    if (world->outside->answer_count[proc->number] && due > world->now_ns + 20 * MS)
        due = world->now_ns + 20 * MS;
    proc_soon(world, proc, due);
    paces_look(world, proc);
    consumers_check(world, proc);
}

static void fini(struct world *world, struct proc *proc)
{
    consumers_lost(world, proc);
    world->coverage->from_p2ps_cache += p2ps_core_stats(proc->p2ps)->images_from_cache;
    p2ps_core_destroy(proc->p2ps);
    proc->p2ps = NULL;
}

const struct proc_ops core_sink_ops = { start, input, turn, fini, NULL };

/* ---- items, as the engines know them ---- */

static size_t key_of(uint32_t item, uint8_t out[RRMP_KEY_SIZE_MAX])
{
    uint8_t name[16];
    int length = snprintf((char *)name, sizeof(name), "I%u", item);
    const struct rwf_key key = { .flags = RWF_KEY_HAS_NAME | RWF_KEY_HAS_NAME_TYPE,
                                 .name = rwf_bytes(name, (size_t)length),
                                 .name_type = RWF_NAME_RIC };
    const struct rwf_qos qos = { .timeliness = RWF_TIMELINESS_REALTIME,
                                 .rate = RWF_RATE_TICK_BY_TICK };
    size_t size = 0;

    if (itemkey_encode(RWF_DOMAIN_MARKET_PRICE, &key, &qos, out, RRMP_KEY_SIZE_MAX, &size) !=
        RWF_OK)
        abort();
    return size;
}

static bool at_sink(const struct world *world, const struct proc *proc, uint32_t item,
                    struct rrmp_sink_item *out)
{
    uint8_t key[RRMP_KEY_SIZE_MAX];
    uint8_t name[] = SERVICE_NAME;
    struct rrmp_view view = { key, key_of(item, key) };

    name[3] = (uint8_t)(name[3] + world->items[item].service);
    uint16_t service = rrmp_sink_service_find(proc->sink, (struct rrmp_view){ name, 4 });
    if (service == RRMP_SERVICE_NONE)
        return false;
    uint32_t number = rrmp_sink_item_find(proc->sink, service, view);
    return number != RRMP_ITEM_NONE && rrmp_sink_item_info(proc->sink, number, out);
}

/* The engine's number of the item, or RRMP_ITEM_NONE. */
static uint32_t number_at_source(const struct proc *proc, uint32_t item)
{
    uint8_t key[RRMP_KEY_SIZE_MAX];
    struct rrmp_view view = { key, key_of(item, key) };
    uint32_t number = RRMP_ITEM_NONE;

    for (uint16_t svc = 0; svc < SERVICES_MAX && number == RRMP_ITEM_NONE; svc++)
        number = rrmp_source_item_find(proc->source, svc, view);
    return number;
}

static bool at_source(const struct proc *proc, uint32_t item, struct rrmp_source_item *out)
{
    uint32_t number = number_at_source(proc, item);

    return number != RRMP_ITEM_NONE && rrmp_source_item_info(proc->source, number, out);
}

/* How items in each p2ps have moved since the last look. */
void cores_look(struct world *world)
{
    for (uint32_t p = world->plan.source_count; p < world_sinks_end(world); p++) {
        const struct proc *proc = &world->procs[p];
        uint8_t *last = world->outside->moves[p];

        for (uint32_t i = 0; i < world->plan.item_count; i++) {
            struct rrmp_sink_item info;
            bool is_there = proc->is_alive && at_sink(world, proc, i, &info);
            uint8_t now = is_there ? (uint8_t)(info.state + 1) : 0;
            if (last[i] && now)
                world->coverage->moves[last[i] - 1][now - 1]++;
            last[i] = now;
        }
    }
}

/* ---- R6: interest on both sides, nothing left over ---- */

static uint32_t holders_of(const struct world *world, const struct proc *source, uint32_t item)
{
    uint32_t holders = 0;

    for (uint32_t p = world->plan.source_count; p < world_sinks_end(world); p++) {
        const struct proc *proc = &world->procs[p];
        struct rrmp_sink_item info;
        if (proc->is_alive && at_sink(world, proc, item, &info) && info.instance != 0xFFFF &&
            rrmp_sink_instance_is(proc->sink, info.instance, source->session, source->port))
            holders++;
    }
    return holders;
}

/* ---- at rest: consumers have the image of their src_dist, less what is left out ---- */

static void compare(struct world *world, const struct consumer *c, const struct stream *s,
                    const struct content *image)
{
    bool has_eighth = !s->has_view && !(lines_of(world, s->item)->drop & DROP_EIGHTH);

    if (c->is_low && GUARDED(s->item))
        return; /* it lacks updates */
    if (s->counter != image->counter || (has_eighth && s->eighth != image->eighth))
        world_fail(world, "R5", "consumer %u item %u: %u with %u, its src_dist has %u with %u",
                   c->number, s->item, s->counter, s->eighth, image->counter, image->eighth);
    world->coverage->images_compared++;
}

static void compare_images(struct world *world, const struct proc *proc, uint32_t item)
{
    struct outside *outside = world->outside;
    uint32_t number = number_at_source(proc, item);
    struct content image;

    if (number == RRMP_ITEM_NONE || !core_source_image(proc, number, &image))
        return;
    for (uint32_t c = 0; c < outside->consumer_count; c++) {
        const struct consumer *consumer = &outside->consumers[c];
        for (uint32_t k = 0; k < STREAMS_MAX; k++) {
            const struct stream *s = &consumer->streams[k];
            if (s->kind == STREAM_SHARED && s->item == item && s->maker == proc->serial)
                compare(world, consumer, s, &image);
        }
    }
}

/* Sooner than the end: a src_dist forgets those that have said nothing for a minute. */
void cores_check_interest(struct world *world)
{
    for (uint32_t p = 0; p < world->plan.source_count; p++) {
        const struct proc *proc = &world->procs[p];
        for (uint32_t i = 0; proc->is_alive && i < world->plan.item_count; i++) {
            struct rrmp_source_item info;
            uint32_t holders = holders_of(world, proc, i);
            if (at_source(proc, i, &info) && info.requester_count > holders)
                world_fail(world, "R6",
                           "source %u item %u: %u bits of interest, %u holders, 20 s "
                           "after the faults",
                           p, i, info.requester_count, holders);
        }
    }
}

static void check_source(struct world *world, const struct proc *proc)
{
    const struct srcdist_core_stats *stats = srcdist_core_stats(proc->srcdist);
    const struct outside *outside = world->outside;

    for (uint32_t i = 0; i < world->plan.item_count; i++) {
        struct rrmp_source_item info = { 0 };
        bool is_there = at_source(proc, i, &info);
        uint32_t holders = holders_of(world, proc, i);
        uint32_t open = 0;

        compare_images(world, proc, i);
        for (uint32_t k = 0; k < outside->provider_count; k++)
            open += outside->providers[k].proc == proc->number && outside->providers[k].ids[i] > 0;
        if (world->plan.core.is_mirrored)
            continue; /* interest at a standby has no holder */
        if ((is_there ? info.requester_count : 0) != holders)
            world_fail(world, "R6", "source %u item %u: %u bits of interest, %u holders",
                       proc->number, i, is_there ? info.requester_count : 0, holders);
        if (world->items[i].service != SERVICES_MAX - 1 && open != (holders > 0))
            world_fail(world, "R6", "source %u item %u: %u streams at providers, %u holders",
                       proc->number, i, open, holders);
    }
    if (rrmp_source_stats(proc->source)->asks_now)
        world_fail(world, "R6", "source %u: %u asks left", proc->number,
                   rrmp_source_stats(proc->source)->asks_now);
    if (stats->pending_now)
        world_fail(world, "R13", "source %u: %u requests wait for a window", proc->number,
                   stats->pending_now);
}

static void check_sink(struct world *world, const struct proc *proc)
{
    const struct p2ps_core_stats *core = p2ps_core_stats(proc->p2ps);
    const struct rrmp_sink_stats *stats = rrmp_sink_stats(proc->sink);
    uint32_t streams = 0;
    uint32_t clients = 0;

    for (uint32_t c = 0; c < world->outside->consumer_count; c++) {
        const struct consumer *consumer = &world->outside->consumers[c];
        if (consumer->proc != proc->number || !consumer->is_connected)
            continue;
        clients++;
        for (uint32_t s = 0; s < STREAMS_MAX; s++)
            streams += consumer->streams[s].kind != STREAM_FREE;
    }
    if (core->mounts_now != clients || core->watches_now != streams)
        world_fail(world, "R6", "p2ps %u: %u watches of %u clients, there are %u of %u",
                   proc->number, core->watches_now, core->mounts_now, streams, clients);
    if (world->plan.drains_meanwhile && stats->records_lost)
        world_fail(world, "R2", "p2ps %u: %llu records are missing, and the network lost none",
                   proc->number, (unsigned long long)stats->records_lost);
    if (stats->held_bytes_now || stats->posts_now)
        world_fail(world, "R6", "p2ps %u: %zu bytes held, %u posts", proc->number,
                   stats->held_bytes_now, stats->posts_now);
    if (stats->items_now != core->items_now)
        world_fail(world, "R6", "p2ps %u: %u items at the engine, %u above it", proc->number,
                   stats->items_now, core->items_now);
    for (int q = 0; q < 3; q++) {
        if (stats->queued_now[q])
            world_fail(world, "R13", "p2ps %u: queue %d holds %u", proc->number, q,
                       stats->queued_now[q]);
    }
}

void cores_check_end(struct world *world)
{
    for (uint32_t p = 0; p < world_sinks_end(world); p++) {
        const struct proc *proc = &world->procs[p];
        if (!proc->is_alive)
            world_fail(world, "R5", "process %u is dead at the end", p);
        else if (proc->is_source)
            check_source(world, proc);
        else
            check_sink(world, proc);
    }
}
