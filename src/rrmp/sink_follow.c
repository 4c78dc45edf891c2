/* sink_follow.c - the items that others have open: listed, and seen in the stream. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sink_follow.h"

#include "sink_topics.h"

#define SEC          1000000000ull
#define AGAIN_NS     (1 * SEC) /* a part that has not come is asked for again; doubled each time */
#define AGAIN_MAX_NS (4 * SEC)
#define KEEP_NS      (20 * SEC) /* an instance forgets its followers after 60 s */
#define PAUSE_NS     16000000u  /* for each part, from one beginning of a list to the next; */
#define PAUSE_MIN_NS (1 * SEC)
#define PAUSE_MAX_NS (32 * SEC)

static bool is_followed(const struct rrmp_sink *sink, const struct sink_link *link)
{
    return link->service != RRMP_SERVICE_NONE && sink->services[link->service].is_followed;
}

/* All of it has come. One that has to come again waits, the longer the more parts it has: under
 * loss the last items are listed, too, and the source has its rest. */
static void list_end(struct rrmp_sink *sink, struct sink_link *link)
{
    uint64_t pause = link->list_parts * (uint64_t)PAUSE_NS;

    link->list_from = RRMP_LIST_END;
    link->list_ns = sink->now_ns + KEEP_NS;
    if (!link->list_again)
        return;
    link->list_again = false;
    pause = pause > PAUSE_MIN_NS ? pause : PAUSE_MIN_NS;
    pause = pause < PAUSE_MAX_NS ? pause : PAUSE_MAX_NS;
    uint64_t due_ns = link->list_began_ns + pause;
    link->list_from = 0;
    link->list_id = 0; /* an answer that is under way is of before */
    link->list_ns = due_ns > sink->now_ns ? due_ns : sink->now_ns;
}

void sink_list_begin(struct rrmp_sink *sink, uint32_t number)
{
    struct sink_link *link = sink_link_at(sink, number);

    if (!is_followed(sink, link))
        return;
    if (link->list_began_ns == 0) {
        link->list_from = 0;
        link->list_ns = sink->now_ns;
    } else if (!link->list_again) {
        link->list_again = true;
        if (link->list_from == RRMP_LIST_END)
            list_end(sink, link);
    }
}

void rrmp_sink_follow(struct rrmp_sink *sink, uint64_t now_ns, uint16_t service)
{
    sink->now_ns = now_ns;
    if (service >= sink->service_count || sink->services[service].is_followed)
        return;
    sink->services[service].is_followed = true;
    sink_topic_want(sink, service);
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

/* ---- where a follower is ---- */

uint32_t sink_follow_link(const struct rrmp_sink *sink, uint16_t service, uint32_t instance)
{
    uint32_t n = sink->services[service].links;

    while (n != MD_NIL && sink_link_at(sink, n)->instance != instance)
        n = sink_link_at(sink, n)->service_next;
    return n;
}

void sink_follower_place(struct rrmp_sink *sink, uint32_t number, uint32_t link)
{
    const struct sink_wish wish = sink_wish_of(sink, sink_item_at(sink, number));

    if (link == MD_NIL || !sink_link_usable(sink, &wish, link)) {
        sink_item_place(sink, number, QUEUE_NEW);
        return;
    }
    sink_item_set_link(sink, number, link);
    sink_item_set_state(sink, number, RRMP_SINK_QUEUED);
    sink_queue_put(sink, number, QUEUE_NEW);
}

/* Somebody has the item open at this link: what was said of it there before does not hold now. */
static void is_bound_at(struct rrmp_sink *sink, uint32_t number, uint32_t link)
{
    struct sink_item *item = sink_item_at(sink, number);

    if (!item->is_follower)
        return;
    if (item->work != MD_NIL) {
        struct sink_work *work = sink_work_take(sink, number);
        sink_refusals_forgive(&work->refused, sink_link_at(sink, link)->instance);
        work->refusals = 0;
        work->is_bound_since = work->is_bound_since || item->link == link;
    }
    if (item->link == MD_NIL)
        sink_follower_place(sink, number, link);
}

static void lists_begin(struct rrmp_sink *sink, uint16_t service)
{
    for (uint32_t n = sink->services[service].links; n != MD_NIL;
         n = sink_link_at(sink, n)->service_next)
        sink_list_begin(sink, n);
}

static bool is_any_usable(const struct rrmp_sink *sink, uint16_t service)
{
    for (uint32_t n = sink->services[service].links; n != MD_NIL;
         n = sink_link_at(sink, n)->service_next) {
        if (sink_link_usable(sink, NULL, n))
            return true;
    }
    return false;
}

/* An image that another asked for, whole or not, has overtaken what answers our request: the item
 * is bound since. Where it is bound no more the stream says so, in its place. */
bool sink_follower_is_bound(const struct sink_item *item)
{
    return item->state == RRMP_SINK_LIVE || item->state == RRMP_SINK_FILLING;
}

/* With more instances than refusals are remembered, not all may have been asked: then their lists
 * say it. */
void sink_follower_refused(struct rrmp_sink *sink, uint32_t number,
                           const struct rrmp_refuse *refuse)
{
    struct sink_item *item = sink_item_at(sink, number);
    struct sink_work *work = sink_work_take(sink, number);
    uint16_t service = item->service;

    if (work->is_bound_since) { /* sent before, and overtaken */
        sink_item_requeue(sink, number, QUEUE_NEW);
        return;
    }
    bool is_enough = ++work->refusals > SINK_REFUSED;
    sink_item_refuse_at(sink, number, item->link, SINK_REFUSED_NS);
    sink_item_leave(sink, number, 0);
    bool has_choice = sink_link_choose(sink, item) != MD_NIL;
    if (is_enough || (!has_choice && is_any_usable(sink, service))) {
        sink_item_end(sink, number, RRMP_STATE_CLOSED, refuse->code, 0, refuse->text);
        if (is_enough && has_choice)
            lists_begin(sink, service);
        return;
    }
    if (item->had_image && !item->suspect_sent) {
        item->suspect_sent = true;
        sink_item_tell(sink, number, RRMP_STATE_OPEN_SUSPECT, refuse->code, refuse->text);
    }
    sink_item_place(sink, number, QUEUE_NEW);
}

void sink_follower_end(struct rrmp_sink *sink, uint32_t number, uint8_t state, uint8_t code,
                       uint8_t type, struct rrmp_view message)
{
    const struct sink_item *item = sink_item_at(sink, number);
    const struct sink_wish wish = sink_wish_of(sink, item);
    struct rrmp_sink_event event = { .kind = RRMP_SINK_BOUND,
                                     .type = RRMP_BIND,
                                     .service = item->service,
                                     .instance = 0xFFFF,
                                     .group = RRMP_GROUP_NONE,
                                     .item = RRMP_ITEM_NONE };
    struct sink_chain chain = { .head = NULL };
    bool has_other = false;

    for (uint32_t n = sink->services[item->service].links; n != MD_NIL;
         n = sink_link_at(sink, n)->service_next)
        has_other = has_other || (n != item->link && sink_link_usable(sink, &wish, n));
    if (has_other && !sink_chain_add(sink, &chain, &event, sink_key(sink, item)))
        lists_begin(sink, item->service);
    sink_item_end(sink, number, state, code, type, message);
    sink_chain_put_event(sink, &chain); /* behind the end: the caller may open it again */
}

/* ---- what is bound ---- */

void sink_listpart_in(struct rrmp_sink *sink, uint32_t number, const struct rrmp_listpart *part)
{
    struct sink_link *link = sink_link_at(sink, number);

    if (link->list_id == 0 || part->id != link->list_id)
        return; /* one that was asked for again, or of before a loss */
    link->list_id = 0;
    link->list_tries = 0;
    link->list_parts++;
    sink->stats.list_parts++;
    /* An instance that does not get on would be asked for ever. */
    bool is_end = part->next == RRMP_LIST_END || part->next <= link->list_from;
    link->list_heard_ns = link->list_ns = sink->now_ns;
    if (is_end)
        list_end(sink, link);
    else
        link->list_from = part->next;
    if (part->count == 0)
        return;
    bound(sink, link, RRMP_LISTPART, part->keys);
    struct rrmp_view rest = part->keys;
    struct rrmp_view key;
    while (rrmp_list_next(&rest, &key)) {
        uint32_t item = sink_item_lookup(sink, link->service, key);
        if (item != MD_NIL)
            is_bound_at(sink, item, number);
    }
}

void sink_follow_see(struct rrmp_sink *sink, uint32_t number, const struct rrmp_record *record)
{
    const struct sink_link *link = sink_link_at(sink, number);
    struct rrmp_view key = { .bytes = NULL, .length = 0 };

    if (link->service == RRMP_SERVICE_NONE ||
        !(is_followed(sink, link) || sink->services[link->service].has_followers))
        return;
    if (record->header.type == RRMP_BIND)
        key = record->u.bind.key;
    else if (record->header.type == RRMP_IMAGE &&
             !(record->u.image.flags & (RRMP_IMAGE_SNAPSHOT | RRMP_IMAGE_PRIVATE)))
        key = record->u.image.key;
    if (key.length == 0)
        return;
    uint32_t item = sink_item_lookup(sink, link->service, key);
    if (item == MD_NIL && is_followed(sink, link))
        bound(sink, link, RRMP_BIND, key);
    else if (item != MD_NIL)
        is_bound_at(sink, item, number);
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
    uint64_t wait_ns = AGAIN_NS << link->list_tries;
    link->list_ns = sink->now_ns + wait_ns;
    if (wait_ns < AGAIN_MAX_NS)
        link->list_tries++;
    if (link->list_from == 0) {
        link->list_began_ns = sink->now_ns;
        link->list_parts = 0;
    }
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
