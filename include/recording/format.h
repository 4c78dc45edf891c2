/* recording/format.h - the numbers of a recording (.rrec); docs/recording.md has its bytes. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORDING_FORMAT_H
#define RECORDING_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rmds/rwf_types.h"

/*
 * A file is a row of blocks: HEAD, then chunks of records with an index behind each 64 of them, and
 * END where the recorder was ended in good order. A block proves itself: its head and its contents
 * have a checksum each. A chunk can be read without any other.
 */
#define REC_BLOCK_HEAD     48u
#define REC_CHUNK_PREAMBLE 32u
#define REC_CHUNK_MAX      (1u << 20) /* bytes of its records */
#define REC_CHUNK_ITEMS    32768u     /* different items of one chunk */
#define REC_MESSAGE_MAX    (1000u << 10)
#define REC_INDEX_MAX      (64u << 20) /* bytes of an index, expanded */
#define REC_INDEX_CHUNKS   64u
#define REC_ITEMS_MAX      (1u << 20)
#define REC_CHUNK_NS       1000000000ull /* a chunk is not longer */

enum rec_block_kind {
    REC_BLOCK_FILE = 1,
    REC_BLOCK_CHUNK = 2,
    REC_BLOCK_INDEX = 3,
    REC_BLOCK_END = 4,
};

enum rec_kind {
    REC_ITEM = 1,    /* what a number of an item stands for, before its first record of a chunk */
    REC_MESSAGE = 2, /* an RWF message as it was received, its stream id 0 */
    REC_IMAGE = 3,   /* a part of the image that the recorder keeps; was not received */
    REC_LOST = 4,    /* `count` messages of the item found no room */
    REC_CUT = 5,     /* of the connection: it was lost, no item has updates */
    REC_CLOCK = 6,   /* the wall clock was set, or has drifted */
    REC_HOLE = 7,    /* of a reader alone: chunks are missing here */
};

/* Flags of a record. */
#define REC_FIRST 0x10u /* an image begins with it: a refresh, or a part of a REC_IMAGE */
#define REC_LAST  0x20u /* of a REC_IMAGE: its last part */

/* The item of a number. Domain 0 is the connection, 4 the directory, 5 a dictionary. */
struct rec_key {
    uint8_t domain;
    uint16_t service_id; /* when it was opened */
    struct rwf_bytes service;
    struct rwf_bytes name;
};

/* Of the first block. */
struct rec_file_info {
    uint64_t mono_ns, wall_ns; /* when it was begun */
    uint64_t series;           /* the same in all files of a recording that was cut into several */
    uint32_t part;             /* of these, from 0 */
    struct rwf_bytes program;  /* up to 255 bytes */
    struct rwf_bytes source;   /* up to 255 bytes */
};

/* Of the last block. */
struct rec_file_end {
    uint64_t index_at; /* the last index, 0: none */
    uint64_t chunks, records, items;
    uint64_t last_mono_ns;
    uint64_t lost; /* messages */
};

#endif
