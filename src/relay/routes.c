/* routes.c - which relay brings which session: what relays say of that, and who is the best. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/table.h"
#include "far_impl.h"

/* ---- sessions ------------------------------------------------------------------------------- */

struct far_session *far_session_find(const struct relay_far *far, uint64_t session)
{
    return md_table_get(far->sessions, &session, sizeof(session));
}

bool far_is_offered(const struct far_session *s)
{
    for (int i = 0; i < RELAY_RELAYS_MAX; i++)
        if (s->offers[i].relay)
            return true;
    return false;
}

static void forget(struct relay_far *far, struct far_session *s)
{
    (void)md_table_remove(far->sessions, &s->session, sizeof(s->session));
    far->all[s->index] = far->all[--far->count];
    far->all[s->index]->index = s->index;
    if (far->last == s)
        far->last = NULL;
    free(s);
}

static bool is_resting(const struct far_session *s)
{
    return !s->is_native && s->told == FAR_TOLD_NOTHING && !s->is_dirty && !far_is_offered(s);
}

void far_session_rest(struct relay_far *far, struct far_session *s)
{
    if (is_resting(s) && s->last_seq == 0 && !s->has_reset && !s->was_native)
        forget(far, s);
}

/* The place of a session is known a while after its end, so that another relay that brings it
 * repeats nothing. */
static void make_room(struct relay_far *far)
{
    int resting = 0;

    for (int i = far->count - 1; i >= 0; i--)
        if (is_resting(far->all[i]) && ++resting > FAR_RESTING_MAX / 2)
            forget(far, far->all[i]);
}

struct far_session *far_session_make(struct relay_far *far, uint64_t session)
{
    struct far_session *s = far_session_find(far, session);

    if (s)
        return s;
    if (far->count == far->size)
        make_room(far);
    if (far->count == far->size) {
        int size = far->size ? 2 * far->size : 64;
        struct far_session **all = realloc(far->all, (size_t)size * sizeof(struct far_session *));

        if (!all)
            return NULL;
        far->all = all;
        far->size = size;
    }
    s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->session = session;
    s->index = far->count;
    if (md_table_put(far->sessions, &s->session, sizeof(s->session), s) != MD_OK) {
        free(s);
        return NULL;
    }
    far->all[far->count++] = s;
    return s;
}

void far_touch(struct relay_far *far, struct far_session *s)
{
    if (s->is_dirty)
        return;
    s->is_dirty = true;
    s->next_dirty = NULL;
    if (far->dirty)
        far->dirty_end->next_dirty = s;
    else
        far->dirty = s;
    far->dirty_end = s;
}

/* ---- offers --------------------------------------------------------------------------------- */

static bool is_better(const struct far_session *s, int a, int b)
{
    const struct far_offer *x = &s->offers[a];
    const struct far_offer *y = &s->offers[b];

    if (x->hops != y->hops)
        return x->hops < y->hops;
    return x->weight != y->weight ? x->weight < y->weight : x->relay < y->relay;
}

const struct far_offer *far_best(const struct far_session *s, bool with_claims)
{
    int best = -1;

    for (int i = 0; i < RELAY_RELAYS_MAX; i++) {
        const struct far_offer *offer = &s->offers[i];

        if (offer->relay && (with_claims || offer->state == RELAY_ROUTE_UP) &&
            (best < 0 || is_better(s, i, best)))
            best = i;
    }
    return best < 0 ? NULL : &s->offers[best];
}

int far_relay_place(const struct relay_far *far, uint64_t session)
{
    for (int i = 0; i < RELAY_RELAYS_MAX; i++)
        if (far->relays[i].session == session)
            return i;
    return -1;
}

static void number_end(struct relay_far *far, struct far_offer *offer)
{
    if (offer->number)
        (void)md_table_remove(far->by_number, &offer->relay, 2 * sizeof(uint64_t));
    offer->number = 0;
    far->last = NULL;
}

void far_offer_end(struct relay_far *far, struct far_session *s, int place, uint8_t reason)
{
    struct far_offer *offer = &s->offers[place];

    if (!offer->relay)
        return;
    if (s->told == FAR_TOLD_UP && s->via == offer->relay)
        s->down_reason = reason;
    number_end(far, offer);
    *offer = (struct far_offer){ 0 };
    if (!far_is_offered(s))
        far->behind--;
    far_touch(far, s);
}

static void take_offer(struct relay_far *far, struct far_session *s, int place,
                       const struct relay_route *route)
{
    struct far_offer *offer = &s->offers[place];
    bool was_offered = far_is_offered(s);

    /* The relay carries it anew: what came between is unknown. */
    if (offer->relay && offer->number && offer->number != route->number)
        far_offer_end(far, s, place, BACKBONE_DOWN_TIMEOUT);
    was_offered = was_offered && far_is_offered(s);
    if (!was_offered)
        far->behind++;
    offer->relay = far->relays[place].session;
    offer->hops = route->hops;
    offer->weight = route->weight;
    offer->state = route->state;
    offer->is_seen = true;
    if (route->state == RELAY_ROUTE_UP && !offer->number) {
        offer->number = route->number;
        if (md_table_put(far->by_number, &offer->relay, 2 * sizeof(uint64_t), s) != MD_OK)
            offer->number = 0;
        if (!offer->number)
            offer->state = RELAY_ROUTE_CLAIM; /* no memory, or a number of another: not taken */
    }
    if (route->name_length && !s->is_native && s->told != FAR_TOLD_UP) {
        memcpy(s->name, route->name, route->name_length);
        s->name_length = route->name_length;
    }
    far_touch(far, s);
}

static void take_route(struct relay_far *far, int place, const struct relay_route *route)
{
    struct far_session *s = far_session_find(far, route->session);

    if (route->session == far->session)
        return; /* ourselves, by a way around */
    if (route->state == RELAY_ROUTE_DOWN) {
        if (s)
            far_offer_end(far, s, place, route->reason ? route->reason : BACKBONE_DOWN_TIMEOUT);
        return;
    }
    if (!s || !far_is_offered(s)) {
        if (far->behind >= RELAY_SESSIONS_MAX ||
            (!s && far->native + far->behind >= RELAY_NODES_MAX)) {
            far->counters.full++;
            return;
        }
        s = far_session_make(far, route->session);
    }
    if (s)
        take_offer(far, s, place, route);
}

/* ---- relays --------------------------------------------------------------------------------- */

static int relay_make(struct relay_far *far, uint64_t session)
{
    int place = far_relay_place(far, session);

    if (place < 0) {
        place = far_relay_place(far, 0);
        if (place < 0) {
            far->counters.relays_full++;
            return -1;
        }
        far->relays[place] = (struct far_relay){ .session = session };
        far->counters.relays_now++;
    }
    return place;
}

void far_relay_gone(struct relay_far *far, uint64_t relay, uint8_t reason)
{
    int place = far_relay_place(far, relay);

    if (place < 0)
        return;
    for (int i = 0; i < far->count; i++)
        far_offer_end(far, far->all[i], place, reason);
    far->relays[place] = (struct far_relay){ 0 };
    far->counters.relays_now--;
}

void far_routes(struct relay_far *far, uint64_t relay, const struct relay_message *routes)
{
    struct relay_route route;
    bool is_first = routes->flags & RELAY_FLAG_FIRST;
    bool is_last = routes->flags & RELAY_FLAG_LAST;
    int place = relay_make(far, relay);
    size_t at = 0;

    if (place < 0)
        return;
    far->relays[place].id = routes->id;
    far->relays[place].services = routes->services;
    for (int i = 0; is_first && i < far->count; i++)
        far->all[i]->offers[place].is_seen = false;
    far->relays[place].is_listing |= is_first;
    while (relay_route_next(routes, &at, &route))
        take_route(far, place, &route);
    is_last = is_last && far->relays[place].is_listing;
    for (int i = 0; is_last && i < far->count; i++)
        if (far->all[i]->offers[place].relay && !far->all[i]->offers[place].is_seen)
            far_offer_end(far, far->all[i], place, BACKBONE_DOWN_TIMEOUT);
    if (is_last)
        far->relays[place].is_listing = false;
}
