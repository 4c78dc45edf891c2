/* check.c - reads a trail and checks its chain. See audit/audit.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "file.h"

#define FILES_MAX 10000u

struct reading {
    struct audit_check *check;
    struct audit_chain chain;
    void (*line)(void *self, const char *text, size_t length);
    void *self;
    char part[AUDIT_PART_MAX]; /* lines that are none, until a "cut" line accounts for them */
    size_t part_length;
    unsigned part_line; /* of the file, where it began */
    const char *part_why;
};

static int fail(struct reading *reading, const char *path, unsigned line, const char *why)
{
    snprintf(reading->check->wrong, sizeof(reading->check->wrong), "%s:%u: %s", path, line, why);
    return MD_ERR_MALFORMED;
}

/* The line is not the next one of the chain. */
static int set_aside(struct reading *reading, const char *path, unsigned number, const char *text,
                     size_t length, const char *why)
{
    size_t need = length + (reading->part_length ? 1 : 0);

    if (reading->part_length == 0) {
        reading->part_line = number;
        reading->part_why = why;
    }
    if (length == 0 || need > sizeof(reading->part) - reading->part_length)
        return fail(reading, path, reading->part_line, reading->part_why);
    if (reading->part_length)
        reading->part[reading->part_length++] = '\n';
    memcpy(reading->part + reading->part_length, text, length);
    reading->part_length += length;
    return MD_OK;
}

static int look_for_head(struct reading *reading, const char *path, unsigned number)
{
    const struct audit_check *check = reading->check;

    if (check->wanted && reading->chain.n == check->wanted &&
        strcmp(reading->chain.head, check->wanted_sum) != 0)
        return fail(reading, path, number,
                    "it has another SHA-256 than was asked for: the trail was made anew");
    return MD_OK;
}

static int take_line(struct reading *reading, const char *path, unsigned number, const char *text,
                     size_t length)
{
    struct audit_check *check = reading->check;
    char prev[AUDIT_SUM_SIZE];
    uint64_t n;

    if (check->lines == 0 && reading->part_length == 0 && audit_line_read(text, length, &n, prev) &&
        n > 0) {
        reading->chain.n = n - 1; /* what was before is not kept any more */
        if (n > 1)
            memcpy(reading->chain.head, prev, sizeof(prev));
        check->first = n;
    }
    const char *why = audit_chain_follow(&reading->chain, text, length);
    if (why)
        return set_aside(reading, path, number, text, length, why);
    if (reading->part_length) {
        if (!audit_line_accounts(text, length, reading->part, reading->part_length))
            return fail(reading, path, reading->part_line, reading->part_why);
        reading->part_length = 0;
        check->cuts++;
    }
    check->first = check->first ? check->first : reading->chain.n;
    check->lines++;
    check->lost += audit_line_lost(text, length);
    if (reading->line)
        reading->line(reading->self, text, length);
    return look_for_head(reading, path, number);
}

/* Only the last file may end within a line. */
static int take_rest(struct reading *reading, const char *path, unsigned number, size_t rest)
{
    if (reading->part_length)
        return fail(reading, path, reading->part_line, reading->part_why);
    if (rest > 0 && reading->check->truncated)
        return fail(reading, path, number, "the file before it ends within a line");
    if (rest > 0)
        reading->check->truncated = rest;
    return MD_OK;
}

static int read_file(struct reading *reading, const char *path, FILE *file)
{
    char *text = NULL;
    size_t room = 0;
    unsigned number = 0;
    int err = MD_OK;
    size_t rest = 0;

    if (reading->check->truncated)
        return fail(reading, path, 1, "the file before it ends within a line");
    while (err == MD_OK && rest == 0) {
        ssize_t length = getline(&text, &room, file);
        if (length < 0)
            break;
        number++;
        if (text[length - 1] == '\n')
            err = take_line(reading, path, number, text, (size_t)length - 1);
        else
            rest = (size_t)length;
    }
    free(text);
    if (err == MD_OK && ferror(file)) {
        fail(reading, path, number, strerror(errno));
        return MD_ERR_SYS;
    }
    return err == MD_OK ? take_rest(reading, path, number, rest) : err;
}

/* How many rotated files there are, without a hole. */
static unsigned count_files(const char *path)
{
    char name[PATH_MAX + 12];
    unsigned count = 0;

    do {
        snprintf(name, sizeof(name), "%s.%u", path, count + 1);
    } while (access(name, F_OK) == 0 && ++count < FILES_MAX);
    return count;
}

static int read_path(struct reading *reading, const char *path)
{
    FILE *file = fopen(path, "rbe");

    if (!file) {
        snprintf(reading->check->wrong, sizeof(reading->check->wrong), "%s: %s", path,
                 strerror(errno));
        return MD_ERR_SYS;
    }
    reading->check->files++;
    int err = read_file(reading, path, file);
    fclose(file);
    return err;
}

static int look_back(struct audit_check *check, const char *path)
{
    if (!check->wanted || (check->wanted >= check->first && check->wanted <= check->last))
        return MD_OK;
    snprintf(check->wrong, sizeof(check->wrong),
             "%s: line %" PRIu64 ", which was asked for, is not in it", path, check->wanted);
    return MD_ERR_MALFORMED;
}

int audit_check(const char *path, void (*line)(void *self, const char *text, size_t length),
                void *self, struct audit_check *check)
{
    struct reading *reading = calloc(1, sizeof(*reading));
    struct audit_check given = *check;
    char name[PATH_MAX + 12];
    int err = MD_OK;

    *check = (struct audit_check){ .wanted = given.wanted };
    memcpy(check->wanted_sum, given.wanted_sum, sizeof(check->wanted_sum));
    if (!reading)
        return MD_ERR_NOMEM;
    reading->check = check;
    reading->line = line;
    reading->self = self;
    audit_chain_init(&reading->chain);
    for (unsigned i = count_files(path); i > 0 && err == MD_OK; i--) {
        snprintf(name, sizeof(name), "%s.%u", path, i);
        err = read_path(reading, name);
    }
    if (err == MD_OK)
        err = read_path(reading, path);
    check->last = reading->chain.n;
    memcpy(check->head, reading->chain.head, sizeof(check->head));
    free(reading);
    return err == MD_OK ? look_back(check, path) : err;
}
