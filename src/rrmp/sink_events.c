/* sink_events.c - the sink's events, the records it holds, and items that have ended. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sink_mirror.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

bool sink_event_room(const struct rrmp_sink *sink)
{
    return sink->event_tail - sink->event_head <= SINK_EVENTS - SINK_EVENT_RESERVE;
}

/* From the first one again whenever none is left: those lie in the cache. */
static struct sink_event_cell *cell_take(struct rrmp_sink *sink)
{
    MD_ASSERT(sink->event_tail - sink->event_head < SINK_EVENTS);
    if (sink->event_head == sink->event_tail)
        sink->event_head = sink->event_tail = 0;
    return &sink->events[sink->event_tail++ % SINK_EVENTS];
}

static struct sink_event_cell *cell_put(struct rrmp_sink *sink)
{
    struct sink_event_cell *cell = cell_take(sink);

    memset(cell, 0, sizeof(*cell));
    return cell;
}

struct rrmp_sink_event *sink_event_put(struct rrmp_sink *sink, enum rrmp_sink_event_kind kind)
{
    struct rrmp_sink_event *event = &cell_put(sink)->event;

    event->kind = (uint8_t)kind;
    event->service = RRMP_SERVICE_NONE;
    event->instance = 0xFFFF;
    event->group = RRMP_GROUP_NONE;
    event->item = RRMP_ITEM_NONE;
    return event;
}

struct rrmp_sink_event *sink_item_event(struct rrmp_sink *sink, enum rrmp_sink_event_kind kind,
                                        uint32_t number)
{
    const struct sink_item *item = sink_item_at(sink, number);
    struct rrmp_sink_event *event = sink_event_put(sink, kind);

    event->item = number;
    event->user = item->user;
    event->service = item->service;
    event->group = item->group;
    if (item->link != MD_NIL)
        event->instance = (uint16_t)sink_link_at(sink, item->link)->instance;
    return event;
}

void sink_tick_event(struct rrmp_sink *sink, uint32_t number, uint8_t type, uint8_t to,
                     uint32_t seq, struct rrmp_view message)
{
    const struct sink_item *item = sink_item_at(sink, number);
    struct sink_event_cell *cell = cell_take(sink);
    struct rrmp_sink_event *event = &cell->event;

    cell->chain = NULL;
    event->kind = RRMP_SINK_MESSAGE;
    event->scope = 0;
    event->to = to;
    event->type = type;
    event->state = event->code = 0;
    event->flags = event->part = event->group2 = 0;
    event->service = item->service;
    event->instance =
        item->link == MD_NIL ? 0xFFFF : (uint16_t)sink_link_at(sink, item->link)->instance;
    event->group = item->group;
    event->item = number;
    event->item_seq = seq;
    event->stamp = 0;
    event->user = item->user;
    event->message = message;
    if (item->place != MD_NIL && to & RRMP_SINK_TO_STEP)
        sink_place_pass(sink, number, message);
}

/* ---- chains of kept records ---- */

bool sink_chain_add(struct rrmp_sink *sink, struct sink_chain *chain,
                    const struct rrmp_sink_event *event, struct rrmp_view message)
{
    size_t size = sizeof(struct sink_held) + message.length;

    if (sink->stats.held_bytes_now + size > sink->config.hold_bytes)
        return false;
    struct sink_held *held = malloc(size);
    if (!held)
        return false;
    held->next = NULL;
    held->event = *event;
    held->length = (uint32_t)message.length;
    if (message.length)
        memcpy(held->bytes, message.bytes, message.length);
    held->event.message = (struct rrmp_view){ .bytes = held->bytes, .length = message.length };
    if (chain->tail)
        chain->tail->next = held;
    else
        chain->head = held;
    chain->tail = held;
    chain->count++;
    chain->bytes += size;
    sink->stats.held_bytes_now += size;
    return true;
}

static struct sink_held *held_free(struct rrmp_sink *sink, struct sink_held *held)
{
    struct sink_held *next = held->next;

    sink->stats.held_bytes_now -= sizeof(*held) + held->length;
    free(held);
    return next;
}

void sink_chain_free(struct rrmp_sink *sink, struct sink_chain *chain)
{
    while (chain->head)
        chain->head = held_free(sink, chain->head);
    memset(chain, 0, sizeof(*chain));
}

/* The chain's records are handed out in this place of the events; the chain is empty afterwards. */
void sink_chain_put_event(struct rrmp_sink *sink, struct sink_chain *chain)
{
    if (chain->head)
        cell_put(sink)->chain = chain->head;
    memset(chain, 0, sizeof(*chain));
}

static void spent_free(struct rrmp_sink *sink)
{
    while (sink->spent)
        sink->spent = held_free(sink, sink->spent);
}

static void copy_event(struct rrmp_sink_event *to, const struct rrmp_sink_event *from)
{
    if (from->kind == RRMP_SINK_MESSAGE)
        memcpy(to, from, offsetof(struct rrmp_sink_event, cookie));
    else
        *to = *from;
}

size_t rrmp_sink_event(struct rrmp_sink *sink, struct rrmp_sink_event *events, size_t max)
{
    size_t count = 0;

    spent_free(sink);
    while (count < max && sink->event_head != sink->event_tail) {
        struct sink_event_cell *cell = &sink->events[sink->event_head % SINK_EVENTS];

        if (cell->chain) {
            struct sink_held *held = cell->chain;
            cell->chain = held->next;
            events[count++] = held->event;
            held->next = sink->spent;
            sink->spent = held;
            if (cell->chain)
                continue;
        } else if (cell->event.item != RRMP_ITEM_NONE || cell->event.kind != RRMP_SINK_MESSAGE) {
            copy_event(&events[count++], &cell->event);
        }
        sink->event_head++;
    }
    if (sink->event_head == sink->event_tail)
        sink->has_scoped = false;
    return count;
}

/* The item is closed: nothing of it may come out any more. What is left is an empty MESSAGE
 * without item, which rrmp_sink_event() passes over. */
void sink_event_forget(struct rrmp_sink *sink, uint32_t item)
{
    for (uint32_t i = sink->event_head; i != sink->event_tail; i++) {
        struct sink_event_cell *cell = &sink->events[i % SINK_EVENTS];

        if (cell->chain && cell->chain->event.item == item) {
            while (cell->chain)
                cell->chain = held_free(sink, cell->chain);
            cell->event.item = item;
        }
        if (cell->event.item == item && !cell->chain) {
            memset(cell, 0, sizeof(*cell));
            cell->event.kind = RRMP_SINK_MESSAGE;
            cell->event.item = RRMP_ITEM_NONE;
        }
    }
}

/* Items that have ended keep their number until their last event has been taken. */
void sink_dying_free(struct rrmp_sink *sink)
{
    if (sink->dying == MD_NIL || sink->event_head != sink->event_tail)
        return;
    while (sink->dying != MD_NIL) {
        uint32_t number = sink->dying;

        sink->dying = sink_item_at(sink, number)->queue_next;
        sink_item_give(sink, number);
    }
}

void sink_events_fini(struct rrmp_sink *sink)
{
    for (uint32_t i = sink->event_head; sink->events && i != sink->event_tail; i++) {
        struct sink_event_cell *cell = &sink->events[i % SINK_EVENTS];
        while (cell->chain)
            cell->chain = held_free(sink, cell->chain);
    }
    spent_free(sink);
    free(sink->events);
}
