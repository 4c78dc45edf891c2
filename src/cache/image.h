/* image.h - one image: one block of memory, an encoded refresh with what is known of it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CACHE_IMAGE_H
#define CACHE_IMAGE_H

#include <stdatomic.h>
#include <string.h>

#include "base/assert.h"
#include "base/cursor.h"
#include "cache/cache.h"

enum cache_kind {
    CACHE_KIND_RAW, /* behind the head: the payload of each part as it came, its length (u32) first
                     */
    CACHE_KIND_FIELDS, /* a field list of standard data, no id twice */
    CACHE_KIND_PAGE,   /* as RAW, and updates are further parts: the page is all of them */
    CACHE_KIND_RECORD, /* a Marketfeed record: a field list of its texts */
    CACHE_KIND_MERGED, /* any other container with rules: changed whole */
};

/*
 * `bytes` is the refresh in its encoded form, with COMPLETE and CLEAR_CACHE, and updates change it
 * there: so an image costs what it costs on the wire, and goes out as it stands. The block moves
 * when it grows, which it hardly does after the first updates.
 */
struct cache_image {
    uint32_t room;       /* of `bytes` */
    uint32_t length;     /* of these, in use */
    uint32_t payload_at; /* behind the head of the refresh */
    uint8_t kind;        /* enum cache_kind */
    uint8_t container;   /* enum rwf_type */
    uint8_t state_at;    /* in `bytes`: stream and data state, then the code */
    uint8_t seq_at;      /* of the sequence number, 0: has none */
    bool is_complete : 1;
    bool is_broken : 1;   /* something could not be applied: until the next refresh */
    uint8_t targets : 6;  /* fields that take over old values, as of `ripple_epoch`: a bit for
                             each sixth of the ids; a search ends before it begins without.
                             Of an ANSI page: 1: the first part is the page itself */
    uint8_t ripple_epoch; /* of the table that was asked; 0: any field may be there */
    uint8_t bytes[];
};

#define CACHE_MERGED_MAX (4u << 20) /* a larger container is not kept */

/*
 * Which field takes over the old value of which. The bits answer for nearly all fields from one or
 * two cache lines. One thread writes, any number read: a reader that meets a change sees the old
 * entry of a field or the new one, and finds by the epoch that it has to look at its images again.
 */
struct cache_ripples {
    _Atomic uint64_t sources[65536 / 64]; /* fields that have an entry in `to` */
    _Atomic uint64_t targets[65536 / 64]; /* fields that are one */
    _Atomic int16_t to[65536];
    _Atomic uint8_t epoch; /* 0: nothing is known; then 1 to 255 and again */
};

struct cache {
    struct cache_config config;
    uint8_t *scratch; /* CACHE_MERGED_MAX bytes, made when first needed */
    struct cache_stats stats;
    uint64_t seen[65536 / 64];     /* field ids of the list being looked at; else all zero */
    struct cache_changed *changed; /* by the update that is being applied; mostly NULL */
    bool may_be_partial;           /* its list has a byte that commands begin with */
};

static inline void cache_mark(struct cache *cache, unsigned place)
{
    if (cache->changed && place < CACHE_CHANGED_MAX)
        cache->changed->bits[place / 64] |= 1ull << place % 64;
}

static inline struct rwf_bytes cache_payload(const struct cache_image *image)
{
    return rwf_bytes(image->bytes + image->payload_at, image->length - image->payload_at);
}

/*
 * Makes the `old` bytes at `at` into `fresh` ones, to be written by the caller; what is behind them
 * moves, and *image may. MD_ERR_NOMEM, MD_ERR_FULL above bytes_max: nothing has changed.
 */
int cache_resize(struct cache *cache, struct cache_image **image, size_t at, size_t old,
                 size_t fresh);
/* NULL when there is no memory. */
uint8_t *cache_scratch(struct cache *cache);

/* ---- parts as they came: in front of each its length ---- */
#define CACHE_RAW_LENGTH 4

/* The part that begins at *at, which moves behind it. */
static inline struct rwf_bytes cache_raw_next(const struct cache_image *image, size_t *at)
{
    const uint8_t *p = image->bytes + *at;
    struct rwf_bytes part = rwf_bytes(p + CACHE_RAW_LENGTH, md_be32(p));

    *at += CACHE_RAW_LENGTH + part.length;
    return part;
}

int cache_raw_keep(struct cache *cache, struct cache_image **image, struct rwf_bytes payload);

/* ---- pages.c ---- */
/* The image has one part and can go out as it stands. */
bool cache_page_is_as_it_came(const struct cache_image *image);
int cache_page_update(struct cache *cache, struct cache_image **image, struct rwf_bytes payload);
int cache_page_image(const struct cache_image *image, uint8_t *out, size_t size, size_t *length);

/* ---- records.c ---- */
int cache_record_update(struct cache *cache, struct cache_image **image, struct rwf_bytes payload,
                        bool ripples);
int cache_record_image(const struct cache_image *image, uint8_t *out, size_t size, size_t *length);

/* ---- merged.c ---- */
bool cache_merged_is_for(unsigned container);
int cache_merged_update(struct cache *cache, struct cache_image **image, struct rwf_bytes payload);
int cache_merged_part(const struct cache_image *image, struct cache_cursor *cursor,
                      struct rwf_encoder *enc, bool *is_last);

/* ---- fields.c ---- */
/* Whether `content` of an update says what to change in `old`; else it is what stands there now. */
bool cache_takes_partial(const struct cache *cache, int16_t id, struct rwf_bytes old,
                         struct rwf_bytes content);
int cache_fields_start(struct cache *cache, struct cache_image **image, struct rwf_bytes payload);
/* `ripples`: whether old values move on to the fields that take them over. */
int cache_fields_update(struct cache *cache, struct cache_image **image, struct rwf_bytes payload,
                        bool ripples);
int cache_fields_part(const struct cache_image *image, struct cache_cursor *cursor,
                      struct rwf_encoder *enc, bool *is_last);

/* ---- how a field list lies in the image ---- */
#define CACHE_LENGTH_LONG 0xfeu /* first byte of a length in three bytes */

static inline size_t cache_packed_end(const uint8_t *p, size_t at)
{
    return at + (p[at] < CACHE_LENGTH_LONG ? 1u + p[at] : 3u + md_be16(p + at + 1));
}

/* Where the first field begins. */
static inline size_t cache_first_field(const struct cache_image *image)
{
    const uint8_t *list = image->bytes + image->payload_at;

    return image->payload_at + 3 + (list[0] & RWF_LIST_HAS_INFO ? 1u + list[1] : 0);
}

/* Where the field of that id begins, at or behind `at` and before `end`; `end` if it does not. The
 * one at `at` is number *place of the list, which goes on with it. */
static inline size_t cache_seek(const struct cache_image *image, size_t at, size_t end, int16_t id,
                                unsigned *place)
{
    const uint8_t *bytes = image->bytes;
    unsigned passed = 0;

    for (; at < end && (int16_t)md_be16(bytes + at) != id; passed++)
        at = cache_packed_end(bytes, at + 2);
    MD_ASSERT(at <= end);
    *place += passed;
    return at;
}

/* Most contents are a few bytes: two stores that may overlap instead of a call. */
static inline void cache_copy(uint8_t *to, const uint8_t *from, size_t length)
{
    if (length > 16) {
        memcpy(to, from, length);
    } else if (length >= 8) {
        uint64_t first;
        uint64_t last;
        memcpy(&first, from, 8);
        memcpy(&last, from + length - 8, 8);
        memcpy(to, &first, 8);
        memcpy(to + length - 8, &last, 8);
    } else if (length >= 4) {
        uint32_t first;
        uint32_t last;
        memcpy(&first, from, 4);
        memcpy(&last, from + length - 4, 4);
        memcpy(to, &first, 4);
        memcpy(to + length - 4, &last, 4);
    } else if (length > 0) {
        uint8_t middle = from[length / 2];
        uint8_t last = from[length - 1];
        to[0] = from[0];
        to[length / 2] = middle;
        to[length - 1] = last;
    }
}

/* ---- ripple.c ---- */
static inline bool cache_ripple_bit(const _Atomic uint64_t *bits, int16_t id)
{
    uint64_t word = atomic_load_explicit(&bits[(uint16_t)id / 64], memory_order_relaxed);

    return word >> ((uint16_t)id % 64) & 1;
}

static inline unsigned cache_target_bit(int16_t id)
{
    return 1u << ((uint16_t)id % 6);
}

/* Looks which targets the image has, by the table of that epoch. */
void cache_ripples_look(const struct cache_ripples *ripples, uint8_t epoch,
                        struct cache_image *image);

/* The table that holds for updates of this image; NULL when no old value can move in it. */
static inline const struct cache_ripples *cache_ripples_for(const struct cache *cache,
                                                            struct cache_image *image)
{
    const struct cache_ripples *ripples = cache->config.ripples;

    if (!ripples)
        return NULL;
    uint8_t epoch = atomic_load_explicit(&ripples->epoch, memory_order_acquire);
    if (image->ripple_epoch != epoch)
        cache_ripples_look(ripples, epoch, image);
    return image->targets ? ripples : NULL;
}

/*
 * The content of field `id`, which stands at *at and is number `place`, goes to the next field of
 * its chain, the content of that to the one behind, as far as the image has them. *at moves if what
 * is in front does.
 */
int cache_ripple(struct cache *cache, const struct cache_ripples *ripples,
                 struct cache_image **image, size_t *at, unsigned place, int16_t id);

#endif
