/* slice.c - a turn's share of the work that waits. See work.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "slice.h"
#include "client.h"
#include "drop.h"
#include "entitle.h"
#include "login.h"
#include "private.h"
#include "request.h"
#include "standby.h"

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
        p2ps_login_resume(core, client);
    else if (c->is_standing)
        p2ps_standby_go_on(core, client);
    else
        has_more = c->front->resume && c->front->resume(c->self);
    if (core->work.asks == before)
        p2ps_work_spend(core, 1, 0); /* a request that is nothing to the core is one, too */
    return p2ps_client_is_here(c) && !c->closing && c->serial == serial &&
           (has_more || c->batch || c->is_resuming || c->is_standing);
}

static void serve_busy(struct p2ps_core *core)
{
    struct p2ps_work *work = &core->work;

    while (work->busy_first != P2PS_NONE && work->asks > 0) {
        uint32_t client = work->busy_first;
        struct p2ps_client *c = &core->clients[client];
        uint32_t serial = c->serial;
        uint32_t end = work->asks > P2PS_SHARE_ASKS ? work->asks - P2PS_SHARE_ASKS : 0;
        bool has_more = !c->is_gone && !c->closing;

        work->busy_first = c->busy_next;
        c->is_busy = false;
        work->resuming = client;
        while (has_more && work->asks > end) {
            /* Streams that are taken up again were asked for before. */
            if (!c->is_resuming && !c->is_standing && p2ps_work_parks(core, client))
                has_more = false;
            else
                has_more = ask_once(core, client, serial);
        }
        work->resuming = P2PS_NONE;
        if (has_more)
            p2ps_work_wait(core, client);
    }
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

static void serve_checks(struct p2ps_core *core)
{
    struct p2ps_work *work = &core->work;

    while (work->check_item < core->item_room && work->checks > 0 && work->places > 0) {
        work->places--;
        check_watches(core, work->check_item);
    }
    if (work->check_item >= core->item_room)
        work->check_item = P2PS_NONE;
}

void p2ps_slice_check(struct p2ps_core *core)
{
    core->work.check_item = 0;
    core->work.is_check_started = false;
    serve_checks(core);
}

/* ---- the turn ---- */

void p2ps_slice_turn(struct p2ps_core *core)
{
    p2ps_work_refill(core);
    p2ps_work_unpark(core);
    p2ps_drop_more(core);
    serve_checks(core);
    serve_busy(core);
}
