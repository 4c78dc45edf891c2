/* sink_lists.c - the items of a link, those of a group side by side, and the items of no link. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sink_impl.h"

/*
 * Each item that is not dying is in one list: that of its link, or that of its service while it
 * has none. In the list of a link the items of one run, a few groups, follow each other: a state
 * of a group looks at its run, whatever else the service has. An item enters before the others of
 * its run: a walk that puts back what it has seen does not meet it again.
 */

static uint32_t run_of(uint16_t group)
{
    return group % SINK_RUNS;
}

static uint32_t *head_of(struct rrmp_sink *sink, const struct sink_item *item)
{
    return item->link == MD_NIL ? &sink->services[item->service].apart
                                : &sink_link_at(sink, item->link)->items;
}

static uint32_t *first_of(struct rrmp_sink *sink, const struct sink_item *item)
{
    return item->link == MD_NIL ? head_of(sink, item)
                                : &sink_link_at(sink, item->link)->runs[run_of(item->group)];
}

static void enter(struct rrmp_sink *sink, uint32_t number)
{
    struct sink_item *item = sink_item_at(sink, number);
    uint32_t *head = head_of(sink, item);
    uint32_t *first = first_of(sink, item);
    uint32_t next = *first == MD_NIL ? *head : *first;

    item->list_next = next;
    item->list_prev = next == MD_NIL ? MD_NIL : sink_item_at(sink, next)->list_prev;
    if (next != MD_NIL)
        sink_item_at(sink, next)->list_prev = number;
    if (item->list_prev == MD_NIL)
        *head = number;
    else
        sink_item_at(sink, item->list_prev)->list_next = number;
    *first = number;
}

static uint32_t next_in_run(const struct rrmp_sink *sink, const struct sink_item *item)
{
    uint32_t next = item->list_next;

    if (next == MD_NIL || item->link == MD_NIL)
        return next;
    return run_of(sink_item_at(sink, next)->group) == run_of(item->group) ? next : MD_NIL;
}

void sink_list_take(struct rrmp_sink *sink, uint32_t number)
{
    const struct sink_item *item = sink_item_at(sink, number);
    uint32_t *head = head_of(sink, item);
    uint32_t *first = first_of(sink, item);

    if (*first == number)
        *first = next_in_run(sink, item);
    if (item->list_prev == MD_NIL)
        *head = item->list_next;
    else
        sink_item_at(sink, item->list_prev)->list_next = item->list_next;
    if (item->list_next != MD_NIL)
        sink_item_at(sink, item->list_next)->list_prev = item->list_prev;
}

void sink_list_init(struct sink_link *link)
{
    link->items = MD_NIL;
    for (uint32_t i = 0; i < SINK_RUNS; i++)
        link->runs[i] = MD_NIL;
}

void sink_list_put(struct rrmp_sink *sink, uint32_t number)
{
    sink_item_at(sink, number)->link = MD_NIL;
    enter(sink, number);
}

void sink_item_set_link(struct rrmp_sink *sink, uint32_t number, uint32_t link)
{
    struct sink_item *item = sink_item_at(sink, number);

    sink_list_take(sink, number);
    if (item->link != MD_NIL)
        sink_link_at(sink, item->link)->item_count--;
    item->link = link;
    if (link != MD_NIL)
        sink_link_at(sink, link)->item_count++;
    enter(sink, number);
}

void sink_item_set_group(struct rrmp_sink *sink, uint32_t number, uint16_t group)
{
    struct sink_item *item = sink_item_at(sink, number);

    if (item->group == group)
        return;
    sink_list_take(sink, number);
    item->group = group;
    enter(sink, number);
}

uint32_t sink_run_first(const struct rrmp_sink *sink, uint32_t link, uint16_t group)
{
    const struct sink_link *its = sink_link_at(sink, link);

    return group == RRMP_GROUP_NONE ? its->items : its->runs[run_of(group)];
}

uint32_t sink_run_next(const struct rrmp_sink *sink, uint32_t number, uint16_t group)
{
    const struct sink_item *item = sink_item_at(sink, number);

    return group == RRMP_GROUP_NONE ? item->list_next : next_in_run(sink, item);
}

/* ---- the items that a STATE is about ---- */

static uint32_t link_of(const struct rrmp_sink *sink, const struct rrmp_sink_event *event)
{
    uint32_t n = sink->services[event->service].links;

    while (n != MD_NIL && sink_link_at(sink, n)->instance != event->instance)
        n = sink_link_at(sink, n)->service_next;
    return n;
}

/* Of a group: what its record did not merge is in its run, the rest in that of the other group. */
static uint32_t next_of_group(const struct rrmp_sink *sink, const struct rrmp_sink_event *event,
                              uint32_t number)
{
    uint16_t group = event->group;

    if (number != RRMP_ITEM_NONE) {
        uint32_t next = next_in_run(sink, sink_item_at(sink, number));
        bool is_last = event->group2 == RRMP_GROUP_NONE ||
                       run_of(sink_item_at(sink, number)->group) == run_of(event->group2);
        if (next != MD_NIL || is_last)
            return next;
        group = event->group2;
    }
    uint32_t link = link_of(sink, event);
    if (link == MD_NIL)
        return MD_NIL;
    uint32_t first = sink_run_first(sink, link, group);
    if (first == MD_NIL && group == event->group && event->group2 != RRMP_GROUP_NONE)
        first = sink_run_first(sink, link, event->group2);
    return first;
}

/* Of a service: its items may be at other links by now. */
static uint32_t next_of_service(const struct rrmp_sink *sink, const struct rrmp_sink_event *event,
                                uint32_t number)
{
    const struct sink_service *service = &sink->services[event->service];
    uint32_t next = service->apart;
    uint32_t link = service->links;

    if (number != RRMP_ITEM_NONE) {
        const struct sink_item *item = sink_item_at(sink, number);

        next = item->list_next;
        if (item->link != MD_NIL)
            link = sink_link_at(sink, item->link)->service_next;
    }
    for (; next == MD_NIL && link != MD_NIL; link = sink_link_at(sink, link)->service_next)
        next = sink_link_at(sink, link)->items;
    return next;
}

uint32_t rrmp_sink_item_next(const struct rrmp_sink *sink, const struct rrmp_sink_event *event,
                             uint32_t number)
{
    if (event->service >= sink->service_count)
        return RRMP_ITEM_NONE;
    do {
        number = event->scope == RRMP_SINK_SCOPE_GROUP ? next_of_group(sink, event, number)
                                                       : next_of_service(sink, event, number);
    } while (number != MD_NIL && sink_item_at(sink, number)->stamp != event->stamp);
    return number;
}
