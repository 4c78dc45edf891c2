/* sink_tell.c - see sink_tell.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sink_tell.h"

#include "sink_mirror.h"

/* Items that a mirror goes on with hear nothing; those awaiting their own image are not cleared by
 * a group OK. */
static bool is_left_out(const struct sink_item *item, uint8_t state)
{
    if ((state & 7) == RRMP_DATA_OK && (item->suspect_sent || item->state == RRMP_SINK_QUEUED))
        return true;
    return item->is_resuming && item->state == RRMP_SINK_LIVE;
}

void sink_stays_behind(struct rrmp_sink *sink, uint32_t number)
{
    struct sink_item *item = sink_item_at(sink, number);

    if (!item->is_image_open && sink_work_of(sink, item)->tag == 0)
        return;
    sink_work_take(sink, number)->stays_behind = true;
    item->suspect_sent = true;
}

/* A state that came behind the BIND of an image by unicast stands behind its parts. */
static void hold_state(struct rrmp_sink *sink, uint32_t number, uint32_t instance, uint8_t state,
                       uint8_t code, struct rrmp_view text)
{
    const struct sink_item *item = sink_item_at(sink, number);
    const struct sink_slot *slot =
        item->handle == RRMP_HANDLE_NONE
            ? NULL
            : sink_slot_find(sink, sink_instance_at(sink, instance), item->handle);
    struct rrmp_sink_event event = { .kind = RRMP_SINK_STATE,
                                     .scope = RRMP_SINK_SCOPE_ITEM,
                                     .state = state,
                                     .code = code,
                                     .service = item->service,
                                     .instance = (uint16_t)instance,
                                     .group = item->group,
                                     .item = number,
                                     .user = item->user };

    /* Those in step have heard of their end; who waits for the image has none to hear of. */
    if (item->state == RRMP_SINK_LIVE && state >> 3 != RRMP_STATE_OPEN_OK >> 3)
        event.state = RRMP_STATE_OPEN_SUSPECT;
    if (slot && slot->bits & SLOT_HOLD)
        sink_hold(sink, number, &event, text);
}

struct rrmp_sink_event *sink_link_tell(struct rrmp_sink *sink, uint32_t number, uint16_t group,
                                       uint8_t state, uint8_t code, struct rrmp_view text,
                                       enum sink_said said)
{
    const struct sink_link *link = sink_link_at(sink, number);
    uint32_t stamp = ++sink->next_stamp;
    bool has_any = false;
    bool is_partial = false;

    for (uint32_t n = sink_run_first(sink, number, group), next; n != MD_NIL; n = next) {
        struct sink_item *item = sink_item_at(sink, n);
        bool is_meant = group == RRMP_GROUP_NONE || item->group == group;
        next = sink_run_next(sink, n, group);
        if (is_meant && is_left_out(item, state)) {
            is_meant = false;
            is_partial = true;
        }
        if (is_meant) {
            item->stamp = stamp;
            has_any = true;
            sink_place_told(sink, n, state);
            if (said != SINK_SAID && item->had_image)
                item->suspect_sent = true;
            if (said == SINK_STAYS)
                sink_stays_behind(sink, n);
            if (said != SINK_LOST)
                hold_state(sink, n, link->instance, state, code, text);
        }
    }
    if (!has_any)
        return NULL;
    /* Consumers may believe that another item is in the group. */
    is_partial = is_partial || sink->services[link->service].regrouped_count > 0;
    struct rrmp_sink_event *event = sink_event_put(sink, RRMP_SINK_STATE);
    event->scope = group == RRMP_GROUP_NONE ? RRMP_SINK_SCOPE_SERVICE : RRMP_SINK_SCOPE_GROUP;
    event->service = link->service;
    event->instance = (uint16_t)link->instance;
    event->group = group;
    event->group2 = RRMP_GROUP_NONE;
    event->state = state;
    event->code = code;
    event->stamp = stamp;
    event->flags = is_partial ? RRMP_SINK_STATE_PARTIAL : 0;
    sink->has_scoped = true;
    event->message = text;
    return event;
}
