/* items.h - the items of a line by key and by number, and the news of them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DELAY_ITEMS_H
#define DELAY_ITEMS_H

#include "private.h"

int delay_items_create(struct delay *d);
void delay_items_destroy(struct delay *d);

/* NULL: there is none, or, with `makes`, no room for one. */
struct delay_item *delay_item_find(const struct delay *d, struct rwf_bytes key);
struct delay_item *delay_item_make(struct delay *d, struct rwf_bytes key);
struct delay_item *delay_item_at(const struct delay *d, uint32_t number);
void delay_item_remove(struct delay *d, struct delay_item *item);
void delay_item_drop_image(struct delay *d, struct delay_item *item);

/* The item has news: shows, suspects or ends. */
void delay_news_add(struct delay *d, struct delay_item *item);
struct delay_item *delay_news_first(const struct delay *d);
void delay_news_take(struct delay *d);

#endif
