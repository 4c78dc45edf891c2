/* provider.c - the providers behind a src_dist: they answer, publish, fall silent, refuse, go. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/err.h"
#include "cores.h"

#define DELAY    (2 * MS)
#define OFFER_ID 100u /* of the first service, in its providers' words */

static struct world *world_of(const struct provider *p)
{
    return p->world;
}

static struct proc *proc_of(const struct provider *p)
{
    return &p->world->procs[p->proc];
}

static uint64_t random_below(struct world *world, uint64_t limit)
{
    return md_prng_u64(&world->random) % limit;
}

/* ---- the connection ---- */

static void push(struct provider *p, enum event_kind kind, uint64_t *last_ns, const uint8_t *bytes,
                 size_t length, uint32_t item_plus, int32_t ask)
{
    struct world *world = world_of(p);
    struct event event = { .kind = kind, .a = p->number, .b = item_plus, .c = p->epoch };
    uint64_t at = world->now_ns + 1000 + random_below(world, DELAY);

    event.at_ns = at > *last_ns ? at : *last_ns + 1;
    if (kind == EVENT_WORD && event.at_ns < p->silent_until_ns)
        event.at_ns = p->silent_until_ns; /* it is stopped: nothing leaves it */
    *last_ns = event.at_ns;
    event.feed.epoch = (uint32_t)ask;
    event.entry.blob = blob_take(bytes, length);
    world_push(world, &event);
}

static void say(struct provider *p, const struct rwf_encoder *enc, uint32_t item_plus, int32_t ask)
{
    struct rwf_bytes bytes = rwf_encoder_bytes(enc);

    world_trace(p->world, "provider %u says class %u stream %d", p->number, bytes.data[2] & 31,
                (int)md_be32(bytes.data + 4));
    if (rwf_encoder_error(enc) != RWF_OK)
        world_fail(world_of(p), "model", "a message of a provider does not fit");
    push(p, EVENT_WORD, &p->to_ns, bytes.data, bytes.length, item_plus, ask);
}

void provider_word(struct world *world, struct event *event)
{
    struct provider *p = &world->outside->providers[event->a];

    if (p->epoch != event->c || !p->is_connected) {
        blob_give(event->entry.blob);
        return;
    }
    *(struct word *)queue_put(&p->words) = (struct word){ .blob = event->entry.blob,
                                                          .item_plus = event->b,
                                                          .ask = (int32_t)event->feed.epoch };
    proc_soon(world, proc_of(p), world->now_ns);
}

static void words_drop(struct provider *p)
{
    while (queue_head(&p->words)) {
        blob_give(((struct word *)queue_head(&p->words))->blob);
        queue_pop(&p->words);
    }
}

static void come_again(struct provider *p, uint64_t pause_ns)
{
    struct world *world = world_of(p);

    world_schedule(world, world->now_ns + 1 * MS + random_below(world, pause_ns), EVENT_PROVIDER_UP,
                   p->number, p->epoch);
}

/* Nothing of this connection is known any more, on our side. */
static void end(struct provider *p)
{
    p->epoch++;
    p->is_connected = p->is_ending = p->is_ready = false;
    memset(p->ids, 0, sizeof(p->ids));
    memset(p->is_parting, 0, sizeof(p->is_parting));
    memset(p->asked_ns, 0, sizeof(p->asked_ns));
    memset(p->asked_id, 0, sizeof(p->asked_id));
    memset(p->asks, 0, sizeof(p->asks));
    memset(p->privates, 0, sizeof(p->privates));
    words_drop(p);
}

/* The connection breaks: the src_dist learns of it when it next looks. */
void provider_lose(struct world *world, struct provider *p, uint64_t pause_ns)
{
    if (!p->is_connected || p->is_ending)
        return;
    world->coverage->provider_losses++;
    world_trace(world, "provider %u of source %u lost", p->number, p->proc);
    end(p);
    p->is_connected = p->is_ending = true;
    p->rejects_until_ns = world->now_ns + random_below(world, pause_ns);
    *(struct word *)queue_put(&p->words) = (struct word){ 0 };
    proc_soon(world, proc_of(p), world->now_ns);
}

static void link_close(void *self, const char *reason)
{
    struct provider *p = self;

    world_trace(world_of(p), "source %u cuts provider %u: %s", p->proc, p->number, reason);
    end(p);
    come_again(p, 1 * SEC);
}

/* ---- what it publishes ---- */

static struct content content_of(const struct provider *p, uint32_t item, uint32_t counter)
{
    const struct world *world = p->world;

    return (struct content){
        .item = item,
        .counter = counter,
        .maker = world->plan.core.is_mirrored ? numbers_maker(p) : world->procs[p->proc].serial,
        .permission = is_item(world, item) ? world->items[item].permission : 0,
    };
}

static uint32_t counter_of(const struct world *world, uint32_t item)
{
    return is_item(world, item) ? world->items[item].counter : 1;
}

struct image {
    int32_t id;
    uint32_t item;
    uint32_t counter;
    uint16_t part;
    uint16_t parts;
    bool is_solicited;
    bool is_snapshot;
    bool is_private;
};

static void refreshed_note(struct world *world, const struct image *image)
{
    uint32_t bit = image->counter % IMAGED_MAX;

    if (is_item(world, image->item))
        world->items[image->item].refreshed[bit / 8] |= (uint8_t)(1u << bit % 8);
}

static void image_say(struct provider *p, const struct image *image)
{
    struct world *world = p->world;
    struct content content = content_of(p, image->item, image->counter);
    uint8_t group[2] = { 0, is_item(world, image->item) ? world->items[image->item].group : 0 };
    uint8_t permission = (uint8_t)('a' + content.permission);
    bool is_last = image->part + 1 == image->parts;
    uint8_t bytes[512];
    struct rwf_encoder enc;
    struct rwf_msg msg = {
        .msg_class = RWF_CLASS_REFRESH,
        .domain = RWF_DOMAIN_MARKET_PRICE,
        .stream_id = image->id,
        .container = RWF_TYPE_FIELD_LIST,
        .flags =
            (uint16_t)(RWF_REFRESH_HAS_QOS | (image->is_solicited ? RWF_REFRESH_SOLICITED : 0) |
                       (image->part == 0 ? RWF_REFRESH_CLEAR_CACHE : 0) |
                       (is_last ? RWF_REFRESH_COMPLETE : 0) |
                       (world->plan.core.is_mirrored ? RWF_REFRESH_HAS_SEQ_NUM : 0) |
                       (image->is_private ? RWF_REFRESH_PRIVATE_STREAM : 0)),
        .seq_num = numbers_of(p, image->item, image->counter),
        .qos = { .timeliness = RWF_TIMELINESS_REALTIME, .rate = RWF_RATE_TICK_BY_TICK },
        .group_id = rwf_bytes(group, 2),
        .state = { .stream_state = image->is_snapshot ? RWF_STREAM_NON_STREAMING : RWF_STREAM_OPEN,
                   .data_state = RWF_DATA_OK },
    };

    if (GUARDED(image->item) && !image->is_private) {
        msg.flags |= RWF_REFRESH_HAS_PERM_DATA;
        msg.perm_data = rwf_bytes(&permission, 1);
    }
    if (p->is_broadcast && image->part == 0) {
        /* It has not been asked: its key says what it is. */
        static char name[16];
        int length = snprintf(name, sizeof(name), "I%u", image->item);
        msg.flags |= RWF_REFRESH_HAS_KEY;
        msg.key = (struct rwf_key){ .flags = RWF_KEY_HAS_SERVICE_ID | RWF_KEY_HAS_NAME |
                                             RWF_KEY_HAS_NAME_TYPE,
                                    .service_id = OFFER_ID + SERVICES_MAX - 1,
                                    .name = rwf_bytes((const uint8_t *)name, (size_t)length),
                                    .name_type = RWF_NAME_RIC };
    }
    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    rwf_msg_start(&enc, &msg);
    content_image(&enc, &content, image->part);
    rwf_msg_finish(&enc);
    refreshed_note(world, image);
    bool is_answer = image->is_solicited && is_last;
    say(p, &enc, is_answer && !image->is_snapshot && !image->is_private ? image->item + 1 : 0,
        is_answer && image->is_snapshot ? image->id : 0);
}

bool item_was_refreshed(const struct world *world, uint32_t item, uint32_t first, uint32_t last)
{
    for (uint32_t at = first; at <= last; at++) {
        uint32_t bit = at % IMAGED_MAX;
        if (world->items[item].refreshed[bit / 8] >> bit % 8 & 1)
            return true;
    }
    return false;
}

static uint16_t parts_of(const struct world *world, uint32_t item)
{
    return is_item(world, item) ? world->items[item].parts : 1;
}

/* All parts at once, or one after the other with updates between them. */
static void image_start(struct provider *p, uint32_t item, bool is_solicited)
{
    struct world *world = world_of(p);
    struct image image = { .id = p->ids[item],
                           .item = item,
                           .counter = counter_of(world, item),
                           .parts = parts_of(world, item),
                           .is_solicited = is_solicited };

    if (p->is_parting[item]) {
        p->is_asked_again[item] = true;
        return;
    }
    image_say(p, &image);
    bool is_slow = image.parts > 1 && is_solicited && md_prng_below(&world->random, 2);
    for (image.part = 1; image.part < image.parts && !is_slow; image.part++)
        image_say(p, &image);
    if (!is_slow)
        return;
    p->is_parting[item] = true;
    struct event event = { .at_ns = world->now_ns + random_below(world, world->plan.part_delay_ns),
                           .kind = EVENT_PART,
                           .a = p->number,
                           .b = item << 8 | 1,
                           .c = (uint64_t)p->epoch << 32 | (uint32_t)p->ids[item] };
    world_push(world, &event);
}

void provider_part(struct world *world, const struct event *event)
{
    struct provider *p = &world->outside->providers[event->a];
    uint32_t item = event->b >> 8;
    struct image image = { .id = (int32_t)(uint32_t)event->c,
                           .item = item,
                           .counter = counter_of(world, item),
                           .part = (uint16_t)(event->b & 255),
                           .parts = parts_of(world, item),
                           .is_solicited = true };

    if (p->epoch != event->c >> 32 || p->ids[item] != image.id || !p->is_parting[item])
        return;
    image_say(p, &image);
    if (image.part + 1 < image.parts) {
        struct event next = *event;
        next.at_ns = world->now_ns + random_below(world, world->plan.part_delay_ns);
        next.b = item << 8 | (image.part + 1u);
        world_push(world, &next);
        return;
    }
    p->is_parting[item] = false;
    if (p->is_asked_again[item]) {
        p->is_asked_again[item] = false;
        image_start(p, item, true);
    }
}

static void update_say(struct provider *p, int32_t id, uint32_t item, uint32_t counter,
                       bool is_private)
{
    struct content content = content_of(p, item, counter);
    uint8_t permission = (uint8_t)('a' + content.permission);
    uint8_t bytes[256];
    struct rwf_encoder enc;
    struct rwf_msg msg = {
        .msg_class = RWF_CLASS_UPDATE,
        .domain = RWF_DOMAIN_MARKET_PRICE,
        .stream_id = id,
        .update_type = lines_type(p->world, item, counter),
        .flags = numbers_has_update(p->world, counter) ? RWF_UPDATE_HAS_SEQ_NUM : 0,
        .seq_num = numbers_of(p, item, counter),
        .container = RWF_TYPE_FIELD_LIST,
    };

    if (GUARDED(item) && !is_private) {
        msg.flags |= RWF_UPDATE_HAS_PERM_DATA;
        msg.perm_data = rwf_bytes(&permission, 1);
    }
    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    rwf_msg_start(&enc, &msg);
    content_update(&enc, &content);
    rwf_msg_finish(&enc);
    say(p, &enc, 0, 0);
}

/* The world has moved: every open stream of it hears, now and then by a whole image. */
void providers_update(struct world *world, uint32_t item)
{
    bool is_news = md_prng_below(&world->random, 50) == 0 && !world->plan.core.experiment;
    uint32_t counter = world->items[item].counter;

    for (uint32_t i = 0; i < world->outside->provider_count; i++) {
        struct provider *p = &world->outside->providers[i];

        if (p->ids[item] == 0)
            continue;
        if (is_news && !p->is_parting[item])
            image_start(p, item, false);
        else
            update_say(p, p->ids[item], item, counter, false);
    }
}

void providers_private_update(struct world *world)
{
    struct outside *outside = world->outside;
    struct provider *p =
        &outside->providers[md_prng_below(&world->random, outside->provider_count)];
    uint32_t slot = md_prng_below(&world->random, PROVIDER_PRIVATES);

    if (p->is_ready && p->privates[slot].id && !world->plan.core.has_silent_privates)
        update_say(p, p->privates[slot].id, p->privates[slot].item, ++p->privates[slot].counter,
                   true);
}

static void generic_say(struct provider *p, uint32_t item)
{
    uint8_t bytes[256];
    struct rwf_encoder enc;
    struct content content = content_of(p, item, counter_of(p->world, item));
    struct rwf_msg msg = {
        .msg_class = RWF_CLASS_GENERIC,
        .domain = RWF_DOMAIN_MARKET_PRICE,
        .stream_id = p->ids[item],
        .container = RWF_TYPE_FIELD_LIST,
    };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    rwf_msg_start(&enc, &msg);
    content_update(&enc, &content);
    rwf_msg_finish(&enc);
    say(p, &enc, 0, 0);
}

/* ---- administrative ---- */

static void status_say(struct provider *p, int32_t id, uint8_t stream_state, uint8_t code,
                       bool is_private, uint32_t item_plus, int32_t ask)
{
    uint8_t bytes[256];
    struct rwf_encoder enc;
    struct omm_status status = {
        .stream_id = id,
        .domain = RWF_DOMAIN_MARKET_PRICE,
        .flags = is_private ? RWF_STATUS_PRIVATE_STREAM : 0,
        .state = { .stream_state = stream_state,
                   .data_state = RWF_DATA_SUSPECT,
                   .code = code,
                   .text = rwf_text("the provider says so") },
    };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    omm_status_encode(&enc, &status);
    say(p, &enc, item_plus, ask);
}

static void login_answer(struct provider *p, int32_t id)
{
    struct world *world = world_of(p);
    bool is_refused = world->now_ns < p->rejects_until_ns;
    uint8_t bytes[512];
    struct rwf_encoder enc;
    struct omm_login_refresh refresh = {
        .stream_id = id,
        .is_solicited = true,
        .state = { .stream_state = is_refused ? RWF_STREAM_CLOSED : RWF_STREAM_OPEN,
                   .data_state = is_refused ? RWF_DATA_SUSPECT : RWF_DATA_OK },
        .user = rwf_text("user"),
        .single_open = true,
        .allow_suspect_data = true,
        .support_post = p->supports_post,
    };

    world->coverage->login_refusals += is_refused;
    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    omm_login_refresh_encode(&enc, &refresh);
    say(p, &enc, 0, 0);
}

static void service_put(struct provider *p, struct rwf_encoder *enc, uint32_t number,
                        bool is_update)
{
    char name[] = SERVICE_NAME;
    struct omm_service service = {
        .id = (uint16_t)(OFFER_ID + number),
        .action = is_update ? RWF_MAP_UPDATE : RWF_MAP_ADD,
        .filters =
            is_update ? OMM_FILTER_STATE : OMM_FILTER_INFO | OMM_FILTER_STATE | OMM_FILTER_LOAD,
        .capability_count = 1,
        .capabilities = { RWF_DOMAIN_MARKET_PRICE },
        .is_up = p->service_up[number],
        .is_accepting = p->service_up[number],
        .has_open_window = true,
        .open_window = world_of(p)->plan.core.window,
    };

    name[3] = (char)(name[3] + (int)number);
    service.name = rwf_text(name);
    omm_directory_encode_service(enc, &service);
}

static bool has_service(const struct provider *p, uint32_t number)
{
    return p->is_broadcast ? number == SERVICES_MAX - 1 : number < p->world->plan.service_count;
}

static void directory_say(struct provider *p)
{
    uint8_t bytes[1024];
    struct rwf_encoder enc;
    struct omm_directory_head head = {
        .stream_id = OMM_DIRECTORY_STREAM,
        .is_solicited = !p->is_broadcast,
        .is_first = true,
        .is_complete = true,
        .is_streaming = true,
        .filter = OMM_FILTER_INFO | OMM_FILTER_STATE | OMM_FILTER_LOAD,
    };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    omm_directory_encode_start(&enc, &head);
    for (uint32_t i = 0; i < SERVICES_MAX; i++) {
        if (has_service(p, i))
            service_put(p, &enc, i, false);
    }
    omm_directory_encode_finish(&enc);
    say(p, &enc, 0, 0);
    p->is_ready = true;
}

static void service_say(struct provider *p, uint32_t number, bool is_up)
{
    uint8_t bytes[512];
    struct rwf_encoder enc;
    struct omm_directory_head head = { .stream_id = OMM_DIRECTORY_STREAM, .is_update = true };

    p->service_up[number] = is_up;
    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    omm_directory_encode_start(&enc, &head);
    service_put(p, &enc, number, true);
    omm_directory_encode_finish(&enc);
    say(p, &enc, 0, 0);
}

static void group_say(struct provider *p, uint32_t number, uint8_t group, bool is_well)
{
    uint8_t bytes[512];
    const uint8_t id[2] = { 0, group };
    struct rwf_encoder enc;
    struct omm_directory_head head = { .stream_id = OMM_DIRECTORY_STREAM, .is_update = true };
    struct omm_group change = {
        .group = rwf_bytes(id, 2),
        .has_status = true,
        .status = { .stream_state = RWF_STREAM_OPEN,
                    .data_state = is_well ? RWF_DATA_OK : RWF_DATA_SUSPECT },
    };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    omm_directory_encode_start(&enc, &head);
    omm_directory_encode_group(&enc, (uint16_t)(OFFER_ID + number), &change);
    omm_directory_encode_finish(&enc);
    say(p, &enc, 0, 0);
}

/* ---- one that publishes by itself ---- */

static void publisher_login(struct provider *p)
{
    uint8_t bytes[512];
    struct rwf_encoder enc;
    struct omm_login_request request = {
        .stream_id = OMM_LOGIN_STREAM,
        .is_streaming = true,
        .user = rwf_text("publisher"),
        .name_type = RWF_NAME_LOGIN_USER,
        .role = OMM_ROLE_PROVIDER,
        .single_open = true,
        .allow_suspect_data = true,
    };

    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    omm_login_request_encode(&enc, &request);
    say(p, &enc, 0, 0);
}

static void publisher_begin(struct provider *p)
{
    const struct world *world = p->world;

    directory_say(p);
    for (uint32_t i = 0; i < world->plan.item_count; i++) {
        if (world->items[i].service != SERVICES_MAX - 1 || world->items[i].is_refused)
            continue;
        p->ids[i] = -(int32_t)(i + 1);
        image_start(p, i, false);
    }
}

/* ---- what it is asked ---- */

/* The item that a request names. Of another service it is none: the hostile user asks for such. */
static uint32_t asked_item(const struct world *world, const struct omm_item_request *request)
{
    uint32_t item = item_number(request->key.name);

    if (is_item(world, item) && OFFER_ID + world->items[item].service != request->key.service_id)
        return world->plan.item_count;
    return item;
}

static void asked_note(struct provider *p, const struct rwf_msg *msg)
{
    struct world *world = world_of(p);
    struct omm_item_request request;
    uint32_t outstanding = 0;

    omm_item_request_decode(msg, &request);
    uint32_t item = asked_item(world, &request);
    world_trace(world, "source %u asks provider %u stream %d item %u", p->proc, p->number,
                request.stream_id, item);
    if (request.is_private)
        return;
    if (is_item(world, item))
        p->asked[item] += request.is_streaming;
    /* A silent provider's window opens again after ten seconds. */
    for (uint32_t i = 0; i < world->plan.item_count; i++)
        outstanding += p->asked_ns[i] && world->now_ns - p->asked_ns[i] < 10 * SEC;
    for (uint32_t i = 0; i < PROVIDER_ASKS; i++)
        outstanding += p->asks[i].id && world->now_ns - p->asks[i].at_ns < 10 * SEC;
    if (is_item(world, item) && request.is_streaming && p->asked_id[item] == request.stream_id)
        return; /* a re-issue */
    if (outstanding >= world->plan.core.window)
        world_fail(world, "R7", "provider %u has %u requests outstanding, its window is %u",
                   p->number, outstanding + 1, world->plan.core.window);
    if (is_item(world, item) && request.is_streaming) {
        p->asked_ns[item] = world->now_ns;
        p->asked_id[item] = request.stream_id;
    }
    for (uint32_t i = 0; i < PROVIDER_ASKS && !request.is_streaming; i++) {
        if (p->asks[i].id == 0 || world->now_ns - p->asks[i].at_ns > 16 * SEC) {
            p->asks[i].id = request.stream_id;
            p->asks[i].at_ns = world->now_ns;
            break;
        }
    }
}

static void closed_note(struct provider *p, int32_t id)
{
    for (uint32_t i = 0; i < p->world->plan.item_count; i++) {
        if (p->asked_id[i] != id)
            continue;
        p->asked_id[i] = 0;
        p->asked_ns[i] = 0;
    }
    for (uint32_t i = 0; i < PROVIDER_ASKS; i++) {
        if (p->asks[i].id == id)
            p->asks[i].id = 0;
    }
}

/* The core's side of the link: room, or not. */
static int link_send(void *self, struct rwf_bytes bytes)
{
    struct provider *p = self;
    struct world *world = world_of(p);
    struct rwf_msg msg;

    if (world->now_ns < p->jammed_until_ns)
        return MD_ERR_FULL;
    if (p->is_ending)
        return MD_OK; /* into the void */
    if (rwf_msg_decode(bytes, &msg) != RWF_OK)
        world_fail(world, "R22", "source %u says what cannot be read", p->proc);
    else if (msg.msg_class == RWF_CLASS_REQUEST && msg.domain == RWF_DOMAIN_MARKET_PRICE)
        asked_note(p, &msg);
    else if (msg.msg_class == RWF_CLASS_CLOSE)
        closed_note(p, msg.stream_id);
    world_trace(world, "source %u says class %u stream %d to provider %u", p->proc, msg.msg_class,
                msg.stream_id, p->number);
    push(p, EVENT_HEARD, &p->from_ns, bytes.data, bytes.length, 0, 0);
    return MD_OK;
}

static const struct srcdist_link provider_link = { .send = link_send, .close = link_close };

static void private_asked(struct provider *p, const struct omm_item_request *request, uint32_t item)
{
    struct image image = { .id = request->stream_id,
                           .item = item,
                           .counter = 1,
                           .parts = 1,
                           .is_solicited = true,
                           .is_private = true };

    for (uint32_t i = 0; i < PROVIDER_PRIVATES; i++) {
        if (p->privates[i].id == request->stream_id) {
            image.counter = p->privates[i].counter;
            image_say(p, &image);
            return;
        }
    }
    for (uint32_t i = 0; i < PROVIDER_PRIVATES; i++) {
        if (p->privates[i].id)
            continue;
        p->privates[i].id = request->stream_id;
        p->privates[i].item = item;
        p->privates[i].counter = 1;
        image_say(p, &image);
        return;
    }
    status_say(p, request->stream_id, RWF_STREAM_CLOSED, RWF_CODE_NO_RESOURCES, true, 0, 0);
}

static void stream_asked(struct provider *p, int32_t id, uint32_t item)
{
    struct world *world = world_of(p);

    if (is_item(world, item) && p->ids[item] == id) {
        image_start(p, item, true);
        return;
    }
    if (is_item(world, item) && p->ids[item] != 0)
        world_fail(world, "R7", "item %u is open twice at provider %u", item, p->number);
    if (item >= FOLLOWED_FIRST && item < CROWD_FIRST && !world->plan.hostile_per_s)
        world_fail(world, "R25", "item %u is asked for, and followers alone have opened it", item);
    if (!is_item(world, item) && item < CROWD_FIRST) {
        status_say(p, id, RWF_STREAM_CLOSED, RWF_CODE_NOT_FOUND, false, item + 1, 0);
    } else if (is_item(world, item) && world->items[item].is_refused) {
        status_say(p, id, RWF_STREAM_CLOSED, RWF_CODE_NOT_FOUND, false, item + 1, 0);
    } else if (world->now_ns < p->refuses_until_ns) {
        world->coverage->refusals_for_now++;
        status_say(p, id, RWF_STREAM_CLOSED_RECOVER, RWF_CODE_NO_RESOURCES, false, item + 1, 0);
    } else if (is_item(world, item)) {
        p->ids[item] = id;
        image_start(p, item, true);
    } else {
        struct image image = {
            .id = id, .item = item, .counter = 1, .parts = 1, .is_solicited = true
        };
        image_say(p, &image);
    }
}

static void snapshot_asked(struct provider *p, int32_t id, uint32_t item)
{
    struct world *world = world_of(p);
    struct image image = { .id = id,
                           .item = item,
                           .counter = counter_of(world, item),
                           .parts = parts_of(world, item),
                           .is_solicited = true,
                           .is_snapshot = true };

    if (!is_item(world, item) || world->items[item].is_refused) {
        status_say(p, id, RWF_STREAM_CLOSED, RWF_CODE_NOT_FOUND, false, 0, id);
        return;
    }
    for (; image.part < image.parts; image.part++)
        image_say(p, &image);
}

static void post_asked(struct provider *p, const struct rwf_msg *msg)
{
    uint8_t bytes[512];
    struct rwf_encoder enc;
    uint32_t choice = md_prng_below(&world_of(p)->random, 10);
    struct omm_ack ack = {
        .stream_id = msg->stream_id,
        .domain = msg->domain,
        .ack_id = msg->post_id,
        .has_seq_num = (msg->flags & RWF_POST_HAS_SEQ_NUM) != 0,
        .seq_num = msg->seq_num,
        .nak_code = choice < 3 ? RWF_NAK_ACCESS_DENIED : 0,
    };

    world_of(p)->coverage->posts++;
    if (!(msg->flags & RWF_POST_ACK) || choice == 9)
        return; /* some are never answered */
    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    omm_ack_encode(&enc, &ack);
    say(p, &enc, 0, 0);
}

static void close_asked(struct provider *p, int32_t id)
{
    for (uint32_t i = 0; i < p->world->plan.item_count; i++) {
        if (p->ids[i] == id) {
            p->ids[i] = 0;
            p->is_parting[i] = p->is_asked_again[i] = false;
        }
    }
    for (uint32_t i = 0; i < PROVIDER_PRIVATES; i++) {
        if (p->privates[i].id == id)
            p->privates[i].id = 0;
    }
}

static void request_asked(struct provider *p, const struct rwf_msg *msg)
{
    struct omm_item_request request;

    omm_item_request_decode(msg, &request);
    uint32_t item = asked_item(p->world, &request);
    if (request.is_private)
        private_asked(p, &request, item);
    else if (request.is_streaming)
        stream_asked(p, request.stream_id, item);
    else
        snapshot_asked(p, request.stream_id, item);
}

static void heard(struct provider *p, struct rwf_bytes bytes)
{
    struct rwf_msg msg;

    if (rwf_msg_decode(bytes, &msg) != RWF_OK)
        return;
    if (p->is_broadcast) {
        if (msg.domain == RWF_DOMAIN_LOGIN && msg.msg_class == RWF_CLASS_REFRESH)
            publisher_begin(p);
        return;
    }
    world_trace(p->world, "provider %u hears class %u stream %d", p->number, msg.msg_class,
                msg.stream_id);
    switch (msg.msg_class) {
    case RWF_CLASS_REQUEST:
        if (msg.domain == RWF_DOMAIN_LOGIN)
            login_answer(p, msg.stream_id);
        else if (msg.domain == RWF_DOMAIN_SOURCE)
            directory_say(p);
        else
            request_asked(p, &msg);
        break;
    case RWF_CLASS_CLOSE:
        close_asked(p, msg.stream_id);
        break;
    case RWF_CLASS_POST:
        post_asked(p, &msg);
        break;
    case RWF_CLASS_GENERIC:
        p->world->coverage->generics++;
        break;
    default:
        break;
    }
}

void provider_heard(struct world *world, struct event *event)
{
    struct provider *p = &world->outside->providers[event->a];

    if (p->epoch == event->c && p->is_connected && world->now_ns < p->silent_until_ns) {
        event->at_ns = p->silent_until_ns;
        world_push(world, event);
        return;
    }
    if (p->epoch == event->c && p->is_connected)
        heard(p, rwf_bytes(event->entry.blob->bytes, event->entry.blob->length));
    blob_give(event->entry.blob);
}

/* ---- its src_dist's turn ---- */

static void answered(struct provider *p, const struct word *word)
{
    if (word->item_plus && is_item(p->world, word->item_plus - 1))
        p->asked_ns[word->item_plus - 1] = 0;
    for (uint32_t i = 0; word->ask && i < PROVIDER_ASKS; i++) {
        if (p->asks[i].id == word->ask)
            p->asks[i].id = 0;
    }
}

/* False: the backbone takes no more now. */
static bool word_give(struct world *world, struct provider *p, struct word word)
{
    struct proc *proc = proc_of(p);

    if (!word.blob) {
        queue_pop(&p->words);
        end(p);
        srcdist_provider_gone(proc->srcdist, world->now_ns, p->id);
        come_again(p, 3 * SEC);
        return true;
    }
    uint64_t at_ns[1] = { 0 };
    if (word.item_plus && is_item(world, word.item_plus - 1)) {
        at_ns[0] = p->asked_ns[word.item_plus - 1];
        answered(p, &word); /* the core may ask the next one at once */
    } else {
        answered(p, &word);
    }
    int err = srcdist_provider_message(proc->srcdist, world->now_ns, p->id,
                                       rwf_bytes(word.blob->bytes, word.blob->length));
    if (err == MD_ERR_FULL) {
        if (at_ns[0])
            p->asked_ns[word.item_plus - 1] = at_ns[0];
        return false;
    }
    if (err != MD_OK)
        world_fail(world, "R22", "source %u cannot read its provider: %s", proc->number,
                   md_err_name(err));
    queue_pop(&p->words);
    blob_give(word.blob);
    return true;
}

uint64_t providers_turn(struct world *world, struct proc *proc)
{
    uint64_t due = RRMP_NEVER;

    for (uint32_t i = 0; i < world->outside->provider_count; i++) {
        struct provider *p = &world->outside->providers[i];
        const struct word *word;

        if (p->proc != proc->number)
            continue;
        while (p->is_connected && (word = queue_head(&p->words))) {
            if (!word_give(world, p, *word)) {
                due = world->now_ns + 1 * MS;
                world->outside->trouble_ns = world->now_ns;
                break;
            }
        }
    }
    return due;
}

void provider_connect(struct world *world, uint32_t number, uint32_t epoch)
{
    struct provider *p = &world->outside->providers[number];
    struct proc *proc = proc_of(p);

    if (p->epoch != epoch || p->is_connected || !proc->is_alive)
        return;
    if (world->now_ns < proc->hung_until_ns) { /* it accepts nobody now */
        world_schedule(world, proc->hung_until_ns + 1 * MS, EVENT_PROVIDER_UP, number, epoch);
        return;
    }
    p->is_connected = true;
    for (uint32_t i = 0; i < world->plan.item_count && p->was_here; i++)
        p->numbered_from[i] = world->items[i].counter - 1;
    p->was_here = true;
    for (uint32_t i = 0; i < SERVICES_MAX; i++)
        p->service_up[i] = true;
    p->jammed_until_ns = p->refuses_until_ns = 0;
    p->supports_post = number % 3 != 2;
    int err = srcdist_provider_add(proc->srcdist, world->now_ns,
                                   p->is_broadcast ? SRCDIST_NON_INTERACTIVE : SRCDIST_INTERACTIVE,
                                   p->rank, "model", &provider_link, p, &p->id);
    if (err != MD_OK) {
        world_fail(world, "R6", "source %u has no place for a provider", proc->number);
        return;
    }
    if (p->is_broadcast)
        publisher_login(p);
    proc_soon(world, proc, world->now_ns);
}

void providers_start(struct world *world, struct proc *proc)
{
    for (uint32_t i = 0; i < world->outside->provider_count; i++) {
        struct provider *p = &world->outside->providers[i];
        if (p->proc == proc->number)
            come_again(p, 50 * MS);
    }
}

/* The src_dist is dead. */
void providers_lost(struct world *world, struct proc *proc)
{
    for (uint32_t i = 0; i < world->outside->provider_count; i++) {
        struct provider *p = &world->outside->providers[i];
        if (p->proc == proc->number)
            end(p);
    }
}

/* ---- faults ---- */

static void better_later(struct provider *p, uint32_t what, uint64_t most_ns)
{
    struct world *world = world_of(p);
    struct event event = { .at_ns = world->now_ns + random_below(world, most_ns),
                           .kind = EVENT_BETTER,
                           .a = p->number,
                           .b = what,
                           .c = (uint64_t)p->down_count[what & 15] << 32 | p->epoch };

    world_push(world, &event);
}

#define WHAT_GROUP 0x100u

void provider_better(struct world *world, const struct event *event)
{
    struct provider *p = &world->outside->providers[event->a];

    if (p->epoch != (uint32_t)event->c || !p->is_ready)
        return;
    /* A group is not well again when its service has been down meanwhile. */
    if (event->b & WHAT_GROUP && p->down_count[event->b & 15] != event->c >> 32)
        return;
    if (event->b & WHAT_GROUP)
        group_say(p, event->b & 15, event->b >> 4 & 15, true);
    else
        service_say(p, event->b, true);
}

static bool happens(struct world *world, uint32_t expected, uint32_t ticks)
{
    return world_chance(world, expected * 1000000 / ticks);
}

static void item_end(struct provider *p)
{
    struct world *world = world_of(p);
    uint32_t item = md_prng_below(&world->random, world->plan.item_count);
    bool is_for_now = md_prng_below(&world->random, 2);

    if (p->ids[item] == 0 || p->is_parting[item])
        return;
    world->coverage->item_ends++;
    status_say(p, p->ids[item], is_for_now ? RWF_STREAM_CLOSED_RECOVER : RWF_STREAM_CLOSED,
               RWF_CODE_NONE, false, 0, 0);
    p->ids[item] = 0;
}

static void group_fault(struct provider *p)
{
    struct world *world = world_of(p);
    uint32_t service = p->is_broadcast ? SERVICES_MAX - 1
                                       : md_prng_below(&world->random, world->plan.service_count);
    uint32_t group = 1 + md_prng_below(&world->random, 3);

    if (!p->service_up[service])
        return;
    world->coverage->group_states++;
    group_say(p, service, (uint8_t)group, false);
    better_later(p, WHAT_GROUP | group << 4 | service, 300 * MS);
}

/* One item is from now on in another group, or under other permission data: all its providers say
 * so by an image. Of every other guarded item only the updates are: theirs are for them alone. */
static void item_changes(struct world *world, bool is_group)
{
    uint32_t item = md_prng_below(&world->random, world->plan.item_count);
    struct world_item *it = &world->items[item];

    if (is_group) {
        it->group = (uint8_t)(1 + md_prng_below(&world->random, 3));
        world->coverage->group_moves++;
    } else if (GUARDED(item)) {
        it->permission = !it->permission;
        world->coverage->permission_changes++;
    }
    bool has_image = is_group || item % 8 == 2;
    for (uint32_t i = 0; i < world->outside->provider_count; i++) {
        struct provider *p = &world->outside->providers[i];
        if (p->ids[item] && !p->is_parting[item] && has_image)
            image_start(p, item, false);
        else if (p->ids[item] && has_image)
            p->is_asked_again[item] = true;
    }
}

void providers_faults(struct world *world, uint32_t ticks)
{
    const struct core_plan *plan = &world->plan.core;
    struct outside *outside = world->outside;
    uint32_t at = md_prng_below(&world->random, outside->provider_count);
    struct provider *p = &outside->providers[at];
    uint64_t busy_left = world->calm_ns - world->now_ns;
    uint32_t service = md_prng_below(&world->random, world->plan.service_count);

    if (happens(world, world->plan.provider_losses, ticks))
        provider_lose(world, p, md_prng_below(&world->random, 2) ? 1 : 2 * SEC);
    if (happens(world, plan->silences, ticks) && world->now_ns > p->silent_until_ns) {
        uint64_t time = 50 * MS + random_below(world, 3 * SEC);
        world->coverage->silences++;
        p->silent_until_ns = world->now_ns + (time < busy_left ? time : busy_left);
        outside->trouble_ns = p->silent_until_ns;
    }
    if (happens(world, plan->jams, ticks)) {
        uint64_t time = random_below(world, 300 * MS);
        world->coverage->jams++;
        p->jammed_until_ns = world->now_ns + (time < busy_left ? time : busy_left);
    }
    if (happens(world, plan->refusals, ticks))
        p->refuses_until_ns = world->now_ns + random_below(world, busy_left + 1);
    if (happens(world, plan->service_downs, ticks) && p->is_ready && !p->is_broadcast) {
        world->coverage->service_downs++;
        p->down_count[service]++;
        service_say(p, service, false);
        better_later(p, service, 2 * SEC);
    }
    if (happens(world, plan->item_ends * 4, ticks))
        item_end(p);
    if (happens(world, world->plan.group_changes_per_s * 4, ticks) && p->is_ready)
        group_fault(p);
    if (happens(world, plan->group_moves * 4, ticks))
        item_changes(world, true);
    if (happens(world, plan->permission_changes * 4, ticks))
        item_changes(world, false);
    if (md_prng_below(&world->random, 50) == 0) {
        uint32_t item = md_prng_below(&world->random, world->plan.item_count);
        if (p->ids[item] && !p->is_parting[item])
            generic_say(p, item);
    }
}

void providers_calm(struct world *world)
{
    for (uint32_t i = 0; i < world->outside->provider_count; i++) {
        struct provider *p = &world->outside->providers[i];
        p->jammed_until_ns = p->refuses_until_ns = p->rejects_until_ns = 0;
        if (p->is_ready && !p->is_broadcast) {
            for (uint32_t s = 0; s < world->plan.service_count; s++)
                service_say(p, s, true);
        }
    }
}

static bool is_watched(const struct world *world, uint32_t item)
{
    for (uint32_t c = 0; c < world->outside->consumer_count; c++) {
        for (uint32_t s = 0; s < STREAMS_MAX; s++) {
            const struct stream *stream = &world->outside->consumers[c].streams[s];
            if (stream->kind == STREAM_PRIVATE && stream->item == item)
                return true;
        }
    }
    return false;
}

/* R6: what is open at a provider is wanted by somebody. */
void providers_check_end(struct world *world)
{
    for (uint32_t i = 0; i < world->outside->provider_count; i++) {
        struct provider *p = &world->outside->providers[i];

        if (!p->is_connected || !p->is_ready)
            world_fail(world, "R5", "provider %u has no connection at the end", i);
        if (queue_head(&p->words))
            world_fail(world, "R13", "words of provider %u lie unread", i);
        for (uint32_t k = 0; k < PROVIDER_PRIVATES; k++) {
            if (p->privates[k].id && !is_watched(world, p->privates[k].item))
                world_fail(world, "R6", "provider %u has private stream %x of nobody", i,
                           p->privates[k].item);
        }
    }
}
