/* states.c - see states.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "states.h"

#include <string.h>

#include "client.h"
#include "directory.h"
#include "item.h"
#include "network.h"
#include "status.h"
#include "watch.h"

static void spend(struct p2ps_core *core, uint32_t streams)
{
    core->work.states -= streams < core->work.states ? streams : core->work.states;
}

/* ---- one item ---- */

/* False: the client's directory stream is younger than the state. */
static bool has_heard(const struct p2ps_client *c, const struct p2ps_walk *walk)
{
    return walk->heard_filter && (int32_t)(walk->serial - c->directory_serial) >= 0;
}

/* The client has seen the latest image or update of the stream, so it knows its group by number. */
static bool knows_its_group(const struct p2ps_watch *w)
{
    return w->state == P2PS_WATCH_STEP && !(w->flags & (P2PS_WATCH_OWED_IMAGE | P2PS_WATCH_MISSED));
}

/* True: the client was sent this state on its directory stream, as a group or service status. */
static bool heard_by_directory(const struct p2ps_core *core, uint32_t client, uint16_t service,
                               const struct p2ps_walk *walk)
{
    const struct p2ps_client *c = &core->clients[client];
    uint32_t filter = walk->heard_filter;

    return has_heard(c, walk) && !c->front->tells_each_stream &&
           p2ps_directory_is_seen(core, client, service) && (c->directory_filter & filter) &&
           !c->directory_owed && c->single_open && c->allow_suspect;
}

/* The same for a state that ends the stream: a watch without image is in no group it knows of. */
static bool ended_by_directory(const struct p2ps_core *core, const struct p2ps_watch *w,
                               uint16_t service, const struct p2ps_walk *walk)
{
    const struct p2ps_client *c = &core->clients[w->client];
    uint32_t filter = walk->heard_filter;

    return has_heard(c, walk) && !c->front->tells_each_stream && w->flags & P2PS_WATCH_HAD_IMAGE &&
           (filter != OMM_FILTER_GROUP || knows_its_group(w)) && !(w->flags & P2PS_WATCH_PRIVATE) &&
           p2ps_directory_is_seen(core, w->client, service) && c->directory_filter & filter &&
           !c->directory_owed;
}

static void state_of_one(struct p2ps_core *core, uint32_t item, const struct p2ps_walk *walk)
{
    struct p2ps_item *it = &core->items[item];
    const struct rwf_state *state = &walk->state;
    uint32_t heard_filter = walk->heard_filter;

    spend(core, it->watch_count);
    it->data_state = state->data_state & 7u;
    it->code = state->code;
    it->is_state_known = true;
    for (uint32_t i = 0; i < it->watch_count; i++) {
        const struct p2ps_watch *w = &it->watches[i];

        if (w->state == P2PS_WATCH_ASKS || w->state == P2PS_WATCH_ENDED)
            continue;
        if (heard_filter && p2ps_state_ends(state) &&
            ended_by_directory(core, w, it->service, walk)) {
            p2ps_item_watch_end(core, item, i);
            continue;
        }
        bool has_heard = heard_filter && !p2ps_state_ends(state) &&
                         (heard_filter != OMM_FILTER_GROUP || knows_its_group(w)) &&
                         heard_by_directory(core, w->client, it->service, walk);
        if (!has_heard)
            p2ps_watch_status(core, item, i, state);
        p2ps_watch_fine(core, item, i);
    }
}

static void note_state(struct p2ps_core *core, uint16_t service, const struct rwf_state *state,
                       uint32_t items)
{
    struct rrmp_sink_service info;

    if (!core->config.note || items == 0 || !p2ps_service_read(core, service, &info))
        return;
    struct p2ps_note note = {
        .kind = P2PS_NOTE_STATE,
        .service = p2ps_bytes(info.name),
        .is_up = info.is_up,
        .instances = info.instance_count,
        .items = items,
        .state = *state,
    };
    core->config.note(core->config.note_owner, &note);
}

/* ---- those that a turn leaves to the next ---- */

static void owe(struct p2ps_core *core, uint32_t item, unsigned walk)
{
    core->items[item].owes = (walk + 1) & P2PS_WALKS_MASK;
    core->walks[walk].left++;
    core->walk_items++;
}

void p2ps_states_settle(struct p2ps_core *core, uint32_t item)
{
    unsigned owes = core->items[item].owes;

    if (owes == 0)
        return;
    p2ps_item_owes_nothing(core, item);
    state_of_one(core, item, &core->walks[owes - 1]);
}

static void end_walks(struct p2ps_core *core)
{
    for (unsigned i = 0; core->walks_now > 0 && i < P2PS_WALKS; i++) {
        struct p2ps_walk *walk = &core->walks[i];

        if (!walk->is_used || walk->left > 0)
            continue;
        walk->is_used = false;
        core->walks_now--;
    }
}

/* All of them, however many: as many different states are under way as there is room for. */
static void finish(struct p2ps_core *core)
{
    for (uint32_t item = 0; core->walk_items > 0 && item < core->item_room; item++)
        p2ps_states_settle(core, item);
    end_walks(core);
}

static bool is_same(const struct p2ps_walk *a, const struct p2ps_walk *b)
{
    return a->is_used && a->heard_filter == b->heard_filter && a->serial == b->serial &&
           a->state.stream_state == b->state.stream_state &&
           a->state.data_state == b->state.data_state && a->state.code == b->state.code &&
           rwf_bytes_equal(a->state.text, b->state.text);
}

/* A source that is gone says the same of all its services, and a provider of all its groups. There
 * is room. */
static unsigned walk_of(struct p2ps_core *core, const struct p2ps_walk *wanted)
{
    unsigned number = 0;

    while (number < P2PS_WALKS && !is_same(&core->walks[number], wanted))
        number++;
    if (number < P2PS_WALKS)
        return number;
    for (number = 0; core->walks[number].is_used;)
        number++;
    struct p2ps_walk *walk = &core->walks[number];
    *walk = *wanted;
    if (wanted->state.text.length > 0) /* it outlives the event */
        memcpy(walk->text, wanted->state.text.data, wanted->state.text.length);
    walk->state.text.data = walk->text;
    core->walks_now++;
    return number;
}

/*
 * A state that the item owes its streams from before: a newer one takes its place. But one that
 * ends them may be known from the directory, and one that is suspect says that values were lost:
 * these are told before a better one, or one that ends the streams. True: the newer one is for each
 * stream, because it has taken the place of one that clients have not heard, or because they hear
 * that one only now, behind what the directory has said of the newer one.
 */
static bool supersede(struct p2ps_core *core, uint32_t item, const struct p2ps_walk *next)
{
    const struct p2ps_item *it = &core->items[item];

    if (it->owes == 0)
        return false;
    const struct rwf_state *owed = &core->walks[it->owes - 1].state;
    bool ends = p2ps_state_ends(owed) || p2ps_state_ends(&next->state);
    if (ends ||
        (owed->data_state == RWF_DATA_SUSPECT && next->state.data_state != RWF_DATA_SUSPECT))
        p2ps_states_settle(core, item);
    else
        p2ps_item_owes_nothing(core, item);
    return !ends;
}

void p2ps_states_start(struct p2ps_core *core, uint16_t service,
                       const struct rrmp_sink_event *event, const struct rwf_state *state,
                       uint32_t heard_filter)
{
    const struct rrmp_sink *sink = core->sinks[core->services[service].network];
    struct p2ps_walk wanted = {
        .is_used = true,
        .heard_filter = heard_filter,
        .serial = core->directory_serial,
        .state = *state,
    };
    uint32_t items = 0;

    if (state->text.length > P2PS_WALK_TEXT)
        wanted.state.text.length = P2PS_WALK_TEXT;
    if (core->walks_now + 2 > P2PS_WALKS)
        finish(core);
    unsigned number = walk_of(core, &wanted);
    wanted.heard_filter = 0; /* told to each stream, whoever hears the directory */
    unsigned to_each = walk_of(core, &wanted);
    for (uint32_t n = rrmp_sink_item_next(sink, event, RRMP_ITEM_NONE); n != RRMP_ITEM_NONE;
         n = rrmp_sink_item_next(sink, event, n)) {
        struct rrmp_sink_item info;

        if (!rrmp_sink_item_info(sink, n, &info) || info.user >= core->item_room)
            continue;
        items++;
        bool is_for_each = supersede(core, (uint32_t)info.user, &wanted);
        owe(core, (uint32_t)info.user, is_for_each ? to_each : number);
        if (core->work.states > 0)
            p2ps_states_settle(core, (uint32_t)info.user);
    }
    spend(core, core->services[service].items / P2PS_STATE_ITEMS); /* all were looked at */
    end_walks(core);
    note_state(core, service, state, items);
}

void p2ps_states_turn(struct p2ps_core *core)
{
    struct p2ps_work *work = &core->work;

    while (core->walk_items > 0 && work->states > 0 && work->places > 0) {
        work->places--;
        if (core->walk_next >= core->item_room)
            core->walk_next = 0;
        p2ps_states_settle(core, core->walk_next++);
    }
    end_walks(core);
}
