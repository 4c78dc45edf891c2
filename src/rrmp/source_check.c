/* source_check.c - the invariants of the source's tables, as code: see rrmp_source_check(). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/check.h"
#include "source_impl.h"

/*
 *   items       each is in the map by its key; its handle, work, asks and interest are its own
 *   handles     each is bound to one item, or free, or rests
 *   requesters  the digest of each is that of the interest it has
 *   lists       who has news is in the list of it, once
 */
struct tally {
    uint32_t items;
    uint32_t works;
    uint32_t wides;
    uint32_t asks; /* for images */
    uint32_t bound;
    uint32_t privates;
    uint32_t images_due;
    uint32_t listed[2];
    size_t key_bytes;
};

/* ---- items ---- */

static uint32_t bits_of(const uint64_t *words, uint32_t count)
{
    uint32_t bits = 0;

    for (uint32_t i = 0; i < count; i++)
        bits += (uint32_t)__builtin_popcountll(words[i]);
    return bits;
}

static const char *check_interest(const struct rrmp_source *source, const struct source_item *item,
                                  struct tally *tally)
{
    MD_REQUIRE((item->active & item->standby) == 0);
    if (item->wide == MD_NIL)
        return NULL;
    const struct source_wide *wide = source_wide_of(source, item);
    uint32_t active = bits_of(wide->active, SOURCE_WIDE_WORDS);
    tally->wides++;
    MD_REQUIRE(wide->active_count == active);
    MD_REQUIRE(wide->count == active + bits_of(wide->standby, SOURCE_WIDE_WORDS));
    for (uint32_t i = 0; i < SOURCE_WIDE_WORDS; i++)
        MD_REQUIRE((wide->active[i] & wide->standby[i]) == 0);
    return NULL;
}

static const char *check_asks(const struct rrmp_source *source, uint32_t number,
                              struct tally *tally)
{
    uint32_t steps = 0;

    for (uint32_t n = source_item_at(source, number)->asks; n != MD_NIL;
         n = source_ask_at(source, n)->next) {
        const struct source_ask *ask = source_ask_at(source, n);

        MD_REQUIRE(n < source->asks.high && ask->kind == ASK_IMAGE);
        MD_REQUIRE(ask->item == number);
        MD_REQUIRE(ask->requester < source->requesters.high &&
                   source_requester_at(source, ask->requester)->in_use);
        MD_REQUIRE(++steps <= source->asks.count);
    }
    tally->asks += steps;
    return NULL;
}

static const char *check_work(const struct rrmp_source *source, uint32_t number,
                              struct tally *tally)
{
    const struct source_item *item = source_item_at(source, number);

    if (item->work == MD_NIL) {
        MD_REQUIRE(item->lists == 0 && !(item->news & NEWS_IMAGE));
        MD_REQUIRE(item->image_mode != IMAGE_SOLICITED && item->image_mode != IMAGE_NEWS);
        return NULL;
    }
    MD_REQUIRE(item->work < source->works.high);
    MD_REQUIRE(source_work_of(source, item)->item == number);
    tally->works++;
    tally->listed[LIST_NEWS] += item->lists >> LIST_NEWS & 1;
    tally->listed[LIST_IMAGES] += item->lists >> LIST_IMAGES & 1;
    /* News that are due are in the list that tells them. */
    MD_REQUIRE(!(item->news & NEWS_IMAGE) || item->lists >> LIST_IMAGES & 1);
    MD_REQUIRE(!(item->news & ~NEWS_IMAGE) || item->lists >> LIST_NEWS & 1);
    return NULL;
}

static const char *check_item(const struct rrmp_source *source, uint32_t number,
                              struct tally *tally)
{
    const struct source_item *item = source_item_at(source, number);

    tally->items++;
    tally->key_bytes += item->key_length;
    tally->privates += item->is_private;
    tally->images_due += (item->news & NEWS_IMAGE) != 0;
    MD_REQUIRE(item->svc < source->service_count && source->services[item->svc].in_use);
    if (!item->is_private)
        MD_REQUIRE(source_item_lookup(source, item->svc, source_key(source, item)) == number);
    if (item->handle != RRMP_HANDLE_NONE) {
        tally->bound++;
        MD_REQUIRE(source_handle_item(source, item->handle) == number);
    }
    MD_REQUIRE(source_room_is_true(source, number));
    MD_REQUIRE_ALL(check_interest(source, item, tally));
    MD_REQUIRE_ALL(check_asks(source, number, tally));
    return check_work(source, number, tally);
}

static const char *check_services(const struct rrmp_source *source)
{
    uint32_t offered = 0;

    for (uint16_t svc = 0; svc < source->service_count; svc++) {
        const struct source_service *service = &source->services[svc];

        MD_REQUIRE((service->gap_log != NULL) == !service->is_withdrawn);
        offered += !service->is_withdrawn;
    }
    MD_REQUIRE(offered == source->services_now && offered <= source->config.service_limit);
    return NULL;
}

static const char *check_items(const struct rrmp_source *source, struct tally *tally)
{
    for (uint32_t n = 0; n < source->items.high; n++)
        if (source_item_exists(source, n))
            MD_REQUIRE_ALL(check_item(source, n, tally));
    MD_REQUIRE(source->items.count == tally->items);
    MD_REQUIRE(source->item_map.count == tally->items);
    MD_REQUIRE(source->works.count == tally->works);
    MD_REQUIRE(source->wides.count == tally->wides);
    MD_REQUIRE(source->private_count == tally->privates);
    MD_REQUIRE(source->image_due_count == tally->images_due);
    MD_REQUIRE(source->stats.bound_now == tally->bound);
    MD_REQUIRE(source->stats.key_bytes_now == tally->key_bytes);
    return NULL;
}

static const char *check_list(const struct rrmp_source *source, enum news_list list, uint32_t count)
{
    uint32_t last = MD_NIL;
    uint32_t found = 0;

    for (uint32_t n = source->list_head[list]; n != MD_NIL;
         n = source_work_of(source, source_item_at(source, n))->list_next[list]) {
        MD_REQUIRE(source_item_exists(source, n));
        MD_REQUIRE(source_item_at(source, n)->lists >> list & 1);
        MD_REQUIRE(++found <= count);
        last = n;
    }
    MD_REQUIRE(found == count);
    MD_REQUIRE(source->list_tail[list] == last);
    return NULL;
}

/* ---- handles ---- */

static bool is_marked_free(const struct rrmp_source *source, uint32_t index)
{
    return index / 64 < source->handle_words && (source->handle_free[index / 64] >> index % 64 & 1);
}

static const char *check_handles(const struct rrmp_source *source, const struct tally *tally)
{
    uint32_t bound = 0, free_count = 0;

    for (uint32_t i = 0; i < source->handles.high; i++) {
        const struct source_handle *handle = md_slots_at(&source->handles, i);

        if (handle->word < HANDLE_FREE) {
            bound++;
            MD_REQUIRE(!is_marked_free(source, i));
            MD_REQUIRE(source_item_exists(source, handle->word));
            MD_REQUIRE((source_item_at(source, handle->word)->handle & 0xFFFFFF) == i);
        }
        free_count += is_marked_free(source, i);
    }
    for (uint32_t i = source->rest_head; i != source->rest_tail; i++)
        MD_REQUIRE(!is_marked_free(source, source->rest[i & (source->rest_size - 1)].index));
    MD_REQUIRE(bound == tally->bound);
    MD_REQUIRE(bound + free_count + (source->rest_tail - source->rest_head) ==
               source->handles.high);
    return NULL;
}

/* ---- requesters and asks ---- */

static const char *check_requester(const struct rrmp_source *source, uint32_t number)
{
    const struct source_requester *requester = source_requester_at(source, number);
    uint32_t count = 0;
    uint64_t xor = 0;

    for (uint32_t n = 0; n < source->items.high; n++) {
        const struct source_item *item = source_item_at(source, n);
        bool is_active;

        if (!item->in_use || !source_interest_get(source, item, number, &is_active))
            continue;
        MD_REQUIRE(requester->in_use);
        MD_REQUIRE(!item->is_private || item->owner == number);
        if (!is_active || item->is_private)
            continue;
        count++;
        xor ^= source_key_hash(source, item);
    }
    MD_REQUIRE(!requester->in_use || requester->sum_count == count);
    MD_REQUIRE(!requester->in_use || requester->sum_xor == xor);
    return NULL;
}

static const char *check_requesters(const struct rrmp_source *source)
{
    uint32_t count = 0;

    for (uint32_t n = 0; n < source->requesters.high; n++) {
        count += source_requester_at(source, n)->in_use != 0;
        MD_REQUIRE_ALL(check_requester(source, n));
    }
    MD_REQUIRE(source->requesters.count == count);
    MD_REQUIRE(source->requester_map.count == count);
    return NULL;
}

static const char *check_all_asks(const struct rrmp_source *source, const struct tally *tally)
{
    uint32_t images = 0, others = 0, gone = 0, listed = 0;

    for (uint32_t n = 0; n < source->asks.high; n++) {
        const struct source_ask *ask = source_ask_at(source, n);

        images += ask->kind == ASK_IMAGE;
        others += ask->kind >= ASK_SNAPSHOT;
        gone += ask->kind >= ASK_SNAPSHOT && ask->is_gone;
    }
    for (uint32_t n = source->gone_head; n != MD_NIL; n = source_ask_at(source, n)->pending_next) {
        MD_REQUIRE(source_ask_at(source, n)->is_gone);
        MD_REQUIRE(++listed <= gone);
    }
    MD_REQUIRE(listed == gone);
    MD_REQUIRE(images == tally->asks);
    MD_REQUIRE(source->asks.count == images + others);
    return NULL;
}

const char *rrmp_source_check(const struct rrmp_source *source)
{
    struct tally tally = { 0 };

    MD_REQUIRE_ALL(check_services(source));
    MD_REQUIRE_ALL(check_items(source, &tally));
    MD_REQUIRE_ALL(check_list(source, LIST_NEWS, tally.listed[LIST_NEWS]));
    MD_REQUIRE_ALL(check_list(source, LIST_IMAGES, tally.listed[LIST_IMAGES]));
    MD_REQUIRE_ALL(check_handles(source, &tally));
    MD_REQUIRE_ALL(check_requesters(source));
    MD_REQUIRE_ALL(check_all_asks(source, &tally));
    MD_REQUIRE(source->event_tail - source->event_head <= SOURCE_EVENTS);
    return NULL;
}
