/* source.c - see rrmp/source.h: life of the engine, its input, its events, its services. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rrmp/source.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/err.h"
#include "state.h"

#include "source_impl.h"

#define MS               1000000ull
#define SEC              1000000000ull

#define STANDBY_ITEMS    64u /* looked at in a turn */
#define STANDBY_NS       (180 * SEC)

#define SERVICE_RESTS    16        /* indexes for each service that may be offered */
#define HANDLE_LIMIT_MAX 0xFFFFFEu /* 24 bits; the last one is part of "none" */

static void config_defaults(struct rrmp_source_config *config)
{
#define DEFAULT(name, value) config->name = config->name ? config->name : (value)
    DEFAULT(item_limit, SOURCE_ITEMS_MAX);
    DEFAULT(item_buckets, 4096u);
    DEFAULT(handle_limit, HANDLE_LIMIT_MAX);
    DEFAULT(requester_limit, SOURCE_REQUESTERS_MAX);
    DEFAULT(gap_log, 262144u);
    DEFAULT(service_limit, 256u);
    DEFAULT(ask_limit, 65536u);
    DEFAULT(heartbeat_ns, 1 * SEC);
    DEFAULT(linger.close_ns, 5 * SEC);
    DEFAULT(linger.orphan_ns, 10 * SEC);
    DEFAULT(linger.image_ns, 5 * MS);
    DEFAULT(handle_rest_ns, 60 * SEC);
    DEFAULT(requester_ns, 60 * SEC);
#undef DEFAULT
}

static bool config_is_good(const struct rrmp_source_config *config)
{
    return config->name && strlen(config->name) <= RRMP_NAME_MAX && config->send.reserve &&
           config->send.commit && config->send.fill && config->service_limit < RRMP_SVC_NONE &&
           config->requester_limit <= SOURCE_REQUESTERS_MAX &&
           (config->gap_log & (config->gap_log - 1)) == 0 && config->gap_log >= 2 &&
           config->gap_log <= 1u << 30 && config->item_limit <= SOURCE_ITEMS_MAX &&
           config->handle_limit <= HANDLE_LIMIT_MAX && config->ask_limit < MD_NIL;
}

/* A withdrawn service's index rests before another one has it: there are more than services. */
static uint32_t service_room(const struct rrmp_source_config *config)
{
    uint32_t room = RRMP_SVC_INDEXES;

    if (config->service_limit > room)
        room = config->service_limit;
    else if (config->service_limit < room / SERVICE_RESTS)
        room = config->service_limit * SERVICE_RESTS;
    return room;
}

static int tables_init(struct rrmp_source *source)
{
    const struct rrmp_source_config *config = &source->config;
    size_t *memory = &source->stats.memory_now;
    int err;

    source->service_room = service_room(config);
    source->services = calloc(source->service_room, sizeof(*source->services));
    source->events = malloc(SOURCE_EVENTS * sizeof(*source->events));
    source->name = strdup(config->name);
    source->handle_words = config->handle_limit / 64 + 1;
    source->handle_free = calloc(source->handle_words, sizeof(*source->handle_free));
    source->rest_size = 64;
    source->rest = malloc(source->rest_size * sizeof(*source->rest));
    if (!source->services || !source->events || !source->name || !source->handle_free ||
        !source->rest)
        return MD_ERR_NOMEM;
    *memory += sizeof(*source) + source->service_room * sizeof(*source->services) +
               SOURCE_EVENTS * sizeof(*source->events) +
               source->handle_words * sizeof(*source->handle_free) +
               source->rest_size * sizeof(*source->rest);
    /* Neither a private stream nor a lingering one is refused for want of an item. */
    if ((err = md_slots_init(&source->items, sizeof(struct source_item), config->item_limit,
                             memory)) ||
        (err = md_slots_init(&source->works, sizeof(struct source_work), config->item_limit,
                             memory)) ||
        (err = md_slots_init(&source->wides, sizeof(struct source_wide), config->item_limit,
                             memory)) ||
        (err = md_strings_init(&source->keys, config->item_limit, memory)) ||
        (err =
             md_slots_init(&source->asks, sizeof(struct source_ask), config->ask_limit, memory)) ||
        (err = md_slots_init(&source->requesters, sizeof(struct source_requester),
                             config->requester_limit, memory)) ||
        (err = md_slots_init(&source->handles, sizeof(struct source_handle), config->handle_limit,
                             memory)) ||
        (err = md_map_init(&source->item_map, config->item_buckets, memory)) ||
        (err = md_map_init(&source->requester_map, 64, memory)))
        return err;
    return rrmp_outbox_init(&source->outbox, &config->send, source->stats.records_out,
                            &source->stats.backbone_refused, memory);
}

int rrmp_source_create(const struct rrmp_source_config *config, struct rrmp_source **out)
{
    struct rrmp_source_config full = *config;

    *out = NULL;
    config_defaults(&full);
    if (!config_is_good(&full))
        return MD_ERR_RANGE;
    struct rrmp_source *source = calloc(1, sizeof(*source));
    if (!source)
        return MD_ERR_NOMEM;
    source->config = full;
    source->random = full.random;
    source->seed = md_splitmix64(&source->random);
    source->farewells.due_ns = RRMP_NEVER;
    for (int list = LIST_NEWS; list <= LIST_IMAGES; list++)
        source->list_head[list] = source->list_tail[list] = MD_NIL;
    source->gone_head = MD_NIL;
    source->ending = MD_NIL;
    int err = tables_init(source);
    if (err) {
        rrmp_source_destroy(source);
        return err;
    }
    source->config.name = source->name;
    md_wheel_init(&source->wheel, &source->works, offsetof(struct source_work, timer));
    *out = source;
    return MD_OK;
}

void rrmp_source_destroy(struct rrmp_source *source)
{
    if (!source)
        return;
    for (uint32_t n = 0; source->items.chunks && n < source->items.high; n++) {
        const struct source_item *item = source_item_at(source, n);
        if (item->in_use)
            md_strings_give(&source->keys, item->key, item->key_length);
    }
    for (uint32_t n = 0; source->asks.chunks && n < source->asks.high; n++) {
        struct source_ask *ask = source_ask_at(source, n);
        if (ask->kind != ASK_FREE)
            free(ask->key);
    }
    for (uint16_t svc = 0; source->services && svc < source->service_count; svc++) {
        free(source->services[svc].gap_log);
        free(source->services[svc].blob);
    }
    md_slots_fini(&source->items);
    md_slots_fini(&source->works);
    md_slots_fini(&source->wides);
    md_strings_fini(&source->keys);
    md_slots_fini(&source->asks);
    md_slots_fini(&source->requesters);
    md_slots_fini(&source->handles);
    md_map_fini(&source->item_map);
    md_map_fini(&source->requester_map);
    rrmp_outbox_fini(&source->outbox);
    free(source->services);
    free(source->events);
    free(source->name);
    free(source->handle_free);
    free(source->rest);
    source_farewells_forget(source);
    free(source);
}

/* ---- input ---- */

static void turn_begin(struct rrmp_source *source, uint64_t now_ns)
{
    source->now_ns = now_ns;
    source->image_budget = source->has_published ? SOURCE_IMAGE_BUSY : SOURCE_IMAGE_IDLE;
    source->has_published = false;
}

static void message_in(struct rrmp_source *source, uint64_t now_ns,
                       const struct backbone_event *message)
{
    struct rrmp_record record;

    if (message->length < RRMP_HEADER_SIZE)
        return;
    /* Cheap looks first: most of what passes is other instances' data. */
    uint8_t type = message->bytes[0];
    bool is_upward = type >= RRMP_REQUEST && type < RRMP_BIND;
    if (is_upward ? message->dst_port != source->port || source->session == 0
                  : type != RRMP_QUERY && type != RRMP_INSTANCE)
        return;
    if (rrmp_guard_ignores(&source->guard, now_ns, message->session, message->src_port))
        return;
    int err = rrmp_record_decode(message->bytes, message->length, &record);
    if (err) {
        source->stats.records_bad++;
        if (rrmp_guard_bad(&source->guard, now_ns, message->session, message->src_port))
            source->stats.senders_ignored++;
        return;
    }
    source->stats.records_in[type & 63]++;
    source_record_in(source, now_ns, message, &record);
}

static void all_gone(struct rrmp_source *source, uint64_t now_ns, uint64_t session, uint16_t port)
{
    for (uint32_t r = 0; r < source->requesters.high; r++) {
        const struct source_requester *who = source_requester_at(source, r);
        bool is_meant =
            session == 0 || (who->session == session && (port == 0 || who->port == port));
        if (who->in_use && is_meant)
            source_requester_gone(source, now_ns, r);
    }
}

static void private_end(struct rrmp_source *source, uint64_t now_ns, uint32_t number)
{
    const struct source_item *item = source_item_at(source, number);

    if (item->handle != RRMP_HANDLE_NONE)
        source_farewell_say(source, item);
    source_asks_drop_all(source, number);
    source_interest_clear(source, number, item->owner);
    source_item_settle(source, now_ns, number);
}

/* Something that requesters of `session` (0: of any) sent, or that was for them, is lost. It may
 * have been the CLOSE, or the last update, of a private stream, which no digest counts and nobody
 * says again: any loss ends them. */
static void privates_lost(struct rrmp_source *source, uint64_t now_ns, uint64_t session)
{
    for (uint32_t n = 0; source->private_count > 0 && n < source->items.high; n++) {
        const struct source_item *item = source_item_at(source, n);

        if (!item->in_use || !item->is_private || source_interest_count(source, item) == 0)
            continue;
        if (session == 0 || source_requester_at(source, item->owner)->session == session)
            private_end(source, now_ns, n);
    }
}

static void attached(struct rrmp_source *source, const struct backbone_event *notice)
{
    source->session = notice->session;
    source->port = notice->dst_port;
    source->beats_fast = 3;
    source->beat_due_ns = 0;
    for (uint16_t svc = 0; svc < source->service_count; svc++)
        source->services[svc].is_due = true;
}

static void notice_in(struct rrmp_source *source, uint64_t now_ns,
                      const struct backbone_event *notice)
{
    switch ((enum backbone_event_type)notice->type) {
    case BACKBONE_ATTACHED:
        attached(source, notice);
        break;
    case BACKBONE_DETACHED:
        source->session = 0;
        rrmp_outbox_clear(&source->outbox);
        all_gone(source, now_ns, 0, 0);
        source_farewells_forget(source);
        break;
    case BACKBONE_PEER_DOWN:
        all_gone(source, now_ns, notice->session, 0);
        break;
    case BACKBONE_USER_DOWN:
        source_user_ended(source, notice->session, notice->src_port);
        if (notice->src_port != 0)
            all_gone(source, now_ns, notice->session, notice->src_port);
        break;
    case BACKBONE_GAP:
        for (uint32_t r = 0; r < source->requesters.high; r++) {
            struct source_requester *who = source_requester_at(source, r);
            if (who->in_use && who->session == notice->session &&
                notice->reason == BACKBONE_GAP_UNICAST_RESET)
                who->after_reset = true;
        }
        if (notice->reason == BACKBONE_GAP_UNICAST_RESET)
            privates_lost(source, now_ns, notice->session);
        break;
    case BACKBONE_OVERRUN: /* requests may be lost: whoever sent them asks again */
        privates_lost(source, now_ns, 0);
        break;
    case BACKBONE_TX_DROPPED: /* it may have been an update of one, or its end */
        privates_lost(source, now_ns, notice->session);
        source_farewells_lost(source, notice->session);
        break;
    case BACKBONE_PEER_UP: /* he asks when he wants to know */
    case BACKBONE_MESSAGE:
    case BACKBONE_PEER_INFO:
    case BACKBONE_DENIED:
    case BACKBONE_TX_READY:
        break;
    }
    source_heartbeat(source, now_ns);
}

/* The number of messages taken, up to the first other event. */
static size_t messages_in(struct rrmp_source *source, uint64_t now_ns,
                          const struct backbone_event *events, size_t count)
{
    size_t i;

    for (i = 0; i < count && events[i].type == BACKBONE_MESSAGE; i++) {
        if (source->event_tail - source->event_head > SOURCE_EVENTS - SOURCE_EVENT_RESERVE)
            break;
        message_in(source, now_ns, &events[i]);
    }
    if (source->beat_wanted)
        source_heartbeat(source, now_ns);
    return i;
}

size_t rrmp_source_input(struct rrmp_source *source, uint64_t now_ns,
                         const struct backbone_event *events, size_t count)
{
    turn_begin(source, now_ns);
    source_ending_free(source);
    if (count == 0 || events[0].type == BACKBONE_MESSAGE)
        return messages_in(source, now_ns, events, count);
    notice_in(source, now_ns, &events[0]);
    return 1;
}

/* Requesters that send no SUM for a minute are gone, whatever the network says. */
static void requesters_check(struct rrmp_source *source, uint64_t now_ns)
{
    if (now_ns < source->requester_check_ns)
        return;
    source->requester_check_ns = now_ns + 1 * SEC;
    for (uint32_t r = 0; r < source->requesters.high; r++) {
        const struct source_requester *who = source_requester_at(source, r);
        if (who->in_use && now_ns - who->heard_ns > source->config.requester_ns)
            source_requester_gone(source, now_ns, r);
    }
}

/* Standby interest is in no sum; who still has it says so again within a minute. */
static void standby_check(struct rrmp_source *source, uint64_t now_ns)
{
    for (uint32_t i = 0; i < STANDBY_ITEMS && source->standby_item < source->items.high; i++) {
        uint32_t number = source->standby_item++;
        const struct source_item *item = source_item_at(source, number);
        if (!item->in_use || source_item_is_active(source, item) ||
            source_interest_count(source, item) == 0 ||
            source_was_requested_within(item, now_ns, STANDBY_NS))
            continue;
        for (uint32_t r = 0; r < source->requesters.high; r++)
            source_interest_clear(source, number, r);
        source_item_settle(source, now_ns, number);
    }
    if (source->standby_item >= source->items.high)
        source->standby_item = 0;
}

void rrmp_source_tick(struct rrmp_source *source, uint64_t now_ns, bool input_is_empty)
{
    uint32_t number;

    turn_begin(source, now_ns);
    source_ending_free(source);
    rrmp_outbox_flush(&source->outbox);
    source_binds_tick(source);
    source_heartbeat(source, now_ns);
    if (input_is_empty)
        requesters_check(source, now_ns);
    standby_check(source, now_ns);
    source_farewells_tick(source);
    while ((number = md_wheel_expire(&source->wheel, now_ns)) != MD_NIL) {
        const struct source_work *work = md_slots_at(&source->works, number);
        source_item_news(source, work->item, NEWS_UNWANTED);
    }
}

uint64_t rrmp_source_deadline(const struct rrmp_source *source)
{
    uint64_t deadline = md_wheel_deadline(&source->wheel);

    if (source->session == 0)
        return deadline;
    if (source->beat_due_ns < deadline)
        deadline = source->beat_due_ns;
    if (source->requesters.count > 0 && source->requester_check_ns < deadline)
        deadline = source->requester_check_ns;
    if (source->farewells.due_ns < deadline)
        deadline = source->farewells.due_ns;
    if (source->image_due_count > 0 || source->outbox.tail > 0 || source->beat_wanted ||
        source->binds_wait)
        deadline = deadline < source->now_ns + 1 * MS ? deadline : source->now_ns + 1 * MS;
    for (uint16_t svc = 0; svc < source->service_count; svc++) {
        if (source->services[svc].is_due && !source->services[svc].is_withdrawn &&
            source->now_ns + 10 * MS < deadline)
            deadline = source->now_ns + 10 * MS;
    }
    return deadline;
}

void rrmp_source_leave(struct rrmp_source *source, uint64_t now_ns)
{
    source->is_leaving = true;
    source->beat_sent_ns = 0;
    source->beat_wanted = true;
    source_heartbeat(source, now_ns);
}

const struct rrmp_source_stats *rrmp_source_stats(const struct rrmp_source *source)
{
    struct rrmp_source_stats *stats = &((struct rrmp_source *)(uintptr_t)source)->stats;

    stats->items_now = source->items.count;
    stats->requesters_now = source->requesters.count;
    stats->asks_now = source->asks.count;
    return stats;
}

size_t rrmp_source_memory_max(const struct rrmp_source *source)
{
    const struct rrmp_source_config *config = &source->config;
    size_t items = config->item_limit;

    return sizeof(*source) + RRMP_OUTBOX_SIZE + md_slots_memory_max(&source->items) +
           md_slots_memory_max(&source->works) + md_slots_memory_max(&source->wides) +
           md_strings_memory_max(&source->keys) + md_slots_memory_max(&source->asks) +
           md_slots_memory_max(&source->requesters) + md_slots_memory_max(&source->handles) +
           items * RRMP_KEY_SIZE_MAX + (size_t)config->ask_limit * RRMP_KEY_SIZE_MAX +
           (items + config->item_buckets + 64) * 4 * sizeof(struct md_map_cell) +
           source->handle_words * sizeof(*source->handle_free) +
           2 * ((size_t)config->handle_limit + 64) * sizeof(*source->rest) +
           SOURCE_EVENTS * sizeof(*source->events) +
           SOURCE_FAREWELLS * sizeof(*source->farewells.kept) +
           source->service_room * sizeof(*source->services) +
           config->service_limit * (131072u + config->gap_log * sizeof(uint32_t));
}

size_t rrmp_source_item_bytes(void)
{
    /* The handle rests when the item has ended, and the queue of those that rest doubles. */
    return sizeof(struct source_item) + sizeof(struct source_work) + sizeof(struct source_handle) +
           3 * sizeof(struct source_rest) + sizeof(struct source_ask) + MD_MAP_ENTRY_BYTES;
}

bool rrmp_source_is_full(const struct rrmp_source *source)
{
    size_t each = rrmp_source_item_bytes() + source->config.item_bytes_extra;

    if (source->items.count >= source->config.item_limit)
        return true;
    return source->config.item_bytes_max &&
           (source->items.count + 1) * each + source->stats.key_bytes_now >
               source->config.item_bytes_max;
}
