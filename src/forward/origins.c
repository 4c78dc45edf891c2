/* origins.c - see origins.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/table.h"
#include "origins.h"
#include "put.h"
#include "rrmp/record.h"

/* A relay that has just started hears first who carries what. */
#define LISTEN_NS (2500 * MD_NS_PER_MS)
/* How long a claim may be answered. */
#define CLAIM_NS (300 * MD_NS_PER_MS)
#define FULL_NS  (1 * MD_NS_PER_S)
/* A millisecond of an id; what is below is random: no two ways have one sum. */
#define ID_STEP (1ull << 20)
/* A node is told no more often that unicast may be lost. */
#define OWED_NS (200 * MD_NS_PER_MS)
/* A node that has not said meanwhile that it is a relay is none. */
#define MEET_NS     (300 * MD_NS_PER_MS)
#define REMEMBER_NS (60 * MD_NS_PER_S)

struct origin *origin_find(const struct side *side, uint64_t session)
{
    return md_table_get(side->table, &session, sizeof(session));
}

struct origin *origin_of_number(const struct side *side, uint32_t number)
{
    for (int i = 0; i < side->count; i++)
        if (side->all[i]->state == ORIGIN_CARRY && side->all[i]->number == number)
            return side->all[i];
    return NULL;
}

static void forget(struct side *side, struct origin *o)
{
    (void)md_table_remove(side->table, &o->session, sizeof(o->session));
    side->all[o->index] = side->all[--side->count];
    side->all[o->index]->index = o->index;
    free(o);
}

static void make_room(struct side *side)
{
    struct origin *oldest = NULL;

    for (int i = 0; i < side->count; i++)
        if (!side->all[i]->is_heard && (!oldest || side->all[i]->gone_ns < oldest->gone_ns))
            oldest = side->all[i];
    if (oldest)
        forget(side, oldest);
}

static bool has_room(const struct side *side)
{
    bool is_one_forgotten = false;

    for (int i = 0; side->count == ORIGINS_MAX && i < side->count && !is_one_forgotten; i++)
        is_one_forgotten = !side->all[i]->is_heard;
    return side->count < ORIGINS_MAX || is_one_forgotten;
}

static struct origin *make(struct side *side, uint64_t session)
{
    struct origin *o = origin_find(side, session);

    if (o)
        return o;
    if (side->count == ORIGINS_MAX)
        make_room(side);
    if (side->count == ORIGINS_MAX || (o = calloc(1, sizeof(*o))) == NULL)
        return NULL;
    o->session = session;
    o->index = side->count;
    if (md_table_put(side->table, &o->session, sizeof(o->session), o) != MD_OK) {
        free(o);
        return NULL;
    }
    return side->all[side->count++] = o;
}

static void set_name(struct origin *o, const struct backbone_event *event)
{
    uint32_t length = event->length < RELAY_NAME_MAX ? event->length : RELAY_NAME_MAX;

    if (!event->bytes || length == 0)
        return;
    memcpy(o->name, event->bytes, length);
    o->name_length = (uint8_t)length;
}

void origin_up(struct forward *f, struct side *side, const struct relay_event *up)
{
    struct origin *o = make(side, up->event.session);

    if (!o) {
        other_side(f, side)->counters.full++;
        side->has_refused = true;
        return;
    }
    o->hops = up->hops;
    o->weight = up->weight;
    o->up_ns = side->now_ns;
    o->is_heard = true;
    o->is_greeted = false;
    set_name(o, &up->event);
}

/* Those that had no place get one when others go. */
static void take_refused(struct forward *f, struct side *side)
{
    struct relay_event up;

    if (!side->has_refused || !has_room(side))
        return;
    side->has_refused = false;
    for (int i = 0; relay_far_at(other_side(f, side)->far, i, &up); i++)
        if (up.event.session && !origin_find(side, up.event.session)) {
            if (!has_room(side)) {
                side->has_refused = true;
                return;
            }
            origin_up(f, side, &up);
        }
}

void origin_name(struct side *side, const struct backbone_event *info)
{
    struct origin *o = origin_find(side, info->session);

    if (o)
        set_name(o, info);
}

/* ---- what others are told ------------------------------------------------------------------- */

static struct relay_route route_of(const struct forward *f, const struct origin *o,
                                   enum relay_route_state state, uint8_t reason)
{
    return (struct relay_route){ .number = o->number,
                                 .hops = (uint8_t)(o->hops + 1),
                                 .state = (uint8_t)state,
                                 .reason = reason,
                                 .name_length = o->name_length,
                                 .session = o->session,
                                 .weight = o->weight + f->id,
                                 .name = o->name };
}

static bool put_routes(struct forward *f, struct side *side, uint16_t count, size_t length,
                       uint8_t flags)
{
    struct relay_message head = { .kind = RELAY_ROUTES,
                                  .flags = flags,
                                  .count = count,
                                  .services = filter_digest(f->filter),
                                  .id = f->id };
    struct rrcp_msg msg = { .bytes = f->routes,
                            .length = (uint32_t)length,
                            .topic = RRMP_TOPIC_CONTROL };

    return put_message(side, &msg, &head, true);
}

static void say(struct forward *f, struct side *side, const struct origin *o,
                enum relay_route_state state, uint8_t reason)
{
    struct relay_route route = route_of(f, o, state, reason);

    if (!put_routes(f, side, 1, relay_route_encode(&route, f->routes), 0))
        side->full_ns = 0;
}

/* Of a part, before one more route. */
static size_t part_max(const struct side *side)
{
    size_t max = side->message_bytes_max < RELAY_ROUTES_SIZE_MAX ? side->message_bytes_max
                                                                 : RELAY_ROUTES_SIZE_MAX;

    return max - RELAY_ROUTES_BYTES - RELAY_ROUTE_BYTES - RELAY_NAME_MAX;
}

static void say_all(struct forward *f, struct side *side, uint64_t now_ns)
{
    const struct side *hearers = other_side(f, side); /* who is heard there is in its table */
    uint8_t flags = RELAY_FLAG_FIRST;
    size_t length = 0;
    uint16_t count = 0;

    for (int i = 0; i < side->count; i++) {
        const struct origin *o = side->all[i];
        enum relay_route_state state =
            o->state == ORIGIN_CARRY ? RELAY_ROUTE_UP : RELAY_ROUTE_CLAIM;
        struct relay_route route = route_of(f, o, state, 0);

        if (o->state == ORIGIN_IDLE)
            continue;
        if (length > part_max(side)) {
            if (!put_routes(f, side, count, length, flags))
                return;
            flags = 0;
            length = count = 0;
        }
        length += relay_route_encode(&route, f->routes + length);
        count++;
    }
    if (!put_routes(f, side, count, length, flags | RELAY_FLAG_LAST))
        return;
    side->full_ns = now_ns + FULL_NS;
    for (int i = 0; i < hearers->count; i++)
        hearers->all[i]->is_greeted = true;
}

/* ---- who carries ---------------------------------------------------------------------------- */

static void leave(struct forward *f, struct side *side, struct origin *o, uint8_t reason)
{
    if (o->state != ORIGIN_IDLE) {
        side->carried--;
        say(f, side, o, RELAY_ROUTE_DOWN, reason);
    }
    o->state = ORIGIN_IDLE;
    o->number = 0;
    o->lost = 0;
}

void origin_down(struct forward *f, struct side *side, uint64_t now_ns,
                 const struct backbone_event *down)
{
    struct origin *o = origin_find(side, down->session);

    if (!o)
        return;
    leave(f, side, o, down->reason);
    o->owed_count = 0;
    o->is_heard = false;
    o->gone_ns = now_ns;
}

void origin_owe(struct origin *o, uint64_t session, uint8_t hops)
{
    if (!o || !o->is_heard)
        return;
    if (o->owed_count == 0 || hops > o->owed_hops)
        o->owed_hops = hops;
    for (int i = 0; i < o->owed_count; i++)
        if (o->owed[i] == session || o->owed[i] == 0)
            return;
    if (session == 0 || o->owed_count == OWED_MAX) {
        session = 0;
        o->owed_count = 0;
    }
    o->owed[o->owed_count++] = session;
}

/* Behind its route, when that begins, and each behind what waits of the two. `side`: onto which it
 * is carried, so it is heard on the other. */
static void pay(struct forward *f, struct side *side, uint64_t now_ns, struct origin *o)
{
    struct relay_message head = { .kind = RELAY_RESET,
                                  .hops = hops_further(o->owed_hops),
                                  .target = o->session };

    if (o->owed_count == 0 || o->state == ORIGIN_CLAIM || now_ns < o->owed_ns)
        return;
    while (o->owed_count > 0) {
        head.origin = o->owed[o->owed_count - 1];
        if (!put_unicast(f, other_side(f, side), &head, NULL))
            return;
        o->owed_count--;
    }
    o->owed_ns = now_ns + OWED_NS;
}

void origin_reset(struct forward *f, struct side *side, struct origin *o)
{
    leave(f, side, o, BACKBONE_DOWN_TIMEOUT);
    side->full_ns = 0;
}

/* Heard directly over there, or brought by a relay with fewer hops or a lower weight, for which
 * this one stands by. The way back has the same hops and weight, so it is the same way. */
static bool is_others(struct forward *f, struct side *side, struct origin *o)
{
    struct relay_far_right right;
    uint64_t weight = o->weight + f->id;
    unsigned hops = o->hops + 1u;

    if (!relay_far_right(side->far, o->session, &right))
        return false;
    if (right.hops > hops || (right.hops == hops && right.weight > weight) ||
        (right.hops == hops && right.weight == weight && right.relay > side->session))
        return false;
    o->stands_by = right.hops > 0;
    if (o->stands_by && right.services != filter_digest(f->filter))
        side->other_services = right.relay;
    return true;
}

/* An origin that comes over other relays may be of this very network, and dead: its nodes know that
 * after peerTimeout, and what waits at each of those relays is old then. */
static uint64_t listen_ns(const struct side *side, const struct origin *o)
{
    return o->hops == 0 ? LISTEN_NS : side->peer_timeout_ns + RELAY_HOPS_MAX * PUT_WAIT_NS;
}

void origin_decide(struct forward *f, struct side *side, uint64_t now_ns, struct origin *o)
{
    bool is_possible = o->is_heard && o->is_wanted && o->hops < RELAY_HOPS_MAX &&
                       now_ns >= f->begin_ns + listen_ns(side, o) &&
                       !relay_far_is_relay(other_side(f, side)->far, o->session);

    o->stands_by = false;
    if (!is_possible || is_others(f, side, o)) {
        if (o->state == ORIGIN_CARRY)
            other_side(f, side)->counters.switches++;
        if (o->state != ORIGIN_IDLE)
            leave(f, side, o, BACKBONE_DOWN_TIMEOUT);
        return;
    }
    if (o->state == ORIGIN_IDLE) {
        if (side->carried == RELAY_ROUTES_MAX) {
            other_side(f, side)->counters.full += !o->is_full;
            o->is_full = true;
            return;
        }
        o->is_full = false;
        side->carried++;
        o->state = ORIGIN_CLAIM;
        o->claim_ns = now_ns + CLAIM_NS;
        say(f, side, o, RELAY_ROUTE_CLAIM, 0);
    } else if (o->state == ORIGIN_CLAIM && now_ns >= o->claim_ns) {
        o->state = ORIGIN_CARRY;
        o->number = ++side->next_number;
        say(f, side, o, RELAY_ROUTE_UP, 0);
    }
}

/* The clock of this host may be behind those of others. While it listens it carries nothing, and
 * one that comes back takes nothing away. */
static void keep_behind(struct forward *f, const struct side *side, uint64_t now_ns)
{
    uint64_t highest = relay_far_highest_id(side->far);
    uint64_t noise = f->sides[0].session % ID_STEP | 1;

    if (now_ns < f->begin_ns + LISTEN_NS && highest >= f->id)
        f->id = highest < RELAY_ID_MAX - ID_STEP
                    ? (highest + ID_STEP) / ID_STEP * ID_STEP + noise
                    : RELAY_ID_MAX - noise; /* nobody can be behind it: most likely no tie */
}

/* The first message of a topic may be the only one for long: its node is carried before. */
static void meet(const struct forward *f, uint64_t now_ns, struct origin *o)
{
    if (filter_has_topics(f->filter) && o->is_heard && now_ns - o->up_ns >= MEET_NS)
        o->is_wanted = true;
}

void origins_tick(struct forward *f, struct side *side, uint64_t now_ns)
{
    struct forward_counters *counters = &other_side(f, side)->counters;

    keep_behind(f, side, now_ns);
    take_refused(f, side);
    counters->carried = counters->standing_by = 0;
    side->other_services = 0;
    for (int i = side->count - 1; i >= 0; i--) {
        struct origin *o = side->all[i];

        meet(f, now_ns, o);
        origin_decide(f, side, now_ns, o);
        counters->carried += o->state == ORIGIN_CARRY;
        counters->standing_by += o->stands_by;
        if (o->state == ORIGIN_CARRY)
            (void)put_lost(side, o);
        pay(f, side, now_ns, o);
        if (!o->is_heard && now_ns - o->gone_ns > REMEMBER_NS)
            forget(side, o);
    }
    if (now_ns >= side->full_ns)
        say_all(f, side, now_ns);
}
