/* lost.c - records that cannot be made for a watch, and what its client is told. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lost.h"
#include "status.h"
#include "trail.h"
#include "watch.h"

/* The client lacks a record. Of a snapshot that is all it will get: the stream is closed, or it
 * would end without an answer. */
static void tell_lacking(struct p2ps_core *core, uint32_t item, uint32_t watch,
                         const struct rwf_state *state)
{
    const struct p2ps_watch *w = &core->items[item].watches[watch];
    struct rwf_state told = *state;

    if (w->flags & P2PS_WATCH_SNAPSHOT && w->state == P2PS_WATCH_FILLING)
        told.stream_state = RWF_STREAM_CLOSED;
    core->tells_unreadable = true;
    p2ps_watch_status(core, item, watch, &told);
    core->tells_unreadable = false;
}

void p2ps_lost_unreadable(struct p2ps_core *core, uint32_t item)
{
    struct p2ps_item *it = &core->items[item];
    const struct rwf_state state = omm_state(RWF_STREAM_OPEN, RWF_DATA_SUSPECT, RWF_CODE_NONE,
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

/* Nothing of what cannot be cut goes to a client that may not see all of it. */
static const char uncut[] =
    "not all fields of the item may be seen, and they cannot be taken out of its data";

static bool hears_of_it(const struct p2ps_core *core, uint32_t item, uint32_t watch)
{
    const struct p2ps_watch *w = &core->items[item].watches[watch];

    return (w->state == P2PS_WATCH_FILLING || w->state == P2PS_WATCH_STEP) &&
           !(w->flags & (P2PS_WATCH_HELD_BACK | P2PS_WATCH_TOLD_LOST)) &&
           (!core->has_entry_sets || core->entry_sets[watch] == core->entry_set);
}

static void tell(struct p2ps_core *core, uint32_t item, uint32_t watch)
{
    const struct rwf_state state = omm_state(RWF_STREAM_OPEN, RWF_DATA_SUSPECT, RWF_CODE_NONE,
                                             "A record of this item cannot be converted: values "
                                             "may be missing until its next image");
    struct p2ps_watch *w = &core->items[item].watches[watch];

    tell_lacking(core, item, watch, &state);
    if (w->state != P2PS_WATCH_ENDED && !(w->flags & P2PS_WATCH_OWED_STATUS))
        w->flags |= P2PS_WATCH_TOLD_LOST;
}

void p2ps_lost_unmade(struct p2ps_core *core, uint32_t item)
{
    if (!core->is_unmade)
        return;
    core->is_unmade = false;
    for (uint32_t i = 0; i < core->items[item].watch_count; i++) {
        const struct p2ps_watch *w = &core->items[item].watches[i];

        if (!hears_of_it(core, item, i) || core->made_epoch[w->form] != core->epoch ||
            !core->made[w->form].is_broken)
            continue;
        if (core->made[w->form].is_uncut) {
            p2ps_trail_undecided(core);
            p2ps_watch_denied(core, item, i, uncut);
        } else {
            tell(core, item, i);
        }
    }
}

void p2ps_lost_set(struct p2ps_core *core, uint32_t item)
{
    core->stats.decode_errors++;
    for (uint32_t i = 0; i < core->items[item].watch_count; i++) {
        if (hears_of_it(core, item, i))
            tell(core, item, i);
    }
}
