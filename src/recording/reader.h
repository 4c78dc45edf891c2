/* reader.h - a reader, as its parts know it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORDING_READER_PRIVATE_H
#define RECORDING_READER_PRIVATE_H

#include "catalogue.h"
#include "join.h"

/* One expanded chunk. */
struct rec_page {
    uint8_t *stored;
    size_t stored_size;
    uint8_t *bytes;
    size_t size;
    struct rec_preamble preamble;
    struct rwf_bytes records;
};

/* One of the files that are read as one. */
struct rec_part {
    struct rec_source source;
    uint32_t number; /* its place among them, from 0 */
    uint64_t identity;
    bool has_identity;
    bool has_info, is_ended, is_indexed;
    struct rec_file_end end;
};

struct rec_reader {
    struct rec_part *parts;
    uint32_t part_count;
    struct rec_part *part; /* the one that blocks are read of */
    struct rec_packer *packer;
    struct rec_join *join; /* once there is a chunk by columns */
    struct rec_catalogue catalogue;
    struct rec_facts facts;
    uint8_t info_bytes[REC_FILE_ROOM]; /* the texts of facts.info */
    uint64_t first_number;             /* of the chunk that should be the first */
    struct rec_damage *damages;
    struct rec_page page; /* for looking into chunks: */
    uint32_t *slots;      /* by number of an item, all 0 between two */
    uint32_t slot_count;
};

void rec_page_fini(struct rec_page *page);
/* Read the chunk of a place and expand it. MD_ERR_MALFORMED: it is damaged, and that is noted. */
int rec_page_load(struct rec_reader *reader, const struct rec_place *place, struct rec_page *page);
/* Read and prove the block at `at`; its contents in page->stored. MD_ERR_SHORT: the file ends
 * before it does; MD_ERR_NOT_FOUND: there is no head; MD_ERR_MALFORMED: other contents. */
int rec_block_load(struct rec_reader *reader, uint64_t at, struct rec_block *block,
                   struct rec_page *page);
/* The contents of an index, expanded to page->bytes. */
int rec_index_load(struct rec_reader *reader, uint64_t at, struct rec_page *page,
                   struct rwf_bytes *out);

void rec_note_damage(struct rec_reader *reader, const struct rec_damage *damage);
/* Chunks whose numbers are not there, between these and the next place. */
uint64_t rec_missing_before(const struct rec_reader *reader, size_t place);

/* walk.c */
int rec_walk(struct rec_reader *reader);       /* all blocks, from the first on */
int rec_walk_index(struct rec_reader *reader); /* by END and indices; fails: walk */
/* Which items this place has. MD_ERR_MALFORMED: its records are wrong. */
int rec_place_look(struct rec_reader *reader, struct rec_place *place);

#endif
