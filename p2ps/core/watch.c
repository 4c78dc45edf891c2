/* watch.c - one stream of one client on one item: its state, its image, what it is owed. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "watch.h"

#include <stdio.h>

#include "backlog.h"
#include "base/err.h"
#include "base/writer.h"
#include "cause.h"
#include "client.h"
#include "entries.h"
#include "item.h"
#include "network.h"
#include "pace.h"
#include "private.h"
#include "reason.h"
#include "record.h"
#include "status.h"
#include "tally.h"
#include "trail.h"

#define OWED_STREAMS 4096 /* looked at for what they are owed, in one go */

/* ---- what is owed ---- */

void p2ps_watch_owe(struct p2ps_core *core, struct p2ps_watch *w, uint16_t flag)
{
    struct p2ps_client *c = &core->clients[w->client];

    core->stats.no_buffer_events++;
    if (!(w->flags & P2PS_WATCH_OWED))
        c->owed_count++;
    w->flags |= flag;
    p2ps_client_is_slow(core, w->client);
    p2ps_client_bound(core, w->client);
}

void p2ps_watches_owe_images(struct p2ps_core *core, uint32_t item)
{
    for (uint32_t i = 0; i < core->items[item].watch_count; i++) {
        struct p2ps_watch *w = &core->items[item].watches[i];

        if (!p2ps_watch_takes(w, RRMP_SINK_TO_STEP) || p2ps_pace_skips(core, core->pace_skips, w) ||
            w->flags & P2PS_WATCH_HELD_BACK)
            continue;
        core->stats.conflated++;
        p2ps_watch_owe(core, w, P2PS_WATCH_OWED_IMAGE);
    }
}

void p2ps_watch_forgive(struct p2ps_core *core, struct p2ps_watch *w, uint16_t flag)
{
    if (!(w->flags & flag))
        return;
    w->flags &= (uint16_t)~flag;
    if (!(w->flags & P2PS_WATCH_OWED))
        core->clients[w->client].owed_count--;
}

/* ---- states ---- */

/* The state as this client takes it: without SingleOpen or AllowSuspectData, suspect ends it. */
static struct rwf_state for_client(const struct p2ps_client *c, const struct rwf_state *state)
{
    struct rwf_state told = *state;

    if (state->stream_state == RWF_STREAM_OPEN && state->data_state == RWF_DATA_SUSPECT &&
        (!c->single_open || !c->allow_suspect))
        told.stream_state = RWF_STREAM_CLOSED_RECOVER;
    return told;
}

/* False: no room, or the watch has ended. */
static bool send_status(struct p2ps_core *core, uint32_t item, uint32_t watch,
                        const struct rwf_state *state)
{
    struct p2ps_item *it = &core->items[item];
    struct p2ps_watch *w = &it->watches[watch];
    struct p2ps_client *c = p2ps_client_at(core, w->client);
    struct rwf_key key;
    struct rwf_qos qos;
    struct omm_status status = {
        .stream_id = w->stream_id,
        .domain = it->domain,
        .flags = w->flags & P2PS_WATCH_PRIVATE ? RWF_STATUS_PRIVATE_STREAM : 0,
        .state = for_client(c, state),
    };
    bool ends = p2ps_state_ends(&status.state);

    if (p2ps_item_key(core, item, &key, &qos))
        status.key = &key;
    bool is_sent = p2ps_tell_status(core, c, &status) == MD_OK;
    if (!is_sent) {
        p2ps_watch_owe(core, w, P2PS_WATCH_OWED_STATUS);
        /* The stream ends, and its status did not fit: the client would keep a wrong state. */
        if (ends)
            p2ps_client_doom(core, w->client);
    } else {
        core->stats.status_out++;
        p2ps_reason_count(core, w->client, &status.state, true);
        p2ps_client_touch(core, w->client);
    }
    if (ends)
        p2ps_item_watch_end(core, item, watch);
    return is_sent && !ends;
}

void p2ps_watch_status(struct p2ps_core *core, uint32_t item, uint32_t watch,
                       const struct rwf_state *state)
{
    struct p2ps_watch *w = &core->items[item].watches[watch];
    struct rwf_state told = for_client(&core->clients[w->client], state);

    /* Updates of before go out first. */
    if (p2ps_backlog_has(core, w) && !p2ps_state_ends(&told))
        p2ps_watch_owe(core, w, P2PS_WATCH_OWED_STATUS);
    else
        send_status(core, item, watch, state);
}

void p2ps_watch_tell_suspect(struct p2ps_core *core, uint32_t item, uint32_t watch)
{
    struct p2ps_item *it = &core->items[item];
    struct rwf_state state = omm_state(RWF_STREAM_OPEN, it->data_state, it->code, "");

    if (!(it->watches[watch].flags & P2PS_WATCH_OWED_STATUS))
        return;
    p2ps_watch_forgive(core, &it->watches[watch], P2PS_WATCH_OWED_STATUS);
    if (it->data_state != RWF_DATA_OK)
        p2ps_watch_status(core, item, watch, &state);
}

/* Why updates are missing, and how many of those that are never merged. */
static void conflation_text(struct p2ps_core *core, uint32_t client, const uint32_t *lost,
                            char out[P2PS_WALK_TEXT])
{
    const char *cause = "Updates were left out";
    char slow[P2PS_CAUSE_MAX];

    if (core->clients[client].is_merging) {
        p2ps_cause_slow(core, client, slow, sizeof(slow));
        cause = slow;
    } else if (core->lag.is_on || core->lag.is_resuming) {
        cause = p2ps_cause_lag(core);
    }
    if (lost)
        snprintf(out, P2PS_WALK_TEXT,
                 "%s. %u updates that are never merged are lost: they had no room", cause, *lost);
    else
        snprintf(out, P2PS_WALK_TEXT, "%s", cause);
}

/*
 * A client that fell behind gets this as soon as it has room: conflation started, what stands for
 * the updates that it missed, a merged update or an image, real time again.
 */
bool p2ps_watch_conflated(struct p2ps_core *core, uint32_t item, uint32_t watch)
{
    struct p2ps_item *it = &core->items[item];
    struct p2ps_watch *w = &it->watches[watch];
    uint32_t *lost = p2ps_backlog_lost(core, w);
    char text[P2PS_WALK_TEXT];

    /* Of a suspect item, too: it may be fine again without an image. If it has become suspect
     * behind the updates that wait, its client hears that later. */
    bool is_ok = it->data_state == RWF_DATA_OK;
    if (!(w->flags & P2PS_WATCH_HAD_IMAGE) || (w->flags & P2PS_WATCH_CONFLATED && !lost))
        return true;
    conflation_text(core, w->client, lost, text);
    struct rwf_state state = omm_state(RWF_STREAM_OPEN, is_ok ? RWF_DATA_OK : RWF_DATA_NO_CHANGE,
                                       RWF_CODE_JIT_CONFLATION_STARTED, text);
    if (!send_status(core, item, watch, &state))
        return false;
    w->flags |= P2PS_WATCH_CONFLATED;
    if (lost)
        *lost = 0;
    return true;
}

static void tell_resumed(struct p2ps_core *core, uint32_t item, uint32_t watch)
{
    struct p2ps_item *it = &core->items[item];
    struct rwf_state state = omm_state(RWF_STREAM_OPEN, RWF_DATA_OK, RWF_CODE_REALTIME_RESUMED, "");

    if (it->data_state != RWF_DATA_OK)
        return; /* sent when the item is OK again */
    if (send_status(core, item, watch, &state))
        it->watches[watch].flags &= (uint16_t)~P2PS_WATCH_CONFLATED;
}

void p2ps_watch_fine(struct p2ps_core *core, uint32_t item, uint32_t watch)
{
    const struct p2ps_watch *w = &core->items[item].watches[watch];

    if (w->state == P2PS_WATCH_STEP && w->flags & P2PS_WATCH_CONFLATED &&
        !(w->flags & (P2PS_WATCH_OWED | P2PS_WATCH_BEHIND)))
        tell_resumed(core, item, watch);
}

void p2ps_item_state(struct p2ps_core *core, uint32_t item, const struct rwf_state *state)
{
    struct p2ps_item *it = &core->items[item];

    it->stream_state = state->stream_state & 0x1fu;
    if (state->data_state != RWF_DATA_NO_CHANGE)
        it->data_state = state->data_state & 7u;
    it->code = state->code;
    for (uint32_t i = 0; i < it->watch_count; i++) {
        const struct p2ps_watch *w = &it->watches[i];

        if (w->state == P2PS_WATCH_ENDED ||
            (w->state == P2PS_WATCH_ASKS && !p2ps_state_ends(state)))
            continue;
        p2ps_watch_status(core, item, i, state);
        p2ps_watch_fine(core, item, i);
    }
}

void p2ps_watches_before_image(struct p2ps_core *core, uint32_t item)
{
    struct p2ps_item *it = &core->items[item];

    for (uint32_t i = 0; i < it->watch_count; i++) {
        struct p2ps_watch *w = &it->watches[i];

        if (w->state != P2PS_WATCH_STEP || !(w->flags & P2PS_WATCH_OWED_STATUS))
            continue;
        p2ps_watch_tell_suspect(core, item, i);
        if (w->flags & P2PS_WATCH_OWED_STATUS)
            p2ps_watch_owe(core, w, P2PS_WATCH_OWED_IMAGE);
    }
}

/* ---- the kept image ---- */

void p2ps_watch_has_image(struct p2ps_core *core, uint32_t item, uint32_t watch)
{
    struct p2ps_item *it = &core->items[item];
    struct p2ps_watch *w = &it->watches[watch];

    p2ps_watch_forgive(core, w, P2PS_WATCH_OWED_IMAGE);
    p2ps_watch_forgive(core, w, P2PS_WATCH_OWED_STATUS);
    w->flags &= (uint16_t)~P2PS_WATCH_ASKED;
    w->flags |= P2PS_WATCH_HAD_IMAGE;
    if (w->flags & P2PS_WATCH_CONFLATED)
        tell_resumed(core, item, watch);
}

/* Items of a service that is down are suspect, even before their own state says so. */
static uint8_t data_state_of(const struct p2ps_core *core, const struct p2ps_item *it)
{
    return core->services[it->service].is_up ? it->data_state : RWF_DATA_SUSPECT;
}

static bool is_at_hand(const struct p2ps_core *core, const struct p2ps_item *it,
                       const struct p2ps_client *c)
{
    bool takes_suspect = c->single_open && c->allow_suspect;

    return it->image && it->image_state == P2PS_WATCH_STEP && !it->has_ended && it->owes == 0 &&
           cache_image_is_valid(it->image) &&
           (data_state_of(core, it) == RWF_DATA_OK || takes_suspect) && core->part;
}

static void image_record(struct p2ps_core *core, uint32_t item, size_t length,
                         struct p2ps_record *record)
{
    struct rrmp_sink_item info;

    *record = (struct p2ps_record){ .message = rwf_bytes(core->part, length), .item = item };
    if (rrmp_sink_item_info(p2ps_item_sink(core, item), core->items[item].sink_item, &info)) {
        md_put_be16(record->group, info.instance);
        md_put_be16(record->group + 2, info.group);
    }
    p2ps_record_next(core);
}

/* MD_ERR_FULL: the client has no room. Anything else: the image cannot be given like this. */
static int give_parts(struct p2ps_core *core, uint32_t item, struct p2ps_watch *w)
{
    struct p2ps_item *it = &core->items[item];
    struct p2ps_client *c = &core->clients[w->client];
    struct cache_cursor cursor = { 0 };
    bool is_last = false;

    cache_image_set_state(it->image, RWF_STREAM_OPEN, data_state_of(core, it), it->code);
    while (!is_last) {
        struct p2ps_record record;
        size_t length;

        if (cache_image_part(it->image, &cursor, core->part, core->part_size, &length, &is_last) !=
            MD_OK)
            return MD_ERR_UNSUPPORTED;
        image_record(core, item, length, &record);
        if (rwf_peek(record.message, &record.peek) != RWF_OK)
            return MD_ERR_UNSUPPORTED;
        if (p2ps_entries_are_locked(core, &record) &&
            !p2ps_entries_cut(core, item, (uint32_t)(w - it->watches), &record))
            return MD_ERR_UNSUPPORTED;
        const struct p2ps_made *made = p2ps_record_make(core, w->form, &record);
        if (!made)
            return MD_ERR_UNSUPPORTED;
        if (made->length == 0)
            continue;
        if (c->front->put(c->self, made, w->stream_id, (w->flags & P2PS_WATCH_ASKED) != 0,
                          (w->flags & P2PS_WATCH_SNAPSHOT) != 0) != MD_OK)
            return MD_ERR_FULL;
        core->stats.refresh_out++;
        p2ps_work_spend(core, 0, made->length);
        p2ps_client_touch(core, w->client);
    }
    return MD_OK;
}

bool p2ps_watch_give_image(struct p2ps_core *core, uint32_t item, uint32_t watch)
{
    struct p2ps_item *it = &core->items[item];
    struct p2ps_watch *w = &it->watches[watch];

    if (!is_at_hand(core, it, &core->clients[w->client]))
        return false;
    int err = give_parts(core, item, w);
    if (err != MD_OK && err != MD_ERR_FULL)
        return false; /* parts of it may be out: the source's image begins anew */
    core->stats.images_from_cache += err == MD_OK;
    p2ps_watch_set(w, P2PS_WATCH_STEP);
    w->flags &= (uint16_t)~P2PS_WATCH_MISSED;
    if (!(w->flags & P2PS_WATCH_SNAPSHOT))
        p2ps_pace_caught_up(core, item, w);
    if (err == MD_ERR_FULL)
        p2ps_watch_owe(core, w, P2PS_WATCH_OWED_IMAGE);
    else if (w->flags & P2PS_WATCH_SNAPSHOT)
        p2ps_item_watch_end(core, item, watch);
    else
        p2ps_watch_has_image(core, item, watch);
    return true;
}

void p2ps_watch_wants_image(struct p2ps_core *core, uint32_t item, uint32_t watch)
{
    struct p2ps_item *it = &core->items[item];

    if (p2ps_backlog_has(core, &it->watches[watch])) {
        p2ps_watch_owe(core, &it->watches[watch], P2PS_WATCH_OWED_IMAGE);
        return;
    }
    p2ps_watch_set(&it->watches[watch], P2PS_WATCH_NEW);
    if (p2ps_watch_give_image(core, item, watch))
        return;
    rrmp_sink_item_want_image(p2ps_item_sink(core, item), core->now_ns, it->sink_item);
}

/* ---- permission ---- */

void p2ps_watch_denied(struct p2ps_core *core, uint32_t item, uint32_t watch, const char *text)
{
    struct rwf_state state =
        omm_state(RWF_STREAM_CLOSED, RWF_DATA_SUSPECT, RWF_CODE_NOT_ENTITLED, text);

    core->stats.not_entitled++;
    p2ps_tally_refused(&core->clients[core->items[item].watches[watch].client]);
    p2ps_trail_denied(core, item, watch, text);
    p2ps_watch_status(core, item, watch, &state);
}

static void tell_waits(struct p2ps_core *core, uint32_t item, uint32_t watch)
{
    const struct p2ps_item *it = &core->items[item];
    struct rwf_state state =
        omm_state(RWF_STREAM_OPEN, RWF_DATA_SUSPECT, it->code, "Waiting for the source");

    if (it->is_state_known && it->data_state == RWF_DATA_SUSPECT)
        p2ps_watch_status(core, item, watch, &state);
}

void p2ps_watch_asks_again(struct p2ps_core *core, uint32_t item, uint32_t watch)
{
    p2ps_watch_wants_image(core, item, watch);
    /* The source may have told those who wait long ago, and says it once. */
    if (core->items[item].watches[watch].state == P2PS_WATCH_NEW)
        tell_waits(core, item, watch);
}

void p2ps_watch_too_late(struct p2ps_core *core, uint32_t item, uint32_t watch)
{
    struct rwf_state state =
        omm_state(RWF_STREAM_CLOSED_RECOVER, RWF_DATA_SUSPECT, RWF_CODE_NO_RESOURCES,
                  "The image could not be kept for this stream; ask again");

    p2ps_watch_status(core, item, watch, &state);
}

/* Updates passed the watch while it waited for a verdict. False: it has ended, or there is no room
 * to tell it so: then it is owed an image like all who fall behind, who are told first. */
static bool tell_left_out(struct p2ps_core *core, uint32_t item, uint32_t watch)
{
    struct p2ps_watch *w = &core->items[item].watches[watch];

    tell_waits(core, item, watch);
    if (w->state != P2PS_WATCH_ENDED)
        p2ps_watch_conflated(core, item, watch);
    if (w->state == P2PS_WATCH_ENDED)
        return false;
    if (!(w->flags & P2PS_WATCH_OWED_STATUS))
        return true;
    p2ps_watch_set(w, P2PS_WATCH_STEP);
    p2ps_watch_owe(core, w, P2PS_WATCH_OWED_IMAGE);
    return false;
}

void p2ps_watch_permitted(struct p2ps_core *core, uint32_t item, uint32_t watch)
{
    struct p2ps_item *it = &core->items[item];
    struct p2ps_watch *w = &it->watches[watch];

    if (w->state != P2PS_WATCH_ASKS)
        return;
    p2ps_trail_open(core, item, watch);
    bool is_told = (w->flags & P2PS_WATCH_HAD_IMAGE) != 0;
    if (is_told && !tell_left_out(core, item, watch))
        return;
    p2ps_watch_set(w, w->flags & P2PS_WATCH_NO_REFRESH ? P2PS_WATCH_STEP : P2PS_WATCH_NEW);
    if (w->state == P2PS_WATCH_STEP) {
        p2ps_pace_caught_up(core, item, w);
        return;
    }
    if (p2ps_watch_give_image(core, item, watch))
        return;
    if (it->sink_item == RRMP_ITEM_NONE) {
        p2ps_watch_too_late(core, item, watch);
        return;
    }
    rrmp_sink_item_want_image(p2ps_item_sink(core, item), core->now_ns, it->sink_item);
    /* A suspect state is sent at once: it stops the consumer's request timer. */
    if (!is_told)
        tell_waits(core, item, watch);
}

/* ---- what slow clients are owed ---- */

static void give_owed(struct p2ps_core *core, uint32_t item, uint32_t at)
{
    struct p2ps_item *it = &core->items[item];
    struct p2ps_watch *w = &it->watches[at];

    if (it->sink_item == RRMP_ITEM_NONE) {
        p2ps_watch_too_late(core, item, at);
        return;
    }
    if (p2ps_backlog_has(core, w))
        return;
    if (w->flags & P2PS_WATCH_OWED_IMAGE) {
        p2ps_watch_tell_suspect(core, item, at);
        if (w->state != P2PS_WATCH_ENDED && !(w->flags & P2PS_WATCH_OWED_STATUS))
            p2ps_watch_conflated(core, item, at);
        if (w->state == P2PS_WATCH_ENDED || w->flags & P2PS_WATCH_OWED_STATUS)
            return;
        p2ps_watch_forgive(core, w, P2PS_WATCH_OWED_IMAGE);
        p2ps_watch_wants_image(core, item, at);
    } else if (w->flags & P2PS_WATCH_OWED_STATUS) {
        struct rwf_state state = omm_state(RWF_STREAM_OPEN, it->data_state, it->code, "");
        p2ps_watch_forgive(core, w, P2PS_WATCH_OWED_STATUS);
        if (w->flags & P2PS_WATCH_CONFLATED && it->data_state == RWF_DATA_OK &&
            (!core->clients[w->client].is_merging ||
             p2ps_backlog_find(core, w->client, w->stream_id) == P2PS_NONE))
            tell_resumed(core, item, at);
        else
            p2ps_watch_status(core, item, at, &state);
    }
}

void p2ps_watches_give_owed(struct p2ps_core *core, uint32_t client)
{
    struct p2ps_client *c = p2ps_client_at(core, client);
    bool has_wrapped = false;
    uint32_t item;

    for (unsigned i = 0; i < OWED_STREAMS && c->owed_count && !c->closing; i++) {
        if (c->front->fill(c->self) >= core->config.owed_fill_percent)
            return;
        int32_t id = p2ps_idmap_next(&c->streams, &c->owed_cursor, &item);
        if (id == 0) {
            c->owed_cursor = 0;
            if (has_wrapped)
                return;
            has_wrapped = true;
        } else if (item < P2PS_STREAM_DICTIONARY) {
            uint32_t at = p2ps_item_watch_find(core, item, client, id);
            if (at != P2PS_NONE && core->items[item].watches[at].flags & P2PS_WATCH_OWED)
                give_owed(core, item, at);
        }
    }
}
