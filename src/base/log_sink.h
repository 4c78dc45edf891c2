/* log_sink.h - where the lines of the log go; used by the log thread only. Private to base. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_LOG_SINK_H
#define MD_LOG_SINK_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ctr.h"
#include "base/log.h"

struct md_log_sink {
    char identity[128];
    char path[PATH_MAX - 16]; /* room for ".65535" */
    unsigned targets;
    bool is_json;
    unsigned keep;
    uint64_t size_max;
    uint64_t size;
    int fd;             /* -1: none */
    uint64_t unwritten; /* lines that the file did not take since the last one it took */
    int unwritten_errno;
    struct md_ctr lines;
    struct md_ctr rotations;
    struct md_ctr errors;
};

int md_log_sink_open(struct md_log_sink *sink, const struct md_log_config *config);
void md_log_sink_close(struct md_log_sink *sink);
void md_log_sink_reopen(struct md_log_sink *sink);
void md_log_sink_write(struct md_log_sink *sink, uint64_t wall_ns, enum md_log_severity severity,
                       const char *text, size_t length);

/* Without any sink: a line on standard error in the same form. */
void md_log_sink_stderr(uint64_t wall_ns, enum md_log_severity severity, const char *text,
                        size_t length);

/*
 * `text` with control bytes and bytes above 126 that are not part of UTF-8 as \xNN, cut so that it
 * fits `size` bytes; returns the length. Not terminated.
 */
size_t md_log_escape(const char *text, size_t length, char *out, size_t size);

#endif
