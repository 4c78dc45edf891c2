/* column_get.h - the values of one column from planes. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORDING_COLUMN_GET_H
#define RECORDING_COLUMN_GET_H

#include <string.h>

#include "columns.h"
#include "planes.h"

/* Short rows of bytes are copied in one piece: what they are copied from and to has so much more.
 */
#define REC_SLACK 16u

static inline void rec_copy(uint8_t *to, const uint8_t *from, size_t length)
{
    memcpy(to, from, length <= REC_SLACK ? REC_SLACK : length);
}

/* The last value of an item. */
struct rec_known {
    uint64_t number; /* of BYTES, where it is */
    uint32_t length;
    uint32_t column;
};

struct rec_get_scratch {
    uint64_t *residuals, *firsts; /* REC_COLUMN_VALUES */
    uint8_t *is_other;
    uint8_t *text;          /* REC_CHUNK_MAX, and slack */
    struct rec_known *last; /* REC_CHUNK_ITEMS */
    uint32_t column;        /* counts, so that `last` is not cleared for each */
    uint8_t *arena;         /* REC_CHUNK_MAX, and slack: bytes of values */
    size_t used, most;      /* of it */
};

/* Where a value stands in the arena; one of a field with its id and its length in front. */
struct rec_cell {
    uint32_t at, length;
};

struct rec_cells {
    struct rec_cell *cell;
    const uint16_t *item;
    size_t count;
    bool is_field;
    uint16_t id;
};

/* Before the columns of a chunk: clears `last` before the count would wrap. */
void rec_column_get_start(struct rec_get_scratch *scratch);

/* False: malformed, or more bytes than `most`. */
bool rec_column_get(struct rec_planes_out *out, struct rec_get_scratch *scratch,
                    const struct rec_cells *cells);

#endif
