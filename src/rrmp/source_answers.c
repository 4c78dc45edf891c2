/* source_answers.c - answers to one requester: snapshots, dictionaries, acknowledgements. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "source_impl.h"

#include "base/assert.h"
#include "base/err.h"

static struct source_ask *ask_check(struct rrmp_source *source, uint32_t number, enum ask_kind kind)
{
    if (number >= source->asks.high)
        return NULL;
    struct source_ask *ask = source_ask_at(source, number);
    return ask->kind == kind && !ask->is_gone ? ask : NULL;
}

static uint8_t *ask_room(struct rrmp_source *source, uint32_t number, uint8_t type, size_t header,
                         size_t length)
{
    const struct source_ask *ask = source_ask_at(source, number);
    const struct source_requester *requester = source_requester_at(source, ask->requester);
    struct backbone_target target = { .path = BACKBONE_PATH_UNICAST,
                                      .session = requester->session,
                                      .port = requester->port };
    uint8_t *p = source_open_room(source, MD_NIL, &target, type, header, length);

    if (p)
        source->open_ask = number;
    return p;
}

int rrmp_source_snapshot_begin(struct rrmp_source *source, uint32_t number,
                               const struct rrmp_part *part, size_t length, uint8_t **room)
{
    struct source_ask *ask = ask_check(source, number, ASK_SNAPSHOT);

    *room = NULL;
    if (!ask)
        return MD_ERR_STATE;
    uint16_t key_length = ask->part == 0 ? ask->key_length : 0;
    uint8_t *p = ask_room(source, number, RRMP_IMAGE, RRMP_IMAGE_HEADER + key_length, length);
    if (!p)
        return MD_ERR_FULL;
    if (ask->part == 0)
        ask->tag = ++source->next_tag;
    unsigned flags = RRMP_IMAGE_SNAPSHOT | RRMP_IMAGE_SOLICITED;
    flags |= ask->part == 0 ? RRMP_IMAGE_FIRST : 0;
    flags |= part->is_last ? RRMP_IMAGE_LAST : 0;
    flags |= part->is_cached ? RRMP_IMAGE_CACHED : 0;
    struct rrmp_record record = {
        .header = { .type = RRMP_IMAGE, .svc = ask->svc },
        .u.image = { .handle = RRMP_HANDLE_NONE,
                     .key_hash = ask->key_hash,
                     .group = part->group,
                     .state = part->state,
                     .code = part->code,
                     .part = ask->part,
                     .flags = (uint16_t)flags,
                     .request_id = ask->id,
                     .tag = ask->tag,
                     .key = { .bytes = ask->key, .length = key_length } },
    };
    struct md_wr wr = md_wr_init(p, RRMP_IMAGE_HEADER + key_length);
    rrmp_record_encode(&wr, &record);
    source->open_is_last = part->is_last;
    *room = p + RRMP_IMAGE_HEADER + key_length;
    return MD_OK;
}

int rrmp_source_dictionary_begin(struct rrmp_source *source, uint32_t number, uint16_t flags,
                                 struct rrmp_view name, struct rrmp_view version, size_t length,
                                 uint8_t **room)
{
    struct source_ask *ask = ask_check(source, number, ASK_DICTIONARY);

    *room = NULL;
    if (!ask)
        return MD_ERR_STATE;
    size_t header = RRMP_HEADER_SIZE + 8 + 2 + name.length + version.length;
    uint8_t *p = ask_room(source, number, RRMP_DICTPART, header, length);
    if (!p)
        return MD_ERR_FULL;
    struct rrmp_record record = {
        .header = { .type = RRMP_DICTPART, .svc = ask->svc },
        .u.dictpart = { .request_id = ask->id,
                        .part = ask->part,
                        .flags = flags,
                        .name = name,
                        .version = version },
    };
    struct md_wr wr = md_wr_init(p, header);
    rrmp_record_encode(&wr, &record);
    MD_ASSERT(md_wr_ok(&wr));
    source->open_is_last = flags & (RRMP_DICT_LAST | RRMP_DICT_UNKNOWN);
    *room = p + header;
    return MD_OK;
}

int rrmp_source_ack_begin(struct rrmp_source *source, const struct rrmp_reply *reply, size_t length,
                          uint8_t **room)
{
    struct backbone_target target = { .path = BACKBONE_PATH_UNICAST,
                                      .session = reply->session,
                                      .port = reply->port };

    *room = NULL;
    if (source->session == 0)
        return MD_ERR_STATE;
    uint8_t *p = source_open_room(source, MD_NIL, &target, RRMP_ACK, RRMP_TICK_SIZE, length);
    if (!p)
        return MD_ERR_FULL;
    rrmp_tick_put(p, RRMP_ACK, 0, reply->svc, 0, reply->id, 0);
    *room = p + RRMP_TICK_SIZE;
    return MD_OK;
}
