/* encoder.h - what the parts of the encoder share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RWF_ENCODER_H
#define RWF_ENCODER_H

#include "rmds/rwf_encode.h"
#include "wire.h"

#define CONTAINER_BASE 128

enum level_kind {
    LEVEL_BASE, /* nothing open */
    LEVEL_MSG,
    LEVEL_FIELD_LIST,
    LEVEL_ELEMENT_LIST,
    LEVEL_MAP,
    LEVEL_VECTOR,
    LEVEL_SERIES,
    LEVEL_FILTER_LIST,
    LEVEL_ARRAY,
};

/*
 * The phase says which call may come next in an open level. A slot is a place where one container
 * stands; it is open while slot_is_open, and closed by what is written in it.
 *
 *  message     ATTRIB (slot: key attributes) -> PAYLOAD (slot)
 *  lists       SET -> STANDARD or FIELDS; each entry in place is a slot: SET_ENTRY, STANDARD_ENTRY
 *  containers  SUMMARY (slot) -> ENTRIES; each entry in place is a slot: ENTRY
 *  array       ENTRIES
 */
enum level_phase {
    PHASE_ATTRIB,
    PHASE_PAYLOAD,
    PHASE_SET,
    PHASE_SET_ENTRY,
    PHASE_STANDARD, /* of an element list */
    PHASE_FIELDS,   /* of a field list: one byte says so, and adding a field is one test */
    PHASE_STANDARD_ENTRY,
    PHASE_NO_MORE, /* a list without standard data behind its set data */
    PHASE_SUMMARY,
    PHASE_ENTRIES,
    PHASE_ENTRY,
};

static inline int encoder_fail(struct rwf_encoder *enc, int err)
{
    if (enc->err == RWF_OK)
        enc->err = err;
    return enc->err;
}

static inline struct rwf_level *encoder_top(struct rwf_encoder *enc)
{
    return &enc->level[enc->depth];
}

/* A bounded writer over what is left; encoder_written() takes what it wrote, all or nothing. */
static inline struct md_wr encoder_writer(struct rwf_encoder *enc)
{
    return (struct md_wr){ .start = enc->pos, .pos = enc->pos, .end = enc->end };
}

static inline int encoder_written(struct rwf_encoder *enc, const struct md_wr *wr)
{
    if (!md_wr_ok(wr))
        return encoder_fail(enc, RWF_ERR_FULL);
    enc->pos = wr->pos;
    return RWF_OK;
}

/* Opens a level of `kind`, if something of that type may stand here. */
struct rwf_level *encoder_push(struct rwf_encoder *enc, enum level_kind kind, unsigned type);

/* Closes the top level, which must be of `kind` and without an open entry. */
int encoder_pop(struct rwf_encoder *enc, enum level_kind kind);

/* Sets room aside for what a finish will write, and gives it back. */
int encoder_reserve(struct rwf_encoder *enc, size_t size);
static inline void encoder_release(struct rwf_encoder *enc, size_t size)
{
    enc->end += size;
}

/* Nested lengths: room for the longest form is kept until they are closed. */
int encoder_open_length16(struct rwf_encoder *enc, uint8_t **length_at);
int encoder_close_length16(struct rwf_encoder *enc, uint8_t *length_at);
int encoder_open_length15(struct rwf_encoder *enc, uint8_t **length_at);
int encoder_close_length15(struct rwf_encoder *enc, uint8_t *length_at);

#endif
