/* sink_items.c - the sink's items: their table, their place, and what the caller does to them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sink_impl.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/cursor.h"
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
            item->key_length == key.length &&
            memcmp(sink_key(sink, item).bytes, key.bytes, key.length) == 0)
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
        if (item->service == service && item->request_id == request_id && request_id != 0 &&
            sink_key_hash(sink, item) == key_hash)
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
        if (item->service == service && item->standby != RRMP_NIL &&
            sink_work_of(sink, item)->standby_id == request_id &&
            sink_key_hash(sink, item) == key_hash)
            return number;
    }
    return RRMP_NIL;
}

/* ---- what is under way ---- */

const struct sink_work sink_work_none;

struct sink_work *sink_work_take(struct rrmp_sink *sink, uint32_t number)
{
    struct sink_item *item = sink_item_at(sink, number);

    if (item->work == RRMP_NIL) {
        item->work = rrmp_slots_take(&sink->works);
        MD_ASSERT(item->work != RRMP_NIL); /* reserved with the item */
        struct sink_work *work = rrmp_slots_at(&sink->works, item->work);
        work->item = number;
    }
    return rrmp_slots_at(&sink->works, item->work);
}

static bool is_refused_anywhere(const struct rrmp_sink *sink, const struct sink_work *work)
{
    for (uint32_t i = 0; i < SINK_REFUSED; i++) {
        if (work->refused[i].until_ns > sink->now_ns)
            return true;
    }
    return false;
}

void sink_work_settle(struct rrmp_sink *sink, uint32_t number)
{
    struct sink_item *item = sink_item_at(sink, number);
    const struct sink_work *work = sink_work_of(sink, item);

    if (item->work == RRMP_NIL || work->timer.is_set || work->held.head || work->tag ||
        work->check_seq || work->tries || item->is_image_open || item->standby != RRMP_NIL ||
        is_refused_anywhere(sink, work))
        return;
    rrmp_slots_give(&sink->works, item->work);
    item->work = RRMP_NIL;
}

void sink_timer_set(struct rrmp_sink *sink, uint32_t number, uint64_t due_ns)
{
    sink_work_take(sink, number);
    rrmp_wheel_set(&sink->wheel, sink_item_at(sink, number)->work, due_ns);
}

void sink_timer_cancel(struct rrmp_sink *sink, uint32_t number)
{
    const struct sink_item *item = sink_item_at(sink, number);

    if (item->work != RRMP_NIL)
        rrmp_wheel_cancel(&sink->wheel, item->work);
}

void sink_held_free(struct rrmp_sink *sink, const struct sink_item *item)
{
    if (item->work == RRMP_NIL)
        return;
    struct sink_work *work = rrmp_slots_at(&sink->works, item->work);
    sink_chain_free(sink, &work->held);
}

/* ---- handle map ---- */

static struct sink_slot *slot_at(const struct sink_instance *instance, uint32_t handle)
{
    uint32_t index = handle & 0xFFFFFF;

    if (!instance->map || !instance->map[index / SINK_CHUNK])
        return NULL;
    return &instance->map[index / SINK_CHUNK][index % SINK_CHUNK];
}

struct sink_slot *sink_slot_find(const struct rrmp_sink *sink, const struct sink_instance *instance,
                                 uint32_t handle)
{
    struct sink_slot *slot = slot_at(instance, handle);

    return slot && slot->bits && sink_item_at(sink, slot->item)->handle == handle ? slot : NULL;
}

void sink_slot_fetch(const struct sink_instance *instance, uint32_t handle)
{
    const struct sink_slot *slot = slot_at(instance, handle);

    if (slot)
        __builtin_prefetch(slot, 1);
}

void sink_slot_item_fetch(const struct rrmp_sink *sink, const struct sink_instance *instance,
                          uint32_t handle)
{
    const struct sink_slot *slot = slot_at(instance, handle);

    if (slot && slot->bits)
        __builtin_prefetch(sink_item_at(sink, slot->item));
}

void sink_item_unmap(struct rrmp_sink *sink, uint32_t number)
{
    struct sink_item *item = sink_item_at(sink, number);

    if (item->handle == RRMP_HANDLE_NONE || item->link == RRMP_NIL)
        return;
    const struct sink_link *link = sink_link_at(sink, item->link);
    struct sink_slot *slot =
        sink_slot_find(sink, sink_instance_at(sink, link->instance), item->handle);
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
    *slot = (struct sink_slot){ .last_seq = seq,
                                .item = number & SINK_ITEMS_MAX,
                                .bits = (uint8_t)(bits | SLOT_MAPPED) };
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
    instance->sum_xor ^= sink_key_hash(sink, item);
}

void sink_item_set_state(struct rrmp_sink *sink, uint32_t number, enum rrmp_sink_item_state state)
{
    struct sink_item *item = sink_item_at(sink, number);

    if (item->state == RRMP_SINK_LIVE)
        sink->stats.live_now--;
    if (item->state == RRMP_SINK_PARKED)
        sink->services[item->service].parked_count--;
    item->state = (unsigned)state & 7u;
    if (state == RRMP_SINK_LIVE) {
        sink->stats.live_now++;
        item->is_wait_told = false;
    }
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
    struct sink_work *work = sink_work_take(sink, number);
    uint32_t oldest = 0;

    for (uint32_t i = 0; i < SINK_REFUSED; i++) {
        if (work->refused[i].until_ns < work->refused[oldest].until_ns)
            oldest = i;
    }
    work->refused[oldest].link = link;
    work->refused[oldest].until_ns = sink->now_ns + time_ns;
}

/* ---- where an item is ---- */

/* Everything that was under way for this item ends. */
static void item_quiet(struct rrmp_sink *sink, uint32_t number)
{
    struct sink_item *item = sink_item_at(sink, number);

    sink_queue_remove(sink, number);
    sink_timer_cancel(sink, number);
    sink_held_free(sink, item);
    sink_window_leave(sink, item);
    sink_item_unmap(sink, number);
    item->is_image_open = false;
    item->wants_image = false;
    item->wants_more = false;
    if (item->work == RRMP_NIL)
        return;
    struct sink_work *work = sink_work_take(sink, number);
    work->tag = 0;
    work->check_seq = 0;
    sink_work_settle(sink, number);
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
                     .key_hash = sink_key_hash(sink, item),
                     .reason = reason,
                     .key = sink_key(sink, item) },
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
    if (item->work == RRMP_NIL)
        return;
    sink_work_take(sink, number)->tries = 0;
    sink_work_settle(sink, number);
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
    sink_timer_cancel(sink, number);
    rrmp_map_remove(&sink->item_map, table_hash(sink, item->service, sink_key_hash(sink, item)),
                    number);
    if (item->service_prev != RRMP_NIL)
        sink_item_at(sink, item->service_prev)->service_next = item->service_next;
    else
        service->items = item->service_next;
    if (item->service_next != RRMP_NIL)
        sink_item_at(sink, item->service_next)->service_prev = item->service_prev;
    item->is_dying = true;
    item->queue_next = sink->dying;
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
    sink_timer_set(sink, number, sink->now_ns);
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

#define MESSAGE_LENGTH 2u /* bytes of it, between a key and its message */

static uint16_t count_in_item(uint32_t priority_count)
{
    return (uint16_t)(priority_count < UINT16_MAX ? priority_count : UINT16_MAX);
}

/* A key with a message behind it has a block of its own. */
static size_t string_length(size_t key_length, size_t message_length)
{
    size_t length = key_length + (message_length ? MESSAGE_LENGTH + message_length : 0);

    return message_length && length < SINK_STRING_LONG ? SINK_STRING_LONG : length;
}

struct rrmp_view sink_item_message(const struct rrmp_sink *sink, const struct sink_item *item)
{
    const uint8_t *at = sink_key(sink, item).bytes + item->key_length;

    if (!item->has_message)
        return (struct rrmp_view){ .bytes = NULL, .length = 0 };
    return (struct rrmp_view){ .bytes = at + MESSAGE_LENGTH, .length = md_be16(at) };
}

static void string_write(struct rrmp_sink *sink, uint32_t string, const struct rrmp_sink_open *open)
{
    size_t length = string_length(open->key.length, open->message.length);
    uint8_t *at = rrmp_strings_at(&sink->keys, string, length);

    memcpy(at, open->key.bytes, open->key.length);
    sink->stats.key_bytes_now += open->key.length + open->message.length;
    if (open->message.length == 0)
        return;
    md_put_be16(at + open->key.length, (uint16_t)open->message.length);
    memcpy(at + open->key.length + MESSAGE_LENGTH, open->message.bytes, open->message.length);
}

void sink_item_give(struct rrmp_sink *sink, uint32_t number)
{
    struct sink_item *item = sink_item_at(sink, number);
    size_t message_length = sink_item_message(sink, item).length;

    if (item->work != RRMP_NIL) {
        sink_timer_cancel(sink, number);
        sink_held_free(sink, item);
        rrmp_slots_give(&sink->works, item->work);
    }
    sink->stats.key_bytes_now -= item->key_length + message_length;
    rrmp_strings_give(&sink->keys, item->key, string_length(item->key_length, message_length));
    rrmp_slots_give(&sink->items, number);
}

static uint32_t item_create(struct rrmp_sink *sink, const struct rrmp_sink_open *open,
                            uint64_t key_hash)
{
    size_t length = string_length(open->key.length, open->message.length);
    uint32_t string = rrmp_strings_take(&sink->keys, length);
    uint32_t number = string != RRMP_NIL ? rrmp_slots_take(&sink->items) : RRMP_NIL;

    if (number == RRMP_NIL || rrmp_slots_reserve(&sink->works, sink->items.count) != 0 ||
        rrmp_map_put(&sink->item_map, table_hash(sink, open->service, key_hash), number) != 0)
        goto fail;
    string_write(sink, string, open);
    struct sink_item *item = sink_item_at(sink, number);
    struct sink_service *service = &sink->services[open->service];
    item->in_use = true;
    item->key = string;
    item->key_length = (uint16_t)open->key.length;
    item->has_message = open->message.length > 0;
    item->work = RRMP_NIL;
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
    item->priority_count = count_in_item(open->priority_count);
    item->user = open->user;
    item->service_prev = RRMP_NIL;
    item->service_next = service->items;
    if (service->items != RRMP_NIL)
        sink_item_at(sink, service->items)->service_prev = number;
    service->items = number;
    return number;
fail:
    if (number != RRMP_NIL)
        rrmp_slots_give(&sink->items, number);
    if (string != RRMP_NIL)
        rrmp_strings_give(&sink->keys, string, length);
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
    if (item->work != RRMP_NIL)
        sink_work_take(sink, number)->tries = 0;
    sink_queue_remove(sink, number);
    sink_queue_put(sink, number, QUEUE_NEW);
}

void rrmp_sink_item_priority(struct rrmp_sink *sink, uint64_t now_ns, uint32_t number,
                             uint8_t priority_class, uint32_t priority_count)
{
    uint16_t count = count_in_item(priority_count);

    sink->now_ns = now_ns;
    if (!sink_item_exists(sink, number))
        return;
    struct sink_item *item = sink_item_at(sink, number);
    if (item->priority_class == priority_class && item->priority_count == count)
        return;
    bool is_in_recovery = item->queue == QUEUE_RECOVERY; /* in the order of this */
    if (is_in_recovery)
        sink_queue_remove(sink, number);
    item->priority_class = priority_class;
    item->priority_count = count;
    if (is_in_recovery)
        sink_queue_put(sink, number, QUEUE_RECOVERY);
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
        .key = sink_key(sink, item),
    };
    return true;
}

void rrmp_sink_item_set_user(struct rrmp_sink *sink, uint32_t item, uint32_t user)
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
