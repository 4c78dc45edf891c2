/* work.c - what is left of a turn, and who waits. See work.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "work.h"
#include "base/siphash.h"
#include "client.h"
#include "private.h"
#include "tally.h"

static uint32_t asks_of_turn(const struct p2ps_core *core)
{
    uint32_t asks = P2PS_TURN_ASKS >> core->lag.eighths;

    return asks ? asks : 1;
}

void p2ps_work_refill(struct p2ps_core *core)
{
    core->work.asks = asks_of_turn(core);
    core->work.is_odd_turn = !core->work.is_odd_turn;
    core->work.watches = P2PS_TURN_WATCHES;
    core->work.places = P2PS_TURN_PLACES;
    core->work.checks = P2PS_TURN_CHECKS;
}

void p2ps_work_start(struct p2ps_core *core)
{
    struct p2ps_work *work = &core->work;

    work->fresh = work->busy = (struct p2ps_ring){ P2PS_NONE, P2PS_NONE, 0 };
    work->drop_first = work->drop_last = P2PS_NONE;
    work->resuming = P2PS_NONE;
    work->check_client = work->check_item = work->tell_client = P2PS_NONE;
    work->states = P2PS_TURN_STATES;
    p2ps_work_refill(core);
}

void p2ps_work_spend(struct p2ps_core *core, uint32_t asks, uint64_t bytes)
{
    uint64_t cost = asks + bytes / P2PS_ASK_BYTES;

    core->work.asks -= cost < core->work.asks ? (uint32_t)cost : core->work.asks;
}

void p2ps_work_spend_rules(struct p2ps_core *core, uint32_t rules)
{
    uint32_t cost = rules / P2PS_ASK_RULES;

    p2ps_work_spend(core, cost, 0);
    core->work.checks -= cost < core->work.checks ? cost : core->work.checks;
}

void p2ps_work_lock(struct p2ps_core *core, uint32_t item)
{
    struct p2ps_work *work = &core->work;

    for (uint32_t i = 0; i < work->lock_count; i++) {
        if (work->lock_items[i] != item)
            continue;
        if (i == 0)
            work->is_lock_started = false; /* from the last watch again */
        return;
    }
    if (work->lock_count < P2PS_LOCK_ITEMS)
        work->lock_items[work->lock_count++] = item;
    else
        work->has_new_roles = true; /* all items are asked for */
}

/* ---- the rings of those who wait ---- */

static void join(struct p2ps_core *core, struct p2ps_ring *ring, uint32_t client)
{
    struct p2ps_client *c = &core->clients[client];

    c->is_busy = true;
    c->busy_next = P2PS_NONE;
    if (ring->first == P2PS_NONE)
        ring->first = client;
    else
        core->clients[ring->last].busy_next = client;
    ring->last = client;
}

void p2ps_work_wait(struct p2ps_core *core, uint32_t client)
{
    if (!core->clients[client].is_busy)
        join(core, &core->work.fresh, client);
}

uint32_t p2ps_ring_take(struct p2ps_core *core, struct p2ps_ring *ring)
{
    uint32_t client = ring->first;
    struct p2ps_client *c = &core->clients[client];

    ring->first = c->busy_next;
    c->is_busy = false;
    return client;
}

void p2ps_ring_again(struct p2ps_core *core, struct p2ps_ring *ring, uint32_t client)
{
    struct p2ps_client *c = &core->clients[client];

    if (c->is_busy) { /* it came to wait while it had its share */
        ring->left = 0;
        return;
    }
    if (ring->left == 0) {
        join(core, &core->work.busy, client);
        return;
    }
    c->is_busy = true;
    c->busy_next = ring->first;
    if (ring->first == P2PS_NONE)
        ring->last = client;
    ring->first = client;
}

/* ---- those without a token ---- */

#define PARK_LEAST_NS 1000000ull /* so that a turn does more than one request of each */

bool p2ps_work_parks(struct p2ps_core *core, uint32_t client)
{
    struct p2ps_client *c = &core->clients[client];
    uint64_t ready_ns;

    if (c->is_parked)
        return true;
    if ((ready_ns = p2ps_tally_ready(core, c)) <= core->now_ns)
        return false;
    if (ready_ns < core->now_ns + PARK_LEAST_NS)
        ready_ns = core->now_ns + PARK_LEAST_NS;
    core->stats.requests_throttled++;
    c->is_parked = true;
    if (!c->is_parked_listed)
        core->parked[core->parked_count++] = client;
    c->is_parked_listed = true;
    if (ready_ns < core->parked_ns)
        core->parked_ns = ready_ns;
    return true;
}

/* Its time has come, or it is gone. */
static bool is_ready(const struct p2ps_core *core, const struct p2ps_client *c)
{
    return !p2ps_client_is_here(c) || !c->is_parked || p2ps_tally_ready(core, c) <= core->now_ns;
}

static void unpark(struct p2ps_core *core, uint32_t client)
{
    struct p2ps_client *c = &core->clients[client];

    c->is_parked_listed = false;
    if (c->is_parked && p2ps_client_is_here(c))
        p2ps_work_wait(core, client);
    c->is_parked = false;
}

/* Where this round begins. Clients of one bucket park in the order in which they were served, so
 * any fixed step would meet the same ones again: it is drawn. */
static uint32_t draw_first(const struct p2ps_core *core, uint32_t count)
{
    uint64_t drawn = md_siphash(core->idmap_key, &core->now_ns, sizeof(core->now_ns));

    return count ? (uint32_t)(drawn % count) : 0;
}

/* Those who share a bucket have its tokens in turn. A turn wakes no more than it can serve. */
void p2ps_work_unpark(struct p2ps_core *core)
{
    uint32_t count = core->parked_count;
    uint32_t first = draw_first(core, count);
    uint32_t woken = 0;
    uint32_t kept = 0;

    if (core->now_ns < core->parked_ns)
        return;
    core->parked_ns = UINT64_MAX;
    for (uint32_t i = 0; i < count && woken < core->work.asks; i++) {
        uint32_t at = first + i;
        uint32_t client = core->parked[at < count ? at : at - count];

        if (!is_ready(core, &core->clients[client]))
            continue;
        unpark(core, client);
        woken++;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t client = core->parked[i];

        if (!core->clients[client].is_parked_listed)
            continue;
        uint64_t ready_ns = p2ps_tally_ready(core, &core->clients[client]);
        core->parked[kept++] = client;
        core->parked_ns = ready_ns < core->parked_ns ? ready_ns : core->parked_ns;
    }
    core->parked_count = kept;
}

bool p2ps_client_takes(struct p2ps_core *core, uint32_t client)
{
    const struct p2ps_client *c = p2ps_client_at(core, client);
    const struct p2ps_work *work = &core->work;
    bool is_its_turn =
        work->resuming == client || (work->fresh.first == P2PS_NONE &&
                                     work->busy.first == P2PS_NONE && work->resuming == P2PS_NONE);

    if (c->closing)
        return false; /* the end of the batch cuts it */
    if (p2ps_work_parks(core, client))
        return false;
    if (!c->batch && !c->is_resuming && !c->is_standing && !c->is_busy && is_its_turn &&
        work->asks > 0)
        return true;
    if (work->resuming != client)
        p2ps_work_wait(core, client);
    return false;
}

bool p2ps_core_is_spent(const struct p2ps_core *core)
{
    return core->work.states == 0;
}

bool p2ps_core_has_work(const struct p2ps_core *core)
{
    return core->work.fresh.first != P2PS_NONE || core->work.busy.first != P2PS_NONE ||
           core->work.drop_first != P2PS_NONE || core->work.check_item != P2PS_NONE ||
           core->work.check_client != P2PS_NONE || core->work.tell_client != P2PS_NONE ||
           core->work.has_new_roles || core->work.lock_count > 0 || core->walk_items > 0 ||
           core->closing.is_on;
}
