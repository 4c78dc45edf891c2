/* shown.h - the figures of a recorder in a file of statistics, where rmdsmon and others find it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHOWN_H
#define SHOWN_H

#include <stdbool.h>

#include "disk.h"

/* Of one moment; counters since the start. */
struct shown_figures {
    uint64_t is_connected; /* to p2ps, or attached to rrcpd: 0, 1 */
    uint64_t items, items_open;
    uint64_t messages, bytes, images, messages_lost;
    uint64_t rate; /* messages of the last second */
    uint64_t files, file_bytes, chunks, chunk_bytes, chunks_lost, last_chunk_ns;
    uint64_t buffer_max; /* chunks that waited for the disk, at most */
    uint64_t disk_free;  /* bytes of the file system */
    uint64_t links_lost; /* connections, or attachments */
    uint64_t suspects;   /* times that an item became suspect: gaps, sources that went */
    uint64_t overruns;   /* times that the ring lapped it */
    uint64_t records_lost;
};

struct shown;

/* The file RUN_DIR/rmdsrec.NAME/stats. 0, or -1 after it has said why. */
int shown_open(const char *run_dir, const char *name, struct shown **out);
void shown_close(struct shown *shown); /* NULL is allowed */
/* Each tenth of a second: the heart beats. `trouble`: why it cannot record now; "": it can. */
void shown_set(struct shown *shown, uint64_t now_ns, const struct shown_figures *figures,
               const char *trouble);

#endif
