/* image_queue.c - images from the cache on their way to the backbone. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "image_queue.h"

#include <stdlib.h>

#include "base/err.h"
#include "image.h"
#include "item.h"
#include "publish.h"
#include "rate.h"
#include "upstream.h"

void srcdist_image_queue(struct srcdist_core *core, uint32_t item)
{
    if (core->image_queue_count == core->image_queue_room) {
        uint32_t room = core->image_queue_room ? core->image_queue_room * 2 : 1024;
        uint32_t *queue = malloc(room * sizeof(*queue));
        if (!queue)
            return; /* asked for again by the requester */
        for (uint32_t i = 0; i < core->image_queue_count; i++)
            queue[i] =
                core->image_queue[(core->image_queue_first + i) & (core->image_queue_room - 1)];
        free(core->image_queue);
        core->image_queue = queue;
        core->image_queue_room = room;
        core->image_queue_first = 0;
    }
    core->image_queue[(core->image_queue_first + core->image_queue_count++) &
                      (core->image_queue_room - 1)] = item;
}

/* All parts of the image, one after the other. MD_ERR_FULL: it was begun anew, later. */
static int publish_cached(struct srcdist_core *core, uint32_t item)
{
    struct srcdist_item *it = srcdist_item_at(core, item);
    struct cache_cursor cursor = { 0 };
    bool is_last = false;
    bool is_first = true;

    if (!it || !it->is_image_due || !cache_image_is_valid(it->image) || it->is_in_parts)
        return MD_OK;
    int err = srcdist_rate_flush(core, item); /* the image contains what is pending */
    if (err != MD_OK)
        return err;
    struct rwf_state state = cache_image_state(it->image);
    struct rrmp_source_item info;
    if (!rrmp_source_item_info(core->source, item, &info))
        return MD_OK;
    while (!is_last) {
        size_t length;
        if (srcdist_image_part(core, it->image, &cursor, &length, &is_last) != MD_OK) {
            rrmp_source_image_abort(core->source, item);
            return MD_OK;
        }
        struct rrmp_part part = {
            .is_first = is_first,
            .is_last = is_last,
            .is_cached = true,
            .is_solicited = !it->is_image_for_all,
            .stays = it->state != SRCDIST_ITEM_OPEN && state.data_state == RWF_DATA_SUSPECT,
            .state = rwf_state_byte(state.stream_state, state.data_state),
            .code = state.code,
            .group = info.group,
        };
        struct rwf_bytes message = srcdist_rate_image(core, item, rwf_bytes(core->part, length));
        err = srcdist_publish_part(core, item, &part, message);
        if (err != MD_OK) {
            if (!is_first)
                rrmp_source_image_abort(core->source, item);
            return err;
        }
        is_first = false;
    }
    it->is_image_due = false;
    it->is_image_for_all = false;
    return MD_OK;
}

void srcdist_images_pump(struct srcdist_core *core)
{
    while (core->image_queue_count > 0 && rrmp_source_image_budget(core->source) > 0) {
        uint32_t item = core->image_queue[core->image_queue_first & (core->image_queue_room - 1)];

        if (publish_cached(core, item) == MD_ERR_FULL)
            return;
        core->image_queue_first++;
        core->image_queue_count--;
    }
}

void srcdist_image_wanted(struct srcdist_core *core, uint32_t item)
{
    struct srcdist_item *it = srcdist_item_at(core, item);

    if (!it)
        return;
    it->is_image_due = true;
    if (cache_image_is_valid(it->image) && !it->is_in_parts)
        srcdist_image_queue(core, item);
    else if (it->state == SRCDIST_ITEM_OPEN && !it->is_in_parts)
        srcdist_item_reissue(core, item);
}
