/* check.c - the invariants of the core's tables, as code: see p2ps_core_check(). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/check.h"
#include "backlog.h"
#include "base/slots.h"
#include "item.h"
#include "pace.h"
#include "private.h"
#include "standby.h"

/*
 *   items     each slot is free or watched; its watches are streams of clients that exist; it is
 *             open at the sink of its network under its own number, unless it has ended there
 *   clients   their stream ids are those of their watches; what is owed, counted and touched agrees
 *   forms     each is counted by the watches that use it
 *   services  the maps of the networks and the table name each other, and no id is given twice
 *   walks     each is counted by the items that owe its state
 *   places    each is counted by the watches of its rate; what is pending has a turn
 *   backlog   what waits for a watch is marked there, and its client is slow
 *   sums      what the statistics call "now" is what is there
 */
struct tally {
    uint32_t items;
    uint32_t watches;
    uint32_t images;
    uint64_t perm_bytes;
    uint64_t watch_bytes;
    uint32_t clients;
    uint32_t slow;
    uint32_t logins;
    uint32_t owed;
    uint32_t streams;
    uint32_t form_watches[P2PS_FORMS_MAX];
};

/* ---- items and their watches ---- */

static const char *check_watch(const struct p2ps_core *core, uint32_t item, uint32_t watch,
                               struct tally *tally)
{
    const struct p2ps_item *it = &core->items[item];
    const struct p2ps_watch *w = &it->watches[watch];

    MD_REQUIRE(w->client < core->client_room && core->clients[w->client].is_used);
    const struct p2ps_client *c = &core->clients[w->client];
    MD_REQUIRE(p2ps_idmap_get(&c->streams, w->stream_id) == item);
    MD_REQUIRE(p2ps_item_watch_find(core, item, w->client, w->stream_id) == watch);
    MD_REQUIRE(w->form < core->form_count);
    MD_REQUIRE(w->state <= P2PS_WATCH_STEP); /* those that have ended are swept */
    /* A client gets no state of an item before the authority permits it. */
    MD_REQUIRE(w->state != P2PS_WATCH_ASKS || !(w->flags & P2PS_WATCH_OWED));
    MD_REQUIRE(!(w->flags & P2PS_WATCH_CONFLATED) || w->flags & P2PS_WATCH_HAD_IMAGE);
    MD_REQUIRE(c->is_standing ||
               p2ps_standby_is(c, it->service) == ((w->flags & P2PS_WATCH_STANDBY) != 0));
    MD_REQUIRE(it->is_private == ((w->flags & P2PS_WATCH_PRIVATE) != 0));
    MD_REQUIRE(core->forms[w->form].pace <= core->config.pace_count);
    if (p2ps_backlog_has(core, w))
        MD_REQUIRE(p2ps_backlog_find(core, w->client, w->stream_id) != MD_NIL);
    tally->form_watches[w->form]++;
    tally->owed += (w->flags & P2PS_WATCH_OWED) != 0;
    return NULL;
}

static const char *check_at_sink(const struct p2ps_core *core, uint32_t item)
{
    const struct p2ps_item *it = &core->items[item];
    struct rrmp_sink_item info;

    MD_REQUIRE(it->network < core->config.network_count);
    MD_REQUIRE(it->service < core->service_count);
    MD_REQUIRE(core->services[it->service].network == it->network);
    if (it->has_ended)
        return NULL;
    MD_REQUIRE(it->sink_item != RRMP_ITEM_NONE);
    MD_REQUIRE(rrmp_sink_item_info(core->sinks[it->network], it->sink_item, &info));
    MD_REQUIRE(info.user == item);
    return NULL;
}

static const char *check_paces(const struct p2ps_core *core, uint32_t item)
{
    const struct p2ps_item *it = &core->items[item];
    uint32_t watches[P2PS_PACES_MAX + 1] = { 0 };
    bool is_ahead[P2PS_PACES_MAX + 1] = { false };

    for (uint32_t i = 0; i < it->watch_count; i++) {
        const struct p2ps_watch *w = &it->watches[i];

        watches[core->forms[w->form].pace]++;
        is_ahead[core->forms[w->form].pace] |= (w->flags & P2PS_WATCH_AHEAD) != 0;
    }
    for (unsigned pace = P2PS_PACE_NONE; pace <= core->config.pace_count; pace++)
        MD_REQUIRE_ALL(
            p2ps_pace_check_item(core, item, (uint8_t)pace, watches[pace], is_ahead[pace]));
    return NULL;
}

static const char *check_item(const struct p2ps_core *core, uint32_t item, struct tally *tally)
{
    const struct p2ps_item *it = &core->items[item];

    MD_REQUIRE_ALL(check_at_sink(core, item));
    /* A private item has one watch, and so has a snapshot that its source ends. */
    MD_REQUIRE(!(it->is_private || it->is_snapshot) || it->watch_count == 1);
    MD_REQUIRE(!it->image || it->image_state != P2PS_WATCH_NEW);
    MD_REQUIRE(it->image_state != P2PS_WATCH_ASKS);
    for (uint32_t i = 0; i < it->watch_count; i++)
        MD_REQUIRE_ALL(check_watch(core, item, i, tally));
    MD_REQUIRE_ALL(check_paces(core, item));
    tally->items++;
    tally->watches += it->watch_count;
    tally->images += it->image != NULL;
    tally->watch_bytes += p2ps_item_watch_bytes(it);
    if (it->perm_data)
        tally->perm_bytes += (size_t)(it->perm_data[0] << 8 | it->perm_data[1]);
    return NULL;
}

static const char *check_items(const struct p2ps_core *core, struct tally *tally)
{
    uint32_t free_count = 0;

    for (uint32_t item = 0; item < core->item_room; item++) {
        if (core->items[item].watch_count > 0)
            MD_REQUIRE_ALL(check_item(core, item, tally));
    }
    for (uint32_t n = core->item_free; n != P2PS_NONE; n = core->items[n].next_free) {
        MD_REQUIRE(n < core->item_room && free_count < core->item_room);
        MD_REQUIRE(core->items[n].watch_count == 0 && core->items[n].watch_step == 0);
        MD_REQUIRE(core->items[n].sink_item == RRMP_ITEM_NONE && !core->items[n].image);
        free_count++;
    }
    MD_REQUIRE(tally->items + free_count == core->item_room);
    return NULL;
}

/* ---- clients ---- */

static const char *check_streams(const struct p2ps_core *core, uint32_t client, uint32_t *owed)
{
    const struct p2ps_client *c = &core->clients[client];
    uint32_t cursor = 0, items = 0, all = 0;
    uint32_t item;

    *owed = 0;
    for (int32_t id; (id = p2ps_idmap_next(&c->streams, &cursor, &item)) != 0;) {
        all++;
        if (item >= P2PS_STREAM_DICTIONARY)
            continue;
        MD_REQUIRE(item < core->item_room);
        uint32_t watch = p2ps_item_watch_find(core, item, client, id);
        MD_REQUIRE(watch != P2PS_NONE);
        *owed += (core->items[item].watches[watch].flags & P2PS_WATCH_OWED) != 0;
        items++;
    }
    MD_REQUIRE(c->streams.count == all);
    MD_REQUIRE(c->item_streams == items);
    return NULL;
}

/* Counters of a user that workers share may hold more than this worker has. */
static const char *check_user(const struct p2ps_client *c)
{
    MD_REQUIRE(c->party || (!c->is_mount && (c->item_streams == 0 || c->is_gone)));
    MD_REQUIRE(c->party || c->login_state != P2PS_LOGIN_OPEN);
    MD_REQUIRE(!c->party ||
               atomic_load_explicit(&c->party->items, memory_order_relaxed) >= c->item_streams);
    MD_REQUIRE(!c->is_mount || atomic_load_explicit(&c->party->mounts, memory_order_relaxed) > 0);
    return NULL;
}

static const char *check_client(const struct p2ps_core *core, uint32_t client, struct tally *tally)
{
    const struct p2ps_client *c = &core->clients[client];
    uint32_t owed;

    MD_REQUIRE(c->front);
    MD_REQUIRE_ALL(check_streams(core, client, &owed));
    MD_REQUIRE_ALL(check_user(c));
    MD_REQUIRE(c->owed_count == owed);
    /* A client that is owed something is slow: it catches up or is disconnected. */
    MD_REQUIRE((owed == 0 && !c->directory_owed) || c->is_slow || c->is_gone);
    MD_REQUIRE(!c->is_gone || (c->is_dropping && !c->batch));
    MD_REQUIRE(!c->is_dropping == !c->door);
    MD_REQUIRE(!c->is_slow || c->is_slow_listed);
    MD_REQUIRE(!c->closing || c->is_touched);
    MD_REQUIRE(c->directory_stream == 0 ||
               p2ps_idmap_get(&c->streams, c->directory_stream) == P2PS_STREAM_DIRECTORY);
    tally->clients += !c->is_gone;
    tally->slow += c->is_slow;
    tally->logins += c->login_state == P2PS_LOGIN_OPEN;
    tally->streams += c->item_streams;
    tally->watch_bytes += p2ps_idmap_bytes(&c->streams);
    return NULL;
}

static const char *check_clients(const struct p2ps_core *core, struct tally *tally)
{
    uint32_t touched = 0, used = 0;

    for (uint32_t i = 0; i < core->client_room; i++) {
        touched += core->clients[i].is_touched; /* also of a slot that was given back */
        used += core->clients[i].is_used;
        if (core->clients[i].is_used)
            MD_REQUIRE_ALL(check_client(core, i, tally));
    }
    /* As many as there are, and all different: else one that is touched would be missing. */
    MD_REQUIRE(core->touched_count == touched);
    MD_REQUIRE(core->clients_used == used);
    MD_REQUIRE(core->late_count <= core->touched_count);
    for (uint32_t i = 0; i < core->touched_count; i++) {
        MD_REQUIRE(core->touched[i] < core->client_room);
        MD_REQUIRE(core->clients[core->touched[i]].is_touched);
        for (uint32_t k = 0; k < i; k++)
            MD_REQUIRE(core->touched[k] != core->touched[i]);
    }
    MD_REQUIRE((core->held_count > 0) == (core->held_ns != UINT64_MAX));
    for (uint32_t i = 0; i < core->held_count; i++)
        MD_REQUIRE(core->held[i] < core->client_room && core->clients[core->held[i]].is_filling);
    return NULL;
}

/* ---- the rest ---- */

/* A form that is cut keeps what was asked for, and what may be seen of it. */
static const char *check_cut(const struct p2ps_core *core, const struct p2ps_form *form,
                             struct tally *tally)
{
    MD_REQUIRE(form->asked < core->form_count && form->seen < core->form_count);
    MD_REQUIRE(!core->forms[form->asked].is_cut && !core->forms[form->seen].is_cut);
    MD_REQUIRE(core->forms[form->seen].flags & P2PS_FORM_IMPOSED);
    MD_REQUIRE(!(core->forms[form->asked].flags & P2PS_FORM_IMPOSED));
    tally->form_watches[form->asked]++;
    tally->form_watches[form->seen]++;
    return NULL;
}

static const char *check_forms(const struct p2ps_core *core, struct tally *tally)
{
    uint32_t views = 0;

    MD_REQUIRE(core->form_count <= P2PS_FORMS_MAX);
    for (uint32_t i = 0; i < core->form_count; i++) {
        if (core->forms[i].watch_count && core->forms[i].is_cut)
            MD_REQUIRE_ALL(check_cut(core, &core->forms[i], tally));
    }
    for (uint32_t i = 0; i < core->form_count; i++) {
        MD_REQUIRE(core->forms[i].watch_count == tally->form_watches[i]);
        MD_REQUIRE(core->forms[i].watch_count || !core->forms[i].fields);
        MD_REQUIRE(core->made_epoch[i] <= core->epoch);
        views += core->forms[i].watch_count && core->forms[i].host;
    }
    MD_REQUIRE(core->view_count == views);
    MD_REQUIRE(core->make_used <= core->make_size);
    return NULL;
}

static const char *check_posts(const struct p2ps_core *core)
{
    uint32_t used = 0, free_count = 0;

    for (uint32_t i = 0; i < core->post_room; i++) {
        used += core->posts[i].is_used;
        MD_REQUIRE(!core->posts[i].is_used || core->posts[i].client < core->client_room);
    }
    for (uint32_t n = core->post_free; n != P2PS_NONE; n = core->posts[n].next_free) {
        MD_REQUIRE(n < core->post_room && !core->posts[n].is_used);
        MD_REQUIRE(++free_count <= core->post_room);
    }
    MD_REQUIRE(used + free_count == core->post_room);
    MD_REQUIRE(used == core->post_count);
    return NULL;
}

static const char *check_waits(const struct p2ps_core *core)
{
    MD_REQUIRE(core->wait_count <= P2PS_DICTIONARY_WAITS);
    for (uint32_t i = 0; i < core->wait_count; i++) {
        const struct p2ps_dictionary_wait *wait = &core->waits[i];
        const struct p2ps_client *c = &core->clients[wait->client];

        MD_REQUIRE(wait->client < core->client_room);
        if (c->is_used && c->serial == wait->client_serial && c->login_state == P2PS_LOGIN_OPEN)
            MD_REQUIRE(p2ps_idmap_get(&c->streams, wait->request.stream_id) ==
                       P2PS_STREAM_DICTIONARY);
    }
    return NULL;
}

static const char *check_services(const struct p2ps_core *core)
{
    uint32_t mapped = 0;

    MD_REQUIRE(core->service_count <= P2PS_SERVICES_MAX);
    for (uint32_t i = 0; i < core->config.network_count * P2PS_SERVICES_MAX; i++)
        mapped += core->service_map[i] < P2PS_SERVICES_MAX;
    MD_REQUIRE(mapped + core->services_free == core->service_count);
    for (uint16_t i = 0; i < core->service_count; i++) {
        const struct p2ps_service *s = &core->services[i];

        if (s->is_free) {
            MD_REQUIRE(s->is_forgotten && s->id == 0 && s->items == 0);
            continue;
        }
        MD_REQUIRE(s->network < core->config.network_count && s->sink_service < P2PS_SERVICES_MAX);
        MD_REQUIRE(core->service_map[s->network * P2PS_SERVICES_MAX + s->sink_service] == i);
        MD_REQUIRE(s->id != 0);
        MD_REQUIRE(s->is_closing == (core->closing.is_on && core->closing.service == i));
        for (uint16_t k = 0; k < i; k++)
            MD_REQUIRE(core->services[k].id != s->id);
        if (s->gone_ns && !s->is_forgotten && !s->is_closing && core->config.service_forget_ns)
            MD_REQUIRE(core->forget_ns <= s->gone_ns + core->config.service_forget_ns);
    }
    return NULL;
}

static const char *check_walks(const struct p2ps_core *core)
{
    uint32_t left[P2PS_WALKS] = { 0 };
    uint32_t used = 0, all = 0;

    for (uint32_t i = 0; i < core->item_room; i++) {
        if (core->items[i].owes)
            left[core->items[i].owes - 1]++;
    }
    for (unsigned i = 0; i < P2PS_WALKS; i++) {
        MD_REQUIRE(core->walks[i].is_used || left[i] == 0);
        MD_REQUIRE(!core->walks[i].is_used || core->walks[i].left == left[i]);
        used += core->walks[i].is_used;
        all += left[i];
    }
    MD_REQUIRE(core->walks_now == used && core->walk_items == all);
    return NULL;
}

static const char *check_sums(const struct p2ps_core *core, const struct tally *tally)
{
    const struct p2ps_core_stats *stats = &core->stats;
    struct cache_stats cache = { 0 };

    MD_REQUIRE(stats->items_now == tally->items);
    MD_REQUIRE(stats->watches_now == tally->watches);
    MD_REQUIRE(stats->watches_now == tally->streams);
    MD_REQUIRE(stats->watch_bytes_now == tally->watch_bytes);
    MD_REQUIRE(stats->mounts_now == tally->clients);
    MD_REQUIRE(stats->mounts_slow_now == tally->slow);
    MD_REQUIRE(stats->logins_now == tally->logins);
    MD_REQUIRE(core->long_logins_now <= tally->logins);
    MD_REQUIRE(core->perm_bytes == tally->perm_bytes);
    MD_REQUIRE(atomic_load_explicit(p2ps_parties_items(core->parties), memory_order_relaxed) >=
               tally->items);
    if (core->cache)
        cache_stats(core->cache, &cache);
    MD_REQUIRE(cache.images_now == tally->images);
    return NULL;
}

const char *p2ps_core_check(const struct p2ps_core *core)
{
    struct tally tally = { 0 };

    MD_REQUIRE(core->ended_item == P2PS_NONE && core->empty_item == P2PS_NONE);
    MD_REQUIRE_ALL(check_items(core, &tally));
    MD_REQUIRE_ALL(check_clients(core, &tally));
    MD_REQUIRE_ALL(check_forms(core, &tally));
    MD_REQUIRE_ALL(check_posts(core));
    MD_REQUIRE_ALL(check_waits(core));
    MD_REQUIRE_ALL(check_services(core));
    MD_REQUIRE_ALL(check_walks(core));
    MD_REQUIRE_ALL(p2ps_pace_check(core));
    MD_REQUIRE_ALL(p2ps_backlog_check(core));
    return check_sums(core, &tally);
}
