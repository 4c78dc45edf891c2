/* delayed_want.c - see delayed_want.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "delayed_want.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "delayed.h"
#include "image.h"
#include "item.h"
#include "place.h"
#include "publish.h"
#include "rate.h"
#include "rrmp/key.h"
#include "service.h"
#include "upstream.h"

#define SECOND_NS   1000000000ull
#define MINUTE_NS   (60 * SECOND_NS)
#define WALK_ITEMS  8192
#define FEED_IMAGES 200 /* at once */
#define IDLE_MORE_NS                                                                               \
    (60 * SECOND_NS) /* an item that nobody has delayed is kept for longer than                    \
                        its image takes */

/* ---- images for the line ---- */

/* The image of the cache; without one the provider is asked again. */
static void feed(struct srcdist_core *core, uint32_t item, bool is_missing)
{
    struct srcdist_item *it = srcdist_item_at(core, item);
    struct cache_cursor cursor = { 0 };
    bool is_first = true;
    bool is_last = false;
    size_t length;

    if (!it || it->is_in_parts || it->state != SRCDIST_ITEM_OPEN)
        return;
    if (!cache_image_is_valid(it->image)) {
        if (is_missing && !core->services[it->service].is_broadcast)
            srcdist_item_reissue(core, item);
        return;
    }
    while (!is_last && srcdist_image_part(core, it->image, &cursor, &length, &is_last) == MD_OK) {
        srcdist_delay_take(core, item, DELAY_IMAGE, is_first, is_last,
                           rwf_bytes(core->part, length));
        is_first = false;
    }
}

static uint32_t live_item(const struct srcdist_core *core, const struct srcdist_delay *d,
                          struct rwf_bytes key)
{
    return d->live == SRCDIST_NONE || !core->services[d->live].is_offered
               ? RRMP_ITEM_NONE
               : rrmp_source_item_find(core->source, core->services[d->live].svc,
                                       srcdist_view(key));
}

/* ---- live items that are kept open ---- */

static bool keep_open(struct srcdist_core *core, struct srcdist_delay *d, struct rwf_bytes key)
{
    const struct srcdist_service *s = &core->services[d->live];
    uint32_t item;
    int err = rrmp_source_item_add(core->source, s->svc, srcdist_view(key), &item);

    if (err != MD_OK && err != MD_ERR_EXISTS)
        return false;
    if (srcdist_item_at(core, item))
        return true;
    struct srcdist_item *it = srcdist_item_make(core, item);
    if (!it)
        return false;
    it->service = (uint16_t)d->live;
    srcdist_rate_choose(core, item);
    srcdist_item_place(core, item);
    return srcdist_item_at(core, item) != NULL; /* its source may have all that it takes */
}

/* The live item of this delayed one is open, or will be asked for. False: there is none. */
static bool hold(struct srcdist_core *core, struct srcdist_delay *d, struct rrmp_view delayed_key)
{
    uint8_t bytes[RRMP_KEY_SIZE_MAX];
    struct rwf_bytes key = srcdist_delay_key(delayed_key, &d->live_qos, bytes);

    if (d->live == SRCDIST_NONE || !core->services[d->live].is_offered || key.length == 0)
        return true; /* it is down */
    uint32_t item = live_item(core, d, key);
    bool is_published = item != RRMP_ITEM_NONE && srcdist_item_at(core, item);
    if (core->services[d->live].is_broadcast && !is_published)
        return !srcdist_service_is_complete(core, d->live);
    bool is_new = delay_find(d->line, key) == DELAY_NONE;
    /* In this order: an item of the line ends with the live one. */
    if ((!core->services[d->live].is_broadcast && !keep_open(core, d, key)) ||
        delay_ask(d->line, key) == DELAY_NONE)
        return false;
    if (is_new && is_published)
        feed(core, item, true);
    return true;
}

void srcdist_delay_wanted(struct srcdist_core *core, uint32_t item)
{
    struct srcdist_delay *d = srcdist_delay_of(core, core->items[item].service);
    struct rrmp_source_item info;

    if (d && rrmp_source_item_info(core->source, item, &info))
        hold(core, d, info.key);
}

/* The image comes in this minute at the latest, if it comes. */
static void say_when(const struct srcdist_core *core, const struct srcdist_delay *d, char *text,
                     size_t size)
{
    uint64_t at_ns = core->now_ns + core->wall_offset_ns + d->config->delay_ns;
    unsigned minute = (unsigned)((at_ns + MINUTE_NS - 1) / MINUTE_NS % (24 * 60));

    snprintf(text, size, "delayed image at %02u:%02u UTC", minute / 60, minute % 60);
}

bool srcdist_delay_awaits(struct srcdist_core *core, uint32_t item)
{
    struct srcdist_item *it = &core->items[item];
    struct srcdist_delay *d = srcdist_delay_of(core, it->service);
    struct rrmp_source_item info;
    char text[64];

    if (!d || !rrmp_source_item_info(core->source, item, &info) || !hold(core, d, info.key))
        return false;
    it = &core->items[item]; /* the table may have grown */
    it->due_ns = core->now_ns + SECOND_NS;
    if (it->is_awaited)
        return true;
    say_when(core, d, text, sizeof(text));
    it->is_awaited = srcdist_publish_state(core, item, RWF_STREAM_OPEN, RWF_DATA_SUSPECT,
                                           RWF_CODE_NONE, text) == MD_OK;
    return true;
}

/* ---- time ---- */

static uint64_t *idle_of(struct srcdist_core *core, struct srcdist_delay *d, uint32_t item)
{
    if (item >= d->idle_room) {
        uint64_t *idle = realloc(d->idle_ns, core->item_room * sizeof(*idle));
        if (!idle)
            return NULL;
        memset(idle + d->idle_room, 0, (core->item_room - d->idle_room) * sizeof(*idle));
        d->idle_ns = idle;
        d->idle_room = core->item_room;
    }
    return &d->idle_ns[item];
}

static bool is_wanted(const struct srcdist_core *core, const struct srcdist_delay *d,
                      struct rrmp_view live_key)
{
    uint8_t bytes[RRMP_KEY_SIZE_MAX];
    struct rwf_bytes key = srcdist_delay_key(live_key, &d->qos, bytes);
    struct rrmp_source_item info;

    if (d->provider == SRCDIST_NONE)
        return true; /* it is down: nobody can say */
    return key.length &&
           rrmp_source_item_info(core->source,
                                 rrmp_source_item_find(core->source, core->services[d->service].svc,
                                                       srcdist_view(key)),
                                 &info) &&
           info.requester_count > 0;
}

/* A live item that was kept open, and that nobody has had delayed for long. */
static void leave(struct srcdist_core *core, struct srcdist_delay *d, uint32_t item,
                  const struct rrmp_source_item *info)
{
    uint32_t number = delay_find(d->line, rwf_bytes(info->key.bytes, info->key.length));

    if (!d->config->takes_all && number != DELAY_NONE)
        delay_end(d->line, core->now_ns, number, RWF_STREAM_CLOSED_RECOVER, RWF_CODE_NONE);
    if (!core->services[d->live].is_broadcast)
        rrmp_source_item_drop(core->source, core->now_ns, item);
}

static void look_at_live(struct srcdist_core *core, struct srcdist_delay *d, uint32_t item)
{
    uint64_t *idle = idle_of(core, d, item);
    struct rrmp_source_item info;

    if (!idle || !rrmp_source_item_info(core->source, item, &info))
        return;
    bool is_held = core->services[d->live].is_broadcast
                       ? !d->config->takes_all && srcdist_delay_has(core, item)
                       : info.is_kept;
    if (!is_held || is_wanted(core, d, info.key)) {
        *idle = 0;
        return;
    }
    if (*idle == 0)
        *idle = core->now_ns;
    if (core->now_ns - *idle < d->config->delay_ns + IDLE_MORE_NS)
        return;
    *idle = 0;
    leave(core, d, item, &info);
}

static void look_at_delayed(struct srcdist_core *core, struct srcdist_delay *d, uint32_t item)
{
    struct rrmp_source_item info;

    if (rrmp_source_item_info(core->source, item, &info) && info.requester_count > 0)
        hold(core, d, info.key);
}

static void walk(struct srcdist_core *core, struct srcdist_delay *d)
{
    for (uint32_t n = 0; n < WALK_ITEMS && n < core->item_room; n++, d->walk++) {
        if (d->walk >= core->item_room)
            d->walk = 0;
        const struct srcdist_item *it = &core->items[d->walk];

        if (it->state == SRCDIST_ITEM_FREE)
            continue;
        if (it->service == d->live && !it->is_private)
            look_at_live(core, d, d->walk);
        else if (d->provider != SRCDIST_NONE && it->service == d->service)
            look_at_delayed(core, d, d->walk);
    }
}

static void give_images(struct srcdist_core *core, struct srcdist_delay *d)
{
    for (unsigned i = 0; i < FEED_IMAGES; i++) {
        bool is_missing;
        uint32_t number = delay_wants(d->line, core->now_ns, &is_missing);

        if (number == DELAY_NONE)
            return;
        uint32_t item = live_item(core, d, delay_key(d->line, number));
        if (item != RRMP_ITEM_NONE)
            feed(core, item, is_missing);
    }
}

void srcdist_delays_want_tick(struct srcdist_core *core)
{
    for (unsigned i = 0; i < core->delay_count; i++) {
        struct srcdist_delay *d = core->delays[i];

        if (d->live == SRCDIST_NONE)
            continue;
        walk(core, d);
        give_images(core, d);
    }
}
