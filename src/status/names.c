/* names.c - see names.h and status/figures.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "names.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stats/layout.h"

struct status_index {
    size_t count;
    const struct status_figure *rows[];
};

static int compare_rows(const void *a, const void *b)
{
    const struct status_figure *x = *(const struct status_figure *const *)a;
    const struct status_figure *y = *(const struct status_figure *const *)b;
    int by_scope = strcmp(x->scope, y->scope);

    return by_scope ? by_scope : strcmp(x->leaf, y->leaf);
}

struct status_index *status_index_create(void)
{
    struct status_index *index =
        calloc(1, sizeof(*index) + status_figure_count * sizeof(index->rows[0]));

    if (!index)
        return NULL;
    index->count = status_figure_count;
    for (size_t i = 0; i < index->count; i++)
        index->rows[i] = &status_figures[i];
    qsort(index->rows, index->count, sizeof(index->rows[0]), compare_rows);
    return index;
}

void status_index_destroy(struct status_index *index)
{
    free(index);
}

/* ---- search ---- */

static const struct status_figure *find(const struct status_index *index, const char *scope,
                                        const char *leaf)
{
    const struct status_figure wanted = { .scope = scope, .leaf = leaf };
    const struct status_figure *key = &wanted;
    const struct status_figure *const *found =
        bsearch(&key, index->rows, index->count, sizeof(index->rows[0]), compare_rows);

    return found ? *found : NULL;
}

static const char *dot_before(const char *start, const char *dot)
{
    while (dot > start && *--dot != '.')
        continue;
    return *dot == '.' && dot > start ? dot : NULL;
}

/* The leaf itself, or one that ends in ".*" and begins with its first words. */
static bool find_leaf(const struct status_index *index, const char *scope, const char *leaf,
                      struct status_place *out)
{
    char pattern[STATS_PATH_BYTES];

    out->figure = find(index, scope, leaf);
    for (const char *dot = strrchr(leaf, '.'); dot && !out->figure; dot = dot_before(leaf, dot)) {
        size_t length = (size_t)(dot - leaf);
        if (length + 3 > sizeof(pattern))
            continue;
        memcpy(pattern, leaf, length);
        memcpy(pattern + length, ".*", 3);
        out->figure = find(index, scope, pattern);
        if (out->figure)
            out->part = (struct md_slice){ (const uint8_t *)dot + 1, strlen(dot + 1) };
    }
    return out->figure != NULL;
}

/* "worker.0.updatesIn": one of many. Names of services may have dots in them, so the leaf is looked
 * for from the end: one word, then two, of a row that ends in ".*". */
static bool find_one_of_many(const struct status_index *index, const char *program,
                             const char *rest, struct status_place *out)
{
    const char *word_end = strchr(rest, '.'), *last = strrchr(rest, '.');
    char scope[64];

    if (!word_end || last == word_end)
        return false;
    size_t length = (size_t)(word_end - rest);
    if ((size_t)snprintf(scope, sizeof(scope), "%s.%.*s", program, (int)length, rest) >=
        sizeof(scope))
        return false;
    const char *which = word_end + 1, *leaf_dot = last;
    bool is_found = find_leaf(index, scope, last + 1, out);
    if (!is_found && (leaf_dot = dot_before(which, last)) != NULL)
        is_found = find_leaf(index, scope, leaf_dot + 1, out);
    if (!is_found)
        return false;
    out->group = rest;
    out->group_length = length;
    out->which = (struct md_slice){ (const uint8_t *)which, (size_t)(leaf_dot - which) };
    return true;
}

void status_place_find(const struct status_index *index, const char *process, const char *path,
                       struct status_place *out)
{
    size_t length = strlen(process);
    bool is_own = strncmp(path, process, length) == 0 && path[length] == '.';
    const char *rest = is_own ? path + length + 1 : path, *dot = strchr(rest, '.');
    char program[32];

    snprintf(program, sizeof(program), "%.*s", (int)strcspn(process, "."), process);
    *out = (struct status_place){ .leaf = strrchr(path, '.') ? strrchr(path, '.') + 1 : path };
    if (is_own && process[strlen(program)] == '.')
        out->network = (struct md_slice){ (const uint8_t *)process + strlen(program) + 1,
                                          strlen(process) - strlen(program) - 1 };
    if (is_own &&
        (find_one_of_many(index, program, rest, out) || find_leaf(index, program, rest, out)))
        return;
    if (is_own && dot && find_leaf(index, program, dot + 1, out)) {
        out->network = (struct md_slice){ (const uint8_t *)rest, (size_t)(dot - rest) };
        return;
    }
    (void)find_leaf(index, "", rest, out);
}

/* ---- names ---- */

void status_name_add(char *out, size_t size, const char *text, size_t length)
{
    size_t at = strlen(out);

    for (size_t i = 0; i < length && at + 2 < size; i++) {
        unsigned char c = (unsigned char)text[i];
        if (isupper(c) && at > 0 && out[at - 1] != '_')
            out[at++] = '_';
        out[at++] = isalnum(c) ? (char)tolower(c) : '_';
    }
    out[at] = 0;
}

/* Take the unit's own word out of the name: it stands at the end. */
static void drop_word(char *name, const char *word)
{
    size_t length = strlen(word);

    for (char *at = strstr(name, word); at; at = strstr(at + 1, word)) {
        bool begins = at == name || at[-1] == '_', ends = at[length] == '_' || at[length] == 0;
        if (!begins || !ends)
            continue;
        size_t cut = length + (at[length] == '_');
        memmove(at, at + cut, strlen(at + cut) + 1);
        size_t left = strlen(name);
        if (left > 0 && name[left - 1] == '_')
            name[left - 1] = 0;
        return;
    }
}

void status_metric_name(const struct status_figure *figure, char *out, size_t size)
{
    static const char *const units[] = {
        [STATUS_PLAIN] = "", [STATUS_BYTES] = "_bytes", [STATUS_US] = "_seconds"
    };
    static const char *const shapes[] = { [STATUS_COUNTER] = "_total",
                                          [STATUS_TIME] = "_timestamp_seconds",
                                          [STATUS_TEXT] = "_info",
                                          [STATUS_STATE] = "_up" };
    bool is_many = strlen(figure->leaf) > 2 && strchr(figure->leaf, '*');
    const char *name = figure->name ? figure->name : figure->leaf;
    bool is_object = (figure->shape == STATUS_TEXT && figure->scope[0]) ||
                     figure->shape == STATUS_STATE; /* the metric is that of the whole object */
    char own[STATUS_METRIC_BYTES] = "";

    snprintf(out, size, "rmds_");
    status_name_add(out, size, figure->scope, strlen(figure->scope));
    if (!is_object) {
        status_name_add(own, sizeof(own), name, strlen(name) - (is_many && !figure->name ? 2 : 0));
        if (!figure->name && figure->unit == STATUS_BYTES)
            drop_word(own, "bytes");
        if (!figure->name && figure->unit == STATUS_US)
            drop_word(own, "us");
    }
    size_t length = strlen(out);
    const char *shape =
        figure->shape < sizeof(shapes) / sizeof(shapes[0]) ? shapes[figure->shape] : NULL;
    snprintf(out + length, size - length, "%s%s%s%s", figure->scope[0] && own[0] ? "_" : "", own,
             units[figure->unit], shape ? shape : "");
}

const char *status_metric_type(const struct status_figure *figure)
{
    switch (figure->shape) {
    case STATUS_COUNTER:
        return "counter";
    case STATUS_HISTOGRAM:
    case STATUS_BUCKETS:
        return "histogram";
    case STATUS_GAUGE:
    case STATUS_TIME:
    case STATUS_TEXT:
    case STATUS_STATE:
        break;
    }
    return "gauge";
}
