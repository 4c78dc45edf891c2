/* rmds/backbone_batch.h - events of items in columns, for languages in which each call is dear. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RMDS_BACKBONE_BATCH_H
#define RMDS_BACKBONE_BATCH_H

#include "rmds/backbone.h"
#include "rmds/rwf_dictionary.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A batch takes the turns of a backbone and turns what comes of its items into rows: one for each
 * field of a message, one for each state. A call gives some thousands of them as arrays, so that
 * Python, R or Julia look at an update for some ten nanoseconds instead of some microseconds.
 *
 *     rmds_batch_options_init(&options, sizeof(options));
 *     options.dictionary = dictionary;
 *     rmds_batch_create(backbone, &options, &batch);
 *     rmds_batch_open(batch, "RDFD", "TRI.N", 6, &number);
 *     while ((count = rmds_batch_turn(batch, 100000000, &columns)) >= 0)
 *         for (uint32_t i = 0; i < count; i++)
 *             columns.item[i], columns.fid[i], columns.value[i], ...
 *
 * All of it is one thread's; callbacks of the backbone run inside of rmds_batch_turn(). Nothing is
 * allocated for a message. What the arrays hold is good until the next call.
 */
struct rmds_batch;

struct rmds_batch_options {
    size_t size;
    /* Without it no field has a value, only bytes. It must outlive the batch. */
    const struct rwf_dictionary *dictionary;
    uint32_t rows;       /* of one batch; 262,144; 16,384 at least */
    uint32_t raw_bytes;  /* of the fields of one batch; 16 MiB; 1 MiB at least */
    uint32_t item_limit; /* 1,000,000: items in the life of the batch */
};

enum rmds_row_flags {
    RMDS_ROW_FIRST = 0x01, /* of its message */
    RMDS_ROW_IMAGE = 0x02, /* of an image; else of an update */
    RMDS_ROW_VALUE = 0x04, /* `value` holds: INT, UINT, REAL, FLOAT, DOUBLE; ENUM: its number; DATE:
                              20241231; TIME: seconds of the day */
    RMDS_ROW_BLANK = 0x08, /* the field is empty */
    RMDS_ROW_STATE = 0x10, /* no field: `fid` is the code, `value` the data state (1 OK, 2 suspect),
                              the raw bytes are the text. With IMAGE: the last row of an image, or
                              of a part of it, which is not OK, or OK again. An image without such
                              a row is OK */
    RMDS_ROW_CLOSED = 0x20, /* with STATE: the item has ended */
    RMDS_ROW_CUT = 0x40,    /* rows of the message are missing: the batch was full, or its bytes are
                               broken. The next batch has a suspect STATE for the item, the item has
                               no updates, and a new image comes. With STATE: it is from the batch
                               before, which was full; its text and earlier states are missing */
    RMDS_ROW_OTHER = 0x80,  /* no field: a message whose data are no fields; the raw bytes are its
                               payload */
    RMDS_ROW_BEGIN = 0x100, /* the first row of an image, which may have many parts */
    RMDS_ROW_END = 0x200,   /* the last one: the image is whole */
};

struct rmds_batch_columns {
    size_t size;
    uint32_t count;            /* rows */
    const uint32_t *item;      /* number of the item */
    const int16_t *fid;        /* of the field */
    const uint16_t *flags;     /* enum rmds_row_flags */
    const int8_t *exponent;    /* of a REAL, a power of ten: -2 is two decimals; else 0 */
    const double *value;       /* 0 without VALUE */
    const uint64_t *time_ns;   /* when the batch took it, rmds_now() */
    const uint32_t *raw_begin; /* where the content of the field begins in `raw` */
    const uint32_t *raw_length;
    const uint8_t *raw;
    uint32_t raw_size; /* used */
    uint32_t messages; /* images, their parts and updates in this batch */
    uint64_t cut;      /* messages cut in the life of the batch */
};

void rmds_batch_options_init(struct rmds_batch_options *options, size_t size);

/* RMDS_ERROR_RANGE, RMDS_ERROR_NOMEM. */
int rmds_batch_create(struct rmds_backbone *backbone, const struct rmds_batch_options *options,
                      struct rmds_batch **out);
/* Closes its items. Before rmds_backbone_close(). NULL is allowed. */
void rmds_batch_destroy(struct rmds_batch *batch);

/* Opens an item; `*number` counts from 0. As rmds_item_open(). */
int rmds_batch_open(struct rmds_batch *batch, const char *service, const char *name, uint8_t domain,
                    uint32_t *number);
/* RMDS_ERROR_RANGE: no such number. One that has ended is no error. */
int rmds_batch_close_item(struct rmds_batch *batch, uint32_t number);

/* Takes turns until there are rows and nothing more comes, half of them are in use, or `wait_ns`
 * have passed (0: one turn). The number of rows; RMDS_ERROR_RANGE: `out->size` is not set. */
int rmds_batch_turn(struct rmds_batch *batch, uint64_t wait_ns, struct rmds_batch_columns *out);

#ifdef __cplusplus
}
#endif

#endif
