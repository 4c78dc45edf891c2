/* image.h - one image: the head of its last refresh, and its container. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CACHE_IMAGE_H
#define CACHE_IMAGE_H

#include "cache/cache.h"

/* Bytes that grow; taken from and counted by the cache. */
struct cache_bytes {
    uint8_t *data;
    uint32_t length;
    uint32_t room;
};

/* The byte at an offset; NULL as long as there are none at all. */
static inline uint8_t *cache_bytes_at(const struct cache_bytes *bytes, size_t at)
{
    return bytes->data ? bytes->data + at : NULL;
}

/* One field of a field list: its content lies in the image's arena. */
struct cache_field {
    int16_t id;
    uint16_t room; /* bytes set aside for it */
    uint16_t length;
    uint32_t at;
};

enum cache_kind {
    CACHE_KIND_RAW,    /* the payloads of the refresh as they came, one behind the other */
    CACHE_KIND_FIELDS, /* a field list */
    CACHE_KIND_MERGED, /* any other container with rules: one encoded container, changed whole */
};

struct cache_image {
    uint8_t kind; /* enum cache_kind */
    bool is_complete;
    bool is_valid;
    struct rwf_msg head; /* of the last refresh; its views point into `members` */
    struct cache_bytes members;
    struct rwf_field_list_info info;
    struct cache_field *fields; /* in the order in which they first came */
    uint32_t field_count;
    uint32_t field_room;
    struct cache_bytes arena; /* contents of fields, or raw payloads */
    uint32_t *raw_ends;       /* RAW: end of each part in the arena */
    uint32_t raw_count;
    size_t bytes;
    struct cache_image *next;
    struct cache_image *previous;
};

#define CACHE_MERGED_MAX (4u << 20) /* a larger container is not kept */

struct cache {
    struct cache_config config;
    uint8_t *scratch; /* CACHE_MERGED_MAX bytes, made when first needed */
    struct cache_stats stats;
    struct cache_image *images;
};

/* Room for `more` bytes behind the present ones; MD_ERR_NOMEM, MD_ERR_FULL above bytes_max. */
int cache_bytes_grow(struct cache *cache, struct cache_image *image, struct cache_bytes *bytes,
                     size_t more);
int cache_charge(struct cache *cache, struct cache_image *image, size_t more);

/* ---- merged.c ---- */
bool cache_merged_is_for(unsigned container);
int cache_merged_update(struct cache *cache, struct cache_image *image, struct rwf_bytes payload);
int cache_merged_part(const struct cache_image *image, struct cache_cursor *cursor,
                      struct rwf_encoder *enc, bool *is_last);

/* ---- fields.c ---- */
int cache_fields_start(struct cache *cache, struct cache_image *image, struct rwf_bytes payload);
int cache_fields_update(struct cache *cache, struct cache_image *image, struct rwf_bytes payload);
int cache_fields_part(const struct cache_image *image, struct cache_cursor *cursor,
                      struct rwf_encoder *enc, bool *is_last);

#endif
