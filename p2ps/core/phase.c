/* phase.c - see phase.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "phase.h"

#include "base/prng.h"
#include "places.h"

#define MS 1000000ull

__extension__ typedef unsigned __int128 wide;

static uint32_t interval_ms(const struct p2ps_core *core, uint8_t pace)
{
    return pace == P2PS_PACE_NONE ? P2PS_LAG_INTERVAL_MS : core->config.paces[pace - 1].interval_ms;
}

/* ---- lots ---- */

void p2ps_phases_start(struct p2ps_core *core)
{
    for (unsigned pace = 0; pace <= core->config.pace_count; pace++) {
        uint32_t lots = interval_ms(core, (uint8_t)pace) / P2PS_LOT_MS;

        core->pacing->phases[pace].lots = lots ? lots : 1;
    }
}

/* Twice as many lots are halves of those before: an item keeps its time, or gets one half a lot
 * later, and never two updates within an interval. */
void p2ps_phase_add(struct p2ps_core *core, uint8_t pace)
{
    struct p2ps_phase *phase = &core->pacing->phases[pace];

    phase->places++;
    if (phase->places / phase->lots >= P2PS_LOT_PLACES &&
        phase->lots * 2 <= interval_ms(core, pace))
        phase->lots *= 2;
}

void p2ps_phase_drop(struct p2ps_core *core, uint8_t pace)
{
    core->pacing->phases[pace].places--;
}

/* ---- ceilings ---- */

void p2ps_phase_look(struct p2ps_core *core, uint32_t client)
{
    struct p2ps_client *c = &core->clients[client];
    bool has = !c->is_gone && c->front->has_ceiling && c->front->has_ceiling(c->self);

    core->ceilings_now += has;
    core->ceilings_now -= c->has_ceiling;
    c->has_ceiling = has;
}

/* A client with a ceiling gets what is pending there. */
static bool has_ceiling(const struct p2ps_core *core, const struct place *place)
{
    const struct p2ps_item *it = &core->items[place->item];

    for (uint32_t i = 0; core->ceilings_now > 0 && i < it->watch_count; i++) {
        const struct p2ps_watch *w = &it->watches[i];

        if (w->state != P2PS_WATCH_ENDED && core->forms[w->form].pace == place->pace &&
            core->clients[w->client].has_ceiling)
            return true;
    }
    return false;
}

/* ---- the next turn ---- */

/* The share `drawn` of 2^64 of so many. */
static uint64_t share_of(uint64_t drawn, uint64_t count)
{
    return (uint64_t)((wide)drawn * count >> 64);
}

/* Timers of more than a round of the wheel stand among others that are not due: many of them in one
 * slot would be looked at again and again. */
static bool has_lots(const struct p2ps_core *core, const struct place *place)
{
    return core->pace_waits && interval_ms(core, place->pace) < MD_WHEEL_SLOTS &&
           !has_ceiling(core, place);
}

uint64_t p2ps_phase_next(const struct p2ps_core *core, const struct place *place)
{
    uint64_t interval_ns = interval_ms(core, place->pace) * MS;
    uint64_t drawn = md_mix64(place->item);
    uint64_t phase_ns = share_of(drawn, interval_ns);

    if (has_lots(core, place)) {
        uint64_t lots = core->pacing->phases[place->pace].lots;

        phase_ns = share_of(drawn, lots) * interval_ns / lots;
    }
    phase_ns += share_of(md_mix64(core->idmap_key[0] + place->pace), interval_ns);
    uint64_t since_ns = (core->now_ns + 2 * interval_ns - phase_ns) % interval_ns;
    return core->now_ns + interval_ns - since_ns;
}
