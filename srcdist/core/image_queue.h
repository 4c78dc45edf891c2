/* image_queue.h - images from the cache on their way to the backbone. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_IMAGE_QUEUE_H
#define SRCDIST_IMAGE_QUEUE_H

#include "private.h"

void srcdist_image_queue(struct srcdist_core *core, uint32_t item);
void srcdist_images_pump(struct srcdist_core *core);

/* Somebody waits for an image: from the cache, else asked of the provider. */
void srcdist_image_wanted(struct srcdist_core *core, uint32_t item);

#endif
