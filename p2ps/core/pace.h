/* pace.h - rates that consumers choose: one merged update of an item in each interval. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_PACE_H
#define P2PS_PACE_H

#include "private.h"

/*
 * The watches of an item that have chosen the same rate share a *place*: it has the pending update,
 * and its turn in the interval. The rate of a watch is that of its form. An update of an item with
 * places goes to each of them first:
 *
 *     held     it is in the pending update; the watches of that rate that are in step do not get it
 *     passed   it is not merged: what is pending goes out before it
 *
 * Whatever else comes for the item sends what is pending first. An image out of the cache has in it
 * what is pending: the watch that got it is *ahead*, is left out when that goes out, and nothing
 * more is merged into it.
 *
 * While the worker is behind (lag.h), the watches without a rate share a place, too, in an interval
 * of its own.
 */

#define P2PS_LAG_INTERVAL_MS 200u

/* MD_OK, or MD_ERR_NOMEM. */
int p2ps_paces_create(struct p2ps_core *core);
void p2ps_paces_destroy(struct p2ps_core *core);

/* A watch of that rate comes to the item, or leaves it; P2PS_PACE_NONE is allowed. MD_ERR_NOMEM. */
int p2ps_pace_join(struct p2ps_core *core, uint32_t item, uint8_t pace);
void p2ps_pace_leave(struct p2ps_core *core, uint32_t item, uint8_t pace);
/* The item is closed: what is pending is dropped. */
void p2ps_pace_end(struct p2ps_core *core, uint32_t item);
/* Another rate takes the watch to another place of its item. False: no memory. */
bool p2ps_pace_move(struct p2ps_core *core, uint32_t item, struct p2ps_watch *w, uint8_t pace);
/* Gives back what the item does not need any more. */
void p2ps_pace_tidy(struct p2ps_core *core, uint32_t item);
/* The watch was given everything up to now by other means than updates. */
void p2ps_pace_caught_up(struct p2ps_core *core, uint32_t item, struct p2ps_watch *w);

/* Puts a pending update to the watches that p2ps_pace_skips() leaves. Without data it cannot be
 * told, because the image that has its values was given up: they need an image. */
typedef void (*p2ps_pace_put_fn)(struct p2ps_core *core, uint32_t item, struct rwf_bytes update);

/* An update on its way through the places of its item. */
struct p2ps_pace_update {
    uint16_t held; /* the rates whose watches in step do not get it */
    bool is_noted; /* its places wait for p2ps_pace_apply() */
    struct rwf_msg msg;
};

/* Before an update is delivered. */
void p2ps_pace_update(struct p2ps_core *core, const struct rrmp_sink_event *event,
                      p2ps_pace_put_fn put, struct p2ps_pace_update *update);
/* One that is noted goes into the image, and its places learn what it changes there. */
void p2ps_pace_apply(struct p2ps_core *core, uint32_t item, const struct p2ps_pace_update *update);
/* The update is held for all watches of the item that are in step: these need not be walked. */
bool p2ps_pace_holds_all(const struct p2ps_core *core, uint32_t item, uint16_t held);
/* Sends what is pending: of one item, of all items of a service, of all whose turn has come. */
void p2ps_pace_flush(struct p2ps_core *core, uint32_t item, p2ps_pace_put_fn put);
void p2ps_pace_flush_service(struct p2ps_core *core, uint16_t service, p2ps_pace_put_fn put);
void p2ps_pace_turn(struct p2ps_core *core, p2ps_pace_put_fn put);
/* Fetches the first place of the item into the processor's cache. */
void p2ps_pace_fetch(const struct p2ps_core *core, uint32_t item);
/* Something is pending for watches that have chosen no rate. */
bool p2ps_pace_has_lag(const struct p2ps_core *core);
uint64_t p2ps_pace_deadline(const struct p2ps_core *core);

/* Of places, less what is pending. */
uint64_t p2ps_pace_bytes(const struct p2ps_core *core);
/* For check.c: NULL, or what does not hold. `watches` of that rate are on the item, and some of
 * them are ahead. */
const char *p2ps_pace_check_item(const struct p2ps_core *core, uint32_t item, uint8_t pace,
                                 uint32_t watches, bool is_ahead);
const char *p2ps_pace_check(const struct p2ps_core *core);

/* The present record is not for this watch; `skips` is core->pace_skips. */
static inline bool p2ps_pace_skips(const struct p2ps_core *core, uint16_t skips,
                                   const struct p2ps_watch *w)
{
    return skips && w->state == P2PS_WATCH_STEP &&
           (skips >> core->forms[w->form].pace & 1 || w->flags & P2PS_WATCH_AHEAD);
}

#endif
