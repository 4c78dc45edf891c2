/* pause.c - all streams of a client, paused and taken up again by its login. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "pause.h"

#include "client.h"
#include "item.h"
#include "watch.h"

/* Updates were held back while everything was paused: those streams get a fresh image, so many in a
 * turn. */
static void resume_stream(struct p2ps_core *core, uint32_t client, int32_t id, uint32_t item)
{
    uint32_t watch = p2ps_item_watch_find(core, item, client, id);
    const struct p2ps_watch *w = &core->items[item].watches[watch];

    if (!(w->flags & P2PS_WATCH_MISSED) || w->state == P2PS_WATCH_NEW ||
        w->state == P2PS_WATCH_ASKS)
        return;
    p2ps_work_spend(core, 1, 0);
    p2ps_watch_wants_image(core, item, watch);
}

void p2ps_pause_resume(struct p2ps_core *core, uint32_t client)
{
    struct p2ps_client *c = p2ps_client_at(core, client);
    uint32_t places = P2PS_ASK_PLACES;
    uint32_t item;

    while (places > 0 && core->work.asks > 0) {
        int32_t id = p2ps_idmap_walk(&c->streams, &c->walk, &places, &item);

        if (id == 0 && places > 0) {
            c->is_resuming = false;
            c->pause_all = P2PS_PAUSE_NONE;
            return;
        }
        if (id != 0 && item < P2PS_STREAM_DICTIONARY)
            resume_stream(core, client, id, item);
    }
}

static void resume_all(struct p2ps_core *core, uint32_t client)
{
    struct p2ps_client *c = p2ps_client_at(core, client);

    c->is_resuming = true;
    c->walk = (struct p2ps_idmap_walk){ 0 };
    p2ps_pause_resume(core, client);
    if (c->is_resuming && core->work.resuming != client)
        p2ps_work_wait(core, client);
}

void p2ps_pause_all(struct p2ps_core *core, uint32_t client, bool is_paused)
{
    struct p2ps_client *c = p2ps_client_at(core, client);

    if (is_paused) {
        c->pause_all = P2PS_PAUSE_ALL;
        c->is_resuming = false;
    } else if (c->pause_all == P2PS_PAUSE_ALL) {
        c->pause_all = P2PS_PAUSE_MISSED;
        resume_all(core, client);
    }
}
