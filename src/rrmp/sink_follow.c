/* sink_follow.c - the items that others have open: listed, and seen in the stream. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sink_impl.h"

#define SEC      1000000000ull
#define AGAIN_NS (1 * SEC)  /* a part that has not come is asked for again */
#define KEEP_NS  (20 * SEC) /* an instance forgets its followers after 60 s */

static bool is_followed(const struct rrmp_sink *sink, const struct sink_link *link)
{
    return link->service != RRMP_SERVICE_NONE && sink->services[link->service].is_followed;
}

void sink_list_begin(struct rrmp_sink *sink, uint32_t number)
{
    struct sink_link *link = sink_link_at(sink, number);

    if (!is_followed(sink, link))
        return;
    link->list_from = 0;
    link->list_id = 0; /* what is on its way is of before */
    link->list_ns = sink->now_ns;
}

void rrmp_sink_follow(struct rrmp_sink *sink, uint64_t now_ns, uint16_t service)
{
    sink->now_ns = now_ns;
    if (service >= sink->service_count || sink->services[service].is_followed)
        return;
    sink->services[service].is_followed = true;
    for (uint32_t n = sink->services[service].links; n != MD_NIL;
         n = sink_link_at(sink, n)->service_next)
        sink_list_begin(sink, n);
}

static struct rrmp_sink_event *bound(struct rrmp_sink *sink, const struct sink_link *link,
                                     enum rrmp_type type, struct rrmp_view keys)
{
    struct rrmp_sink_event *event = sink_event_put(sink, RRMP_SINK_BOUND);

    event->service = link->service;
    event->instance = (uint16_t)link->instance;
    event->type = (uint8_t)type;
    event->message = keys;
    return event;
}

void sink_listpart_in(struct rrmp_sink *sink, uint32_t number, const struct rrmp_listpart *part)
{
    struct sink_link *link = sink_link_at(sink, number);

    if (link->list_id == 0 || part->id != link->list_id)
        return; /* one that was asked for again, or of before a loss */
    link->list_id = 0;
    sink->stats.list_parts++;
    /* An instance that does not get on would be asked for ever. */
    bool is_end = part->next == RRMP_LIST_END || part->next <= link->list_from;
    link->list_from = is_end ? RRMP_LIST_END : part->next;
    link->list_ns = sink->now_ns + (is_end ? KEEP_NS : 0);
    link->list_heard_ns = sink->now_ns;
    if (part->count > 0)
        bound(sink, link, RRMP_LISTPART, part->keys);
}

void sink_follow_see(struct rrmp_sink *sink, uint32_t number, const struct rrmp_record *record)
{
    const struct sink_link *link = sink_link_at(sink, number);
    struct rrmp_view key = { .bytes = NULL, .length = 0 };

    if (!is_followed(sink, link))
        return;
    if (record->header.type == RRMP_BIND)
        key = record->u.bind.key;
    else if (record->header.type == RRMP_IMAGE &&
             !(record->u.image.flags & (RRMP_IMAGE_SNAPSHOT | RRMP_IMAGE_PRIVATE)))
        key = record->u.image.key;
    if (key.length > 0 && sink_item_lookup(sink, link->service, key) == MD_NIL)
        bound(sink, link, RRMP_BIND, key);
}

/* Behind the end: nothing but that we still follow. Where that was not heard for too long, items
 * may have been bound without a word. */
static void list_ask(struct rrmp_sink *sink, struct sink_link *link)
{
    if (link->list_from == RRMP_LIST_END && sink->now_ns - link->list_heard_ns > 2 * KEEP_NS)
        link->list_from = 0;
    struct rrmp_record record = {
        .header = { .type = RRMP_LISTREQ, .svc = link->svc },
        .u.listreq = { .id = ++sink->next_query ? sink->next_query : ++sink->next_query,
                       .from = link->list_from },
    };

    link->list_id = record.u.listreq.id;
    link->list_ns = sink->now_ns + AGAIN_NS;
    sink_send(sink, link->instance, &record);
}

void sink_lists_tick(struct rrmp_sink *sink)
{
    for (uint32_t n = 0; n < sink->links.high && sink->session != 0; n++) {
        struct sink_link *link = sink_link_at(sink, n);
        if (!link->in_use || sink->now_ns < link->list_ns)
            continue;
        if (link->description.features & RRMP_FEATURE_FOLLOW)
            list_ask(sink, link);
        else
            link->list_ns = RRMP_NEVER; /* an older instance: what is bound from now on is seen */
    }
}
