/* audit/audit.h - the audit trail: records of many threads to one file of chained lines. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AUDIT_AUDIT_H
#define AUDIT_AUDIT_H

#include "entitle/record.h"

/*
 * A file of lines, each a JSON object, that nobody can change, cut or shorten in the middle without
 * a trace: each has its number and the SHA-256 of the line before it, without its newline.
 *
 *     {"n":17,"prev":"9f86...","t":"2027-01-31T10:31:07.123456Z","e":"login","v":"allow",...}
 *
 * Any number of threads put records, each into a ring of its own, without a lock or a system call;
 * one thread of the trail's own takes them out every 20 ms, writes the lines, and rotates the file:
 * the chain goes on in the next one. A record that finds its ring full is counted, and the count
 * is a line of the chain ("lost"). While the file takes no bytes (a full disk) the rings fill; what
 * was begun is written once it does. The head of the chain goes to the log at the start, hourly, at
 * a rotation and at the end, so that a trail that was made anew can be told from this one.
 *
 * A process that is killed may leave a part of a line. The next one leaves it there, ends it with a
 * newline, and says in the chain how long it was and its SHA-256 ("cut").
 */
struct audit;

struct audit_config {
    const char *path;
    uint64_t size_max; /* bytes at which the file is rotated; 0: never */
    unsigned keep;     /* rotated files: path.1 is the youngest */
    unsigned rings;    /* threads that put records */
    size_t ring_bytes; /* of each */
};

struct audit_stats {
    uint64_t written; /* lines */
    uint64_t lost;    /* records that found no room */
    uint64_t errors;  /* times that the file took nothing */
};

/* Anything but MD_OK: `why` says which file and what was wrong with it. */
int audit_open(const struct audit_config *config, char *why, size_t size, struct audit **out);
/* Writes what is there, and ends. NULL is allowed. */
void audit_close(struct audit *audit);
/* From the thread that owns the ring. False: lost, and counted. */
bool audit_put(struct audit *audit, unsigned ring, const struct entitle_record *record);
/* Less than half of the ring waits: what begins now will find room to end. Its owner's. */
bool audit_has_room(const struct audit *audit, unsigned ring);
/* The file was moved away: open it anew. Any thread. */
void audit_reopen(struct audit *audit);
void audit_stats(const struct audit *audit, struct audit_stats *out);
/* SHA-256 in hexadecimal digits, of anything; "" if that fails. */
#define AUDIT_SUM_SIZE 65
void audit_sum(const void *bytes, size_t length, char out[AUDIT_SUM_SIZE]);
/* The same in parts. NULL: no memory. The last one ends it. */
struct audit_summing *audit_sum_begin(void);
void audit_sum_add(struct audit_summing *summing, const void *bytes, size_t length);
void audit_sum_end(struct audit_summing *summing, char out[AUDIT_SUM_SIZE]);

/* ---- reading ---- */

struct audit_check {
    uint64_t lines;
    uint64_t first, last; /* numbers of lines */
    char head[AUDIT_SUM_SIZE];
    uint64_t lost;      /* records, of "lost" lines */
    unsigned files;     /* path.N and so on, path last */
    unsigned cuts;      /* parts of lines that a "cut" line accounts for */
    uint64_t truncated; /* bytes of an unfinished line at the end */
    char wrong[256];    /* file, line and what is wrong; "": nothing is */
    /* Given: this line must have this sum, as a log of that time said; 0: none. */
    uint64_t wanted;
    char wanted_sum[AUDIT_SUM_SIZE];
};

/* Reads path.N, ..., path.1, path, the oldest first, and checks that they are one chain. Each whole
 * line goes to `line`, which may be NULL. MD_OK: whole; MD_ERR_MALFORMED: see `wrong`; MD_ERR_SYS:
 * a file cannot be read, likewise. */
int audit_check(const char *path, void (*line)(void *self, const char *text, size_t length),
                void *self, struct audit_check *check);

#endif
