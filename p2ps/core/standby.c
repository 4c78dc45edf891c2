/* standby.c - consumers that are connected to two p2ps and follow one of them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "standby.h"
#include "client.h"
#include "item.h"
#include "network.h"
#include "private.h"
#include "watch.h"

/*
 * A standby watch is like a paused one: the item is open for it, images and states are given, and
 * updates are held back. When its client comes to follow us it is given a fresh image of every
 * item, since it marks what it had of the other p2ps as lost until one comes.
 */

bool p2ps_standby_is(const struct p2ps_client *c, uint16_t service)
{
    return c->is_standby ||
           (service < P2PS_SERVICES_MAX && c->standby_services[service / 64] >> (service % 64) & 1);
}

static void set_watch(struct p2ps_core *core, uint32_t item, uint32_t watch, bool is_standby)
{
    struct p2ps_watch *w = &core->items[item].watches[watch];

    if (is_standby) {
        w->flags |= P2PS_WATCH_STANDBY;
        return;
    }
    w->flags &= (uint16_t)~P2PS_WATCH_STANDBY;
    if (w->state != P2PS_WATCH_STEP)
        return; /* the image it asked for is still to come */
    p2ps_watch_wants_image(core, item, watch);
}

static void tell_stream(struct p2ps_core *core, uint32_t client, int32_t id, uint32_t item)
{
    const struct p2ps_client *c = p2ps_client_at(core, client);
    uint32_t watch = p2ps_item_watch_find(core, item, client, id);

    if (watch == P2PS_NONE)
        return;
    bool was = (core->items[item].watches[watch].flags & P2PS_WATCH_STANDBY) != 0;
    bool is = p2ps_standby_is(c, core->items[item].service);
    if (was == is)
        return;
    if (!is)
        p2ps_work_spend(core, 1, 0);
    set_watch(core, item, watch, is);
}

void p2ps_standby_go_on(struct p2ps_core *core, uint32_t client)
{
    struct p2ps_client *c = p2ps_client_at(core, client);
    uint32_t places = P2PS_ASK_PLACES;
    uint32_t item;

    while (places > 0 && core->work.asks > 0) {
        int32_t id = p2ps_idmap_walk(&c->streams, &c->walk, &places, &item);

        if (id == 0 && places > 0) {
            c->is_standing = false;
            return;
        }
        if (id != 0 && item < P2PS_STREAM_DICTIONARY)
            tell_stream(core, client, id, item);
    }
}

/* Applies the role of the client to all its streams, so many in a turn. */
static void apply(struct p2ps_core *core, uint32_t client)
{
    struct p2ps_client *c = p2ps_client_at(core, client);

    c->is_standing = true;
    c->walk = (struct p2ps_idmap_walk){ 0 };
    p2ps_standby_go_on(core, client);
    if (c->is_standing && core->work.resuming != client)
        p2ps_work_wait(core, client);
}

void p2ps_standby_login(struct p2ps_core *core, uint32_t client, const struct rwf_msg *msg)
{
    struct p2ps_client *c = p2ps_client_at(core, client);
    uint64_t role;

    if (omm_connection_status_decode(msg, &role) != RWF_OK)
        return;
    c->is_standby = role == OMM_STANDBY_STANDBY;
    apply(core, client);
}

void p2ps_standby_directory(struct p2ps_core *core, uint32_t client, const struct rwf_msg *msg)
{
    struct p2ps_client *c = p2ps_client_at(core, client);
    struct omm_consumer_status status;
    uint16_t service_id;
    uint64_t role;

    if (omm_consumer_status_start(msg, &status) != RWF_OK)
        return;
    while (omm_consumer_status_next(&status, &service_id, &role) > 0) {
        uint16_t service = p2ps_service_find(core, service_id);
        if (service >= P2PS_SERVICES_MAX)
            continue;
        uint64_t bit = 1ull << (service % 64);
        if (role == OMM_STANDBY_STANDBY)
            c->standby_services[service / 64] |= bit, core->has_standby = true;
        else
            c->standby_services[service / 64] &= ~bit;
    }
    apply(core, client);
}
