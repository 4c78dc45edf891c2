/* fetch.c - see fetch.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch.h"

#include "pace.h"

/* Of an image. What is behind follows in order, and the processor sees it; more of them at once
 * than it can have on their way would make it wait. */
#define IMAGE_LINES 4u
#define LINE        64u

static void fetch_image(const struct p2ps_item *it)
{
    const char *image = (const char *)it->image;

    if (it->image_state != P2PS_WATCH_STEP || !image)
        return;
    for (unsigned i = 0; i < IMAGE_LINES; i++)
        __builtin_prefetch(image + i * LINE);
}

void p2ps_fetch_items(const struct p2ps_core *core, const struct rrmp_sink_event *events,
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (events[i].kind == RRMP_SINK_MESSAGE)
            __builtin_prefetch(&core->items[(uint32_t)events[i].user]);
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t item = (uint32_t)events[i].user;

        if (events[i].kind != RRMP_SINK_MESSAGE || item >= core->item_room)
            continue;
        if (core->is_paced)
            p2ps_pace_fetch(core, item);
        __builtin_prefetch(core->items[item].watches);
        if (core->cache)
            fetch_image(&core->items[item]);
    }
}
