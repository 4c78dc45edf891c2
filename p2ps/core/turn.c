/* turn.c - the clients at the end of a turn: flushed, timed, let go. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "turn.h"

#include <stdio.h>

#include "backlog.h"
#include "base/err.h"
#include "cause.h"
#include "client.h"
#include "dictionary.h"
#include "directory.h"
#include "drop.h"
#include "item.h"
#include "login.h"
#include "phase.h"
#include "private.h"
#include "proof.h"
#include "reason.h"
#include "session.h"
#include "slow.h"
#include "status.h"
#include "tally.h"
#include "trail.h"
#include "watch.h"

#define SECOND_NS       1000000000ull
#define CATCH_UP_ROUNDS 4          /* of one flush; the rest is for the next turn */
#define HOLD_NS         2000000ull /* for which output may wait for more */

/* ---- a client's end ---- */

void p2ps_client_gone(struct p2ps_core *core, uint64_t now_ns, uint32_t client)
{
    p2ps_client_lost(core, now_ns, client, "the connection has ended");
}

void p2ps_client_lost(struct p2ps_core *core, uint64_t now_ns, uint32_t client, const char *why)
{
    struct p2ps_client *c = p2ps_client_at(core, client);

    core->now_ns = now_ns;
    if (c->login_state == P2PS_LOGIN_OPEN)
        p2ps_session_end(core, client, 0, why);
    p2ps_tally_items(c, -(int64_t)c->item_streams);
    p2ps_tally_leave(core, client);
    if (c->is_slow)
        core->stats.mounts_slow_now--;
    core->stats.mounts_now--;
    c->is_slow = false;
    c->closing = false;
    c->directory_owed = false;
    p2ps_client_login_set(core, c, P2PS_LOGIN_REFUSED);
    c->is_gone = true;
    p2ps_phase_look(core, client);
    p2ps_drop_streams(core, client);
}

void p2ps_client_cut(struct p2ps_core *core, uint32_t client, const char *reason)
{
    struct p2ps_client *c = p2ps_client_at(core, client);
    const struct p2ps_front *front = c->door ? c->door : c->front;
    void *self = c->door ? c->door_self : c->self;

    p2ps_client_lost(core, core->now_ns, client, reason);
    front->close(self, reason);
}

/* The last status is queued, though a client that reads nothing does not get it; the log and the
 * audit trail have the same text. */
static void cut_slow(struct p2ps_core *core, uint32_t client, const char *why)
{
    struct p2ps_client *c = p2ps_client_at(core, client);
    char cause[P2PS_CAUSE_MAX], reason[P2PS_CAUSE_MAX + 96];

    p2ps_slow_figures(core, client, cause, sizeof(cause));
    snprintf(reason, sizeof(reason), "output buffer overflow: %s, %s", why, cause);
    core->stats.mounts_cut_slow++;
    p2ps_reason_cut(core, client);
    if (c->login_state == P2PS_LOGIN_OPEN) {
        const struct omm_status status = {
            .stream_id = c->login_stream,
            .domain = RWF_DOMAIN_LOGIN,
            .state = omm_state(RWF_STREAM_OPEN, RWF_DATA_SUSPECT, RWF_CODE_NO_RESOURCES, reason),
        };
        core->stats.status_out += p2ps_tell_status(core, c, &status) == MD_OK;
    }
    p2ps_client_cut(core, client, reason);
}

/* A client is cut that was doomed in the batch; see client.h. */
static void cut_doomed(struct p2ps_core *core, uint32_t client)
{
    const struct p2ps_client *c = &core->clients[client];
    char why[96];

    switch ((enum p2ps_doom)c->closing) {
    case P2PS_DOOM_NONE:
        break;
    case P2PS_DOOM_NO_ROOM:
        cut_slow(core, client, "no room for what cannot come later");
        break;
    case P2PS_DOOM_BEHIND:
        snprintf(why, sizeof(why), "%llu items are behind, conflateMax is %u",
                 (unsigned long long)p2ps_backlog_of(core, client)->doomed_behind,
                 core->config.conflate_max);
        cut_slow(core, client, why);
        break;
    case P2PS_DOOM_NO_MEMORY:
        p2ps_client_cut(core, client, "no memory for what must be known of it");
        break;
    }
}

void p2ps_client_unread(struct p2ps_core *core, uint64_t now_ns, uint32_t client)
{
    core->now_ns = now_ns;
    cut_slow(core, client, "its answers were not taken within slowTimeout");
}

void p2ps_turn_sweep(struct p2ps_core *core)
{
    for (uint32_t i = 0; i < core->touched_count; i++) {
        uint32_t client = core->touched[i];

        if (!core->clients[client].closing || !p2ps_client_is_here(&core->clients[client]))
            continue;
        cut_doomed(core, client);
    }
    p2ps_items_sweep(core);
}

/* ---- output ---- */

/* Of a client that has gone since it was touched nothing is left to flush. */
static void flush_one(struct p2ps_core *core, uint32_t client)
{
    struct p2ps_client *c = &core->clients[client];

    c->is_touched = false;
    if (!c->is_used)
        return;
    c->front->flush(c->self);
    if (c->is_merging || c->is_above || c->front->fill(c->self) > core->config.owed_fill_percent)
        p2ps_slow_look(core, client);
}

/*
 * A client with requests that were not looked at yet gets its output in writes that are worth one:
 * a turn answers a few requests of many clients, and a write costs more than the image in it. All
 * others get theirs at the end of the turn.
 */
static bool holds(struct p2ps_core *core, uint32_t client)
{
    struct p2ps_client *c = &core->clients[client];

    if (!c->is_busy || c->is_slow || c->closing || !p2ps_client_is_here(c) ||
        c->front->is_full(c->self))
        return false;
    c->is_touched = false;
    if (c->is_filling)
        return true;
    if (core->held_count == 0)
        core->held_ns = core->now_ns + HOLD_NS;
    c->is_filling = true;
    core->held[core->held_count++] = client;
    return true;
}

/* Those that have waited long enough; one that was touched since goes with the others. */
static void flush_held(struct p2ps_core *core)
{
    if (core->now_ns < core->held_ns)
        return;
    for (uint32_t i = 0; i < core->held_count; i++) {
        struct p2ps_client *c = &core->clients[core->held[i]];

        c->is_filling = false;
        if (p2ps_client_is_here(c) && !c->is_touched)
            flush_one(core, core->held[i]);
    }
    core->held_count = 0;
    core->held_ns = UINT64_MAX;
}

void p2ps_client_writable(struct p2ps_core *core, uint64_t now_ns, uint32_t client)
{
    struct p2ps_client *c = p2ps_client_at(core, client);

    core->now_ns = now_ns;
    p2ps_slow_look(core, client);
    if (!c->is_slow)
        return;
    c->slow_since_ns = now_ns;
    if (c->directory_owed)
        p2ps_directory_owed(core, client);
    /* By turns: what waits without end must not keep images and states from the other streams. */
    if (c->front->fill(c->self) < core->config.owed_fill_percent)
        c->is_owed_first = !c->is_owed_first;
    if (!c->is_owed_first)
        p2ps_slow_drain(core, client);
    p2ps_watches_give_owed(core, client);
    bool waits = core->wait_count > 0 && p2ps_dictionaries_go_on(core, client);
    if (c->is_owed_first)
        p2ps_slow_drain(core, client);
    if (c->owed_count == 0 && !c->directory_owed && !waits && p2ps_slow_has_ended(core, client)) {
        c->is_slow = false;
        core->stats.mounts_slow_now--;
    }
}

/* A client that fell behind and has room again. */
static void catch_up(struct p2ps_core *core, uint32_t client)
{
    struct p2ps_client *c = &core->clients[client];

    if (p2ps_client_is_here(c) && c->is_slow && !c->closing &&
        c->front->fill(c->self) < core->config.owed_fill_percent)
        p2ps_client_writable(core, core->now_ns, client);
}

/* Takes those that are not slow any more out of the list. */
static void forget_fast(struct p2ps_core *core)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < core->slow_count; i++) {
        struct p2ps_client *c = &core->clients[core->slow[i]];

        c->is_slow_listed = p2ps_client_is_here(c) && c->is_slow;
        if (c->is_slow_listed)
            core->slow[kept++] = core->slow[i];
    }
    core->slow_count = kept;
}

/* A client that has gone has nothing to send: it is let go at once, whatever its front is. */
static bool is_long(const struct p2ps_client *c)
{
    return c->is_used && c->front->is_long;
}

/* Of clients with long messages, `count` at the head of the list: flushes the `most` that wait
 * longest, and those that would gain nothing by waiting. */
static void flush_long(struct p2ps_core *core, uint32_t count, uint32_t most)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < count; i++) {
        struct p2ps_client *c = &core->clients[core->touched[i]];

        if (i >= most && !c->front->is_full(c->self))
            core->touched[kept++] = core->touched[i];
        else
            flush_one(core, core->touched[i]);
    }
    core->touched_count = core->late_count = kept;
}

static void flush_touched(struct p2ps_core *core, uint32_t most)
{
    uint32_t longs = 0;

    p2ps_turn_sweep(core);
    for (uint32_t i = 0; i < core->touched_count; i++) {
        uint32_t client = core->touched[i];

        if (is_long(&core->clients[client]))
            core->touched[longs++] = client;
        else if (!holds(core, client))
            flush_one(core, client);
    }
    flush_long(core, longs, most);
}

bool p2ps_core_has_output(const struct p2ps_core *core)
{
    return core->late_count > 0;
}

void p2ps_core_flush(struct p2ps_core *core)
{
    flush_touched(core, P2PS_TURN_LONG);
    flush_held(core);
    /* All may have gone out at once: then nothing else would wake us for what is owed. */
    for (int round = 0; core->stats.mounts_slow_now && round < CATCH_UP_ROUNDS; round++) {
        for (uint32_t i = 0; i < core->slow_count; i++)
            catch_up(core, core->slow[i]);
        forget_fast(core);
        if (core->touched_count == core->late_count)
            return;
        flush_touched(core, 0);
    }
}

/* More makes its next write worth more. While merged updates are made those of a lot are one write,
 * if they are not so many that the client would look slow. */
static bool may_fill(const struct p2ps_core *core, const struct p2ps_client *c)
{
    bool are_made = core->is_pacing && core->now_ns >= core->lag.drain_until_ns;

    if (!c->is_used || c->is_slow)
        return false;
    return are_made ? c->front->fill(c->self) < core->config.owed_fill_percent / 2
                    : !c->front->is_full(c->self);
}

void p2ps_core_flush_full(struct p2ps_core *core)
{
    uint32_t kept = 0;
    uint32_t late = 0; /* of those kept */
    uint32_t due = core->late_count < P2PS_TURN_LONG ? core->late_count : P2PS_TURN_LONG;

    flush_held(core);
    p2ps_turn_sweep(core);
    for (uint32_t i = 0; i < core->touched_count; i++) {
        uint32_t client = core->touched[i];

        if (i >= due && may_fill(core, &core->clients[client])) {
            core->touched[kept++] = client;
            late += i < core->late_count;
        } else {
            flush_one(core, client);
        }
    }
    core->touched_count = kept;
    core->late_count = late;
}

/* ---- time ---- */

static void tick_rtt(struct p2ps_core *core, uint32_t client)
{
    struct p2ps_client *c = p2ps_client_at(core, client);

    if (!core->config.rtt_interval_ns || !c->wants_rtt || c->login_state != P2PS_LOGIN_OPEN ||
        core->now_ns - c->rtt_sent_ns < core->config.rtt_interval_ns)
        return;
    uint8_t bytes[256];
    struct rwf_encoder enc;
    struct omm_rtt rtt = {
        .ticks = core->now_ns,
        .has_latency = c->rtt_latency_us != 0,
        .latency_us = c->rtt_latency_us,
    };
    c->rtt_sent_ns = core->now_ns;
    rwf_encoder_init(&enc, bytes, sizeof(bytes));
    omm_rtt_encode(&enc, c->login_stream, &rtt);
    if (p2ps_tell(c, &enc) == MD_OK)
        p2ps_client_touch(core, client);
}

static void tick_client(struct p2ps_core *core, uint32_t client)
{
    struct p2ps_client *c = p2ps_client_at(core, client);
    uint64_t login_timeout = core->config.login_timeout_ns * (c->is_busy ? P2PS_LOGIN_TURNS : 1);

    p2ps_phase_look(core, client);
    if (c->login_state == P2PS_LOGIN_REFUSED) {
        if (core->now_ns - c->opened_ns > 2 * SECOND_NS)
            p2ps_client_cut(core, client, "login closed");
    } else if (c->is_held) {
        p2ps_login_throttled(core, client);
    } else if (c->login_state == P2PS_LOGIN_NONE && core->now_ns - c->opened_ns > login_timeout) {
        p2ps_client_cut(core, client, "no login within loginTimeout");
    } else if (c->login_state == P2PS_LOGIN_OPEN && p2ps_proof_has_ended(core, c)) {
        p2ps_login_expire(core, client);
    } else if (c->is_slow && core->now_ns - c->slow_since_ns > core->config.slow_timeout_ns) {
        cut_slow(core, client, "nothing was taken within slowTimeout");
    } else {
        p2ps_slow_look(core, client);
        catch_up(core, client);
        tick_rtt(core, client);
    }
}

/* Our own stall must not count against clients: shift their deadlines by it. */
static void forgive_absence(struct p2ps_core *core, uint64_t away_ns)
{
    for (uint32_t i = 0; i < core->client_room; i++) {
        struct p2ps_client *c = &core->clients[i];
        uint64_t latest = core->now_ns - away_ns;

        if (c->opened_ns <= latest)
            c->opened_ns += away_ns;
        if (c->slow_since_ns <= latest)
            c->slow_since_ns += away_ns;
    }
}

void p2ps_clients_tick(struct p2ps_core *core)
{
    if (core->now_ns < core->sweep_ns)
        return;
    if (core->sweep_ns != 0 && core->now_ns - core->sweep_ns > SECOND_NS)
        forgive_absence(core, core->now_ns - core->sweep_ns);
    core->sweep_ns = core->now_ns + SECOND_NS;
    core->wall_s = core->config.wall_s ? core->config.wall_s() : 0;
    for (uint32_t i = 0; i < core->client_room; i++) {
        if (p2ps_client_is_here(&core->clients[i]))
            tick_client(core, i);
    }
}
