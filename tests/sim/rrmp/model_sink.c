/* model_sink.c - a p2ps in small: consumers that open, close and ask again, and judge all they get.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/err.h"
#include "world.h"

#define DATA_SUSPECT 2

static void sink_events(struct world *world, struct proc *proc);

static void start(struct world *world, struct proc *proc)
{
    struct rrmp_sink_config config = {
        .send = proc_send(world, proc),
        .random = md_prng_u64(&world->random),
        .item_limit = 4096,
        .open_window_minimum = world->plan.window,
        .hold_records = world->plan.hold_records,
    };

    if (rrmp_sink_create(&config, &proc->own_sink) != 0)
        abort();
    proc->sink = proc->own_sink;
    for (uint32_t i = 0; i < ITEMS_MAX; i++)
        proc->sink_item[i] = RRMP_ITEM_NONE;
    proc->posts_open = 0;
    proc->snapshots_open = 0;
}

/* ---- what consumers do ---- */

static bool is_watched(const struct world *world, const struct proc *proc, uint32_t item)
{
    for (uint32_t i = 0; i < world->plan.watch_count; i++) {
        if (proc->watches[i].state != WATCH_IDLE && proc->watches[i].item == item)
            return true;
    }
    return false;
}

static void watch_open(struct world *world, struct proc *proc, struct watch *watch, uint32_t item)
{
    const struct world_item *it = &world->items[item];
    uint8_t name[8] = "SVC0";

    name[3] = (uint8_t)('0' + it->service);
    uint16_t service =
        rrmp_sink_service_find(proc->own_sink, (struct rrmp_view){ .bytes = name, .length = 4 });
    if (service == RRMP_SERVICE_NONE)
        return; /* no such service yet: p2ps would say so */
    struct rrmp_sink_open open = { .service = service,
                                   .key = { .bytes = it->key, .length = it->key_length },
                                   .priority_class = 1,
                                   .priority_count = 1,
                                   .user = item };
    uint32_t number;
    int err = rrmp_sink_item_open(proc->own_sink, world->now_ns, &open, &number);
    if (err && err != MD_ERR_EXISTS)
        return;
    *watch = (struct watch){
        .state = WATCH_NEW, .item = item, .may_jump = true, .opened_ns = world->now_ns
    };
    proc->sink_item[item] = number;
    world->coverage->opens++;
    if (err == MD_ERR_EXISTS)
        rrmp_sink_item_want_image(proc->own_sink, world->now_ns, number);
}

static void watch_close(struct world *world, struct proc *proc, struct watch *watch)
{
    uint32_t item = watch->item;

    watch->state = WATCH_IDLE;
    world->coverage->closes++;
    if (is_watched(world, proc, item))
        return;
    rrmp_sink_item_close(proc->own_sink, world->now_ns, proc->sink_item[item]);
    proc->sink_item[item] = RRMP_ITEM_NONE;
}

static void post(struct world *world, struct proc *proc, const struct watch *watch)
{
    static const uint8_t bytes[12] = "a post, yes";
    int err = rrmp_sink_post(proc->own_sink, world->now_ns, proc->sink_item[watch->item], 0,
                             (struct rrmp_view){ .bytes = NULL, .length = 0 },
                             (struct rrmp_view){ .bytes = bytes, .length = sizeof(bytes) }, true,
                             watch->item);

    if (err == MD_OK)
        proc->posts_open++;
}

/* Streams of one consumer only, and questions that leave no stream. */
static void special_open(struct world *world, struct proc *proc, bool is_private)
{
    static const uint8_t service[] = "SVC0";
    uint32_t slot = md_prng_below(&world->random, PRIVATES_MAX);
    uint8_t name[5] = { 'P' };
    uint8_t bytes[64];
    uint32_t item;
    const struct world_item *it =
        &world->items[md_prng_below(&world->random, world->plan.item_count)];
    uint32_t number = proc->number << 16 | proc->next_private;
    struct rrmp_sink_open open = { .is_private = is_private, .is_snapshot = !is_private };

    open.service =
        rrmp_sink_service_find(proc->own_sink, (struct rrmp_view){ .bytes = service, .length = 4 });
    if (open.service == RRMP_SERVICE_NONE)
        return;
    if (!is_private) {
        open.key = (struct rrmp_view){ .bytes = it->key, .length = it->key_length };
        open.user = SNAPSHOT | (uint32_t)(it - world->items);
        if (it->service == 0 &&
            rrmp_sink_item_open(proc->own_sink, world->now_ns, &open, &item) == MD_OK)
            proc->snapshots_open++;
        return;
    }
    if (proc->privates[slot].is_open) {
        rrmp_sink_item_close(proc->own_sink, world->now_ns, proc->privates[slot].item);
        proc->privates[slot].is_open = false;
        return;
    }
    md_put_be32(name + 1, number);
    const struct rrmp_key key = { .domain = 6,
                                  .members = RRMP_KEY_NAME,
                                  .name_type = 1,
                                  .qos = { .timeliness = 1, .rate = 1 },
                                  .name = { .bytes = name, .length = sizeof(name) } };
    struct md_wr wr = md_wr_init(bytes, sizeof(bytes));
    rrmp_key_encode(&wr, &key);
    open.key = (struct rrmp_view){ .bytes = bytes, .length = md_wr_length(&wr) };
    open.user = PRIVATE | slot;
    if (rrmp_sink_item_open(proc->own_sink, world->now_ns, &open, &item) != MD_OK)
        return;
    proc->next_private++;
    proc->privates[slot].is_open = true;
    proc->privates[slot].has_data = false;
    proc->privates[slot].item = item;
    proc->privates[slot].number = PRIVATE | number;
    proc->privates[slot].counter = 0;
    world->coverage->privates++;
}

/* R21: a private stream gives its owner every number, from the image on, or it ends. */
static bool special_in(struct world *world, struct proc *proc, const struct rrmp_sink_event *event)
{
    if (event->item == RRMP_ITEM_NONE || !(event->user & (PRIVATE | SNAPSHOT)))
        return false;
    if (event->user & SNAPSHOT) {
        if (event->kind == RRMP_SINK_CLOSED) {
            proc->snapshots_open--;
            world->coverage->snapshots++;
        }
        return true;
    }
    uint32_t slot = (uint32_t)event->user % PRIVATES_MAX;
    if (event->kind == RRMP_SINK_CLOSED)
        proc->privates[slot].is_open = false;
    if (event->kind != RRMP_SINK_IMAGE && event->kind != RRMP_SINK_MESSAGE)
        return true;
    uint32_t item = md_be32(event->message.bytes + 1);
    uint32_t counter = md_be32(event->message.bytes + 5);
    bool is_next = event->kind == RRMP_SINK_IMAGE ? counter == 1 && !proc->privates[slot].has_data
                                                  : counter == proc->privates[slot].counter + 1 &&
                                                        proc->privates[slot].has_data;
    if (!proc->privates[slot].is_open || item != proc->privates[slot].number || !is_next)
        world_fail(world, "R21", "sink %u private %u: %u of %x after %u of %x", proc->number, slot,
                   counter, item, proc->privates[slot].counter, proc->privates[slot].number);
    proc->privates[slot].counter = counter;
    proc->privates[slot].has_data = true;
    world->coverage->private_updates++;
    return true;
}

void sink_churn(struct world *world, struct proc *proc)
{
    uint32_t at = md_prng_below(&world->random, world->plan.watch_count);
    struct watch *watch = &proc->watches[at];
    uint32_t what = md_prng_below(&world->random, 100);

    if (world->now_ns < proc->hung_until_ns)
        return;
    if (md_prng_below(&world->random, 8) == 0)
        special_open(world, proc, md_prng_below(&world->random, 2));
    if (md_prng_below(&world->random, 200) == 0)
        rrmp_sink_dictionary(proc->own_sink, world->now_ns, 0,
                             (struct rrmp_view){ .bytes = (const uint8_t *)"RWFFld", .length = 6 },
                             7, 1);
    if (watch->state == WATCH_IDLE) {
        if (!world->is_quiet)
            watch_open(world, proc, watch, md_prng_below(&world->random, world->plan.item_count));
    } else if (what < 25) {
        watch_close(world, proc, watch);
    } else if (what < 45) {
        if (watch->state == WATCH_STEP) {
            watch->state = WATCH_NEW;
            watch->may_jump = true;
            world->coverage->reissues++;
        }
        rrmp_sink_item_want_image(proc->own_sink, world->now_ns, proc->sink_item[watch->item]);
    } else if (what < 55) {
        rrmp_sink_item_priority(proc->own_sink, world->now_ns, proc->sink_item[watch->item],
                                (uint8_t)(1 + what % 3), 1 + what % 7);
    } else if (what < 65) {
        post(world, proc, watch);
    } else if (what < 70) {
        rrmp_sink_generic(proc->own_sink, proc->sink_item[watch->item],
                          (struct rrmp_view){ .bytes = (const uint8_t *)"g", .length = 1 });
    }
    sink_events(world, proc);
    proc_soon(world, proc, world->now_ns);
}

/* ---- what consumers get ---- */

static void content_check(struct world *world, const struct proc *proc,
                          const struct rrmp_sink_event *event, uint8_t kind, uint32_t *counter,
                          uint16_t *part, uint16_t *parts)
{
    uint8_t expected[128];
    const uint8_t *p = event->message.bytes;

    *counter = 0;
    *part = *parts = 0;
    if (event->message.length < 14 || p[0] != kind) {
        world_fail(world, "R1", "sink %u: not a message of the provider", proc->number);
        return;
    }
    uint32_t item = md_be32(p + 1);
    *counter = md_be32(p + 5);
    *part = md_be16(p + 9);
    *parts = md_be16(p + 11);
    uint32_t length = message_put(expected, kind, item, *counter, *part, *parts);
    if (length != event->message.length || memcmp(expected, p, length) != 0)
        world_fail(world, "R1", "sink %u item %u: bytes differ", proc->number, item);
    if (item != (uint32_t)event->user)
        world_fail(world, "R11", "sink %u: a record of item %u came for item %u", proc->number,
                   item, (uint32_t)event->user);
}

static void data_seen(struct world *world, const struct proc *proc, const struct watch *watch,
                      uint8_t kind)
{
    const uint64_t mix[3] = { world->now_ns ^ (uint64_t)proc->number << 56,
                              (uint64_t)watch->item << 32 | watch->counter, kind };

    world->hash = rrmp_key_hash(mix, sizeof(mix)) ^ (world->hash << 1 | world->hash >> 63);
}

static void image_take(struct world *world, struct proc *proc, struct watch *watch,
                       const struct rrmp_sink_event *event, uint32_t counter, uint16_t part,
                       uint16_t parts)
{
    bool is_first = event->flags & RRMP_IMAGE_FIRST;
    bool is_last = event->flags & RRMP_IMAGE_LAST;

    if (is_first != (part == 0) || is_last != (part + 1 == parts))
        world_fail(world, "R3", "sink %u item %u: part %u of %u has flags %x", proc->number,
                   watch->item, part, parts, event->flags);
    if (!is_first && part != watch->part)
        world_fail(world, "R3", "sink %u item %u: part %u instead of %u", proc->number, watch->item,
                   part, watch->part);
    if (is_first && watch->has_data && !watch->may_jump && counter != watch->counter &&
        counter != watch->counter + 1)
        world_fail(world, "R2", "sink %u item %u: image %u after %u and no SUSPECT between",
                   proc->number, watch->item, counter, watch->counter);
    if (is_first) {
        watch->counter = counter;
        watch->may_jump = true; /* until it is whole it may begin again */
    }
    watch->part = (uint16_t)(part + 1);
    watch->has_data = true;
    watch->was_told = true;
    if (is_last) {
        watch->may_jump = false;
        watch->is_suspect = false;
        watch->awaits_image = false;
    }
    data_seen(world, proc, watch, 'R');
    world->coverage->images++;
}

static void image_in(struct world *world, struct proc *proc, const struct rrmp_sink_event *event)
{
    uint32_t counter;
    uint16_t part, parts;

    content_check(world, proc, event, 'R', &counter, &part, &parts);
    for (uint32_t i = 0; i < world->plan.watch_count; i++) {
        struct watch *watch = &proc->watches[i];
        bool takes = false;
        if (watch->item != event->user)
            continue;
        switch (watch->state) {
        case WATCH_IDLE:
            break;
        case WATCH_NEW:
            takes = (event->to & RRMP_SINK_TO_WAIT) && (event->flags & RRMP_IMAGE_FIRST);
            break;
        case WATCH_FILLING:
            takes = event->to & RRMP_SINK_TO_WAIT;
            break;
        case WATCH_STEP:
            takes = event->to & RRMP_SINK_TO_STEP;
            break;
        }
        if (!takes)
            continue;
        if (watch->state == WATCH_NEW)
            watch->state = WATCH_FILLING;
        image_take(world, proc, watch, event, counter, part, parts);
    }
}

static void update_in(struct world *world, struct proc *proc, const struct rrmp_sink_event *event)
{
    uint32_t counter;
    uint16_t part, parts;

    content_check(world, proc, event, 'U', &counter, &part, &parts);
    for (uint32_t i = 0; i < world->plan.watch_count; i++) {
        struct watch *watch = &proc->watches[i];
        bool takes = (watch->state == WATCH_FILLING && (event->to & RRMP_SINK_TO_WAIT)) ||
                     (watch->state == WATCH_STEP && (event->to & RRMP_SINK_TO_STEP));
        if (watch->item != event->user || !takes)
            continue;
        if (!watch->has_data)
            world_fail(world, "R3", "sink %u item %u: update %u before any image", proc->number,
                       watch->item, counter);
        if (counter != watch->counter + 1)
            world_fail(world, "R2", "sink %u item %u: update %u after %u (%s)", proc->number,
                       watch->item, counter, watch->counter,
                       watch->is_suspect ? "suspect" : "not suspect");
        watch->counter = counter;
        data_seen(world, proc, watch, 'U');
        world->coverage->updates++;
    }
}

static void state_take(struct world *world, struct proc *proc, uint32_t item, uint8_t state,
                       uint8_t code)
{
    bool is_suspect = (state & 7) == DATA_SUSPECT;

    for (uint32_t i = 0; i < world->plan.watch_count; i++) {
        struct watch *watch = &proc->watches[i];
        if (watch->state == WATCH_IDLE || watch->item != item)
            continue;
        if (watch->awaits_image && !is_suspect && watch->state == WATCH_STEP)
            world_fail(world, "R2", "sink %u item %u: well ahead of its image", proc->number, item);
        watch->awaits_image = watch->awaits_image || code == CODE_STAYS;
        watch->is_suspect = is_suspect;
        watch->may_jump = watch->may_jump || is_suspect;
        watch->was_told = true;
        world->coverage->suspects += is_suspect;
        world->told_suspect += is_suspect;
    }
}

static void state_in(struct world *world, struct proc *proc, const struct rrmp_sink_event *event)
{
    if (event->scope == RRMP_SINK_SCOPE_ITEM) {
        state_take(world, proc, (uint32_t)event->user, event->state, event->code);
        return;
    }
    uint32_t number = RRMP_ITEM_NONE;
    while ((number = rrmp_sink_item_next(proc->own_sink, event, number)) != RRMP_ITEM_NONE) {
        struct rrmp_sink_item info;
        if (rrmp_sink_item_info(proc->own_sink, number, &info) &&
            !(info.user & (PRIVATE | SNAPSHOT)))
            state_take(world, proc, (uint32_t)info.user, event->state, event->code);
    }
}

static void closed_in(struct world *world, struct proc *proc, const struct rrmp_sink_event *event)
{
    uint32_t item = (uint32_t)event->user;

    world->coverage->closed++;
    if (!world->items[item].is_refused && event->type == 0 && event->state == (3 << 3 | 2))
        world_fail(world, "R18", "sink %u item %u: CLOSED_RECOVER", proc->number, item);
    for (uint32_t i = 0; i < world->plan.watch_count; i++) {
        if (proc->watches[i].item == item)
            proc->watches[i].state = WATCH_IDLE;
    }
    proc->sink_item[item] = RRMP_ITEM_NONE;
}

static void in_step(struct world *world, struct proc *proc, uint32_t item)
{
    for (uint32_t i = 0; i < world->plan.watch_count; i++) {
        struct watch *watch = &proc->watches[i];
        if (watch->state == WATCH_FILLING && watch->item == item)
            watch->state = WATCH_STEP;
    }
}

static void message_in(struct world *world, struct proc *proc, const struct rrmp_sink_event *event)
{
    if (event->type == RRMP_UPDATE) {
        update_in(world, proc, event);
    } else if (event->type == RRMP_STATUS) {
        uint32_t state;
        uint16_t part, parts;
        content_check(world, proc, event, 'S', &state, &part, &parts);
        state_take(world, proc, (uint32_t)event->user, (uint8_t)state, 0);
        world->coverage->statuses++;
    }
}

static void answered(struct world *world, struct proc *proc)
{
    if (proc->posts_open == 0)
        world_fail(world, "R19", "sink %u: an answer to no post", proc->number);
    proc->posts_open--;
}

static void sink_events(struct world *world, struct proc *proc)
{
    struct rrmp_sink_event events[16];
    size_t count;

    while ((count = rrmp_sink_event(proc->own_sink, events, 16)) > 0) {
        for (size_t i = 0; i < count; i++) {
            const struct rrmp_sink_event *event = &events[i];
            if (world->options.is_traced && event->item != RRMP_ITEM_NONE)
                world_trace(world,
                            "sink %u item %u event %u type %u to %u flags %x seq %u state %u",
                            proc->number, (uint32_t)event->user, event->kind, event->type,
                            event->to, event->flags, event->item_seq, event->state);
            if (special_in(world, proc, event))
                continue;
            switch ((enum rrmp_sink_event_kind)event->kind) {
            case RRMP_SINK_IMAGE:
                image_in(world, proc, event);
                break;
            case RRMP_SINK_MESSAGE:
                message_in(world, proc, event);
                break;
            case RRMP_SINK_IN_STEP:
                in_step(world, proc, (uint32_t)event->user);
                break;
            case RRMP_SINK_STATE:
                state_in(world, proc, event);
                break;
            case RRMP_SINK_CLOSED:
                closed_in(world, proc, event);
                break;
            case RRMP_SINK_ACK:
                world->coverage->acks++;
                answered(world, proc);
                break;
            case RRMP_SINK_POST_LOST:
                world->coverage->post_lost++;
                answered(world, proc);
                break;
            case RRMP_SINK_DIRECTORY:
                world->coverage->directory++;
                break;
            case RRMP_SINK_DICTIONARY:
                world->coverage->dictionaries++;
                break;
            case RRMP_SINK_MERGE:
            case RRMP_SINK_BOUND:
                break;
            }
        }
    }
}

/* ---- what must hold all the time, and at the end ---- */

/* R4: a missing update is told or healed in time. Who was hung himself, or waits for a source that
 * is, is not judged. */
static void lag_check(struct world *world, const struct proc *proc)
{
    const struct plan *plan = &world->plan;
    bool is_simple = !plan->kills && !plan->hangs && !plan->node_kills && !plan->partitions &&
                     !plan->laps && !plan->provider_losses && plan->service_count == 1;
    uint64_t bound = is_simple ? 2600 * MS : 8 * SEC;

    if (plan->ring_bytes < 1 << 20 || world->now_ns < bound)
        return;
    for (uint32_t p = 0; p < world->proc_count; p++) {
        const struct proc *other = &world->procs[p];
        bool is_meant = other->is_source || other == proc;
        if (is_meant && (other->hung_until_ns + bound > world->now_ns ||
                         other->woke_ns + bound > world->now_ns || !other->is_alive))
            return;
    }
    for (uint32_t i = 0; i < plan->watch_count; i++) {
        const struct watch *watch = &proc->watches[i];
        const struct world_item *item = &world->items[watch->item];
        uint32_t missing = item->counter - watch->counter;
        if (watch->state != WATCH_STEP || watch->is_suspect || missing == 0)
            continue;
        uint32_t first = missing < 64 ? watch->counter + 1 : item->counter - 63;
        if (world->now_ns - item->changed_ns[first % 64] > bound)
            world_fail(world, "R4", "sink %u item %u: %u of %u for %.3f s and not told",
                       proc->number, watch->item, watch->counter, item->counter,
                       (double)(world->now_ns - item->changed_ns[first % 64]) / 1e9);
    }
}

void sink_check_end(struct world *world, struct proc *proc)
{
    const struct rrmp_sink_stats *stats = rrmp_sink_stats(proc->own_sink);

    for (uint32_t i = 0; i < world->plan.watch_count; i++) {
        const struct watch *watch = &proc->watches[i];
        const struct world_item *item = &world->items[watch->item];
        if (watch->state == WATCH_IDLE)
            continue;
        struct rrmp_sink_item info;
        rrmp_sink_item_info(proc->own_sink, proc->sink_item[watch->item], &info);
        if (watch->state != WATCH_STEP || watch->is_suspect || watch->counter != item->counter)
            world_fail(
                world, "R5",
                "sink %u item %u: watch in state %d%s at %u of %u, engine in state %d told %d",
                proc->number, watch->item, watch->state, watch->is_suspect ? " suspect" : "",
                watch->counter, item->counter, info.state, info.suspect_sent);
    }
    if (stats->held_bytes_now != 0)
        world_fail(world, "R6", "sink %u still holds %zu bytes", proc->number,
                   stats->held_bytes_now);
    if (proc->posts_open != 0 || stats->posts_now != 0)
        world_fail(world, "R6", "sink %u: %u posts without answer", proc->number, proc->posts_open);
    if (proc->snapshots_open != 0)
        world_fail(world, "R6", "sink %u: %u snapshots without answer", proc->number,
                   proc->snapshots_open);
    for (int q = 0; q < 3; q++) {
        if (stats->queued_now[q] != 0)
            world_fail(world, "R13", "sink %u: queue %d holds %u", proc->number, q,
                       stats->queued_now[q]);
    }
}

/* ---- the process ---- */

static void input(struct world *world, struct proc *proc, const struct backbone_event *events,
                  size_t count)
{
    size_t done = 0;

    while (done < count && world->failure[0] == 0) {
        done += rrmp_sink_input(proc->own_sink, world->now_ns, events + done, count - done);
        sink_events(world, proc);
    }
}

static void turn(struct world *world, struct proc *proc)
{
    rrmp_sink_tick(proc->own_sink, world->now_ns, true);
    sink_events(world, proc);
    uint64_t due = rrmp_sink_deadline(proc->own_sink);
    if (due != RRMP_NEVER)
        proc_soon(world, proc, due > world->now_ns ? due : world->now_ns + 1000);
    lag_check(world, proc);
}

static void fini(struct world *world, struct proc *proc)
{
    (void)world;
    rrmp_sink_destroy(proc->own_sink);
}

const struct proc_ops model_sink_ops = { start, input, turn, fini, NULL };
