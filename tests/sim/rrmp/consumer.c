/* consumer.c - the consumers at a p2ps: what they do; front.c judges what they get. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "paces.h"

#define BATCH_MAX  4
#define VIEW_COUNT 5

bool is_item(const struct world *world, uint32_t item)
{
    return item < world->plan.item_count;
}

/* "I" and a number; "P", a number and the same of private streams. */
uint32_t item_number(struct rwf_bytes name)
{
    uint32_t number = 0;

    if (name.length < 2 || name.length > 10 || (name.data[0] != 'I' && name.data[0] != 'P'))
        return CROWD_FIRST - 1;
    for (size_t i = 1; i < name.length; i++)
        number = number * 10 + (uint32_t)(name.data[i] - '0');
    return name.data[0] == 'P' ? PRIVATE | number : number;
}

uint16_t service_number(struct rwf_bytes name)
{
    return name.length == 4 ? (uint16_t)(name.data[3] - '0') : SERVICES_MAX;
}

static uint32_t below(const struct consumer *c, uint32_t limit)
{
    return md_prng_below(&c->world->random, limit);
}

static struct proc *proc_of(const struct consumer *c)
{
    return &c->world->procs[c->proc];
}

static struct p2ps_core *core_of(const struct consumer *c)
{
    return proc_of(c)->p2ps;
}

static bool may_speak(const struct consumer *c)
{
    const struct proc *proc = proc_of(c);

    return c->is_connected && proc->is_alive && c->world->now_ns >= proc->hung_until_ns;
}

/* What was said may have caused something: its process looks. */
static void spoken(const struct consumer *c)
{
    proc_soon(c->world, proc_of(c), c->world->now_ns);
}

/* ---- streams ---- */

struct stream *consumer_stream(struct consumer *c, int32_t id)
{
    for (uint32_t i = 0; i < STREAMS_MAX; i++) {
        if (c->streams[i].kind != STREAM_FREE && c->streams[i].id == id)
            return &c->streams[i];
    }
    return NULL;
}

/* How many updates a merged one stands for. */
bool consumer_wants_info(const struct consumer *c)
{
    return (c->world->lines.is_on || c->world->paces.is_on) && c->number % 2;
}

static struct stream *stream_take(struct consumer *c, enum stream_kind kind, uint32_t item)
{
    for (uint32_t i = 0; i < STREAMS_MAX; i++) {
        struct stream *s = &c->streams[i];
        if (s->kind != STREAM_FREE)
            continue;
        *s = (struct stream){ .kind = kind,
                              .id = c->next_id++,
                              .item = item,
                              .wants = true,
                              .may_jump = true,
                              .asked_ns = c->world->now_ns };
        return s;
    }
    return NULL;
}

struct name {
    char text[16];
    struct rwf_bytes bytes;
};

static void name_of(struct name *name, char kind, uint32_t number)
{
    int length = snprintf(name->text, sizeof(name->text), "%c%u", kind, number);

    name->bytes = rwf_bytes((const uint8_t *)name->text, (size_t)length);
}

static struct omm_item_request request_of(const struct consumer *c, const struct stream *s,
                                          const struct name *name)
{
    const struct world *world = c->world;
    uint32_t service = is_item(world, s->item) ? world->items[s->item].service : 0;

    return (struct omm_item_request){
        .stream_id = s->id,
        .domain = RWF_DOMAIN_MARKET_PRICE,
        .is_streaming = s->kind != STREAM_SNAPSHOT,
        .is_private = s->kind == STREAM_PRIVATE,
        .key_in_updates = s->has_key,
        .conf_info_in_updates = consumer_wants_info(c),
        .pause = s->is_paused,
        .has_view = s->has_view,
        .key = { .flags = RWF_KEY_HAS_SERVICE_ID | RWF_KEY_HAS_NAME | RWF_KEY_HAS_NAME_TYPE,
                 .service_id = world->outside->service_id[service],
                 .name = name->bytes,
                 .name_type = RWF_NAME_RIC },
        .container = RWF_TYPE_NO_DATA,
    };
}

/* The payload of a request: names of a batch, the five fields of the view. */
static void payload_put(struct omm_item_request *request, uint8_t *bytes, size_t size,
                        const struct name names[], uint32_t count)
{
    static const int16_t fields[VIEW_COUNT] = { FIELD_ITEM, FIELD_MAKER, FIELD_PERMISSION,
                                                FIELD_MIX, FIELD_COUNTER };
    struct rwf_encoder enc;

    rwf_encoder_init(&enc, bytes, size);
    rwf_element_list_start(&enc, NULL);
    if (count) {
        rwf_element_start(&enc, rwf_text(":ItemList"), RWF_TYPE_ARRAY);
        rwf_array_start(&enc, RWF_TYPE_ASCII, 0);
        for (uint32_t i = 0; i < count; i++)
            rwf_array_add_bytes(&enc, names[i].bytes);
        rwf_array_finish(&enc);
        rwf_element_finish(&enc);
    }
    if (request->has_view) {
        rwf_element_add_uint(&enc, ":ViewType", 1);
        rwf_element_start(&enc, rwf_text(":ViewData"), RWF_TYPE_ARRAY);
        rwf_array_start(&enc, RWF_TYPE_INT, 2);
        for (int i = 0; i < VIEW_COUNT; i++) {
            const uint8_t id[2] = { 0, (uint8_t)fields[i] };
            rwf_array_add_bytes(&enc, rwf_bytes(id, 2));
        }
        rwf_array_finish(&enc);
        rwf_element_finish(&enc);
    }
    rwf_element_list_finish(&enc);
    request->container = RWF_TYPE_ELEMENT_LIST;
    request->payload = rwf_encoder_bytes(&enc);
}

static void ask(struct consumer *c, const struct stream *s, struct omm_item_request *request)
{
    uint8_t bytes[256];

    world_trace(c->world, "consumer %u asks stream %d item %u kind %d", c->number, s->id, s->item,
                s->kind);
    if (request->has_view)
        payload_put(request, bytes, sizeof(bytes), NULL, 0);
    paces_disturb(c->world, s->item);
    p2ps_client_item(core_of(c), c->world->now_ns, c->id, request);
    spoken(c);
}

static uint32_t any_item(const struct consumer *c)
{
    return below(c, c->world->plan.item_count);
}

static bool is_offered(const struct consumer *c, uint32_t item)
{
    const struct world *world = c->world;

    return world->outside->service_id[is_item(world, item) ? world->items[item].service : 0] != 0;
}

struct stream *consumer_open(struct consumer *c, uint32_t item)
{
    struct name name;

    if (!is_offered(c, item))
        return NULL;
    struct stream *s = stream_take(c, STREAM_SHARED, item);
    if (!s)
        return NULL;
    int32_t id = s->id;
    name_of(&name, 'I', item);
    struct omm_item_request request = request_of(c, s, &name);
    c->world->coverage->opens++;
    paces_choose(c, s, &request);
    ask(c, s, &request);
    return consumer_stream(c, id);
}

static void open_variant(struct consumer *c, enum stream_kind kind)
{
    struct world *world = c->world;
    uint32_t item = any_item(c);
    struct name name;

    if (!is_offered(c, kind == STREAM_PRIVATE ? 0 : item))
        return;
    if (kind == STREAM_PRIVATE)
        item = PRIVATE | ++world->outside->private_count;
    struct stream *s = stream_take(c, kind, item);
    if (!s)
        return;
    name_of(&name, kind == STREAM_PRIVATE ? 'P' : 'I', item & ~PRIVATE);
    s->has_view = kind == STREAM_SHARED && below(c, 2);
    s->has_key = kind == STREAM_SHARED && below(c, 2);
    s->is_paused = kind == STREAM_SHARED && below(c, 5) == 0;
    world->coverage->views += s->has_view;
    world->coverage->keyed += s->has_key;
    world->coverage->pauses += s->is_paused;
    world->coverage->snapshot_opens += kind == STREAM_SNAPSHOT;
    world->coverage->privates += kind == STREAM_PRIVATE;
    struct omm_item_request request = request_of(c, s, &name);
    request.no_refresh = kind == STREAM_SNAPSHOT && s->id % 3 == 0; /* which changes nothing */
    paces_choose(c, s, &request);
    ask(c, s, &request);
}

static void open_batch(struct consumer *c)
{
    struct name names[BATCH_MAX];
    uint8_t bytes[256];
    int32_t id = c->next_id++;
    struct stream head = { .id = id, .item = any_item(c) };

    if (!is_offered(c, head.item))
        return;
    struct omm_item_request request = request_of(c, &head, &names[0]);
    request.is_streaming = true;
    request.is_batch = true;
    request.key.flags = RWF_KEY_HAS_SERVICE_ID;
    uint32_t count = 0;
    for (uint32_t tries = 0; tries < 20 && count < BATCH_MAX; tries++) {
        uint32_t item = any_item(c);
        if (c->world->items[item].service != c->world->items[head.item].service)
            continue;
        if (!stream_take(c, STREAM_SHARED, item))
            break;
        name_of(&names[count++], 'I', item);
    }
    if (count == 0)
        return;
    c->world->coverage->batches++;
    for (uint32_t i = 0; i < count; i++)
        paces_disturb(c->world, item_number(names[i].bytes));
    world_trace(c->world, "consumer %u asks a batch of %u from stream %d", c->number, count, id);
    payload_put(&request, bytes, sizeof(bytes), names, count);
    p2ps_client_item(core_of(c), c->world->now_ns, c->id, &request);
    spoken(c);
}

/* Before it is answered; it stays one stream with one answer, with a refresh or without. */
static void ask_snapshot_again(struct consumer *c, struct stream *s)
{
    struct name name;

    name_of(&name, 'I', s->item);
    struct omm_item_request request = request_of(c, s, &name);
    request.no_refresh = s->id % 2;
    s->may_jump = true;
    c->world->coverage->snapshot_reissues++;
    ask(c, s, &request);
}

static void reissue(struct consumer *c, struct stream *s)
{
    struct coverage *coverage = c->world->coverage;
    uint32_t choice = below(c, 10);
    bool was_paused = s->is_paused;
    struct name name;

    if (s->kind == STREAM_SNAPSHOT)
        ask_snapshot_again(c, s);
    if (s->kind != STREAM_SHARED)
        return;
    if (choice < 3)
        s->is_paused = !s->is_paused;
    s->resumed_ns = c->world->now_ns;
    coverage->pauses += s->is_paused && !was_paused;
    coverage->resumes += was_paused && !s->is_paused;
    if (choice == 3)
        s->has_view = !s->has_view;
    name_of(&name, 'I', s->item);
    struct omm_item_request request = request_of(c, s, &name);
    request.no_refresh = choice < 5 && choice != 3;
    request.has_priority = choice == 5;
    request.priority_class = (uint8_t)(1 + below(c, 3));
    request.priority_count = (uint16_t)(1 + below(c, 5));
    coverage->priorities += request.has_priority;
    coverage->no_refreshes += request.no_refresh;
    coverage->reissues += !request.no_refresh;
    if (!request.no_refresh) {
        s->wants = true;
        s->asked_ns = c->world->now_ns;
        s->was_told = false;
    }
    bool is_moved = paces_choose_again(c, s, &request);
    /* What was left out before comes as one image, asked for or not. */
    s->may_jump = s->may_jump || !request.no_refresh || s->is_paused || was_paused || is_moved;
    ask(c, s, &request);
}

static void close_stream(struct consumer *c, struct stream *s)
{
    int32_t id = s->id;

    c->world->coverage->closes++;
    world_trace(c->world, "consumer %u closes stream %d item %u", c->number, id, s->item);
    paces_disturb(c->world, s->item);
    s->kind = STREAM_FREE;
    p2ps_client_close(core_of(c), c->world->now_ns, c->id, id);
    spoken(c);
}

/* One of thousands: its answer is only counted. */
void consumer_ask_crowd(struct consumer *c, uint32_t item, int32_t stream_id)
{
    const struct stream s = { .kind = STREAM_SHARED, .id = stream_id, .item = item };
    struct name name;

    name_of(&name, 'I', item);
    struct omm_item_request request = request_of(c, &s, &name);
    p2ps_client_item(core_of(c), c->world->now_ns, c->id, &request);
    spoken(c);
}

static void bad_service(struct consumer *c)
{
    struct stream *s = stream_take(c, STREAM_SHARED, any_item(c));
    struct name name;

    if (!s)
        return;
    name_of(&name, 'I', s->item);
    struct omm_item_request request = request_of(c, s, &name);
    request.key.service_id = 9999;
    c->world->coverage->bad_services++;
    ask(c, s, &request);
}

/* ---- posts and generic messages ---- */

static void post(struct consumer *c, const struct stream *s)
{
    uint8_t bytes[256];
    struct rwf_encoder enc;
    struct name name;
    struct consumer_post *slot = NULL;

    for (uint32_t i = 0; i < POSTS_MAX; i++) {
        if (!c->posts[i].is_open)
            slot = &c->posts[i];
    }
    if (!slot || (!s && !is_offered(c, 0)))
        return;
    *slot = (struct consumer_post){ .is_open = true,
                                    .stream_id = s ? s->id : LOGIN_STREAM,
                                    .id = ++c->next_post,
                                    .seq = md_prng_u32(&c->world->random),
                                    .at_ns = c->world->now_ns };
    struct rwf_msg msg = {
        .msg_class = RWF_CLASS_POST,
        .domain = RWF_DOMAIN_MARKET_PRICE,
        .stream_id = slot->stream_id,
        .flags = RWF_POST_ACK | RWF_POST_HAS_POST_ID | RWF_POST_HAS_SEQ_NUM | RWF_POST_COMPLETE,
        .post_id = slot->id,
        .seq_num = slot->seq,
        .container = RWF_TYPE_NO_DATA,
    };
    if (!s) {
        name_of(&name, 'I', any_item(c));
        msg.flags |= RWF_POST_HAS_KEY;
        msg.key = (struct rwf_key){ .flags = RWF_KEY_HAS_SERVICE_ID | RWF_KEY_HAS_NAME |
                                             RWF_KEY_HAS_NAME_TYPE,
                                    .service_id = c->world->outside->service_id[0],
                                    .name = name.bytes,
                                    .name_type = RWF_NAME_RIC };
        c->world->coverage->posts_off_stream++;
    }
    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    rwf_msg_encode(&enc, &msg);
    p2ps_client_post(core_of(c), c->world->now_ns, c->id, &msg, rwf_encoder_bytes(&enc));
    spoken(c);
}

static void generic(struct consumer *c, const struct stream *s)
{
    uint8_t bytes[128];
    struct rwf_encoder enc;
    struct rwf_msg msg = {
        .msg_class = RWF_CLASS_GENERIC,
        .domain = RWF_DOMAIN_MARKET_PRICE,
        .stream_id = s->id,
        .container = RWF_TYPE_NO_DATA,
    };

    paces_disturb(c->world, s->item);
    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    rwf_msg_encode(&enc, &msg);
    p2ps_client_generic(core_of(c), c->world->now_ns, c->id, &msg, rwf_encoder_bytes(&enc));
    spoken(c);
}

/* ---- in and out ---- */

static void login(struct consumer *c, bool no_refresh)
{
    struct omm_login_request request = {
        .stream_id = LOGIN_STREAM,
        .is_streaming = true,
        .no_refresh = no_refresh,
        .pause = c->pause_all,
        .user = rwf_text(c->is_low ? "low" : "joe"),
        .name_type = RWF_NAME_LOGIN_USER,
        .single_open = c->single_open,
        .allow_suspect_data = c->allow_suspect,
        .permission_expressions = c->number % 2 == 0,
    };

    c->world->coverage->logins++;
    world_trace(c->world, "consumer %u login%s%s", c->number, no_refresh ? " again" : "",
                c->pause_all ? ", pause" : "");
    p2ps_client_login(core_of(c), c->world->now_ns, c->id, &request);
    spoken(c);
}

void consumer_follow(struct consumer *c)
{
    struct omm_directory_request request = {
        .stream_id = DIRECTORY_STREAM,
        .is_streaming = true,
        .filter = OMM_FILTER_INFO | OMM_FILTER_STATE | (c->hears_groups ? OMM_FILTER_GROUP : 0),
        .has_service_id = c->service >= 0,
        .service_id = c->service >= 0 ? c->world->outside->service_id[c->service] : 0,
    };

    if (c->service >= 0 && request.service_id == 0)
        return; /* it is not known yet */
    c->has_directory = true;
    p2ps_client_directory(core_of(c), c->world->now_ns, c->id, &request);
    spoken(c);
}

void consumer_end(struct consumer *c)
{
    struct world *world = c->world;
    struct event event = { .kind = EVENT_CONSUMER, .a = c->number };

    c->is_connected = c->is_in = c->has_directory = false;
    c->epoch++;
    memset(c->streams, 0, sizeof(c->streams));
    memset(c->posts, 0, sizeof(c->posts));
    memset(c->knows_service, 0, sizeof(c->knows_service));
    c->stopped_until_ns = 0;
    event.at_ns = world->now_ns + 10 * MS + md_prng_below(&world->random, 1000000000);
    world_push(world, &event);
}

/* Its own p2ps, or after a failure another. */
void consumer_come(struct world *world, uint32_t number)
{
    struct consumer *c = &world->outside->consumers[number];
    uint32_t home = world->plan.source_count + number % world->plan.sink_count;

    if (c->is_connected)
        return;
    c->proc =
        md_prng_below(&world->random, 4)
            ? home
            : world->plan.source_count + md_prng_below(&world->random, world->plan.sink_count);
    if (world->plan.core.experiment)
        c->proc = home;
    if (!proc_of(c)->is_alive || world->now_ns < proc_of(c)->hung_until_ns ||
        p2ps_client_add(core_of(c), world->now_ns, &consumer_front, c, "10.1.1.1:5", 0x0a010101,
                        &c->id) != 0) {
        world_schedule(world, world->now_ns + 200 * MS, EVENT_CONSUMER, number, 0);
        return;
    }
    world_trace(world, "consumer %u comes to p2ps %u%s%s%s", number, c->proc,
                c->is_slow ? " slow" : "", c->is_low ? " low" : "",
                c->hears_groups ? " groups" : "");
    c->is_connected = true;
    c->since_ns = world->now_ns;
    c->next_id = 10;
    c->queued = 0;
    c->pause_all = false;
    login(c, false);
    if (c->is_slow)
        world_schedule(world, world->now_ns + 10 * MS, EVENT_DRAIN, number, c->epoch);
}

void consumers_lost(struct world *world, const struct proc *proc)
{
    for (uint32_t i = 0; i < world->outside->consumer_count; i++) {
        struct consumer *c = &world->outside->consumers[i];
        if (c->is_connected && c->proc == proc->number)
            consumer_end(c);
    }
}

void consumer_leave(struct consumer *c)
{
    world_trace(c->world, "consumer %u dies", c->number);
    p2ps_client_gone(core_of(c), c->world->now_ns, c->id);
    spoken(c);
    consumer_end(c);
}

/* A slow one reads a little, one that has stopped nothing. */
void consumer_drain(struct world *world, uint32_t number)
{
    struct consumer *c = &world->outside->consumers[number];

    if (!c->is_connected || !(c->is_slow || c->queued))
        return;
    world_schedule(world, world->now_ns + 10 * MS, EVENT_DRAIN, number, c->epoch);
    if (world->now_ns < c->stopped_until_ns || c->queued == 0 || !may_speak(c))
        return;
    c->queued -= c->drained < c->queued ? c->drained : c->queued;
    p2ps_client_writable(core_of(c), world->now_ns, c->id);
    spoken(c);
}

void consumer_stop(struct consumer *c, uint64_t time_ns)
{
    struct world *world = c->world;

    world->coverage->consumer_stops++;
    world_trace(world, "consumer %u stops reading for %llu ms", c->number,
                (unsigned long long)(time_ns / MS));
    c->stopped_until_ns = world->now_ns + time_ns;
    if (!c->is_slow)
        world_schedule(world, c->stopped_until_ns + 1, EVENT_DRAIN, c->number, c->epoch);
}

/* ---- what they do, at random ---- */

static struct stream *any_stream(struct consumer *c)
{
    for (uint32_t tries = 0; tries < 2 * STREAMS_MAX; tries++) {
        struct stream *s = &c->streams[below(c, STREAMS_MAX)];
        if (s->kind != STREAM_FREE)
            return s;
    }
    return NULL;
}

static uint32_t stream_count(const struct consumer *c)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < STREAMS_MAX; i++)
        count += c->streams[i].kind != STREAM_FREE;
    return count;
}

static void pause_all(struct consumer *c)
{
    c->pause_all = !c->pause_all;
    c->world->coverage->pauses_all++;
    for (uint32_t i = 0; i < STREAMS_MAX; i++) {
        c->streams[i].may_jump = true;
        c->streams[i].resumed_ns = c->world->now_ns;
    }
    login(c, true);
}

static void logout(struct consumer *c)
{
    c->world->coverage->logouts++;
    p2ps_client_close(core_of(c), c->world->now_ns, c->id, LOGIN_STREAM);
    consumer_leave(c);
}

static void act(struct consumer *c)
{
    uint32_t what = below(c, 1000);
    struct stream *s = any_stream(c);
    bool is_full = stream_count(c) >= c->world->plan.core.streams;

    if (!c->has_directory && below(c, 4) == 0)
        consumer_follow(c);
    if (!s || (what < 350 && !is_full))
        consumer_open(c, any_item(c));
    else if (what < 420)
        open_variant(c, STREAM_SHARED);
    else if (what < 480)
        open_variant(c, STREAM_SNAPSHOT);
    else if (what < 520)
        open_variant(c, STREAM_PRIVATE);
    else if (what < 550)
        open_batch(c);
    else if (what < 700)
        close_stream(c, s);
    else if (what < 850)
        reissue(c, s);
    else if (what < 910)
        post(c, s);
    else if (what < 930)
        post(c, NULL);
    else if (what < 960)
        generic(c, s);
    else if (what < 975)
        bad_service(c);
    else if (what < 985)
        pause_all(c);
    else if (what < 990)
        login(c, true);
    else if (what < 993)
        logout(c);
}

void consumers_churn(struct world *world)
{
    struct outside *outside = world->outside;
    struct consumer *c =
        &outside->consumers[md_prng_below(&world->random, outside->consumer_count)];

    if (c->is_in && may_speak(c) && !world->plan.core.experiment)
        act(c);
}

void consumers_faults(struct world *world, uint32_t ticks)
{
    const struct core_plan *plan = &world->plan.core;
    struct outside *outside = world->outside;
    struct consumer *c =
        &outside->consumers[md_prng_below(&world->random, outside->consumer_count)];

    if (world_chance(world, plan->stops * 1000000 / ticks) && c->is_connected)
        consumer_stop(c, md_prng_u64(&world->random) % (6 * SEC));
    if (world_chance(world, plan->consumer_deaths * 1000000 / ticks) && may_speak(c)) {
        world->coverage->consumer_deaths++;
        consumer_leave(c);
    }
}

/* Nobody is stopped or paused any more, and nobody opens more. */
void consumers_calm(struct world *world)
{
    for (uint32_t i = 0; i < world->outside->consumer_count; i++) {
        struct consumer *c = &world->outside->consumers[i];

        if (!c->is_in || !may_speak(c))
            continue;
        c->stopped_until_ns = 0;
        if (c->pause_all)
            pause_all(c);
        for (uint32_t k = 0; k < STREAMS_MAX && c->is_connected; k++) {
            struct stream *s = &c->streams[k];
            struct name name;
            if (s->kind != STREAM_SHARED || !s->is_paused)
                continue;
            s->is_paused = false;
            s->resumed_ns = world->now_ns;
            name_of(&name, 'I', s->item);
            struct omm_item_request request = request_of(c, s, &name);
            request.no_refresh = true;
            ask(c, s, &request);
        }
    }
}

/* ---- their making ---- */

static void consumer_make(struct world *world, uint32_t number)
{
    struct consumer *c = &world->outside->consumers[number];
    bool is_plain = world->plan.core.experiment != EXPERIMENT_NONE;

    *c = (struct consumer){ .world = world, .number = number, .service = -1 };
    c->single_open = is_plain || md_prng_below(&world->random, 6);
    c->allow_suspect = is_plain || md_prng_below(&world->random, 8);
    c->is_low = !is_plain && md_prng_below(&world->random, 4) == 0;
    c->hears_groups = md_prng_below(&world->random, 2);
    if (!is_plain && md_prng_below(&world->random, 4) == 0)
        c->service = (int)md_prng_below(&world->random, world->plan.service_count);
    c->room = 1000;
    c->drained = 1000;
    if (!is_plain && md_prng_below(&world->random, 100) < world->plan.core.slow_percent) {
        c->is_slow = true;
        c->room = 20 + md_prng_below(&world->random, 200);
        c->drained = 1 + md_prng_below(&world->random, 20);
    }
    world_schedule(world, md_prng_below(&world->random, 300000000), EVENT_CONSUMER, number, 0);
}

void outside_make(struct world *world)
{
    const struct core_plan *plan = &world->plan.core;
    struct outside *outside = calloc(1, sizeof(*outside));

    if (!outside)
        abort();
    world->outside = outside;
    for (uint32_t p = 0; p < world->plan.source_count; p++) {
        for (uint32_t k = 0; k < plan->providers + plan->has_broadcast; k++) {
            uint32_t number = outside->provider_count++;
            struct provider *provider = &outside->providers[number];
            provider->world = world;
            provider->number = number;
            provider->proc = p;
            provider->rank = k;
            provider->is_broadcast = k == plan->providers;
            queue_init(&provider->words, sizeof(struct word));
        }
    }
    outside->consumer_count = plan->consumers * world->plan.sink_count;
    for (uint32_t i = 0; i < outside->consumer_count; i++)
        consumer_make(world, i);
}

void outside_fini(struct world *world)
{
    for (uint32_t i = 0; i < world->outside->provider_count; i++) {
        struct provider *p = &world->outside->providers[i];
        while (queue_head(&p->words)) {
            blob_give(((struct word *)queue_head(&p->words))->blob);
            queue_pop(&p->words);
        }
        queue_fini(&p->words);
    }
    free(world->outside);
}
