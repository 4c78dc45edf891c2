/* gone.c - see gone.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "gone.h"

#include "dictionary.h"
#include "directory.h"
#include "item.h"
#include "network.h"
#include "status.h"
#include "watch.h"

#define ROOM_NS 100000000ull /* between two looks whether there are too many services */

/* ---- its items are closed first: a consumer must still know the service when they end ---- */

static void close_some(struct p2ps_core *core)
{
    struct p2ps_closing *closing = &core->closing;
    struct p2ps_work *work = &core->work;
    const struct rwf_state state =
        closing->moves ? omm_state(RWF_STREAM_CLOSED_RECOVER, RWF_DATA_SUSPECT, RWF_CODE_NONE,
                                   "The service is on another network now")
                       : omm_state(RWF_STREAM_CLOSED_RECOVER, RWF_DATA_SUSPECT,
                                   RWF_CODE_SOURCE_UNKNOWN, "The service was deleted");

    while (closing->next < core->item_room && work->states > 0 && work->places > 0) {
        uint32_t item = closing->next++;
        const struct p2ps_item *it = &core->items[item];

        work->places--;
        if (it->watch_count == 0 || it->service != closing->service)
            continue;
        work->states -= it->watch_count < work->states ? it->watch_count : work->states;
        closing->items++;
        p2ps_item_owes_nothing(core, item); /* this ends it */
        p2ps_item_state(core, item, &state);
    }
}

/* The last of them are swept by then. One that came back meanwhile stays. Clients that still wait
 * for items of one that moves ask again; then the sources of the other network answer. */
static void finish(struct p2ps_core *core)
{
    const struct p2ps_closing *closing = &core->closing;
    uint16_t index = closing->service;
    struct p2ps_service *s = &core->services[index];

    if (closing->next < core->item_room || s->items > 0)
        return;
    core->closing.is_on = s->is_closing = false;
    if (s->gone_ns == 0)
        return;
    if (closing->moves && p2ps_service_move(core, index)) {
        p2ps_dictionaries_offered(core, index);
        p2ps_directory_changed(core, index);
        return;
    }
    p2ps_directory_delete(core, index, closing->items, closing->makes_room);
}

void p2ps_gone_turn(struct p2ps_core *core)
{
    if (!core->closing.is_on)
        return;
    close_some(core);
    finish(core);
}

/* One service at a time. */
static void start(struct p2ps_core *core, uint16_t index, bool makes_room)
{
    struct p2ps_service *s = &core->services[index];

    core->closing = (struct p2ps_closing){
        .is_on = true,
        .makes_room = makes_room,
        .moves = !makes_room && p2ps_service_can_move(core, index),
        .service = index,
        .next = s->items > 0 ? 0 : UINT32_MAX,
    };
    s->is_closing = true;
    p2ps_gone_turn(core);
}

/* ---- too many ---- */

/* The one that has been gone for longest; RRMP_SERVICE_NONE: none may make room. */
static uint16_t oldest_gone(const struct p2ps_core *core)
{
    uint16_t oldest = RRMP_SERVICE_NONE;

    for (uint16_t i = 0; i < core->service_count; i++) {
        const struct p2ps_service *s = &core->services[i];

        if (s->gone_ns == 0 || s->is_said || s->is_closing || (s->is_forgotten && s->items > 0))
            continue;
        if (oldest == RRMP_SERVICE_NONE || s->gone_ns < core->services[oldest].gone_ns)
            oldest = i;
    }
    return oldest;
}

/* Names that somebody invents, and takes back, must not keep a new service out. */
static void make_room(struct p2ps_core *core)
{
    if (core->now_ns < core->room_ns || core->closing.is_on || !p2ps_services_are_many(core))
        return;
    core->room_ns = core->now_ns + ROOM_NS;
    p2ps_services_unwanted_forget(core);
    for (unsigned n = 0;
         n < P2PS_TURN_SERVICES && !core->closing.is_on && p2ps_services_are_many(core); n++) {
        uint16_t index = oldest_gone(core);

        if (index == RRMP_SERVICE_NONE)
            return;
        if (!core->services[index].is_forgotten)
            start(core, index, true);
        if (!core->closing.is_on && !p2ps_service_release(core, index))
            return; /* something is on its way */
    }
    core->room_ns = core->forget_ns = core->now_ns; /* and more in the next turn */
}

/* ---- time ---- */

static void forget_in_time(struct p2ps_core *core)
{
    core->forget_ns = UINT64_MAX;
    for (uint16_t i = 0; core->config.service_forget_ns && i < core->service_count; i++) {
        const struct p2ps_service *s = &core->services[i];
        uint64_t due_ns = s->gone_ns + core->config.service_forget_ns;

        if (s->gone_ns == 0 || s->is_forgotten || s->is_closing)
            continue;
        if (due_ns <= core->now_ns && !core->closing.is_on)
            start(core, i, false);
        else if (due_ns < core->forget_ns)
            core->forget_ns = due_ns;
    }
}

void p2ps_gone_tick(struct p2ps_core *core)
{
    if (core->now_ns >= core->forget_ns)
        forget_in_time(core);
    make_room(core);
}
