/* deliver.c - the tick's last step: from a record of the backbone to the streams of clients. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "deliver.h"
#include "ask.h"
#include "backlog.h"
#include "base/err.h"
#include "client.h"
#include "dictionary.h"
#include "directory.h"
#include "entitle.h"
#include "entries.h"
#include "fetch.h"
#include "generic.h"
#include "image.h"
#include "item.h"
#include "lag.h"
#include "lost.h"
#include "network.h"
#include "pace.h"
#include "post.h"
#include "private.h"
#include "record.h"
#include "slow.h"
#include "states.h"
#include "status.h"
#include "trail.h"
#include "watch.h"

#define EVENTS_MAX 32 /* taken at a time: they stay in the first cache */

/* ---- entries with permission data of their own ---- */

static uint32_t watches_of_set(const struct p2ps_core *core, uint32_t item)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < core->items[item].watch_count; i++)
        count += core->entry_sets[i] == core->entry_set;
    return count;
}

/* Notes in core->entry_sets which part of the message the watch gets. False: a verdict is awaited.
 */
static bool judge_entries(struct p2ps_core *core, uint32_t item, uint32_t watch,
                          struct p2ps_entries *entries)
{
    uint8_t set = p2ps_entries_set(core, entries, item, watch);

    core->entry_sets[watch] = set;
    if (set == P2PS_ENTRY_CLOSES)
        p2ps_watch_denied(core, item, watch,
                          "an entry of the item has permission data that are not for the user");
    else if (set == P2PS_ENTRY_WAITS)
        p2ps_entitle_hold_back(core, &core->items[item].watches[watch]);
    return set != P2PS_ENTRY_WAITS;
}

/* `judge` says in core->entry_sets what each watch gets, and whether some wait for a verdict; then
 * each message that is left for some watches is made once, and put to them. */
static void put_in_sets(struct p2ps_core *core, const struct rrmp_sink_event *event,
                        const struct p2ps_record *record,
                        bool (*judge)(struct p2ps_core *core, const struct rrmp_sink_event *event,
                                      const struct p2ps_record *record,
                                      struct p2ps_entries *entries),
                        void (*put)(struct p2ps_core *core, const struct rrmp_sink_event *event,
                                    struct p2ps_record *record))
{
    struct p2ps_entries entries;
    struct p2ps_record part;
    uint32_t removed;

    p2ps_entries_read(record, &entries);
    bool is_held = judge(core, event, record, &entries);
    core->has_entry_sets = true;
    for (unsigned set = 0; set < entries.set_count; set++) {
        core->entry_set = (uint8_t)set;
        if (!p2ps_entries_make(core, &entries, set, record, &part, &removed)) {
            p2ps_lost_set(core, record->item);
            continue;
        }
        if (removed)
            core->stats.entries_removed += (uint64_t)removed * watches_of_set(core, record->item);
        if (part.message.length)
            put(core, event, &part);
    }
    core->has_entry_sets = false;
    if (is_held)
        p2ps_entitle_held(core, record->item);
}

/* ---- images ---- */

static bool takes_image(const struct p2ps_watch *w, const struct rrmp_sink_event *event)
{
    switch ((enum p2ps_watch_state)w->state) {
    case P2PS_WATCH_ASKS:
    case P2PS_WATCH_ENDED:
        return false;
    case P2PS_WATCH_NEW:
        return event->flags & RRMP_IMAGE_FIRST && event->to & RRMP_SINK_TO_WAIT;
    case P2PS_WATCH_FILLING:
        /* One that missed a part needs the whole again. */
        return !(w->flags & P2PS_WATCH_OWED_IMAGE) || (event->flags & RRMP_IMAGE_FIRST);
    case P2PS_WATCH_STEP:
        return event->to & RRMP_SINK_TO_STEP && !(w->flags & P2PS_WATCH_OWED_IMAGE);
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
    if (p2ps_backlog_has(core, w)) { /* updates of before go out first */
        p2ps_watch_owe(core, w, P2PS_WATCH_OWED_IMAGE);
        return;
    }
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

static bool judge_image(struct p2ps_core *core, const struct rrmp_sink_event *event,
                        const struct p2ps_record *record, struct p2ps_entries *entries)
{
    const struct p2ps_item *it = &core->items[record->item];
    bool is_held = false;

    for (uint32_t i = 0; i < it->watch_count; i++) {
        core->entry_sets[i] = P2PS_ENTRY_NONE;
        if (!takes_image(&it->watches[i], event))
            continue;
        is_held |= !judge_entries(core, record->item, i, entries);
        if (core->entry_sets[i] == P2PS_ENTRY_NONE)
            p2ps_watch_denied(core, record->item, i, "the entries of the item cannot be read");
    }
    return is_held;
}

static void put_images(struct p2ps_core *core, const struct rrmp_sink_event *event,
                       struct p2ps_record *record)
{
    const struct p2ps_item *it = &core->items[record->item];

    for (uint32_t i = 0; i < it->watch_count; i++) {
        struct p2ps_watch *w = &it->watches[i];

        if (core->has_entry_sets && core->entry_sets[i] != core->entry_set)
            continue;
        if (!takes_image(w, event))
            continue;
        if (w->state == P2PS_WATCH_NEW)
            p2ps_watch_set(w, P2PS_WATCH_FILLING);
        put_image(core, i, record, event->flags);
    }
    p2ps_lost_unreadable(core, record->item);
    p2ps_lost_unmade(core, record->item);
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
    p2ps_watches_before_image(core, item);
    struct p2ps_item *it = &core->items[item];
    if (it->is_state_known && it->data_state == RWF_DATA_SUSPECT)
        core->stats.items_recovered += (event->state & 7) == RWF_DATA_OK;
    it->stream_state = (unsigned)event->state >> 3 & 0x1fu;
    it->data_state = (unsigned)event->state & 7u;
    it->code = event->code;
    it->is_state_known = true;
    it->is_unreadable = false;
    p2ps_image_part(core, event, &record);
    bool ends_by_itself = it->is_snapshot && is_last;
    if (p2ps_entries_are_locked(core, &record))
        put_in_sets(core, event, &record, judge_image, put_images);
    else
        put_images(core, event, &record);
    it->has_ended = ends_by_itself;
    if (!is_last)
        return;
    end_snapshots(core, item);
    if (ends_by_itself)
        it->sink_item = RRMP_ITEM_NONE; /* watches without room for it get a status later */
}

/* ---- updates, statuses ---- */

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
static bool is_permitted(struct p2ps_core *core, uint32_t item, struct p2ps_watch *w,
                         struct rwf_bytes perm)
{
    enum entitle_verdict verdict = p2ps_ask_hears(core, item, w, perm);

    if (verdict == ENTITLE_PENDING)
        p2ps_entitle_hold_back(core, w);
    else if (verdict == ENTITLE_DENY)
        note_withheld(core, item, w, perm);
    return verdict == ENTITLE_ALLOW;
}

static bool is_let_through(struct p2ps_core *core, uint32_t item, struct p2ps_watch *w,
                           struct rwf_bytes perm)
{
    if (core->has_entry_sets)
        return core->entry_sets[w - core->items[item].watches] == core->entry_set;
    return is_permitted(core, item, w, perm);
}

static void put_update(struct p2ps_core *core, const struct rrmp_sink_event *event,
                       struct p2ps_record *record, bool is_judged, struct rwf_bytes perm)
{
    struct p2ps_item *it = &core->items[record->item];
    struct p2ps_watch *end = it->watches + it->watch_count;
    const struct p2ps_made *made = NULL;
    uint16_t skips = core->pace_skips;
    uint32_t form = P2PS_NONE; /* of `made`; most watches have the one of the watch before */
    bool is_held = false;

    for (struct p2ps_watch *w = it->watches; w < end; w++) {
        if (!p2ps_watch_takes(w, event->to) || p2ps_pace_skips(core, skips, w))
            continue;
        struct p2ps_client *c = &core->clients[w->client];
        if (w->flags & P2PS_WATCH_HELD_BACK || is_paused(c, w)) {
            w->flags |= w->flags & P2PS_WATCH_OWED_IMAGE ? 0 : P2PS_WATCH_MISSED;
            if (c->is_merging && !core->has_entry_sets) /* else judge_update() has counted it */
                p2ps_slow_misses(core, record, w);
            continue;
        }
        if (is_judged && !is_let_through(core, record->item, w, perm)) {
            is_held |= w->state == P2PS_WATCH_ASKS;
            continue;
        }
        if (c->is_merging && p2ps_slow_takes(core, record, w))
            continue;
        if (w->form != form) {
            form = w->form;
            made = p2ps_record_make(core, form, record);
        }
        if (!made || made->length == 0)
            continue;
        if (c->front->put(c->self, made, w->stream_id, false, false) != MD_OK) {
            p2ps_slow_full(core, record, w);
            continue;
        }
        core->stats.updates_out++;
        c->updates_out++;
        p2ps_client_touch(core, w->client);
    }
    p2ps_lost_unreadable(core, record->item);
    p2ps_lost_unmade(core, record->item);
    if (is_held)
        p2ps_entitle_held(core, record->item);
}

/* The permission data of the update itself, then those of its entries. */
static bool judge_update(struct p2ps_core *core, const struct rrmp_sink_event *event,
                         const struct p2ps_record *record, struct p2ps_entries *entries)
{
    const struct p2ps_item *it = &core->items[record->item];
    struct rwf_bytes perm;
    bool is_judged = p2ps_entitle_update(core, record, &perm);
    bool is_held = false;

    for (uint32_t i = 0; i < it->watch_count; i++) {
        struct p2ps_watch *w = &it->watches[i];

        core->entry_sets[i] = P2PS_ENTRY_NONE;
        if (!p2ps_watch_takes(w, event->to))
            continue;
        if (w->flags & P2PS_WATCH_HELD_BACK || is_paused(&core->clients[w->client], w)) {
            w->flags |= w->flags & P2PS_WATCH_OWED_IMAGE ? 0 : P2PS_WATCH_MISSED;
            if (core->clients[w->client].is_merging)
                p2ps_slow_misses(core, record, w);
            continue;
        }
        if (!is_judged || is_permitted(core, record->item, w, perm)) {
            judge_entries(core, record->item, i, entries);
            core->stats.updates_withheld += core->entry_sets[i] == P2PS_ENTRY_NONE;
        }
        is_held |= w->state == P2PS_WATCH_ASKS;
    }
    return is_held;
}

static void put_part(struct p2ps_core *core, const struct rrmp_sink_event *event,
                     struct p2ps_record *record)
{
    put_update(core, event, record, true, rwf_bytes(NULL, 0));
}

/* A pending update of a rate, to its watches: it is one that is for all who may see the item. */
static void put_paced(struct p2ps_core *core, uint32_t item, struct rwf_bytes update)
{
    const struct rrmp_sink_event event = { .to = RRMP_SINK_TO_STEP };
    struct p2ps_record record = {
        .message = update,
        .item = item,
        .is_private = core->items[item].is_private,
    };

    if (!update.data)
        p2ps_watches_owe_images(core, item);
    if (!update.data || rwf_peek(update, &record.peek) != RWF_OK)
        return;
    if (!(core->pace_skips & 1u) && record.peek.flags & RWF_UPDATE_HAS_CONF_INFO)
        p2ps_lag_tell(core, item);
    p2ps_record_next(core);
    if (core->merging_now && !(record.peek.flags & RWF_UPDATE_DO_NOT_RIPPLE))
        p2ps_slow_spell(core, &record, true);
    put_update(core, &event, &record, false, rwf_bytes(NULL, 0));
}

void p2ps_deliver_paced(struct p2ps_core *core)
{
    p2ps_pace_turn(core, put_paced);
}

static void deliver_update(struct p2ps_core *core, const struct rrmp_sink_event *event)
{
    struct p2ps_pace_update paced;
    struct p2ps_record record;
    struct rwf_bytes perm;

    core->stats.updates_in++;
    paced.held = 0;
    paced.is_noted = false;
    if (core->is_paced)
        p2ps_pace_update(core, event, put_paced, &paced);
    bool is_for_none = paced.held && !(event->to & RRMP_SINK_TO_WAIT) &&
                       p2ps_pace_holds_all(core, (uint32_t)event->user, paced.held);
    if (paced.is_noted && is_for_none) {
        p2ps_pace_apply(core, (uint32_t)event->user, &paced);
        return;
    }
    if (!p2ps_record_start(core, event, &record))
        return;
    core->pace_skips = paced.held;
    bool is_judged = p2ps_entitle_update(core, &record, &perm);
    if (core->merging_now && !(paced.held & 1u)) /* behind: all wait in one place of the item */
        p2ps_slow_spell(core, &record, false);
    if (paced.is_noted)
        p2ps_pace_apply(core, record.item, &paced);
    else
        p2ps_image_update(core, event, &record, is_judged);
    if (p2ps_entries_are_locked(core, &record))
        put_in_sets(core, event, &record, judge_update, put_part);
    else if (!is_for_none)
        put_update(core, event, &record, is_judged, perm);
    core->pace_skips = 0;
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
    if (core->is_paced)
        p2ps_pace_flush_service(core, service, put_paced);
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
        state = omm_state(RWF_STREAM_CLOSED, RWF_DATA_SUSPECT, event->code, "");
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

static bool is_update(const struct rrmp_sink_event *event)
{
    return event->kind == RRMP_SINK_MESSAGE && event->type == RRMP_UPDATE;
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
    if (core->is_paced && is_of_item(event) && !is_update(event))
        p2ps_pace_flush(core, (uint32_t)event->user, put_paced);
    if (core->stats.backlog_streams_now && is_of_item(event) && !is_update(event))
        p2ps_slow_flush(core, (uint32_t)event->user);
    switch ((enum rrmp_sink_event_kind)event->kind) {
    case RRMP_SINK_MESSAGE:
        if (is_update(event))
            deliver_update(core, event);
        else if (event->type == RRMP_STATUS)
            deliver_status(core, event);
        else
            p2ps_generic_deliver(core, event);
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
    case RRMP_SINK_BOUND: /* a consumer's requests alone open items here */
        break;
    }
}

void p2ps_deliver_events(struct p2ps_core *core)
{
    struct rrmp_sink_event events[EVENTS_MAX];
    size_t count;

    for (unsigned network = 0; network < core->config.network_count; network++) {
        while ((count = rrmp_sink_event(core->sinks[network], events, EVENTS_MAX)) > 0) {
            p2ps_service_asked_forget(core);
            p2ps_fetch_items(core, events, count);
            for (size_t i = 0; i < count; i++)
                deliver_event(core, network, &events[i]);
        }
    }
}
