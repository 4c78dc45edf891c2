/* watch.h - one stream of one client on one item: its state, its image, what it is owed. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_WATCH_H
#define P2PS_WATCH_H

#include "private.h"

/* The watch missed something for lack of room: P2PS_WATCH_OWED_IMAGE or _STATUS. */
void p2ps_watch_owe(struct p2ps_core *core, struct p2ps_watch *w, uint16_t flag);
/* It is owed this no longer. */
/* The watches that the present update of a rate is for are owed images in its place. */
void p2ps_watches_owe_images(struct p2ps_core *core, uint32_t item);
void p2ps_watch_forgive(struct p2ps_core *core, struct p2ps_watch *w, uint16_t flag);
/* The state for one watch; one without room for it is owed it. A closing state ends the watch. */
void p2ps_watch_status(struct p2ps_core *core, uint32_t item, uint32_t watch,
                       const struct rwf_state *state);
/* Sends the state this watch is still owed; OK needs no status, the image implies it. Afterwards
 * the watch has ended, or is owed the state still, or has it. */
void p2ps_watch_tell_suspect(struct p2ps_core *core, uint32_t item, uint32_t watch);
/* Of a watch for which updates are merged or left out: JIT_CONFLATION_STARTED, once, with the cause
 * and the number of lost updates that it does not know. False: that has no room, and the watch is
 * owed a status, or it has ended. */
bool p2ps_watch_conflated(struct p2ps_core *core, uint32_t item, uint32_t watch);
/* A suspect status that had no room goes out before the image that ends it; without room again, the
 * watch is owed the image, too. */
void p2ps_watches_before_image(struct p2ps_core *core, uint32_t item);
/* After a state: a watch in step that was sent JIT_CONFLATION_STARTED gets REALTIME_RESUMED. */
void p2ps_watch_fine(struct p2ps_core *core, uint32_t item, uint32_t watch);
/* The state for every watch of the item; a closing state ends the watches. */
void p2ps_item_state(struct p2ps_core *core, uint32_t item, const struct rwf_state *state);
/* The last part of an image is out: nothing is owed, and conflation has ended. */
void p2ps_watch_has_image(struct p2ps_core *core, uint32_t item, uint32_t watch);
/* The kept image to a watch, at once; false when there is none to give. A snapshot ends with it;
 * who has no room is owed it. */
bool p2ps_watch_give_image(struct p2ps_core *core, uint32_t item, uint32_t watch);
void p2ps_watch_wants_image(struct p2ps_core *core, uint32_t item, uint32_t watch);
/* The client wants it, and is told that it waits, which stops its timer of the request. */
void p2ps_watch_asks_again(struct p2ps_core *core, uint32_t item, uint32_t watch);
void p2ps_watch_denied(struct p2ps_core *core, uint32_t item, uint32_t watch, const char *text);
/* Closes a snapshot whose image has gone by, in whole or in part: the source sends it once. */
void p2ps_watch_too_late(struct p2ps_core *core, uint32_t item, uint32_t watch);
void p2ps_watch_permitted(struct p2ps_core *core, uint32_t item, uint32_t watch);
/* Tells a watch that was left out for lack of room what it is owed, as far as there is room now. */
void p2ps_watches_give_owed(struct p2ps_core *core, uint32_t client);

/* Messages that go to those in step, or to those that wait for the rest of their image. */
static inline bool p2ps_watch_takes(const struct p2ps_watch *w, uint8_t to)
{
    if (w->state == P2PS_WATCH_STEP)
        return (to & RRMP_SINK_TO_STEP) != 0;
    return w->state == P2PS_WATCH_FILLING && (to & RRMP_SINK_TO_WAIT) != 0;
}

#endif
