/* drop.c - see drop.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "drop.h"
#include "backlog.h"
#include "base/err.h"
#include "client.h"
#include "item.h"
#include "private.h"
#include "session.h"

/* ---- the front of a client whose streams are let go: nothing of them goes out ---- */

static int put_nothing(void *self, const struct p2ps_made *made, int32_t stream_id, bool solicited,
                       bool snapshot)
{
    (void)self;
    (void)made;
    (void)stream_id;
    (void)solicited;
    (void)snapshot;
    return MD_OK;
}

static int no_message(void *self, struct rwf_bytes message)
{
    (void)self;
    (void)message;
    return MD_OK;
}

/* Output that was queued before still goes out, if the client is here. */
static void flush_door(void *self)
{
    const struct p2ps_client *c = self;

    if (!c->is_gone)
        c->door->flush(c->door_self);
}

static bool is_door_full(const void *self)
{
    const struct p2ps_client *c = self;

    return !c->is_gone && c->door->is_full(c->door_self);
}

static bool resume_door(void *self)
{
    const struct p2ps_client *c = self;

    return !c->is_gone && c->door->resume && c->door->resume(c->door_self);
}

static unsigned no_fill(const void *self)
{
    (void)self;
    return 0;
}

static const struct p2ps_front nobody = {
    .name = "nobody",
    .put = put_nothing,
    .message = no_message,
    .flush = flush_door,
    .is_full = is_door_full,
    .fill = no_fill,
    .resume = resume_door,
};

/* ---- the ring ---- */

static void drop_streams_of(struct p2ps_core *core, uint32_t client)
{
    struct p2ps_work *work = &core->work;
    struct p2ps_client *c = &core->clients[client];
    struct p2ps_idmap_entry entry;

    while (work->watches > 0 &&
           p2ps_idmap_pop(&c->streams, &c->drop_cursor, &work->places, &entry) != 0) {
        if (entry.index >= P2PS_STREAM_DICTIONARY)
            continue;
        p2ps_item_watch_forget(core, entry.index, entry.place);
        work->watches--;
    }
}

/* The first of the ring: with what it had gone, its slot is free. */
static void drop_done(struct p2ps_core *core)
{
    struct p2ps_work *work = &core->work;
    struct p2ps_client *c = &core->clients[work->drop_first];

    p2ps_session_forget(c);
    p2ps_client_shown_set(core, work->drop_first, NULL);
    work->drop_first = c->drop_next;
    c->is_dropping = false;
    p2ps_idmap_fini(&c->streams);
    c->front = c->door;
    c->self = c->door_self;
    c->door = NULL;
    if (c->is_gone) {
        p2ps_backlog_reset(core, (uint32_t)(c - core->clients));
        c->is_used = false;
        core->clients_used--;
    }
}

void p2ps_drop_more(struct p2ps_core *core)
{
    struct p2ps_work *work = &core->work;

    while (work->drop_first != P2PS_NONE && work->watches > 0 && work->places > 0) {
        uint32_t client = work->drop_first;

        drop_streams_of(core, client);
        if (core->clients[client].streams.count > 0)
            break;
        drop_done(core);
    }
    p2ps_items_sweep(core);
}

void p2ps_drop_streams(struct p2ps_core *core, uint32_t client)
{
    struct p2ps_work *work = &core->work;
    struct p2ps_client *c = &core->clients[client];

    p2ps_batch_forget(c);
    c->is_resuming = false;
    c->is_standing = false;
    c->directory_stream = 0;
    if (!c->is_dropping) {
        c->is_dropping = true;
        c->drop_cursor = 0;
        c->drop_next = P2PS_NONE;
        c->pause_all = P2PS_PAUSE_ALL; /* updates pass it by */
        p2ps_backlog_end(core, client);
        c->door = c->front;
        c->door_self = c->self;
        c->front = &nobody;
        c->self = c;
        if (work->drop_first == P2PS_NONE)
            work->drop_first = client;
        else
            core->clients[work->drop_last].drop_next = client;
        work->drop_last = client;
    }
    p2ps_drop_more(core);
}
