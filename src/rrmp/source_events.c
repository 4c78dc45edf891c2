/* source_events.c - what the caller is told, and in which order. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "source_impl.h"

void source_ending_free(struct rrmp_source *source)
{
    if (source->ending == MD_NIL)
        return;
    uint32_t number = source->ending;
    source->ending = MD_NIL;
    source_item_free(source, number);
}

static void item_event(const struct rrmp_source *source, uint32_t number,
                       enum rrmp_source_event_kind kind, struct rrmp_source_event *event)
{
    const struct source_item *item = source_item_at(source, number);

    *event = (struct rrmp_source_event){
        .kind = kind,
        .svc = item->svc,
        .flag = source_item_is_active(source, item),
        .is_private = item->is_private,
        .is_recovery = item->is_recovery,
        .priority_class = item->priority_class,
        .priority_count = item->priority_count,
        .item = number,
        .ask = RRMP_ITEM_NONE,
        .key_hash = source_key_hash(source, item),
        .key = source_key(source, item),
    };
}

/* Images give way to ticks, but where more ticks come than the backbone takes the ring is never
 * half empty: who has waited long goes then all the same, a small budget a turn. */
static bool image_may_go(const struct rrmp_source *source, const struct source_item *item)
{
    bool is_mass = source->image_due_count > SOURCE_LINGER_MIN;
    uint64_t due_ns = source_work_of(source, item)->image_due_ns;

    if (source->image_budget == 0)
        return false;
    if (source->now_ns < due_ns + SOURCE_IMAGE_WAIT_NS &&
        source->outbox.send.fill(source->outbox.send.context) >= 128)
        return false;
    return !is_mass || source->now_ns >= due_ns + source->services[item->svc].linger.image_ns;
}

/* One piece of news of an item but its image; false if there is none. */
static bool news_take(struct rrmp_source *source, uint32_t number, struct rrmp_source_event *event)
{
    struct source_item *item = source_item_at(source, number);

    if (item->news & NEWS_WANTED) {
        item->news &= (uint8_t) ~(NEWS_WANTED | NEWS_PRIORITY | NEWS_ACTIVE);
        item->told_active = source_item_is_active(source, item);
        item_event(source, number, RRMP_SOURCE_WANTED, event);
        struct source_work *work = source_work_of(source, item);
        event->message =
            (struct rrmp_view){ .bytes = work->request, .length = work->request_length };
        work->request = NULL;
        work->request_length = 0;
        return true;
    }
    if (item->news & NEWS_ACTIVE) {
        item->news &= (uint8_t)~NEWS_ACTIVE;
        item->told_active = source_item_is_active(source, item);
        item_event(source, number, RRMP_SOURCE_ACTIVE, event);
        return true;
    }
    if (item->news & NEWS_PRIORITY) {
        item->news &= (uint8_t)~NEWS_PRIORITY;
        item_event(source, number, RRMP_SOURCE_PRIORITY, event);
        return true;
    }
    if (item->news & NEWS_UNWANTED) {
        item->news &= (uint8_t)~NEWS_UNWANTED;
        source->ending = number;
        item_event(source, number, RRMP_SOURCE_UNWANTED, event);
        return true;
    }
    return false;
}

static void list_pop(struct rrmp_source *source, enum news_list list)
{
    uint32_t number = source->list_head[list];
    struct source_item *item = source_item_at(source, number);

    item->lists &= (uint8_t) ~(1u << list);
    source->list_head[list] = source_work_of(source, item)->list_next[list];
    if (source->list_head[list] == MD_NIL)
        source->list_tail[list] = MD_NIL;
    source_work_settle(source, number);
}

/* The next news of any item, images last. */
static bool news_next(struct rrmp_source *source, struct rrmp_source_event *event)
{
    while (source->list_head[LIST_NEWS] != MD_NIL) {
        if (news_take(source, source->list_head[LIST_NEWS], event))
            return true;
        list_pop(source, LIST_NEWS);
    }
    return false;
}

static bool image_next(struct rrmp_source *source, struct rrmp_source_event *event)
{
    while (source->list_head[LIST_IMAGES] != MD_NIL) {
        uint32_t number = source->list_head[LIST_IMAGES];
        struct source_item *item = source_item_at(source, number);
        bool is_due = item->news & NEWS_IMAGE;

        if (is_due && !image_may_go(source, item))
            return false;
        list_pop(source, LIST_IMAGES);
        if (!is_due)
            continue; /* an image went out meanwhile */
        item->news &= (uint8_t)~NEWS_IMAGE;
        source->image_due_count--;
        item->image_told = true;
        item_event(source, number, RRMP_SOURCE_IMAGE_WANTED, event);
        return true;
    }
    return false;
}

static bool gone_take(struct rrmp_source *source, struct rrmp_source_event *event)
{
    if (source->gone_head == MD_NIL)
        return false;
    uint32_t number = source->gone_head;
    const struct source_ask *ask = source_ask_at(source, number);
    source->gone_head = ask->pending_next;
    *event = (struct rrmp_source_event){
        .kind = RRMP_SOURCE_ASK_GONE, .svc = ask->svc, .item = RRMP_ITEM_NONE, .ask = number
    };
    source_ask_free(source, number);
    return true;
}

size_t rrmp_source_event(struct rrmp_source *source, struct rrmp_source_event *events, size_t max)
{
    size_t count = 0;

    source_ending_free(source);
    while (count < max) {
        if (news_next(source, &events[count])) {
            count++;
            /* The index of an ending item is given back at the next call: stop here. */
            if (source->ending != MD_NIL)
                return count;
        } else if (source->event_head != source->event_tail) {
            events[count++] = source->events[source->event_head++ % SOURCE_EVENTS];
        } else if (gone_take(source, &events[count])) {
            count++;
        } else if (image_next(source, &events[count])) {
            return count + 1; /* let it be written first: the budget decides about the next */
        } else {
            break;
        }
    }
    return count;
}
