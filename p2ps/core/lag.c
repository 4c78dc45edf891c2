/* lag.c - see lag.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lag.h"

#include <stdio.h>

#include "backlog.h"
#include "cause.h"
#include "core.h"
#include "pace.h"
#include "watch.h"

#define MS           1000000ull
#define BEGIN_SHARE  4u
#define AGAIN_SHARE  8u /* behind again soon: it begins sooner, */
#define AGAIN_NS     (2000 * MS)
#define HOLD_LEAST   (125 * MS) /* and lasts longer each time, */
#define HOLD_MOST    (750 * MS) /* so that it is over two seconds after its cause */
#define END_SHARE    32u
#define DRAIN_SHARE  8u         /* above it the ring is read, and nothing merged goes out, */
#define DRAIN_MOST   (400 * MS) /* but for so long only */
#define TURN_ITEMS   1024u      /* looked at for streams that were told */
#define TURN_STREAMS 512u       /* that hear it */

static void note(struct p2ps_core *core, enum p2ps_note_kind kind, const char *text)
{
    const struct p2ps_note note = { .kind = kind, .text = text };

    if (core->config.note)
        core->config.note(core->config.note_owner, &note);
}

static bool is_again(const struct p2ps_core *core)
{
    return core->lag.ended_ns && core->now_ns - core->lag.ended_ns < AGAIN_NS;
}

static void begin(struct p2ps_core *core, uint64_t bytes, uint64_t max)
{
    struct p2ps_lag *lag = &core->lag;
    uint64_t hold_ns = lag->hold_ns * 2 > HOLD_LEAST ? lag->hold_ns * 2 : HOLD_LEAST;

    *lag = (struct p2ps_lag){
        .hold_ns = !is_again(core)       ? 0
                   : hold_ns < HOLD_MOST ? hold_ns
                                         : HOLD_MOST,
        .is_on = true,
        .since_ns = core->now_ns,
        .since_s = core->config.wall_s ? core->config.wall_s() : 0,
        .bytes = bytes,
        .max = max,
        .told = lag->told,
        .eighths = lag->eighths,
        .merged_before = core->stats.updates_merged,
    };
    core->is_paced = true;
    core->stats.lags++;
    note(core, P2PS_NOTE_BEHIND, p2ps_cause_lag(core));
}

static void end(struct p2ps_core *core)
{
    struct p2ps_lag *lag = &core->lag;
    char text[P2PS_CAUSE_MAX];

    lag->is_on = false;
    lag->is_resuming = true;
    lag->item = 0;
    lag->ended_ns = core->now_ns;
    lag->resume_ns = core->now_ns + lag->hold_ns;
    snprintf(text, sizeof(text), "%llu updates were merged in %llu ms",
             (unsigned long long)(core->stats.updates_merged - lag->merged_before),
             (unsigned long long)((core->now_ns - lag->since_ns) / 1000000));
    note(core, P2PS_NOTE_CAUGHT_UP, text);
}

static void look_at_drain(struct p2ps_lag *lag, uint64_t now_ns, bool is_full)
{
    if (!is_full)
        lag->drain_until_ns = 0;
    else if (lag->drain_until_ns == 0)
        lag->drain_until_ns = now_ns + DRAIN_MOST;
}

/* One that was lapped has more than all of the ring in front of it. */
static uint8_t eighths_of(uint64_t bytes, uint64_t max)
{
    uint64_t eighths = max ? bytes / (max / 8 + 1) : 0;

    return eighths < 8 ? (uint8_t)eighths : 8;
}

void p2ps_core_lag(struct p2ps_core *core, uint64_t now_ns, uint64_t bytes, uint64_t max)
{
    struct p2ps_lag *lag = &core->lag;

    core->now_ns = now_ns;
    lag->eighths = eighths_of(bytes, max);
    if (!lag->is_on && bytes > max / (is_again(core) ? AGAIN_SHARE : BEGIN_SHARE))
        begin(core, bytes, max);
    if (!lag->is_on)
        return;
    look_at_drain(lag, now_ns, bytes > max / DRAIN_SHARE);
    lag->bytes = bytes > lag->bytes ? bytes : lag->bytes;
    if (bytes > max / END_SHARE) {
        lag->calm_ns = 0;
        return;
    }
    lag->calm_ns = lag->calm_ns ? lag->calm_ns : now_ns;
    if (now_ns - lag->calm_ns >= lag->hold_ns)
        end(core);
}

uint64_t p2ps_lag_deadline(const struct p2ps_core *core)
{
    const struct p2ps_lag *lag = &core->lag;
    uint64_t due_ns = 0;

    if (lag->is_on && lag->calm_ns)
        due_ns = lag->calm_ns + lag->hold_ns;
    else if (lag->is_resuming)
        due_ns = lag->resume_ns;
    return due_ns > core->now_ns ? due_ns : UINT64_MAX;
}

static bool is_untold(const struct p2ps_core *core, const struct p2ps_watch *w)
{
    return w->state == P2PS_WATCH_STEP && core->forms[w->form].pace == P2PS_PACE_NONE &&
           w->flags & P2PS_WATCH_HAD_IMAGE &&
           !(w->flags &
             (P2PS_WATCH_CONFLATED | P2PS_WATCH_AHEAD | P2PS_WATCH_BEHIND | P2PS_WATCH_HELD_BACK));
}

bool p2ps_lag_tells(const struct p2ps_core *core, uint32_t item)
{
    const struct p2ps_item *it = &core->items[item];

    for (uint32_t i = 0; i < it->watch_count; i++) {
        if (is_untold(core, &it->watches[i]))
            return true;
    }
    return false;
}

void p2ps_lag_tell(struct p2ps_core *core, uint32_t item)
{
    const struct p2ps_item *it = &core->items[item];

    for (uint32_t i = 0; i < it->watch_count; i++) {
        const struct p2ps_watch *w = &it->watches[i];

        if (!is_untold(core, w))
            continue;
        p2ps_watch_conflated(core, item, i);
        core->lag.told += (w->flags & P2PS_WATCH_CONFLATED) != 0; /* there was room */
    }
}

/* A slow client hears it when it keeps up. */
static void resume_item(struct p2ps_core *core, uint32_t item)
{
    const struct p2ps_item *it = &core->items[item];

    for (uint32_t i = 0; i < it->watch_count; i++) {
        const struct p2ps_watch *w = &it->watches[i];

        if (w->state != P2PS_WATCH_STEP || !(w->flags & P2PS_WATCH_CONFLATED) ||
            (core->clients[w->client].is_merging &&
             p2ps_backlog_find(core, w->client, w->stream_id) != P2PS_NONE))
            continue;
        core->lag.streams++;
        p2ps_watch_fine(core, item, i);
    }
}

bool p2ps_lag_has_work(const struct p2ps_core *core)
{
    return core->lag.is_resuming && core->now_ns >= core->lag.resume_ns && !p2ps_pace_has_lag(core);
}

void p2ps_lag_turn(struct p2ps_core *core)
{
    struct p2ps_lag *lag = &core->lag;

    lag->streams = 0;
    if (!p2ps_lag_has_work(core))
        return;
    for (uint32_t i = 0; i < TURN_ITEMS && lag->streams < TURN_STREAMS; i++) {
        if (lag->item >= core->item_room) {
            lag->is_resuming = false;
            return;
        }
        p2ps_pace_tidy(core, lag->item);
        resume_item(core, lag->item++);
    }
}
