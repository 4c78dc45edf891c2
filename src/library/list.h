/* list.h - items in a row. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBRARY_LIST_H
#define LIBRARY_LIST_H

#include "items.h"

static inline void library_list_put(struct library_list *list, struct rmds_item *item)
{
    item->next = NULL;
    if (list->last)
        list->last->next = item;
    else
        list->first = item;
    list->last = item;
}

static inline struct rmds_item *library_list_take(struct library_list *list)
{
    struct rmds_item *item = list->first;

    if (!item)
        return NULL;
    list->first = item->next;
    if (!list->first)
        list->last = NULL;
    return item;
}

static inline void library_list_join(struct library_list *list, struct library_list *more)
{
    if (!more->first)
        return;
    if (list->last)
        list->last->next = more->first;
    else
        list->first = more->first;
    list->last = more->last;
    *more = (struct library_list){ 0 };
}

#endif
