/* chunk.h - records in a chunk, written and read. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORDING_CHUNK_H
#define RECORDING_CHUNK_H

#include "base/cursor.h"
#include "recording/writer.h"

/* There is room: the writer has looked. */
void rec_chunk_put_item(struct rec_chunk *chunk, uint64_t mono_ns, const struct rec_item *item);
void rec_chunk_put_clock(struct rec_chunk *chunk, struct rec_moment now);
void rec_chunk_put(struct rec_chunk *chunk, uint64_t mono_ns, const struct rec_put *put);

/* The 32 bytes in front of the compressed records. */
struct rec_preamble {
    uint64_t first_mono_ns, last_mono_ns, first_wall_ns;
    uint32_t records;
};
void rec_preamble_put(uint8_t out[REC_CHUNK_PREAMBLE], const struct rec_preamble *preamble);
void rec_preamble_get(const uint8_t bytes[REC_CHUNK_PREAMBLE], struct rec_preamble *preamble);

/* A record as it stands in a chunk; views of its bytes. */
struct rec_raw {
    uint8_t kind;
    uint8_t flags;
    uint32_t number; /* of the item; 0: none */
    uint64_t mono_ns, wall_ns;
    uint64_t count;
    struct rwf_bytes bytes;
    struct rec_key key; /* of an ITEM */
};

/* Where a walk through the records of a chunk stands. */
struct rec_scan {
    struct md_rd rd;
    uint64_t mono_ns;
    uint64_t wall_offset_ns; /* modulo 2^64 */
    uint64_t last_mono_ns;   /* of the chunk: no record is later */
};

struct rec_scan rec_scan_start(struct rwf_bytes records, const struct rec_preamble *preamble);
/* 1 with a record, 0 at the end, MD_ERR_MALFORMED. */
int rec_scan_next(struct rec_scan *scan, struct rec_raw *raw);

#endif
