/* column_put.h - the values of one column into planes. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORDING_COLUMN_PUT_H
#define RECORDING_COLUMN_PUT_H

#include "columns.h"
#include "planes.h"

/* Values in the order of their messages: where their bytes are, and of which item. */
struct rec_values {
    const uint8_t *bytes;
    const uint32_t *at;
    const uint16_t *length;
    const uint16_t *item;
    size_t count;
};

struct rec_last {
    uint64_t number; /* the last value of an item; of BYTES, where it is */
    uint32_t length;
    uint32_t column; /* it is of this one */
};

/* Scratch memory for one column. */
struct rec_put_scratch {
    uint64_t *numbers, *residuals, *firsts; /* REC_COLUMN_VALUES */
    uint16_t *who;                          /* items of the numbers */
    uint8_t *text;                          /* REC_CHUNK_MAX */
    struct rec_last *last;                  /* REC_CHUNK_ITEMS and one */
    uint32_t column;                        /* counts, so that `last` is not cleared for each */
};

/* Before the columns of a chunk: clears `last` before the count would wrap. */
void rec_column_put_start(struct rec_put_scratch *scratch);

void rec_column_put(struct rec_planes_in *in, struct rec_put_scratch *scratch,
                    const struct rec_values *values);

#endif
