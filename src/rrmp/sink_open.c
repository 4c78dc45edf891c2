/* sink_open.c - what the caller does to items: open, close, ask again. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sink_follow.h"
#include "sink_mirror.h"
#include "sink_topics.h"

#include <string.h>

#include "base/cursor.h"
#include "base/err.h"

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
    uint8_t *at = md_strings_at(&sink->keys, string, length);

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

    if (item->work != MD_NIL) {
        sink_timer_cancel(sink, number);
        sink_held_free(sink, item);
        md_slots_give(&sink->works, item->work);
    }
    sink_place_drop(sink, number);
    sink->stats.key_bytes_now -= item->key_length + message_length;
    md_strings_give(&sink->keys, item->key, string_length(item->key_length, message_length));
    md_slots_give(&sink->items, number);
}

static uint32_t item_create(struct rrmp_sink *sink, const struct rrmp_sink_open *open)
{
    size_t length = string_length(open->key.length, open->message.length);
    uint32_t string = md_strings_take(&sink->keys, length);
    uint32_t number = string != MD_NIL ? md_slots_take(&sink->items) : MD_NIL;

    if (number == MD_NIL || md_slots_reserve(&sink->works, sink->items.count) != 0 ||
        sink_name_put(sink, open, number) != 0)
        goto fail;
    string_write(sink, string, open);
    struct sink_item *item = sink_item_at(sink, number);
    item->in_use = true;
    item->key = string;
    item->key_length = (uint16_t)open->key.length;
    item->has_message = open->message.length > 0;
    item->work = MD_NIL;
    item->service = open->service & 0x7fffu;
    item->group = RRMP_GROUP_NONE;
    item->handle = RRMP_HANDLE_NONE;
    item->standby = MD_NIL;
    item->place = MD_NIL;
    item->state = RRMP_SINK_QUEUED;
    item->is_private = open->is_private;
    item->is_snapshot = open->is_snapshot;
    item->is_follower = open->is_follower && !open->is_private && !open->is_snapshot;
    item->is_multicast = sink->config.prefers_multicast;
    item->priority_class = open->priority_class;
    item->priority_count = count_in_item(open->priority_count);
    item->user = open->user;
    sink_list_put(sink, number);
    sink->services[open->service].item_count++;
    sink->services[open->service].has_followers |= item->is_follower;
    sink_topic_want(sink, open->service);
    return number;
fail:
    if (number != MD_NIL)
        md_slots_give(&sink->items, number);
    if (string != MD_NIL)
        md_strings_give(&sink->keys, string, length);
    return MD_NIL;
}

int rrmp_sink_item_open(struct rrmp_sink *sink, uint64_t now_ns, const struct rrmp_sink_open *open,
                        uint32_t *out)
{
    static const char no_source[] = "no source has this service now";
    struct rrmp_key decoded;

    *out = RRMP_ITEM_NONE;
    sink->now_ns = now_ns;
    if (open->service >= sink->service_count || sink->services[open->service].name.length == 0)
        return MD_ERR_NOT_FOUND;
    if (open->key.length > RRMP_KEY_SIZE_MAX || open->message.length > UINT16_MAX ||
        rrmp_key_decode(open->key.bytes, open->key.length, &decoded) != 0)
        return MD_ERR_MALFORMED;
    if (!sink_event_room(sink))
        return MD_ERR_AGAIN;
    if (!open->is_private && !open->is_snapshot) {
        *out = sink_item_lookup(sink, open->service, open->key);
        if (*out != RRMP_ITEM_NONE)
            return MD_ERR_EXISTS;
    }
    if (sink->items.count >= sink->config.item_limit)
        return MD_ERR_FULL;
    uint32_t number = item_create(sink, open);
    if (number == MD_NIL)
        return MD_ERR_NOMEM;
    if (sink_item_at(sink, number)->is_follower)
        sink_follower_place(sink, number,
                            sink_follow_link(sink, open->service, open->bound_at - 1));
    else
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
    return sink_item_lookup(sink, service, key);
}

void rrmp_sink_item_close(struct rrmp_sink *sink, uint64_t now_ns, uint32_t number)
{
    sink->now_ns = now_ns;
    if (!sink_item_exists(sink, number))
        return;
    sink_event_forget(sink, number);
    sink_item_leave(sink, number, RRMP_CLOSE_NOBODY);
    sink_mirror_drop(sink, number, true);
    sink_item_remove(sink, number);
}

void rrmp_sink_item_want_image(struct rrmp_sink *sink, uint64_t now_ns, uint32_t number)
{
    sink->now_ns = now_ns;
    if (!sink_item_exists(sink, number))
        return;
    struct sink_item *item = sink_item_at(sink, number);
    if (item->is_image_open || item->is_resuming)
        item->wants_more = true;
    if (item->is_image_open || item->state != RRMP_SINK_LIVE || item->wants_image)
        return;
    item->wants_image = true;
    if (item->work != MD_NIL)
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
            item->link == MD_NIL ? 0xFFFF : (uint16_t)sink_link_at(sink, item->link)->instance,
        .group = item->group,
        .suspect_sent = item->suspect_sent,
        .had_image = item->had_image,
        .is_private = item->is_private,
        .priority_class = item->priority_class,
        .priority_count = item->priority_count,
        .user = item->user,
        .key = sink_key(sink, item),
        .message = sink_item_message(sink, item),
    };
    return true;
}

bool rrmp_sink_item_trace(const struct rrmp_sink *sink, uint32_t number, uint32_t *handle,
                          uint32_t *item_seq)
{
    const struct sink_item *item = number < sink->items.high ? sink_item_at(sink, number) : NULL;

    if (!item || !item->in_use || item->link == MD_NIL || item->handle == RRMP_HANDLE_NONE)
        return false;
    const struct sink_slot *slot = sink_slot_find(
        sink, sink_instance_at(sink, sink_link_at(sink, item->link)->instance), item->handle);
    if (!slot)
        return false;
    *handle = item->handle;
    *item_seq = slot->last_seq;
    return true;
}
