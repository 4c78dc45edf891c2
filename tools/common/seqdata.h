/* seqdata.h - data that prove themselves: every field follows from the item's name and a count. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_SEQDATA_H
#define TOOLS_SEQDATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rmds/rwf.h"

/*
 * The convention of every tool and test (docs/sequence-data.md). An item has a counter: its image
 * is made at some count, each update adds one. ACVOL_1 (32) carries 0x400000 + count modulo 2^22,
 * three mantissa bytes always; the other fields of an update are functions of the item's name and
 * of what ACVOL_1 carries; the fields that stand in the image alone are functions of the name. So
 * an image that a cache has kept up to date is again the image of its count.
 *
 * An update is the stock update: its fields, in its order, 74 bytes. It may be followed by
 * TIM_TRK_1 (3902), which is not judged.
 */
#define SEQDATA_UPDATE_BYTES 74
#define SEQDATA_IMAGE_MAX    1024
#define SEQDATA_COUNT_BITS   22
#define SEQDATA_COUNT_MASK   ((1u << SEQDATA_COUNT_BITS) - 1)
#define SEQDATA_BASE         0x400000u
#define SEQDATA_FID_COUNT    32
#define SEQDATA_FID_TIME     3902

/* What stands for a name; the same in every process. */
uint64_t seqdata_item(const void *name, size_t length);

/* The payload of the update with this count. */
void seqdata_update(uint64_t item, uint32_t count, uint8_t out[SEQDATA_UPDATE_BYTES]);

/* The payload of the image at this count: some 70 fields. `out` holds SEQDATA_IMAGE_MAX. */
size_t seqdata_image(uint64_t item, const char *name, size_t name_length, uint32_t count,
                     uint8_t *out);

/* What was found in a payload. */
enum seqdata_verdict {
    SEQDATA_GOOD,
    SEQDATA_NO_COUNT,    /* no ACVOL_1, or none of ours */
    SEQDATA_WRONG_VALUE, /* a field is not what name and count say; *fid tells which */
    SEQDATA_MISSING,     /* a field is not there */
    SEQDATA_BROKEN,      /* not a field list that can be read */
};

const char *seqdata_verdict_name(enum seqdata_verdict verdict);

/* Judge an update; *count is what it carries (modulo 2^22). `is_partial`: fields may be missing
 * (a view), but not ACVOL_1. */
enum seqdata_verdict seqdata_update_check(uint64_t item, struct rwf_bytes payload, bool is_partial,
                                          uint32_t *count, int *fid);

/* Judge an image, fields in any order. */
enum seqdata_verdict seqdata_image_check(uint64_t item, const char *name, size_t name_length,
                                         struct rwf_bytes payload, bool is_partial, uint32_t *count,
                                         int *fid);

/* How a count follows on another, both modulo 2^22. */
enum seqdata_step {
    SEQDATA_NEXT,
    SEQDATA_GAP,       /* *by counts are missing */
    SEQDATA_DUPLICATE, /* the same again */
    SEQDATA_REORDER,   /* *by counts back */
};

enum seqdata_step seqdata_step(uint32_t last, uint32_t count, uint32_t *by);

#endif
