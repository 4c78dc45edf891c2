/* shown.h - the figures of a recorder in a file of statistics, where rmdsmon and others find it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHOWN_H
#define SHOWN_H

#include <stdbool.h>

#include "disk.h"
#include "stats/segment.h"

/* Of one moment; counters since the start. */
struct shown_figures {
    uint64_t is_connected; /* to p2ps, or attached to rrcpd: 0, 1 */
    uint64_t items, items_open;
    uint64_t messages, bytes, images, messages_lost;
    uint64_t rate, byte_rate; /* of the last second: messages, bytes of the file */
    uint64_t files, file_bytes, chunks, chunk_bytes, records, chunks_lost, last_chunk_ns;
    uint64_t buffer, buffer_max, buffer_size; /* chunks that wait for the disk: now, at most so far,
                                                 at most at all */
    uint64_t disk_free;  /* bytes of the file system; UINT64_MAX: nobody knows */
    uint64_t links_lost; /* connections, or attachments */
    uint64_t suspects;   /* times that an item became suspect: gaps, sources that went */
    uint64_t overruns;   /* times that the ring lapped it */
    uint64_t records_lost;
    uint64_t denied;  /* messages of its own that rrcpd did not let pass */
    uint64_t refused; /* names of items that the recording, or their service, had no room for */
};

struct shown;

/* The file RUN_DIR/rmdsrec.NAME/stats. 0, or -1 after it has said why. */
int shown_open(const char *run_dir, const char *name, struct shown **out);
/* In the file of a daemon, which beats its own heart and has its own troubles. -1: no memory. */
int shown_join(struct stats_segment *segment, struct shown **out);
void shown_close(struct shown *shown); /* NULL is allowed */
/* The end of the path of the file that is written. */
void shown_file_set(struct shown *shown, const char *path);
/* Each tenth of a second: the heart beats. `trouble`: why it cannot record now; "": it can. */
void shown_set(struct shown *shown, uint64_t now_ns, const struct shown_figures *figures,
               const char *trouble);

#endif
