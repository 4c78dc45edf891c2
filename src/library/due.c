/* due.c - items whose image is due: asked for when the ring has room; the end of an item. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "internal.h"
#include "rmds/rwf.h"

bool library_source_has_room(const struct rmds_backbone *backbone)
{
    size_t used, size;

    attach_fill(backbone->attach, &used, &size);
    return used <= size / 2;
}

void library_offered_due(struct rmds_offered *item)
{
    struct library_source *s = &item->offer->backbone->source;

    if (item->is_due)
        return;
    item->is_due = true;
    item->due_next = MD_NIL;
    if (s->due_last != MD_NIL)
        ((struct rmds_offered *)md_slots_at(&s->slots, s->due_last))->due_next = item->number;
    else
        s->due_first = item->number;
    s->due_last = item->number;
}

void library_offered_undue(struct rmds_offered *item)
{
    struct library_source *s = &item->offer->backbone->source;
    uint32_t before = MD_NIL;

    for (uint32_t n = s->due_first; n != item->number;) {
        before = n;
        n = ((struct rmds_offered *)md_slots_at(&s->slots, n))->due_next;
    }
    if (before == MD_NIL)
        s->due_first = item->due_next;
    else
        ((struct rmds_offered *)md_slots_at(&s->slots, before))->due_next = item->due_next;
    if (s->due_last == item->number)
        s->due_last = before;
    item->is_due = false;
}

bool library_offered_lives(const struct rmds_offered *item, uint32_t serial)
{
    return item->offer && item->serial == serial;
}

void library_offered_free(struct rmds_offered *item)
{
    struct library_source *s = &item->offer->backbone->source;

    if (item->is_due)
        library_offered_undue(item);
    if (item->source_item != RRMP_ITEM_NONE)
        s->items[item->source_item] = NULL;
    free(item->name);
    item->offer = NULL;
    md_slots_give(&s->slots, item->number);
}

void library_offered_give(struct rmds_offered *item)
{
    uint32_t serial = item->serial;
    bool is_told = item->is_opened && item->offer->options.on_close;

    item->is_opened = false;
    if (is_told)
        item->offer->options.on_close(item->offer->options.owner, item);
    if (library_offered_lives(item, serial))
        library_offered_free(item);
}

static void ask(struct rmds_offered *item)
{
    if (item->offer->options.on_image)
        item->offer->options.on_image(item->offer->options.owner, item);
}

/* An image that found no room raises the same question again, in the same turn: it waits then. */
void library_offered_ask(struct rmds_offered *item)
{
    if (item->offer->backbone->source.is_full)
        library_offered_due(item);
    else
        ask(item);
}

/* Its parts went out in part: the consumer asks anew. */
static void refuse(struct rmds_offered *item)
{
    static const struct rrmp_ending ending = { .state = RWF_STREAM_OPEN << 3 | RWF_DATA_SUSPECT,
                                               .code = RWF_CODE_NO_RESOURCES,
                                               .scope = RRMP_REFUSE_LATER,
                                               .wait_ms = 1000 };

    (void)rrmp_source_refuse(item->offer->backbone->source.source, item->ask, &ending);
    library_offered_give(item);
}

/* Images that wait, as many as may go in a turn; the first that finds no room ends it. */
void library_source_ask_due(struct rmds_backbone *backbone)
{
    struct library_source *s = &backbone->source;

    while (s->due_first != MD_NIL && !s->is_full && rrmp_source_image_budget(s->source) > 0 &&
           library_source_has_room(backbone)) {
        struct rmds_offered *item = md_slots_at(&s->slots, s->due_first);

        library_offered_undue(item);
        if (item->is_broken)
            refuse(item);
        else
            ask(item);
    }
}
