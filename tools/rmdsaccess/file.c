/* file.c - an access file: its text, its rules, and what is wrong in it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "conf/options.h"
#include "entitle/entitle.h"
#include "rules.h"

struct access_finding {
    int line;
    size_t number; /* in the order in which they were found */
    const char *severity;
    char text[400];
};

static void add(struct access_text *file, const char *severity, int line, const char *text)
{
    struct access_finding *more =
        realloc(file->findings, (file->count + 1) * sizeof(*file->findings));

    if (!more)
        return;
    file->findings = more;
    more[file->count] =
        (struct access_finding){ .line = line, .number = file->count, .severity = severity };
    snprintf(more[file->count].text, sizeof(more[0].text), "%s", text);
    file->count++;
}

static void on_error(void *self, int line, const char *text)
{
    struct access_text *file = self;

    file->errors++;
    add(file, "error", line, text);
}

static void on_warning(void *self, int line, const char *text)
{
    struct access_text *file = self;

    file->warnings++;
    add(file, "warning", line, text);
}

/* False with errno: it cannot be read to its end. */
static bool read_all(FILE *in, struct access_text *file)
{
    size_t room = 0;

    do {
        room = room ? 2 * room : 65536;
        char *more = realloc(file->text, room);
        if (!more)
            return false;
        file->text = more;
        file->length += fread(file->text + file->length, 1, room - file->length, in);
    } while (file->length == room);
    return !ferror(in);
}

int access_text_read(const char *path, struct access_text *out)
{
    FILE *in = fopen(path, "rb");

    *out = (struct access_text){ .path = path };
    if (!in || !read_all(in, out)) {
        fprintf(stderr, "rmdsaccess: %s: %s\n", path, strerror(errno));
        if (in)
            fclose(in);
        free(out->text);
        return MD_EXIT_FILE;
    }
    fclose(in);
    int err = entitle_rules_create(out->text, out->length, on_error, out, &out->rules);
    if (err == MD_OK || err == MD_ERR_MALFORMED)
        return MD_EXIT_OK;
    fprintf(stderr, "rmdsaccess: %s: %s\n", path, md_err_name(err));
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
            printf("%s:%d: %s: %s\n", file->path, one->line, one->severity, one->text);
        else
            printf("%s: %s: %s\n", file->path, one->severity, one->text);
    }
}

void access_text_free(struct access_text *file)
{
    entitle_rules_destroy(file->rules);
    free(file->findings);
    free(file->text);
}

int access_text_line(const struct access_text *file, unsigned line, const char **out)
{
    const char *at = file->text, *stop = file->text + file->length;

    for (unsigned i = 1; i < line && at < stop; i++) {
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
