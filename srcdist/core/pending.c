/* pending.c - items that wait for a provider's window: new ones, recovery, standby. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "pending.h"

#include <stdlib.h>

#include "base/err.h"

/*
 * When a provider returns, all its items are requested again. A new item must not wait behind all
 * of them, nor may these wait for ever: new consumers, recovery and standby are served
 * 5 : 4 : 1, and what one does not use goes to the others.
 *
 * A pending item knows its place (due_ns). A place whose item has gone elsewhere is void: it is
 * passed over, and swept before a ring grows, so that a ring is never much longer than the items
 * that wait in it.
 */

#define ROOM_MIN 1024u

static uint64_t place_of(enum srcdist_pending_class class, uint32_t at)
{
    return (uint64_t) class << 32 | at;
}

static bool is_void(const struct srcdist_core *core, uint32_t provider,
                    enum srcdist_pending_class class, uint32_t at)
{
    const struct srcdist_pending *q = &core->providers[provider].pending[class];
    const struct srcdist_item *it = &core->items[q->items[at & (q->room - 1)]];

    return it->state != SRCDIST_ITEM_PENDING || it->provider != provider ||
           it->due_ns != place_of(class, at);
}

static void sweep(struct srcdist_core *core, uint32_t provider, enum srcdist_pending_class class)
{
    struct srcdist_pending *q = &core->providers[provider].pending[class];
    uint32_t kept = 0;

    for (uint32_t i = 0; i < q->count; i++) {
        if (is_void(core, provider, class, q->first + i))
            continue;
        uint32_t item = q->items[(q->first + i) & (q->room - 1)];
        q->items[(q->first + kept) & (q->room - 1)] = item;
        core->items[item].due_ns = place_of(class, q->first + kept++);
    }
    q->count = kept;
}

static int grow(struct srcdist_pending *q)
{
    uint32_t room = q->room ? q->room * 2 : ROOM_MIN;
    uint32_t *items = malloc(room * sizeof(*items));

    if (!items)
        return MD_ERR_NOMEM;
    for (uint32_t i = 0; i < q->count; i++)
        items[(q->first + i) & (room - 1)] = q->items[(q->first + i) & (q->room - 1)];
    free(q->items);
    q->items = items;
    q->room = room;
    return MD_OK;
}

int srcdist_pending_put(struct srcdist_core *core, uint32_t provider,
                        enum srcdist_pending_class class, uint32_t item)
{
    struct srcdist_pending *q = &core->providers[provider].pending[class];

    if (q->count == q->room) {
        sweep(core, provider, class);
        int err = q->count >= q->room / 2 ? grow(q) : MD_OK;
        if (err != MD_OK)
            return err;
    }
    uint32_t at = q->first + q->count++;
    q->items[at & (q->room - 1)] = item;
    core->items[item].due_ns = place_of(class, at);
    return MD_OK;
}

bool srcdist_pending_next(struct srcdist_core *core, uint32_t provider,
                          enum srcdist_pending_class *class, uint32_t *item)
{
    static const uint8_t pattern[10] = { SRCDIST_PENDING_NEW, SRCDIST_PENDING_RECOVERY,
                                         SRCDIST_PENDING_NEW, SRCDIST_PENDING_RECOVERY,
                                         SRCDIST_PENDING_NEW, SRCDIST_PENDING_RECOVERY,
                                         SRCDIST_PENDING_NEW, SRCDIST_PENDING_RECOVERY,
                                         SRCDIST_PENDING_NEW, SRCDIST_PENDING_STANDBY };
    struct srcdist_provider *p = &core->providers[provider];

    for (unsigned i = 0; i < 10; i++) {
        *class = (enum srcdist_pending_class)pattern[(p->pending_turn + i) % 10];
        struct srcdist_pending *q = &p->pending[*class];
        while (q->count > 0 && is_void(core, provider, *class, q->first)) {
            q->first++;
            q->count--;
        }
        if (q->count == 0)
            continue;
        *item = q->items[q->first & (q->room - 1)];
        return true;
    }
    return false;
}

void srcdist_pending_take(struct srcdist_provider *p, enum srcdist_pending_class class)
{
    p->pending[class].first++;
    p->pending[class].count--;
    p->pending_turn = (uint8_t)((p->pending_turn + 1) % 10);
}

size_t srcdist_pending_bytes(const struct srcdist_provider *p)
{
    size_t bytes = 0;

    for (unsigned i = 0; i < SRCDIST_PENDING_CLASSES; i++)
        bytes += p->pending[i].room * sizeof(*p->pending[i].items);
    return bytes;
}

void srcdist_pending_fini(struct srcdist_provider *p)
{
    for (unsigned i = 0; i < SRCDIST_PENDING_CLASSES; i++) {
        free(p->pending[i].items);
        p->pending[i] = (struct srcdist_pending){ 0 };
    }
}
