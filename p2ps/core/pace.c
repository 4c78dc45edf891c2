/* pace.c - see pace.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "pace.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/err.h"
#include "core.h"
#include "places.h"

#define TURN_COST   2048u /* of what goes out in one turn, some 100 us: one for each watch, */
#define PLACE_COST  16u   /* and this for the update that they get */
#define TURN_TELLS  128u  /* streams that are told besides; those of an item are told together */
#define WAIT_TURNS  4u    /* with flushes of a timer so many in one: nobody waits for the rest */
#define LINE        64u
#define LINES_MOST  16u
#define IMAGE_BYTES 512u /* what is behind follows in order, and the processor sees it */

/* ---- life ---- */

int p2ps_paces_create(struct p2ps_core *core)
{
    struct p2ps_pacing *pacing;

    core->is_paced = core->config.pace_count > 0;
    pacing = core->pacing = calloc(1, sizeof(*pacing));
    if (!pacing)
        return MD_ERR_NOMEM;
    pacing->jit = pacing->telling = (struct p2ps_places){ MD_NIL, MD_NIL };
    p2ps_phases_start(core);
    if (md_slots_init(&pacing->slots, sizeof(struct place), UINT32_MAX / 64, &pacing->memory) !=
        MD_OK)
        return MD_ERR_NOMEM;
    pacing->table_memory = pacing->memory;
    md_wheel_init(&pacing->wheel, &pacing->slots, offsetof(struct place, timer));
    return MD_OK;
}

void p2ps_paces_destroy(struct p2ps_core *core)
{
    struct p2ps_pacing *pacing = core->pacing;

    if (!pacing)
        return;
    for (uint32_t item = 0; item < pacing->of_room; item++) {
        for (const struct place *p = p2ps_place_at(pacing, pacing->of[item]); p;
             p = p2ps_place_at(pacing, p->next))
            free(p->pending.bytes);
    }
    md_slots_fini(&pacing->slots);
    free(pacing->of);
    free(pacing);
    core->pacing = NULL;
}

/* ---- when it is a place's turn ---- */

static bool is_jit(const struct p2ps_core *core, const struct place *place)
{
    return place->pace != P2PS_PACE_NONE &&
           core->config.paces[place->pace - 1].rate == RWF_RATE_JIT_CONFLATED;
}

static void append(struct p2ps_pacing *pacing, struct p2ps_places *list, uint32_t number)
{
    struct place *place = p2ps_place_at(pacing, number);
    struct place *last = p2ps_place_at(pacing, list->last);

    place->timer = (struct md_wheel_timer){ .next = MD_NIL, .prev = list->last };
    if (last)
        last->timer.next = number;
    else
        list->first = number;
    list->last = number;
}

static void take_out(struct p2ps_pacing *pacing, struct p2ps_places *list,
                     const struct place *place)
{
    struct place *prev = p2ps_place_at(pacing, place->timer.prev);
    struct place *next = p2ps_place_at(pacing, place->timer.next);

    if (prev)
        prev->timer.next = place->timer.next;
    else
        list->first = place->timer.next;
    if (next)
        next->timer.prev = place->timer.prev;
    else
        list->last = place->timer.prev;
}

void p2ps_place_begin(struct p2ps_core *core, struct place *place, uint32_t number)
{
    core->stats.pending_updates_now++;
    core->pacing->lag_pending += place->pace == P2PS_PACE_NONE;
    core->services[core->items[place->item].service].pending++;
    if (is_jit(core, place))
        append(core->pacing, &core->pacing->jit, number);
    else
        md_wheel_set(&core->pacing->wheel, number, p2ps_phase_next(core, place));
}

static void end_pending(struct p2ps_core *core, struct place *place, uint32_t number)
{
    if (place->pending.length == 0)
        return;
    conflate_clear(&place->pending);
    place->run.is_on = false;
    core->stats.pending_updates_now--;
    core->pacing->lag_pending -= place->pace == P2PS_PACE_NONE;
    core->services[core->items[place->item].service].pending--;
    if (is_jit(core, place))
        take_out(core->pacing, &core->pacing->jit, place);
    else if (place->tells)
        take_out(core->pacing, &core->pacing->telling, place);
    else
        md_wheel_cancel(&core->pacing->wheel, number);
    place->tells = false;
}

static void drop_room(struct p2ps_core *core, struct place *place)
{
    core->stats.pending_bytes_now -= place->pending.room;
    free(place->pending.bytes);
    place->pending.bytes = NULL;
    place->pending.room = 0;
}

/* ---- the places of an item ---- */

static struct place *find(const struct p2ps_core *core, uint32_t item, uint8_t pace)
{
    struct place *place = p2ps_place_at(core->pacing, p2ps_place_first(core, item));

    while (place && place->pace != pace)
        place = p2ps_place_at(core->pacing, place->next);
    return place;
}

struct place *p2ps_place_of(struct p2ps_core *core, uint32_t item, uint8_t pace)
{
    struct p2ps_pacing *pacing = core->pacing;
    struct place *place = find(core, item, pace);

    if (place)
        return place;
    uint32_t number = md_slots_map_grow(&pacing->of, &pacing->of_room, item)
                          ? md_slots_take(&pacing->slots)
                          : MD_NIL;
    if (number == MD_NIL)
        return NULL;
    place = p2ps_place_at(pacing, number);
    place->item = item;
    place->pace = pace;
    place->pending.has_info = true; /* forms show it to those that ask */
    place->pending.takes_image = true;
    place->next = pacing->of[item];
    pacing->of[item] = number;
    p2ps_phase_add(core, pace);
    return place;
}

int p2ps_pace_join(struct p2ps_core *core, uint32_t item, uint8_t pace)
{
    if (pace == P2PS_PACE_NONE)
        return MD_OK;
    struct place *place = p2ps_place_of(core, item, pace);
    if (!place)
        return MD_ERR_NOMEM;
    place->watch_count++;
    return MD_OK;
}

void p2ps_places_trim(struct p2ps_core *core, uint32_t item, bool is_over)
{
    struct p2ps_pacing *pacing = core->pacing;
    uint32_t *link = &pacing->of[item];

    while (*link != MD_NIL) {
        uint32_t number = *link;
        struct place *place = p2ps_place_at(pacing, number);

        if (!is_over && p2ps_place_is_needed(core, place)) {
            link = &place->next;
            continue;
        }
        *link = place->next;
        end_pending(core, place, number);
        drop_room(core, place);
        p2ps_phase_drop(core, place->pace);
        md_slots_give(&pacing->slots, number);
    }
}

void p2ps_pace_leave(struct p2ps_core *core, uint32_t item, uint8_t pace)
{
    if (pace == P2PS_PACE_NONE)
        return;
    find(core, item, pace)->watch_count--;
    if (!core->pacing->is_busy)
        p2ps_places_trim(core, item, false);
}

void p2ps_pace_tidy(struct p2ps_core *core, uint32_t item)
{
    if (p2ps_place_first(core, item) != MD_NIL)
        p2ps_places_trim(core, item, false);
}

void p2ps_pace_end(struct p2ps_core *core, uint32_t item)
{
    if (p2ps_place_first(core, item) != MD_NIL)
        p2ps_places_trim(core, item, true);
}

bool p2ps_pace_move(struct p2ps_core *core, uint32_t item, struct p2ps_watch *w, uint8_t pace)
{
    if (p2ps_pace_join(core, item, pace) != MD_OK)
        return false;
    p2ps_pace_leave(core, item, core->forms[w->form].pace);
    w->flags &= (uint16_t)~P2PS_WATCH_AHEAD;
    return true;
}

void p2ps_pace_caught_up(struct p2ps_core *core, uint32_t item, struct p2ps_watch *w)
{
    uint8_t pace = core->forms[w->form].pace;
    struct place *place = find(core, item, pace);

    if (!place || place->pending.length == 0)
        return;
    w->flags |= P2PS_WATCH_AHEAD;
    place->has_ahead = true;
}

/* ---- sending ---- */

static void forget_ahead(struct p2ps_core *core, struct place *place)
{
    struct p2ps_item *it = &core->items[place->item];

    if (!place->has_ahead)
        return;
    place->has_ahead = false;
    for (uint32_t i = 0; i < it->watch_count; i++) {
        struct p2ps_watch *w = &it->watches[i];

        if (w->state != P2PS_WATCH_ENDED && core->forms[w->form].pace == place->pace)
            w->flags &= (uint16_t)~P2PS_WATCH_AHEAD;
    }
}

void p2ps_place_send(struct p2ps_core *core, struct place *place, uint32_t number,
                     p2ps_pace_put_fn put)
{
    bool was_busy = core->pacing->is_busy;
    struct rwf_bytes update;

    if (place->pending.length == 0)
        return;
    core->pacing->is_busy = true;
    core->pace_skips = (uint16_t) ~(1u << place->pace);
    if (!p2ps_merge_out(core, &core->items[place->item], &place->pending, &place->run, &update))
        update = rwf_bytes(NULL, 0);
    put(core, place->item, update);
    core->pace_skips = 0;
    core->pacing->is_busy = was_busy;
    end_pending(core, place, number);
    forget_ahead(core, place);
    /* Others need the room. */
    if (core->stats.pending_bytes_now > core->config.pending_bytes_max / 4 * 3)
        drop_room(core, place);
}

void p2ps_pace_flush(struct p2ps_core *core, uint32_t item, p2ps_pace_put_fn put)
{
    struct p2ps_pacing *pacing = core->pacing;
    uint32_t number = p2ps_place_first(core, item);

    if (number == MD_NIL)
        return;
    for (; number != MD_NIL; number = p2ps_place_at(pacing, number)->next)
        p2ps_place_send(core, p2ps_place_at(pacing, number), number, put);
    p2ps_places_trim(core, item, false);
}

void p2ps_pace_flush_service(struct p2ps_core *core, uint16_t service, p2ps_pace_put_fn put)
{
    for (uint32_t item = 0; core->services[service].pending && item < core->pacing->of_room;
         item++) {
        if (core->pacing->of[item] != MD_NIL && core->items[item].service == service)
            p2ps_pace_flush(core, item, put);
    }
}

/* A place whose turn has come; MD_NIL: none. */
static uint32_t next_due(struct p2ps_core *core)
{
    struct p2ps_pacing *pacing = core->pacing;

    if (core->now_ns < core->lag.drain_until_ns)
        return MD_NIL;
    if (pacing->jit.first != MD_NIL)
        return pacing->jit.first;
    if (pacing->telling.first != MD_NIL && pacing->tell_left > 0)
        return pacing->telling.first;
    if (core->pace_waits && !core->is_pacing)
        return MD_NIL;
    uint32_t number =
        md_wheel_expire(&pacing->wheel, core->pace_waits ? core->pace_until_ns : core->now_ns);
    core->is_pacing = core->is_pacing && number != MD_NIL;
    return number;
}

static void fetch(const void *from, size_t bytes)
{
    for (size_t i = 0; i < bytes && i < LINES_MOST * LINE; i += LINE)
        __builtin_prefetch((const char *)from + i);
}

/* The image that the values are in, and the watches that get them: both since long out of the
 * processor's cache. */
static void fetch_turn(const struct p2ps_item *it, const struct place *place)
{
    fetch(&place->pending, sizeof(place->pending) + sizeof(place->run));
    if (it->image)
        fetch(it->image, IMAGE_BYTES);
    fetch(it->watches, it->watch_count * sizeof(*it->watches));
}

/*
 * Streams that are told have a share of the turn of their own: a place with such stands behind the
 * others that have, and updates are merged into it until it is its turn. Those that were told since
 * the last turn, because something else came for their item, count too.
 */
static bool defers(struct p2ps_core *core, struct place *place, uint32_t number)
{
    if (place->tells || !p2ps_place_tells(core, place))
        return false;
    place->tells = true;
    append(core->pacing, &core->pacing->telling, number);
    return true;
}

static void count_told(struct p2ps_core *core)
{
    struct p2ps_pacing *pacing = core->pacing;
    uint32_t told = core->lag.told - pacing->told;

    pacing->told = core->lag.told;
    pacing->tell_left -= told < pacing->tell_left ? told : pacing->tell_left;
}

static void begin_telling(struct p2ps_core *core)
{
    core->pacing->tell_left = TURN_TELLS;
    count_told(core);
    if (core->pacing->tell_left == 0)
        core->pacing->tell_left = 1; /* they do not wait for ever */
}

void p2ps_pace_turn(struct p2ps_core *core, p2ps_pace_put_fn put)
{
    struct p2ps_pacing *pacing = core->pacing;
    uint32_t most = core->pace_waits ? TURN_COST * WAIT_TURNS : TURN_COST;
    uint32_t number;

    begin_telling(core);
    for (uint32_t cost = 0; cost < most && core->is_paced; cost += PLACE_COST) {
        if ((number = next_due(core)) == MD_NIL) {
            core->is_paced = core->config.pace_count > 0 || core->lag.is_on || pacing->slots.count;
            break;
        }
        struct place *place = p2ps_place_at(pacing, number);
        uint32_t item = place->item;

        fetch_turn(&core->items[item], place);
        if (defers(core, place, number))
            continue;
        cost += core->items[item].watch_count;
        p2ps_place_send(core, place, number, put);
        count_told(core);
        p2ps_places_trim(core, item, false);
    }
    core->is_pacing = core->is_pacing && core->is_paced;
}

uint64_t p2ps_pace_deadline(const struct p2ps_core *core)
{
    if (!core->is_paced)
        return UINT64_MAX;
    if (core->pacing->jit.first != MD_NIL || core->pacing->telling.first != MD_NIL ||
        core->is_pacing)
        return 0;
    return core->pace_waits ? UINT64_MAX : md_wheel_deadline(&core->pacing->wheel);
}

bool p2ps_core_is_pace_due(const struct p2ps_core *core, uint64_t now_ns)
{
    return p2ps_pace_deadline(core) <= now_ns;
}

void p2ps_core_pace_waits(struct p2ps_core *core, bool waits)
{
    core->pace_waits = waits;
    core->is_pacing = false;
}

void p2ps_core_pace(struct p2ps_core *core, uint64_t now_ns)
{
    core->pace_until_ns = now_ns;
    core->is_pacing = core->is_paced && core->pace_waits;
}

bool p2ps_core_is_pacing(const struct p2ps_core *core)
{
    return core->is_pacing;
}

void p2ps_pace_fetch(const struct p2ps_core *core, uint32_t item)
{
    const struct place *place = p2ps_place_at(core->pacing, p2ps_place_first(core, item));

    if (!place)
        return;
    __builtin_prefetch(place);
    __builtin_prefetch(&place->run);
}

bool p2ps_pace_has_lag(const struct p2ps_core *core)
{
    return core->pacing->lag_pending > 0;
}

/* ---- what must hold ---- */

uint64_t p2ps_pace_bytes(const struct p2ps_core *core)
{
    const struct p2ps_pacing *pacing = core->pacing;

    return pacing->memory - pacing->table_memory + pacing->of_room * sizeof(uint32_t);
}

const char *p2ps_pace_check_item(const struct p2ps_core *core, uint32_t item, uint8_t pace,
                                 uint32_t watches, bool is_ahead)
{
    const struct place *place = find(core, item, pace);

    MD_REQUIRE(pace == P2PS_PACE_NONE || (place ? place->watch_count : 0) == watches);
    MD_REQUIRE(!place || watches > 0 || pace == P2PS_PACE_NONE);
    MD_REQUIRE(!is_ahead || (place && place->has_ahead));
    MD_REQUIRE(!place || !place->has_ahead || place->pending.length > 0);
    return NULL;
}

const char *p2ps_pace_check(const struct p2ps_core *core)
{
    const struct p2ps_pacing *pacing = core->pacing;
    uint32_t pending = 0, places = 0, telling = 0;
    uint64_t bytes = 0;

    MD_REQUIRE(core->pace_skips == 0);
    for (uint32_t item = 0; pacing && item < pacing->of_room; item++) {
        for (const struct place *p = p2ps_place_at(pacing, pacing->of[item]); p;
             p = p2ps_place_at(pacing, p->next)) {
            MD_REQUIRE(p->item == item && core->items[item].watch_count >= p->watch_count);
            MD_REQUIRE(is_jit(core, p) || p->tells || p->timer.is_set == (p->pending.length > 0));
            MD_REQUIRE(!p->tells || (p->pace == P2PS_PACE_NONE && p->pending.length > 0));
            telling += p->tells;
            places++;
            pending += p->pending.length > 0;
            bytes += p->pending.room;
        }
    }
    MD_REQUIRE(!pacing || pacing->slots.count == places);
    MD_REQUIRE(core->is_paced || places == 0);
    MD_REQUIRE(!pacing || (pacing->telling.first != MD_NIL) == (telling > 0));
    MD_REQUIRE(core->stats.pending_updates_now == pending);
    MD_REQUIRE(core->stats.pending_bytes_now == bytes);
    for (uint16_t i = 0; i < core->service_count; i++)
        pending -= core->services[i].pending;
    MD_REQUIRE(pending == 0);
    return NULL;
}
