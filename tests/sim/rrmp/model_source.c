/* model_source.c - a src_dist in small: a provider behind, the source engine in front. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/err.h"
#include "world.h"

#define OPEN_OK      (1 << 3 | 1)
#define OPEN_SUSPECT (1 << 3 | 2)
#define CLOSED       (4 << 3 | 2)
#define FEED_DELAY   (5 * MS)

static void source_events(struct world *world, struct proc *proc);

/* The bytes of a message: what it is, then filler that is a function of item and counter. */
uint32_t message_put(uint8_t *out, uint8_t kind, uint32_t item, uint32_t counter, uint16_t part,
                     uint16_t parts)
{
    uint64_t state = (uint64_t)item << 32 | counter;
    uint32_t length = 14 + (item * 7 + counter * 3) % 40;

    out[0] = kind;
    md_put_be32(out + 1, item);
    md_put_be32(out + 5, counter);
    md_put_be16(out + 9, part);
    md_put_be16(out + 11, parts);
    for (uint32_t i = 13; i < length; i++)
        out[i] = (uint8_t)md_splitmix64(&state);
    return length;
}

/* ---- services ---- */

static void describe(struct world *world, struct proc *proc, uint16_t service, bool is_up,
                     uint16_t *svc, bool is_new)
{
    uint8_t name[8] = "SVC0";
    uint8_t tlvs[64];
    struct md_wr wr = md_wr_init(tlvs, sizeof(tlvs));
    static const uint8_t capabilities[] = { 5, 6, 7 };
    static const uint8_t quality[5] = { 1 << 4 | 1, 0, 0, 0, 0 };
    static const uint8_t dictionary[] = { 6, 'R', 'W', 'F', 'F', 'l', 'd', 1, '1' };

    name[3] = (uint8_t)('0' + service);
    rrmp_tlv_put(&wr, RRMP_TLV_CAPABILITIES, capabilities, sizeof(capabilities));
    rrmp_tlv_put(&wr, RRMP_TLV_QOS, quality, sizeof(quality));
    rrmp_tlv_put(&wr, RRMP_TLV_DICT_PROVIDED, dictionary, sizeof(dictionary));
    struct rrmp_service description = {
        .state = is_up ? RRMP_SERVICE_UP | RRMP_SERVICE_ACCEPTING : 0,
        .image_from = world->plan.source_cache,
        .features = RRMP_FEATURE_POSTS | RRMP_FEATURE_PRIVATE | RRMP_FEATURE_GENERIC,
        .tlv_count = 3,
        .name = { .bytes = name, .length = 4 },
        .tlvs = { .bytes = tlvs, .length = md_wr_length(&wr) },
    };
    int err = is_new
                  ? rrmp_source_service_offer(proc->own_source, world->now_ns, &description, svc)
                  : rrmp_source_service_change(proc->own_source, world->now_ns, *svc, &description);
    if (err)
        world_fail(world, "model", "service: %s", md_err_name(err));
}

static void start(struct world *world, struct proc *proc)
{
    char name[32];
    struct rrmp_source_config config = {
        .name = name,
        .send = proc_send(world, proc),
        .random = md_prng_u64(&world->random),
        .item_limit = 4096,
        .gap_log = world->plan.gap_log,
        .handle_limit = world->plan.handle_limit,
        .handle_rest_ns = world->plan.handle_rest_ns,
        .linger.close_ns = world->plan.close_linger_ns,
        .unicast_images = world->plan.unicast_images,
    };

    snprintf(name, sizeof(name), "host%u.src_dist.%u", proc->node, proc->number);
    proc->upstream = calloc(ITEMS_MAX, sizeof(*proc->upstream));
    if (rrmp_source_create(&config, &proc->own_source) != 0 || !proc->upstream)
        abort();
    proc->source = proc->own_source;
    queue_init(&proc->feeds, sizeof(struct feed));
    for (uint32_t i = 0; i < ITEMS_MAX; i++)
        proc->upstream[i].item = RRMP_ITEM_NONE;
    proc->is_provider_up = true;
    proc->epoch = 1;
    for (uint32_t service = 0; service < world->plan.service_count; service++)
        describe(world, proc, (uint16_t)service, true, &proc->svc[service], true);
}

/* ---- the provider ---- */

void source_feed_put(struct world *world, struct proc *proc, struct feed feed)
{
    uint64_t at = world->now_ns + md_prng_below(&world->random, FEED_DELAY);
    struct event event = { .kind = EVENT_FEED, .a = proc->number };

    if (at <= proc->last_feed_ns)
        at = proc->last_feed_ns + 1;
    proc->last_feed_ns = at;
    feed.epoch = proc->epoch;
    event.at_ns = at;
    event.feed = feed;
    event.c = proc->port; /* a restarted process reads nothing of the old one's */
    world_push(world, &event);
}

static void ask_provider(struct world *world, struct proc *proc, uint32_t number)
{
    struct upstream *up = &proc->upstream[number];
    const struct world_item *item = &world->items[number];

    if (up->is_asked)
        return;
    up->is_asked = up->is_open = up->is_sending = true;
    if (item->is_refused) {
        source_feed_put(world, proc, (struct feed){ .kind = FEED_CLOSED, .item = number });
        return;
    }
    for (uint16_t part = 0; part < item->parts; part++)
        source_feed_put(world, proc,
                        (struct feed){ .kind = FEED_REFRESH,
                                       .item = number,
                                       .counter = item->counter,
                                       .part = part,
                                       .parts = item->parts });
}

/* The world has moved: every provider stream that is open hears of it. */
void source_update(struct world *world, uint32_t number)
{
    bool is_news = md_prng_below(&world->random, 50) == 0;

    for (uint32_t p = 0; p < world->proc_count; p++) {
        struct proc *proc = &world->procs[p];
        if (!proc->is_alive || !proc->is_source || !proc->is_provider_up ||
            !proc->upstream[number].is_sending)
            continue;
        source_feed_put(world, proc,
                        (struct feed){ .kind = is_news ? FEED_NEWS : FEED_UPDATE,
                                       .item = number,
                                       .counter = world->items[number].counter,
                                       .parts = 1 });
    }
}

void source_provider(struct world *world, struct proc *proc, bool is_up)
{
    proc->epoch++;
    for (uint32_t i = 0; i < ITEMS_MAX; i++)
        proc->upstream[i].is_sending = false;
    source_feed_put(world, proc, (struct feed){ .kind = is_up ? FEED_UP : FEED_DOWN });
    proc->is_provider_up = is_up;
    if (!is_up)
        world->coverage->provider_losses++;
}

static void all_say(struct world *world, struct proc *proc, uint8_t state, bool is_up)
{
    for (uint32_t s = 0; s < world->plan.service_count; s++) {
        const struct rrmp_svcstate status = {
            .state = state,
            .service_state = is_up ? RRMP_SERVICE_UP | RRMP_SERVICE_ACCEPTING : 0,
            .has_status = 1,
            .code = CODE_STAYS,
            .stays = true,
        };
        rrmp_source_service_status(proc->own_source, proc->svc[s], &status);
        describe(world, proc, (uint16_t)s, is_up, &proc->svc[s], false);
    }
}

static void provider_down(struct world *world, struct proc *proc)
{
    for (uint32_t i = 0; i < world->plan.item_count; i++) {
        struct upstream *up = &proc->upstream[i];
        if (up->is_open && up->item != RRMP_ITEM_NONE)
            rrmp_source_image_abort(proc->own_source, up->item);
        up->is_open = up->is_asked = up->is_cached = false;
        up->is_image_due = true;
    }
    proc->image.is_open = false;
    all_say(world, proc, OPEN_SUSPECT, false);
}

static void provider_up(struct world *world, struct proc *proc)
{
    all_say(world, proc, OPEN_SUSPECT, true);
    for (uint32_t i = 0; i < world->plan.item_count; i++) {
        if (proc->upstream[i].item != RRMP_ITEM_NONE)
            ask_provider(world, proc, i);
    }
}

/* ---- publishing ---- */

/* Write one part; MD_ERR_FULL: come again. */
static int part_write(struct world *world, struct proc *proc, uint32_t number, uint32_t counter,
                      uint16_t part, uint16_t parts, bool is_cached, bool is_solicited)
{
    struct upstream *up = &proc->upstream[number];
    uint8_t bytes[128];
    uint8_t *room;
    uint32_t length = message_put(bytes, 'R', number, counter, part, parts);
    const struct rrmp_part said = { .is_first = part == 0,
                                    .is_last = part + 1 == parts,
                                    .is_cached = is_cached,
                                    .is_solicited = is_solicited,
                                    .state = OPEN_OK,
                                    .group = (uint16_t)(number % 4) };

    if (up->item == RRMP_ITEM_NONE)
        return MD_ERR_STATE;
    int err =
        rrmp_source_image_begin(proc->own_source, world->now_ns, up->item, &said, length, &room);
    world_trace(world, "source %u item %u image part %u of %u at %u: %s", proc->number, number,
                part, parts, counter, md_err_name(err));
    if (err)
        return err;
    memcpy(room, bytes, length);
    rrmp_source_publish_commit(proc->own_source, length);
    return MD_OK;
}

/* The image under way from the cache, as far as the ring takes it. */
static bool image_go_on(struct world *world, struct proc *proc)
{
    while (proc->image.is_open) {
        int err = part_write(world, proc, proc->image.item, proc->image.counter, proc->image.part,
                             proc->image.parts, true, proc->image.is_solicited);
        if (err == MD_ERR_FULL && md_prng_below(&world->random, 4) == 0) {
            proc->image.is_open = false;
            rrmp_source_image_abort(proc->own_source, proc->upstream[proc->image.item].item);
            return false;
        }
        if (err == MD_ERR_FULL)
            return false;
        if (++proc->image.part == proc->image.parts)
            proc->image.is_open = false;
    }
    return true;
}

static void image_from_cache(struct world *world, struct proc *proc, uint32_t number)
{
    proc->image.is_open = true;
    proc->image.is_solicited = true;
    proc->image.item = number;
    proc->image.counter = proc->upstream[number].counter;
    proc->image.part = 0;
    proc->image.parts = world->items[number].parts;
    image_go_on(world, proc);
}

static int status_write(struct proc *proc, uint32_t number, uint8_t state)
{
    uint8_t bytes[128];
    uint8_t *room;
    uint32_t length = message_put(bytes, 'S', number, state, 0, 0);
    int err = rrmp_source_publish_begin(proc->own_source, proc->upstream[number].item, RRMP_STATUS,
                                        length, &room);

    if (err)
        return err;
    memcpy(room, bytes, length);
    rrmp_source_publish_commit(proc->own_source, length);
    return MD_OK;
}

static int update_write(struct proc *proc, const struct feed *feed)
{
    uint8_t bytes[128];
    uint8_t *room;
    uint32_t length = message_put(bytes, 'U', feed->item, feed->counter, 0, 0);
    int err = rrmp_source_publish_begin(proc->own_source, proc->upstream[feed->item].item,
                                        RRMP_UPDATE, length, &room);

    if (err)
        return err;
    memcpy(room, bytes, length);
    rrmp_source_publish_commit(proc->own_source, length);
    return MD_OK;
}

static void item_closed(struct world *world, struct proc *proc, uint32_t number)
{
    struct upstream *up = &proc->upstream[number];
    uint8_t bytes[128];
    uint32_t length = message_put(bytes, 'C', number, CLOSED, 0, 0);
    const struct rrmp_ending ending = { .state = CLOSED,
                                        .code = 1,
                                        .scope = RRMP_REFUSE_FINAL,
                                        .message = { .bytes = bytes, .length = length } };

    if (up->item != RRMP_ITEM_NONE)
        rrmp_source_item_close(proc->own_source, world->now_ns, up->item, &ending);
    *up = (struct upstream){ .item = RRMP_ITEM_NONE };
}

/* One word of the provider; false: the ring is full, the provider waits. */
static bool feed_take(struct world *world, struct proc *proc, const struct feed *feed)
{
    struct upstream *up = &proc->upstream[feed->item];
    bool is_first = feed->part == 0;
    bool is_last = feed->part + 1 >= feed->parts;
    int err;

    switch (feed->kind) {
    case FEED_DOWN:
        provider_down(world, proc);
        return true;
    case FEED_UP:
        provider_up(world, proc);
        return true;
    case FEED_CLOSED:
        if (feed->epoch == proc->epoch && up->is_open)
            item_closed(world, proc, feed->item);
        return true;
    case FEED_GROUP: {
        const struct rrmp_group suspect = { .group = (uint16_t)feed->item,
                                            .merged_into = RRMP_GROUP_NONE,
                                            .state = feed->counter ? OPEN_OK : OPEN_SUSPECT };
        rrmp_source_group_status(proc->own_source, proc->svc[0], &suspect);
        return true;
    }
    case FEED_UPDATE:
        if (feed->epoch != proc->epoch || !up->is_open)
            return true;
        err = update_write(proc, feed);
        if (err == MD_ERR_FULL)
            return false;
        up->counter = feed->counter;
        return true;
    case FEED_NEWS:
        if (feed->epoch != proc->epoch || !up->is_open)
            return true;
        if (up->is_asked)
            err = update_write(proc, feed); /* its image is between its parts: keep it simple */
        else
            err = part_write(world, proc, feed->item, feed->counter, 0, 1, false, false);
        if (err == MD_ERR_FULL)
            return false;
        up->counter = feed->counter;
        return true;
    case FEED_REFRESH:
        if (feed->epoch != proc->epoch || !up->is_open)
            return true;
        /* After the provider was lost the image is news to everybody. */
        err = part_write(world, proc, feed->item, feed->counter, feed->part, feed->parts, false,
                         !up->is_image_due);
        if (err == MD_ERR_FULL)
            return false;
        if (is_first)
            up->counter = feed->counter;
        if (is_last) {
            up->is_asked = up->is_image_due = false;
            up->is_cached = true;
        }
        return true;
    }
    return true;
}

static void feeds_take(struct world *world, struct proc *proc)
{
    struct feed *feed;

    if (!image_go_on(world, proc))
        return;
    while ((feed = queue_head(&proc->feeds))) {
        struct feed copy = *feed;
        if (!feed_take(world, proc, &copy))
            return;
        queue_pop(&proc->feeds);
        source_events(world, proc);
        if (proc->image.is_open)
            return;
    }
}

/* ---- what requesters want ---- */

static uint32_t item_of(const struct world *world, const struct rrmp_view *key)
{
    for (uint32_t i = 0; i < world->plan.item_count; i++) {
        if (world->items[i].key_length == key->length &&
            memcmp(world->items[i].key, key->bytes, key->length) == 0)
            return i;
    }
    return ITEMS_MAX;
}

/* A private stream: its name says whose it is, its numbers begin with 1. */
static bool private_wanted(struct world *world, struct proc *proc,
                           const struct rrmp_source_event *event)
{
    const struct rrmp_part part = { .is_first = true, .is_last = true, .state = OPEN_OK };
    uint8_t bytes[128];
    uint8_t *room;
    struct rrmp_key key;

    if (rrmp_key_decode(event->key.bytes, event->key.length, &key) != 0 || key.name.length != 5)
        return false;
    for (uint32_t i = 0; i < PRIVATES_MAX; i++) {
        if (proc->privates[i].is_open)
            continue;
        uint32_t number = PRIVATE | md_be32(key.name.bytes + 1);
        uint32_t length = message_put(bytes, 'R', number, 1, 0, 1);
        if (rrmp_source_image_begin(proc->own_source, world->now_ns, event->item, &part, length,
                                    &room) != 0)
            return false;
        memcpy(room, bytes, length);
        rrmp_source_publish_commit(proc->own_source, length);
        proc->privates[i].is_open = true;
        proc->privates[i].item = event->item;
        proc->privates[i].number = number;
        proc->privates[i].counter = 1;
        return true;
    }
    return false;
}

void source_privates(struct world *world, struct proc *proc)
{
    uint32_t i = md_prng_below(&world->random, PRIVATES_MAX);
    uint8_t bytes[128];
    uint8_t *room;

    if (!proc->is_source || !proc->is_alive || world->now_ns < proc->hung_until_ns ||
        !proc->privates[i].is_open)
        return;
    uint32_t length =
        message_put(bytes, 'U', proc->privates[i].number, proc->privates[i].counter + 1, 0, 0);
    if (rrmp_source_publish_begin(proc->own_source, proc->privates[i].item, RRMP_UPDATE, length,
                                  &room) != 0)
        return;
    memcpy(room, bytes, length);
    rrmp_source_publish_commit(proc->own_source, length);
    proc->privates[i].counter++;
}

static void wanted(struct world *world, struct proc *proc, const struct rrmp_source_event *event)
{
    uint32_t number = item_of(world, &event->key);

    if (event->is_private && private_wanted(world, proc, event))
        return;
    if (number < ITEMS_MAX && proc->svc[world->items[number].service] != event->svc)
        number = ITEMS_MAX; /* a hostile request: another service has no such item */
    if (number == ITEMS_MAX && !event->is_private && world->follow.is_on &&
        !world->plan.hostile_per_s)
        world_fail(world, "R25", "source %u opens an item of followers alone", proc->number);
    if (number == ITEMS_MAX || event->is_private) {
        const struct rrmp_ending ending = { .state = CLOSED, .code = 1 };
        rrmp_source_item_close(proc->own_source, world->now_ns, event->item, &ending);
        return;
    }
    struct upstream *up = &proc->upstream[number];
    if (up->item != RRMP_ITEM_NONE || up->is_open)
        world_fail(world, "R7", "item %u is opened twice at source %u", number, proc->number);
    up->item = event->item;
    up->is_image_due = false;
    if (proc->is_provider_up)
        ask_provider(world, proc, number);
    else
        status_write(proc, number, OPEN_SUSPECT);
}

static void image_wanted(struct world *world, struct proc *proc, uint32_t number)
{
    struct upstream *up = &proc->upstream[number];

    if (!proc->is_provider_up)
        status_write(proc, number, OPEN_SUSPECT);
    else if (world->plan.source_cache && up->is_cached && !up->is_asked && !proc->image.is_open)
        image_from_cache(world, proc, number);
    else
        ask_provider(world, proc, number);
}

static void snapshot(struct world *world, struct proc *proc, const struct rrmp_source_event *event)
{
    const struct rrmp_ending ending = { .state = CLOSED, .code = 1, .scope = RRMP_REFUSE_FINAL };
    uint32_t number = item_of(world, &event->key);
    uint8_t bytes[128];
    uint8_t *room;

    if (number == ITEMS_MAX || world->items[number].is_refused) {
        rrmp_source_refuse(proc->own_source, event->ask, &ending);
        return;
    }
    for (uint16_t part = 0; part < world->items[number].parts; part++) {
        const struct rrmp_part said = { .is_last = part + 1 == world->items[number].parts,
                                        .is_cached = true,
                                        .state = OPEN_OK };
        uint32_t length = message_put(bytes, 'R', number, world->items[number].counter, part,
                                      world->items[number].parts);
        if (rrmp_source_snapshot_begin(proc->own_source, event->ask, &said, length, &room) != 0) {
            const struct rrmp_ending later = { .scope = RRMP_REFUSE_LATER, .wait_ms = 100 };
            rrmp_source_refuse(proc->own_source, event->ask, &later);
            return;
        }
        memcpy(room, bytes, length);
        rrmp_source_publish_commit(proc->own_source, length);
    }
}

static void post(struct world *world, struct proc *proc, const struct rrmp_source_event *event)
{
    uint8_t *room;

    world->coverage->posts++;
    if (!event->flag || event->message.length > 100)
        return;
    if (rrmp_source_ack_begin(proc->own_source, &event->reply, event->message.length, &room) != 0)
        return;
    memcpy(room, event->message.bytes, event->message.length);
    rrmp_source_publish_commit(proc->own_source, event->message.length);
}

static void dictionary(struct proc *proc, const struct rrmp_source_event *event)
{
    static const struct rrmp_view version = { .bytes = (const uint8_t *)"1", .length = 1 };
    uint8_t *room;

    for (int part = 0; part < 2; part++) {
        if (rrmp_source_dictionary_begin(proc->own_source, event->ask, part ? RRMP_DICT_LAST : 0,
                                         event->key, version, 10, &room) != 0) {
            const struct rrmp_ending later = { .scope = RRMP_REFUSE_LATER };
            rrmp_source_refuse(proc->own_source, event->ask, &later); /* he asks again */
            return;
        }
        memset(room, 'D', 10);
        rrmp_source_publish_commit(proc->own_source, 10);
    }
}

/* What the engine's item is here: an item, or a private stream. */
static uint32_t number_of(const struct proc *proc, uint32_t item)
{
    for (uint32_t i = 0; i < PRIVATES_MAX; i++) {
        if (proc->privates[i].is_open && proc->privates[i].item == item)
            return PRIVATE | i;
    }
    for (uint32_t number = 0; number < ITEMS_MAX && item != RRMP_ITEM_NONE; number++) {
        if (proc->upstream[number].item == item)
            return number;
    }
    return 0;
}

static void source_events(struct world *world, struct proc *proc)
{
    struct rrmp_source_event events[16];
    size_t count;

    while ((count = rrmp_source_event(proc->own_source, events, 16)) > 0) {
        for (size_t i = 0; i < count; i++) {
            const struct rrmp_source_event *event = &events[i];
            uint32_t number = number_of(proc, event->item);
            world_trace(world, "source %u item %u event %u flag %d", proc->number, number,
                        event->kind, event->flag);
            switch (event->kind) {
            case RRMP_SOURCE_WANTED:
                wanted(world, proc, event);
                break;
            case RRMP_SOURCE_UNWANTED:
                if (event->is_private) {
                    proc->privates[number % PRIVATES_MAX].is_open = false;
                    break;
                }
                if (proc->image.is_open && proc->image.item == number)
                    proc->image.is_open = false;
                proc->upstream[number] = (struct upstream){ .item = RRMP_ITEM_NONE };
                break;
            case RRMP_SOURCE_IMAGE_WANTED:
                image_wanted(world, proc, number);
                break;
            case RRMP_SOURCE_SNAPSHOT:
                snapshot(world, proc, event);
                break;
            case RRMP_SOURCE_POST:
                post(world, proc, event);
                break;
            case RRMP_SOURCE_DICTIONARY:
                dictionary(proc, event);
                break;
            case RRMP_SOURCE_RESUME: /* a hostile one: no model asks for it */
                rrmp_source_resume_refuse(proc->own_source, event->item, &event->reply);
                break;
            case RRMP_SOURCE_PRIORITY:
            case RRMP_SOURCE_ACTIVE:
            case RRMP_SOURCE_ASK_GONE:
                break;
            case RRMP_SOURCE_GENERIC:
                world->coverage->generics++;
                break;
            }
        }
    }
}

/* ---- the process ---- */

static void input(struct world *world, struct proc *proc, const struct backbone_event *events,
                  size_t count)
{
    size_t done = 0;

    while (done < count && world->failure[0] == 0) {
        done += rrmp_source_input(proc->own_source, world->now_ns, events + done, count - done);
        source_events(world, proc);
    }
}

static void turn(struct world *world, struct proc *proc)
{
    feeds_take(world, proc);
    rrmp_source_tick(proc->own_source, world->now_ns, true);
    source_events(world, proc);
    uint64_t due = rrmp_source_deadline(proc->own_source);
    if (proc->image.is_open || queue_head(&proc->feeds))
        due = due < world->now_ns + 1 * MS ? due : world->now_ns + 1 * MS;
    proc_soon(world, proc, due > world->now_ns ? due : world->now_ns + 1000);
}

static void fini(struct world *world, struct proc *proc)
{
    (void)world;
    queue_fini(&proc->feeds);
    rrmp_source_destroy(proc->own_source);
    free(proc->upstream);
    proc->upstream = NULL;
}

const struct proc_ops model_source_ops = { start, input, turn, fini, NULL };
