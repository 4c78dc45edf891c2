/* image.h - the image of an item in the cache. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_IMAGE_H
#define SRCDIST_IMAGE_H

#include "private.h"

/* The next part of an image from the cache, in core->part. */
int srcdist_image_part(struct srcdist_core *core, const struct cache_image *image,
                       struct cache_cursor *cursor, size_t *length, bool *is_last);

/* A hash of the permission data, 0: none. */
uint64_t srcdist_image_permission(const struct rwf_msg *msg);

/* The update is in the image. */
void srcdist_image_update(struct srcdist_core *core, struct srcdist_item *it,
                          struct rwf_bytes message, bool has_permission_data);

/* The part of a refresh is in the image, if the service has images here. */
void srcdist_image_refresh(struct srcdist_core *core, struct srcdist_item *it,
                           struct rwf_bytes message, bool is_first);

#endif
