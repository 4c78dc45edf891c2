/* base/log.h - the log of a process: one line per event, never written by the thread that logs. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_LOG_H
#define MD_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 *     2026-01-01T12:00:00.123456Z host.1.p2ps WARNING mount: host=10.0.0.7:5123 cut: ...
 *
 * or, for collectors that want fields,
 *
 *     {"time":"2026-01-01T12:00:00.123456Z","daemon":"host.1.p2ps","severity":"WARNING","text":"..."}
 *
 * md_log() formats into a bounded lock-free queue; a thread of the log's own escapes control bytes
 * (\xNN), cuts at 1024 bytes, writes and rotates. A full queue loses the line and counts it. Each
 * place in the code may log 5 lines a second; what it would have logged besides that is told in
 * one line "suppressed N". Still, md_log() costs about a microsecond: nothing per message.
 *
 * Before md_log_open() and after md_log_close() lines go straight to standard error.
 */
enum md_log_severity { /* as in syslog */
                       MD_LOG_EMERGENCY,
                       MD_LOG_ALERT,
                       MD_LOG_CRITICAL,
                       MD_LOG_ERROR,
                       MD_LOG_WARNING,
                       MD_LOG_NOTICE,
                       MD_LOG_INFO,
                       MD_LOG_DEBUG,
};

#define MD_LOG_TEXT_MAX  1024 /* bytes of text after the severity, escapes included */

#define MD_LOG_TO_STDERR 1u
#define MD_LOG_TO_FILE   2u
#define MD_LOG_TO_SYSLOG 4u
/* Standard error as systemd's journal wants it: a priority in front, and no time, which it adds:
 *     <4>host.1.p2ps WARNING mount: host=10.0.0.7:5123 cut: ... */
#define MD_LOG_TO_JOURNAL 8u

struct md_log_config {
    const char *identity;              /* "host.instance.process" */
    unsigned targets;                  /* MD_LOG_TO_... */
    bool is_json;                      /* lines of file and standard error, see above */
    const char *path;                  /* with MD_LOG_TO_FILE */
    uint64_t size_max;                 /* bytes at which the file is rotated; 0: never */
    unsigned keep;                     /* rotated files kept: path.1 is the youngest */
    enum md_log_severity severity_max; /* what is more verbose is dropped at once */
    unsigned queue_lines;              /* 0: 1024 */
};

struct md_log_stats {
    uint64_t lines;      /* written */
    uint64_t overflow;   /* lost because the queue was full */
    uint64_t suppressed; /* held back by the rate limit */
    uint64_t rotations;
    uint64_t errors; /* the target took the line not at all, or not all of it */
};

/*
 * Start the log of this process. The strings are copied. After fork() the child has no log thread:
 * fork first. MD_ERR_SYS: the file cannot be opened (errno says why); MD_ERR_STATE: it is open.
 */
int md_log_open(const struct md_log_config *config);
void md_log_close(void);  /* what is queued is written first; no thread may be logging */
void md_log_flush(void);  /* returns when all that was queued before is written */
void md_log_reopen(void); /* at SIGHUP: the log thread opens the file anew; may be called from a
                             signal handler */
void md_log_stats(struct md_log_stats *out);

/* Recent events, for readers who cannot see the file: the last lines of WARNING or worse, and as
 * many of NOTICE, which drive no warning out; oldest first, escaped and cut. Returns how many. Any
 * thread. */
#define MD_LOG_RECENT_MAX 100
struct md_log_line {
    uint64_t wall_ns;
    enum md_log_severity severity;
    char text[256];
};
unsigned md_log_recent(struct md_log_line *out, unsigned max);

/*
 * From a control loop, every second or so: says so when the wall clock was set meanwhile, since the
 * times of the log do not follow on each other then, and when the process was not run for long: it
 * was stopped, or the machine had no time for it.
 */
struct md_log_watch {
    uint64_t mono_ns; /* of the last call, 0 at first */
    int64_t ahead_ns; /* of the wall clock, then */
};
void md_log_watch_time(uint64_t mono_ns, struct md_log_watch *last);

void md_log_severity_set(enum md_log_severity severity_max);
bool md_log_is_on(enum md_log_severity severity);

const char *md_log_severity_name(enum md_log_severity severity);
int md_log_severity_parse(const char *name, enum md_log_severity *out); /* MD_ERR_NOT_FOUND */

/*
 * Log one event: md_log(MD_LOG_WARNING, "mount: user=%s cut", user). No newline at the end. Bytes
 * from the network may be printed as they are.
 */
#define md_log(severity, ...)                                                                      \
    do {                                                                                           \
        static struct md_log_site md_log_site_;                                                    \
        if (md_log_is_on(severity))                                                                \
            md_log_write(&md_log_site_, (severity), __VA_ARGS__);                                  \
    } while (0)

/* The rate limit of one place in the code that logs; static, one per place. */
struct md_log_site {
    _Atomic uint64_t second; /* the second counted below */
    _Atomic uint32_t lines;  /* lines in it */
    _Atomic uint32_t held;   /* of those, not written and not counted in a line yet */
    _Atomic bool is_listed;  /* in the list of places the log thread looks through */
    _Atomic(enum md_log_severity) severity; /* of the last line held */
    struct md_log_site *_Atomic next;       /* that list */
    _Atomic(const char *) format;
};

void md_log_write(struct md_log_site *site, enum md_log_severity severity, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));

#endif
