/* entitle.c - whether watches may see their items: questions to the authority, and its answers. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "backlog.h"
#include "base/cursor.h"
#include "base/writer.h"
#include "client.h"
#include "dry.h"
#include "entitle.h"
#include "form.h"
#include "item.h"
#include "network.h"
#include "private.h"
#include "record.h"
#include "trail.h"
#include "watch.h"

#define TICKET_QUESTIONS 0x1fffu

static uint64_t item_ticket(const struct p2ps_watch *w)
{
    return (uint64_t)(uint32_t)w->stream_id << 32 | P2PS_TICKET_ITEM | (uint32_t)w->question << 16 |
           w->client;
}

/* The watch gets no more fields than the answer, which allows the item, has. False: it cannot be
 * told so; the answer says why. */
static bool impose(struct p2ps_core *core, struct p2ps_watch *w, struct entitle_answer *answer)
{
    bool is_record = (core->forms[w->form].flags & (P2PS_FORM_NATIVE | P2PS_FORM_MARKETFEED)) != 0;
    uint32_t form = answer->has_fields && is_record
                        ? P2PS_NONE
                        : p2ps_form_impose(core, w->client, w->form, answer);

    if (form != P2PS_NONE) {
        w->form = (uint16_t)form;
        return true;
    }
    core->stats.refused_limit += !is_record;
    answer->verdict = ENTITLE_DENY;
    snprintf(answer->text, sizeof(answer->text), "%s",
             is_record ? "not all fields of the item may be seen: Marketfeed records cannot be cut"
                       : "Too many different views");
    return false;
}

enum entitle_verdict p2ps_entitle_item(struct p2ps_core *core, uint32_t item, uint32_t watch,
                                       struct entitle_answer *answer)
{
    struct p2ps_watch *w = &core->items[item].watches[watch];
    struct entitle_query query;

    if (!p2ps_ask_query(core, item, w, &query)) {
        p2ps_trail_undecided(core);
        *answer = (struct entitle_answer){ .verdict = ENTITLE_DENY, .text = "item is gone" };
        return ENTITLE_DENY;
    }
    w->question = ++core->questions & TICKET_QUESTIONS;
    enum entitle_verdict verdict = p2ps_ask(core, &query, item_ticket(w), answer);
    /* An update must not come before the permission data: there has to be an image. */
    if (answer->needs_lock && !query.is_lock_known)
        w->flags &= (uint16_t)~P2PS_WATCH_NO_REFRESH;
    return verdict == ENTITLE_ALLOW && !impose(core, w, answer) ? ENTITLE_DENY : verdict;
}

/* ---- messages ---- */

static bool has_perm_data(const struct rwf_peek *peek)
{
    switch (peek->msg_class) {
    case RWF_CLASS_REFRESH:
        return (peek->flags & RWF_REFRESH_HAS_PERM_DATA) != 0;
    case RWF_CLASS_UPDATE:
        return (peek->flags & RWF_UPDATE_HAS_PERM_DATA) != 0;
    case RWF_CLASS_STATUS:
        return (peek->flags & RWF_STATUS_HAS_PERM_DATA) != 0;
    case RWF_CLASS_GENERIC:
        return (peek->flags & RWF_GENERIC_HAS_PERM_DATA) != 0;
    default:
        return false;
    }
}

bool p2ps_entitle_update(struct p2ps_core *core, const struct p2ps_record *record,
                         struct rwf_bytes *perm)
{
    struct rwf_msg msg;

    *perm = (struct rwf_bytes){ NULL, 0 };
    if (!has_perm_data(&record->peek))
        return false;
    if (rwf_msg_decode(record->message, &msg) != RWF_OK)
        return true;
    *perm = msg.perm_data;
    struct rwf_bytes had = p2ps_ask_perm_data(&core->items[record->item]);
    return had.length != perm->length || memcmp(had.data, perm->data, had.length) != 0;
}

/* Remembers the permission data of the item. False: there is no memory for them. */
static bool keep_perm_data(struct p2ps_core *core, struct p2ps_item *it, struct rwf_bytes perm)
{
    size_t had = p2ps_ask_perm_data(it).length;
    uint8_t *copy = perm.length > UINT16_MAX ? NULL : realloc(it->perm_data, perm.length + 2);

    if (!copy)
        return false;
    core->perm_bytes += perm.length - had;
    md_put_be16(copy, (uint16_t)perm.length);
    if (perm.length)
        memcpy(copy + 2, perm.data, perm.length);
    it->perm_data = copy;
    return true;
}

enum entitle_verdict p2ps_entitle_watch_again(struct p2ps_core *core, uint32_t item, uint32_t watch)
{
    const struct p2ps_watch *w = &core->items[item].watches[watch];
    struct entitle_answer answer;
    uint16_t form = w->form;

    /* A snapshot whose item has ended has no name any more, and gets nothing but its end. */
    if (w->state == P2PS_WATCH_ENDED || core->clients[w->client].is_gone ||
        core->items[item].sink_item == RRMP_ITEM_NONE)
        return ENTITLE_DENY;
    enum entitle_verdict verdict = p2ps_entitle_item(core, item, watch, &answer);

    /* The answer it waited for is to an old question. */
    if (verdict == ENTITLE_DENY)
        p2ps_watch_denied(core, item, watch, answer.text);
    else if (verdict == ENTITLE_ALLOW && w->state == P2PS_WATCH_ASKS)
        p2ps_watch_permitted(core, item, watch);
    else if (verdict == ENTITLE_ALLOW && w->form != form && w->state != P2PS_WATCH_NEW)
        p2ps_watch_wants_image(core, item, watch); /* of the fields that it sees now */
    return verdict;
}

void p2ps_entitle_hold_back(struct p2ps_core *core, struct p2ps_watch *w)
{
    p2ps_watch_forgive(core, w, P2PS_WATCH_OWED);
    if (w->flags & P2PS_WATCH_BEHIND)
        p2ps_backlog_drop(core, w, true);
    if (w->state == P2PS_WATCH_STEP)
        w->flags &= (uint16_t)~P2PS_WATCH_NO_REFRESH;
    if (w->state != P2PS_WATCH_ASKS)
        p2ps_watch_set(w, P2PS_WATCH_ASKS);
}

/* Of those that wait for a verdict, or of all. Behind a counted number of questions the watches
 * wait for a turn that has room for theirs. */
static void ask_again(struct p2ps_core *core, uint32_t item, bool only_held)
{
    bool is_held = false, is_left = false;
    uint32_t asked = 0;

    for (uint32_t i = 0; i < core->items[item].watch_count; i++) {
        struct p2ps_watch *w = &core->items[item].watches[i];

        if (w->state == P2PS_WATCH_ENDED || (only_held && w->state != P2PS_WATCH_ASKS))
            continue;
        bool is_late = asked == P2PS_LOCK_WATCHES;
        is_left |= is_late;
        asked += !is_late;
        if (!is_late && p2ps_entitle_watch_again(core, item, i) != ENTITLE_PENDING)
            continue;
        p2ps_entitle_hold_back(core, w);
        is_held = true;
    }
    if (is_left)
        p2ps_work_lock(core, item);
    if (is_held)
        p2ps_item_keep_open(core, item);
    p2ps_record_next(core); /* images may have been given out meanwhile */
}

void p2ps_entitle_held(struct p2ps_core *core, uint32_t item)
{
    ask_again(core, item, true);
}

static void deny_all(struct p2ps_core *core, uint32_t item)
{
    p2ps_trail_undecided(core);
    for (uint32_t i = 0; i < core->items[item].watch_count; i++) {
        if (core->items[item].watches[i].state != P2PS_WATCH_ENDED)
            p2ps_watch_denied(core, item, i, "the permission data of the item cannot be read");
    }
}

void p2ps_entitle_check(struct p2ps_core *core, const struct p2ps_record *record)
{
    struct rwf_msg msg;
    struct p2ps_item *it = &core->items[record->item];
    bool was_known = it->is_lock_known;

    it->is_lock_known |=
        has_perm_data(&record->peek) || record->peek.msg_class == RWF_CLASS_REFRESH;
    if (!has_perm_data(&record->peek)) {
        if (!was_known && it->is_lock_known && core->needs_locks)
            ask_again(core, record->item, false); /* there is none */
        return;
    }
    bool can_read = rwf_msg_decode(record->message, &msg) == RWF_OK;
    struct rwf_bytes had = p2ps_ask_perm_data(it);
    if (can_read && it->perm_data && had.length == msg.perm_data.length &&
        memcmp(had.data, msg.perm_data.data, had.length) == 0)
        return;
    if (can_read && keep_perm_data(core, it, msg.perm_data)) {
        p2ps_trail_lock(core, record->item);
        ask_again(core, record->item, false);
    } else {
        deny_all(core, record->item);
    }
}

void p2ps_entitle_item_answer(struct p2ps_core *core, const struct entitle_answer *answer)
{
    uint32_t client = (uint32_t)answer->ticket & 0xffffu;
    uint16_t question = (uint16_t)(answer->ticket >> 16) & TICKET_QUESTIONS;
    int32_t stream_id = (int32_t)(answer->ticket >> 32);

    if (client >= core->client_room || !p2ps_client_is_here(&core->clients[client]))
        return;
    uint32_t item = p2ps_idmap_get(&core->clients[client].streams, stream_id);
    if (item >= P2PS_STREAM_DICTIONARY)
        return;
    uint32_t watch = p2ps_item_watch_find(core, item, client, stream_id);
    if (watch == P2PS_NONE || core->items[item].watches[watch].question != question)
        return;
    struct entitle_answer found = *answer;
    struct entitle_query query;
    if (core->config.rules.is_dry_run &&
        p2ps_ask_query(core, item, &core->items[item].watches[watch], &query))
        p2ps_dry_item(core, &query, &found);
    p2ps_trail_decided(core, &found);
    if (found.verdict == ENTITLE_ALLOW && impose(core, &core->items[item].watches[watch], &found))
        p2ps_watch_permitted(core, item, watch);
    else
        p2ps_watch_denied(core, item, watch, found.text);
}

bool p2ps_entitle_cut_again(struct p2ps_core *core, uint32_t item, uint32_t at)
{
    struct p2ps_watch *w = &core->items[item].watches[at];
    struct entitle_answer answer;

    if (w->state == P2PS_WATCH_ASKS)
        return true; /* the verdict cuts it */
    enum entitle_verdict verdict = p2ps_entitle_item(core, item, at, &answer);
    if (verdict == ENTITLE_DENY)
        p2ps_watch_denied(core, item, at, answer.text);
    else if (verdict == ENTITLE_PENDING)
        p2ps_entitle_hold_back(core, w);
    return verdict != ENTITLE_DENY;
}
