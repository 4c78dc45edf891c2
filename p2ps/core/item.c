/* item.c - the item table and the watches on each item. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/err.h"
#include "client.h"
#include "form.h"
#include "item.h"
#include "itemkey/itemkey.h"
#include "network.h"
#include "private.h"
#include "tally.h"

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

uint32_t p2ps_item_take(struct p2ps_core *core)
{
    if (core->item_free == P2PS_NONE && grow_items(core) != MD_OK)
        return P2PS_NONE;
    uint32_t item = core->item_free;
    core->item_free = core->items[item].next_free;
    core->items[item] = (struct p2ps_item){
        .sink_item = RRMP_ITEM_NONE,
        .stream_state = RWF_STREAM_OPEN,
        .data_state = RWF_DATA_SUSPECT,
        .image_state = P2PS_WATCH_NEW,
    };
    core->stats.items_now++;
    atomic_fetch_add_explicit(core->config.shared.items, 1, memory_order_relaxed);
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
    it->image_state = P2PS_WATCH_NEW;
}

void p2ps_item_give(struct p2ps_core *core, uint32_t item)
{
    struct p2ps_item *it = &core->items[item];

    p2ps_item_image_forget(core, item);
    if (it->perm_data)
        core->perm_bytes -= (size_t)(it->perm_data[0] << 8 | it->perm_data[1]);
    core->stats.watch_bytes_now -= p2ps_item_watch_bytes(it);
    free(it->watches);
    free(it->perm_data);
    *it = (struct p2ps_item){ .sink_item = RRMP_ITEM_NONE, .next_free = core->item_free };
    core->item_free = item;
    core->stats.items_now--;
    atomic_fetch_sub_explicit(core->config.shared.items, 1, memory_order_relaxed);
}

int p2ps_item_watch_add(struct p2ps_core *core, uint32_t item, const struct p2ps_watch *watch)
{
    struct p2ps_item *it = &core->items[item];
    struct p2ps_client *c = p2ps_client_at(core, watch->client);

    if (it->watch_count == watch_room(it->watch_step)) {
        uint32_t more = it->watch_count / WATCH_ROOM_STEP + 1;
        struct p2ps_watch *watches =
            realloc(it->watches, (it->watch_count + more) * sizeof(*watches));
        if (!watches)
            return MD_ERR_NOMEM;
        core->stats.watch_bytes_now += more * sizeof(*watches);
        it->watches = watches;
        it->watch_step++;
    }
    int err = p2ps_idmap_put(&c->streams, watch->stream_id, item);
    if (err != MD_OK)
        return err;
    it->watches[it->watch_count++] = *watch;
    c->item_streams++;
    p2ps_tally_items(c, 1);
    core->stats.watches_now++;
    return MD_OK;
}

uint32_t p2ps_item_watch_find(const struct p2ps_core *core, uint32_t item, uint32_t client,
                              int32_t stream_id)
{
    const struct p2ps_item *it = &core->items[item];

    for (uint32_t i = 0; i < it->watch_count; i++) {
        if (it->watches[i].client == client && it->watches[i].stream_id == stream_id)
            return i;
    }
    return P2PS_NONE;
}

/* Arrays grow, and both stand side by side while they do; ids of streams are in a map. */
#define ITEM_BYTES  (3 * sizeof(struct p2ps_item))
#define WATCH_BYTES (3 * sizeof(struct p2ps_watch) + 4 * sizeof(struct p2ps_idmap_slot))

static uint64_t work_bytes(const struct p2ps_core *core)
{
    const struct p2ps_core_stats *stats = &core->stats;
    uint64_t bytes = stats->items_now * (ITEM_BYTES + rrmp_sink_item_bytes()) +
                     stats->watches_now * WATCH_BYTES + core->perm_bytes;

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

/* Takes the watch out of the item's array; the last one takes its place. */
static void take_out(struct p2ps_core *core, uint32_t item, uint32_t watch)
{
    struct p2ps_item *it = &core->items[item];

    p2ps_form_give(core, it->watches[watch].form);
    it->watches[watch] = it->watches[--it->watch_count];
    core->stats.watches_now--;
    p2ps_item_drop_if_unwatched(core, item);
}

void p2ps_item_watch_forget(struct p2ps_core *core, uint32_t item, uint32_t watch)
{
    take_out(core, item, watch);
}

void p2ps_item_watch_remove(struct p2ps_core *core, uint32_t item, uint32_t watch)
{
    struct p2ps_watch w = core->items[item].watches[watch];
    struct p2ps_client *c = p2ps_client_at(core, w.client);

    p2ps_idmap_take(&c->streams, w.stream_id);
    c->item_streams--;
    p2ps_tally_items(c, -1);
    if (w.flags & (P2PS_WATCH_OWED_IMAGE | P2PS_WATCH_OWED_STATUS))
        c->owed_count--;
    take_out(core, item, watch);
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
