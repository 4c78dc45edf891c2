/* deliver.c - the tick's last step: from a record of the backbone to the streams of clients. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "deliver.h"
#include "base/cursor.h"
#include "base/err.h"
#include "client.h"
#include "dictionary.h"
#include "directory.h"
#include "entitle.h"
#include "image.h"
#include "item.h"
#include "network.h"
#include "post.h"
#include "private.h"
#include "record.h"
#include "states.h"
#include "status.h"
#include "trail.h"
#include "watch.h"

#define EVENTS_MAX 32 /* taken at a time: they stay in the first cache */

/* A mirrored item may go on at another source, which must know from which number on. */
static void note_provider_seq(struct p2ps_core *core, const struct p2ps_record *record)
{
    const struct p2ps_item *it = &core->items[record->item];
    bool has_seq = record->peek.msg_class == RWF_CLASS_UPDATE
                       ? (record->peek.flags & RWF_UPDATE_HAS_SEQ_NUM) != 0
                       : (record->peek.flags & RWF_REFRESH_HAS_SEQ_NUM) != 0;
    struct rwf_layout layout;

    if (!has_seq || !core->services[it->service].is_mirrored ||
        rwf_layout_decode(record->message, &layout) != RWF_OK || layout.seq_num.at == 0)
        return;
    rrmp_sink_item_provider_seq(p2ps_item_sink(core, record->item), it->sink_item,
                                md_be32(record->message.data + layout.seq_num.at));
}

/* The client lacks a record. Of a snapshot that is all it will get: the stream is closed, or it
 * would end without an answer. */
static void tell_lacking(struct p2ps_core *core, uint32_t item, uint32_t watch,
                         const struct rwf_state *state)
{
    const struct p2ps_watch *w = &core->items[item].watches[watch];
    struct rwf_state told = *state;

    if (w->flags & P2PS_WATCH_SNAPSHOT && w->state == P2PS_WATCH_FILLING)
        told.stream_state = RWF_STREAM_CLOSED;
    p2ps_watch_status(core, item, watch, &told);
}

static void tell_unreadable(struct p2ps_core *core, uint32_t item)
{
    struct p2ps_item *it = &core->items[item];
    const struct rwf_state state = p2ps_state(RWF_STREAM_OPEN, RWF_DATA_SUSPECT, RWF_CODE_NONE,
                                              "A Marketfeed record of this item cannot be read: "
                                              "values may be missing until its next image");

    if (!core->is_unreadable)
        return;
    core->is_unreadable = false;
    if (it->is_unreadable)
        return;
    it->is_unreadable = true;
    for (uint32_t i = 0; i < it->watch_count; i++) {
        const struct p2ps_watch *w = &core->items[item].watches[i];

        /* A watch that has ended has no form any more: the list of ended ones takes its place. */
        if (w->state == P2PS_WATCH_ASKS || w->state == P2PS_WATCH_ENDED)
            continue;
        if (!(core->forms[w->form].flags & (P2PS_FORM_NATIVE | P2PS_FORM_MARKETFEED)))
            tell_lacking(core, item, i, &state);
    }
}

/* Updates are not for such a watch: it gets an image instead. */
#define HELD_BACK (P2PS_WATCH_OWED_IMAGE | P2PS_WATCH_PAUSED | P2PS_WATCH_STANDBY)

/* Nothing of what cannot be cut goes to a client that may not see all of it. */
#define P2PS_UNCUT                                                                                 \
    "not all fields of the item may be seen, and they cannot be taken out of its data"

/* A record that cannot be made in the form of a watch, in JSON for one, is lost for its client. */
static void tell_unmade(struct p2ps_core *core, uint32_t item)
{
    const struct rwf_state state = p2ps_state(RWF_STREAM_OPEN, RWF_DATA_SUSPECT, RWF_CODE_NONE,
                                              "A record of this item cannot be converted: values "
                                              "may be missing until its next image");

    if (!core->is_unmade)
        return;
    core->is_unmade = false;
    for (uint32_t i = 0; i < core->items[item].watch_count; i++) {
        struct p2ps_watch *w = &core->items[item].watches[i];

        if ((w->state != P2PS_WATCH_FILLING && w->state != P2PS_WATCH_STEP) ||
            w->flags & (HELD_BACK | P2PS_WATCH_TOLD_LOST) ||
            core->made_epoch[w->form] != core->epoch || !core->made[w->form].is_broken)
            continue;
        if (core->made[w->form].is_uncut) {
            p2ps_trail_undecided(core);
            p2ps_watch_denied(core, item, i, P2PS_UNCUT);
            continue;
        }
        tell_lacking(core, item, i, &state);
        if (w->state != P2PS_WATCH_ENDED && !(w->flags & P2PS_WATCH_OWED_STATUS))
            w->flags |= P2PS_WATCH_TOLD_LOST;
    }
}

/* ---- images ---- */

/* Whether the watch takes this part, and the state it is in then. */
static bool takes_image(struct p2ps_watch *w, const struct rrmp_sink_event *event)
{
    switch ((enum p2ps_watch_state)w->state) {
    case P2PS_WATCH_ASKS:
    case P2PS_WATCH_ENDED:
        return false;
    case P2PS_WATCH_NEW:
        if (!(event->flags & RRMP_IMAGE_FIRST) || !(event->to & RRMP_SINK_TO_WAIT))
            return false;
        p2ps_watch_set(w, P2PS_WATCH_FILLING);
        return true;
    case P2PS_WATCH_FILLING:
        /* One that missed a part needs the whole again. */
        return !(w->flags & P2PS_WATCH_OWED_IMAGE) || (event->flags & RRMP_IMAGE_FIRST);
    case P2PS_WATCH_STEP:
        return (event->to & RRMP_SINK_TO_STEP) != 0;
    }
    return false;
}

static void put_image(struct p2ps_core *core, uint32_t watch, struct p2ps_record *record,
                      uint16_t flags)
{
    struct p2ps_watch *w = &core->items[record->item].watches[watch];
    struct p2ps_client *c = &core->clients[w->client];
    const struct p2ps_made *made = p2ps_record_make(core, w->form, record);
    bool solicited = w->state == P2PS_WATCH_FILLING && (w->flags & P2PS_WATCH_ASKED) != 0;

    if (!made || made->length == 0)
        return;
    p2ps_watch_forgive(core, w, P2PS_WATCH_OWED_IMAGE); /* the first part, or none is owed */
    if (flags & RRMP_IMAGE_FIRST)
        w->flags &= (uint16_t)~P2PS_WATCH_MISSED; /* but not what comes between the parts */
    w->flags &= (uint16_t)~P2PS_WATCH_TOLD_LOST;
    if (c->front->put(c->self, made, w->stream_id, solicited,
                      (w->flags & P2PS_WATCH_SNAPSHOT) != 0) != MD_OK) {
        p2ps_watch_owe(core, w, P2PS_WATCH_OWED_IMAGE);
        return;
    }
    core->stats.refresh_out++;
    p2ps_client_touch(core, w->client);
    if (flags & RRMP_IMAGE_LAST)
        p2ps_watch_has_image(core, record->item, watch);
}

/* Sends a suspect status that had no room before the image that ends it; without room again, the
 * watch is owed the image, too. */
static void tell_before_image(struct p2ps_core *core, uint32_t item)
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

/* After the last part. A snapshot that was permitted or asked for again between the parts has not
 * had the first one: on an item that goes on it gets the next image, else none comes. */
static void end_snapshots(struct p2ps_core *core, uint32_t item)
{
    const struct p2ps_item *it = &core->items[item];

    for (uint32_t i = 0; i < it->watch_count; i++) {
        const struct p2ps_watch *w = &it->watches[i];

        if (w->flags & P2PS_WATCH_SNAPSHOT && w->state == P2PS_WATCH_FILLING &&
            !(w->flags & P2PS_WATCH_OWED))
            p2ps_item_watch_end(core, item, i);
        else if (it->has_ended && w->state == P2PS_WATCH_NEW)
            p2ps_watch_too_late(core, item, i);
    }
}

static void deliver_image(struct p2ps_core *core, const struct rrmp_sink_event *event)
{
    struct p2ps_record record;
    bool is_last = (event->flags & RRMP_IMAGE_LAST) != 0;
    uint32_t item = (uint32_t)event->user;

    core->stats.refresh_in++;
    if (!p2ps_record_start(core, event, &record))
        return;
    p2ps_entitle_check(core, &record);
    tell_before_image(core, item);
    struct p2ps_item *it = &core->items[item];
    if (it->is_state_known && it->data_state == RWF_DATA_SUSPECT)
        core->stats.items_recovered += (event->state & 7) == RWF_DATA_OK;
    it->stream_state = (unsigned)event->state >> 3 & 0x1fu;
    it->data_state = (unsigned)event->state & 7u;
    it->code = event->code;
    it->is_state_known = true;
    it->is_unreadable = false;
    p2ps_image_part(core, event, &record);
    note_provider_seq(core, &record);
    bool ends_by_itself = it->is_snapshot && is_last;
    for (uint32_t i = 0; i < it->watch_count; i++) {
        struct p2ps_watch *w = &it->watches[i];

        if (takes_image(w, event) &&
            !(w->flags & P2PS_WATCH_OWED_IMAGE && w->state == P2PS_WATCH_STEP))
            put_image(core, i, &record, event->flags);
    }
    tell_unreadable(core, item);
    tell_unmade(core, item);
    it->has_ended = ends_by_itself;
    if (!is_last)
        return;
    end_snapshots(core, item);
    if (ends_by_itself)
        it->sink_item = RRMP_ITEM_NONE; /* watches without room for it get a status later */
}

/* ---- updates, generic messages, statuses ---- */

static bool takes_message(const struct p2ps_watch *w, uint8_t to)
{
    if (w->state == P2PS_WATCH_STEP)
        return (to & RRMP_SINK_TO_STEP) != 0;
    return w->state == P2PS_WATCH_FILLING && (to & RRMP_SINK_TO_WAIT) != 0;
}

static bool is_paused(const struct p2ps_client *c, const struct p2ps_watch *w)
{
    return c->pause_all && (c->pause_all == P2PS_PAUSE_ALL || w->flags & P2PS_WATCH_MISSED);
}

static void note_withheld(struct p2ps_core *core, uint32_t item, const struct p2ps_watch *w,
                          struct rwf_bytes perm)
{
    core->stats.updates_withheld++;
    p2ps_trail_withheld(core, item, w, perm);
}

/* Of an update with permission data of its own. Nobody waits for a late verdict about it: the watch
 * is asked for anew, and gets an image. */
static bool is_let_through(struct p2ps_core *core, uint32_t item, struct p2ps_watch *w,
                           struct rwf_bytes perm)
{
    enum entitle_verdict verdict = p2ps_entitle_hears(core, item, w, perm);

    if (verdict == ENTITLE_PENDING)
        p2ps_entitle_hold_back(core, w);
    else if (verdict == ENTITLE_DENY)
        note_withheld(core, item, w, perm);
    return verdict == ENTITLE_ALLOW;
}

static void deliver_update(struct p2ps_core *core, const struct rrmp_sink_event *event)
{
    struct p2ps_record record;
    struct rwf_bytes perm;

    core->stats.updates_in++;
    if (!p2ps_record_start(core, event, &record))
        return;
    bool is_judged = p2ps_entitle_update(core, &record, &perm);
    p2ps_image_update(core, event, &record, is_judged);
    note_provider_seq(core, &record);
    struct p2ps_item *it = &core->items[record.item];
    struct p2ps_watch *end = it->watches + it->watch_count;
    const struct p2ps_made *made = NULL;
    uint32_t form = P2PS_NONE; /* of `made`; most watches have the one of the watch before */
    bool is_held = false;
    for (struct p2ps_watch *w = it->watches; w < end; w++) {
        if (!takes_message(w, event->to))
            continue;
        struct p2ps_client *c = &core->clients[w->client];
        if (w->flags & HELD_BACK || is_paused(c, w)) {
            w->flags |= w->flags & P2PS_WATCH_OWED_IMAGE ? 0 : P2PS_WATCH_MISSED;
            continue;
        }
        if (is_judged && !is_let_through(core, record.item, w, perm)) {
            is_held |= w->state == P2PS_WATCH_ASKS;
            continue;
        }
        if (w->form != form) {
            form = w->form;
            made = p2ps_record_make(core, form, &record);
        }
        if (!made || made->length == 0)
            continue;
        if (c->front->put(c->self, made, w->stream_id, false, false) != MD_OK) {
            core->stats.conflated++;
            p2ps_watch_owe(core, w, P2PS_WATCH_OWED_IMAGE);
            continue;
        }
        core->stats.updates_out++;
        c->updates_out++;
        p2ps_client_touch(core, w->client);
    }
    tell_unreadable(core, record.item);
    tell_unmade(core, record.item);
    if (is_held)
        p2ps_entitle_held(core, record.item);
}

/* A generic message that the client's protocol cannot say, or with fields that it may not see: the
 * values of the item stay good. */
static void tell_left_out(struct p2ps_core *core, uint32_t item, uint32_t watch, bool is_cut)
{
    const struct rwf_state state =
        p2ps_state(RWF_STREAM_OPEN, core->items[item].data_state, RWF_CODE_NONE,
                   is_cut ? "A generic message of this item is left out: not all fields of the "
                            "item may be seen"
                          : "A generic message of this item is left out: it cannot be converted");

    core->stats.decode_errors++;
    p2ps_watch_status(core, item, watch, &state);
}

/* Generic messages keep their own key and are never conflated or filtered. */
static void deliver_generic(struct p2ps_core *core, const struct rrmp_sink_event *event)
{
    struct p2ps_record record;

    core->stats.generic_in++;
    if (!p2ps_record_start(core, event, &record))
        return;
    struct p2ps_made made = {
        .bytes = record.message.data,
        .length = record.message.length,
        .is_vital = true,
        .is_rwf = true,
    };
    struct p2ps_item *it = &core->items[record.item];
    for (uint32_t i = 0; i < it->watch_count; i++) {
        struct p2ps_watch *w = &it->watches[i];
        if (!takes_message(w, event->to))
            continue;
        struct p2ps_client *c = &core->clients[w->client];
        bool is_cut = core->forms[w->form].is_cut && record.peek.payload_length > 0;
        int err =
            is_cut ? MD_ERR_MALFORMED : c->front->put(c->self, &made, w->stream_id, false, false);
        if (err == MD_ERR_MALFORMED) {
            tell_left_out(core, record.item, i, is_cut);
            continue;
        }
        if (err != MD_OK) {
            p2ps_client_doom(core, w->client); /* it may not be dropped, and cannot be kept */
            continue;
        }
        core->stats.generic_out++;
        p2ps_client_touch(core, w->client);
    }
}

static void deliver_status(struct p2ps_core *core, const struct rrmp_sink_event *event)
{
    struct p2ps_record record;
    struct rwf_msg msg;

    if (!p2ps_record_start(core, event, &record))
        return;
    p2ps_entitle_check(core, &record);
    if (rwf_msg_decode(record.message, &msg) != RWF_OK) {
        core->stats.decode_errors++;
        return;
    }
    if (msg.flags & RWF_STATUS_HAS_STATE) {
        core->items[record.item].is_state_known = true;
        p2ps_item_state(core, record.item, &msg.state);
    }
}

static void in_step(struct p2ps_core *core, uint32_t item)
{
    struct p2ps_item *it = &core->items[item];

    for (uint32_t i = 0; i < it->watch_count; i++) {
        struct p2ps_watch *w = &it->watches[i];
        if (w->state == P2PS_WATCH_FILLING)
            p2ps_watch_set(w, P2PS_WATCH_STEP);
    }
    p2ps_image_in_step(core, item);
}

/* ---- states ---- */

static struct rwf_state event_state(const struct rrmp_sink_event *event)
{
    return (struct rwf_state){
        .stream_state = event->state >> 3,
        .data_state = event->state & 7,
        .code = event->code,
        .text = p2ps_bytes(event->message),
    };
}

static void deliver_state(struct p2ps_core *core, unsigned network,
                          const struct rrmp_sink_event *event)
{
    struct rwf_state state = event_state(event);
    uint32_t heard_filter = 0;

    core->stats.gaps_seen += event->code == RWF_CODE_GAP_DETECTED;
    if (event->scope == RRMP_SINK_SCOPE_ITEM) {
        core->items[(uint32_t)event->user].is_state_known = true;
        p2ps_item_state(core, (uint32_t)event->user, &state);
        return;
    }
    uint16_t service = p2ps_service_bind(core, network, event->service);
    if (service == RRMP_SERVICE_NONE)
        return;
    /* A partial recovery must not go out as a group status: it would also clear items that are
     * still suspect. */
    bool is_whole = !(event->flags & RRMP_SINK_STATE_PARTIAL);
    if (event->scope == RRMP_SINK_SCOPE_GROUP && is_whole) {
        heard_filter = OMM_FILTER_GROUP;
        p2ps_directory_group(core, service, event->instance, event->group, &state);
    } else if (event->instance == 0xFFFF) {
        heard_filter = OMM_FILTER_STATE;
        p2ps_directory_status(core, service, &state);
    }
    p2ps_states_start(core, service, event, &state, heard_filter);
}

/* Ended by the source's own words, or by the engine's. */
static void item_closed(struct p2ps_core *core, const struct rrmp_sink_event *event)
{
    struct rwf_state state = event_state(event);
    uint32_t item = (uint32_t)event->user;
    struct rwf_msg msg;

    if (event->type == RRMP_STATUS) {
        state = p2ps_state(RWF_STREAM_CLOSED, RWF_DATA_SUSPECT, event->code, "");
        if (rwf_msg_decode(p2ps_bytes(event->message), &msg) != RWF_OK)
            core->stats.decode_errors++;
        else if (msg.flags & RWF_STATUS_HAS_STATE)
            state = msg.state;
    }
    core->items[item].has_ended = true;
    p2ps_item_state(core, item, &state);
}

/* ---- the batch ---- */

/* An earlier event of the same batch may have ended the item this one is about. */
static bool is_of_item(const struct rrmp_sink_event *event)
{
    return event->kind == RRMP_SINK_IMAGE || event->kind == RRMP_SINK_MESSAGE ||
           event->kind == RRMP_SINK_IN_STEP || event->kind == RRMP_SINK_CLOSED ||
           (event->kind == RRMP_SINK_STATE && event->scope == RRMP_SINK_SCOPE_ITEM);
}

static bool is_stale(const struct p2ps_core *core, unsigned network,
                     const struct rrmp_sink_event *event)
{
    return is_of_item(event) &&
           (event->user >= core->item_room || core->items[event->user].network != network ||
            core->items[event->user].sink_item != event->item);
}

static void directory_event(struct p2ps_core *core, unsigned network, uint16_t sink_service)
{
    uint16_t service = p2ps_service_bind(core, network, sink_service);

    if (service == RRMP_SERVICE_NONE)
        return;
    p2ps_dictionaries_offered(core, service);
    p2ps_directory_changed(core, service);
}

static void merge_event(struct p2ps_core *core, unsigned network,
                        const struct rrmp_sink_event *event)
{
    uint16_t service = p2ps_service_bind(core, network, event->service);

    if (service != RRMP_SERVICE_NONE)
        p2ps_directory_merge(core, service, event->instance, event->group, event->group2);
}

static void deliver_event(struct p2ps_core *core, unsigned network,
                          const struct rrmp_sink_event *event)
{
    if (is_stale(core, network, event))
        return;
    if (core->walk_items > 0 && is_of_item(event))
        p2ps_states_settle(core, (uint32_t)event->user);
    switch ((enum rrmp_sink_event_kind)event->kind) {
    case RRMP_SINK_MESSAGE:
        if (event->type == RRMP_UPDATE)
            deliver_update(core, event);
        else if (event->type == RRMP_STATUS)
            deliver_status(core, event);
        else
            deliver_generic(core, event);
        break;
    case RRMP_SINK_IMAGE:
        deliver_image(core, event);
        break;
    case RRMP_SINK_IN_STEP:
        in_step(core, (uint32_t)event->user);
        break;
    case RRMP_SINK_STATE:
        deliver_state(core, network, event);
        break;
    case RRMP_SINK_CLOSED:
        item_closed(core, event);
        break;
    case RRMP_SINK_MERGE:
        merge_event(core, network, event);
        break;
    case RRMP_SINK_DIRECTORY:
        directory_event(core, network, event->service);
        break;
    case RRMP_SINK_ACK:
    case RRMP_SINK_POST_LOST:
        p2ps_post_answer(core, event);
        break;
    case RRMP_SINK_DICTIONARY:
        p2ps_dictionary_event(core, event);
        break;
    }
}

/* The events of a batch are of as many items, and no cache holds all items: all they need is
 * fetched at once, not one by one. */
static void fetch_items(const struct p2ps_core *core, const struct rrmp_sink_event *events,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (events[i].kind == RRMP_SINK_MESSAGE)
            __builtin_prefetch(&core->items[(uint32_t)events[i].user]);
    }
    for (size_t i = 0; i < count; i++) {
        if (events[i].kind == RRMP_SINK_MESSAGE && events[i].user < core->item_room)
            __builtin_prefetch(core->items[(uint32_t)events[i].user].watches);
    }
}

void p2ps_deliver_events(struct p2ps_core *core)
{
    struct rrmp_sink_event events[EVENTS_MAX];
    size_t count;

    for (unsigned network = 0; network < core->config.network_count; network++) {
        while ((count = rrmp_sink_event(core->sinks[network], events, EVENTS_MAX)) > 0) {
            fetch_items(core, events, count);
            for (size_t i = 0; i < count; i++)
                deliver_event(core, network, &events[i]);
        }
    }
}
