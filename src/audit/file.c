/* file.c - see file.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"

#define TAIL_MAX (AUDIT_LINE_MAX + AUDIT_PART_MAX)

static int say(char *why, size_t size, const char *path, const char *text)
{
    snprintf(why, size, "%s: %s", path, text);
    return MD_ERR_SYS;
}

int audit_file_open(struct audit_file *file, const char *path, char *why, size_t size)
{
    struct stat st;

    snprintf(file->path, sizeof(file->path), "%s", path);
    file->fd = open(
        path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK, 0640);
    if (file->fd < 0)
        return say(why, size, path, strerror(errno));
    if (fstat(file->fd, &st) != 0 || !S_ISREG(st.st_mode))
        say(why, size, path, "this is no file that an audit trail can be written to");
    else if (flock(file->fd, LOCK_EX | LOCK_NB) != 0)
        say(why, size, path, "another process writes its audit trail there; give each its own");
    else {
        file->size = (uint64_t)st.st_size;
        return MD_OK;
    }
    audit_file_close(file);
    return MD_ERR_SYS;
}

void audit_file_close(struct audit_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
    file->size = 0;
}

/* The last bytes of a file, from malloc(); NULL: they cannot be read, see errno. */
static char *read_tail(int fd, size_t *length, bool *is_all)
{
    struct stat st;
    char *tail = malloc(TAIL_MAX);

    if (!tail || fstat(fd, &st) != 0) {
        free(tail);
        return NULL;
    }
    off_t from = st.st_size > (off_t)TAIL_MAX ? st.st_size - (off_t)TAIL_MAX : 0;
    ssize_t got = pread(fd, tail, TAIL_MAX, from);
    if (got < 0) {
        free(tail);
        return NULL;
    }
    *length = (size_t)got;
    *is_all = from == 0;
    return tail;
}

/* Takes the last whole line that is one of a trail, and what follows it. False: there is none. */
static bool find_end(struct audit_end *end, const char *tail, size_t length, bool is_all)
{
    char prev[AUDIT_SUM_SIZE];

    for (size_t stop = length; stop > 0; stop--) {
        if (tail[stop - 1] != '\n')
            continue;
        const char *before = memrchr(tail, '\n', stop - 1);
        const char *line = before ? before + 1 : tail;
        size_t line_length = (size_t)(tail + stop - 1 - line);
        if ((!before && !is_all) || length - stop > AUDIT_PART_MAX)
            return false;
        if (!audit_line_read(line, line_length, &end->chain.n, prev))
            continue;
        audit_sum(line, line_length, end->chain.head);
        end->part_length = length - stop;
        end->part = end->part_length ? malloc(end->part_length) : NULL;
        if (end->part)
            memcpy(end->part, tail + stop, end->part_length);
        return !end->part_length || end->part;
    }
    /* The very first line was not finished: a part of one, and no chain before it. */
    end->part_length = length;
    end->part = is_all && length <= AUDIT_PART_MAX && length >= 5 && memcmp(tail, "{\"n\":", 5) == 0
                    ? malloc(length)
                    : NULL;
    if (end->part)
        memcpy(end->part, tail, length);
    return end->part != NULL;
}

static int read_end(int fd, const char *path, struct audit_end *end, char *why, size_t size)
{
    size_t length;
    bool is_all;
    char *tail = read_tail(fd, &length, &is_all);
    int err = MD_OK;

    if (!tail)
        return say(why, size, path, strerror(errno));
    if (length > 0 && !find_end(end, tail, length, is_all))
        err = say(why, size, path,
                  "it does not end with lines of an audit trail; move it away, or name another");
    free(tail);
    return err;
}

int audit_file_end(struct audit_file *file, struct audit_end *end, char *why, size_t size)
{
    char before[PATH_MAX + 12];

    *end = (struct audit_end){ .part = NULL };
    audit_chain_init(&end->chain);
    if (file->size > 0)
        return read_end(file->fd, file->path, end, why, size);
    int fd = -1;
    for (unsigned n = 0; fd < 0 && n < 2; n++) {
        snprintf(before, sizeof(before), "%s.%u", file->path, n);
        fd = open(before, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK);
    }
    if (fd < 0)
        return MD_OK;
    int err = read_end(fd, before, end, why, size);
    close(fd);
    if (end->part) { /* not this file's: nothing can end it */
        free(end->part);
        end->part = NULL;
    }
    return err;
}

size_t audit_file_write(struct audit_file *file, const char *bytes, size_t length)
{
    ssize_t done = write(file->fd, bytes, length);

    if (done < 0)
        return 0;
    if ((size_t)done < length)
        errno = ENOSPC; /* what else would stop a file halfway */
    file->size += (uint64_t)done;
    return (size_t)done;
}

/* path.2 becomes path.3, ..., path.0 becomes path.1; the last one is overwritten. */
static bool shift(const struct audit_file *file, unsigned keep)
{
    char from[PATH_MAX + 12], to[PATH_MAX + 12];

    for (unsigned i = keep; i > 0; i--) {
        snprintf(from, sizeof(from), "%s.%u", file->path, i - 1);
        snprintf(to, sizeof(to), "%s.%u", file->path, i);
        if (rename(from, to) != 0 && errno != ENOENT)
            return false;
    }
    return true;
}

/* The file moves first: nothing is overwritten for one that cannot be moved. */
bool audit_file_rotate(struct audit_file *file, unsigned keep)
{
    char aside[PATH_MAX + 12];
    struct stat st;

    snprintf(aside, sizeof(aside), "%s.0", file->path);
    if (lstat(aside, &st) == 0 && !shift(file, keep)) /* from a time when it failed */
        return false;
    if (rename(file->path, aside) != 0 && errno != ENOENT)
        return false;
    audit_file_close(file);
    (void)shift(file, keep);
    return true;
}
