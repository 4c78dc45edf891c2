/* items.c - see items.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "items.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/err.h"

#define ITEMS_MIN 1024u

int delay_items_create(struct delay *d)
{
    d->news_first = d->news_last = DELAY_NONE;
    return md_table_create(ITEMS_MIN, &d->table);
}

void delay_items_destroy(struct delay *d)
{
    for (uint32_t i = 0; i < d->item_high; i++) {
        if (d->items[i])
            delay_item_drop_image(d, d->items[i]);
        free(d->items[i]);
    }
    free(d->items);
    free(d->free);
    md_table_destroy(d->table);
}

struct delay_item *delay_item_find(const struct delay *d, struct rwf_bytes key)
{
    return md_table_get(d->table, key.data, key.length);
}

struct delay_item *delay_item_at(const struct delay *d, uint32_t number)
{
    return number < d->item_high ? d->items[number] : NULL;
}

static bool grow(struct delay *d)
{
    uint32_t room = d->item_room ? d->item_room * 2 : ITEMS_MIN;
    struct delay_item **items = realloc(d->items, room * sizeof(struct delay_item *));

    if (!items)
        return false;
    d->items = items;
    uint32_t *numbers = realloc(d->free, room * sizeof(*numbers));
    if (!numbers)
        return false;
    d->free = numbers;
    d->item_room = room;
    return true;
}

struct delay_item *delay_item_make(struct delay *d, struct rwf_bytes key)
{
    struct delay_item *item = delay_item_find(d, key);

    if (item)
        return item;
    if (d->stats.items_now >= d->config.item_limit || key.length > DELAY_KEY_MAX ||
        (d->free_count == 0 && d->item_high == d->item_room && !grow(d)))
        return NULL;
    item = calloc(1, sizeof(*item) + key.length);
    if (!item)
        return NULL;
    item->key_length = key.length;
    if (key.length)
        memcpy(item->key, key.data, key.length);
    if (md_table_put(d->table, item->key, item->key_length, item) != MD_OK) {
        free(item);
        return NULL;
    }
    item->number = d->free_count ? d->free[--d->free_count] : d->item_high++;
    item->next_news = DELAY_NONE;
    d->items[item->number] = item;
    d->stats.items_now++;
    return item;
}

void delay_item_drop_image(struct delay *d, struct delay_item *item)
{
    cache_image_free(d->cache, item->image);
    item->image = NULL;
    item->is_whole = false;
    item->is_in_parts = false;
}

void delay_item_remove(struct delay *d, struct delay_item *item)
{
    MD_ASSERT(!item->is_queued);
    delay_item_drop_image(d, item);
    md_table_remove(d->table, item->key, item->key_length);
    d->items[item->number] = NULL;
    d->free[d->free_count++] = item->number;
    d->stats.items_now--;
    free(item);
}

void delay_news_add(struct delay *d, struct delay_item *item)
{
    if (item->is_queued)
        return;
    item->is_queued = true;
    item->next_news = DELAY_NONE;
    if (d->news_last == DELAY_NONE)
        d->news_first = item->number;
    else
        d->items[d->news_last]->next_news = item->number;
    d->news_last = item->number;
}

struct delay_item *delay_news_first(const struct delay *d)
{
    return d->news_first == DELAY_NONE ? NULL : d->items[d->news_first];
}

void delay_news_take(struct delay *d)
{
    struct delay_item *item = d->items[d->news_first];

    item->is_queued = false;
    d->news_first = item->next_news;
    if (d->news_first == DELAY_NONE)
        d->news_last = DELAY_NONE;
}
