/* recording/reader.h - a recording read: what is intact in order, what is not by name. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORDING_READER_H
#define RECORDING_READER_H

#include "recording/format.h"

/* The bytes of a file, wherever they are. `read` gives exactly `length` bytes, or fails. `expect`
 * may be NULL: these bytes will be read soon. */
struct rec_source {
    void *context;
    int (*read)(void *context, uint64_t at, uint8_t *bytes, size_t length);
    uint64_t length;
    void (*expect)(void *context, uint64_t at, uint64_t length);
};

enum rec_damage_kind {
    REC_DAMAGE_HEAD,    /* bytes that are no block */
    REC_DAMAGE_SUM,     /* a block whose contents have changed */
    REC_DAMAGE_TORN,    /* the file ends within a block */
    REC_DAMAGE_MISSING, /* chunks that were never written, or stood where there is no block */
    REC_DAMAGE_RECORDS, /* a chunk with a right checksum and wrong records */
};
const char *rec_damage_name(enum rec_damage_kind kind);

struct rec_damage {
    enum rec_damage_kind kind;
    uint64_t at, length;    /* bytes of the file; 0 of MISSING */
    uint32_t file;          /* of a series that is read as one: which, from 0 */
    uint64_t chunk, chunks; /* the first one concerned, and how many; 0 chunks: not a chunk */
};
#define REC_DAMAGES_MAX 1000u /* kept; further ones are counted */

struct rec_reader;

struct rec_facts {
    bool has_info; /* the first block is whole */
    struct rec_file_info info;
    bool is_ended;            /* it was ended in good order */
    bool is_indexed;          /* opened by its indices: its blocks were not walked through */
    struct rec_file_end end;  /* of the last file that has one */
    uint64_t chunks, records; /* found */
    uint64_t first_mono_ns, last_mono_ns, first_wall_ns;
    uint32_t items; /* highest number of one */
    uint64_t damages;
};

/*
 * MD_ERR_MALFORMED: no block of it is whole; MD_ERR_NOMEM; or what `read` said of the first bytes.
 * A file that was not ended is walked through, from block to block, and behind damage to the next
 * block. `walks`: also one that was.
 *
 * Several files are those of a series, in the order of their parts, as one recording. A file that
 * is missing between two is a hole, by the numbers of its chunks.
 */
int rec_reader_open_series(const struct rec_source *sources, size_t count, bool walks,
                           struct rec_reader **out);
static inline int rec_reader_open(const struct rec_source *source, bool walks,
                                  struct rec_reader **out)
{
    return rec_reader_open_series(source, 1, walks, out);
}
/* Which series a file belongs to, and as which part. MD_ERR_MALFORMED: its first block is damaged.
 */
int rec_source_series(const struct rec_source *source, uint64_t *series, uint32_t *part);
void rec_reader_close(struct rec_reader *reader);
void rec_reader_facts(const struct rec_reader *reader, struct rec_facts *out);
/* NULL: there are fewer. Reading on may find more. */
const struct rec_damage *rec_reader_damage(const struct rec_reader *reader, size_t number);
/* The item of a number, from 1; NULL: there is none. It stays until the reader is closed. */
const struct rec_key *rec_reader_item(const struct rec_reader *reader, uint32_t number);

/* A record; views that are good until the next call with the same cursor. */
struct rec_record {
    uint8_t kind; /* enum rec_kind, without ITEM and CLOCK */
    uint8_t flags;
    uint32_t number; /* of the item; 0: none */
    uint64_t mono_ns, wall_ns;
    uint64_t count;         /* LOST: messages; HOLE: chunks */
    struct rwf_bytes bytes; /* MESSAGE, IMAGE; CUT: the reason */
};

/* Where somebody reads; any number for one reader. */
struct rec_cursor;
int rec_cursor_create(struct rec_reader *reader, struct rec_cursor **out); /* MD_ERR_NOMEM */
void rec_cursor_destroy(struct rec_cursor *cursor);
/* To the first record later than `mono_ns`; 0: to the first one of all. */
int rec_cursor_seek(struct rec_cursor *cursor, uint64_t mono_ns);
/* 1 with a record, 0 at the end. What cannot be read is a HOLE, and among the damages. */
int rec_cursor_next(struct rec_cursor *cursor, struct rec_record *out);

#endif
