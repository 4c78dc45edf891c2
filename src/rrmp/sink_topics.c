/* sink_topics.c - see sink_topics.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sink_topics.h"

/*
 * In a mesh a node is not sent what none of its users wants. A service is wanted from its first
 * item on, or from when it is followed. That is said ahead of the first REQUEST, by the same way
 * out, and reaches each instance ahead of it: no BIND, no image and no update behind them is left
 * out.
 *
 * Records of a service that is not wanted may come, since another user of the node wants it, or
 * not; so their numbers say nothing. They count from the first one that comes after the wish. Until
 * then next_seq is far behind, and any number passes it. Where none comes an INSTANCE says how many
 * there were: one that was sent after the wish had got there, for which a second is enough. If it
 * was not, a question too many is all that comes of it. And where the backbone has told a loss
 * meanwhile, it may have been the first record behind the wish: they count from the last number
 * that is known then, which is again a question too many at worst.
 */
#define LOOK_NS    1000000000ull
#define SETTLED_NS 1000000000ull
#define FAR        0x40000000u

static void tell(struct rrmp_sink *sink)
{
    uint32_t topics[BACKBONE_TOPICS_MAX + 1];
    uint32_t count = 0;

    if (!sink->filters)
        return;
    for (uint16_t i = 0; i < sink->service_count && count <= BACKBONE_TOPICS_MAX; i++) {
        const struct sink_service *service = &sink->services[i];
        if (service->is_wanted)
            topics[count++] = rrmp_topic(service->name.bytes, service->name.length);
    }
    rrmp_outbox_want(&sink->outbox, topics, count);
}

static bool is_wanted(const struct rrmp_sink *sink, const struct sink_link *link)
{
    return link->service != RRMP_SERVICE_NONE && sink->services[link->service].is_wanted;
}

static void begin(struct sink_link *link)
{
    if (link->has_begun)
        return;
    link->has_begun = true;
    link->begin_seq = link->next_seq;
    link->next_seq -= FAR;
}

static void settle(struct sink_link *link)
{
    if (link->has_begun)
        link->next_seq = link->begin_seq;
    link->has_begun = false;
}

void sink_topics_begin(struct rrmp_sink *sink, bool filters)
{
    sink->filters = filters && sink->config.send.want;
    for (uint16_t i = 0; i < sink->service_count; i++)
        sink->services[i].wanted_ns = sink->now_ns; /* the wish is on its way anew */
    tell(sink);
}

void sink_topic_want(struct rrmp_sink *sink, uint16_t number)
{
    struct sink_service *service = &sink->services[number];

    if (service->is_wanted)
        return;
    service->is_wanted = true;
    service->wanted_ns = sink->now_ns;
    if (!sink->filters)
        return;
    for (uint32_t n = service->links; n != MD_NIL; n = sink_link_at(sink, n)->service_next)
        begin(sink_link_at(sink, n));
    tell(sink);
}

void sink_topic_joins(struct rrmp_sink *sink, struct sink_link *link)
{
    if (sink->filters && is_wanted(sink, link))
        begin(link);
}

bool sink_topic_lost(struct rrmp_sink *sink, struct sink_link *link)
{
    bool is_first = link->has_begun;

    link->has_begun = false;
    return !sink->filters || (is_wanted(sink, link) && !is_first);
}

void sink_topics_unsure(struct rrmp_sink *sink, uint32_t instance)
{
    for (uint32_t n = 0; n < sink->links.high; n++) {
        struct sink_link *link = sink_link_at(sink, n);

        if (link->in_use && link->instance == instance)
            settle(link);
    }
}

bool sink_topic_is_settled(const struct rrmp_sink *sink, struct sink_link *link)
{
    if (link->has_begun && sink->now_ns - sink->services[link->service].wanted_ns < SETTLED_NS)
        return false;
    settle(link);
    return true;
}

static void want_no_more(struct rrmp_sink *sink, struct sink_service *service)
{
    service->is_wanted = false;
    for (uint32_t n = service->links; n != MD_NIL; n = sink_link_at(sink, n)->service_next)
        settle(sink_link_at(sink, n));
}

static bool is_idle(const struct sink_service *service)
{
    return service->is_wanted && service->item_count == 0 && !service->is_followed;
}

void sink_topics_tick(struct rrmp_sink *sink)
{
    bool has_changed = false;

    if (sink->now_ns < sink->topics_ns)
        return;
    sink->topics_ns = sink->now_ns + LOOK_NS;
    for (uint16_t i = 0; i < sink->service_count; i++) {
        if (!is_idle(&sink->services[i]))
            continue;
        want_no_more(sink, &sink->services[i]);
        has_changed = true;
    }
    if (has_changed)
        tell(sink);
}

uint64_t sink_topics_deadline(const struct rrmp_sink *sink)
{
    for (uint16_t i = 0; i < sink->service_count && sink->filters; i++) {
        if (is_idle(&sink->services[i]))
            return sink->topics_ns;
    }
    return RRMP_NEVER;
}

void sink_topic_forget(struct rrmp_sink *sink, uint16_t number)
{
    bool was_wanted = sink->services[number].is_wanted;

    want_no_more(sink, &sink->services[number]);
    if (was_wanted)
        tell(sink);
}
