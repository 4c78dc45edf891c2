/* columns.h - the records of a chunk by columns: what is alike stands together. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORDING_COLUMNS_H
#define RECORDING_COLUMNS_H

#include <stdlib.h>

#include "base/assert.h"
#include "block.h"
#include "chunk.h"

/*
 * docs/recording.md has the bytes. A message of fields has a shape: kind, length of what is in
 * front of its fields, their ids. The shapes of the records, their times and items are columns of
 * numbers; so are the values of a field over all messages, and those bytes in front of the fields
 * that are not the same in all messages of a shape. Whatever is no such message stands as it is.
 */
#define REC_COLUMN_RECORDS 131072u /* of a chunk; one that has more has no columns */
#define REC_COLUMN_VALUES  262144u
#define REC_COLUMNS_MAX    4096u
#define REC_SHAPES_MAX     1024u
#define REC_SHAPE_FIELDS   4096u  /* of one shape */
#define REC_SHAPE_HEAD     1024u  /* bytes in front of its fields */
#define REC_SHAPES_FIELDS  65536u /* of all shapes */
#define REC_SHAPES_HEADS   65536u
#define REC_STAMP_MAX      (1u << 31) /* of the count of columns; a chunk has far fewer */
#define REC_RUN_MAX        8u         /* bytes of a head that are one column */
#define REC_LENGTH_LONG    0xfeu      /* in front of a length of two bytes */

/* Records that are no message of fields. */
#define REC_SHAPE_RAW  0u
#define REC_SHAPE_ITEM 1u
#define REC_SHAPES     2u /* the first one of a message */

/* How the bytes of a value are a number. */
enum rec_form {
    REC_FORM_FIXED = 1,    /* so many bytes, each value */
    REC_FORM_UNSIGNED = 2, /* as few as it takes, without a sign, */
    REC_FORM_SIGNED = 3,   /* or with one */
    REC_FORM_SCALED = 4,   /* behind a byte that is the same in all values */
    REC_FORM_BYTES = 5,    /* no number */
};

/* A number is told as the difference from one of these. */
enum rec_predictor {
    REC_FROM_ZERO = 0,
    REC_FROM_ITEM = 1,   /* the last one of the item in this column; the first one as it is */
    REC_FROM_COLUMN = 2, /* the last one of the column */
};

struct rec_column {
    uint8_t form, predictor;
    uint8_t fixed; /* FIXED: bytes; SCALED: the byte in front */
};

/* The memory of a split or a join, which all goes with it. */
struct rec_memory {
    void *all[24];
    unsigned count;
    bool is_short; /* some of it could not be had */
};

static inline void *rec_memory_get(struct rec_memory *memory, size_t count, size_t size)
{
    void *part = malloc(count * size);

    MD_ASSERT(memory->count < sizeof(memory->all) / sizeof(memory->all[0]));
    memory->all[memory->count++] = part;
    memory->is_short |= !part;
    return part;
}

static inline void rec_memory_free(struct rec_memory *memory)
{
    for (unsigned i = 0; i < memory->count; i++)
        free(memory->all[i]);
}

#endif
