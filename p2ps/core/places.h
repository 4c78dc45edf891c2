/* places.h - what pace.c and pace_update.c share: the places of items, see pace.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_PLACES_H
#define P2PS_PLACES_H

#include "base/wheel.h"
#include "lag.h"
#include "merge.h"
#include "pace.h"
#include "phase.h"

struct place {
    struct md_wheel_timer timer; /* in a list: the links there */
    uint32_t item;
    uint32_t next; /* of the item; MD_NIL: none */
    uint32_t watch_count;
    uint8_t pace;
    bool tells;     /* it is in the list of those that wait to tell their streams so */
    bool has_ahead; /* a watch has got what is pending with its image */
    struct conflate_pending pending;
    struct p2ps_run run;
};

struct p2ps_places {
    uint32_t first; /* MD_NIL: none */
    uint32_t last;
};

struct p2ps_pacing {
    struct md_slots slots;
    struct md_wheel wheel;
    struct p2ps_places jit;     /* with something pending for the end of this turn */
    struct p2ps_places telling; /* their turn has come, but for the streams that they tell */
    uint32_t tell_left;         /* streams that this turn may still tell */
    uint32_t told;              /* lag.told, when it was looked at last */
    uint32_t *of;               /* by item: its first place, or MD_NIL */
    uint32_t of_room;
    size_t memory;
    size_t table_memory;                          /* of `memory`, there without a place */
    uint32_t lag_pending;                         /* updates of watches without a rate */
    struct p2ps_phase phases[P2PS_PACES_MAX + 1]; /* by rate */
    bool is_busy; /* places that lose their last watch stay until it is over */
};

static inline struct place *p2ps_place_at(const struct p2ps_pacing *pacing, uint32_t number)
{
    return number == MD_NIL ? NULL : md_slots_at(&pacing->slots, number);
}

static inline uint32_t p2ps_place_first(const struct p2ps_core *core, uint32_t item)
{
    const struct p2ps_pacing *pacing = core->pacing;

    return pacing && item < pacing->of_room ? pacing->of[item] : MD_NIL;
}

/* That of a rate has watches; the one of all others has a pending update, or gets one. */
static inline bool p2ps_place_is_needed(const struct p2ps_core *core, const struct place *place)
{
    return place->watch_count > 0 ||
           (place->pace == P2PS_PACE_NONE && (core->lag.is_on || place->pending.length > 0));
}

/* The update that is pending there makes streams hear that they are conflated. */
static inline bool p2ps_place_tells(const struct p2ps_core *core, const struct place *place)
{
    return place->pace == P2PS_PACE_NONE && place->pending.is_merged &&
           p2ps_lag_tells(core, place->item);
}

/* NULL: no memory. */
struct place *p2ps_place_of(struct p2ps_core *core, uint32_t item, uint8_t pace);
/* Gives back the places of the item that are not needed; `is_over`: all of them. */
void p2ps_places_trim(struct p2ps_core *core, uint32_t item, bool is_over);
/* Something is pending since now. */
void p2ps_place_begin(struct p2ps_core *core, struct place *place, uint32_t number);
/* The image is that of the newest update of the run: what comes for the item sends it before. */
void p2ps_place_send(struct p2ps_core *core, struct place *place, uint32_t number,
                     p2ps_pace_put_fn put);

#endif
