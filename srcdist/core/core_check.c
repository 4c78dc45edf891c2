/* core_check.c - the invariants of the core's tables, as code: see srcdist_core_check(). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/check.h"
#include "private.h"
#include "rate.h"
#include "service.h"

/*
 *   items       what each may have in its state; each that is open or opening has a stream that
 *               leads to it, and the engine knows it
 *   providers   requests under way, items within an OpenLimit, groups and queues are counted right
 *   streams     each leads to an item, a snapshot or a dictionary that has just this stream
 *   services    active items are counted right; what is kept of a provider has that provider
 *   free lists  each snapshot and each post is used or free, once
 */
struct tally {
    uint32_t items;
    uint32_t open;
    uint32_t images;
    uint32_t open_asks;
    uint32_t groups;
    uint32_t pending;
    uint32_t active[SRCDIST_SERVICES];
    uint32_t waiting[SRCDIST_SERVICES];
};

static bool is_provider(const struct srcdist_core *core, uint32_t provider)
{
    return provider < core->provider_room && core->providers[provider].is_used;
}

static bool has_stream(const struct srcdist_core *core, uint32_t provider, int32_t id,
                       uint32_t target)
{
    return srcdist_streams_find(&core->providers[provider].streams, id) == target;
}

/* ---- items ---- */

/* At a provider: queued, asked or open. */
static const char *check_placed(const struct srcdist_core *core, uint32_t number)
{
    const struct srcdist_item *it = &core->items[number];

    MD_REQUIRE(is_provider(core, it->provider));
    const struct srcdist_provider *p = &core->providers[it->provider];
    if (it->state == SRCDIST_ITEM_PENDING) {
        MD_REQUIRE(p->kind == SRCDIST_INTERACTIVE);
        MD_REQUIRE(it->stream_id == 0);
        return NULL;
    }
    MD_REQUIRE(it->stream_id != 0);
    /* Items that a provider publishes on one id share it: the last one has it. */
    MD_REQUIRE(it->shares_stream || has_stream(core, it->provider, it->stream_id, number));
    if (p->kind == SRCDIST_INTERACTIVE) {
        MD_REQUIRE(it->stream_id > 0 && !it->shares_stream);
        return NULL;
    }
    MD_REQUIRE(it->stream_id < 0 && it->state == SRCDIST_ITEM_OPEN);
    MD_REQUIRE(!it->is_asked && !it->is_reissued && !it->is_private);
    return NULL;
}

/* Waiting for a provider, or for the time to ask again. */
static const char *check_unplaced(const struct srcdist_item *it)
{
    MD_REQUIRE(it->provider == SRCDIST_NONE);
    MD_REQUIRE(it->stream_id == 0);
    MD_REQUIRE(!it->is_in_offer);
    return NULL;
}

static const char *check_engine(const struct srcdist_core *core, uint32_t number)
{
    const struct srcdist_item *it = &core->items[number];
    struct rrmp_source_item info;

    MD_REQUIRE(rrmp_source_item_info(core->source, number, &info));
    MD_REQUIRE(srcdist_service_find(core, info.svc) == it->service);
    MD_REQUIRE(info.is_private == it->is_private);
    return NULL;
}

static const char *check_item(const struct srcdist_core *core, uint32_t number, struct tally *tally)
{
    const struct srcdist_item *it = &core->items[number];
    bool is_asked = it->state == SRCDIST_ITEM_OPENING || it->state == SRCDIST_ITEM_OPEN;

    if (it->state == SRCDIST_ITEM_FREE) {
        MD_REQUIRE(!it->image && it->stream_id == 0 && !it->is_active && !it->is_counted);
        return NULL;
    }
    tally->items++;
    tally->open += it->state == SRCDIST_ITEM_OPEN;
    tally->images += it->image != NULL;
    MD_REQUIRE(it->service < SRCDIST_SERVICES && core->services[it->service].is_used);
    tally->active[it->service] += it->is_active;
    tally->waiting[it->service] += it->state == SRCDIST_ITEM_PENDING;
    MD_REQUIRE_ALL(check_engine(core, number));
    MD_REQUIRE(it->state <= SRCDIST_ITEM_BACKOFF);
    if (it->state == SRCDIST_ITEM_PENDING || is_asked)
        MD_REQUIRE_ALL(check_placed(core, number));
    else
        MD_REQUIRE_ALL(check_unplaced(it));
    MD_REQUIRE(!it->is_counted || it->state == SRCDIST_ITEM_OPENING);
    MD_REQUIRE(!it->is_asked || is_asked);
    MD_REQUIRE(!it->is_reissued || it->state == SRCDIST_ITEM_OPEN);
    MD_REQUIRE(!it->is_in_parts || is_asked);
    MD_REQUIRE(!it->is_private || !it->image);
    return NULL;
}

static const char *check_items(const struct srcdist_core *core, struct tally *tally)
{
    for (uint32_t i = 0; i < core->item_room; i++)
        MD_REQUIRE_ALL(check_item(core, i, tally));
    MD_REQUIRE(core->stats.items_now == tally->items);
    MD_REQUIRE(core->stats.open_now == tally->open);
    struct cache_stats cache;
    cache_stats(core->cache, &cache);
    MD_REQUIRE(cache.images_now == tally->images);
    uint64_t pending, pending_bytes;
    srcdist_rates_sum(core, &pending, &pending_bytes);
    MD_REQUIRE(core->stats.pending_updates_now == pending);
    MD_REQUIRE(core->stats.pending_bytes_now == pending_bytes);
    MD_REQUIRE(core->sweep_item <= core->item_room);
    MD_REQUIRE(core->image_queue_count <= core->image_queue_room);
    return NULL;
}

/* ---- providers ---- */

static const char *check_offers(const struct srcdist_core *core, uint32_t provider)
{
    const struct srcdist_provider *p = &core->providers[provider];

    uint32_t published = 0;

    MD_REQUIRE(p->offer_count <= SRCDIST_SERVICES);
    for (uint32_t k = 0; p->kind == SRCDIST_NON_INTERACTIVE && k < core->item_room; k++)
        published +=
            core->items[k].state != SRCDIST_ITEM_FREE && core->items[k].provider == provider;
    MD_REQUIRE(p->item_count == published);
    for (uint32_t i = 0; i < p->offer_count; i++) {
        const struct srcdist_offer *offer = &p->offers[i];
        uint32_t open = 0;

        MD_REQUIRE(offer->service < SRCDIST_SERVICES && core->services[offer->service].is_used);
        MD_REQUIRE(core->services[offer->service].is_broadcast ==
                   (p->kind == SRCDIST_NON_INTERACTIVE));
        for (uint32_t k = 0; k < i; k++)
            MD_REQUIRE(p->offers[k].provider_id != offer->provider_id);
        for (uint32_t k = 0; k < core->item_room; k++)
            open += core->items[k].is_in_offer && core->items[k].provider == provider &&
                    core->items[k].service == offer->service;
        MD_REQUIRE(offer->open_count == open);
    }
    return NULL;
}

static const char *check_outstanding(const struct srcdist_core *core, uint32_t provider)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < core->item_room; i++)
        count += core->items[i].is_counted && core->items[i].provider == provider;
    for (uint32_t i = 0; i < SRCDIST_ASKS_MAX; i++)
        count += core->asks[i].is_open && core->asks[i].provider == provider;
    MD_REQUIRE(core->providers[provider].outstanding == count);
    return NULL;
}

static const char *check_target(const struct srcdist_core *core, uint32_t provider, int32_t id,
                                uint32_t target)
{
    if (target & SRCDIST_STREAM_ASK) {
        MD_REQUIRE((target & ~SRCDIST_STREAM_ASK) < SRCDIST_ASKS_MAX);
        const struct srcdist_ask *a = &core->asks[target & ~SRCDIST_STREAM_ASK];
        MD_REQUIRE(a->is_used && a->is_open && a->provider == provider && a->stream_id == id);
        return NULL;
    }
    if (target & SRCDIST_STREAM_DICTIONARY) {
        MD_REQUIRE((target & ~SRCDIST_STREAM_DICTIONARY) < SRCDIST_DICTIONARIES);
        MD_REQUIRE(core->dictionaries[target & ~SRCDIST_STREAM_DICTIONARY].state !=
                   SRCDIST_DICTIONARY_FREE);
        return NULL;
    }
    MD_REQUIRE(target < core->item_room);
    MD_REQUIRE(core->items[target].provider == provider && core->items[target].stream_id == id);
    return NULL;
}

static const char *check_streams(const struct srcdist_core *core, uint32_t provider)
{
    const struct srcdist_streams *streams = &core->providers[provider].streams;
    uint32_t cursor = 0;
    uint32_t count = 0;
    uint32_t target;
    int32_t id;

    MD_REQUIRE_ALL(srcdist_streams_check(streams));
    while (srcdist_streams_next(streams, &cursor, &id, &target)) {
        MD_REQUIRE(srcdist_streams_find(streams, id) == target);
        MD_REQUIRE_ALL(check_target(core, provider, id, target));
        count++;
    }
    MD_REQUIRE(streams->count == count);
    return NULL;
}

/* Each pending item has one place that is its own; others are void. */
static const char *check_pending(const struct srcdist_core *core, uint32_t provider,
                                 struct tally *tally)
{
    const struct srcdist_provider *p = &core->providers[provider];
    uint32_t pending = 0;
    uint32_t places = 0;

    for (uint32_t i = 0; i < core->item_room; i++)
        pending +=
            core->items[i].state == SRCDIST_ITEM_PENDING && core->items[i].provider == provider;
    for (unsigned class = 0; class < SRCDIST_PENDING_CLASSES; class ++) {
        const struct srcdist_pending *q = &p->pending[class];

        MD_REQUIRE(q->count <= q->room && (q->room & (q->room - 1)) == 0);
        for (uint32_t i = 0; i < q->count; i++) {
            uint32_t item = q->items[(q->first + i) & (q->room - 1)];

            MD_REQUIRE(item < core->item_room);
            places += core->items[item].state == SRCDIST_ITEM_PENDING &&
                      core->items[item].provider == provider &&
                      core->items[item].due_ns == ((uint64_t) class << 32 | (q->first + i));
        }
    }
    MD_REQUIRE(places == pending);
    tally->pending += pending;
    return NULL;
}

static const char *check_groups(const struct srcdist_core *core, const struct srcdist_provider *p,
                                struct tally *tally)
{
    MD_REQUIRE(p->group_count <= p->group_room);
    tally->groups += p->group_count;
    for (uint32_t i = 0; i < p->group_count; i++) {
        uint16_t number = p->groups[i].number;

        MD_REQUIRE(number > 0 && number < SRCDIST_GROUPS_MAX);
        MD_REQUIRE(core->groups_taken[number / 64] >> (number % 64) & 1);
    }
    return NULL;
}

static const char *check_provider(const struct srcdist_core *core, uint32_t provider,
                                  struct tally *tally)
{
    const struct srcdist_provider *p = &core->providers[provider];

    MD_REQUIRE(p->state <= SRCDIST_PROVIDER_READY);
    MD_REQUIRE(p->state != SRCDIST_PROVIDER_LOGIN || p->offer_count == 0);
    MD_REQUIRE(p->close_count <= p->close_room);
    MD_REQUIRE(p->close_count == 0 || p->kind == SRCDIST_INTERACTIVE);
    MD_REQUIRE_ALL(check_offers(core, provider));
    MD_REQUIRE_ALL(check_outstanding(core, provider));
    MD_REQUIRE_ALL(check_streams(core, provider));
    MD_REQUIRE_ALL(check_pending(core, provider, tally));
    MD_REQUIRE_ALL(check_groups(core, p, tally));
    return NULL;
}

static const char *check_providers(const struct srcdist_core *core, struct tally *tally)
{
    uint32_t count = 0;
    uint32_t taken = 0;

    for (uint32_t i = 0; i < core->provider_room; i++) {
        if (!core->providers[i].is_used)
            continue;
        count++;
        MD_REQUIRE_ALL(check_provider(core, i, tally));
    }
    for (uint32_t i = 0; i < (SRCDIST_GROUPS_MAX + 63) / 64; i++)
        taken += (uint32_t)__builtin_popcountll(core->groups_taken[i]);
    MD_REQUIRE(core->stats.providers_now == count);
    MD_REQUIRE(core->stats.pending_now == tally->pending);
    MD_REQUIRE(tally->groups == taken);
    return NULL;
}

/* ---- services ---- */

static const char *check_said(const struct srcdist_core *core, const struct srcdist_said *said)
{
    MD_REQUIRE((said->bytes != NULL) == (said->length > 0));
    MD_REQUIRE(!said->bytes || is_provider(core, said->provider));
    return NULL;
}

static const char *check_services(const struct srcdist_core *core, const struct tally *tally)
{
    uint32_t used = 0;
    uint32_t up = 0;

    for (uint32_t i = 0; i < SRCDIST_SERVICES; i++) {
        const struct srcdist_service *s = &core->services[i];

        used += s->is_used;
        up += s->is_up;
        MD_REQUIRE(s->is_used || (!s->is_up && !s->is_offered));
        MD_REQUIRE(!s->is_offered || srcdist_service_find(core, s->svc) == i);
        MD_REQUIRE(s->active_count == tally->active[i]);
        MD_REQUIRE(s->pending_count == tally->waiting[i]);
        MD_REQUIRE(!s->is_used ||
                   (s->left_ns == 0) == (srcdist_service_offerer(core, i) != SRCDIST_NONE));
        MD_REQUIRE(s->is_up || srcdist_service_provider(core, i) == SRCDIST_NONE);
        MD_REQUIRE_ALL(check_said(core, &s->load));
        MD_REQUIRE_ALL(check_said(core, &s->links));
    }
    MD_REQUIRE(core->stats.services_now == used);
    MD_REQUIRE(core->stats.services_up_now == up);
    return NULL;
}

/* ---- snapshots, posts, dictionaries ---- */

static const char *check_asks(const struct srcdist_core *core, struct tally *tally)
{
    uint32_t used = 0;
    uint32_t free_count = 0;

    for (uint32_t i = 0; i < SRCDIST_ASKS_MAX; i++) {
        const struct srcdist_ask *a = &core->asks[i];

        used += a->is_used;
        tally->open_asks += a->is_open;
        MD_REQUIRE(a->is_used || !a->is_open);
        MD_REQUIRE(!a->is_used || a->is_open == (a->item == SRCDIST_NONE));
        MD_REQUIRE(!a->is_open || is_provider(core, a->provider));
        MD_REQUIRE(!a->is_open ||
                   has_stream(core, a->provider, a->stream_id, i | SRCDIST_STREAM_ASK));
        if (!a->is_used || a->is_open)
            continue;
        MD_REQUIRE(a->item < core->item_room && core->items[a->item].had_asks);
    }
    for (uint32_t i = core->ask_free; i != SRCDIST_NONE; i = core->asks[i].next_free)
        MD_REQUIRE(!core->asks[i].is_used && ++free_count <= SRCDIST_ASKS_MAX);
    MD_REQUIRE(core->asks_now == used);
    MD_REQUIRE(used + free_count == SRCDIST_ASKS_MAX);
    return NULL;
}

static const char *check_posts(const struct srcdist_core *core)
{
    uint32_t used = 0;
    uint32_t free_count = 0;

    for (uint32_t i = 0; i < core->post_room; i++) {
        used += core->posts[i].is_used;
        MD_REQUIRE(!core->posts[i].is_used || is_provider(core, core->posts[i].provider));
    }
    for (uint32_t i = core->post_free; i != SRCDIST_NONE; i = core->posts[i].next_free)
        MD_REQUIRE(!core->posts[i].is_used && ++free_count <= core->post_room);
    MD_REQUIRE(used + free_count == core->post_room);
    return NULL;
}

static const char *check_dictionaries(const struct srcdist_core *core)
{
    uint32_t complete = 0;
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < SRCDIST_DICTIONARIES; i++) {
        const struct srcdist_dictionary *d = &core->dictionaries[i];

        complete += d->state == SRCDIST_DICTIONARY_COMPLETE;
        for (uint32_t k = 0; k < d->part_count; k++)
            bytes += d->parts[k].length;
        if (d->state != SRCDIST_DICTIONARY_LOADING)
            continue;
        MD_REQUIRE(is_provider(core, d->provider));
        MD_REQUIRE(has_stream(core, d->provider, d->stream_id, i | SRCDIST_STREAM_DICTIONARY));
    }
    MD_REQUIRE(core->stats.dictionaries_now == complete);
    MD_REQUIRE(core->stats.dictionary_bytes == bytes);
    MD_REQUIRE(core->dictionary_ask_count <= SRCDIST_DICTIONARY_ASKS);
    for (uint32_t i = 0; i < core->dictionary_ask_count; i++) {
        const struct srcdist_dictionary_ask *a = &core->dictionary_asks[i];

        MD_REQUIRE(core->dictionaries[a->dictionary].state == SRCDIST_DICTIONARY_COMPLETE);
        MD_REQUIRE(a->next_part < core->dictionaries[a->dictionary].part_count);
    }
    return NULL;
}

const char *srcdist_core_check(const struct srcdist_core *core)
{
    struct tally tally = { 0 };

    MD_REQUIRE_ALL(check_items(core, &tally));
    MD_REQUIRE_ALL(check_providers(core, &tally));
    MD_REQUIRE_ALL(check_services(core, &tally));
    MD_REQUIRE_ALL(check_asks(core, &tally));
    MD_REQUIRE_ALL(check_posts(core));
    MD_REQUIRE_ALL(check_dictionaries(core));
    return NULL;
}
