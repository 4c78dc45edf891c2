/* source_publish.c - updates and states of items, and the end of every reservation. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "source_impl.h"

#include "base/assert.h"
#include "base/err.h"

/* A BIND without image: those who wait learn the handle, for the STATUS that follows. */
static int bind_for_status(struct rrmp_source *source, uint32_t number, size_t following)
{
    struct source_item *item = source_item_at(source, number);

    if (item->handle == RRMP_HANDLE_NONE && !source_handle_take(source, source->now_ns, number))
        return MD_ERR_STATE;
    struct rrmp_record record = source_bind_record(source, item);

    return source_bind_send(source, item, &record, following);
}

static int tick_begin(struct rrmp_source *source, uint32_t number, uint8_t type, uint8_t flags,
                      size_t header, size_t length, uint8_t **room)
{
    struct source_item *item = source_item_at(source, number);
    struct backbone_target target;

    *room = NULL;
    if (!source_item_is_active(source, item) || source->session == 0)
        return MD_ERR_STATE;
    if (item->image_mode != IMAGE_NONE && item->image_cached)
        rrmp_source_image_abort(source, number);
    if (type == RRMP_STATUS && !item->is_private && source_asks_wait(source, item)) {
        int err = bind_for_status(source, number, header + length);
        if (err)
            return err;
    }
    if (item->handle == RRMP_HANDLE_NONE)
        return MD_ERR_STATE;

    target = item->is_private ? source_owner_target(source, item)
                              : source_topic_target(source, item->svc);
    uint8_t *p = source_open_room(source, number, &target, type, header, length);
    if (!p)
        return MD_ERR_FULL;
    uint32_t svc_seq = 0;
    if (item->is_private)
        flags |= RRMP_FLAG_PRIVATE;
    else
        svc_seq = source_open_numbered(source, item->svc, item->handle);
    source->open_takes_number = true;
    rrmp_tick_put(p, type, flags, item->svc, svc_seq, item->handle, item->item_seq + 1);
    *room = p + header;
    return MD_OK;
}

void rrmp_source_publish_soon(const struct rrmp_source *source, uint32_t item)
{
    if (item < source->items.high)
        __builtin_prefetch(source_item_at(source, item), 1);
}

int rrmp_source_publish_begin(struct rrmp_source *source, uint32_t item, uint8_t type,
                              size_t length, uint8_t **room)
{
    *room = NULL;
    if (!source_item_exists(source, item))
        return MD_ERR_STATE;
    return tick_begin(source, item, type, 0, RRMP_TICK_SIZE, length, room);
}

int rrmp_source_suspect_begin(struct rrmp_source *source, uint32_t item, size_t length,
                              uint8_t **room)
{
    *room = NULL;
    if (!source_item_exists(source, item))
        return MD_ERR_STATE;
    return tick_begin(source, item, RRMP_STATUS, RRMP_FLAG_STAYS, RRMP_TICK_SIZE, length, room);
}

void rrmp_source_publish_commit(struct rrmp_source *source, size_t length)
{
    MD_ASSERT(source->open_kind != OPEN_NONE);
    size_t total = length ? source->open_header + length : 0;
    bool is_numbered = source->open_kind == OPEN_NUMBERED;

    source->open_kind = OPEN_NONE;
    rrmp_outbox_commit(&source->outbox, source->open_type, total);
    if (total == 0) {
        if (source->open_is_image && source->open_item != MD_NIL)
            rrmp_source_image_abort(source, source->open_item);
        return;
    }
    if (is_numbered)
        source_number(source, source->open_svc, source->open_log);
    if (source->open_ask != MD_NIL) {
        struct source_ask *ask = source_ask_at(source, source->open_ask);
        ask->part++;
        if (source->open_is_last)
            source_ask_free(source, source->open_ask);
        return;
    }
    if (source->open_item == MD_NIL)
        return;
    struct source_item *item = source_item_at(source, source->open_item);
    if (source->open_takes_number)
        item->item_seq++;
    if (!source->open_is_image) {
        source->has_published = true;
        return;
    }
    source->image_budget -= total < source->image_budget ? total : source->image_budget;
    struct source_work *work = source_work_of(source, item);
    if (work->image_part++ == 0)
        source_image_count(source, (enum backbone_path)work->image_path);
    if (source->open_is_last)
        source_image_done(source, source->open_item);
}
