/* include.c - files that an access file includes. See rules.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "rules.h"

/* The line that is read next is line `local` of that file. */
static bool begin_piece(struct entitle_parse *parse, uint32_t file, uint32_t local)
{
    struct entitle_piece *piece = entitle_grow(&parse->rules->pieces, sizeof(*piece));

    if (!piece) {
        entitle_complain(parse, "out of memory");
        return false;
    }
    *piece = (struct entitle_piece){
        .first = (uint32_t)parse->line + 1,
        .local = local,
        .file = file,
    };
    return true;
}

/* Takes the path. False: it cannot be read, and `why` says why. */
static bool add_file(struct entitle_parse *parse, char *path, size_t *length, char *why,
                     size_t size)
{
    const struct entitle_reader *reader = parse->reader;
    char *text = NULL;

    snprintf(why, size, "out of memory");
    struct entitle_file *file = path ? entitle_grow(&parse->rules->files, sizeof(*file)) : NULL;
    if (!file) {
        free(path);
        return false;
    }
    file->path = path;
    text = reader->read(reader->self, path, length, why, size);
    file->text = text;
    return text != NULL;
}

/* The text may be gone from where it stands when more files are added; what it points to stays. */
static void read_file(struct entitle_parse *parse, size_t length)
{
    uint32_t number = (uint32_t)parse->rules->files.count - 1;
    char *text = ((struct entitle_file *)parse->rules->files.at + number)->text;

    parse->open[parse->depth++] = number;
    if (begin_piece(parse, number, 1))
        parse->lines(parse, text, length);
    parse->depth--;
}

/* Relative to the file with the line. From malloc(). */
static char *path_of(const char *from, struct entitle_view name)
{
    const char *slash = strrchr(from, '/');
    size_t length = slash && name.data[0] != '/' ? (size_t)(slash - from) + 1 : 0;
    char *path = malloc(length + name.length + 1);

    if (!path)
        return NULL;
    memcpy(path, from, length);
    memcpy(path + length, name.data, name.length);
    path[length + name.length] = '\0';
    return path;
}

static const char *open_path(const struct entitle_parse *parse, unsigned at)
{
    return ((const struct entitle_file *)parse->rules->files.at + parse->open[at])->path;
}

static bool is_open(const struct entitle_parse *parse, const char *path)
{
    for (unsigned i = 0; i < parse->depth; i++) {
        if (strcmp(open_path(parse, i), path) == 0)
            return true;
    }
    return false;
}

/* NULL: the file may be read. */
static const char *refuse(const struct entitle_parse *parse, const char *path)
{
    if (path && is_open(parse, path))
        return "it includes itself";
    if (parse->depth > ENTITLE_DEPTH_MAX)
        return "a file is included 8 deep at most";
    if (parse->rules->files.count > ENTITLE_FILES_MAX)
        return "more than 1024 files are included";
    return NULL;
}

void entitle_parse_include(struct entitle_parse *parse, const struct entitle_view words[],
                           int count)
{
    char why[600];
    const char *unused;
    size_t length;

    if (count != 2 || words[1].length > 1000 || memchr(words[1].data, 0, words[1].length)) {
        entitle_complain(parse, "include: the path of a file is expected");
        return;
    }
    if (!parse->reader) {
        entitle_complain(parse, "include: these lines are in no file");
        return;
    }
    uint32_t file = parse->open[parse->depth - 1];
    uint32_t local = entitle_rules_place(parse->rules, (uint32_t)parse->line, &unused);
    char *path = path_of(open_path(parse, parse->depth - 1), words[1]);
    const char *refused = refuse(parse, path);
    if (refused)
        free(path);
    if (refused || !add_file(parse, path, &length, why, sizeof(why))) {
        entitle_complain(parse, "include %.*s: %s", ENTITLE_SHOWN(words[1]),
                         refused ? refused : why);
        return;
    }
    read_file(parse, length);
    (void)begin_piece(parse, file, local + 1);
}

int entitle_include_first(struct entitle_parse *parse, const char *path)
{
    char why[600];
    size_t length;

    if (!add_file(parse, strdup(path), &length, why, sizeof(why))) {
        parse->told(parse->closure, path, 0, why);
        return MD_ERR_SYS;
    }
    parse->rules->path = strdup(path);
    if (!parse->rules->path)
        return MD_ERR_NOMEM;
    read_file(parse, length);
    return MD_OK;
}

void entitle_include_fini(struct entitle_rules *rules)
{
    struct entitle_file *files = rules->files.at;

    for (size_t i = 0; i < rules->files.count; i++) {
        free(files[i].path);
        free(files[i].text);
    }
    free(files);
    free(rules->pieces.at);
    free(rules->path);
}
