/* image.c - the last image of each open item, kept so that the next consumer has it at once. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "image.h"
#include "item.h"
#include "private.h"

/*
 * The cache follows an item as one more watch would: it takes the first image whole, then what is
 * for those in step. So what it holds is what a watch in step was given, and whoever is given the
 * image goes on with the same updates as everybody else.
 */

static bool is_kept(const struct p2ps_core *core, const struct p2ps_item *it)
{
    return core->cache && !it->is_private && !it->is_snapshot;
}

void p2ps_image_part(struct p2ps_core *core, const struct rrmp_sink_event *event,
                     const struct p2ps_record *record)
{
    struct p2ps_item *it = &core->items[record->item];
    bool is_first = (event->flags & RRMP_IMAGE_FIRST) != 0;

    if (!is_kept(core, it))
        return;
    if (it->image_state == P2PS_WATCH_STEP && !(event->to & RRMP_SINK_TO_STEP))
        return;
    if (it->image_state == P2PS_WATCH_NEW) {
        if (!is_first || !(event->to & RRMP_SINK_TO_WAIT))
            return;
        p2ps_item_image_set(it, P2PS_WATCH_FILLING);
    }
    /* One that began before and was never finished, or that may not be kept any more. */
    if (it->image && ((is_first && !cache_image_is_valid(it->image)) ||
                      record->peek.flags & RWF_REFRESH_DO_NOT_CACHE))
        p2ps_item_image_drop(core, it);
    if (it->image || is_first)
        cache_apply(core->cache, &it->image, record->message);
}

void p2ps_image_update(struct p2ps_core *core, const struct rrmp_sink_event *event,
                       const struct p2ps_record *record, bool has_own_lock)
{
    struct p2ps_item *it = &core->items[record->item];
    uint8_t to = it->image_state == P2PS_WATCH_STEP ? RRMP_SINK_TO_STEP : RRMP_SINK_TO_WAIT;

    if (!it->image || it->image_state == P2PS_WATCH_NEW || !(event->to & to))
        return;
    if (!has_own_lock)
        cache_apply(core->cache, &it->image, record->message);
    else if (!(record->peek.flags & RWF_UPDATE_DO_NOT_CACHE))
        p2ps_item_image_forget(core, record->item);
}

void p2ps_image_in_step(struct p2ps_core *core, uint32_t item)
{
    if (core->items[item].image_state == P2PS_WATCH_FILLING)
        p2ps_item_image_set(&core->items[item], P2PS_WATCH_STEP);
}
