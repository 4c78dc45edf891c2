/* release.c - see release.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "release.h"

#include "base/assert.h"
#include "base/err.h"
#include "items.h"
#include "line.h"

#define STEPS_MAX 1024 /* records that nobody takes out, at once */

/* ---- when a record is due ---- */

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/*
 * Of a record of this life by its clock. Of an earlier life it is known that the record was put in
 * before this life began. That it is older than this takes both clocks: the monotonic one goes on
 * from life to life within one boot, and a record of another boot was put in before this boot's
 * clock began; the wall clock may have been set.
 */
static uint64_t due_of(const struct delay *d, const struct delay_record *record)
{
    const struct delay_head *head = &d->out.head;
    uint64_t put_ns = record->mono_ns;

    if (head->number < d->in.own) {
        uint64_t wall_ns = head->wall_ns + (record->mono_ns - head->mono_ns);
        uint64_t age_ns = wall_ns < d->start_wall_ns ? d->start_wall_ns - wall_ns : 0;
        uint64_t by_wall = age_ns < d->start_ns ? d->start_ns - age_ns : 0;
        bool is_of_boot = head->boot == d->config.boot;
        uint64_t by_mono = is_of_boot ? record->mono_ns : 0;

        /* The boot is not known, or the clock has gone back: it is another one. */
        if (d->config.boot == 0 || by_mono > d->start_ns)
            by_mono = d->start_ns;
        put_ns = later(by_wall, by_mono);
    }
    return later(put_ns + d->config.delay_ns, d->out.due_ns);
}

/* ---- chunks ---- */

static void tear_all(struct delay *d)
{
    for (uint32_t i = 0; i < d->item_high; i++) {
        struct delay_item *item = d->items[i];

        if (!item || !item->is_whole)
            continue;
        item->is_whole = false;
        item->is_in_parts = false;
        item->suspects = item->is_shown;
        if (item->is_shown)
            delay_news_add(d, item);
    }
}

/* It was written, and cannot be read: whoever puts in does not know yet. */
static void lose_chunk(struct delay *d, uint64_t now_ns)
{
    d->stats.chunks_lost++;
    tear_all(d);
    delay_line_gap(d, now_ns);
    d->out.chunk++;
}

static bool is_ours(const struct delay *d, const struct delay_head *head)
{
    return head->number == d->out.chunk && head->identity == d->config.identity;
}

/* False: there is no chunk to read now. */
static bool open_chunk(struct delay *d, uint64_t now_ns)
{
    size_t length = 0;

    if (d->out.chunk < d->in.first)
        d->out.chunk = d->in.first;
    if (d->out.chunk == d->in.head.number && d->in.length > 0 && delay_release_due(d) <= now_ns)
        delay_line_seal(d, now_ns);
    if (d->out.chunk >= d->in.head.number)
        return false;
    if (*delay_chunk_size(d, d->out.chunk) == 0) { /* whoever puts in knows */
        tear_all(d);
        d->out.chunk++;
        return true;
    }
    int err = d->config.disk.read(d->config.disk.context, d->out.chunk, d->out.bytes, d->in.size,
                                  &length);
    d->out.is_waiting = err == MD_ERR_AGAIN;
    if (d->out.is_waiting)
        return false;
    if (err == MD_OK)
        err = delay_chunk_read(d->out.bytes, length, &d->out.head, &d->out.rest);
    if (err != MD_OK || !is_ours(d, &d->out.head)) {
        lose_chunk(d, now_ns);
        return true;
    }
    d->out.is_open = true;
    d->out.at = d->out.head.first;
    return true;
}

static void close_chunk(struct delay *d)
{
    d->out.is_open = false;
    d->out.chunk++;
}

uint64_t delay_release_due(const struct delay *d)
{
    struct md_rd rest = d->out.rest;
    struct delay_record record;

    if (d->out.is_open)
        return delay_record_next(&rest, &record) ? due_of(d, &record) : 0;
    if (d->out.chunk < d->in.head.number)
        return 0;
    return d->in.length > 0 ? d->in.head.mono_ns + d->config.delay_ns : UINT64_MAX;
}

/* ---- records ---- */

static void step(struct delay *d, struct md_rd rest, uint64_t due_ns)
{
    d->out.rest = rest;
    d->out.due_ns = due_ns;
    d->out.at++;
}

static void tear(struct delay *d, struct delay_item *item)
{
    item->is_in_parts = false;
    if (!item->is_whole)
        return;
    item->is_whole = false;
    if (!item->is_shown)
        return;
    item->suspects = true;
    delay_news_add(d, item);
}

/* An item of an earlier life has ended here. */
static void end_here(struct delay *d, struct delay_item *item)
{
    tear(d, item);
    delay_item_drop_image(d, item);
}

static bool is_image(uint8_t kind)
{
    return kind == DELAY_REFRESH || kind == DELAY_IMAGE;
}

/* True: the item takes the record, which belongs to what it has. */
static bool takes(struct delay_item *item, const struct delay_record *record)
{
    if (is_image(record->kind) && record->is_first) {
        item->is_silent = record->kind == DELAY_IMAGE && item->is_whole && !item->is_in_parts &&
                          cache_image_is_valid(item->image);
        return !item->is_silent;
    }
    if (is_image(record->kind) && (item->is_silent || !item->is_in_parts))
        return false;
    return item->is_whole;
}

static struct delay_item *item_of(struct delay *d, const struct delay_record *record)
{
    struct delay_item *item = delay_item_find(d, record->key);

    if (!item && is_image(record->kind) && record->is_first)
        item = delay_item_make(d, record->key); /* of an earlier life */
    return item && d->out.at >= item->skip_to ? item : NULL;
}

static void apply(struct delay *d, struct delay_item *item, const struct delay_record *record)
{
    if (is_image(record->kind)) {
        item->is_whole = true;
        item->is_in_parts = !record->is_last;
    }
    cache_apply(d->cache, &item->image, record->message);
    if (item->is_live && !item->is_shown && is_image(record->kind) && record->is_last) {
        item->shows = true;
        delay_news_add(d, item);
    }
}

/* The item is shown with a refresh that begins: its parts are the image. */
static bool is_seen(const struct delay_item *item, const struct delay_record *record)
{
    return item->is_shown || (item->is_live && is_image(record->kind) && record->is_first);
}

/* True: the record is an event. Else it is dealt with. */
static bool take(struct delay *d, const struct delay_record *record, struct delay_event *event)
{
    if (record->kind == DELAY_GAP) {
        tear_all(d);
        return false;
    }
    struct delay_item *item = item_of(d, record);
    if (!item)
        return false;
    if (record->kind == DELAY_TORN) {
        tear(d, item);
        return false;
    }
    if (record->kind == DELAY_END) {
        end_here(d, item);
        return false;
    }
    if (record->kind > DELAY_STATUS || record->kind == 0 || !takes(item, record))
        return false;
    if (!is_seen(item, record)) {
        apply(d, item, record);
        return false;
    }
    *event = (struct delay_event){
        .kind = DELAY_EVENT_MESSAGE,
        .item = item->number,
        .key = rwf_bytes(item->key, item->key_length),
        .message = record->message,
        .is = (enum delay_kind)record->kind,
    };
    return true;
}

/* ---- news ---- */

static bool next_news(struct delay *d, struct delay_event *event)
{
    struct delay_item *item;

    while ((item = delay_news_first(d)) != NULL) {
        *event = (struct delay_event){
            .item = item->number,
            .key = rwf_bytes(item->key, item->key_length),
            .state = item->end_state,
            .code = item->end_code,
        };
        if (item->ends)
            event->kind = DELAY_EVENT_END;
        else if (item->suspects && item->is_shown)
            event->kind = DELAY_EVENT_SUSPECT;
        else if (item->shows && !item->is_shown && item->is_live && !item->is_in_parts &&
                 item->is_whole && cache_image_is_valid(item->image))
            event->kind = DELAY_EVENT_IMAGE;
        if (event->kind != DELAY_EVENT_NONE)
            return true;
        item->suspects = item->shows = false;
        delay_news_take(d);
    }
    return false;
}

static void done_news(struct delay *d, const struct delay_event *event)
{
    struct delay_item *item = delay_item_at(d, event->item);

    MD_ASSERT(item && item == delay_news_first(d));
    delay_news_take(d);
    if (event->kind == DELAY_EVENT_END)
        item->ends = item->is_shown = false;
    else if (event->kind == DELAY_EVENT_IMAGE)
        item->is_shown = true;
    else
        item->suspects = false;
    if (event->kind != DELAY_EVENT_SUSPECT)
        item->shows = item->suspects = false;
    else if (item->shows)
        delay_news_add(d, item);
}

/* ---- both ---- */

void delay_release_next(struct delay *d, uint64_t now_ns, struct delay_event *event)
{
    *event = (struct delay_event){ .kind = DELAY_EVENT_NONE };
    for (int i = 0; i < STEPS_MAX; i++) {
        struct delay_record record;

        if (next_news(d, event))
            return;
        if (!d->out.is_open) {
            if (!open_chunk(d, now_ns))
                return;
            continue;
        }
        struct md_rd rest = d->out.rest;
        if (!delay_record_next(&rest, &record)) {
            close_chunk(d);
            continue;
        }
        uint64_t due_ns = due_of(d, &record);
        if (due_ns > now_ns || take(d, &record, event))
            return;
        step(d, rest, due_ns);
    }
}

void delay_release_done(struct delay *d, const struct delay_event *event)
{
    struct delay_record record;

    if (event->kind != DELAY_EVENT_MESSAGE) {
        done_news(d, event);
        return;
    }
    struct delay_item *item = delay_item_at(d, event->item);
    struct md_rd rest = d->out.rest;
    bool is_there = delay_record_next(&rest, &record);
    MD_ASSERT(item && is_there);
    item->is_shown = true;
    apply(d, item, &record);
    step(d, rest, due_of(d, &record));
}
