/* follower.c - see follower.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "follower_inside.h"

#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/err.h"
#include "cores.h"
#include "itemkey/itemkey.h"

/*
 * A follower opens each item that it is told to be bound, drops some of them and opens them again
 * by name, and opens names that nobody has, and some that another opens at that moment. In the end
 * it has what is open at any source, in step and with its state, and nothing else; and none ends
 * that is bound where it was (R24). No source ever hears of the names that it alone opens (R25).
 */

#define SALT     UINT64_C(0x666f6c6c6f77)
#define RACES_OF 4u /* requests of others */

void followers_draw(struct world *world)
{
    struct plan *plan = &world->plan;

    world->follow.random = md_prng_init(world->options.seed ^ SALT);
    world->follow.is_on = plan->core.experiment == EXPERIMENT_NONE;
    if (!world->follow.is_on)
        return;
    plan->follower_count = 1 + md_prng_below(&world->follow.random, 2);
    world->follow.name_length = 0;
    if (md_prng_below(&world->follow.random, 2)) /* lists of several parts */
        world->follow.name_length = 230;
    if (!world->options.scenario && md_prng_below(&world->follow.random, 4) == 0) {
        plan->source_count = 5 + md_prng_below(&world->follow.random, 4);
        plan->core.providers = 1;
    }
}

/* ---- keys and numbers ---- */

static size_t key_of(const struct world *world, uint32_t item, uint8_t out[RRMP_KEY_SIZE_MAX])
{
    char name[24];
    uint32_t number = item < ITEMS_MAX ? item : FOLLOWED_FIRST + item - ITEMS_MAX;
    size_t length;

    if (item < world->plan.item_count && !world->outside) {
        memcpy(out, world->items[item].key, world->items[item].key_length);
        return world->items[item].key_length;
    }
    length = (size_t)(world->outside ? snprintf(name, sizeof(name), "I%u", number)
                                     : snprintf(name, sizeof(name), "ITEM%u.N", number));
    const struct rrmp_key key = { .domain = 6,
                                  .members = RRMP_KEY_NAME,
                                  .name_type = 1,
                                  .qos = { .timeliness = 1, .rate = 1 },
                                  .name = { (const uint8_t *)name, length } };
    struct md_wr wr = md_wr_init(out, RRMP_KEY_SIZE_MAX);
    rrmp_key_encode(&wr, &key);
    return md_wr_length(&wr);
}

/* WATCHES: another one. */
static uint32_t item_of(const struct world *world, struct rrmp_view key)
{
    uint32_t number = 0;
    size_t i = 9;

    while (i < key.length && (key.bytes[i] < '0' || key.bytes[i] > '9'))
        i++;
    for (; i < key.length && key.bytes[i] >= '0' && key.bytes[i] <= '9'; i++)
        number = number * 10 + (uint32_t)(key.bytes[i] - '0');
    if (number >= FOLLOWED_FIRST && number < FOLLOWED_FIRST + ASIDE)
        return ITEMS_MAX + number - FOLLOWED_FIRST;
    return number < world->plan.item_count ? number : WATCHES;
}

static uint16_t service_of(const struct world *world, const struct follower *f, uint32_t item)
{
    uint8_t name[] = SERVICE_NAME;

    if (item < ITEMS_MAX)
        name[3] = (uint8_t)('0' + world->items[item].service);
    return rrmp_sink_service_find(f->sink, (struct rrmp_view){ name, 4 });
}

/* ---- opening ---- */

static void item_open(struct world *world, struct follower *f, uint32_t item, uint32_t bound_at)
{
    struct followed *it = &f->items[item];
    uint8_t key[RRMP_KEY_SIZE_MAX];
    struct rrmp_sink_open open = { .service = service_of(world, f, item),
                                   .key = { key, key_of(world, item, key) },
                                   .priority_class = 1,
                                   .priority_count = 1,
                                   .is_follower = true,
                                   .bound_at = bound_at,
                                   .user = item };

    it->open_ns = 0;
    if (open.service == RRMP_SERVICE_NONE)
        return;
    int err = rrmp_sink_item_open(f->sink, world->now_ns, &open, &it->number);
    if (err == MD_ERR_EXISTS)
        return;
    if (err) { /* take events first */
        it->open_ns = world->now_ns + 1 * MS;
        return;
    }
    it->watch = (struct watch){
        .state = WATCH_NEW, .item = item, .may_jump = true, .opened_ns = world->now_ns
    };
    it->instance = 0xFFFF;
}

static void bound_key(struct world *world, struct follower *f, struct rrmp_view key,
                      uint32_t bound_at)
{
    uint32_t item = item_of(world, key);

    world->coverage->followed_bound++;
    if (item >= ITEMS_MAX && item < WATCHES && !world->plan.hostile_per_s)
        world_fail(world, "R25", "item %u is bound, and followers alone have opened it", item);
    if (item < ITEMS_MAX && f->items[item].watch.state == WATCH_IDLE)
        item_open(world, f, item, bound_at);
}

static void bound_in(struct world *world, struct follower *f, const struct rrmp_sink_event *event)
{
    struct rrmp_view rest = event->message;
    struct rrmp_view key;

    if (event->type == RRMP_BIND) {
        bound_key(world, f, rest, event->instance + 1u);
        return;
    }
    world->coverage->followed_lists++;
    while (rrmp_list_next(&rest, &key))
        bound_key(world, f, key, event->instance + 1u);
}

static void follow(struct world *world, struct follower *f)
{
    if (world->now_ns < f->follow_ns)
        return;
    for (uint16_t s = 0; s < rrmp_sink_service_count(f->sink); s++) {
        if (rrmp_sink_service_name(f->sink, s).length > 0)
            rrmp_sink_follow(f->sink, world->now_ns, s);
    }
}

/* ---- what it gets ---- */

struct read {
    uint32_t item;
    uint32_t counter; /* of a STATUS: its state */
    bool is_good;
    bool has_state;
};

static struct read read_model(struct rrmp_view message, uint8_t kind)
{
    const uint8_t *p = message.bytes;

    if (message.length < 14 || p[0] != kind)
        return (struct read){ .is_good = false };
    return (struct read){ md_be32(p + 1), md_be32(p + 5), true, true };
}

static struct read read_core(struct rrmp_view message, uint8_t kind)
{
    struct read out = { .is_good = false };
    struct content content;
    struct rwf_msg msg;

    if (rwf_msg_decode(rwf_bytes(message.bytes, message.length), &msg) != RWF_OK)
        return out;
    if (kind == 'S') {
        out.has_state = msg.flags & RWF_STATUS_HAS_STATE;
        out.counter = rwf_state_byte(msg.state.stream_state, msg.state.data_state);
        out.is_good = true;
        return out;
    }
    out.is_good = content_read(&msg, &content);
    out.item = content.item;
    out.counter = content.counter;
    out.is_good = out.is_good && content.mix == content_mix(content.item, content.counter);
    return out;
}

static struct read read_event(struct world *world, const struct proc *proc,
                              const struct rrmp_sink_event *event, uint8_t kind)
{
    struct read out =
        world->outside ? read_core(event->message, kind) : read_model(event->message, kind);

    if (!out.is_good)
        world_fail(world, "R1", "follower %u: not a message of the provider", proc->number);
    else if (kind != 'S' && out.item != (uint32_t)event->user)
        world_fail(world, "R11", "follower %u: a record of item %u came for item %u", proc->number,
                   out.item, (uint32_t)event->user);
    return out;
}

static void image_in(struct world *world, struct proc *proc, struct watch *watch,
                     const struct rrmp_sink_event *event)
{
    struct read it = read_event(world, proc, event, 'R');
    bool is_first = event->flags & RRMP_IMAGE_FIRST;
    bool is_lines = world->lines.is_on;

    if (watch->state == WATCH_NEW && !(is_first && event->to & RRMP_SINK_TO_WAIT))
        return;
    if (watch->state == WATCH_STEP && !(event->to & RRMP_SINK_TO_STEP))
        return;
    watch->state = watch->state == WATCH_NEW ? WATCH_FILLING : watch->state;
    if (!is_first && event->part != watch->part)
        world_fail(world, "R3", "follower %u item %u: part %u instead of %u", proc->number,
                   watch->item, event->part, watch->part);
    if (is_first && watch->has_data && !watch->may_jump && it.counter != watch->counter &&
        it.counter != watch->counter + 1 && !is_lines)
        world_fail(world, "R2", "follower %u item %u: image %u after %u and no SUSPECT between",
                   proc->number, watch->item, it.counter, watch->counter);
    if (is_first) {
        watch->counter = it.counter;
        watch->may_jump = true;
    }
    watch->part = (uint16_t)(event->part + 1);
    watch->has_data = true;
    if (event->flags & RRMP_IMAGE_LAST) {
        watch->is_suspect = (event->state & 7) == RWF_DATA_SUSPECT;
        watch->may_jump = watch->is_suspect;
        world->coverage->followed_images++;
    }
}

static void state_take(struct watch *watch, uint8_t state)
{
    if ((state & 7) == RWF_DATA_NO_CHANGE)
        return;
    watch->is_suspect = (state & 7) == RWF_DATA_SUSPECT;
    watch->may_jump = watch->may_jump || watch->is_suspect;
}

static void message_in(struct world *world, struct proc *proc, struct watch *watch,
                       const struct rrmp_sink_event *event)
{
    bool takes = (watch->state == WATCH_FILLING && event->to & RRMP_SINK_TO_WAIT) ||
                 (watch->state == WATCH_STEP && event->to & RRMP_SINK_TO_STEP);

    if (event->type == RRMP_STATUS) {
        struct read it = read_event(world, proc, event, 'S');
        if (it.has_state)
            state_take(watch, (uint8_t)it.counter);
        return;
    }
    if (event->type != RRMP_UPDATE || !takes)
        return;
    struct read it = read_event(world, proc, event, 'U');
    bool is_next = it.counter == watch->counter + 1;
    if (!watch->has_data)
        world_fail(world, "R3", "follower %u item %u: update %u before any image", proc->number,
                   watch->item, it.counter);
    if (world->lines.is_on ? it.counter <= watch->counter : !is_next)
        world_fail(world, "R2", "follower %u item %u: update %u after %u (%s)", proc->number,
                   watch->item, it.counter, watch->counter,
                   watch->is_suspect ? "suspect" : "not suspect");
    watch->counter = it.counter;
    world->coverage->followed_updates++;
}

uint32_t follower_find_at(const struct world *world, const struct proc *source, uint32_t item,
                          struct rrmp_source_item *info)
{
    uint8_t key[RRMP_KEY_SIZE_MAX];
    struct rrmp_view view = { key, key_of(world, item, key) };

    for (uint16_t svc = 0; svc < SERVICES_MAX; svc++) {
        uint32_t number = rrmp_source_item_find(source->source, svc, view);
        if (number != RRMP_ITEM_NONE && rrmp_source_item_info(source->source, number, info))
            return number;
    }
    return RRMP_ITEM_NONE;
}

/* It was in step, and where it was it is bound still, under the handle that it had. */
static bool is_still_bound(const struct world *world, const struct followed *it)
{
    struct rrmp_source_item info;

    for (uint32_t p = 0; p < world->plan.source_count; p++) {
        const struct proc *source = &world->procs[p];
        if (source->is_alive && source->session == it->session && source->port == it->port &&
            follower_find_at(world, source, it->watch.item, &info) != RRMP_ITEM_NONE)
            return info.is_active && info.is_bound && info.handle == it->handle;
    }
    return false;
}

static void closed_in(struct world *world, const struct proc *proc,
                      const struct rrmp_sink_event *event)
{
    struct followed *it = &proc->follower->items[event->user];

    if (it->watch.state == WATCH_STEP && !it->watch.is_suspect && event->type != RRMP_STATUS &&
        is_still_bound(world, it))
        world_fail(world, "R24", "follower %u item %u: closed, and bound still", proc->number,
                   (uint32_t)event->user);
    it->watch.state = WATCH_IDLE;
    it->number = RRMP_ITEM_NONE;
    world->coverage->followed_ends++;
    world->coverage->followed_names_refused += event->user >= ITEMS_MAX;
}

static void state_in(struct follower *f, const struct rrmp_sink_event *event)
{
    if (event->scope == RRMP_SINK_SCOPE_ITEM) {
        state_take(&f->items[event->user].watch, event->state);
        return;
    }
    for (uint32_t n = RRMP_ITEM_NONE;
         (n = rrmp_sink_item_next(f->sink, event, n)) != RRMP_ITEM_NONE;) {
        struct rrmp_sink_item info;
        if (rrmp_sink_item_info(f->sink, n, &info))
            state_take(&f->items[info.user].watch, event->state);
    }
}

/* Where it is now: a move is one of what must be seen to happen. */
static void look(struct world *world, const struct follower *f, struct followed *it)
{
    struct rrmp_sink_item info;

    if (!rrmp_sink_item_info(f->sink, it->number, &info) || info.instance == 0xFFFF)
        return;
    world->coverage->followed_moves += it->instance != 0xFFFF && it->instance != info.instance;
    it->instance = info.instance;
    it->session = 0;
    for (uint32_t p = 0; p < world->plan.source_count; p++) {
        const struct proc *source = &world->procs[p];
        uint32_t item_seq;
        if (!source->is_alive ||
            !rrmp_sink_instance_is(f->sink, info.instance, source->session, source->port) ||
            !rrmp_sink_item_trace(f->sink, it->number, &it->handle, &item_seq))
            continue;
        it->session = source->session;
        it->port = source->port;
    }
}

static void item_event(struct world *world, struct proc *proc, const struct rrmp_sink_event *event)
{
    struct follower *f = proc->follower;
    struct followed *it = &f->items[event->user];

    if (it->watch.state == WATCH_IDLE || it->number != event->item)
        return;
    if (event->user >= ITEMS_MAX && event->kind == RRMP_SINK_IMAGE && !world->plan.hostile_per_s)
        world_fail(world, "R25", "follower %u: an image of an item that nobody has", proc->number);
    if (event->kind == RRMP_SINK_IMAGE)
        image_in(world, proc, &it->watch, event);
    else if (event->kind == RRMP_SINK_MESSAGE)
        message_in(world, proc, &it->watch, event);
    else if (event->kind == RRMP_SINK_CLOSED)
        closed_in(world, proc, event);
    else if (event->kind == RRMP_SINK_IN_STEP) {
        it->watch.state = it->watch.state == WATCH_FILLING ? WATCH_STEP : it->watch.state;
        look(world, f, it);
    }
}

static void events_take(struct world *world, struct proc *proc)
{
    struct follower *f = proc->follower;
    struct rrmp_sink_event events[16];
    size_t count;

    while ((count = rrmp_sink_event(f->sink, events, 16)) > 0) {
        for (size_t i = 0; i < count; i++) {
            const struct rrmp_sink_event *event = &events[i];
            if (event->kind == RRMP_SINK_BOUND)
                bound_in(world, f, event);
            else if (event->kind == RRMP_SINK_DIRECTORY)
                follow(world, f);
            else if (event->kind == RRMP_SINK_STATE)
                state_in(f, event);
            else if (event->item != RRMP_ITEM_NONE)
                item_event(world, proc, event);
            if (event->item != RRMP_ITEM_NONE)
                world_trace(world, "follower %u item %u event %u type %u to %u seq %u state %u",
                            proc->number, (uint32_t)event->user, event->kind, event->type,
                            event->to, event->item_seq, event->state);
        }
    }
}

/* ---- the process ---- */

static void start(struct world *world, struct proc *proc)
{
    struct rrmp_sink_config config = {
        .send = proc_send(world, proc),
        .random = md_prng_u64(&world->follow.random),
        .item_limit = 4096,
        .open_window_minimum = world->plan.window,
        .hold_records = world->plan.hold_records,
    };
    struct follower *f = calloc(1, sizeof(*f));

    if (!f || rrmp_sink_create(&config, &f->sink) != 0)
        abort();
    proc->follower = f;
    proc->sink = f->sink;
    f->follow_ns = world->now_ns + md_prng_below(&world->follow.random, 6000) * MS;
    f->act_ns = f->follow_ns;
    for (uint32_t i = 0; i < WATCHES; i++)
        f->items[i].number = RRMP_ITEM_NONE;
}

static void input(struct world *world, struct proc *proc, const struct backbone_event *events,
                  size_t count)
{
    size_t done = 0;

    while (done < count && world->failure[0] == 0) {
        done += rrmp_sink_input(proc->follower->sink, world->now_ns, events + done, count - done);
        events_take(world, proc);
    }
}

/* It drops an item and opens it again a moment later, or opens one that nobody may have. */
static void act(struct world *world, struct follower *f)
{
    struct md_prng *random = &world->follow.random;
    uint32_t item = md_prng_below(random, world->plan.item_count);
    struct followed *it = &f->items[item];

    if (it->watch.state != WATCH_IDLE) {
        rrmp_sink_item_close(f->sink, world->now_ns, it->number);
        it->watch.state = WATCH_IDLE;
        it->number = RRMP_ITEM_NONE;
    }
    if (it->open_ns == 0)
        it->open_ns = world->now_ns + md_prng_below(random, 1000) * MS;
    it = &f->items[ITEMS_MAX + md_prng_below(random, ASIDE)];
    if (it->watch.state == WATCH_IDLE)
        it->open_ns = world->now_ns;
}

/* A request of another: followers may open the item at the same moment, before it is bound. */
void followers_hear(struct world *world, const uint8_t *bytes, size_t length)
{
    struct rrmp_record record;

    if (!world->follow.is_on || world->is_quiet || length == 0 || bytes[0] != RRMP_REQUEST ||
        rrmp_record_decode(bytes, length, &record) != MD_OK ||
        record.u.request.flags & RRMP_REQUEST_FOLLOW ||
        md_prng_below(&world->follow.random, RACES_OF) > 0)
        return;
    uint32_t item = item_of(world, record.u.request.key);
    for (uint32_t p = world_sinks_end(world); p < world->proc_count && item < ITEMS_MAX; p++) {
        struct proc *proc = &world->procs[p];
        if (!proc->is_alive || proc->follower->items[item].watch.state != WATCH_IDLE)
            continue;
        proc->follower->items[item].open_ns = world->now_ns;
        proc_soon(world, proc, world->now_ns);
        world->coverage->followed_races++;
    }
}

static void turn(struct world *world, struct proc *proc)
{
    struct follower *f = proc->follower;
    uint64_t next = world->now_ns + 50 * MS;

    if (f->act_ns <= world->now_ns && !world->is_quiet) {
        follow(world, f);
        act(world, f);
        f->act_ns = world->now_ns + md_prng_below(&world->follow.random, 1000) * MS;
    }
    for (uint32_t i = 0; i < WATCHES; i++) {
        if (f->items[i].open_ns != 0 && f->items[i].open_ns <= world->now_ns)
            item_open(world, f, i, 0);
    }
    rrmp_sink_tick(f->sink, world->now_ns, true);
    events_take(world, proc);
    uint64_t due = rrmp_sink_deadline(f->sink);
    due = due > world->now_ns ? due : world->now_ns + 1000;
    proc_soon(world, proc, due < next ? due : next);
}

static void fini(struct world *world, struct proc *proc)
{
    (void)world;
    rrmp_sink_destroy(proc->follower->sink);
    free(proc->follower);
    proc->follower = NULL;
}

const struct proc_ops follower_ops = { start, input, turn, fini, NULL };
