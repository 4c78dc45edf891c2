/* column_get.h - the values of one column from planes. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORDING_COLUMN_GET_H
#define RECORDING_COLUMN_GET_H

#include "columns.h"
#include "planes.h"

/* The last value of an item. */
struct rec_known {
    uint64_t number; /* of BYTES, where it is */
    uint32_t length;
    uint32_t column;
};

struct rec_get_scratch {
    uint64_t *residuals, *firsts; /* REC_COLUMN_VALUES */
    uint8_t *is_other;
    uint8_t *text;          /* REC_CHUNK_MAX */
    struct rec_known *last; /* REC_CHUNK_ITEMS */
    uint32_t column;        /* counts, so that `last` is not cleared for each */
    uint8_t *arena;         /* REC_CHUNK_MAX: bytes of values */
    size_t used, most;      /* of it */
};

/* Where values stand in the arena. */
struct rec_cells {
    uint32_t *at;
    uint16_t *length;
    const uint16_t *item;
    size_t count;
};

/* Before the columns of a chunk: clears `last` before the count would wrap. */
void rec_column_get_start(struct rec_get_scratch *scratch);

/* False: malformed, or more bytes than `most`. */
bool rec_column_get(struct rec_planes_out *out, struct rec_get_scratch *scratch,
                    const struct rec_cells *cells);

#endif
