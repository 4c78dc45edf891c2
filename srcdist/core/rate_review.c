/* rate_review.c - see rate_review.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rate_review.h"

#include "ask.h"
#include "base/err.h"
#include "image_queue.h"
#include "rate.h"
#include "upstream.h"

#define STEP_ITEMS 4096

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

static void step(struct srcdist_core *core)
{
    for (unsigned n = 0; n < STEP_ITEMS && core->review.next < core->item_room; n++) {
        uint32_t item = core->review.next++;

        if (core->items[item].state == SRCDIST_ITEM_FREE)
            continue;
        srcdist_rate_flush(core, item);
        if (srcdist_rate_choose(core, item))
            send_image(core, item);
    }
    core->review.is_on = core->review.next < core->item_room;
}

int srcdist_rates_begin(struct srcdist_core *core, struct rates *rules)
{
    if (core->review.is_on) {
        rates_destroy(core->review.rules);
        core->review.rules = rules;
        core->review.has_rules = true;
        return MD_OK;
    }
    if (!rules && !core->rates)
        return MD_OK;
    srcdist_asks_of_old_rules(core);
    int err = srcdist_rates_use(core, rules);
    if (err != MD_OK) {
        rates_destroy(rules);
        return err;
    }
    core->review.next = 0;
    step(core);
    return MD_OK;
}

void srcdist_rates_review_tick(struct srcdist_core *core)
{
    if (core->review.is_on)
        step(core);
    if (core->review.is_on || !core->review.has_rules)
        return;
    struct rates *rules = core->review.rules;
    core->review.rules = NULL;
    core->review.has_rules = false;
    srcdist_rates_begin(core, rules); /* there is a table of rates: it does not fail */
}

void srcdist_rates_review_fini(struct srcdist_core *core)
{
    rates_destroy(core->review.rules);
}
