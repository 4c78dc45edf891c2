/* again.c - items that had a message which cannot be decoded: their image is asked for anew, each
 * at most once a second. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "internal.h"

enum { ITEMS_A_TURN = 16384 }; /* looked at */

void library_item_again(struct rmds_item *item)
{
    struct library_items *items = &item->backbone->items;

    item->state = LIBRARY_NEW; /* what comes until then is of no use */
    if (item->wants_again)
        return;
    item->wants_again = true;
    if (items->again_count++ == 0 && items->again_ns == 0)
        items->again_ns = item->backbone->now_ns + MD_NS_PER_S;
}

void library_item_not_again(struct rmds_item *item)
{
    if (item->wants_again)
        item->backbone->items.again_count--;
    item->wants_again = false;
}

void library_items_again(struct library_items *items, uint64_t now_ns)
{
    if (items->again_ns == 0 || now_ns < items->again_ns)
        return;
    for (int i = 0; i < ITEMS_A_TURN && items->again_next < items->slots.high; i++) {
        struct rmds_item *item = md_slots_at(&items->slots, items->again_next++);

        if (!item->backbone || !item->wants_again)
            continue;
        library_item_not_again(item);
        rrmp_sink_item_want_image(items->sink, now_ns, item->sink_item);
    }
    if (items->again_count > 0 && items->again_next < items->slots.high)
        return;
    items->again_next = 0;
    items->again_ns = items->again_count > 0 ? now_ns + MD_NS_PER_S : 0;
}
