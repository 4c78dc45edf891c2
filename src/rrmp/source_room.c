/* source_room.c - at its limit a source closes the least valuable item for a more valuable one. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "source_impl.h"

#include "state.h"

#define ROOM_LOOKS 4096u /* items looked at for one that makes room */

uint16_t source_priority_count(const struct rrmp_request *request)
{
    return (uint16_t)(request->priority_count < UINT16_MAX ? request->priority_count : UINT16_MAX);
}

static uint32_t rank_of(uint8_t priority, uint16_t count)
{
    return 1 + ((uint32_t)priority << 16 | count);
}

/* An item that nobody wants any more is worth nothing. */
static uint32_t rank(const struct rrmp_source *source, const struct source_item *item)
{
    bool is_wanted = source_interest_count(source, item) > 0;

    return is_wanted ? rank_of(item->priority_class, item->priority_count) : 0;
}

/* The least valuable item of the next ROOM_LOOKS, or MD_NIL. */
static uint32_t least_valuable(struct rrmp_source *source)
{
    uint32_t lowest = MD_NIL;
    uint32_t lowest_rank = UINT32_MAX;

    for (uint32_t i = 0; i < ROOM_LOOKS && i < source->items.high; i++) {
        uint32_t n = source->room_item++ % source->items.high;
        const struct source_item *item = source_item_at(source, n);
        if (!item->in_use || item->is_private || item->is_kept || n == source->ending)
            continue;
        if (rank(source, item) < lowest_rank) {
            lowest = n;
            lowest_rank = rank(source, item);
        }
    }
    return lowest;
}

/* At the limit an item of lower priority may have to go. */
bool source_room_make(struct rrmp_source *source, uint64_t now_ns,
                      const struct rrmp_request *request)
{
    uint32_t lowest = least_valuable(source);

    if (lowest == MD_NIL)
        return false;
    struct source_item *low = source_item_at(source, lowest);
    uint32_t wanted = rank_of(request->priority_class, source_priority_count(request));
    if (rank(source, low) >= wanted)
        return false;
    source->stats.preempted += source_interest_count(source, low) > 0;
    source_unbind(source, now_ns, lowest, RRMP_UNBIND_DROPPED);
    const struct rrmp_ending ending = { .state = RRMP_STATE_CLOSED_RECOVER,
                                        .code = RRMP_CODE_PREEMPTED,
                                        .scope = RRMP_REFUSE_NOT_HERE };
    for (uint32_t n = low->asks; n != MD_NIL; n = source_ask_at(source, n)->next) {
        const struct source_ask *ask = source_ask_at(source, n);
        source_refuse(source, ask->requester, low->svc, ask->id, source_key_hash(source, low),
                      &ending);
    }
    source_asks_drop_all(source, lowest);
    for (uint32_t r = 0; r < source->requesters.high; r++)
        source_interest_clear(source, lowest, r);
    low->is_lingering = true;
    source_item_news(source, lowest, NEWS_UNWANTED);
    return true;
}
