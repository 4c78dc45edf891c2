/* entitle.c - what the authority is asked about items, and its answers. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/writer.h"
#include "client.h"
#include "entitle.h"
#include "item.h"
#include "network.h"
#include "private.h"
#include "record.h"
#include "watch.h"

#define TICKET_QUESTIONS 0x1fffu

static uint64_t item_ticket(const struct p2ps_watch *w)
{
    return (uint64_t)(uint32_t)w->stream_id << 32 | P2PS_TICKET_ITEM | (uint32_t)w->question << 16 |
           w->client;
}

enum entitle_verdict p2ps_entitle_item(struct p2ps_core *core, uint32_t item, uint32_t watch,
                                       struct entitle_answer *answer)
{
    const struct p2ps_item *it = &core->items[item];
    struct p2ps_watch *w = &it->watches[watch];
    const struct p2ps_client *c = p2ps_client_at(core, w->client);
    struct rrmp_sink_service service;
    struct rwf_key key;
    struct rwf_qos qos;

    if (!p2ps_item_key(core, item, &key, &qos) || !p2ps_service_read(core, it->service, &service)) {
        *answer = (struct entitle_answer){ .verdict = ENTITLE_DENY, .text = "item is gone" };
        return ENTITLE_DENY;
    }
    struct entitle_query query = {
        .kind = ENTITLE_ITEM,
        .domain = it->domain,
        .user = { c->user, strlen(c->user) },
        .host = { c->address, strlen(c->address) },
        .service = { (const char *)service.name.bytes, service.name.length },
        .item = { (const char *)key.name.data, key.name.length },
    };
    if (it->perm_data) {
        query.permission_data.data = (const char *)it->perm_data + 2;
        query.permission_data.length = (size_t)(it->perm_data[0] << 8 | it->perm_data[1]);
    }
    w->question = ++core->questions & TICKET_QUESTIONS;
    *answer = (struct entitle_answer){ 0 };
    enum entitle_verdict verdict =
        core->config.authority.ask(core->config.authority.self, &query, item_ticket(w), answer);
    p2ps_work_spend_rules(core, answer->rules_seen);
    return verdict;
}

/* Remembers the permission data of the item; true when they are other than before. */
static bool perm_data_changed(struct p2ps_core *core, struct p2ps_item *it, struct rwf_bytes perm)
{
    if (perm.length > UINT16_MAX)
        return false;
    size_t had = it->perm_data ? (size_t)(it->perm_data[0] << 8 | it->perm_data[1]) : 0;
    if (it->perm_data && had == perm.length && memcmp(it->perm_data + 2, perm.data, had) == 0)
        return false;
    uint8_t *copy = realloc(it->perm_data, perm.length + 2);
    if (!copy)
        return false;
    core->perm_bytes += perm.length - had;
    md_put_be16(copy, (uint16_t)perm.length);
    if (perm.length)
        memcpy(copy + 2, perm.data, perm.length);
    it->perm_data = copy;
    return true;
}

void p2ps_entitle_watch_again(struct p2ps_core *core, uint32_t item, uint32_t watch)
{
    const struct p2ps_watch *w = &core->items[item].watches[watch];
    struct entitle_answer answer;

    if (w->state == P2PS_WATCH_ENDED || core->clients[w->client].is_gone)
        return;
    enum entitle_verdict verdict = p2ps_entitle_item(core, item, watch, &answer);

    /* The answer it waited for is to an old question. */
    if (verdict == ENTITLE_DENY)
        p2ps_watch_denied(core, item, watch, answer.text);
    else if (verdict == ENTITLE_ALLOW)
        p2ps_watch_permitted(core, item, watch);
}

static void ask_again(struct p2ps_core *core, uint32_t item)
{
    const struct p2ps_item *it = &core->items[item];

    for (uint32_t i = 0; i < it->watch_count; i++)
        p2ps_entitle_watch_again(core, item, i);
}

static bool has_perm_data(const struct rwf_peek *peek)
{
    switch (peek->msg_class) {
    case RWF_CLASS_REFRESH:
        return (peek->flags & RWF_REFRESH_HAS_PERM_DATA) != 0;
    case RWF_CLASS_UPDATE:
        return (peek->flags & RWF_UPDATE_HAS_PERM_DATA) != 0;
    case RWF_CLASS_STATUS:
        return (peek->flags & RWF_STATUS_HAS_PERM_DATA) != 0;
    default:
        return false;
    }
}

void p2ps_entitle_check(struct p2ps_core *core, const struct p2ps_record *record)
{
    struct rwf_msg msg;

    if (!has_perm_data(&record->peek) || rwf_msg_decode(record->message, &msg) != RWF_OK)
        return;
    if (!perm_data_changed(core, &core->items[record->item], msg.perm_data))
        return;
    ask_again(core, record->item);
    p2ps_record_next(core); /* images may have been given out meanwhile */
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
    if (answer->verdict == ENTITLE_ALLOW)
        p2ps_watch_permitted(core, item, watch);
    else
        p2ps_watch_denied(core, item, watch, answer->text);
}
