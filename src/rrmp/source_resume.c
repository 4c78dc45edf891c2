/* source_resume.c - answers to requesters that lost another source: replays. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "source_impl.h"

#include "base/assert.h"
#include "base/err.h"

/* The requester of the reply if it has the item; else MD_NIL. */
static uint32_t owner_of(const struct rrmp_source *source, uint32_t number,
                         const struct rrmp_reply *reply)
{
    bool is_active = false;

    if (!source_item_exists(source, number) || source->session == 0)
        return MD_NIL;
    uint32_t requester = source_requester_find(source, reply->session, reply->port);
    bool has_it = requester != MD_NIL && source_interest_get(source, source_item_at(source, number),
                                                             requester, &is_active);
    return has_it && is_active ? requester : MD_NIL;
}

int rrmp_source_resume_begin(struct rrmp_source *source, uint64_t now_ns, uint32_t number,
                             const struct rrmp_reply *reply, struct rrmp_replay_to *out)
{
    if (owner_of(source, number, reply) == MD_NIL)
        return MD_ERR_STATE;
    struct source_item *item = source_item_at(source, number);
    source->now_ns = now_ns;
    if (item->handle == RRMP_HANDLE_NONE && !source_handle_take(source, now_ns, number))
        return MD_ERR_FULL;
    *out = (struct rrmp_replay_to){
        .item = number,
        .tag = ++source->next_tag ? source->next_tag : ++source->next_tag,
        .cut = item->item_seq,
        .key_hash = source_key_hash(source, item),
        .reply = *reply,
    };
    struct rrmp_record bind = {
        .header = { .type = RRMP_BIND },
        .u.bind = { .handle = item->handle,
                    .item_seq = item->item_seq,
                    .key_hash = out->key_hash,
                    .group = item->group,
                    .state = RRMP_STATE_OPEN_OK,
                    .tag = out->tag,
                    .session = rrmp_replay_session(reply->session, reply->port),
                    .key = source_key(source, item) },
    };
    return source_bind_send(source, item, &bind, RRMP_REPLAY_HEADER);
}

int rrmp_source_replay_begin(struct rrmp_source *source, struct rrmp_replay_to *to, uint16_t flags,
                             size_t length, uint8_t **room)
{
    struct backbone_target target = { .path = BACKBONE_PATH_UNICAST,
                                      .session = to->reply.session,
                                      .port = to->reply.port };

    *room = NULL;
    if (owner_of(source, to->item, &to->reply) == MD_NIL)
        return MD_ERR_STATE;
    uint8_t *p = source_open_room(source, MD_NIL, &target, RRMP_REPLAY, RRMP_REPLAY_HEADER, length);
    if (!p)
        return MD_ERR_FULL;
    struct rrmp_record record = {
        .header = { .type = RRMP_REPLAY, .svc = to->reply.svc },
        .u.replay = { .handle = source_item_at(source, to->item)->handle,
                      .item_seq = to->cut,
                      .tag = to->tag,
                      .flags = (uint16_t)(flags | (to->part == 0 ? RRMP_REPLAY_FIRST : 0)),
                      .part = to->part,
                      .request_id = to->reply.id,
                      .key_hash = to->key_hash },
    };
    struct md_wr wr = md_wr_init(p, RRMP_REPLAY_HEADER);
    rrmp_record_encode(&wr, &record);
    MD_ASSERT(md_wr_ok(&wr));
    to->part++;
    *room = p + RRMP_REPLAY_HEADER;
    return MD_OK;
}

void rrmp_source_replay_commit(struct rrmp_source *source, size_t length)
{
    MD_ASSERT(source->open_kind == OPEN_PLAIN && source->open_type == RRMP_REPLAY);
    source->open_kind = OPEN_NONE;
    rrmp_outbox_commit(&source->outbox, RRMP_REPLAY, source->open_header + length);
}

void rrmp_source_resume_refuse(struct rrmp_source *source, uint32_t number,
                               const struct rrmp_reply *reply)
{
    uint32_t requester = owner_of(source, number, reply);

    if (requester != MD_NIL)
        source_request_image(source, number, requester, reply->id, false);
}

bool rrmp_source_has_standby(const struct rrmp_source *source, uint32_t number)
{
    if (!source_item_exists(source, number))
        return false;
    const struct source_item *item = source_item_at(source, number);
    const struct source_wide *wide = item->wide == MD_NIL ? NULL : source_wide_of(source, item);
    return item->standby != 0 || (wide && wide->count > wide->active_count);
}
