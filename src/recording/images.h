/* images.h - the images of items by number, and what changes them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORDING_IMAGES_PRIVATE_H
#define RECORDING_IMAGES_PRIVATE_H

#include "recording/images.h"

struct rec_image {
    struct cache_image *image;
    uint64_t group; /* hash of its group id */
    uint16_t service_id;
    uint8_t domain;
    bool is_between; /* a further part of its refresh is to come */
    bool is_torn;    /* something is missing since its last image: suspect whatever is told */
};

struct rec_images {
    struct cache *cache;
    struct rec_image *all; /* by number */
    uint32_t size;
};

int rec_images_init(struct rec_images *images, const struct cache_config *config);
void rec_images_fini(struct rec_images *images);
void rec_images_clear(struct rec_images *images);
/* NULL: no memory. */
struct rec_image *rec_images_at(struct rec_images *images, uint32_t number,
                                const struct rec_key *key);
/* Whether an image begins with this message. */
bool rec_images_begins(const struct rec_image *image, struct rwf_bytes message);
/* MD_OK, or what cache_apply() says. `flags` are those of its record; `is_received`: not an image
 * that the recorder has made. */
int rec_images_apply(struct rec_images *images, struct rec_image *image, struct rwf_bytes message,
                     unsigned flags, bool is_received);
/* Whether this message of the directory changes states of other items. */
bool rec_images_has_groups(struct rwf_bytes message);
/* Messages of this item are missing; NULL: of all items. */
void rec_images_tear(struct rec_images *images, struct rec_image *image);
/* The connection was lost: suspect, all of them. */
void rec_images_cut(struct rec_images *images);

#endif
