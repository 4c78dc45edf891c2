/* sink_items.c - the sink's items: their table, their work, their place. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sink_mirror.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/siphash.h"

/* ---- tables ---- */

/* Consumers choose names, and the hash on the wire has no key: names that share it can be made. */
static uint64_t table_hash(const struct rrmp_sink *sink, uint16_t service, struct rrmp_view key)
{
    const uint64_t secret[2] = { sink->seed, ~sink->seed ^ service };

    return md_siphash(secret, key.bytes, key.length);
}

/* Private streams and snapshots are found by their requests only: there may be many of one name. */
static bool has_name(const struct sink_item *item)
{
    return !item->is_private && !item->is_snapshot;
}

int sink_name_put(struct rrmp_sink *sink, const struct rrmp_sink_open *open, uint32_t number)
{
    if (open->is_private || open->is_snapshot)
        return MD_OK;
    return md_map_put(&sink->item_map, table_hash(sink, open->service, open->key), number);
}

static void name_remove(struct rrmp_sink *sink, uint32_t number)
{
    const struct sink_item *item = sink_item_at(sink, number);

    if (has_name(item))
        md_map_remove(&sink->item_map, table_hash(sink, item->service, sink_key(sink, item)),
                      number);
}

uint32_t sink_item_lookup(const struct rrmp_sink *sink, uint16_t service, struct rrmp_view key)
{
    uint64_t hash = table_hash(sink, service, key);
    uint32_t cursor = 0;
    uint32_t number;

    while ((number = md_map_next(&sink->item_map, hash, &cursor)) != MD_NIL) {
        const struct sink_item *item = sink_item_at(sink, number);
        if (item->service == service && item->key_length == key.length &&
            memcmp(sink_key(sink, item).bytes, key.bytes, key.length) == 0)
            return number;
    }
    return MD_NIL;
}

static uint64_t request_hash(const struct rrmp_sink *sink, uint32_t id)
{
    return md_mix64(sink->seed + id);
}

bool sink_request_put(struct rrmp_sink *sink, uint32_t id, uint32_t number)
{
    return md_map_put(&sink->request_map, request_hash(sink, id), number) == MD_OK;
}

void sink_request_remove(struct rrmp_sink *sink, uint32_t id, uint32_t number)
{
    if (id != 0)
        md_map_remove(&sink->request_map, request_hash(sink, id), number);
}

uint32_t sink_item_by_request(const struct rrmp_sink *sink, uint16_t service, uint64_t key_hash,
                              uint32_t request_id)
{
    uint64_t hash = request_hash(sink, request_id);
    uint32_t cursor = 0;
    uint32_t number;

    while ((number = md_map_next(&sink->request_map, hash, &cursor)) != MD_NIL) {
        const struct sink_item *item = sink_item_at(sink, number);
        if (item->service == service && item->request_id == request_id && request_id != 0 &&
            sink_key_hash(sink, item) == key_hash)
            return number;
    }
    return MD_NIL;
}

uint32_t sink_item_by_standby(const struct rrmp_sink *sink, uint16_t service, uint64_t key_hash,
                              uint32_t request_id)
{
    uint64_t hash = request_hash(sink, request_id);
    uint32_t cursor = 0;
    uint32_t number;

    while ((number = md_map_next(&sink->request_map, hash, &cursor)) != MD_NIL) {
        const struct sink_item *item = sink_item_at(sink, number);
        if (item->service == service && item->standby != MD_NIL &&
            sink_work_of(sink, item)->standby_id == request_id &&
            sink_key_hash(sink, item) == key_hash)
            return number;
    }
    return MD_NIL;
}

/* ---- what is under way ---- */

const struct sink_work sink_work_none;

struct sink_work *sink_work_take(struct rrmp_sink *sink, uint32_t number)
{
    struct sink_item *item = sink_item_at(sink, number);

    if (item->work == MD_NIL) {
        item->work = md_slots_take(&sink->works);
        MD_ASSERT(item->work != MD_NIL); /* reserved with the item */
        struct sink_work *work = md_slots_at(&sink->works, item->work);
        work->item = number;
    }
    return md_slots_at(&sink->works, item->work);
}

void sink_work_settle(struct rrmp_sink *sink, uint32_t number)
{
    struct sink_item *item = sink_item_at(sink, number);
    const struct sink_work *work = sink_work_of(sink, item);

    if (item->work == MD_NIL || work->timer.is_set || work->held.head || work->tag ||
        work->check_seq || work->tries || item->is_image_open || item->standby != MD_NIL ||
        work->is_preempted || sink_refusals_has_any(&work->refused, sink->now_ns))
        return;
    md_slots_give(&sink->works, item->work);
    item->work = MD_NIL;
}

void sink_timer_set(struct rrmp_sink *sink, uint32_t number, uint64_t due_ns)
{
    sink_work_take(sink, number);
    md_wheel_set(&sink->wheel, sink_item_at(sink, number)->work, due_ns);
}

void sink_timer_cancel(struct rrmp_sink *sink, uint32_t number)
{
    const struct sink_item *item = sink_item_at(sink, number);

    if (item->work != MD_NIL)
        md_wheel_cancel(&sink->wheel, item->work);
}

void sink_held_free(struct rrmp_sink *sink, const struct sink_item *item)
{
    if (item->work == MD_NIL)
        return;
    struct sink_work *work = md_slots_at(&sink->works, item->work);
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

    if (item->handle == RRMP_HANDLE_NONE || item->link == MD_NIL)
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
    sink_resume_answered(sink, item);
    sink->may_send = true;
}

/* The instance has not our interest any more, or we do not count on it. */
void sink_unask(struct rrmp_sink *sink, struct sink_item *item)
{
    if (!item->is_asked)
        return;
    item->is_asked = false;
    if (!sink_item_is_summed(item))
        return;
    const struct sink_link *link = sink_link_at(sink, item->link);
    struct sink_instance *instance = sink_instance_at(sink, link->instance);
    instance->sum_count--;
    instance->sum_xor ^= sink_key_hash(sink, item);
}

void sink_item_set_state(struct rrmp_sink *sink, uint32_t number, enum rrmp_sink_item_state state)
{
    struct sink_item *item = sink_item_at(sink, number);
    struct sink_service *service = &sink->services[item->service];

    if (item->state == RRMP_SINK_LIVE) {
        sink->stats.live_now--;
        service->live_count--;
    }
    if (item->state == RRMP_SINK_PARKED)
        service->parked_count--;
    item->state = (unsigned)state & 7u;
    if (state == RRMP_SINK_LIVE) {
        sink->stats.live_now++;
        service->live_count++;
        item->is_wait_told = false;
        if (item->work != MD_NIL) {
            sink_work_take(sink, number)->is_preempted = false;
            sink_work_take(sink, number)->refusals = 0;
        }
    }
    if (state == RRMP_SINK_PARKED)
        service->parked_count++;
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
    sink_refusals_put(&sink_work_take(sink, number)->refused, sink->now_ns,
                      sink_link_at(sink, link)->instance, time_ns);
}

void sink_item_forgive(struct rrmp_sink *sink, uint32_t number)
{
    struct sink_item *item = sink_item_at(sink, number);

    /* All that were preempted at one time would ask for the same room, again and again. */
    if (item->work == MD_NIL || sink_work_of(sink, item)->is_preempted ||
        sink_link_choose(sink, item) != MD_NIL)
        return;
    struct sink_wish wish = sink_wish_of(sink, item);
    wish.work = &sink_work_none;
    if (sink_wish_choose(sink, &wish) == MD_NIL)
        return; /* nobody is there to ask: others may come back first */
    sink_work_take(sink, number)->refused = (struct sink_refusals){ 0 };
    sink_work_settle(sink, number);
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
    item->wants_more = item->wants_more && item->is_resuming; /* a replay is no image for them */
    if (item->work == MD_NIL)
        return;
    struct sink_work *work = sink_work_take(sink, number);
    work->tag = 0;
    work->is_replay = false;
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

    if (item->link == MD_NIL)
        return;
    if (item->is_asked && reason != 0 && !item->is_snapshot)
        close_send(sink, item, reason);
    item_quiet(sink, number);
    sink_unask(sink, item);
    sink_item_set_link(sink, number, MD_NIL);
    sink_request_remove(sink, item->request_id, number);
    item->request_id = 0;
    if (item->work == MD_NIL)
        return;
    sink_work_take(sink, number)->tries = 0;
    sink_work_settle(sink, number);
}

void sink_item_place(struct rrmp_sink *sink, uint32_t number, enum sink_queue queue)
{
    struct sink_item *item = sink_item_at(sink, number);
    uint32_t choice = sink_mirror_of(sink, item);

    MD_ASSERT(item->link == MD_NIL);
    if (choice == MD_NIL)
        choice = sink_link_choose(sink, item);
    if (choice == MD_NIL) {
        sink_item_set_state(sink, number, RRMP_SINK_PARKED);
        return;
    }
    sink_item_set_link(sink, number, choice);
    sink_item_set_state(sink, number, RRMP_SINK_QUEUED);
    sink_queue_put(sink, number, queue);
}

/* Out of every table; the number stays taken until the events are. */
void sink_item_remove(struct rrmp_sink *sink, uint32_t number)
{
    struct sink_item *item = sink_item_at(sink, number);

    MD_ASSERT(item->link == MD_NIL && item->queue == QUEUE_NONE);
    sink_item_set_state(sink, number, RRMP_SINK_QUEUED); /* out of the counts of states */
    sink_timer_cancel(sink, number);
    name_remove(sink, number);
    sink_place_drop(sink, number);
    sink_list_take(sink, number);
    sink->services[item->service].item_count--;
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
    sink_item_remove(sink, number);
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
    if (item->had_image && !item->suspect_sent) {
        item->suspect_sent = true;
        sink_item_tell(sink, number, RRMP_STATE_OPEN_SUSPECT, code, none);
    }
    sink_item_requeue(sink, number, QUEUE_RECOVERY);
}
