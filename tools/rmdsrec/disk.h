/* disk.h - the thread that compresses chunks and writes them, and the queue of bounded length to
 * it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DISK_H
#define DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recording/writer.h"

struct disk;

struct disk_config {
    const char *path;   /* of the first file; further ones get a number before its ending */
    const char *source; /* text of the first block */
    unsigned chunks;    /* that may wait, a MiB each */
    int level;          /* of the compression */
    bool syncs_chunks;  /* each is on the disk before the next one is written */
    uint64_t sync_ns;   /* or so often; 0: never */
    bool is_patient;    /* passes by names that are taken, and starts without a first file, which is
                           tried again each second */
    void (*settle)(void *owner); /* the first act of the thread; NULL: nothing */
    void *owner;
};

/* Counters since the start; from the thread that records. */
struct disk_stats {
    uint64_t files, bytes, chunks, records;
    uint64_t file_bytes, file_chunks; /* of the file that is written */
    uint64_t failed_chunks, failed_records;
    uint64_t waiting, waiting_max; /* chunks that wait, now and at most */
    uint64_t busy_ns; /* since when the thread is at one thing, monotonic; 0: it waits */
    uint64_t free;    /* bytes of the file system, of the last second; UINT64_MAX: nobody knows */
    uint64_t last_ns; /* when a chunk was written last, since 1970; 0: none was */
    int error;        /* errno of the last failure, 0: the last write went well */
};

/* The first file is there when this returns, unless it is patient. False: told. */
bool disk_start(const struct disk_config *config, struct disk **out);
/* Writes the chunks that wait, and ends the file. */
void disk_stop(struct disk *disk);
void disk_destroy(
    struct disk *disk); /* after whatever its chunks point to is not needed any more */
void disk_stats(struct disk *disk, struct disk_stats *out);
/* The path of the file that is written, or was last; "": none was begun. */
void disk_path(struct disk *disk, char *out, size_t size);
/* The same, or of one that could not be begun since. */
void disk_tried(struct disk *disk, char *out, size_t size);
extern const struct rec_writer_ops disk_ops; /* their context is the disk */

#endif
