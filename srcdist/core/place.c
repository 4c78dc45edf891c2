/* place.c - which provider an item is asked of, and when again. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "place.h"

#include "base/err.h"
#include "item.h"
#include "item_end.h"
#include "service.h"
#include "upstream.h"

void srcdist_item_place(struct srcdist_core *core, uint32_t item)
{
    struct srcdist_item *it = &core->items[item];

    if (core->services[it->service].is_broadcast ||
        srcdist_service_asked(core, it->service) == SRCDIST_NONE) {
        srcdist_item_set_state(core, it, SRCDIST_ITEM_WAITING);
        return;
    }
    srcdist_item_leave_offer(core, it); /* frees the place of an earlier attempt */
    uint32_t provider = srcdist_service_asked_with_room(core, it->service);
    if (provider == SRCDIST_NONE) {
        srcdist_item_end(core, item, RRMP_REFUSE_NOT_HERE, RWF_CODE_TOO_MANY_ITEMS,
                         "The source has as many items open as its OpenLimit allows");
        return;
    }
    if (srcdist_item_enqueue(core, item, provider) == MD_OK)
        srcdist_items_pump(core, provider);
    else
        srcdist_item_backoff(core, item);
}

/* A lingering item has no consumer: do not ask a provider that returns for it. */
bool srcdist_item_is_wanted(const struct srcdist_core *core, uint32_t item)
{
    struct rrmp_source_item info;

    return rrmp_source_item_info(core->source, item, &info) &&
           (info.requester_count > 0 || info.is_kept || info.is_private);
}

void srcdist_items_place(struct srcdist_core *core, uint32_t service)
{
    for (uint32_t i = 0; i < core->item_room; i++) {
        if (core->items[i].state == SRCDIST_ITEM_WAITING && core->items[i].service == service &&
            srcdist_item_is_wanted(core, i))
            srcdist_item_place(core, i);
    }
}
