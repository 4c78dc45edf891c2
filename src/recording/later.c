/* later.c - see later.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "later.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

/*
 * The ring is counted in units of 16 bytes, so that a head finds room in front of its end. An entry
 * is a head and its message, in one piece. `next` leads from one entry of an item to the next one.
 */
#define UNIT 16u

struct head {
    uint32_t number; /* of the item; 0: nothing, up to the ring's end */
    uint32_t length;
    uint32_t next; /* units to the item's next record; 0: it is the last one */
    uint8_t flags;
};
_Static_assert(sizeof(struct head) == UNIT, "a head is a unit");

int rec_later_init(struct rec_later *later, struct rec_images *images, size_t bytes)
{
    *later = (struct rec_later){ .images = images, .units = bytes / UNIT, .begin = 1, .end = 1 };
    later->bytes = malloc(bytes);
    return later->bytes ? MD_OK : MD_ERR_NOMEM;
}

void rec_later_fini(struct rec_later *later)
{
    free(later->bytes);
    free(later->items);
    *later = (struct rec_later){ 0 };
}

void rec_later_clear(struct rec_later *later)
{
    later->begin = later->end;
    if (later->items)
        memset(later->items, 0, later->item_size * sizeof(*later->items));
}

static struct head *head_at(const struct rec_later *later, uint64_t at)
{
    return (struct head *)(later->bytes + at % later->units * UNIT);
}

static uint64_t units_of(size_t length)
{
    return 1 + (length + UNIT - 1) / UNIT;
}

/* ---- applying ---- */

static void apply(struct rec_later *later, const struct head *head)
{
    const struct rwf_bytes message = rwf_bytes((const uint8_t *)(head + 1), head->length);

    (void)rec_images_apply(later->images, &later->images->all[head->number], message, head->flags,
                           false);
}

/* The first record of an item is applied. */
static void step(struct rec_later *later, struct rec_waiting *waiting)
{
    const struct head *head = head_at(later, waiting->first);

    apply(later, head);
    waiting->first = head->next ? waiting->first + head->next : 0;
}

void rec_later_settle(struct rec_later *later, uint32_t number)
{
    if (number >= later->item_size)
        return;
    while (later->items[number].first)
        step(later, &later->items[number]);
}

/* The oldest entry leaves. It still waits if its item's records begin with it. */
static void evict(struct rec_later *later)
{
    const struct head *head = head_at(later, later->begin);

    if (head->number == 0) {
        later->begin += later->units - later->begin % later->units;
        return;
    }
    if (later->items[head->number].first == later->begin)
        step(later, &later->items[head->number]);
    later->begin += units_of(head->length);
}

void rec_later_settle_all(struct rec_later *later)
{
    while (later->begin < later->end)
        evict(later);
}

/* ---- putting ---- */

static int grow(struct rec_later *later)
{
    uint32_t size = later->images->size;
    struct rec_waiting *items = realloc(later->items, size * sizeof(*items));

    if (!items)
        return MD_ERR_NOMEM;
    memset(items + later->item_size, 0, (size - later->item_size) * sizeof(*items));
    later->items = items;
    later->item_size = size;
    return MD_OK;
}

/* Room for an entry in one piece; it fits. */
static void make_room(struct rec_later *later, uint64_t units)
{
    uint64_t left = later->units - later->end % later->units;
    uint64_t wanted = left < units ? left + units : units;

    while (later->end - later->begin + wanted > later->units)
        evict(later);
    if (left < units) {
        head_at(later, later->end)->number = 0;
        later->end += left;
    }
}

int rec_later_put(struct rec_later *later, uint32_t number, struct rwf_bytes message,
                  unsigned flags)
{
    if (number >= later->item_size && grow(later) != MD_OK)
        return MD_ERR_NOMEM;
    struct rec_waiting *waiting = &later->items[number];
    uint64_t units = units_of(message.length);

    if (flags & REC_FIRST)
        waiting->first = 0;
    else if (!waiting->first && !later->images->all[number].image)
        return MD_OK; /* it has no image yet that this could change */
    if (units > later->units / 2) {
        rec_later_settle(later, number);
        (void)rec_images_apply(later->images, &later->images->all[number], message, flags, false);
        return MD_OK;
    }
    make_room(later, units);
    struct head *head = head_at(later, later->end);
    *head = (struct head){ .number = number,
                           .length = (uint32_t)message.length,
                           .flags = (uint8_t)flags };
    if (message.length)
        memcpy(head + 1, message.data, message.length);
    if (waiting->first)
        head_at(later, waiting->last)->next = (uint32_t)(later->end - waiting->last);
    else
        waiting->first = later->end;
    waiting->last = later->end;
    later->end += units;
    return MD_OK;
}
