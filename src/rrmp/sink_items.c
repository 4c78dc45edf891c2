/* sink_items.c - the sink's items: their table, their place, and what the caller does to them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sink_impl.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/err.h"

/* ---- table ---- */

static uint64_t table_hash(const struct rrmp_sink *sink, uint16_t service, uint64_t key_hash)
{
    uint64_t state = key_hash ^ sink->seed ^ ((uint64_t)service << 48);

    return rrmp_random(&state);
}

uint32_t sink_item_lookup(const struct rrmp_sink *sink, uint16_t service, struct rrmp_view key,
                          uint64_t key_hash)
{
    uint64_t hash = table_hash(sink, service, key_hash);
    uint32_t cursor = 0;
    uint32_t number;

    while ((number = rrmp_map_next(&sink->item_map, hash, &cursor)) != RRMP_NIL) {
        const struct sink_item *item = sink_item_at(sink, number);
        if (!item->is_private && !item->is_snapshot && item->service == service &&
            item->key_length == key.length && memcmp(item->key, key.bytes, key.length) == 0)
            return number;
    }
    return RRMP_NIL;
}

uint32_t sink_item_by_request(const struct rrmp_sink *sink, uint16_t service, uint64_t key_hash,
                              uint32_t request_id)
{
    uint64_t hash = table_hash(sink, service, key_hash);
    uint32_t cursor = 0;
    uint32_t number;

    while ((number = rrmp_map_next(&sink->item_map, hash, &cursor)) != RRMP_NIL) {
        const struct sink_item *item = sink_item_at(sink, number);
        if (item->service == service && item->key_hash == key_hash &&
            item->request_id == request_id && request_id != 0)
            return number;
    }
    return RRMP_NIL;
}

uint32_t sink_item_by_standby(const struct rrmp_sink *sink, uint16_t service, uint64_t key_hash,
                              uint32_t request_id)
{
    uint64_t hash = table_hash(sink, service, key_hash);
    uint32_t cursor = 0;
    uint32_t number;

    while ((number = rrmp_map_next(&sink->item_map, hash, &cursor)) != RRMP_NIL) {
        const struct sink_item *item = sink_item_at(sink, number);
        if (item->service == service && item->key_hash == key_hash && item->standby != RRMP_NIL &&
            item->standby_id == request_id)
            return number;
    }
    return RRMP_NIL;
}

/* ---- handle map ---- */

struct sink_slot *sink_slot_find(const struct sink_instance *instance, uint32_t handle)
{
    uint32_t index = handle & 0xFFFFFF;

    if (!instance->map || !instance->map[index / SINK_CHUNK])
        return NULL;
    struct sink_slot *slot = &instance->map[index / SINK_CHUNK][index % SINK_CHUNK];
    return slot->bits && slot->generation == handle >> 24 ? slot : NULL;
}

void sink_slot_fetch(const struct sink_instance *instance, uint32_t handle)
{
    uint32_t index = handle & 0xFFFFFF;

    if (instance->map && instance->map[index / SINK_CHUNK])
        __builtin_prefetch(&instance->map[index / SINK_CHUNK][index % SINK_CHUNK], 1);
}

void sink_slot_item_fetch(const struct rrmp_sink *sink, const struct sink_instance *instance,
                          uint32_t handle)
{
    const struct sink_slot *slot = sink_slot_find(instance, handle);

    if (slot)
        __builtin_prefetch(sink_item_at(sink, slot->item));
}

void sink_item_unmap(struct rrmp_sink *sink, uint32_t number)
{
    struct sink_item *item = sink_item_at(sink, number);

    if (item->handle == RRMP_HANDLE_NONE || item->link == RRMP_NIL)
        return;
    const struct sink_link *link = sink_link_at(sink, item->link);
    struct sink_slot *slot = sink_slot_find(sink_instance_at(sink, link->instance), item->handle);
    if (slot && slot->item == number)
        memset(slot, 0, sizeof(*slot));
    item->handle = RRMP_HANDLE_NONE;
}

bool sink_item_map(struct rrmp_sink *sink, uint32_t number, uint32_t handle, uint32_t seq,
                   uint8_t bits)
{
    struct sink_item *item = sink_item_at(sink, number);
    const struct sink_link *link = sink_link_at(sink, item->link);
    struct sink_instance *instance = sink_instance_at(sink, link->instance);
    uint32_t index = handle & 0xFFFFFF;

    sink_item_unmap(sink, number);
    if (!instance->map) {
        instance->map = calloc(SINK_CHUNKS, sizeof(*instance->map));
        if (!instance->map)
            return false;
        sink->stats.memory_now += SINK_CHUNKS * sizeof(*instance->map);
    }
    struct sink_slot **chunk = &instance->map[index / SINK_CHUNK];
    if (!*chunk) {
        *chunk = calloc(SINK_CHUNK, sizeof(**chunk));
        if (!*chunk)
            return false;
        sink->stats.memory_now += SINK_CHUNK * sizeof(**chunk);
    }
    struct sink_slot *slot = &(*chunk)[index % SINK_CHUNK];
    if (slot->bits && slot->item != number) {
        /* The instance has given the number to another item: the old one is void there. */
        uint32_t old = slot->item;
        sink_item_unmap(sink, old);
        sink_item_at(sink, old)->handle = RRMP_HANDLE_NONE;
        sink_unask(sink, sink_item_at(sink, old));
        sink_item_lost(sink, old, RRMP_CODE_GAP_DETECTED);
    }
    *slot = (struct sink_slot){ .item = number,
                                .last_seq = seq,
                                .generation = (uint8_t)(handle >> 24),
                                .bits = (uint8_t)(bits | SLOT_MAPPED),
                                .svc = link->svc };
    item->handle = handle;
    if (index >= instance->map_high)
        instance->map_high = index + 1;
    return true;
}

/* ---- accounts ---- */

void sink_window_leave(struct rrmp_sink *sink, struct sink_item *item)
{
    if (!item->in_window)
        return;
    item->in_window = false;
    sink_link_at(sink, item->link)->window_used--;
    sink->may_send = true;
}

/* The instance has not our interest any more, or we do not count on it. */
void sink_unask(struct rrmp_sink *sink, struct sink_item *item)
{
    if (!item->is_asked)
        return;
    item->is_asked = false;
    if (item->is_private || item->is_snapshot)
        return;
    const struct sink_link *link = sink_link_at(sink, item->link);
    struct sink_instance *instance = sink_instance_at(sink, link->instance);
    instance->sum_count--;
    instance->sum_xor ^= item->key_hash;
}

void sink_item_set_state(struct rrmp_sink *sink, uint32_t number, enum rrmp_sink_item_state state)
{
    struct sink_item *item = sink_item_at(sink, number);

    if (item->state == RRMP_SINK_LIVE)
        sink->stats.live_now--;
    if (item->state == RRMP_SINK_PARKED)
        sink->services[item->service].parked_count--;
    item->state = (uint8_t)state;
    if (state == RRMP_SINK_LIVE)
        sink->stats.live_now++;
    if (state == RRMP_SINK_PARKED)
        sink->services[item->service].parked_count++;
}

void sink_item_tell(struct rrmp_sink *sink, uint32_t number, uint8_t state, uint8_t code,
                    struct rrmp_view text)
{
    struct rrmp_sink_event *event = sink_item_event(sink, RRMP_SINK_STATE, number);

    event->scope = RRMP_SINK_SCOPE_ITEM;
    event->state = state;
    event->code = code;
    event->message = text;
}

void sink_item_refuse_at(struct rrmp_sink *sink, uint32_t number, uint32_t link, uint64_t time_ns)
{
    struct sink_item *item = sink_item_at(sink, number);
    uint32_t oldest = 0;

    for (uint32_t i = 0; i < SINK_REFUSED; i++) {
        if (item->refused[i].until_ns < item->refused[oldest].until_ns)
            oldest = i;
    }
    item->refused[oldest].link = link;
    item->refused[oldest].until_ns = sink->now_ns + time_ns;
}

/* ---- where an item is ---- */

/* Everything that was under way for this item ends. */
static void item_quiet(struct rrmp_sink *sink, uint32_t number)
{
    struct sink_item *item = sink_item_at(sink, number);

    sink_queue_remove(sink, number);
    rrmp_wheel_cancel(&sink->wheel, number);
    sink_chain_free(sink, &item->held);
    sink_window_leave(sink, item);
    sink_item_unmap(sink, number);
    item->is_image_open = false;
    item->tag = 0;
    item->wants_image = false;
    item->wants_more = false;
    item->check_seq = 0;
}

void sink_item_requeue(struct rrmp_sink *sink, uint32_t number, enum sink_queue queue)
{
    item_quiet(sink, number);
    sink_item_set_state(sink, number, RRMP_SINK_QUEUED);
    sink_queue_put(sink, number, queue);
}

/* The upward half of a CLOSE; the ring may be full, then it waits its turn. */
static void close_send(struct rrmp_sink *sink, const struct sink_item *item, uint8_t reason)
{
    const struct sink_link *link = sink_link_at(sink, item->link);
    struct rrmp_record record = {
        .header = { .type = RRMP_CLOSE,
                    .flags = item->is_private ? RRMP_FLAG_PRIVATE : 0,
                    .svc = link->svc },
        .u.close = { .id = item->request_id,
                     .handle = item->handle,
                     .key_hash = item->key_hash,
                     .reason = reason,
                     .key = { .bytes = item->key, .length = item->key_length } },
    };

    sink_send(sink, link->instance, &record);
}

void sink_item_leave(struct rrmp_sink *sink, uint32_t number, uint8_t reason)
{
    struct sink_item *item = sink_item_at(sink, number);

    if (item->link == RRMP_NIL)
        return;
    if (item->is_asked && reason != 0 && !item->is_snapshot)
        close_send(sink, item, reason);
    item_quiet(sink, number);
    sink_unask(sink, item);
    sink_link_at(sink, item->link)->item_count--;
    item->link = RRMP_NIL;
    item->request_id = 0;
    item->tries = 0;
}

void sink_item_place(struct rrmp_sink *sink, uint32_t number, enum sink_queue queue)
{
    struct sink_item *item = sink_item_at(sink, number);
    uint32_t choice = sink_mirror_of(sink, item);

    MD_ASSERT(item->link == RRMP_NIL);
    if (choice == RRMP_NIL)
        choice = sink_link_choose(sink, item);
    if (choice == RRMP_NIL) {
        sink_item_set_state(sink, number, RRMP_SINK_PARKED);
        return;
    }
    item->link = choice;
    sink_link_at(sink, choice)->item_count++;
    sink_item_set_state(sink, number, RRMP_SINK_QUEUED);
    sink_queue_put(sink, number, queue);
}

/* Out of every table; the number stays taken until the events are. */
static void item_remove(struct rrmp_sink *sink, uint32_t number)
{
    struct sink_item *item = sink_item_at(sink, number);
    struct sink_service *service = &sink->services[item->service];

    MD_ASSERT(item->link == RRMP_NIL && item->queue == QUEUE_NONE);
    sink_item_set_state(sink, number, RRMP_SINK_QUEUED); /* out of the counts of states */
    rrmp_wheel_cancel(&sink->wheel, number);
    rrmp_map_remove(&sink->item_map, item->table_hash, number);
    if (item->service_prev != RRMP_NIL)
        sink_item_at(sink, item->service_prev)->service_next = item->service_next;
    else
        service->items = item->service_next;
    if (item->service_next != RRMP_NIL)
        sink_item_at(sink, item->service_next)->service_prev = item->service_prev;
    item->is_dying = true;
    item->dying_next = sink->dying;
    sink->dying = number;
}

void sink_item_end(struct rrmp_sink *sink, uint32_t number, uint8_t state, uint8_t code,
                   uint8_t type, struct rrmp_view message)
{
    struct rrmp_sink_event *event = sink_item_event(sink, RRMP_SINK_CLOSED, number);

    event->state = state;
    event->code = code;
    event->type = type;
    event->message = message;
    sink_item_leave(sink, number, 0);
    sink_mirror_drop(sink, number, true);
    item_remove(sink, number);
}

void sink_private_end(struct rrmp_sink *sink, uint32_t number, uint8_t reason)
{
    struct sink_item *item = sink_item_at(sink, number);

    if (item->is_ending)
        return;
    sink_item_leave(sink, number, reason);
    sink_item_set_state(sink, number, RRMP_SINK_QUEUED);
    item->is_ending = true;
    rrmp_wheel_set(&sink->wheel, number, sink->now_ns);
}

void sink_item_lost(struct rrmp_sink *sink, uint32_t number, uint8_t code)
{
    static const struct rrmp_view none;
    struct sink_item *item = sink_item_at(sink, number);

    if (item->is_private) {
        sink_private_end(sink, number, RRMP_CLOSE_NOBODY);
        return;
    }
    if (item->had_image && !item->is_told) {
        item->is_told = true;
        sink_item_tell(sink, number, RRMP_STATE_OPEN_SUSPECT, code, none);
    }
    sink_item_requeue(sink, number, QUEUE_RECOVERY);
}

/* ---- the caller's calls ---- */

static uint32_t item_create(struct rrmp_sink *sink, const struct rrmp_sink_open *open,
                            uint64_t key_hash)
{
    uint8_t *bytes = malloc(open->key.length + open->message.length);
    uint32_t number = bytes ? rrmp_slots_take(&sink->items) : RRMP_NIL;

    if (number == RRMP_NIL)
        goto fail;
    struct sink_item *item = sink_item_at(sink, number);
    struct sink_service *service = &sink->services[open->service];
    item->table_hash = table_hash(sink, open->service, key_hash);
    if (rrmp_map_put(&sink->item_map, item->table_hash, number) != 0) {
        rrmp_slots_give(&sink->items, number);
        goto fail;
    }
    memcpy(bytes, open->key.bytes, open->key.length);
    if (open->message.length)
        memcpy(bytes + open->key.length, open->message.bytes, open->message.length);
    sink->stats.memory_now += open->key.length + open->message.length;
    sink->stats.key_bytes_now += open->key.length + open->message.length;
    item->in_use = true;
    item->key = bytes;
    item->key_length = (uint16_t)open->key.length;
    item->message_length = (uint16_t)open->message.length;
    item->key_hash = key_hash;
    item->service = open->service;
    item->group = RRMP_GROUP_NONE;
    item->link = RRMP_NIL;
    item->handle = RRMP_HANDLE_NONE;
    item->standby = RRMP_NIL;
    item->state = RRMP_SINK_QUEUED;
    item->is_private = open->is_private;
    item->is_snapshot = open->is_snapshot;
    item->is_multicast = sink->config.prefers_multicast;
    item->priority_class = open->priority_class;
    item->priority_count = open->priority_count;
    item->user = open->user;
    item->service_prev = RRMP_NIL;
    item->service_next = service->items;
    if (service->items != RRMP_NIL)
        sink_item_at(sink, service->items)->service_prev = number;
    service->items = number;
    return number;
fail:
    free(bytes);
    return RRMP_NIL;
}

int rrmp_sink_item_open(struct rrmp_sink *sink, uint64_t now_ns, const struct rrmp_sink_open *open,
                        uint32_t *out)
{
    static const char no_source[] = "no source has this service now";
    struct rrmp_key decoded;

    *out = RRMP_ITEM_NONE;
    sink->now_ns = now_ns;
    if (open->service >= sink->service_count)
        return MD_ERR_NOT_FOUND;
    if (open->key.length > RRMP_KEY_SIZE_MAX || open->message.length > UINT16_MAX ||
        rrmp_key_decode(open->key.bytes, open->key.length, &decoded) != 0)
        return MD_ERR_MALFORMED;
    if (!sink_event_room(sink))
        return MD_ERR_AGAIN;
    uint64_t hash = rrmp_key_hash(open->key.bytes, open->key.length);
    if (!open->is_private && !open->is_snapshot) {
        *out = sink_item_lookup(sink, open->service, open->key, hash);
        if (*out != RRMP_ITEM_NONE)
            return MD_ERR_EXISTS;
    }
    if (sink->items.count >= sink->config.item_limit)
        return MD_ERR_FULL;
    uint32_t number = item_create(sink, open, hash);
    if (number == RRMP_NIL)
        return MD_ERR_NOMEM;
    sink_item_place(sink, number, QUEUE_NEW);
    if (sink_item_at(sink, number)->state == RRMP_SINK_PARKED)
        sink_item_tell(sink, number, RRMP_STATE_OPEN_SUSPECT, RRMP_CODE_NONE,
                       (struct rrmp_view){ .bytes = (const uint8_t *)no_source,
                                           .length = sizeof(no_source) - 1 });
    *out = number;
    return MD_OK;
}

uint32_t rrmp_sink_item_find(const struct rrmp_sink *sink, uint16_t service, struct rrmp_view key)
{
    if (service >= sink->service_count || key.length == 0)
        return RRMP_ITEM_NONE;
    return sink_item_lookup(sink, service, key, rrmp_key_hash(key.bytes, key.length));
}

void rrmp_sink_item_close(struct rrmp_sink *sink, uint64_t now_ns, uint32_t number)
{
    sink->now_ns = now_ns;
    if (!sink_item_exists(sink, number))
        return;
    sink_event_forget(sink, number);
    sink_item_leave(sink, number, RRMP_CLOSE_NOBODY);
    sink_mirror_drop(sink, number, true);
    item_remove(sink, number);
}

void rrmp_sink_item_want_image(struct rrmp_sink *sink, uint64_t now_ns, uint32_t number)
{
    sink->now_ns = now_ns;
    if (!sink_item_exists(sink, number))
        return;
    struct sink_item *item = sink_item_at(sink, number);
    if (item->is_image_open)
        item->wants_more = true;
    if (item->is_image_open || item->state != RRMP_SINK_LIVE || item->wants_image)
        return;
    item->wants_image = true;
    item->tries = 0;
    sink_queue_remove(sink, number);
    sink_queue_put(sink, number, QUEUE_NEW);
}

void rrmp_sink_item_priority(struct rrmp_sink *sink, uint64_t now_ns, uint32_t number,
                             uint8_t priority_class, uint32_t priority_count)
{
    sink->now_ns = now_ns;
    if (!sink_item_exists(sink, number))
        return;
    struct sink_item *item = sink_item_at(sink, number);
    if (item->priority_class == priority_class && item->priority_count == priority_count)
        return;
    item->priority_class = priority_class;
    item->priority_count = priority_count;
    if (item->state == RRMP_SINK_LIVE && item->queue == QUEUE_NONE && !item->is_private) {
        item->is_priority_due = true;
        sink_queue_put(sink, number, QUEUE_BACKGROUND);
    }
}

bool rrmp_sink_item_info(const struct rrmp_sink *sink, uint32_t number, struct rrmp_sink_item *out)
{
    memset(out, 0, sizeof(*out));
    if (number >= sink->items.high)
        return false;
    /* One that ends is known until the events about it are taken: its image may be among them. */
    const struct sink_item *item = sink_item_at(sink, number);
    if (!item->in_use)
        return false;
    *out = (struct rrmp_sink_item){
        .state = (enum rrmp_sink_item_state)item->state,
        .service = item->service,
        .instance =
            item->link == RRMP_NIL ? 0xFFFF : (uint16_t)sink_link_at(sink, item->link)->instance,
        .group = item->group,
        .is_told = item->is_told,
        .had_image = item->had_image,
        .is_private = item->is_private,
        .user = item->user,
        .key = { .bytes = item->key, .length = item->key_length },
    };
    return true;
}

void rrmp_sink_item_set_user(struct rrmp_sink *sink, uint32_t item, uint64_t user)
{
    if (sink_item_exists(sink, item))
        sink_item_at(sink, item)->user = user;
}

uint32_t rrmp_sink_item_next(const struct rrmp_sink *sink, const struct rrmp_sink_event *event,
                             uint32_t number)
{
    if (event->service >= sink->service_count)
        return RRMP_ITEM_NONE;
    uint32_t next = number == RRMP_ITEM_NONE ? sink->services[event->service].items
                                             : sink_item_at(sink, number)->service_next;
    while (next != RRMP_NIL && sink_item_at(sink, next)->stamp != event->stamp)
        next = sink_item_at(sink, next)->service_next;
    return next;
}
