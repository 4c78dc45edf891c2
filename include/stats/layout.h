/* stats/layout.h - the statistics segment, byte by byte. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STATS_LAYOUT_H
#define STATS_LAYOUT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ctr.h"
#include "base/hist.h"

/*
 * A file <runDir>/<process>.<instance>/stats, native byte order, mapped by its owner and read,
 * never mapped, by whoever watches:
 *
 *       0  8  magic RMDSSTAT
 *       8  4  layout version, 1
 *      12  4  total size
 *      16  8  pid of the owner
 *      24  8  start time, ns since 1970
 *      32  8  heartbeat, monotonic ns, rewritten every second; older than 5 s: hung
 *      40  4  n, number of entries (free ones included)
 *      44  4  size of an entry, 128
 *      48  8  generation: odd while entries or strings are being changed
 *      56  4  s, number of string slots of 64 bytes
 *      60  4  h, number of histograms
 *      64     n entries, then s string slots, then h histograms (struct md_hist)
 *
 * Of the first entry, at 64 + 120, 8 bytes say how many entries, from it on, were ever in use: a
 * reader need not look at the others. 0 says nothing.
 *
 * The owner writes values with relaxed stores and never locks a reader out. A reader copies, and
 * copies again if the generation was odd or has changed.
 */
#define STATS_FILE         "stats"
#define STATS_BYTES_MAX    (64u << 20) /* of a segment; what claims more is none of ours */
#define STATS_NAME_BYTES   128         /* "p2ps.1", the name of its folder */
#define STATS_MAGIC        "RMDSSTAT"
#define STATS_VERSION      1u
#define STATS_HEADER_BYTES 64u
#define STATS_ENTRY_BYTES  128u
#define STATS_PATH_BYTES   96u
#define STATS_STRING_BYTES 64u
#define STATS_HUNG_NS      5000000000ull

enum stats_kind {
    STATS_KIND_FREE = 0,
    STATS_KIND_COUNTER = 1,
    STATS_KIND_GAUGE = 2,
    STATS_KIND_STRING = 3,    /* value: number of its string slot */
    STATS_KIND_TIME = 4,      /* value: ns since 1970 */
    STATS_KIND_HISTOGRAM = 5, /* value: number of its histogram */
};

struct stats_header {
    uint8_t magic[8];
    uint32_t version;
    uint32_t total_bytes;
    uint64_t pid;
    uint64_t start_ns;
    _Atomic uint64_t heartbeat_ns;
    uint32_t entry_count;
    uint32_t entry_bytes;
    _Atomic uint64_t generation;
    uint32_t string_count;
    uint32_t histogram_count;
};

struct stats_entry {
    _Atomic uint64_t path[STATS_PATH_BYTES / 8]; /* text, filled up with NUL, at least one */
    _Atomic uint32_t kind;
    _Atomic uint32_t flags;
    struct md_ctr value;
    struct md_ctr aux;     /* of a gauge: its high-water mark */
    _Atomic uint64_t used; /* of the first entry */
};

struct stats_string {
    _Atomic uint64_t words[STATS_STRING_BYTES / 8]; /* as path */
};

_Static_assert(sizeof(struct stats_header) == STATS_HEADER_BYTES, "layout");
_Static_assert(offsetof(struct stats_header, heartbeat_ns) == 32, "layout");
_Static_assert(offsetof(struct stats_header, generation) == 48, "layout");
_Static_assert(sizeof(struct stats_entry) == STATS_ENTRY_BYTES, "layout");
_Static_assert(offsetof(struct stats_entry, kind) == 96, "layout");
_Static_assert(offsetof(struct stats_entry, value) == 104, "layout");
_Static_assert(offsetof(struct stats_entry, aux) == 112, "layout");
_Static_assert(sizeof(struct stats_string) == STATS_STRING_BYTES, "layout");

#endif
