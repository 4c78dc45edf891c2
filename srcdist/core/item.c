/* item.c - the table of items: their states, and what is counted of them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "item.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

#define ITEMS_STEP 8 /* the table grows by an eighth */

/* A bit for each state that may follow. */
#define TO(state) (1u << SRCDIST_ITEM_##state)

static const uint8_t follows[] = {
    [SRCDIST_ITEM_FREE] = TO(WAITING),
    [SRCDIST_ITEM_WAITING] = TO(PENDING) | TO(BACKOFF) | TO(OPEN) | TO(FREE),
    [SRCDIST_ITEM_PENDING] = TO(OPENING) | TO(BACKOFF) | TO(WAITING) | TO(FREE),
    [SRCDIST_ITEM_OPENING] = TO(OPEN) | TO(BACKOFF) | TO(WAITING) | TO(FREE),
    [SRCDIST_ITEM_OPEN] = TO(BACKOFF) | TO(WAITING) | TO(FREE),
    [SRCDIST_ITEM_BACKOFF] = TO(WAITING) | TO(OPEN) | TO(FREE),
};

static void count(struct srcdist_core *core, const struct srcdist_item *it, uint8_t state,
                  uint32_t by)
{
    core->stats.items_now += state != SRCDIST_ITEM_FREE ? by : 0;
    core->stats.pending_now += state == SRCDIST_ITEM_PENDING ? by : 0;
    core->services[it->service].pending_count += state == SRCDIST_ITEM_PENDING ? by : 0;
    core->stats.open_now += state == SRCDIST_ITEM_OPEN ? by : 0;
}

void srcdist_item_set_state(struct srcdist_core *core, struct srcdist_item *it,
                            enum srcdist_item_state state)
{
    if (it->state == state)
        return;
    MD_ASSERT(follows[it->state] & 1u << state);
    count(core, it, it->state, UINT32_MAX); /* one less */
    count(core, it, (uint8_t)state, 1);
    it->state = (uint8_t)state;
}

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
            .provider = SRCDIST_NONE,
        };
        srcdist_item_set_state(core, it, SRCDIST_ITEM_WAITING);
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
