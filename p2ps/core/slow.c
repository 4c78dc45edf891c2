/* slow.c - see slow.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "slow.h"

#include <stdio.h>
#include <string.h>

#include "backlog.h"
#include "base/err.h"
#include "base/slots.h"
#include "cause.h"
#include "client.h"
#include "item.h"
#include "lost.h"
#include "merge.h"
#include "record.h"
#include "watch.h"

#define SECOND_NS      1000000000ull
#define FULL_PERCENT   90u              /* a tenth is left */
#define DRAIN_STREAMS  4096             /* in one go */
#define NOTES_A_SECOND 10u              /* of all clients */
#define NOTE_AGAIN_NS  (10 * SECOND_NS) /* of one client */

/* ---- beginning and end ---- */

static const char *queue_of(const struct p2ps_client *c, uint64_t *used, uint64_t *max)
{
    if (c->front->queue)
        return c->front->queue(c->self, used, max);
    *used = c->front->fill(c->self);
    *max = 100;
    return "percent of its output";
}

void p2ps_slow_figures(const struct p2ps_core *core, uint32_t client, char *out, size_t size)
{
    uint64_t used, max;
    const char *unit = queue_of(&core->clients[client], &used, &max);

    snprintf(out, size, "%llu of %llu %s in use", (unsigned long long)used, (unsigned long long)max,
             unit);
}

static void note(struct p2ps_core *core, uint32_t client, enum p2ps_note_kind kind,
                 const char *text)
{
    const struct p2ps_note note = { .kind = kind, .client = client, .text = text };

    if (core->config.note)
        core->config.note(core->config.note_owner, &note);
}

/* A client that is slow again and again is noted now and then. */
static bool may_note(struct p2ps_core *core, struct p2ps_slow *slow)
{
    if (slow->note_ns && core->now_ns - slow->note_ns < NOTE_AGAIN_NS)
        return false;
    if (core->note_s != core->now_ns / SECOND_NS)
        core->note_count = 0;
    core->note_s = core->now_ns / SECOND_NS;
    if (core->note_count == NOTES_A_SECOND)
        return false;
    core->note_count++;
    slow->note_ns = core->now_ns;
    return true;
}

static void measure(struct p2ps_slow *slow, const struct p2ps_client *c)
{
    uint64_t used, max;
    const char *unit = queue_of(c, &used, &max);

    /* The most of another unit says nothing in this one. */
    if (used <= slow->used && unit == slow->unit)
        return;
    slow->used = used;
    slow->unit = unit;
    slow->max = max;
}

static void begin(struct p2ps_core *core, uint32_t client)
{
    struct p2ps_client *c = &core->clients[client];
    struct p2ps_slow *slow = p2ps_backlog_of(core, client);
    char cause[P2PS_CAUSE_MAX];

    p2ps_backlog_begin(core, client);
    slow->since_ns = core->now_ns;
    slow->since_s = core->config.wall_s ? core->config.wall_s() : 0;
    slow->first_s = slow->first_s ? slow->first_s : slow->since_s;
    slow->merged_before = slow->merged;
    slow->lag_ns = 0;
    slow->used = 0;
    slow->unit = NULL;
    measure(slow, c);
    slow->is_noted = may_note(core, slow);
    if (!slow->is_noted)
        return;
    p2ps_cause_slow(core, client, cause, sizeof(cause));
    note(core, client, P2PS_NOTE_SLOW, cause);
}

static void end(struct p2ps_core *core, uint32_t client)
{
    struct p2ps_client *c = &core->clients[client];
    struct p2ps_slow *slow = p2ps_backlog_of(core, client);
    char text[P2PS_CAUSE_MAX];

    p2ps_backlog_end(core, client);
    c->is_above = false;
    slow->above_ns = 0;
    if (!slow->is_noted)
        return;
    snprintf(text, sizeof(text), "%llu updates were merged, the worst lag was %llu ms",
             (unsigned long long)(slow->merged - slow->merged_before),
             (unsigned long long)(slow->lag_ns / 1000000));
    note(core, client, P2PS_NOTE_KEEPS_UP, text);
}

static bool may_end(const struct p2ps_core *core, uint32_t client)
{
    const struct p2ps_client *c = &core->clients[client];

    return p2ps_backlog_of(core, client)->waiting.count == 0 && c->owed_count == 0 &&
           c->front->fill(c->self) <= core->config.ok_fill_percent;
}

void p2ps_slow_look(struct p2ps_core *core, uint32_t client)
{
    struct p2ps_client *c = &core->clients[client];
    struct p2ps_slow *slow = p2ps_backlog_of(core, client);

    if (c->is_gone || c->is_dropping || c->login_state != P2PS_LOGIN_OPEN)
        return;
    unsigned fill = c->front->fill(c->self);
    if (c->is_merging) {
        measure(slow, c);
        if (!c->is_slow && may_end(core, client))
            end(core, client);
    } else if (fill <= core->config.owed_fill_percent) {
        c->is_above = false;
        slow->above_ns = 0;
    } else {
        slow->above_ns = c->is_above ? slow->above_ns : core->now_ns;
        c->is_above = true;
        if (fill > FULL_PERCENT || core->now_ns - slow->above_ns >= core->config.slow_time_ns)
            begin(core, client);
    }
}

/* ---- in ---- */

static bool can_wait(const struct p2ps_core *core, const struct p2ps_watch *w)
{
    return w->state == P2PS_WATCH_STEP && !core->clients[w->client].is_dropping;
}

static bool is_exempt(struct p2ps_core *core, const struct p2ps_record *record)
{
    struct rwf_msg msg;

    if (core->exempt_epoch != core->epoch)
        core->is_exempt =
            rwf_msg_decode(record->message, &msg) != RWF_OK || p2ps_merge_exempts(core, &msg);
    core->exempt_epoch = core->epoch;
    return core->is_exempt;
}

/* The update has no room: an image takes its place. */
static void give_up(struct p2ps_core *core, const struct p2ps_record *record, struct p2ps_watch *w)
{
    core->stats.conflated++;
    if (p2ps_backlog_has(core, w))
        p2ps_backlog_drop(core, w, true);
    if (is_exempt(core, record))
        p2ps_backlog_lose(core, record->item, w);
    p2ps_watch_owe(core, w, P2PS_WATCH_OWED_IMAGE);
}

static void wait(struct p2ps_core *core, const struct p2ps_record *record, struct p2ps_watch *w)
{
    bool is_spelled = core->spell_epoch == core->epoch && !core->has_entry_sets;
    struct rwf_bytes spelled = is_spelled ? core->spelled : rwf_bytes(NULL, 0);

    if (!p2ps_backlog_add(core, record->item, w, record->message, spelled,
                          is_exempt(core, record))) {
        give_up(core, record, w);
        return;
    }
    p2ps_client_is_slow(core, w->client);
    p2ps_client_bound(core, w->client);
}

bool p2ps_slow_takes(struct p2ps_core *core, const struct p2ps_record *record, struct p2ps_watch *w)
{
    bool has_rate = core->forms[w->form].pace != P2PS_PACE_NONE;

    if (!can_wait(core, w) || (has_rate && !p2ps_backlog_has(core, w)))
        return false;
    wait(core, record, w);
    return true;
}

void p2ps_slow_full(struct p2ps_core *core, const struct p2ps_record *record, struct p2ps_watch *w)
{
    struct p2ps_client *c = &core->clients[w->client];

    if (can_wait(core, w) && !c->is_merging)
        begin(core, w->client);
    if (c->is_merging && can_wait(core, w)) {
        core->stats.no_buffer_events++;
        wait(core, record, w);
        return;
    }
    core->stats.conflated++;
    p2ps_watch_owe(core, w, P2PS_WATCH_OWED_IMAGE);
}

void p2ps_slow_misses(struct p2ps_core *core, const struct p2ps_record *record,
                      struct p2ps_watch *w)
{
    if (w->flags & P2PS_WATCH_OWED_IMAGE && can_wait(core, w) && is_exempt(core, record))
        p2ps_backlog_lose(core, record->item, w);
}

void p2ps_slow_spell(struct p2ps_core *core, const struct p2ps_record *record, bool is_in_image)
{
    struct rwf_bytes image = p2ps_merge_image(&core->items[record->item]);
    struct rwf_bytes spelled;

    core->spelled = rwf_bytes(NULL, 0);
    core->spell_epoch = core->epoch;
    bool is_made = is_in_image
                       ? conflate_spell_after(core->merger, record->message, image, &spelled)
                       : conflate_spell(core->merger, record->message, image, &spelled);
    if (!is_made || spelled.length > P2PS_SPELL_MAX)
        return;
    memcpy(core->spell_buffer, spelled.data, spelled.length);
    core->spelled = rwf_bytes(core->spell_buffer, spelled.length);
}

/* ---- out ---- */

/* False: no room. */
static bool put(struct p2ps_core *core, uint32_t item, struct p2ps_watch *w,
                struct rwf_bytes update)
{
    struct p2ps_client *c = &core->clients[w->client];
    struct p2ps_record record = {
        .message = update,
        .item = item,
        .is_private = core->items[item].is_private,
    };

    p2ps_record_next(core);
    if (rwf_peek(update, &record.peek) != RWF_OK)
        return true;
    const struct p2ps_made *made = p2ps_record_make(core, w->form, &record);
    if (!made || made->length == 0)
        return true;
    if (c->front->put(c->self, made, w->stream_id, false, false) != MD_OK)
        return false;
    core->stats.updates_out++;
    c->updates_out++;
    p2ps_client_touch(core, w->client);
    return true;
}

/* Paused, or it follows another p2ps meanwhile: updates are not for it. */
static bool is_passed_by(const struct p2ps_client *c, const struct p2ps_watch *w)
{
    return w->flags & (P2PS_WATCH_PAUSED | P2PS_WATCH_STANDBY) || c->pause_all == P2PS_PAUSE_ALL;
}

/* An image takes its place; it comes in parts. */
static void never_fits(struct p2ps_core *core, struct p2ps_watch *w)
{
    core->stats.conflated++;
    p2ps_backlog_drop(core, w, true);
    p2ps_watch_owe(core, w, P2PS_WATCH_OWED_IMAGE);
}

/* Sends all of an entry, or with `in_turn` as much as its turn allows. False: no room, the rest
 * waits, or the watch has ended. */
static bool send(struct p2ps_core *core, uint32_t number, bool in_turn)
{
    struct p2ps_entry *entry = p2ps_backlog_entry(core, number);
    uint32_t item = entry->item;
    uint32_t watch = p2ps_item_watch_find(core, item, entry->client, entry->stream_id);
    struct p2ps_watch *w = &core->items[item].watches[watch];
    bool is_merged;

    if (is_passed_by(&core->clients[w->client], w)) {
        p2ps_backlog_drop(core, w, false);
        w->flags |= P2PS_WATCH_MISSED;
        return true;
    }
    while (entry->waits) {
        struct rwf_bytes update = p2ps_backlog_head(entry, &is_merged);

        uint32_t length = (uint32_t)update.length;

        if (in_turn && length > entry->credit) {
            p2ps_backlog_rotate(core, number);
            return true;
        }
        if (is_merged && !p2ps_watch_conflated(core, item, watch))
            return false;
        if (!put(core, item, w, update)) {
            if (core->clients[w->client].front->fill(core->clients[w->client].self) == 0)
                never_fits(core, w);
            return false;
        }
        entry->credit -= in_turn ? length : 0;
        p2ps_backlog_pop(core, number);
        p2ps_lost_unreadable(core, item);
        p2ps_lost_unmade(core, item);
        if (w->state == P2PS_WATCH_ENDED)
            return false;
    }
    w->flags &= (uint16_t)~P2PS_WATCH_BEHIND;
    return true;
}

void p2ps_slow_flush(struct p2ps_core *core, uint32_t item)
{
    for (uint32_t i = 0; i < core->items[item].watch_count; i++) {
        const struct p2ps_watch *w = &core->items[item].watches[i];

        if (w->state == P2PS_WATCH_STEP && p2ps_backlog_has(core, w))
            send(core, p2ps_backlog_find(core, w->client, w->stream_id), false);
    }
}

void p2ps_slow_drain(struct p2ps_core *core, uint32_t client)
{
    const struct p2ps_client *c = &core->clients[client];
    const struct p2ps_slow *slow = p2ps_backlog_of(core, client);

    for (unsigned i = 0; i < DRAIN_STREAMS && slow->waiting.count > 0 && !c->closing; i++) {
        if (c->front->fill(c->self) >= core->config.owed_fill_percent ||
            !send(core, slow->waiting.first, true))
            return;
    }
}

/* The streams that were told hear that it is over; their entries are not needed any more. */
static void resume(struct p2ps_core *core, uint32_t client)
{
    const struct p2ps_client *c = &core->clients[client];
    const struct p2ps_slow *slow = p2ps_backlog_of(core, client);

    for (unsigned i = 0; i < DRAIN_STREAMS && slow->idle.count > 0 && !c->closing; i++) {
        const struct p2ps_entry *entry = p2ps_backlog_entry(core, slow->idle.first);
        uint32_t item = entry->item;
        uint32_t watch = p2ps_item_watch_find(core, item, client, entry->stream_id);
        struct p2ps_watch *w = &core->items[item].watches[watch];

        if (c->front->fill(c->self) >= core->config.owed_fill_percent)
            return;
        if (entry->lost > 0 && !p2ps_watch_conflated(core, item, watch))
            return;
        p2ps_backlog_forget(core, w);
        p2ps_watch_fine(core, item, watch);
    }
}

bool p2ps_slow_has_ended(struct p2ps_core *core, uint32_t client)
{
    const struct p2ps_client *c = &core->clients[client];
    const struct p2ps_slow *slow = p2ps_backlog_of(core, client);

    if (slow->waiting.count > 0)
        return false;
    if (c->is_merging && may_end(core, client))
        end(core, client);
    if (!c->is_merging)
        resume(core, client);
    return slow->idle.count == 0 && c->owed_count == 0;
}
