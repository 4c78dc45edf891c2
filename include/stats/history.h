/* stats/history.h - the last hour of a daemon, in a file beside its segment. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STATS_HISTORY_H
#define STATS_HISTORY_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A file <runDir>/<process>.<instance>/history, native byte order, mapped by its owner and read,
 * never mapped, by whoever watches:
 *
 *       0  8  magic RMDSHIST
 *       8  4  layout version, 1
 *      12  4  size of a sample
 *      16  4  capacity, in samples
 *      20  4  ms between two samples
 *      24  8  pid of the owner
 *      32  8  count: samples ever taken
 *      64     samples; number n stands at place n % capacity
 *
 * The owner writes sample number `count`, then raises `count`. A reader copies, looks at `count`
 * again, and leaves out what may have been written over meanwhile. The size never changes: an hour
 * is kept, and what is older is written over.
 */
#define STATS_HISTORY_FILE     "history"
#define STATS_HISTORY_MAGIC    "RMDSHIST"
#define STATS_HISTORY_VERSION  1u
#define STATS_HISTORY_CAPACITY 720u
#define STATS_HISTORY_EVERY_MS 5000u

/* The figures of a sample; the rest of a daemon's figures is only known as of now. NAN: not known.
 */
enum stats_history_of {
    STATS_HISTORY_IN, /* updates or messages, per second */
    STATS_HISTORY_OUT,
    STATS_HISTORY_TURN_P50_US, /* turns of all loops since the last sample */
    STATS_HISTORY_TURN_P99_US,
    STATS_HISTORY_TURN_MAX_US,
    STATS_HISTORY_TRIP_US, /* 99th percentile of the round trips to consumers or nodes */
    STATS_HISTORY_QUEUE,   /* fullest queue, percent */
    STATS_HISTORY_POOL,    /* shared pool, or the slowest local user, percent */
    STATS_HISTORY_LOSS,    /* and the three that follow: per second, by kind of daemon */
    STATS_HISTORY_LOSS_2,
    STATS_HISTORY_LOSS_3,
    STATS_HISTORY_LOSS_4,
    STATS_HISTORY_CPU,    /* percent of one CPU */
    STATS_HISTORY_MEMORY, /* resident bytes */
    STATS_HISTORY_CLIENTS,
    STATS_HISTORY_ITEMS,
    STATS_HISTORY_VALUES,
};

struct stats_sample {
    uint64_t wall_ns;
    float values[STATS_HISTORY_VALUES];
};

struct stats_history;

/*
 * Make the file in the folder of the daemon, which is there already; run_dir NULL: private memory.
 * A file that a killed process left there is replaced. MD_ERR_SYS, MD_ERR_EXISTS, MD_ERR_NOMEM.
 */
int stats_history_open(const char *run_dir, const char *name, struct stats_history **out);
void stats_history_close(struct stats_history *history); /* removes the file; NULL is allowed */

void stats_history_add(struct stats_history *history, const struct stats_sample *sample);

/* Copy the newest samples, oldest first, at most STATS_HISTORY_CAPACITY of them. Returns how many.
 */
unsigned stats_history_copy(const struct stats_history *history, struct stats_sample *out);

/*
 * The same of the daemon `name`, "p2ps.1", whose pid is `pid`: a file of another one is none of
 * its. It is trusted as a segment is (stats/reader.h). A negative MD_ERR_... when there is none.
 */
int stats_history_read(const char *run_dir, const char *name, int64_t pid,
                       struct stats_sample *out);

#endif
