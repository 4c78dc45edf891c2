/* line.h - the end of a line where records are put in: the chunk that is filled, gaps, room. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DELAY_LINE_H
#define DELAY_LINE_H

#include "private.h"

int delay_line_create(struct delay *d);
void delay_line_destroy(struct delay *d);

/* False: it is full, and has not drained by an eighth yet. */
bool delay_line_takes(struct delay *d);
/* False: no room. A gap is in the line then, and the item needs an image again. */
bool delay_line_add(struct delay *d, uint64_t now_ns, const struct delay_record *record);
/* All items need an image again. */
void delay_line_gap(struct delay *d, uint64_t now_ns);
/* Writes the chunk that is being filled, if it has records. */
void delay_line_seal(struct delay *d, uint64_t now_ns);
/* When it is old enough for that; UINT64_MAX: it is empty, or waits for a place. */
uint64_t delay_line_deadline(const struct delay *d);
/* The chunk is long enough, or old enough. */
bool delay_line_is_ripe(const struct delay *d, uint64_t now_ns);
/* Chunks before this one are not needed any more. */
void delay_line_release(struct delay *d, uint64_t chunk);

static inline uint32_t *delay_chunk_size(const struct delay *d, uint64_t chunk)
{
    return &d->in.sizes[chunk & d->in.mask];
}

#endif
