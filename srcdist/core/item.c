/* item.c - the table of items, and their places in the counts of their service. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "item.h"

#include <stdlib.h>
#include <string.h>

#define ITEMS_STEP 8 /* the table grows by an eighth */

struct srcdist_item *srcdist_item_at(struct srcdist_core *core, uint32_t item)
{
    return item < core->item_room && core->items[item].state != SRCDIST_ITEM_FREE
               ? &core->items[item]
               : NULL;
}

struct srcdist_item *srcdist_item_make(struct srcdist_core *core, uint32_t item)
{
    if (item >= core->item_room) {
        uint32_t room = core->item_room ? core->item_room : 1024;
        while (room <= item)
            room += room / ITEMS_STEP;
        struct srcdist_item *items = realloc(core->items, room * sizeof(*items));
        if (!items)
            return NULL;
        memset(items + core->item_room, 0, (room - core->item_room) * sizeof(*items));
        core->items = items;
        core->item_room = room;
    }
    struct srcdist_item *it = &core->items[item];
    if (it->state == SRCDIST_ITEM_FREE) {
        *it = (struct srcdist_item){
            .state = SRCDIST_ITEM_WAITING,
            .provider = SRCDIST_NONE,
        };
        core->stats.items_now++;
    }
    return it;
}

void srcdist_item_set_active(struct srcdist_core *core, struct srcdist_item *it, bool is_active)
{
    if (it->is_active == is_active)
        return;
    it->is_active = is_active;
    if (is_active)
        core->services[it->service].active_count++;
    else
        core->services[it->service].active_count--;
}
