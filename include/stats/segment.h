/* stats/segment.h - a program's counters, in shared memory where others can read them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STATS_SEGMENT_H
#define STATS_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "stats/layout.h"

/*
 * A segment belongs to a process; any of its threads may add and remove entries (a lock keeps them
 * apart; not for the data path), and each entry is written by one thread with md_ctr_*(), or by
 * several with md_ctr_*_shared().
 *
 * Adding never fails as far as the caller is concerned: when the segment is full, or the path too
 * long, the entry given is a spare one that nobody sees, and `stats.dropped` counts it. So a
 * program counts the same whether or not anyone can see it.
 */
struct stats_segment;

struct stats_config {
    const char *run_dir; /* NULL: private memory, without a file; for simulations and tests */
    const char *process; /* "p2ps", "rrcpd.<network>" */
    const char *instance;
    uint32_t entry_count;     /* 0: 4096 */
    uint32_t string_count;    /* 0: 256 */
    uint32_t histogram_count; /* 0: 16; the pages of unused ones cost nothing */
};

/*
 * Make the file <run_dir>/<process>.<instance>/stats, and its folder if it is not there, and map
 * it. What a killed process left there is replaced. MD_ERR_EXISTS: the name belongs to a process
 * that lives (*holder, which may be NULL), or the folder to another user; MD_ERR_SYS,
 * MD_ERR_NOMEM, MD_ERR_RANGE (path too long, tables beyond 64 MiB). *out is NULL unless MD_OK.
 */
int stats_segment_open(const struct stats_config *config, struct stats_segment **out,
                       pid_t *holder);
void stats_segment_close(struct stats_segment *segment); /* removes the file; NULL is allowed */

/* The memory that readers map; for a reader in this process. */
const struct stats_header *stats_segment_header(const struct stats_segment *segment);

/* Say that we live: once a second, with the monotonic clock. */
void stats_segment_beat(struct stats_segment *segment, uint64_t now_ns);

/*
 * Add an entry of this path, or get the one that is there already if it is of that kind. The
 * entry stays where it is until stats_entry_remove(). Never NULL.
 */
struct stats_entry *stats_entry_add(struct stats_segment *segment, enum stats_kind kind,
                                    const char *path);
/* The same, with the path put together: "p2ps.port.%u.bytesOut". */
struct stats_entry *stats_entry_addf(struct stats_segment *segment, enum stats_kind kind,
                                     const char *format, ...) __attribute__((format(printf, 3, 4)));
void stats_entry_remove(struct stats_segment *segment, struct stats_entry *entry);

/* The common case, a counter to write with md_ctr_add(). */
struct md_ctr *stats_counter(struct stats_segment *segment, const char *path);

/* A gauge keeps its high-water mark. Owner thread only. */
static inline void stats_gauge_set(struct stats_entry *gauge, uint64_t value)
{
    md_ctr_set(&gauge->value, value);
    md_ctr_raise(&gauge->aux, value);
}

/* Add a text of at most 63 bytes (cut), or change it. NULL changes nothing, nor does the same text
 * again, since a change makes every reader look again. A text has one thread that sets it. Never
 * NULL. */
struct stats_entry *stats_string_add(struct stats_segment *segment, const char *path,
                                     const char *text);
void stats_string_set(struct stats_segment *segment, struct stats_entry *entry, const char *text);

/* Each counter and gauge that is not 0, until `fn` says false. `fn` adds and removes nothing. */
void stats_segment_each(struct stats_segment *segment,
                        bool (*fn)(void *owner, const char *path, uint64_t value), void *owner);

/* A histogram to record into, by one thread. Never NULL. */
struct md_hist *stats_histogram_add(struct stats_segment *segment, const char *path);

#endif
