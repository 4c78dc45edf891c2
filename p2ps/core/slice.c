/* slice.c - a turn's share of the work that waits. See work.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "slice.h"

#include <string.h>

#include "client.h"
#include "drop.h"
#include "entitle.h"
#include "gone.h"
#include "login.h"
#include "network.h"
#include "pause.h"
#include "private.h"
#include "request.h"
#include "standby.h"
#include "states.h"
#include "status.h"

/* ---- requests ---- */

/* One ask of the client whose share it is. False: it has none left, or it is gone. */
static bool ask_once(struct p2ps_core *core, uint32_t client, uint32_t serial)
{
    struct p2ps_client *c = &core->clients[client];
    uint32_t before = core->work.asks;
    bool has_more = true; /* behind these there may be what was kept back */

    if (c->batch)
        p2ps_batch_next(core, client);
    else if (c->is_resuming)
        p2ps_pause_resume(core, client);
    else if (c->is_standing)
        p2ps_standby_go_on(core, client);
    else
        has_more = c->front->resume && c->front->resume(c->self);
    if (core->work.asks == before)
        p2ps_work_spend(core, 1, 0); /* a request that is nothing to the core is one, too */
    return p2ps_client_is_here(c) && !c->closing && c->serial == serial &&
           (has_more || c->batch || c->is_resuming || c->is_standing);
}

/* The client asks until `end` asks are left of the turn. True: it has more requests. */
static bool serve(struct p2ps_core *core, uint32_t client, uint32_t end)
{
    struct p2ps_work *work = &core->work;
    struct p2ps_client *c = &core->clients[client];
    uint32_t serial = c->serial;
    bool has_more = !c->is_gone && !c->closing;

    work->resuming = client;
    while (has_more && work->asks > end) {
        /* Streams that are taken up again were asked for before. */
        if (!c->is_resuming && !c->is_standing && p2ps_work_parks(core, client))
            has_more = false;
        else
            has_more = ask_once(core, client, serial);
    }
    work->resuming = P2PS_NONE;
    return has_more;
}

/* The clients of a ring, each for its share, until `end` asks are left of the turn. A share that
 * the turn cuts short goes on in the next one. */
static void serve_ring(struct p2ps_core *core, struct p2ps_ring *ring, uint32_t share, uint32_t end)
{
    struct p2ps_work *work = &core->work;

    while (ring->first != P2PS_NONE && work->asks > end) {
        uint32_t client = p2ps_ring_take(core, ring);
        uint32_t before = work->asks;

        if (ring->left == 0)
            ring->left = share;
        bool has_more = serve(core, client, before - end > ring->left ? before - ring->left : end);
        uint32_t spent = before - work->asks;
        ring->left = has_more && spent < ring->left ? ring->left - spent : 0;
        if (has_more)
            p2ps_ring_again(core, ring, client);
    }
}

static void serve_busy(struct p2ps_core *core)
{
    struct p2ps_work *work = &core->work;
    bool has_both = work->fresh.first != P2PS_NONE && work->busy.first != P2PS_NONE;

    p2ps_service_asked_forget(core);
    serve_ring(core, &work->fresh, P2PS_SHARE_ASKS,
               has_both ? (work->asks + work->is_odd_turn) / 2 : 0);
    serve_ring(core, &work->busy, P2PS_LONG_ASKS, 0);
    serve_ring(core, &work->fresh, P2PS_SHARE_ASKS, 0);
}

/* ---- a reload of the access rules ---- */

/* From the last watch to the first: one that takes the place of another was asked for already. */
static void check_watches(struct p2ps_core *core, uint32_t item)
{
    struct p2ps_work *work = &core->work;
    const struct p2ps_item *it = &core->items[item];

    if (!work->is_check_started || work->check_watch > it->watch_count)
        work->check_watch = it->watch_count;
    work->is_check_started = true;
    while (work->check_watch > 0 && work->checks > 0) {
        work->checks--;
        p2ps_entitle_watch_again(core, item, --work->check_watch);
    }
    if (work->check_watch > 0)
        return;
    work->is_check_started = false;
    work->check_item++;
}

/* Logins first: whose login ends has no streams to be asked for. */
static void check_clients(struct p2ps_core *core)
{
    struct p2ps_work *work = &core->work;

    while (work->check_client < core->client_room && work->checks > 0 && work->places > 0) {
        work->places--;
        if (p2ps_login_check(core, work->check_client++))
            work->checks -= work->checks > 0;
    }
    if (work->check_client >= core->client_room)
        work->check_client = P2PS_NONE;
}

static void serve_checks(struct p2ps_core *core)
{
    struct p2ps_work *work = &core->work;

    check_clients(core);
    if (work->check_client != P2PS_NONE)
        return;
    if (work->check_item == P2PS_NONE && work->has_new_roles) {
        work->has_new_roles = false;
        work->check_item = 0;
        work->is_check_started = false;
    }
    while (work->check_item < core->item_room && work->checks > 0 && work->places > 0) {
        work->places--;
        check_watches(core, work->check_item);
    }
    if (work->check_item >= core->item_room)
        work->check_item = P2PS_NONE;
    if (work->check_item == P2PS_NONE && work->checks_again) {
        work->checks_again = false;
        work->check_client = 0;
    }
}

/* ---- permission data that changed ---- */

/* From the last watch to the first, as above; those that do not wait were asked for. */
static void check_locks_of(struct p2ps_core *core, uint32_t item)
{
    struct p2ps_work *work = &core->work;
    const struct p2ps_item *it = &core->items[item];

    if (!work->is_lock_started || work->lock_watch > it->watch_count)
        work->lock_watch = it->watch_count;
    work->is_lock_started = true;
    while (work->lock_watch > 0 && work->checks > 0 && work->places > 0) {
        const struct p2ps_watch *w = &it->watches[--work->lock_watch];

        work->places--;
        if (w->state != P2PS_WATCH_ASKS)
            continue;
        work->checks--;
        p2ps_entitle_watch_again(core, item, work->lock_watch);
    }
    if (work->lock_watch > 0)
        return;
    work->is_lock_started = false;
    work->lock_count--;
    memmove(work->lock_items, work->lock_items + 1, work->lock_count * sizeof(work->lock_items[0]));
}

static void serve_locks(struct p2ps_core *core)
{
    struct p2ps_work *work = &core->work;

    while (work->lock_count > 0 && work->checks > 0 && work->places > 0)
        check_locks_of(core, work->lock_items[0]);
}

void p2ps_slice_check(struct p2ps_core *core)
{
    core->work.check_client = 0;
    core->work.checks_again = false;
    core->work.check_item = 0;
    core->work.is_check_started = false;
    serve_checks(core);
}

/* ---- an authority outside ---- */

static void serve_tells(struct p2ps_core *core)
{
    struct p2ps_work *work = &core->work;

    while (work->tell_client < core->client_room && work->checks > 0 && work->places > 0) {
        work->places--;
        work->checks -= p2ps_status_tell_down(core, work->tell_client++);
    }
    if (work->tell_client >= core->client_room)
        work->tell_client = P2PS_NONE;
}

/* A walk under way goes on: notices without end must not keep it from the last clients. */
static void recall_logins(struct p2ps_work *work)
{
    if (work->check_client == P2PS_NONE && work->check_item == P2PS_NONE)
        work->check_client = 0;
    else
        work->checks_again = true;
}

void p2ps_slice_news(struct p2ps_core *core, unsigned news)
{
    if (news & ENTITLE_NEWS_LOGINS)
        recall_logins(&core->work);
    if (news & (ENTITLE_NEWS_DOWN | ENTITLE_NEWS_UP)) {
        core->is_outside_down = !(news & ENTITLE_NEWS_UP);
        core->work.tell_client = 0;
    }
}

/* ---- the turn ---- */

void p2ps_slice_turn(struct p2ps_core *core)
{
    p2ps_work_refill(core);
    p2ps_work_unpark(core);
    p2ps_states_turn(core);
    p2ps_gone_turn(core);
    core->work.states = P2PS_TURN_STATES; /* what events bring from here on is of the next turn */
    p2ps_drop_more(core);
    serve_tells(core);
    serve_locks(core);
    serve_checks(core);
    serve_busy(core);
}
