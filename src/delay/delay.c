/* delay.c - see delay/delay.h: a line made, and what is put into it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "delay/delay.h"

#include <stdlib.h>

#include "base/err.h"
#include "items.h"
#include "line.h"
#include "release.h"

#define CHUNK_BYTES  (256u << 10)
#define MESSAGE_MAX  (4u << 20)
#define ITEM_LIMIT   16777215u
#define SECOND_NS    1000000000ull
#define WALK_STEPS   1024            /* items looked at, at once */
#define WALK_AGAIN   (5 * SECOND_NS) /* when items still lack their image */
#define SWEEP_CHUNKS 64u             /* as many are written between two sweeps, at least */
#define SWEEP_SHARE  4u              /* of what is written, images for restarts */
#define READ_AGAIN   2000000ull
#define FORGET_NS    (900 * SECOND_NS) /* an item of an earlier life that does not come again */

static void take_defaults(struct delay_config *config)
{
    if (config->chunk_bytes == 0)
        config->chunk_bytes = CHUNK_BYTES;
    if (config->message_max == 0)
        config->message_max = MESSAGE_MAX;
    if (config->item_limit == 0)
        config->item_limit = ITEM_LIMIT;
}

/* Chunks that do not follow each other, or are more than there is room for: the newest count. */
static void find_chunks(struct delay *d)
{
    const struct delay_disk *disk = &d->config.disk;
    uint64_t chunk = 0;
    size_t length;

    d->in.first = d->in.head.number = 1;
    while (disk->next(disk->context, chunk, &chunk, &length) == MD_OK) {
        if (chunk != d->in.head.number)
            delay_line_release(d, d->in.head.number);
        if (d->in.first == d->in.head.number)
            d->in.first = d->in.head.number = chunk;
        if (d->in.head.number - d->in.first >= d->in.mask / 2)
            delay_line_release(d, d->in.first + 1);
        bool fits = length <= d->in.size;
        *delay_chunk_size(d, chunk) = fits ? (uint32_t)length : 0;
        d->stats.bytes_now += fits ? length : 0;
        d->in.head.number = chunk + 1;
    }
    while (d->stats.bytes_now > d->config.bytes_max / 2)
        delay_line_release(d, d->in.first + 1);
    d->in.own = d->in.head.number;
    d->out.chunk = d->walk.base = d->in.first;
}

/* Records of this life have numbers beyond those of earlier ones, whose last chunk may be torn: a
 * chunk has less than 2^32. */
static void go_on(struct delay *d, uint64_t now_ns)
{
    d->in.count = d->in.own << 32;
    if (d->in.first < d->in.own)
        delay_line_gap(d, now_ns);
    d->stats.gaps = 0;
}

int delay_create(const struct delay_config *config, uint64_t now_ns, struct delay **out)
{
    struct delay *d = calloc(1, sizeof(*d));

    *out = NULL;
    if (!d)
        return MD_ERR_NOMEM;
    d->config = *config;
    take_defaults(&d->config);
    d->start_ns = now_ns;
    d->start_wall_ns = config->wall_ns;
    delay_wall_set(d, now_ns, config->wall_ns);
    int err = delay_line_create(d);
    if (err == MD_OK)
        err = delay_items_create(d);
    if (err == MD_OK)
        err = cache_create(&d->config.cache, &d->cache);
    d->out.bytes = err == MD_OK ? malloc(d->in.size) : NULL;
    if (err == MD_OK && !d->out.bytes)
        err = MD_ERR_NOMEM;
    if (err != MD_OK) {
        delay_destroy(d);
        return err;
    }
    find_chunks(d);
    go_on(d, now_ns);
    *out = d;
    return MD_OK;
}

void delay_destroy(struct delay *d)
{
    if (!d)
        return;
    if (d->out.bytes)
        delay_line_seal(d, d->in.last_ns);
    delay_items_destroy(d);
    cache_destroy(d->cache);
    delay_line_destroy(d);
    free(d->out.bytes);
    free(d);
}

void delay_wall_set(struct delay *d, uint64_t now_ns, uint64_t wall_ns)
{
    d->wall_offset_ns = (int64_t)(wall_ns - now_ns);
}

/* ---- putting in ---- */

uint32_t delay_find(const struct delay *d, struct rwf_bytes key)
{
    const struct delay_item *item = delay_item_find(d, key);

    return item ? item->number : DELAY_NONE;
}

struct rwf_bytes delay_key(const struct delay *d, uint32_t number)
{
    const struct delay_item *item = delay_item_at(d, number);

    return item ? rwf_bytes(item->key, item->key_length) : rwf_bytes(NULL, 0);
}

uint32_t delay_ask(struct delay *d, struct rwf_bytes key)
{
    struct delay_item *item = delay_item_make(d, key);

    if (!item)
        return DELAY_NONE;
    if (!item->is_asked)
        d->walk.is_missed = true;
    item->is_asked = true;
    return item->number;
}

static bool is_image(enum delay_kind kind)
{
    return kind == DELAY_REFRESH || kind == DELAY_IMAGE;
}

static void begin_life(struct delay *d, struct delay_item *item)
{
    if (item->is_live)
        return;
    item->is_live = true;
    item->shows = true;
    delay_news_add(d, item);
}

/* The item needs an image again, and its consumers are told. */
static void lose(struct delay *d, uint64_t now_ns, struct delay_item *item, struct rwf_bytes key)
{
    const struct delay_record torn = { .kind = DELAY_TORN, .key = key };

    d->stats.dropped++;
    if (item->base == d->in.gap)
        delay_line_add(d, now_ns, &torn);
    item->base = 0;
    d->walk.is_missed = true;
}

void delay_put(struct delay *d, uint64_t now_ns, struct rwf_bytes key, enum delay_kind kind,
               bool is_first, bool is_last, struct rwf_bytes message)
{
    bool begins = is_image(kind) && is_first;
    struct delay_item *item =
        begins && d->config.takes_all ? delay_item_make(d, key) : delay_item_find(d, key);
    struct delay_record record = { .kind = (uint8_t)kind,
                                   .is_first = is_first,
                                   .is_last = is_last,
                                   .key = key,
                                   .message = message };

    if (!item || !(d->config.takes_all || item->is_asked)) {
        d->stats.dropped += begins && d->config.takes_all;
        return;
    }
    begin_life(d, item);
    if (!begins && item->base != d->in.gap) {
        d->stats.dropped++;
        return;
    }
    if (message.length > d->config.message_max) {
        lose(d, now_ns, item, key);
        return;
    }
    if (!delay_line_add(d, now_ns, &record))
        d->stats.dropped++;
    else if (begins)
        item->base = d->in.gap;
    if (begins && item->base == d->in.gap)
        item->sweep = d->walk.sweep;
}

void delay_end(struct delay *d, uint64_t now_ns, uint32_t number, uint8_t state, uint8_t code)
{
    struct delay_item *item = delay_item_at(d, number);

    if (!item || !(item->is_live || item->is_asked))
        return;
    const struct delay_record end = { .kind = DELAY_END,
                                      .key = rwf_bytes(item->key, item->key_length) };
    delay_line_add(d, now_ns, &end);
    item->skip_to = d->in.count;
    item->base = 0;
    item->is_live = false;
    item->is_asked = false;
    delay_item_drop_image(d, item);
    item->ends = true;
    item->shows = item->suspects = false;
    item->end_state = state;
    item->end_code = code;
    delay_news_add(d, item);
}

/* ---- images that the line lacks ---- */

static bool is_forgotten(const struct delay *d, uint64_t now_ns, const struct delay_item *item)
{
    if (item->is_live || item->is_asked || item->is_queued)
        return false;
    return item->image ? now_ns - d->start_ns >= FORGET_NS + d->config.delay_ns
                       : d->out.at >= item->skip_to;
}

static void begin_walk(struct delay *d, uint64_t now_ns)
{
    const uint64_t chunks = d->in.head.number - d->walk.first;

    if (now_ns < d->walk.due_ns)
        return;
    bool sweeps = d->walk.end == 0 && chunks >= SWEEP_CHUNKS && !d->in.is_full &&
                  d->stats.bytes_now < d->config.bytes_max / 2 &&
                  d->stats.taken - d->walk.since >= SWEEP_SHARE * d->stats.items_now;
    d->walk.due_ns = now_ns + WALK_AGAIN;
    if (!sweeps && !d->walk.is_missed && d->stats.items_now == 0)
        return;
    d->walk.is_on = true;
    d->walk.is_missed = false;
    d->walk.next = 0;
    d->walk.is_sweeping = sweeps;
    if (!sweeps)
        return;
    d->walk.sweep++;
    d->walk.first = d->in.head.number;
    d->walk.since = d->stats.taken;
}

static void end_walk(struct delay *d)
{
    d->walk.is_on = false;
    if (d->walk.is_sweeping)
        d->walk.end = d->in.head.number;
    d->walk.is_sweeping = false;
}

uint32_t delay_wants(struct delay *d, uint64_t now_ns, bool *is_missing)
{
    if (d->walk.is_missed && !d->walk.is_on && d->walk.due_ns > now_ns + SECOND_NS)
        d->walk.due_ns = now_ns + SECOND_NS;
    if (!d->walk.is_on)
        begin_walk(d, now_ns);
    for (int i = 0; d->walk.is_on && i < WALK_STEPS; i++) {
        if (d->walk.next >= d->item_high) {
            end_walk(d);
            break;
        }
        struct delay_item *item = d->items[d->walk.next++];
        if (!item)
            continue;
        if (is_forgotten(d, now_ns, item)) {
            delay_item_remove(d, item);
            continue;
        }
        *is_missing = item->base != d->in.gap;
        if (*is_missing && (item->is_live || item->is_asked)) {
            d->walk.is_missed = true;
            if (delay_line_takes(d))
                return item->number;
        } else if (d->walk.is_sweeping && item->is_live && item->sweep != d->walk.sweep) {
            return item->number;
        }
    }
    return DELAY_NONE;
}

/* ---- taking out ---- */

void delay_next(struct delay *d, uint64_t now_ns, struct delay_event *event)
{
    delay_release_next(d, now_ns, event);
}

void delay_done(struct delay *d, const struct delay_event *event)
{
    delay_release_done(d, event);
}

int delay_image_part(const struct delay *d, uint32_t number, struct cache_cursor *cursor,
                     uint8_t *out, size_t size, size_t *length, bool *is_last)
{
    const struct delay_item *item = delay_item_at(d, number);

    if (!item || !cache_image_is_valid(item->image))
        return MD_ERR_STATE;
    return cache_image_part(item->image, cursor, out, size, length, is_last);
}

void delay_show_again(struct delay *d)
{
    for (uint32_t i = 0; i < d->item_high; i++) {
        struct delay_item *item = d->items[i];

        if (!item)
            continue;
        item->is_shown = false;
        item->suspects = false;
        item->shows = item->is_live;
        if (item->shows)
            delay_news_add(d, item);
    }
}

/* ---- the rest ---- */

/* Chunks that are read are gone, but for those that a restart needs: since the last sweep whose
 * images are all out. Where room is short a restart has to do without. */
static void release_chunks(struct delay *d)
{
    uint64_t keep = d->out.chunk;

    if (d->walk.end != 0 && d->out.chunk > d->walk.end) {
        d->walk.base = d->walk.first;
        d->walk.end = 0;
    }
    if (d->walk.base < keep && d->stats.bytes_now < d->config.bytes_max / 4 * 3 &&
        d->in.head.number - d->in.first < d->in.mask / 4 * 3)
        keep = d->walk.base;
    delay_line_release(d, keep);
}

void delay_tick(struct delay *d, uint64_t now_ns)
{
    if (delay_line_is_ripe(d, now_ns))
        delay_line_seal(d, now_ns);
    release_chunks(d);
}

uint64_t delay_deadline(const struct delay *d, uint64_t now_ns, bool takes)
{
    uint64_t deadline = delay_line_deadline(d);
    uint64_t due_ns = UINT64_MAX;

    if (takes && d->news_first != DELAY_NONE)
        return now_ns;
    if (takes)
        due_ns = delay_release_due(d);
    if (d->out.is_waiting && due_ns < now_ns + READ_AGAIN)
        due_ns = now_ns + READ_AGAIN;
    return due_ns < deadline ? due_ns : deadline;
}

uint64_t delay_oldest(const struct delay *d)
{
    uint64_t due_ns = delay_release_due(d);

    if (due_ns == UINT64_MAX)
        return 0;
    return due_ns > d->config.delay_ns ? due_ns - d->config.delay_ns : d->start_ns;
}

void delay_stats(const struct delay *d, struct delay_stats *out)
{
    struct cache_stats cache;

    cache_stats(d->cache, &cache);
    *out = d->stats;
    out->image_bytes_now = cache.bytes_now;
}
