/* pace_update.c - an update on its way into the pending updates of its item; see pace.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "places.h"

/* Room for one update more, as far as the item's image and memory allow. */
static void grow(struct p2ps_core *core, struct place *place, size_t length)
{
    size_t room = place->pending.room;
    size_t wanted = p2ps_merge_room(&core->items[place->item], &place->pending, length);

    if (wanted <= room)
        return;
    bool has_room = core->stats.pending_bytes_now - room + wanted <= core->config.pending_bytes_max;
    uint8_t *bytes = has_room ? realloc(place->pending.bytes, wanted) : NULL;
    if (!bytes) {
        core->stats.pending_refused++;
        return;
    }
    core->stats.pending_bytes_now += wanted - room;
    place->pending.bytes = bytes;
    place->pending.room = (uint32_t)wanted;
}

/* False: it is not merged. */
static bool hold(struct p2ps_core *core, struct place *place, uint32_t number,
                 struct rwf_bytes update, p2ps_pace_put_fn put)
{
    struct rwf_bytes image = p2ps_merge_image(&core->items[place->item]);
    struct conflate *engine = core->merger;

    if (place->has_ahead || (place->run.is_on && place->pending.is_merged))
        p2ps_place_send(core, place, number, put);
    place->run.is_on = false; /* one that is alone may go on so */
    grow(core, place, update.length);
    bool was_empty = place->pending.length == 0;
    enum conflate_result result =
        conflate_add(engine, &place->pending, update, image, core->now_ns);
    if (result == CONFLATE_FLUSH) {
        p2ps_place_send(core, place, number, put);
        grow(core, place, update.length);
        was_empty = true;
        result = conflate_add(engine, &place->pending, update, image, core->now_ns);
    }
    if (result != CONFLATE_HELD)
        return false;
    if (was_empty)
        p2ps_place_begin(core, place, number);
    else
        core->stats.updates_merged++;
    return true;
}

/* The same of an update whose fields are noted when it is applied to the image. */
static bool hold_noted(struct p2ps_core *core, struct place *place, uint32_t number,
                       struct rwf_bytes bytes, const struct rwf_msg *msg, p2ps_pace_put_fn put)
{
    struct conflate_pending *pending = &place->pending;

    if (place->has_ahead)
        p2ps_place_send(core, place, number, put);
    if (pending->length > 0 && !place->run.is_on)
        return hold(core, place, number, bytes, put);
    if (pending->length > 0) {
        if (conflate_run_add(pending, &place->run.head, msg, core->now_ns)) {
            core->stats.updates_merged++;
            return true;
        }
        p2ps_place_send(core, place, number, put);
    }
    grow(core, place, bytes.length);
    if (bytes.length > pending->room)
        return false;
    memcpy(pending->bytes, bytes.data, bytes.length);
    pending->length = (uint32_t)bytes.length;
    place->run = (struct p2ps_run){ .is_on = true };
    conflate_run_begin(pending, &place->run.head, msg, core->now_ns);
    p2ps_place_begin(core, place, number);
    return true;
}

/* When the worker has caught up what its streams were not told of yet goes on. */
static bool merges(const struct p2ps_core *core, const struct place *place)
{
    return place->watch_count > 0 ||
           (place->pace == P2PS_PACE_NONE &&
            (core->lag.is_on || (place->pending.length > 0 && p2ps_place_tells(core, place))));
}

bool p2ps_pace_holds_all(const struct p2ps_core *core, uint32_t item, uint16_t held)
{
    uint32_t watches = 0;

    if (held == 0)
        return false;
    for (uint32_t n = p2ps_place_first(core, item); n != MD_NIL;
         n = p2ps_place_at(core->pacing, n)->next) {
        const struct place *place = p2ps_place_at(core->pacing, n);

        if (place->watch_count > 0 && !(held >> place->pace & 1))
            return false;
        watches += place->watch_count;
    }
    return held >> P2PS_PACE_NONE & 1 || watches == core->items[item].watch_count;
}

void p2ps_pace_update(struct p2ps_core *core, const struct rrmp_sink_event *event,
                      p2ps_pace_put_fn put, struct p2ps_pace_update *update)
{
    uint32_t item = (uint32_t)event->user;
    struct p2ps_pacing *pacing = core->pacing;
    struct rwf_bytes bytes = p2ps_bytes(event->message);
    uint32_t number = p2ps_place_first(core, item);
    bool is_spare = false;

    if (!(event->to & RRMP_SINK_TO_STEP))
        return;
    if (core->lag.is_on && p2ps_place_of(core, item, P2PS_PACE_NONE))
        number = p2ps_place_first(core, item);
    if (number == MD_NIL)
        return;
    bool passes =
        rwf_msg_decode(bytes, &update->msg) != RWF_OK || p2ps_merge_exempts(core, &update->msg);
    update->is_noted = !passes && p2ps_merge_notes(core, &core->items[item], &update->msg);
    for (; number != MD_NIL; number = p2ps_place_at(pacing, number)->next) {
        struct place *place = p2ps_place_at(pacing, number);

        if (!passes && merges(core, place) &&
            (update->is_noted ? hold_noted(core, place, number, bytes, &update->msg, put)
                              : hold(core, place, number, bytes, put)))
            update->held |= (uint16_t)(1u << place->pace);
        else
            p2ps_place_send(core, place, number, put);
        is_spare |= !p2ps_place_is_needed(core, place);
    }
    if (is_spare)
        p2ps_places_trim(core, item, false);
}

/* Sending what was pending may have cost the item its image. */
void p2ps_pace_apply(struct p2ps_core *core, uint32_t item, const struct p2ps_pace_update *update)
{
    struct p2ps_item *it = &core->items[item];
    struct cache_changed changed = { { 0 } };

    if (!it->image || it->image_state != P2PS_WATCH_STEP)
        return;
    cache_apply_noted(core->cache, &it->image, &update->msg, &changed);
    for (uint32_t n = p2ps_place_first(core, item); n != MD_NIL;
         n = p2ps_place_at(core->pacing, n)->next) {
        struct place *place = p2ps_place_at(core->pacing, n);

        for (unsigned i = 0; place->run.is_on && i < CACHE_CHANGED_MAX / 64; i++)
            place->run.changed.bits[i] |= changed.bits[i];
    }
}
