/* source_asks.c - who waits for an image, a snapshot or a dictionary, and refusals. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "source_impl.h"

#include <stdlib.h>

#include "base/err.h"

uint32_t source_ask_add(struct rrmp_source *source, enum ask_kind kind, uint32_t requester,
                        uint16_t svc, uint32_t id)
{
    uint32_t number = md_slots_take(&source->asks);

    if (number == MD_NIL)
        return MD_NIL;
    struct source_ask *ask = source_ask_at(source, number);
    ask->kind = (uint8_t)kind;
    ask->requester = (uint16_t)requester;
    ask->svc = svc;
    ask->id = id;
    ask->item = MD_NIL;
    ask->next = MD_NIL;
    return number;
}

static void ask_unlink(struct rrmp_source *source, uint32_t number)
{
    const struct source_ask *ask = source_ask_at(source, number);
    uint32_t *link = &source_item_at(source, ask->item)->asks;

    while (*link != number)
        link = &source_ask_at(source, *link)->next;
    *link = ask->next;
}

void source_ask_free(struct rrmp_source *source, uint32_t number)
{
    struct source_ask *ask = source_ask_at(source, number);

    if (ask->kind == ASK_IMAGE)
        ask_unlink(source, number);
    source->stats.memory_now -= ask->key ? ask->key_length : 0;
    free(ask->key);
    md_slots_give(&source->asks, number);
}

/* The requester waits for an image; one that waits already keeps its place, with the newer id. */
uint32_t source_ask_image(struct rrmp_source *source, uint32_t number, uint32_t requester,
                          uint32_t id, bool is_multicast)
{
    struct source_item *item = source_item_at(source, number);

    for (uint32_t n = item->asks; n != MD_NIL; n = source_ask_at(source, n)->next) {
        struct source_ask *ask = source_ask_at(source, n);
        if (ask->requester != requester || ask->is_served)
            continue;
        ask->id = id;
        ask->is_multicast = ask->is_multicast || is_multicast;
        return n;
    }
    uint32_t n = source_ask_add(source, ASK_IMAGE, requester, item->svc, id);
    if (n == MD_NIL)
        return MD_NIL;
    struct source_ask *ask = source_ask_at(source, n);
    ask->item = number;
    ask->is_multicast = is_multicast;
    ask->next = item->asks;
    item->asks = n;
    return n;
}

void source_asks_drop(struct rrmp_source *source, uint32_t number, uint32_t requester)
{
    uint32_t next;

    for (uint32_t n = source_item_at(source, number)->asks; n != MD_NIL; n = next) {
        next = source_ask_at(source, n)->next;
        if (source_ask_at(source, n)->requester == requester)
            source_ask_free(source, n);
    }
}

void source_asks_drop_all(struct rrmp_source *source, uint32_t number)
{
    struct source_item *item = source_item_at(source, number);

    while (item->asks != MD_NIL)
        source_ask_free(source, item->asks);
}

bool source_asks_wait(const struct rrmp_source *source, const struct source_item *item)
{
    for (uint32_t n = item->asks; n != MD_NIL; n = source_ask_at(source, n)->next) {
        if (!source_ask_at(source, n)->is_served)
            return true;
    }
    return false;
}

/* Snapshots and dictionaries of a requester that is gone: the caller is told, then they go. */
void source_asks_of_gone(struct rrmp_source *source, uint32_t requester)
{
    for (uint32_t n = 0; n < source->asks.high; n++) {
        struct source_ask *ask = source_ask_at(source, n);
        if (ask->kind < ASK_SNAPSHOT || ask->requester != requester || ask->is_gone)
            continue;
        ask->is_gone = true;
        ask->pending_next = source->gone_head;
        source->gone_head = n;
    }
}

void source_refuse(struct rrmp_source *source, uint32_t requester, uint16_t svc, uint32_t id,
                   uint64_t key_hash, const struct rrmp_ending *ending)
{
    const struct source_requester *who = source_requester_at(source, requester);
    struct rrmp_record record = {
        .header = { .type = RRMP_REFUSE, .svc = svc },
        .u.refuse = { .request_id = id,
                      .state = ending->state,
                      .code = ending->code,
                      .scope = ending->scope ? ending->scope : RRMP_REFUSE_FINAL,
                      .wait_ms = ending->wait_ms,
                      .key_hash = key_hash,
                      .text = ending->text },
    };

    source->stats.requests_refused++;
    source_unicast(source, who->session, who->port, &record);
}

int rrmp_source_refuse(struct rrmp_source *source, uint32_t number,
                       const struct rrmp_ending *ending)
{
    if (number >= source->asks.high)
        return MD_ERR_NOT_FOUND;
    const struct source_ask *ask = source_ask_at(source, number);
    if (ask->kind < ASK_SNAPSHOT || ask->is_gone)
        return MD_ERR_NOT_FOUND;
    source_refuse(source, ask->requester, ask->svc, ask->id, ask->key_hash, ending);
    source_ask_free(source, number);
    return MD_OK;
}

int rrmp_source_dictionary_unknown(struct rrmp_source *source, uint32_t number)
{
    if (number >= source->asks.high)
        return MD_ERR_NOT_FOUND;
    const struct source_ask *ask = source_ask_at(source, number);
    if (ask->kind != ASK_DICTIONARY || ask->is_gone)
        return MD_ERR_NOT_FOUND;
    const struct source_requester *who = source_requester_at(source, ask->requester);
    struct rrmp_record record = {
        .header = { .type = RRMP_DICTPART, .svc = ask->svc },
        .u.dictpart = { .request_id = ask->id, .flags = RRMP_DICT_UNKNOWN | RRMP_DICT_LAST },
    };

    source_unicast(source, who->session, who->port, &record);
    source_ask_free(source, number);
    return MD_OK;
}
