/* log_sink.c - the lines of the log: their form, the file and its rotation, syslog. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "log_sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"

#define LINE_MAX_BYTES (2 * MD_LOG_TEXT_MAX + 1024) /* JSON: a backslash before each byte */
#define HEAD_BYTES     400

size_t md_log_escape(const char *text, size_t length, char *out, size_t size)
{
    static const char hex[] = "0123456789abcdef";
    size_t used = 0;

    for (size_t i = 0; i < length;) {
        const unsigned char *at = (const unsigned char *)text + i;
        size_t take = md_text_plain(text + i, length - i);
        size_t need = take ? take : 4;
        if (need > size - used)
            break;
        if (take) {
            memcpy(out + used, at, take);
        } else {
            out[used] = '\\';
            out[used + 1] = 'x';
            out[used + 2] = hex[*at >> 4];
            out[used + 3] = hex[*at & 15];
            take = 1;
        }
        used += need;
        i += take;
    }
    return used;
}

/* "2026-01-01T12:00:00.123456Z" */
static void format_time(uint64_t wall_ns, char *out, size_t size)
{
    time_t seconds = (time_t)(wall_ns / MD_NS_PER_S);
    unsigned micros = (unsigned)(wall_ns % MD_NS_PER_S / 1000);
    struct tm tm;

    gmtime_r(&seconds, &tm);
    snprintf(out, size, "%04d-%02d-%02dT%02d:%02d:%02d.%06uZ", tm.tm_year + 1900, tm.tm_mon + 1,
             tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, micros);
}

static size_t format_text(const char *identity, uint64_t wall_ns, enum md_log_severity severity,
                          const char *text, size_t length, char line[LINE_MAX_BYTES])
{
    char time[64];

    format_time(wall_ns, time, sizeof(time));
    size_t used = (size_t)snprintf(line, HEAD_BYTES, "%s %.300s %s ", time, identity,
                                   md_log_severity_name(severity));
    used += md_log_escape(text, length, line + used, MD_LOG_TEXT_MAX);
    line[used++] = '\n';
    return used;
}

/* Escaped text is UTF-8 without control characters: only these two mean something in JSON. */
static size_t quote(const char *text, size_t length, char *out)
{
    size_t used = 0;

    for (size_t i = 0; i < length; i++) {
        if (text[i] == '"' || text[i] == '\\')
            out[used++] = '\\';
        out[used++] = text[i];
    }
    return used;
}

static size_t format_json(const char *identity, uint64_t wall_ns, enum md_log_severity severity,
                          const char *text, size_t length, char line[LINE_MAX_BYTES])
{
    static const char tail[] = { '"', '}', '\n' };
    char time[64], clean[MD_LOG_TEXT_MAX];

    format_time(wall_ns, time, sizeof(time));
    size_t used = (size_t)snprintf(line, HEAD_BYTES, "{\"time\":\"%s\",\"daemon\":\"", time);
    size_t taken = md_log_escape(identity, strlen(identity), clean, 256);
    used += quote(clean, taken, line + used);
    used += (size_t)snprintf(line + used, 64, "\",\"severity\":\"%s\",\"text\":\"",
                             md_log_severity_name(severity));
    taken = md_log_escape(text, length, clean, sizeof(clean));
    used += quote(clean, taken, line + used);
    memcpy(line + used, tail, sizeof(tail));
    return used + sizeof(tail);
}

static size_t format_line(const struct md_log_sink *sink, uint64_t wall_ns,
                          enum md_log_severity severity, const char *text, size_t length,
                          char line[LINE_MAX_BYTES])
{
    return sink->is_json ? format_json(sink->identity, wall_ns, severity, text, length, line)
                         : format_text(sink->identity, wall_ns, severity, text, length, line);
}

static size_t format_journal(const char *identity, enum md_log_severity severity, const char *text,
                             size_t length, char line[LINE_MAX_BYTES])
{
    size_t used = (size_t)snprintf(line, HEAD_BYTES, "<%d>%.300s %s ", (int)severity, identity,
                                   md_log_severity_name(severity));

    used += md_log_escape(text, length, line + used, MD_LOG_TEXT_MAX);
    line[used++] = '\n';
    return used;
}

static bool write_all(int fd, const char *bytes, size_t length)
{
    ssize_t written = write(fd, bytes, length);

    if (written >= 0 && written < (ssize_t)length)
        errno = ENOSPC; /* what else would stop a file halfway */
    return written == (ssize_t)length;
}

void md_log_sink_stderr(uint64_t wall_ns, enum md_log_severity severity, const char *text,
                        size_t length)
{
    char line[LINE_MAX_BYTES];
    size_t used = format_text("-", wall_ns, severity, text, length, line);

    (void)write_all(STDERR_FILENO, line, used);
}

/* Root writes into a folder in which another user may put a link in place of the file. */
static bool is_foreign_folder(const char *path)
{
    char folder[PATH_MAX];
    struct stat st;

    snprintf(folder, sizeof(folder), "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = '\0';
    return geteuid() == 0 && stat(slash ? folder : ".", &st) == 0 &&
           (st.st_uid != 0 || (st.st_mode & (S_IWGRP | S_IWOTH)));
}

static int open_file(struct md_log_sink *sink)
{
    int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY;
    bool is_foreign = is_foreign_folder(sink->path);
    struct stat st;

    sink->fd = open(sink->path, is_foreign ? flags | O_NOFOLLOW | O_NONBLOCK : flags, 0640);
    if (sink->fd < 0)
        return MD_ERR_SYS;
    bool is_known = fstat(sink->fd, &st) == 0;
    if (is_foreign && (!is_known || !S_ISREG(st.st_mode) || st.st_nlink != 1)) {
        close(sink->fd);
        sink->fd = -1;
        errno = EPERM;
        return MD_ERR_SYS;
    }
    sink->size = is_known && st.st_size > 0 ? (uint64_t)st.st_size : 0;
    return MD_OK;
}

int md_log_sink_open(struct md_log_sink *sink, const struct md_log_config *config)
{
    memset(sink, 0, sizeof(*sink));
    sink->fd = -1;
    snprintf(sink->identity, sizeof(sink->identity), "%s", config->identity);
    sink->targets = config->targets;
    sink->is_json = config->is_json;
    sink->keep = config->keep;
    sink->size_max = config->size_max;
    if (config->targets & MD_LOG_TO_SYSLOG)
        openlog(NULL, LOG_PID, LOG_DAEMON);
    if (!(config->targets & MD_LOG_TO_FILE))
        return MD_OK;
    if (strlen(config->path) >= sizeof(sink->path))
        return MD_ERR_RANGE;
    snprintf(sink->path, sizeof(sink->path), "%s", config->path);
    return open_file(sink);
}

void md_log_sink_close(struct md_log_sink *sink)
{
    if (sink->fd >= 0)
        close(sink->fd);
    sink->fd = -1;
    if (sink->targets & MD_LOG_TO_SYSLOG)
        closelog();
}

void md_log_sink_reopen(struct md_log_sink *sink)
{
    if (!(sink->targets & MD_LOG_TO_FILE))
        return;
    int old = sink->fd;
    if (open_file(sink) != MD_OK) {
        /* Better the old file than none. */
        sink->fd = old;
        md_ctr_inc(&sink->errors);
        return;
    }
    if (old >= 0)
        close(old);
}

/* path.4 becomes path.5, ..., path becomes path.1, and path starts anew. */
static void rotate(struct md_log_sink *sink)
{
    char from[PATH_MAX], to[PATH_MAX];

    for (unsigned i = sink->keep; i > 0; i--) {
        snprintf(to, sizeof(to), "%s.%u", sink->path, i);
        if (i > 1)
            snprintf(from, sizeof(from), "%s.%u", sink->path, i - 1);
        else
            snprintf(from, sizeof(from), "%s", sink->path);
        (void)rename(from, to); /* not there yet: nothing to keep */
    }
    if (sink->keep == 0)
        (void)unlink(sink->path);
    md_log_sink_reopen(sink);
    md_ctr_inc(&sink->rotations);
}

/* A full disk: once there is room again the file itself says what is missing in it. */
static bool tell_unwritten(struct md_log_sink *sink, uint64_t wall_ns)
{
    char text[160], line[1 + LINE_MAX_BYTES];
    int length = snprintf(text, sizeof(text), "%llu lines of this log could not be written: %s",
                          (unsigned long long)sink->unwritten, strerror(sink->unwritten_errno));

    line[0] = '\n'; /* the last of them may have been written in part */
    size_t used = 1 + format_line(sink, wall_ns, MD_LOG_WARNING, text, (size_t)length, line + 1);
    if (!write_all(sink->fd, line, used))
        return false;
    sink->size += used;
    sink->unwritten = 0;
    return true;
}

static bool write_file(struct md_log_sink *sink, uint64_t wall_ns, const char *line, size_t used)
{
    if (sink->fd >= 0 && (sink->unwritten == 0 || tell_unwritten(sink, wall_ns)) &&
        write_all(sink->fd, line, used)) {
        sink->size += used;
        return true;
    }
    sink->unwritten_errno = errno;
    sink->unwritten++;
    return false;
}

void md_log_sink_write(struct md_log_sink *sink, uint64_t wall_ns, enum md_log_severity severity,
                       const char *text, size_t length)
{
    char line[LINE_MAX_BYTES];
    size_t used = format_line(sink, wall_ns, severity, text, length, line);
    bool is_written = true;

    md_ctr_inc(&sink->lines);
    if (sink->targets & MD_LOG_TO_STDERR)
        is_written = write_all(STDERR_FILENO, line, used);
    if (sink->targets & MD_LOG_TO_FILE) {
        if (sink->size_max && sink->size > 0 && sink->size + used > sink->size_max)
            rotate(sink);
        is_written &= write_file(sink, wall_ns, line, used);
    }
    if (sink->targets & MD_LOG_TO_JOURNAL) {
        used = format_journal(sink->identity, severity, text, length, line);
        is_written &= write_all(STDERR_FILENO, line, used);
    }
    if (sink->targets & MD_LOG_TO_SYSLOG) {
        char escaped[MD_LOG_TEXT_MAX];
        int n = (int)md_log_escape(text, length, escaped, sizeof(escaped));
        syslog((int)severity, "%s %.*s", sink->identity, n, escaped);
    }
    if (!is_written)
        md_ctr_inc(&sink->errors);
}
