/* later.h - records that change an image once somebody asks for it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORDING_LATER_H
#define RECORDING_LATER_H

#include "images.h"

/*
 * Most images that a recording makes are never asked for, and the next image of an item makes
 * everything before it needless. So its records wait: for the item to be asked for, which applies
 * them, or for its next image, which drops them. They wait in a ring of bounded size; of one that
 * is full, the oldest record is applied.
 */
struct rec_waiting {
    uint64_t first, last; /* where the first and the last record of an item stand; 0: none */
};

struct rec_later {
    struct rec_images *images;
    uint8_t *bytes;
    uint64_t units;      /* that the ring has */
    uint64_t begin, end; /* of what it holds, in units; they only grow */
    struct rec_waiting *items;
    uint32_t item_size;
};

int rec_later_init(struct rec_later *later, struct rec_images *images, size_t bytes);
void rec_later_fini(struct rec_later *later);
void rec_later_clear(struct rec_later *later);
/* A message or an image of an item that `images` has; not one of the directory that was received,
 * which changes other items. MD_ERR_NOMEM. */
int rec_later_put(struct rec_later *later, uint32_t number, struct rwf_bytes message,
                  unsigned flags);
/* All that waits of this item is applied now. */
void rec_later_settle(struct rec_later *later, uint32_t number);
void rec_later_settle_all(struct rec_later *later);

#endif
