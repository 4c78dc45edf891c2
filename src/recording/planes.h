/* planes.h - numbers of a column as planes of bytes, each compressed for itself. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORDING_PLANES_H
#define RECORDING_PLANES_H

#include "block.h"

#define REC_META_MAX (1u << 20) /* bytes of what describes the columns of a chunk */
#define REC_BODY_MAX (2u << 20) /* bytes of its planes, stored */

/*
 * A plane is a row of bytes: constant (its byte alone is stored), short (it stands in the
 * description, which is compressed as a whole), a zstd frame, or plain where that is no longer.
 * Numbers are planes: the lowest bytes of all, the next ones, up to the highest that is not 0.
 */
struct rec_planes_in {
    struct md_wr meta, body;
    struct rec_packer *packer;
    uint8_t *plane; /* REC_CHUNK_MAX bytes: one that is made */
};

void rec_plane_put(struct rec_planes_in *in, const uint8_t *bytes, size_t count);
/* A length, and a plane of so many. */
void rec_text_put(struct rec_planes_in *in, const uint8_t *bytes, size_t count);
void rec_numbers_put(struct rec_planes_in *in, const uint64_t *numbers, size_t count);

struct rec_planes_out {
    struct md_rd meta, body;
    struct rec_packer *packer;
    uint8_t *plane; /* REC_CHUNK_MAX bytes */
};

/* `count` bytes or numbers. A bad one fails the reader of the meta. */
void rec_plane_get(struct rec_planes_out *out, uint8_t *bytes, size_t count);
/* Returns how many, `max` at most. */
size_t rec_text_get(struct rec_planes_out *out, uint8_t *bytes, size_t max);
void rec_numbers_get(struct rec_planes_out *out, uint64_t *numbers, size_t count);

/* Numbers with a sign, those near 0 small. */
static inline uint64_t rec_zigzag(int64_t value)
{
    return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static inline int64_t rec_unzigzag(uint64_t value)
{
    return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}

#endif
