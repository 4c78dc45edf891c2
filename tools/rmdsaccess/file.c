/* file.c - an access file: its text, its rules, and what is wrong in it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/secret.h"
#include "conf/options.h"
#include "entitle/entitle.h"
#include "rules.h"

struct access_finding {
    size_t part;
    int line;
    size_t number; /* in the order in which they were found */
    const char *severity;
    char text[400];
};

static size_t part_named(const struct access_text *file, const char *path)
{
    for (size_t i = 0; i < file->part_count; i++) {
        if (strcmp(file->parts[i].path, path) == 0)
            return i;
    }
    return 0;
}

static void add(struct access_text *file, const char *severity, const char *path, int line,
                const char *text)
{
    struct access_finding *more =
        realloc(file->findings, (file->count + 1) * sizeof(*file->findings));

    if (!more)
        return;
    file->findings = more;
    more[file->count] = (struct access_finding){
        .part = part_named(file, path), .line = line, .number = file->count, .severity = severity
    };
    snprintf(more[file->count].text, sizeof(more[0].text), "%s", text);
    file->count++;
}

static void on_error(void *self, const char *path, int line, const char *text)
{
    struct access_text *file = self;

    file->errors++;
    add(file, "error", path, line, text);
}

static void on_warning(void *self, int line, const char *text)
{
    struct access_text *file = self;
    const char *path;

    file->warnings++;
    uint32_t local = entitle_rules_place(file->rules, (uint32_t)line, &path);
    add(file, "warning", path, (int)local, text);
}

/* NULL with errno: it cannot be read to its end. */
static char *read_all(FILE *in, size_t *length)
{
    char *text = NULL, *more;
    size_t room = 0;

    *length = 0;
    do {
        room = room ? 2 * room : 65536;
        more = realloc(text, room);
        if (!more)
            break;
        text = more;
        *length += fread(text + *length, 1, room - *length, in);
    } while (*length == room);
    if (more && !ferror(in))
        return text;
    free(text);
    return NULL;
}

char *access_file_read(const char *path, size_t *length)
{
    FILE *in = fopen(path, "rb");
    char *text = in ? read_all(in, length) : NULL;
    int error = errno;

    if (in)
        fclose(in);
    errno = error;
    return text;
}

static bool keep(struct access_text *file, const char *path, const char *text, size_t length)
{
    struct access_part *more = realloc(file->parts, (file->part_count + 1) * sizeof(*file->parts));

    if (!more)
        return false;
    file->parts = more;
    more += file->part_count;
    *more = (struct access_part){ .path = strdup(path), .text = malloc(length + 1) };
    if (!more->path || !more->text) {
        free(more->path);
        free(more->text);
        return false;
    }
    memcpy(more->text, text, length);
    more->length = length;
    file->part_count++;
    return true;
}

/* As the daemons look at it. */
static void look_at_readers(struct access_text *file, FILE *in, const char *path)
{
    char why[640];
    enum md_secret_state state =
        md_secret_look(fileno(in), path, MD_SECRET_RULES, why, sizeof(why));

    if (state == MD_SECRET_FINE || !file->looks_at_readers)
        return;
    file->errors += state == MD_SECRET_REFUSED;
    file->warnings += state == MD_SECRET_OPEN;
    add(file, state == MD_SECRET_REFUSED ? "error" : "warning", path, 0, why + strlen(path) + 2);
}

static char *read_part(void *self, const char *path, size_t *length, char *why, size_t size)
{
    FILE *in = fopen(path, "rb");
    char *text = in ? read_all(in, length) : NULL;

    snprintf(why, size, "%s", strerror(errno));
    if (text && !keep(self, path, text, *length)) {
        snprintf(why, size, "no memory");
        free(text);
        text = NULL;
    }
    if (text)
        look_at_readers(self, in, path);
    if (in)
        fclose(in);
    return text;
}

int access_text_read(const char *path, bool looks_at_readers, struct access_text *out)
{
    const struct entitle_reader reader = { .read = read_part, .self = out };

    *out = (struct access_text){ .path = path, .looks_at_readers = looks_at_readers };
    int err = entitle_rules_create_from(path, &reader, on_error, out, &out->rules);
    if (err == MD_OK || err == MD_ERR_MALFORMED)
        return MD_EXIT_OK;
    fprintf(stderr, "rmdsaccess: %s: %s\n", path,
            out->count ? out->findings[0].text : md_err_name(err));
    access_text_free(out);
    return MD_EXIT_FILE;
}

void access_text_review(struct access_text *file)
{
    if (file->rules) {
        entitle_rules_review(file->rules, on_warning, file);
        entitle_rules_review_times(file->rules, (uint64_t)time(NULL), on_warning, file);
    }
}

static int by_line(const void *a, const void *b)
{
    const struct access_finding *left = a, *right = b;

    if (left->part != right->part)
        return left->part < right->part ? -1 : 1;
    if (left->line != right->line)
        return left->line < right->line ? -1 : 1;
    return left->number < right->number ? -1 : 1;
}

void access_text_tell(struct access_text *file)
{
    if (file->count)
        qsort(file->findings, file->count, sizeof(*file->findings), by_line);
    for (size_t i = 0; i < file->count; i++) {
        const struct access_finding *one = &file->findings[i];

        if (one->line)
            printf("%s:%d: %s: %s\n", file->parts[one->part].path, one->line, one->severity,
                   one->text);
        else
            printf("%s: %s: %s\n", file->parts[one->part].path, one->severity, one->text);
    }
}

void access_text_free(struct access_text *file)
{
    entitle_rules_destroy(file->rules);
    for (size_t i = 0; i < file->part_count; i++) {
        free(file->parts[i].path);
        free(file->parts[i].text);
    }
    free(file->parts);
    free(file->findings);
}

void access_text_place(const struct access_text *file, unsigned line, char *out, size_t size)
{
    const char *path;
    uint32_t local = entitle_rules_place(file->rules, line, &path);

    snprintf(out, size, "%s:%u", path, local);
}

int access_text_line(const struct access_text *file, unsigned line, const char **out)
{
    const char *path;
    uint32_t local = entitle_rules_place(file->rules, line, &path);
    const struct access_part *part = &file->parts[part_named(file, path)];
    const char *at = part->text, *stop = part->text + part->length;

    for (uint32_t i = 1; i < local && at < stop; i++) {
        const char *end = memchr(at, '\n', (size_t)(stop - at));
        at = end ? end + 1 : stop;
    }
    const char *end = at < stop ? memchr(at, '\n', (size_t)(stop - at)) : NULL;
    end = end ? end : stop;
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    while (end > at && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
        end--;
    *out = at;
    return (int)(end - at);
}
