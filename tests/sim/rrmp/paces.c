/* paces.c - see paces.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "paces.h"

#include <stdlib.h>

#define SALT      UINT64_C(0x7061636573)
#define INTERVALS (2 * SEC) /* the longest interval, twice */
#define UNLISTED  7u        /* ms: a rate that nobody offers */
#define WHEEL_NS  (2 * MS)

static const struct rwf_qos tick = { .timeliness = RWF_TIMELINESS_REALTIME,
                                     .rate = RWF_RATE_TICK_BY_TICK };

void paces_draw(struct world *world)
{
    struct paces *paces = &world->paces;
    struct lines *lines = &world->lines;

    paces->random = md_prng_init(world->options.seed ^ SALT);
    paces->is_on = true;
    paces->count = 1 + md_prng_below(&paces->random, PACES_MAX);
    for (uint32_t i = 0; i < paces->count; i++) /* intervals that are not equal; 0: JIT */
        paces->interval[i] = i == 1 ? 0 : 20 + 300 * i + md_prng_below(&paces->random, 300);
    if (md_prng_below(&paces->random, 4) == 0)
        paces->pending_bytes = 100 + md_prng_below(&paces->random, 3000);
    if (!lines->is_on) {
        lines->exempt_types = md_prng_below(&paces->random, 4) ? 1u << RWF_UPDATE_TRADE : 0;
        lines->is_eighth_exempt = md_prng_below(&paces->random, 4) == 0;
    }
    paces->exempt = lines_exempt_rules(world);
}

void paces_fini(struct world *world)
{
    rates_destroy(world->paces.exempt);
}

static struct rwf_qos quality(const struct world *world, uint32_t number)
{
    struct rwf_qos qos = tick;
    uint32_t interval = world->paces.interval[number];

    qos.rate = interval ? RWF_RATE_TIME_CONFLATED : RWF_RATE_JIT_CONFLATED;
    qos.rate_info = (uint16_t)interval;
    return qos;
}

void paces_configure(const struct world *world, struct p2ps_core_config *config)
{
    const struct paces *paces = &world->paces;

    if (!paces->is_on)
        return;
    config->pace_count = paces->count;
    for (uint32_t i = 0; i < paces->count; i++)
        config->paces[i] = (struct p2ps_pace){ .rate = quality(world, i).rate,
                                               .interval_ms = quality(world, i).rate_info };
    config->exempt = paces->exempt;
    config->pending_bytes_max = paces->pending_bytes;
}

/* ---- what streams ask for ---- */

static bool is_on_for(const struct consumer *c, const struct stream *s)
{
    return c->world->paces.is_on && !c->world->plan.core.experiment && s->kind == STREAM_SHARED;
}

/* One quality, or a range whose best one it is. */
static void ask_for(struct world *world, struct stream *s, struct omm_item_request *request)
{
    request->has_qos = true;
    request->qos = s->pace ? quality(world, s->pace - 1) : tick;
    if (md_prng_below(&world->paces.random, 3))
        return;
    request->has_worst_qos = true;
    request->worst_qos = (struct rwf_qos){ .timeliness = RWF_TIMELINESS_REALTIME,
                                           .rate = RWF_RATE_TIME_CONFLATED,
                                           .rate_info = UINT16_MAX };
}

void paces_choose(struct consumer *c, struct stream *s, struct omm_item_request *request)
{
    struct world *world = c->world;

    if (!is_on_for(c, s) || md_prng_below(&world->paces.random, 4) == 0)
        return;
    s->pace = (uint8_t)md_prng_below(&world->paces.random, world->paces.count + 1);
    ask_for(world, s, request);
    world->coverage->paced += s->pace > 0;
    if (md_prng_below(&world->paces.random, 40))
        return;
    s->has_no_rate = true; /* the request is refused */
    request->has_worst_qos = false;
    request->qos.rate = RWF_RATE_TIME_CONFLATED;
    request->qos.rate_info = UNLISTED;
    world->coverage->unlisted_rates++;
}

bool paces_choose_again(struct consumer *c, struct stream *s, struct omm_item_request *request)
{
    struct world *world = c->world;
    uint8_t had = s->pace;

    if (!is_on_for(c, s) || md_prng_below(&world->paces.random, 2))
        return false;
    s->pace = (uint8_t)md_prng_below(&world->paces.random, world->paces.count + 1);
    ask_for(world, s, request);
    if (s->pace == had)
        return false;
    s->paced_ns = 0;
    s->paced_to = had ? world->items[s->item].counter : s->paced_to;
    world->coverage->rate_changes++;
    world_trace(world, "consumer %u stream %d chooses rate %u instead of %u", c->number, s->id,
                s->pace, had);
    return true;
}

/* ---- what they get ---- */

uint32_t paces_interval(const struct world *world, const struct stream *s)
{
    return s->pace ? world->paces.interval[s->pace - 1] : 0;
}

void paces_disturb(struct world *world, uint32_t item)
{
    if (is_item(world, item))
        world->paces.disturbed_ns[item] = world->now_ns;
}

void paces_look(struct world *world, struct proc *proc)
{
    const struct rrmp_sink_stats *stats = rrmp_sink_stats(proc->sink);
    uint64_t states = stats->failovers + stats->whole_service_recoveries +
                      stats->records_in[RRMP_SVCSTATE] + stats->records_in[RRMP_GROUP];

    if (states == proc->states_seen)
        return;
    proc->states_seen = states;
    for (uint32_t i = 0; i < world->plan.item_count; i++)
        paces_disturb(world, i);
}

const char *paces_refresh_judge(const struct world *world, const struct stream *s,
                                const struct rwf_msg *msg)
{
    struct rwf_qos expected = s->pace ? quality(world, s->pace - 1) : tick;

    if (!world->paces.is_on || s->kind != STREAM_SHARED)
        return NULL;
    if (s->has_no_rate)
        return "a refresh of a rate that nobody offers";
    return msg->flags & RWF_REFRESH_HAS_QOS && omm_qos_compare(&msg->qos, &expected) == 0
               ? NULL
               : "the refresh states another rate than the stream has";
}

/* Turns are by the clock, so one that is late is followed by the next all the sooner. */
static bool is_late(const struct world *world, uint64_t since_ns)
{
    for (uint32_t p = world->plan.source_count; p < world_sinks_end(world); p++) {
        const struct proc *proc = &world->procs[p];
        if (proc->hung_until_ns >= since_ns || proc->woke_ns >= since_ns)
            return true;
    }
    return false;
}

void paces_note_update(struct world *world, struct stream *s)
{
    uint64_t interval_ns = paces_interval(world, s) * MS;
    uint64_t before_ns = s->paced_ns;

    s->paced_ns = world->now_ns;
    if (interval_ns == 0 || before_ns < INTERVALS || world->paces.pending_bytes)
        return;
    if (world->paces.disturbed_ns[s->item] + INTERVALS >= before_ns ||
        is_late(world, before_ns - INTERVALS))
        return;
    world->coverage->intervals_judged++;
    if (world->now_ns - before_ns + WHEEL_NS + interval_ns / 4 < interval_ns)
        s->early_ns = world->now_ns; /* the reason may come behind it */
}

bool paces_are_kept(const struct world *world, const struct stream *s)
{
    return s->early_ns == 0 || world->now_ns == s->early_ns ||
           world->paces.disturbed_ns[s->item] >= s->early_ns;
}

const char *paces_service_judge(const struct world *world, const struct omm_service *told)
{
    uint32_t found = 0;

    if (!world->paces.is_on || !(told->filters & OMM_FILTER_INFO))
        return NULL;
    for (unsigned i = 0; i < told->qos_count; i++) {
        for (uint32_t k = 0; k < world->paces.count; k++) {
            const struct rwf_qos made = quality(world, k);
            found += omm_qos_compare(&told->qos[i], &made) == 0;
        }
    }
    return found == world->paces.count && told->supports_qos_range
               ? NULL
               : "a service is listed without the rates that are offered";
}
