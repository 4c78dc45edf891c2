/* source_images.c - images: who gets one, by which path, part by part. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "source_impl.h"

#include "base/assert.h"
#include "base/err.h"

#include "state.h"

static void image_reset(struct rrmp_source *source, uint32_t number)
{
    struct source_item *item = source_item_at(source, number);

    item->image_mode = IMAGE_NONE;
    source_work_settle(source, number);
    for (uint32_t ask = item->asks; ask != MD_NIL; ask = source_ask_at(source, ask)->next)
        source_ask_at(source, ask)->is_served = false;
}

void rrmp_source_image_abort(struct rrmp_source *source, uint32_t number)
{
    if (!source_item_exists(source, number))
        return;
    struct source_item *item = source_item_at(source, number);
    image_reset(source, number);
    item->image_told = false;
    if (item->has_image && source_asks_wait(source, item))
        source_item_news(source, number, NEWS_IMAGE);
}

/* Mark who is served by the image that begins; false if nobody waits. All on one node: *session. */
static bool serve_waiting(struct rrmp_source *source, struct source_item *item, uint64_t *session,
                          bool *is_one_node, bool *is_multicast)
{
    bool has_any = false;

    *session = 0;
    *is_one_node = true;
    *is_multicast = false;
    for (uint32_t n = item->asks; n != MD_NIL; n = source_ask_at(source, n)->next) {
        struct source_ask *ask = source_ask_at(source, n);
        uint64_t its = source_requester_at(source, ask->requester)->session;

        if (has_any && its != *session)
            *is_one_node = false;
        *session = its;
        *is_multicast = *is_multicast || ask->is_multicast;
        ask->is_served = true;
        has_any = true;
    }
    return has_any;
}

/* No handle is free: whoever waits is sent away for a second. */
static void refuse_waiting(struct rrmp_source *source, uint32_t number)
{
    static const struct rrmp_ending ending = { .state = RRMP_STATE_OPEN_SUSPECT,
                                               .code = RRMP_CODE_NO_RESOURCES,
                                               .scope = RRMP_REFUSE_LATER,
                                               .wait_ms = 1000 };
    struct source_item *item = source_item_at(source, number);

    item->has_image = true;
    item->image_told = false;
    while (item->asks != MD_NIL) {
        const struct source_ask *ask = source_ask_at(source, item->asks);
        uint32_t requester = ask->requester;
        source_refuse(source, requester, item->svc, ask->id, source_key_hash(source, item),
                      &ending);
        source_interest_clear(source, number, requester);
        source_ask_free(source, item->asks);
    }
    source_item_settle(source, source->now_ns, number);
}

void rrmp_source_image_refuse(struct rrmp_source *source, uint64_t now_ns, uint32_t number)
{
    if (!source_item_exists(source, number))
        return;
    struct source_item *item = source_item_at(source, number);
    source->now_ns = now_ns;
    image_reset(source, number);
    if (item->news & NEWS_IMAGE) {
        item->news &= (uint8_t)~NEWS_IMAGE;
        source->image_due_count--;
    }
    refuse_waiting(source, number);
}

/* The BIND of an image by unicast. */
static int bind_for_image(struct rrmp_source *source, const struct source_item *item,
                          const struct rrmp_part *part, size_t length)
{
    const struct source_work *work = source_work_of(source, item);
    struct rrmp_record bind = {
        .header = { .type = RRMP_BIND },
        .u.bind = { .handle = item->handle,
                    .item_seq = item->item_seq,
                    .key_hash = source_key_hash(source, item),
                    .group = part->group,
                    .state = part->state,
                    .code = part->code,
                    .tag = work->image_tag,
                    .session = work->image_session,
                    .key = source_key(source, item) },
    };

    return source_bind_send(source, item, &bind, RRMP_IMAGE_HEADER + item->key_length + length);
}

/* Decide who gets the image, and how; send the BIND of one that goes by unicast. */
static int image_choose(struct rrmp_source *source, uint32_t number, const struct rrmp_part *part,
                        size_t length)
{
    struct source_item *item = source_item_at(source, number);
    uint64_t session;
    bool is_one_node, is_multicast;

    image_reset(source, number);
    item->image_cached = part->is_cached;
    item->group = part->group;
    if (!source_item_is_active(source, item) || source->session == 0) {
        item->image_mode = IMAGE_DISCARD;
        return MD_OK;
    }
    bool is_new = item->handle == RRMP_HANDLE_NONE;
    if (is_new && !source_handle_take(source, source->now_ns, number)) {
        refuse_waiting(source, number);
        return MD_ERR_STATE;
    }
    item->is_bind_due = item->is_bind_due || is_new;
    struct source_work *work = source_work_take(source, number);
    work->image_part = 0;
    work->image_tag = ++source->next_tag ? source->next_tag : ++source->next_tag;
    bool has_waiting = serve_waiting(source, item, &session, &is_one_node, &is_multicast);

    item->image_mode = part->is_solicited && has_waiting ? IMAGE_SOLICITED : IMAGE_NEWS;
    work->image_path = BACKBONE_PATH_MULTICAST;
    work->image_session = session;
    if (item->is_private) {
        work->image_path = BACKBONE_PATH_UNICAST;
        return MD_OK;
    }
    if (item->image_mode == IMAGE_NEWS || !is_one_node)
        return MD_OK;
    bool is_whole = part->is_last || part->is_cached;
    if (!source->config.unicast_images || is_multicast || !is_whole) {
        work->image_path = BACKBONE_PATH_DIRECTED;
        return MD_OK;
    }
    work->image_path = BACKBONE_PATH_UNICAST;
    int err = bind_for_image(source, item, part, length);
    if (err)
        image_reset(source, number);
    return err;
}

void source_image_count(struct rrmp_source *source, enum backbone_path path)
{
    switch (path) {
    case BACKBONE_PATH_MULTICAST:
        source->stats.images_multicast++;
        return;
    case BACKBONE_PATH_DIRECTED:
        source->stats.images_directed++;
        return;
    case BACKBONE_PATH_UNICAST:
        source->stats.images_unicast++;
        return;
    }
}

static struct backbone_target image_target(const struct rrmp_source *source,
                                           const struct source_item *item)
{
    const struct source_work *work = source_work_of(source, item);

    if (item->is_private)
        return source_owner_target(source, item);
    struct backbone_target target = source_topic_target(source, item->svc);
    target.path = work->image_path;
    if (target.path != BACKBONE_PATH_MULTICAST) {
        target.session = work->image_session;
        target.port = 0;
    }
    return target;
}

static uint16_t image_flags(const struct source_item *item, const struct source_work *work,
                            const struct rrmp_part *part)
{
    unsigned flags = 0;

    flags |= work->image_part == 0 ? RRMP_IMAGE_FIRST : 0;
    flags |= part->is_last ? RRMP_IMAGE_LAST : 0;
    flags |= item->image_mode == IMAGE_SOLICITED ? RRMP_IMAGE_SOLICITED : 0;
    flags |= item->is_private ? RRMP_IMAGE_PRIVATE : 0;
    flags |= part->is_cached ? RRMP_IMAGE_CACHED : 0;
    flags |= part->stays ? RRMP_IMAGE_STAYS : 0;
    if (!item->is_private && work->image_path == BACKBONE_PATH_UNICAST)
        flags |= RRMP_IMAGE_BOUND;
    return (uint16_t)flags;
}

void source_image_done(struct rrmp_source *source, uint32_t number)
{
    struct source_item *item = source_item_at(source, number);

    if (item->is_bind_due && item->image_mode == IMAGE_SOLICITED && !item->is_private &&
        source_work_of(source, item)->image_path == BACKBONE_PATH_DIRECTED)
        source_bind_tell(source, item);
    else
        item->is_bind_due = false; /* all have seen it */
    item->image_mode = IMAGE_NONE;
    source_work_settle(source, number);
    item->has_image = true;
    item->image_told = false;
    if (item->news & NEWS_IMAGE) {
        item->news &= (uint8_t)~NEWS_IMAGE;
        source->image_due_count--;
    }
    uint32_t next;
    for (uint32_t n = item->asks; n != MD_NIL; n = next) {
        next = source_ask_at(source, n)->next;
        if (source_ask_at(source, n)->is_served)
            source_ask_free(source, n);
    }
    if (source_asks_wait(source, item))
        source_item_news(source, number, NEWS_IMAGE);
}

/* The record in front of a part's bytes. */
static void image_write(struct rrmp_source *source, uint32_t number, const struct rrmp_part *part,
                        uint8_t *p, uint16_t key_length)
{
    struct source_item *item = source_item_at(source, number);
    const struct source_work *work = source_work_of(source, item);
    struct rrmp_record record = {
        .header = { .type = RRMP_IMAGE, .svc = item->svc },
        .u.image = { .handle = item->handle,
                     .item_seq = item->item_seq,
                     .key_hash = source_key_hash(source, item),
                     .group = part->group,
                     .state = part->state,
                     .code = part->code,
                     .part = work->image_part,
                     .flags = image_flags(item, work, part),
                     .request_id = item->is_private ? item->stamp : 0,
                     .tag = work->image_tag,
                     .key = { .bytes = source_key(source, item).bytes, .length = key_length } },
    };
    if (work->image_path == BACKBONE_PATH_MULTICAST)
        record.header.svc_seq = source_open_numbered(source, item->svc, item->handle);
    if (item->image_mode == IMAGE_NEWS) {
        record.u.image.item_seq = item->item_seq + 1;
        source->open_takes_number = true;
    }
    struct md_wr wr = md_wr_init(p, RRMP_IMAGE_HEADER + key_length);
    rrmp_record_encode(&wr, &record);
    MD_ASSERT(md_wr_ok(&wr));
}

int rrmp_source_image_begin(struct rrmp_source *source, uint64_t now_ns, uint32_t number,
                            const struct rrmp_part *part, size_t length, uint8_t **room)
{
    *room = NULL;
    if (!source_item_exists(source, number))
        return MD_ERR_STATE;
    source->now_ns = now_ns;
    struct source_item *item = source_item_at(source, number);
    if (part->is_first) {
        int err = image_choose(source, number, part, length);
        if (err)
            return err;
    }
    if (item->image_mode == IMAGE_NONE) {
        /* Aborted or refused before: the rest of it is worth nothing, but who waits is said again,
         * for the caller may have taken this image for the answer to it. */
        if (part->is_last)
            source_image_done(source, number);
        return MD_ERR_STATE;
    }
    if (item->image_mode == IMAGE_DISCARD) {
        if (part->is_last)
            source_image_done(source, number);
        return MD_ERR_STATE;
    }

    struct source_work *work = source_work_of(source, item);
    bool is_first = work->image_part == 0;
    uint16_t key_length = is_first ? item->key_length : 0;
    struct backbone_target target = image_target(source, item);
    uint8_t *p = source_open_room(source, number, &target, RRMP_IMAGE,
                                  RRMP_IMAGE_HEADER + key_length, length);
    if (!p) {
        if (is_first)
            image_reset(source, number);
        return MD_ERR_FULL;
    }
    image_write(source, number, part, p, key_length);
    source->open_is_image = true;
    source->open_is_last = part->is_last;
    item->group = part->group;
    *room = p + RRMP_IMAGE_HEADER + key_length;
    return MD_OK;
}

size_t rrmp_source_image_budget(const struct rrmp_source *source)
{
    return source->image_budget;
}
