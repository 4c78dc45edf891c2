/* cache/cache.h - item images: refreshes and updates applied, images given out again. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CACHE_CACHE_H
#define CACHE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rmds/rwf.h"
#include "rmds/rwf_dictionary.h"

/*
 * A cache holds images for one thread. An image is what the last refresh said with all updates
 * since applied: members of the refresh (QoS, permission data, extended header, sequence number,
 * state) and its container. Messages are taken as the backbone carries them (no key, no group,
 * stream id 0) and images are given out in the same form.
 *
 * An image is one block that holds the encoded refresh, as long as it is on the wire and some 30
 * bytes, and updates are applied where it stands. Memory is taken as images grow, within
 * `bytes_max` for all of them; an image that would go above it becomes invalid. Applying an update
 * that makes the image no longer than it once was allocates nothing.
 */
struct cache;
struct cache_ripples;
struct cache_image; /* NULL is an item that has none yet */

struct cache_config {
    uint64_t bytes_max; /* 0: no limit of its own */
    /* The type of a field, enum rwf_type, 0 when not known: RMTES fields take partial updates. May
     * be NULL. One that is not known takes them if they begin with a command, and what it holds
     * may be text: the bytes of a number may look like a command. */
    unsigned (*field_type)(void *context, int16_t field_id);
    void *context;
    bool keeps_pages; /* ANSI pages are changed by updates; else the image is invalid then */
    const struct cache_ripples *ripples; /* outlives the cache; NULL: no value moves on */
};

struct cache_stats {
    uint64_t images_now;
    uint64_t bytes_now;   /* with what the heap adds */
    uint64_t encoded_now; /* of these, refreshes as they are on the wire */
    uint64_t applied;     /* messages */
    uint64_t failed;      /* messages that could not be applied */
    uint64_t refused;     /* for bytes_max */
    uint64_t pages_now;   /* of the images */
    uint64_t page_bytes_now;
    uint64_t rippled; /* values that an update moved on to another field */
};

/*
 * Which field takes over the old value of a field that an update changes (RIPPLES TO of the field
 * dictionary): a trade comes as TRDPRC_1 alone, and whoever keeps an image moves the last one to
 * TRDPRC_2, that of TRDPRC_2 to TRDPRC_3, and so on. Refreshes do not ripple, nor do updates with
 * DO_NOT_RIPPLE, nor the fields of rows; a chain ends before a field that the image lacks.
 *
 * One table serves any number of caches and threads; one thread fills it, at any time.
 */
int cache_ripples_create(struct cache_ripples **out);      /* empty; MD_ERR_NOMEM */
void cache_ripples_destroy(struct cache_ripples *ripples); /* NULL is allowed */
/* Add what a dictionary says. Left out are a field that ripples to one of another type or to one
 * that does not exist, and chains that come back to themselves or are longer than 64. */
void cache_ripples_learn(struct cache_ripples *ripples, const struct rwf_dictionary *dictionary);

/* The field that takes over the old value of this one; 0: none, or nothing is known. */
int16_t cache_ripples_target(const struct cache_ripples *ripples, int16_t id);

int cache_create(const struct cache_config *config, struct cache **out); /* MD_ERR_NOMEM */
void cache_destroy(struct cache *cache); /* its images have been freed; NULL is allowed */
/* Other `ripples` and `keeps_pages` from now on. A value that did not move while they were NULL is
 * right again with the next refresh. */
void cache_rules_set(struct cache *cache, const struct cache_ripples *ripples, bool keeps_pages);

/*
 * Apply a REFRESH (one part after the other: the first part, or one with CLEAR_CACHE, starts anew;
 * the image is whole with REFRESH_COMPLETE), an UPDATE or a STATUS. *image is made at the first
 * refresh, and may move at any message. MD_OK; MD_ERR_UNSUPPORTED: the container cannot be applied
 * (opaque, XML, ...): the image keeps only what the refresh said and is invalid after the first
 * update; MD_ERR_MALFORMED or MD_ERR_FULL or MD_ERR_NOMEM: invalid from now on, and MD_ERR_STATE
 * until the next refresh begins. DO_NOT_CACHE messages change nothing. Without an image any part of
 * a refresh begins one: the caller knows which is the first.
 */
int cache_apply(struct cache *cache, struct cache_image **image, struct rwf_bytes message);

/* Fields of an image that updates have changed, by their place in its list: a bit for each. Places
 * last until the next refresh. */
#define CACHE_CHANGED_MAX 256u
struct cache_changed {
    uint64_t bits[CACHE_CHANGED_MAX / 64];
};

/* The image is a whole list in which `more` fields could come to those that are there, and all of
 * them be noted. */
bool cache_image_can_note(const struct cache_image *image, size_t more);
/* The same as cache_apply(), of an update that was decoded, to an image that can note its fields:
 * those that it changes are added to *changed, with those that take over old values. */
int cache_apply_noted(struct cache *cache, struct cache_image **image, const struct rwf_msg *update,
                      struct cache_changed *changed);
/* The list of these fields, as they are now. MD_ERR_FULL: it is longer than `size`. */
int cache_image_changed(const struct cache_image *image, const struct cache_changed *changed,
                        uint8_t *out, size_t size, size_t *length);

/* A whole image that contains everything applied: it may be given out. NULL is not valid. */
bool cache_image_is_valid(const struct cache_image *image);

/* The image's state without its text; refreshes and statuses change it. */
struct rwf_state cache_image_state(const struct cache_image *image);
void cache_image_set_state(struct cache_image *image, uint8_t stream_state, uint8_t data_state,
                           uint8_t code);

/*
 * The image as REFRESH messages of at most `size` bytes: all zero *cursor first, call until
 * *is_last. CLEAR_CACHE is on the first part, REFRESH_COMPLETE on the last, SOLICITED on none; no
 * part numbers, no post user info. The image must not change between the parts. MD_ERR_FULL: not
 * even one entry fits.
 */
struct cache_cursor {
    uint32_t next; /* this and `at` are the cache's own */
    uint32_t part;
    uint32_t at;
};
int cache_image_part(const struct cache_image *image, struct cache_cursor *cursor, uint8_t *out,
                     size_t size, size_t *length, bool *is_last);

/* The field list of a whole image, until it changes; without data where there is none. */
struct rwf_bytes cache_image_fields(const struct cache_image *image);

void cache_image_free(struct cache *cache, struct cache_image *image); /* NULL is allowed */
size_t cache_image_bytes(const struct cache_image *image);

void cache_stats(const struct cache *cache, struct cache_stats *out);

#endif
