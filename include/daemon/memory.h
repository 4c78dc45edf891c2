/* daemon/memory.h - what a daemon's memory is made of, and how much each part may take. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_MEMORY_H
#define DAEMON_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"
#include "stats/segment.h"

/*
 * A daemon divides its memoryLimit before it makes anything: parts whose size the configuration
 * says get that, parts that the configuration leaves open (0 = none) a share of the limit, and
 * what is open at most gets the rest. The sum is the bound of the process; it is logged at start
 * and shown as the statistics memory.*, part by part.
 */
#define DAEMON_MEMORY_PARTS 16

struct daemon_memory {
    uint64_t limit;     /* memoryLimit, or `percent` of what the machine or the cgroup has */
    unsigned percent;   /* the default of this program: those of one host fit it together */
    bool is_configured; /* by memoryLimit */
    uint64_t sum;       /* of the parts */
    unsigned part_count;
    struct {
        const char *name;
        uint64_t bytes;
    } parts[DAEMON_MEMORY_PARTS];
    struct stats_entry *resident;
};

/* The limit is memoryLimit of `daemon`; 0: the part of the machine that its program gets. */
void daemon_memory_configure(struct daemon_memory *memory, const struct md_conf_object *daemon);

/* Log that what is needed before any item does not fit. */
void daemon_memory_refused(const struct daemon_memory *memory, const struct md_conf_object *daemon);

/* A part of a size that is as it is. */
void daemon_memory_add(struct daemon_memory *memory, const char *name, uint64_t bytes);

/* A part that wants `bytes` (0: whatever it may have), and gets at most `share` 64ths of the limit:
 * the bytes it got. */
uint64_t daemon_memory_grant(struct daemon_memory *memory, const char *name, uint64_t bytes,
                             unsigned share);

/* The rest of the limit; 0 when the parts exceed it already. */
uint64_t daemon_memory_left(const struct daemon_memory *memory);

/* To the log, and as statistics of the segment, where the beat shows what is resident. */
void daemon_memory_show(struct daemon_memory *memory, struct stats_segment *segment);
void daemon_memory_beat(struct daemon_memory *memory);

#endif
