/* item.c - the item table and the watches on each item. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "backlog.h"
#include "base/assert.h"
#include "base/err.h"
#include "client.h"
#include "form.h"
#include "item.h"
#include "itemkey/itemkey.h"
#include "network.h"
#include "pace.h"
#include "phase.h"
#include "private.h"
#include "tally.h"
#include "trail.h"

#define ITEMS_MIN       1024
#define ITEMS_STEP      8 /* the table grows by an eighth */
#define WATCH_ROOM_STEP 8 /* an item's watches grow by an eighth */

static int grow_items(struct p2ps_core *core)
{
    uint32_t room = core->item_room + core->item_room / ITEMS_STEP + ITEMS_MIN;
    struct p2ps_item *items = realloc(core->items, room * sizeof(*items));

    if (!items)
        return MD_ERR_NOMEM;
    for (uint32_t i = core->item_room; i < room; i++) {
        items[i] = (struct p2ps_item){
            .sink_item = RRMP_ITEM_NONE,
            .next_free = i + 1 < room ? i + 1 : core->item_free,
        };
    }
    core->item_free = core->item_room;
    core->items = items;
    core->item_room = room;
    return MD_OK;
}

/* How many watches an array has room for that has grown so often. */
static uint32_t watch_room(unsigned step)
{
    uint32_t room = 0;

    while (step-- > 0)
        room += room / WATCH_ROOM_STEP + 1;
    return room;
}

size_t p2ps_item_watch_bytes(const struct p2ps_item *it)
{
    return watch_room(it->watch_step) * sizeof(*it->watches);
}

uint32_t p2ps_item_take(struct p2ps_core *core, uint16_t service)
{
    if (core->item_free == P2PS_NONE && grow_items(core) != MD_OK)
        return P2PS_NONE;
    uint32_t item = core->item_free;
    core->item_free = core->items[item].next_free;
    core->items[item] = (struct p2ps_item){
        .sink_item = RRMP_ITEM_NONE,
        .service = service,
        .network = core->services[service].network & 7u,
        .stream_state = RWF_STREAM_OPEN,
        .data_state = RWF_DATA_SUSPECT,
        .image_state = P2PS_WATCH_NEW,
    };
    core->services[service].items++;
    core->stats.items_now++;
    atomic_fetch_add_explicit(p2ps_parties_items(core->parties), 1, memory_order_relaxed);
    return item;
}

void p2ps_item_image_drop(struct p2ps_core *core, struct p2ps_item *it)
{
    cache_image_free(core->cache, it->image);
    it->image = NULL;
}

void p2ps_item_image_forget(struct p2ps_core *core, uint32_t item)
{
    struct p2ps_item *it = &core->items[item];

    if (it->image)
        p2ps_item_image_drop(core, it);
    p2ps_item_image_set(it, P2PS_WATCH_NEW);
}

void p2ps_item_owes_nothing(struct p2ps_core *core, uint32_t item)
{
    struct p2ps_item *it = &core->items[item];

    if (it->owes == 0)
        return;
    core->walks[it->owes - 1].left--;
    core->walk_items--;
    it->owes = 0;
}

void p2ps_item_give(struct p2ps_core *core, uint32_t item)
{
    struct p2ps_item *it = &core->items[item];

    p2ps_item_owes_nothing(core, item);
    p2ps_pace_end(core, item);
    p2ps_item_image_forget(core, item);
    if (it->perm_data)
        core->perm_bytes -= (size_t)(it->perm_data[0] << 8 | it->perm_data[1]);
    core->stats.watch_bytes_now -= p2ps_item_watch_bytes(it);
    free(it->watches);
    free(it->perm_data);
    core->services[it->service].items--;
    *it = (struct p2ps_item){ .sink_item = RRMP_ITEM_NONE, .next_free = core->item_free };
    core->item_free = item;
    core->stats.items_now--;
    atomic_fetch_sub_explicit(p2ps_parties_items(core->parties), 1, memory_order_relaxed);
}

/* Room for a byte of each watch of the item with the most. */
static bool grow_sets(struct p2ps_core *core, uint32_t count)
{
    if (count <= core->entry_room)
        return true;
    uint8_t *sets = realloc(core->entry_sets, count);
    if (!sets)
        return false;
    core->entry_sets = sets;
    core->entry_room = count;
    return true;
}

int p2ps_item_watch_add(struct p2ps_core *core, uint32_t item, const struct p2ps_watch *watch)
{
    struct p2ps_item *it = &core->items[item];
    struct p2ps_client *c = p2ps_client_at(core, watch->client);

    if (it->watch_count == watch_room(it->watch_step)) {
        uint32_t more = it->watch_count / WATCH_ROOM_STEP + 1;
        struct p2ps_watch *watches =
            grow_sets(core, it->watch_count + more)
                ? realloc(it->watches, (it->watch_count + more) * sizeof(*watches))
                : NULL;
        if (!watches)
            return MD_ERR_NOMEM;
        core->stats.watch_bytes_now += more * sizeof(*watches);
        it->watches = watches;
        it->watch_step++;
    }
    int err = p2ps_pace_join(core, item, core->forms[watch->form].pace);
    if (err != MD_OK)
        return err;
    err = p2ps_idmap_put(&c->streams, watch->stream_id, item, it->watch_count);
    if (err != MD_OK) {
        p2ps_pace_leave(core, item, core->forms[watch->form].pace);
        return err;
    }
    it->watches[it->watch_count++] = *watch;
    p2ps_phase_look(core, watch->client);
    c->item_streams++;
    p2ps_tally_items(c, 1);
    core->stats.watches_now++;
    return MD_OK;
}

uint32_t p2ps_item_watch_find(const struct p2ps_core *core, uint32_t item, uint32_t client,
                              int32_t stream_id)
{
    const struct p2ps_idmap *streams = &core->clients[client].streams;

    return p2ps_idmap_get(streams, stream_id) == item ? p2ps_idmap_place(streams, stream_id)
                                                      : P2PS_NONE;
}

/* Arrays grow, and both stand side by side while they do; ids of streams are in a map. */
#define ITEM_BYTES  (3 * sizeof(struct p2ps_item))
#define WATCH_BYTES (3 * sizeof(struct p2ps_watch) + 4 * sizeof(struct p2ps_idmap_slot))

static uint64_t work_bytes(const struct p2ps_core *core)
{
    const struct p2ps_core_stats *stats = &core->stats;
    uint64_t bytes = stats->items_now * (ITEM_BYTES + rrmp_sink_item_bytes()) +
                     stats->watches_now * WATCH_BYTES + core->perm_bytes;

    bytes += p2ps_pace_bytes(core);
    for (unsigned i = 0; i < core->config.network_count; i++)
        bytes += rrmp_sink_stats(core->sinks[i])->key_bytes_now;
    return bytes;
}

void p2ps_core_count_work(struct p2ps_core *core)
{
    core->stats.work_bytes_now = work_bytes(core);
}

bool p2ps_core_is_full(const struct p2ps_core *core)
{
    return core->config.work_bytes_max && work_bytes(core) >= core->config.work_bytes_max;
}

void p2ps_item_drop_if_unwatched(struct p2ps_core *core, uint32_t item)
{
    struct p2ps_item *it = &core->items[item];

    if (it->watch_count > 0)
        return;
    if (it->sink_item != RRMP_ITEM_NONE && !it->has_ended)
        rrmp_sink_item_close(p2ps_item_sink(core, item), core->now_ns, it->sink_item);
    p2ps_item_give(core, item);
}

/* Nothing is kept of what each watch says: one that is alone decides, and beside others it raises
 * the priority or changes nothing. */
void p2ps_item_priority(struct p2ps_core *core, uint32_t item,
                        const struct omm_item_request *request, bool may_raise)
{
    const struct p2ps_item *it = &core->items[item];
    struct rrmp_sink *sink = p2ps_item_sink(core, item);
    struct rrmp_sink_item info;

    if (!request->has_priority || it->has_ended || !rrmp_sink_item_info(sink, it->sink_item, &info))
        return;
    uint32_t said = (uint32_t)request->priority_class << 16 | request->priority_count;
    uint32_t now = (uint32_t)info.priority_class << 16 | info.priority_count;
    if (it->watch_count == 1 || (may_raise && said > now))
        rrmp_sink_item_priority(sink, core->now_ns, it->sink_item, request->priority_class,
                                request->priority_count);
}

/*
 * The image of a snapshot may come before the verdict about it, and then never again. So one that
 * waits for a verdict is a watch on an item that stays open, as if others had it; a private one is
 * asked for as a stream of its own.
 */
void p2ps_item_keep_open(struct p2ps_core *core, uint32_t item)
{
    struct p2ps_item *it = &core->items[item];
    struct rrmp_sink *sink = p2ps_item_sink(core, item);
    uint8_t key[RRMP_KEY_SIZE_MAX];
    struct rrmp_sink_item info;
    uint32_t sink_item = RRMP_ITEM_NONE;

    if (!it->is_snapshot || !rrmp_sink_item_info(sink, it->sink_item, &info))
        return;
    memcpy(key, info.key.bytes, info.key.length);
    struct rrmp_sink_open open = {
        .service = info.service,
        .key = { key, info.key.length },
        .message = info.message,
        .priority_class = 1,
        .priority_count = 1,
        .is_private = it->is_private,
        .user = item,
    };
    if (rrmp_sink_item_open(sink, core->now_ns, &open, &sink_item) != MD_OK)
        return; /* at the limit of items: the snapshot goes on as it is */
    rrmp_sink_item_close(sink, core->now_ns, it->sink_item);
    it->sink_item = sink_item;
    it->is_snapshot = false;
}

/* ---- states ---- */

void p2ps_watch_set(struct p2ps_watch *w, enum p2ps_watch_state state)
{
    /* A set of states for each: those that may follow it. */
    static const uint8_t followers[] = {
        [P2PS_WATCH_ASKS] = 1 << P2PS_WATCH_NEW | 1 << P2PS_WATCH_STEP | 1 << P2PS_WATCH_ENDED,
        [P2PS_WATCH_NEW] = 1 << P2PS_WATCH_NEW | 1 << P2PS_WATCH_FILLING | 1 << P2PS_WATCH_STEP |
                           1 << P2PS_WATCH_ASKS | 1 << P2PS_WATCH_ENDED,
        [P2PS_WATCH_FILLING] = 1 << P2PS_WATCH_NEW | 1 << P2PS_WATCH_STEP | 1 << P2PS_WATCH_ASKS |
                               1 << P2PS_WATCH_ENDED,
        [P2PS_WATCH_STEP] = 1 << P2PS_WATCH_NEW | 1 << P2PS_WATCH_ASKS | 1 << P2PS_WATCH_ENDED,
        [P2PS_WATCH_ENDED] = 0,
    };

    MD_ASSERT(w->state <= P2PS_WATCH_ENDED && followers[w->state] >> state & 1);
    w->state = state & 7u;
}

void p2ps_item_image_set(struct p2ps_item *it, enum p2ps_watch_state state)
{
    MD_ASSERT(state == P2PS_WATCH_NEW ||
              (it->image_state == P2PS_WATCH_NEW && state == P2PS_WATCH_FILLING) ||
              (it->image_state == P2PS_WATCH_FILLING && state == P2PS_WATCH_STEP));
    it->image_state = state & 3u;
}

/* ---- the end of watches, and of items ---- */

static void mark_ended(struct p2ps_core *core, uint32_t item, uint32_t watch)
{
    struct p2ps_watch *w = &core->items[item].watches[watch];

    p2ps_backlog_forget(core, w);
    p2ps_pace_leave(core, item, core->forms[w->form].pace);
    p2ps_form_give(core, w->form);
    core->stats.watches_now--;
    p2ps_watch_set(w, P2PS_WATCH_ENDED);
    w->flags = 0;
    w->next_item = core->ended_item;
    w->next_place = core->ended_place;
    core->ended_item = item;
    core->ended_place = watch;
}

void p2ps_item_watch_end(struct p2ps_core *core, uint32_t item, uint32_t watch)
{
    const struct p2ps_watch *w = &core->items[item].watches[watch];

    p2ps_idmap_take(&p2ps_client_at(core, w->client)->streams, w->stream_id);
    p2ps_item_watch_forget(core, item, watch);
}

void p2ps_item_watch_forget(struct p2ps_core *core, uint32_t item, uint32_t watch)
{
    const struct p2ps_watch *w = &core->items[item].watches[watch];
    struct p2ps_client *c = p2ps_client_at(core, w->client);

    p2ps_trail_close(core, item, watch);
    c->item_streams--;
    p2ps_tally_items(c, -1);
    if (w->flags & P2PS_WATCH_OWED)
        c->owed_count--;
    mark_ended(core, item, watch);
}

static void trim(struct p2ps_item *it)
{
    while (it->watch_count > 0 && it->watches[it->watch_count - 1].state == P2PS_WATCH_ENDED)
        it->watch_count--;
}

/* The last watch of the item takes the place of one that has ended. The array stays as it is until
 * the item is given back, so a watch beyond its end can still be read. */
static void close_place(struct p2ps_core *core, uint32_t item, uint32_t place)
{
    struct p2ps_item *it = &core->items[item];
    uint32_t before = it->watch_count;

    trim(it);
    if (place < it->watch_count) {
        const struct p2ps_watch *last = &it->watches[--it->watch_count];

        it->watches[place] = *last;
        p2ps_idmap_move(&core->clients[last->client].streams, last->stream_id, place);
    }
    if (before == 0 || it->watch_count > 0)
        return;
    p2ps_item_image_forget(core, item);
    it->next_empty = core->empty_item;
    core->empty_item = item;
}

void p2ps_items_sweep(struct p2ps_core *core)
{
    while (core->ended_item != P2PS_NONE) {
        uint32_t item = core->ended_item;
        uint32_t place = core->ended_place;
        const struct p2ps_watch *w = &core->items[item].watches[place];

        core->ended_item = w->next_item;
        core->ended_place = w->next_place;
        close_place(core, item, place);
    }
    while (core->empty_item != P2PS_NONE) {
        uint32_t item = core->empty_item;

        core->empty_item = core->items[item].next_empty;
        core->items[item].image = NULL;
        p2ps_item_drop_if_unwatched(core, item);
    }
}

bool p2ps_item_key(const struct p2ps_core *core, uint32_t item, struct rwf_key *key,
                   struct rwf_qos *qos)
{
    const struct p2ps_item *it = &core->items[item];
    struct rrmp_sink_item info;
    uint8_t domain;

    if (!rrmp_sink_item_info(p2ps_item_sink(core, item), it->sink_item, &info) ||
        itemkey_decode(info.key.bytes, info.key.length, &domain, key, qos) != RWF_OK)
        return false;
    key->flags |= RWF_KEY_HAS_SERVICE_ID;
    key->service_id = core->services[it->service].id;
    return true;
}
