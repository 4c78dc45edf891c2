/* rate_review.c - see rate_review.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rate_review.h"

#include "image_queue.h"
#include "rate.h"
#include "upstream.h"

/* For all consumers, also those in step: they have other fields. */
static void send_image(struct srcdist_core *core, uint32_t item)
{
    struct srcdist_item *it = &core->items[item];

    it->has_sum = false;
    if (cache_image_is_valid(it->image)) {
        it->is_image_for_all = true;
        srcdist_image_wanted(core, item);
    } else if (it->state == SRCDIST_ITEM_OPEN && !it->is_in_parts) {
        srcdist_item_reissue(core, item); /* its answer is for all, as nobody waits for it */
    }
}

void srcdist_rates_review(struct srcdist_core *core)
{
    for (uint32_t i = 0; i < core->item_room; i++) {
        if (core->items[i].state == SRCDIST_ITEM_FREE)
            continue;
        srcdist_rate_flush(core, i);
        if (srcdist_rate_choose(core, i))
            send_image(core, i);
    }
}
