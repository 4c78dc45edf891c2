/* preempt.c - see preempt.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "preempt.h"

#include "client.h"
#include "entitle.h"
#include "item.h"
#include "network.h"
#include "status.h"
#include "watch.h"

#define LOOKS    4096u /* at streams of a client for one that stands back, or that comes back */
#define COST     64u   /* so many of them cost the turn as much as a request */
#define AGAIN_NS 100000000ull /* streams that stand back look for room */
#define MANY     4096u        /* of a client stand back */

/* ---- the limits ---- */

static bool is_reached(uint64_t limit, uint64_t count)
{
    return limit && count >= limit;
}

/* With `less` fewer streams than the client has. */
static bool is_limited(const struct p2ps_core *core, const struct p2ps_client *c, uint64_t less)
{
    const struct p2ps_item_limits *limits = &core->config.item_limits;

    return is_reached(limits->mount + (limits->mount ? less : 0), c->item_streams) ||
           is_reached(limits->host + (limits->host ? less : 0),
                      atomic_load_explicit(&c->host->items, memory_order_relaxed)) ||
           is_reached(c->item_limit + (c->item_limit ? less : 0),
                      atomic_load_explicit(&c->party->items, memory_order_relaxed));
}

static bool is_full(const struct p2ps_core *core)
{
    return is_reached(
        core->config.item_limits.aggregate,
        atomic_load_explicit(p2ps_parties_items(core->parties), memory_order_relaxed));
}

bool p2ps_preempt_may_open(struct p2ps_core *core, uint32_t client,
                           const struct omm_item_request *request)
{
    const struct p2ps_client *c = &core->clients[client];

    if (is_full(core))
        return false;
    if (!is_limited(core, c, 0))
        return true;
    return core->config.item_limits.preempts && request->is_streaming && !request->is_private &&
           c->item_streams > 0 && !is_limited(core, c, 1);
}

/* ---- which stream ---- */

static uint32_t rank(uint32_t priority_class, uint32_t count)
{
    return priority_class << 16 | (count < UINT16_MAX ? count : UINT16_MAX);
}

/* The priority that one of its watches has said. */
static uint32_t rank_of(const struct p2ps_core *core, uint32_t item)
{
    const struct p2ps_item *it = &core->items[item];
    struct rrmp_sink_item info;

    if (!rrmp_sink_item_info(p2ps_item_sink(core, item), it->sink_item, &info))
        return 0;
    return rank(info.priority_class, info.priority_count);
}

static bool may_stand_back(const struct p2ps_watch *w)
{
    return w->state != P2PS_WATCH_ASKS && w->state != P2PS_WATCH_ENDED &&
           !(w->flags & (P2PS_WATCH_SNAPSHOT | P2PS_WATCH_PRIVATE | P2PS_WATCH_STANDBY));
}

struct found {
    int32_t stream_id; /* 0: none */
    uint32_t item;
    uint32_t rank;
};

/* Of the streams of the client that stand back the most valuable one, or of the others the least
 * valuable one: among LOOKS of them, in turn where there are more. */
static struct found look(struct p2ps_core *core, uint32_t client, bool is_preempted)
{
    const struct p2ps_client *c = &core->clients[client];
    struct found best = { .stream_id = 0 };
    bool has_wrapped = false;
    uint32_t looks = 0;
    uint32_t item;

    while (looks < LOOKS) {
        int32_t id = p2ps_idmap_next(&c->streams, &core->preempt_cursor, &item);

        if (id == 0 && has_wrapped)
            break;
        if (id == 0) {
            core->preempt_cursor = 0;
            has_wrapped = true;
            continue;
        }
        looks++;
        uint32_t at = item < P2PS_STREAM_DICTIONARY ? p2ps_item_watch_find(core, item, client, id)
                                                    : P2PS_NONE;
        if (at == P2PS_NONE)
            continue;
        const struct p2ps_watch *w = &core->items[item].watches[at];
        if (is_preempted ? !(w->flags & P2PS_WATCH_PREEMPTED) : !may_stand_back(w))
            continue;
        uint32_t found = rank_of(core, item);
        if (best.stream_id == 0 || (is_preempted ? found > best.rank : found < best.rank))
            best = (struct found){ .stream_id = id, .item = item, .rank = found };
    }
    p2ps_work_spend(core, looks / COST, 0);
    return best;
}

/* ---- to stand back, and to come back ---- */

void p2ps_preempt_tell(struct p2ps_core *core, uint32_t item, uint32_t watch)
{
    struct p2ps_watch *w = &core->items[item].watches[watch];
    struct rwf_state state = omm_state(RWF_STREAM_OPEN, RWF_DATA_SUSPECT, RWF_CODE_PREEMPTED,
                                       "Its place was needed for an item of a higher priority");

    p2ps_watch_status(core, item, watch, &state);
    if (w->state == P2PS_WATCH_ENDED || !(w->flags & P2PS_WATCH_OWED_STATUS))
        return;
    /* It would show old values as good ones. */
    p2ps_watch_forgive(core, w, P2PS_WATCH_OWED_STATUS);
    p2ps_client_doom(core, w->client);
}

static void stand_back(struct p2ps_core *core, uint32_t client, const struct found *found)
{
    struct p2ps_client *c = &core->clients[client];
    uint32_t at = p2ps_item_watch_find(core, found->item, client, found->stream_id);
    struct p2ps_watch *w = &core->items[found->item].watches[at];

    core->stats.streams_preempted++;
    p2ps_entitle_hold_back(core, w);
    uint32_t max = core->config.item_limits.preempted_max;
    if (c->preempted >= (max ? max : MANY)) {
        struct rwf_state state = omm_state(RWF_STREAM_CLOSED_RECOVER, RWF_DATA_SUSPECT,
                                           RWF_CODE_PREEMPTED, "Too many items wait for room");
        p2ps_watch_status(core, found->item, at, &state);
        return;
    }
    p2ps_item_watch_preempt(core, w, true);
    p2ps_preempt_tell(core, found->item, at);
}

bool p2ps_preempt_make_room(struct p2ps_core *core, uint32_t client,
                            const struct omm_item_request *request)
{
    struct p2ps_client *c = &core->clients[client];

    if (!is_limited(core, c, 0))
        return true;
    if (c->front->is_full(c->self))
        return false; /* nobody could be told */
    struct found found = look(core, client, false);
    uint32_t wanted =
        request->has_priority ? rank(request->priority_class, request->priority_count) : rank(1, 1);
    if (found.stream_id == 0 || found.rank >= wanted)
        return false;
    stand_back(core, client, &found);
    return !is_limited(core, c, 0);
}

/* False: none was found. */
static bool come_back(struct p2ps_core *core, uint32_t client)
{
    struct found found = look(core, client, true);
    struct entitle_answer answer;

    if (found.stream_id == 0)
        return false;
    uint32_t at = p2ps_item_watch_find(core, found.item, client, found.stream_id);
    p2ps_item_watch_preempt(core, &core->items[found.item].watches[at], false);
    switch (p2ps_entitle_item(core, found.item, at, &answer)) {
    case ENTITLE_ALLOW:
        p2ps_watch_wants_image(core, found.item, at);
        break;
    case ENTITLE_DENY:
        p2ps_watch_denied(core, found.item, at, answer.text);
        break;
    case ENTITLE_PENDING:
        break;
    }
    return true;
}

void p2ps_preempt_tick(struct p2ps_core *core)
{
    if (core->stats.streams_preempted_now == 0 || core->now_ns < core->preempt_ns)
        return;
    core->preempt_ns = core->now_ns + AGAIN_NS;
    for (uint32_t i = 0; i < core->client_room; i++) {
        const struct p2ps_client *c = &core->clients[i];

        if (!c->is_used || c->is_gone || c->preempted == 0 || c->is_slow || !c->party)
            continue;
        while (core->work.asks > 0 && c->preempted > 0 && !is_limited(core, c, 0) &&
               come_back(core, i))
            p2ps_work_spend(core, 1, 0);
    }
}

uint64_t p2ps_preempt_deadline(const struct p2ps_core *core)
{
    return core->stats.streams_preempted_now > 0 ? core->preempt_ns : UINT64_MAX;
}
