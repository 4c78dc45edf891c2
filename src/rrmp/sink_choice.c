/* sink_choice.c - the instance that an item is asked for at. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sink_impl.h"

#include <string.h>

static bool has_quality(const struct sink_link *link, const struct sink_wish *wish)
{
    struct rrmp_view rest = link->description.tlvs;
    struct rrmp_view value;
    bool has_list = false;
    uint8_t type;

    while (rrmp_tlv_next(&rest, &type, &value)) {
        if (type != RRMP_TLV_QOS)
            continue;
        has_list = value.length >= 5;
        for (size_t i = 0; i + 5 <= value.length; i += 5) {
            if (memcmp(value.bytes + i, wish->key.bytes + 3, 5) == 0)
                return true;
        }
    }
    return !has_list;
}

struct sink_wish sink_wish_of(const struct rrmp_sink *sink, const struct sink_item *item)
{
    return (struct sink_wish){
        .service = item->service,
        .is_private = item->is_private,
        .is_follower = item->is_follower,
        .key = sink_key(sink, item),
        .key_hash = sink_key_hash(sink, item),
        .work = sink_work_of(sink, item),
    };
}

bool sink_wish_is_refused_at(const struct rrmp_sink *sink, const struct sink_wish *wish,
                             uint32_t link)
{
    return sink_refusals_has(&wish->work->refused, sink->now_ns,
                             sink_link_at(sink, link)->instance);
}

bool sink_link_usable(const struct rrmp_sink *sink, const struct sink_wish *wish, uint32_t number)
{
    const struct sink_link *link = sink_link_at(sink, number);
    const uint16_t wanted = RRMP_SERVICE_UP | RRMP_SERVICE_ACCEPTING;

    if ((link->row_state & wanted) != wanted || sink_instance_at(sink, link->instance)->is_leaving)
        return false;
    if (!wish)
        return true;
    uint8_t domain = wish->key.bytes[0];
    if (link->has_capabilities && !(link->capabilities[domain / 8] & 1u << domain % 8))
        return false;
    if (wish->is_private && !(link->description.features & RRMP_FEATURE_PRIVATE))
        return false;
    if (wish->is_follower && !(link->description.features & RRMP_FEATURE_FOLLOW))
        return false;
    return has_quality(link, wish);
}

/* Best priority first; among equals the largest score, which all p2ps compute alike. */
uint32_t sink_wish_choose(const struct rrmp_sink *sink, const struct sink_wish *wish)
{
    uint32_t best = MD_NIL;
    uint64_t best_score = 0;

    for (uint32_t n = sink->services[wish->service].links; n != MD_NIL;
         n = sink_link_at(sink, n)->service_next) {
        const struct sink_link *link = sink_link_at(sink, n);
        if (!sink_link_usable(sink, wish, n) || sink_wish_is_refused_at(sink, wish, n))
            continue;
        uint64_t mix = wish->key_hash ^ sink_instance_at(sink, link->instance)->name_hash;
        uint64_t score = (md_splitmix64(&mix) >> 16) / (1u + link->description.load_factor);
        if (best != MD_NIL) {
            const struct sink_link *other = sink_link_at(sink, best);
            if (link->description.priority > other->description.priority)
                continue;
            bool is_tie = link->description.priority == other->description.priority;
            if (is_tie && score <= best_score)
                continue;
        }
        best = n;
        best_score = score;
    }
    return best;
}

uint32_t sink_link_choose(const struct rrmp_sink *sink, const struct sink_item *item)
{
    const struct sink_wish wish = sink_wish_of(sink, item);

    return sink_wish_choose(sink, &wish);
}
