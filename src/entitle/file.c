/* file.c - reads an access file whose name is a parameter's value. See entitle/entitle.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/secret.h"
#include "base/table.h"
#include "rules.h"

/* Of a reading: the first mistake goes to the caller, the others to the log. */
struct reading {
    const char *param;
    char *why;
    size_t size;
    void (*see)(void *self, const struct entitle_seen *seen);
    void *self;
};

static uint64_t stamp_of(const struct stat *status)
{
    const uint64_t parts[] = { (uint64_t)status->st_dev, (uint64_t)status->st_ino,
                               (uint64_t)status->st_size, (uint64_t)status->st_mtim.tv_sec,
                               (uint64_t)status->st_mtim.tv_nsec };

    return md_hash_bytes(parts, sizeof(parts)) | 1;
}

uint64_t entitle_file_stamp(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 ? stamp_of(&status) : 0;
}

/* The sentence begins with the name of the file. */
static void take_reason(const char *path, const char *sentence, char *why, size_t size)
{
    size_t length = strlen(path);
    bool has_name =
        strncmp(sentence, path, length) == 0 && strncmp(sentence + length, ": ", 2) == 0;

    snprintf(why, size, "%s", has_name ? sentence + length + 2 : sentence);
}

static char *read_open(struct reading *reading, int fd, const char *path, size_t *length, char *why,
                       size_t size)
{
    char sentence[1400] = "";
    enum md_secret_state state =
        md_secret_look(fd, path, MD_SECRET_RULES, sentence, sizeof(sentence));

    if (state == MD_SECRET_REFUSED) {
        take_reason(path, sentence, why, size);
        return NULL;
    }
    if (state == MD_SECRET_OPEN)
        md_log(MD_LOG_WARNING, "%s %s", reading->param, sentence);
    char *text = md_file_read(fd, SIZE_MAX, length);
    if (!text)
        snprintf(why, size, "%s", strerror(errno));
    return text;
}

static char *read_path(void *self, const char *path, size_t *length, char *why, size_t size)
{
    struct reading *reading = self;
    struct entitle_seen seen = { .path = path };
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *text = NULL;
    struct stat status;

    *length = 0;
    if (fd < 0) {
        snprintf(why, size, "%s", strerror(errno));
    } else {
        seen.stamp = fstat(fd, &status) == 0 ? stamp_of(&status) : 0;
        text = read_open(reading, fd, path, length, why, size);
        close(fd);
    }
    seen.text = text;
    seen.length = *length;
    reading->see(reading->self, &seen);
    return text;
}

static void on_mistake(void *closure, const char *file, int line, const char *text)
{
    struct reading *reading = closure;
    char sentence[1800];

    if (line)
        snprintf(sentence, sizeof(sentence), "%s:%d: %s", file, line, text);
    else
        snprintf(sentence, sizeof(sentence), "%s: %s", file, text);
    if (reading->why[0])
        md_log(MD_LOG_ERROR, "%s %s", reading->param, sentence);
    else
        snprintf(reading->why, reading->size, "%s", sentence);
}

int entitle_rules_read_and(const char *param, const char *path, char *why, size_t size,
                           void (*see)(void *self, const struct entitle_seen *seen), void *self,
                           struct entitle_rules **out)
{
    struct reading reading = { param, why, size, see, self };
    const struct entitle_reader reader = { .read = read_path, .self = &reading };

    why[0] = '\0';
    int err = entitle_rules_create_from(path, &reader, on_mistake, &reading, out);
    if (err != MD_OK && !why[0])
        snprintf(why, size, "%s: %s", path, md_err_name(err));
    return err;
}

static void see_nothing(void *self, const struct entitle_seen *seen)
{
    (void)self;
    (void)seen;
}

int entitle_rules_read(const char *param, const char *path, char *why, size_t size,
                       struct entitle_rules **out)
{
    return entitle_rules_read_and(param, path, why, size, see_nothing, NULL, out);
}
