/* block.h - blocks of a recording: a head with two checksums, then bytes, of some compressed. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORDING_BLOCK_H
#define RECORDING_BLOCK_H

#include "base/cursor.h"
#include "base/writer.h"
#include "recording/format.h"

#define REC_BLOCK_MAGIC 0x52524543u /* "RREC" */
#define REC_FILE_ROOM   1024u       /* the first block with its contents is shorter */
#define REC_END_BYTES   48u         /* contents of the last block */

/* How the records of a chunk are stored. */
enum rec_coding {
    REC_CODING_ROWS = 0,    /* one zstd frame */
    REC_CODING_COLUMNS = 1, /* by the kinds of their values */
};

struct rec_block {
    uint8_t kind;      /* enum rec_block_kind */
    uint8_t coding;    /* of a chunk: enum rec_coding */
    uint32_t stored;   /* bytes behind the head */
    uint32_t expanded; /* bytes that they become */
    uint64_t identity; /* of the file */
    uint64_t number;   /* of a chunk, from 0; of others that of the next chunk */
    uint64_t sum;      /* of the stored bytes */
};

uint64_t rec_sum(const uint8_t *bytes, size_t length);
/* The head of `stored`, which it gets the checksum of. */
void rec_block_seal(uint8_t head[REC_BLOCK_HEAD], struct rec_block *block, const uint8_t *stored);
/* MD_ERR_MALFORMED: not a head, or a length that no block of its kind has. */
int rec_block_read(const uint8_t head[REC_BLOCK_HEAD], struct rec_block *block);

/* The most bytes that `length` bytes become. */
size_t rec_pack_bound(size_t length);
struct rec_packer; /* scratch memory of one thread */
int rec_packer_create(int level, struct rec_packer **out);
void rec_packer_destroy(struct rec_packer *packer);
/* 0: failed. */
size_t rec_pack(struct rec_packer *packer, uint8_t *out, size_t size, const uint8_t *bytes,
                size_t length);
/* Exactly `expanded` bytes, or MD_ERR_MALFORMED. */
int rec_unpack(struct rec_packer *packer, uint8_t *out, size_t expanded, const uint8_t *bytes,
               size_t length);

void rec_file_info_put(struct md_wr *wr, const struct rec_file_info *info);
int rec_file_info_get(struct md_rd rd, struct rec_file_info *info);
void rec_file_end_put(struct md_wr *wr, const struct rec_file_end *end);
int rec_file_end_get(struct md_rd rd, struct rec_file_end *end);

/* Numbers of seven bits a byte, the lowest first. */
static inline void rec_put_number(struct md_wr *wr, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        md_wr_u8(wr, (uint8_t)(value | 0x80));
    md_wr_u8(wr, (uint8_t)value);
}

static inline uint64_t rec_get_number(struct md_rd *rd)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = md_rd_u8(rd);

        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    rd->failed = true;
    return 0;
}

void rec_key_put(struct md_wr *wr, const struct rec_key *key);
void rec_key_get(struct md_rd *rd, struct rec_key *key);

#endif
