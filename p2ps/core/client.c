/* client.c - connections: their slots, their timers, their end. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backlog.h"
#include "base/assert.h"
#include "base/err.h"
#include "client.h"
#include "private.h"
#include "tally.h"

#define TURN_MIN 1024u

struct p2ps_client *p2ps_client_at(struct p2ps_core *core, uint32_t client)
{
    MD_ASSERT(client < core->client_room && core->clients[client].is_used);
    return &core->clients[client];
}

/* The slots that are taken in turn: no slot is used again soon, and the memory of no more is
 * touched than so many consumers need, with those that hung up and are still being let go. */
static uint32_t turn_of_slots(const struct p2ps_core *core)
{
    uint32_t turn = TURN_MIN;

    while (turn / 4 <= core->clients_used && turn < core->client_room)
        turn *= 2;
    return turn < core->client_room ? turn : core->client_room;
}

/* Three of four slots of the turn are free, unless it is all there are: the search is short. */
static uint32_t free_slot(struct p2ps_core *core)
{
    uint32_t turn = turn_of_slots(core);

    if (core->stats.mounts_now >= core->config.client_limit)
        return P2PS_NONE;
    for (uint32_t i = 0; i < turn; i++) {
        uint32_t slot = core->client_next < turn ? core->client_next : 0;

        core->client_next = slot + 1;
        if (!core->clients[slot].is_used)
            return slot;
    }
    return P2PS_NONE;
}

int p2ps_client_add(struct p2ps_core *core, uint64_t now_ns, const struct p2ps_front *front,
                    void *self, const char *address, uint32_t address_v4, uint32_t *client)
{
    uint32_t slot = free_slot(core);

    *client = P2PS_NONE;
    if (slot == P2PS_NONE)
        return MD_ERR_FULL;
    struct p2ps_client *c = &core->clients[slot];
    *c = (struct p2ps_client){
        .is_used = true,
        .is_touched = c->is_touched, /* the slot may be in these lists still */
        .is_filling = c->is_filling,
        .is_slow_listed = c->is_slow_listed,
        .is_parked_listed = c->is_parked_listed,
        .is_busy = c->is_busy,
        .busy_next = c->busy_next,
        .serial = ++core->client_serial,
        .opened_ns = now_ns,
        .front = front,
        .self = self,
        .address_v4 = address_v4,
        .directory_service = -1,
    };
    snprintf(c->address, sizeof(c->address), "%s", address);
    core->now_ns = now_ns;
    if (p2ps_tally_host(core, c) != MD_OK) {
        c->is_used = false;
        return MD_ERR_NOMEM;
    }
    p2ps_idmap_init(&c->streams, &core->stats.watch_bytes_now, core->idmap_key);
    p2ps_backlog_reset(core, slot);
    core->clients_used++;
    core->stats.mounts_now++;
    core->stats.mounts_total++;
    *client = slot;
    return MD_OK;
}

static void doom(struct p2ps_core *core, uint32_t client, enum p2ps_doom why)
{
    struct p2ps_client *c = &core->clients[client];

    if (!c->closing)
        c->closing = (uint8_t)why;
    p2ps_client_touch(core, client); /* the list that is looked at when the batch is over */
}

void p2ps_client_doom(struct p2ps_core *core, uint32_t client)
{
    core->stats.no_buffer_events++;
    doom(core, client, P2PS_DOOM_NO_ROOM);
}

void p2ps_client_doom_unknown(struct p2ps_core *core, uint32_t client)
{
    doom(core, client, P2PS_DOOM_NO_MEMORY);
}

void p2ps_client_bound(struct p2ps_core *core, uint32_t client)
{
    const struct p2ps_client *c = &core->clients[client];
    struct p2ps_slow *slow = p2ps_backlog_of(core, client);
    uint64_t behind = c->owed_count + (uint64_t)slow->waiting.count;

    if (behind <= core->config.conflate_max || c->closing ||
        (c->front->has_ceiling && c->front->has_ceiling(c->self)))
        return;
    slow->doomed_behind = behind;
    doom(core, client, P2PS_DOOM_BEHIND);
}

void p2ps_client_touch(struct p2ps_core *core, uint32_t client)
{
    struct p2ps_client *c = &core->clients[client];

    if (c->is_touched)
        return;
    c->is_touched = true;
    core->touched[core->touched_count++] = client;
}

void p2ps_client_is_slow(struct p2ps_core *core, uint32_t client)
{
    struct p2ps_client *c = &core->clients[client];

    if (c->is_slow)
        return;
    c->is_slow = true;
    c->slow_since_ns = core->now_ns;
    if (!c->is_slow_listed)
        core->slow[core->slow_count++] = client;
    c->is_slow_listed = true;
    core->stats.mounts_slow_now++;
}

const char *p2ps_client_certificate(const struct p2ps_client *c, uint64_t *expires_s)
{
    const struct p2ps_front *front = c->door ? c->door : c->front;

    *expires_s = 0;
    return front->certificate ? front->certificate(c->door ? c->door_self : c->self, expires_s)
                              : "";
}

const char *p2ps_client_serial(const struct p2ps_client *c)
{
    const struct p2ps_front *front = c->door ? c->door : c->front;

    return front->serial ? front->serial(c->door ? c->door_self : c->self) : "";
}

void p2ps_client_shown_set(struct p2ps_core *core, uint32_t client,
                           const struct entitle_shown *shown)
{
    struct p2ps_client *c = &core->clients[client];
    struct entitle_shown *copy = NULL;

    if (shown && !(copy = malloc(sizeof(*copy))))
        p2ps_client_doom_unknown(core, client); /* nobody could revoke it */
    if (copy)
        *copy = *shown;
    free(c->shown);
    c->shown = copy;
}

void p2ps_client_login_set(struct p2ps_core *core, struct p2ps_client *c,
                           enum p2ps_login_state state)
{
    const struct p2ps_front *front = c->door ? c->door : c->front;
    bool was_open = c->login_state == P2PS_LOGIN_OPEN;
    bool is_open = state == P2PS_LOGIN_OPEN;

    core->stats.logins_now -= was_open;
    core->stats.logins_now += is_open;
    if (front->is_long) {
        core->long_logins_now -= was_open;
        core->long_logins_now += is_open;
    }
    c->login_state = (uint8_t)state;
}

void p2ps_batch_forget(struct p2ps_client *c)
{
    free(c->batch);
    c->batch = NULL;
}

bool p2ps_client_info(const struct p2ps_core *core, uint32_t client, struct p2ps_client_info *out)
{
    *out = (struct p2ps_client_info){ 0 };
    if (client >= core->client_room)
        return false;
    const struct p2ps_client *c = &core->clients[client];
    const struct p2ps_slow *slow = p2ps_backlog_of(core, client);
    if (c->is_used && !c->is_gone) {
        *out = (struct p2ps_client_info){
            .is_used = true,
            .user = c->user,
            .position = c->position,
            .application = c->application,
            .application_id = c->application_id,
            .address = c->address,
            .streams = c->item_streams,
            .updates_out = c->updates_out,
            .rtt_us = c->rtt_latency_us,
            .is_slow = c->is_slow,
            .is_merging = c->is_merging,
            .first_slow_s = slow->first_s,
            .merged = slow->merged,
            .lost = slow->lost,
            .reasons = slow->reasons,
            .worst_lag_ns = slow->worst_lag_ns,
            .behind_bytes = slow->record_bytes + slow->pending_bytes,
            .is_in = c->login_state == P2PS_LOGIN_OPEN,
            .has_asked = c->login_state != P2PS_LOGIN_NONE,
            .misuse = c->misuse,
            .self = c->door ? c->door_self : c->self,
        };
    }
    return true;
}

bool p2ps_client_has_stream(const struct p2ps_core *core, uint32_t client, int32_t stream_id)
{
    return p2ps_idmap_get(&core->clients[client].streams, stream_id) != P2PS_IDMAP_NONE;
}
