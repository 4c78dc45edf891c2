/* ripple.c - which field takes over the old value of which, and the move in an image. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/err.h"
#include "image.h"

#define CHAIN_MAX 64

/* ---- the table ---- */

int cache_ripples_create(struct cache_ripples **out)
{
    *out = calloc(1, sizeof(**out));
    return *out ? MD_OK : MD_ERR_NOMEM;
}

void cache_ripples_destroy(struct cache_ripples *ripples)
{
    free(ripples);
}

int16_t cache_ripples_target(const struct cache_ripples *ripples, int16_t id)
{
    return cache_ripple_bit(ripples->sources, id)
               ? atomic_load_explicit(&ripples->to[(uint16_t)id], memory_order_relaxed)
               : 0;
}

static void set_bit(_Atomic uint64_t *bits, int16_t id)
{
    atomic_fetch_or_explicit(&bits[(uint16_t)id / 64], 1ull << (uint16_t)id % 64,
                             memory_order_relaxed);
}

static void cut(struct cache_ripples *ripples, int16_t id)
{
    atomic_fetch_and_explicit(&ripples->sources[(uint16_t)id / 64], ~(1ull << (uint16_t)id % 64),
                              memory_order_relaxed);
}

/* Images look again at what they hold. */
static void next_epoch(struct cache_ripples *ripples)
{
    uint8_t epoch = atomic_load_explicit(&ripples->epoch, memory_order_relaxed);

    atomic_store_explicit(&ripples->epoch, (uint8_t)(epoch == UINT8_MAX ? 1 : epoch + 1),
                          memory_order_release);
}

static bool is_endless(const struct cache_ripples *ripples, int16_t id)
{
    unsigned steps = 0;

    while (steps <= CHAIN_MAX && (id = cache_ripples_target(ripples, id)) != 0)
        steps++;
    return steps > CHAIN_MAX;
}

/* Fields from which there is no end in reach, all of a ring, do not ripple. */
static void cut_endless(struct cache_ripples *ripples)
{
    uint64_t endless[65536 / 64] = { 0 };

    for (int id = INT16_MIN; id <= INT16_MAX; id++) {
        if (is_endless(ripples, (int16_t)id))
            endless[(uint16_t)id / 64] |= 1ull << (uint16_t)id % 64;
    }
    for (size_t i = 0; i < 65536 / 64; i++)
        atomic_fetch_and_explicit(&ripples->sources[i], ~endless[i], memory_order_relaxed);
}

static void learn(struct cache_ripples *ripples, const struct rwf_dictionary *dictionary,
                  const struct rwf_field_def *field)
{
    const struct rwf_field_def *target =
        field->ripples_to ? rwf_dictionary_field(dictionary, field->ripples_to) : NULL;

    if (!target || target->rwf_type != field->rwf_type) {
        cut(ripples, field->fid);
        return;
    }
    atomic_store_explicit(&ripples->to[(uint16_t)field->fid], field->ripples_to,
                          memory_order_relaxed);
    set_bit(ripples->sources, field->fid);
    set_bit(ripples->targets, field->ripples_to);
}

void cache_ripples_learn(struct cache_ripples *ripples, const struct rwf_dictionary *dictionary)
{
    const struct rwf_field_def *field;

    for (int fid = INT16_MIN - 1; (field = rwf_dictionary_next(dictionary, fid)); fid = field->fid)
        learn(ripples, dictionary, field);
    cut_endless(ripples);
    next_epoch(ripples);
}

void cache_ripples_look(const struct cache_ripples *ripples, uint8_t epoch,
                        struct cache_image *image)
{
    size_t at = cache_first_field(image);

    image->ripple_epoch = epoch;
    image->targets = 0;
    while (at < image->length) {
        int16_t id = (int16_t)md_be16(image->bytes + at);
        if (cache_ripple_bit(ripples->targets, id))
            image->targets = (image->targets | cache_target_bit(id)) & 0x3f;
        at = cache_packed_end(image->bytes, at + 2);
    }
}

/* ---- the move ---- */

/* Where the contents of a chain stand, the field that is being changed first. */
struct chain {
    size_t at[CHAIN_MAX + 1];
    unsigned place[CHAIN_MAX + 1]; /* in the list */
    unsigned count;
    size_t length; /* of the first, */
    bool is_even;  /* and of all others: nothing moves but the contents */
};

/* Where the field stands: mostly right behind `from`, which is number *place. The end of the image
 * if nowhere. */
static size_t find_near(const struct cache_image *image, size_t from, int16_t id, unsigned *place)
{
    if (image->ripple_epoch != 0 && !(image->targets & cache_target_bit(id)))
        return image->length;
    size_t at = cache_seek(image, from, image->length, id, place);

    if (at < image->length)
        return at;
    *place = 0;
    at = cache_seek(image, cache_first_field(image), from, id, place);
    return at < from ? at : image->length;
}

static void find_chain(const struct cache_ripples *ripples, const struct cache_image *image,
                       size_t first, unsigned place, int16_t id, struct chain *chain)
{
    size_t behind = cache_packed_end(image->bytes, first);
    int16_t next = id;

    chain->at[0] = first;
    chain->place[0] = place;
    chain->count = 1;
    chain->length = behind - first;
    chain->is_even = true;
    while (chain->count <= CHAIN_MAX && (next = cache_ripples_target(ripples, next)) != 0 &&
           next != id) {
        place++;
        size_t at = find_near(image, behind, next, &place);
        if (at == image->length)
            return;
        chain->place[chain->count] = place;
        at += 2;
        behind = cache_packed_end(image->bytes, at);
        chain->is_even &= behind - at == chain->length;
        chain->at[chain->count++] = at;
    }
}

static void shift_even(struct cache_image *image, const struct chain *chain)
{
    for (unsigned i = chain->count - 1; i > 0; i--)
        cache_copy(image->bytes + chain->at[i], image->bytes + chain->at[i - 1], chain->length);
}

/* The content number `i` becomes the one before it. */
static int shift(struct cache *cache, struct cache_image **image, struct chain *chain, unsigned i)
{
    size_t to = chain->at[i];
    size_t from = chain->at[i - 1];
    size_t old = cache_packed_end((*image)->bytes, to) - to;
    size_t fresh = cache_packed_end((*image)->bytes, from) - from;

    if (old != fresh) {
        int err = cache_resize(cache, image, to, old, fresh);
        if (err != MD_OK)
            return err;
        for (unsigned k = 0; k < chain->count; k++) {
            if (chain->at[k] > to)
                chain->at[k] = chain->at[k] + fresh - old;
        }
    }
    cache_copy((*image)->bytes + to, (*image)->bytes + chain->at[i - 1], fresh);
    return MD_OK;
}

int cache_ripple(struct cache *cache, const struct cache_ripples *ripples,
                 struct cache_image **image, size_t *at, unsigned place, int16_t id)
{
    struct chain chain;
    int err = MD_OK;

    find_chain(ripples, *image, *at, place, id, &chain);
    for (unsigned i = 1; cache->changed && i < chain.count; i++)
        cache_mark(cache, chain.place[i]);
    if (chain.is_even)
        shift_even(*image, &chain);
    for (unsigned i = chain.count - 1; !chain.is_even && err == MD_OK && i > 0; i--)
        err = shift(cache, image, &chain, i);
    cache->stats.rippled += chain.count - 1;
    *at = chain.at[0];
    return err;
}
