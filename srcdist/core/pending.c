/* pending.c - items that wait for a provider's window: new ones, recovery, standby. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "pending.h"

#include <stdlib.h>

#include "base/err.h"

/*
 * After a provider's return everything it had is asked again. Who opens an item meanwhile must not
 * wait behind all that, nor may it wait for ever: new consumers, recovery and standby are served
 * 5 : 4 : 1, and what one does not use goes to the others. Places of items that have gone elsewhere
 * stay, and are passed over by who takes them.
 */

#define ROOM_MIN 1024u

static int grow(struct srcdist_pending *q)
{
    uint32_t room = q->room ? q->room * 2 : ROOM_MIN;
    uint32_t *items = malloc(room * sizeof(*items));

    if (!items)
        return MD_ERR_NOMEM;
    for (uint32_t i = 0; i < q->count; i++)
        items[i] = q->items[(q->first + i) & (q->room - 1)];
    free(q->items);
    q->items = items;
    q->room = room;
    q->first = 0;
    return MD_OK;
}

int srcdist_pending_put(struct srcdist_provider *p, enum srcdist_pending_class class, uint32_t item)
{
    struct srcdist_pending *q = &p->pending[class];

    if (q->count == q->room) {
        int err = grow(q);
        if (err != MD_OK)
            return err;
    }
    q->items[(q->first + q->count++) & (q->room - 1)] = item;
    return MD_OK;
}

bool srcdist_pending_next(const struct srcdist_provider *p, enum srcdist_pending_class *class,
                          uint32_t *item)
{
    static const uint8_t pattern[10] = { SRCDIST_PENDING_NEW, SRCDIST_PENDING_RECOVERY,
                                         SRCDIST_PENDING_NEW, SRCDIST_PENDING_RECOVERY,
                                         SRCDIST_PENDING_NEW, SRCDIST_PENDING_RECOVERY,
                                         SRCDIST_PENDING_NEW, SRCDIST_PENDING_RECOVERY,
                                         SRCDIST_PENDING_NEW, SRCDIST_PENDING_STANDBY };

    for (unsigned i = 0; i < 10; i++) {
        *class = (enum srcdist_pending_class)pattern[(p->pending_turn + i) % 10];
        const struct srcdist_pending *q = &p->pending[*class];
        if (q->count == 0)
            continue;
        *item = q->items[q->first & (q->room - 1)];
        return true;
    }
    return false;
}

void srcdist_pending_drop(struct srcdist_provider *p, enum srcdist_pending_class class,
                          bool was_asked)
{
    p->pending[class].first++;
    p->pending[class].count--;
    if (was_asked)
        p->pending_turn = (uint8_t)((p->pending_turn + 1) % 10);
}

void srcdist_pending_fini(struct srcdist_core *core, struct srcdist_provider *p)
{
    for (unsigned i = 0; i < SRCDIST_PENDING_CLASSES; i++) {
        core->stats.pending_now -= p->pending[i].count;
        free(p->pending[i].items);
        p->pending[i] = (struct srcdist_pending){ 0 };
    }
}
