/* image.h - one image: one block of memory, an encoded refresh with what is known of it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CACHE_IMAGE_H
#define CACHE_IMAGE_H

#include "cache/cache.h"

enum cache_kind {
    CACHE_KIND_RAW, /* behind the head: the payload of each part as it came, its length (u32) first
                     */
    CACHE_KIND_FIELDS, /* a field list of standard data, no id twice */
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
    bool is_complete;
    bool is_broken; /* something could not be applied: until the next refresh */
    uint8_t bytes[];
};

#define CACHE_MERGED_MAX (4u << 20) /* a larger container is not kept */

struct cache {
    struct cache_config config;
    uint8_t *scratch; /* CACHE_MERGED_MAX bytes, made when first needed */
    struct cache_stats stats;
    uint64_t seen[65536 / 64]; /* field ids of the list being looked at; else all zero */
};

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
int cache_fields_update(struct cache *cache, struct cache_image **image, struct rwf_bytes payload);
int cache_fields_part(const struct cache_image *image, struct cache_cursor *cursor,
                      struct rwf_encoder *enc, bool *is_last);

#endif
