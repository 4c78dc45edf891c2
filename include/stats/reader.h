/* stats/reader.h - looking at the statistics of other processes. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STATS_READER_H
#define STATS_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "stats/layout.h"

/*
 * A reader copies a segment with pread and never maps it, so the file may be cut short, or be
 * another user's, without harm. The owner does not notice, may be killed at any moment, and what it
 * counted until then can still be read. A file is trusted if it is regular, has one link, belongs
 * to the owner of its folder and is no larger than 64 MiB; everything in it is checked before it is
 * used, and a look at it costs a bounded number of copies.
 */
struct stats_reader;
struct stats_segment;

/*
 * Of the daemon `name`, "p2ps.1". MD_OK, MD_ERR_NOT_FOUND, MD_ERR_MALFORMED (no segment of ours),
 * MD_ERR_EXISTS (not one to be trusted), MD_ERR_SYS, MD_ERR_NOMEM.
 */
int stats_reader_open(const char *run_dir, const char *name, struct stats_reader **out);
/* The same of a segment of this process, which outlives the reader. MD_ERR_NOMEM. */
int stats_reader_attach(const struct stats_segment *segment, struct stats_reader **out);
void stats_reader_close(struct stats_reader *reader); /* NULL is allowed */

enum stats_liveness {
    STATS_ALIVE,
    STATS_HUNG, /* the process is there, its heart has not beaten for 5 s */
    STATS_DEAD,
};

const char *stats_liveness_name(enum stats_liveness liveness);

/* One value, copied out. Views live until the next refresh or the close. */
struct stats_value {
    const char *path;
    enum stats_kind kind;
    uint32_t flags;
    uint64_t value;
    uint64_t aux;
    const char *text;           /* of a string, else NULL */
    const struct md_hist *hist; /* of a histogram, else NULL */
};

/*
 * Copy the segment. MD_OK, or MD_ERR_AGAIN when the owner was changing entries all the while (it
 * may have been killed doing so): the copy is made all the same, with what could be read.
 */
int stats_reader_refresh(struct stats_reader *reader);

/* The next value of the copy; start with *at = 0. False at the end. In the order of the table. */
bool stats_reader_next(const struct stats_reader *reader, size_t *at, struct stats_value *out);
/* One value by its path; false if it is not there. */
bool stats_reader_find(const struct stats_reader *reader, const char *path,
                       struct stats_value *out);

pid_t stats_reader_pid(const struct stats_reader *reader);
uint64_t stats_reader_start_ns(const struct stats_reader *reader); /* since 1970 */
uint64_t stats_reader_heartbeat_ns(const struct stats_reader *reader);
/* True when another process has taken the name since: open again. */
bool stats_reader_is_replaced(const struct stats_reader *reader);
enum stats_liveness stats_reader_liveness(const struct stats_reader *reader, uint64_t now_ns);

/*
 * The names of the daemons that have a folder with a segment in it, "p2ps.1", sorted; at most
 * `max`. A name with signs that no daemon has in its name is left out. Returns how many there are,
 * or MD_ERR_SYS.
 */
int stats_segment_list(const char *run_dir, char (*names)[STATS_NAME_BYTES], int max);

#endif
