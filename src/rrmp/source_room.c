/* source_room.c - at its limit a source closes the least valuable item for a more valuable one. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "source_impl.h"

#include "state.h"

/*
 * Any stranger can ask at the limit, as often as it likes, so a refusal must cost nothing. What a
 * whole round over the items found is remembered: none ranks below the floor. It stays true while
 * items go or gain; one that comes or loses lowers it (source_room_note). A request that is not
 * worth more than the floor is refused without a look. The others share a budget.
 */

#define ROOM_LOOKS   4096u /* items looked at for one that makes room, in each of these */
#define LOOKS_NS     1000000ull

#define RANK_NOBODY  0u /* nobody wants the item any more */
#define RANK_STANDBY 1u /* those who want it have it elsewhere */
#define RANK_ACTIVE  2u

uint16_t source_priority_count(const struct rrmp_request *request)
{
    return (uint16_t)(request->priority_count < UINT16_MAX ? request->priority_count : UINT16_MAX);
}

static uint32_t rank_of(uint8_t priority, uint16_t count)
{
    return RANK_ACTIVE + ((uint32_t)priority << 16 | count);
}

static uint32_t rank(const struct rrmp_source *source, const struct source_item *item)
{
    if (source_item_is_active(source, item))
        return rank_of(item->priority_class, item->priority_count);
    return source_interest_count(source, item) > 0 ? RANK_STANDBY : RANK_NOBODY;
}

/* One that is about to go makes room already. */
static bool may_go(const struct rrmp_source *source, uint32_t number)
{
    const struct source_item *item = source_item_at(source, number);

    return item->in_use && !item->is_private && !item->is_kept && number != source->ending &&
           !(item->news & NEWS_UNWANTED);
}

void source_room_note(struct rrmp_source *source, uint32_t number)
{
    struct source_room *room = &source->room;

    if (room->floor == RANK_NOBODY && room->lowest == RANK_NOBODY)
        return;
    if (!may_go(source, number))
        return;
    uint32_t now = rank(source, source_item_at(source, number));
    room->floor = now < room->floor ? now : room->floor;
    room->lowest = now < room->lowest ? now : room->lowest;
}

bool source_room_is_true(const struct rrmp_source *source, uint32_t number)
{
    return !may_go(source, number) ||
           rank(source, source_item_at(source, number)) >= source->room.floor;
}

static void look(struct rrmp_source *source, uint32_t *lowest, uint32_t *lowest_rank)
{
    struct source_room *room = &source->room;
    uint32_t number = room->next;

    if (number == 0)
        room->lowest = UINT32_MAX;
    if (may_go(source, number)) {
        uint32_t found = rank(source, source_item_at(source, number));
        room->lowest = found < room->lowest ? found : room->lowest;
        if (found < *lowest_rank) {
            *lowest = number;
            *lowest_rank = found;
        }
    }
    if (++room->next >= source->items.high) {
        room->next = 0;
        room->floor = room->lowest;
    }
}

static void spend(struct source_room *room, uint32_t looks)
{
    room->looks -= looks < room->looks ? looks : room->looks;
}

/* They say UNBIND to those who follow the item, and REFUSE to those who wait for its image. */
static void close_for_room(struct rrmp_source *source, uint64_t now_ns, uint32_t number)
{
    struct source_item *item = source_item_at(source, number);
    const struct rrmp_ending ending = { .state = RRMP_STATE_CLOSED_RECOVER,
                                        .code = RRMP_CODE_PREEMPTED,
                                        .scope = RRMP_REFUSE_NOT_HERE };

    source->stats.preempted += source_interest_count(source, item) > 0;
    source_unbind(source, now_ns, number, RRMP_UNBIND_DROPPED);
    for (uint32_t n = item->asks; n != MD_NIL; n = source_ask_at(source, n)->next) {
        const struct source_ask *ask = source_ask_at(source, n);
        source_refuse(source, ask->requester, item->svc, ask->id, source_key_hash(source, item),
                      &ending);
    }
    source_asks_drop_all(source, number);
    for (uint32_t r = 0; r < source->requesters.high; r++)
        source_interest_clear(source, number, r);
    item->is_lingering = true;
    source_item_news(source, number, NEWS_UNWANTED);
}

/* Standby interest takes room from nobody: who says it has the item elsewhere. */
enum source_room_found source_room_make(struct rrmp_source *source, uint64_t now_ns,
                                        const struct rrmp_request *request)
{
    struct source_room *room = &source->room;
    uint32_t wanted = rank_of(request->priority_class, source_priority_count(request));
    uint32_t lowest = MD_NIL;
    uint32_t lowest_rank = UINT32_MAX;
    uint32_t seen = 0;

    if (!source->config.preempts || request->flags & RRMP_REQUEST_STANDBY || wanted <= room->floor)
        return ROOM_NONE;
    if (now_ns - room->looks_ns >= LOOKS_NS) {
        room->looks = ROOM_LOOKS;
        room->looks_ns = now_ns;
    }
    uint32_t enough = source->items.high < ROOM_LOOKS ? source->items.high : ROOM_LOOKS;
    for (; room->looks > 0 && seen < enough && lowest_rank > room->floor; seen++, room->looks--)
        look(source, &lowest, &lowest_rank);
    source->stats.room_looks += seen;
    if (lowest_rank < wanted) {
        close_for_room(source, now_ns, lowest);
        spend(room, source->requesters.high); /* each was looked at, too */
        return ROOM_MADE;
    }
    return seen < enough && wanted > room->floor ? ROOM_LATER : ROOM_NONE;
}
