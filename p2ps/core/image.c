/* image.c - the last image of each open item, kept so that the next consumer has it at once. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"
#include "base/writer.h"
#include "private.h"

/*
 * The cache follows an item as one more watch would: it takes the first image whole, then what is
 * for those in step. So what it holds is what a watch in step was given, and whoever is given the
 * image goes on with the same updates as everybody else.
 */

static bool is_kept(const struct p2ps_core *core, const struct p2ps_item *it)
{
    return core->cache && !it->is_private && !it->is_snapshot;
}

static void drop(struct p2ps_core *core, struct p2ps_item *it)
{
    cache_image_free(core->cache, it->image);
    it->image = NULL;
}

void p2ps_image_forget(struct p2ps_core *core, uint32_t item)
{
    struct p2ps_item *it = &core->items[item];

    if (it->image)
        drop(core, it);
    it->image_state = P2PS_WATCH_NEW;
}

void p2ps_image_part(struct p2ps_core *core, const struct rrmp_sink_event *event,
                     const struct p2ps_record *record)
{
    struct p2ps_item *it = &core->items[record->item];
    bool is_first = (event->flags & RRMP_IMAGE_FIRST) != 0;

    if (!is_kept(core, it))
        return;
    if (it->image_state == P2PS_WATCH_STEP && !(event->to & RRMP_SINK_TO_STEP))
        return;
    if (it->image_state == P2PS_WATCH_NEW) {
        if (!is_first || !(event->to & RRMP_SINK_TO_WAIT))
            return;
        it->image_state = P2PS_WATCH_FILLING;
    }
    /* One that began before and was never finished, or that may not be kept any more. */
    if (it->image && ((is_first && !cache_image_is_valid(it->image)) ||
                      record->peek.flags & RWF_REFRESH_DO_NOT_CACHE))
        drop(core, it);
    if (it->image || is_first)
        cache_apply(core->cache, &it->image, record->message);
}

void p2ps_image_update(struct p2ps_core *core, const struct rrmp_sink_event *event,
                       const struct p2ps_record *record)
{
    struct p2ps_item *it = &core->items[record->item];
    uint8_t to = it->image_state == P2PS_WATCH_STEP ? RRMP_SINK_TO_STEP : RRMP_SINK_TO_WAIT;

    if (it->image && it->image_state != P2PS_WATCH_NEW && event->to & to)
        cache_apply(core->cache, &it->image, record->message);
}

void p2ps_image_in_step(struct p2ps_core *core, uint32_t item)
{
    if (core->items[item].image_state == P2PS_WATCH_FILLING)
        core->items[item].image_state = P2PS_WATCH_STEP;
}

/* ---- giving it out ---- */

/* Of a service that is down nothing is fine, also before its items were told so. */
static uint8_t data_state_of(const struct p2ps_core *core, const struct p2ps_item *it)
{
    return core->services[it->service].is_up ? it->data_state : RWF_DATA_SUSPECT;
}

static bool is_at_hand(const struct p2ps_core *core, const struct p2ps_item *it,
                       const struct p2ps_client *c)
{
    bool takes_suspect = c->single_open && c->allow_suspect;

    return it->image && it->image_state == P2PS_WATCH_STEP && !it->has_ended &&
           cache_image_is_valid(it->image) &&
           (data_state_of(core, it) == RWF_DATA_OK || takes_suspect) && core->part;
}

static void start_record(struct p2ps_core *core, uint32_t item, size_t length,
                         struct p2ps_record *record)
{
    struct rrmp_sink_item info;

    *record = (struct p2ps_record){ .message = rwf_bytes(core->part, length), .item = item };
    if (rrmp_sink_item_info(p2ps_item_sink(core, item), core->items[item].sink_item, &info)) {
        md_put_be16(record->group, info.instance);
        md_put_be16(record->group + 2, info.group);
    }
    p2ps_form_next_record(core);
}

/* MD_ERR_FULL: the client has no room. Anything else: the image cannot be given like this. */
static int give_parts(struct p2ps_core *core, uint32_t item, struct p2ps_watch *w)
{
    struct p2ps_item *it = &core->items[item];
    struct p2ps_client *c = &core->clients[w->client];
    struct cache_cursor cursor = { 0 };
    bool is_last = false;

    cache_image_set_state(it->image, RWF_STREAM_OPEN, data_state_of(core, it), it->code);
    while (!is_last) {
        struct p2ps_record record;
        size_t length;

        if (cache_image_part(it->image, &cursor, core->part, core->part_size, &length, &is_last) !=
            MD_OK)
            return MD_ERR_UNSUPPORTED;
        start_record(core, item, length, &record);
        if (rwf_peek(record.message, &record.peek) != RWF_OK)
            return MD_ERR_UNSUPPORTED;
        const struct p2ps_made *made = p2ps_form_make(core, w->form, &record);
        if (!made)
            return MD_ERR_UNSUPPORTED;
        if (made->length == 0)
            continue;
        if (c->front->put(c->self, made, w->stream_id, (w->flags & P2PS_WATCH_ASKED) != 0,
                          (w->flags & P2PS_WATCH_SNAPSHOT) != 0) != MD_OK)
            return MD_ERR_FULL;
        core->stats.refresh_out++;
        p2ps_client_touch(core, w->client);
    }
    return MD_OK;
}

bool p2ps_image_give(struct p2ps_core *core, uint32_t item, uint32_t watch)
{
    struct p2ps_item *it = &core->items[item];
    struct p2ps_watch *w = &it->watches[watch];

    if (!is_at_hand(core, it, &core->clients[w->client]))
        return false;
    int err = give_parts(core, item, w);
    if (err != MD_OK && err != MD_ERR_FULL)
        return false; /* parts of it may be out: the source's image begins anew */
    core->stats.images_from_cache += err == MD_OK;
    w->state = P2PS_WATCH_STEP;
    w->flags &= (uint16_t)~P2PS_WATCH_MISSED;
    if (err == MD_ERR_FULL)
        p2ps_watch_owe(core, w, P2PS_WATCH_OWED_IMAGE);
    else if (w->flags & P2PS_WATCH_SNAPSHOT)
        p2ps_item_watch_remove(core, item, watch);
    else
        p2ps_watch_has_image(core, item, watch);
    return true;
}
