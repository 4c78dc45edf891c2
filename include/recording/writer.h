/* recording/writer.h - messages into chunks, chunks into a file. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORDING_WRITER_H
#define RECORDING_WRITER_H

#include "recording/format.h"

/*
 * Two halves, which may run on two threads: a writer puts records into the chunk that is filled,
 * and gives full ones away; a file compresses chunks and makes blocks of them. What is between them
 * is the owner's: a queue of bounded length. No half opens a file or reads a clock.
 */

/* An item of a writer. It and its key stay where they are, unchanged, as long as chunks that touch
 * it are under way; the members below are the writer's. */
struct rec_item {
    struct rec_key key;
    uint32_t number;     /* from 1 */
    uint64_t chunk;      /* in which it was defined last, UINT64_MAX: none */
    uint32_t touched_at; /* its place there */
    uint32_t lost;       /* messages since its last record */
};

struct rec_touch {
    const struct rec_item *item;
    bool has_image; /* one begins in this chunk */
};

struct rec_chunk {
    uint8_t *bytes; /* REC_CHUNK_MAX */
    uint32_t length;
    uint32_t records;
    uint64_t number;
    uint64_t first_mono_ns, last_mono_ns, first_wall_ns;
    struct rec_touch *touched; /* REC_CHUNK_ITEMS */
    uint32_t touched_count;
    uint32_t lost;    /* messages that its records tell the loss of */
    bool starts_file; /* it is the first of another file */
};

int rec_chunk_create(struct rec_chunk **out); /* MD_ERR_NOMEM */
void rec_chunk_destroy(struct rec_chunk *chunk);

struct rec_writer_ops {
    struct rec_chunk *(*take)(void *context); /* an empty one; NULL: there is none now */
    void (*give)(void *context, struct rec_chunk *chunk); /* one to be written */
};

struct rec_writer {
    struct rec_writer_ops ops;
    void *context;
    struct rec_chunk *chunk; /* NULL: none is begun */
    uint64_t next;           /* number of the next chunk */
    uint64_t last_mono_ns;   /* of the last record; time does not run back */
    int64_t wall_offset_ns;  /* wall clock less monotonic clock, as the chunk says */
    bool starts_file;        /* the next chunk does */
};

/* Both clocks when a message came. */
struct rec_moment {
    uint64_t mono_ns, wall_ns;
};

void rec_writer_init(struct rec_writer *writer, const struct rec_writer_ops *ops, void *context);

/* One record; `kind` MESSAGE, IMAGE, LOST (`count`) or CUT (`bytes` the reason). */
struct rec_put {
    uint8_t kind;
    uint8_t flags;
    struct rec_item *item;
    struct rwf_bytes bytes;
    uint32_t count;
};

/* MD_ERR_FULL: there is no empty chunk. MD_ERR_RANGE: longer than a chunk takes. */
int rec_writer_put(struct rec_writer *writer, struct rec_moment now, const struct rec_put *put);

/* Gives away a chunk that has become REC_CHUNK_NS old; the time at which the next one will be, or
 * UINT64_MAX. */
uint64_t rec_writer_tick(struct rec_writer *writer, uint64_t mono_ns);
/* Gives away the chunk that is begun. `cuts`: the next one is the first of another file. */
void rec_writer_flush(struct rec_writer *writer, bool cuts);

/* ---- the file ---- */

/*
 * Where a file's bytes go. `write` takes all of them or none: after MD_ERR_FULL or MD_ERR_SYS the
 * file ends where it ended before.
 */
struct rec_disk {
    void *context;
    int (*write)(void *context, const uint8_t *head, size_t head_length, const uint8_t *bytes,
                 size_t length);
};

struct rec_file;

struct rec_file_stats {
    uint64_t bytes;                   /* of the file */
    uint64_t chunks, records, failed; /* failed: chunks that could not be written */
    uint64_t failed_records;
};

int rec_file_create(int level, const struct rec_disk *disk, struct rec_file **out);
void rec_file_destroy(struct rec_file *file);

/* Begin a file, with bytes that no other has in `identity`. Fails as `write` does. */
int rec_file_start(struct rec_file *file, uint64_t identity, const struct rec_file_info *info);
/* Fails as `write` does: the chunk is lost, and a reader finds that by its number. */
int rec_file_add(struct rec_file *file, const struct rec_chunk *chunk);
int rec_file_end(struct rec_file *file);
void rec_file_stats(const struct rec_file *file, struct rec_file_stats *out);

#endif
