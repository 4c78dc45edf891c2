/* words.c - the words of a line of an access file. See rules.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rules.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

struct entitle_view entitle_value(struct entitle_view word, const char *key)
{
    size_t length = strlen(key);

    if (word.length <= length || memcmp(word.data, key, length) != 0 || word.data[length] != '=')
        return (struct entitle_view){ NULL, 0 };
    word.data += length + 1;
    word.length -= length + 1;
    if (word.length >= 2 && word.data[0] == '"' && word.data[word.length - 1] == '"' &&
        strcmp(key, "password") != 0 && strcmp(key, "token") != 0) {
        word.data++;
        word.length -= 2;
    }
    return word;
}

/* A value in quotes may have blanks; a secret may begin with one: it stands as it is. */
static bool has_quote(struct entitle_view word)
{
    const char *equals = memchr(word.data, '=', word.length);

    return equals && equals + 2 == word.data + word.length && equals[1] == '"' &&
           !entitle_value(word, "password").data && !entitle_value(word, "token").data;
}

int entitle_split(const char *line, size_t length, struct entitle_view words[ENTITLE_WORDS_MAX],
                  bool *is_open)
{
    int count = 0;
    size_t i = 0;

    *is_open = false;
    while (i < length) {
        while (i < length && is_blank(line[i]))
            i++;
        size_t start = i;
        bool is_quoted = false;
        while (i < length && (is_quoted || !is_blank(line[i]))) {
            i++;
            if (is_quoted && line[i - 1] == '"')
                is_quoted = false;
            else if (line[i - 1] == '"')
                is_quoted = has_quote((struct entitle_view){ line + start, i - start });
        }
        *is_open |= is_quoted;
        if (i == start)
            break;
        if (count == ENTITLE_WORDS_MAX)
            return ENTITLE_WORDS_MAX + 1;
        words[count++] = (struct entitle_view){ line + start, i - start };
    }
    return count;
}

bool entitle_is(struct entitle_view word, const char *text)
{
    return word.length == strlen(text) && memcmp(word.data, text, word.length) == 0;
}

bool entitle_same(struct entitle_view a, struct entitle_view b)
{
    return a.length == b.length && memcmp(a.data, b.data, a.length) == 0;
}

bool entitle_next(struct entitle_view *list, struct entitle_view *one)
{
    if (!list->data)
        return false;
    const char *comma = memchr(list->data, ',', list->length);
    *one = (struct entitle_view){ list->data, comma ? (size_t)(comma - list->data) : list->length };
    if (comma)
        *list = (struct entitle_view){ comma + 1, list->length - one->length - 1 };
    else
        list->data = NULL;
    return true;
}

bool entitle_lists(struct entitle_view list, struct entitle_view word)
{
    struct entitle_view one;

    while (entitle_next(&list, &one)) {
        if (entitle_same(one, word))
            return true;
    }
    return false;
}

struct entitle_view entitle_cut(struct entitle_view *rest, char at)
{
    const char *found = rest->length ? memchr(rest->data, at, rest->length) : NULL;
    struct entitle_view first = { rest->data, found ? (size_t)(found - rest->data) : rest->length };

    *rest = found ? (struct entitle_view){ found + 1, rest->length - first.length - 1 }
                  : (struct entitle_view){ NULL, 0 };
    return first;
}

struct entitle_view entitle_given_roles(struct entitle_view given)
{
    return entitle_cut(&given, '\n');
}

struct entitle_view entitle_given_codes(struct entitle_view given, struct entitle_view set)
{
    entitle_cut(&given, '\n');
    while (given.length) {
        struct entitle_view codes = entitle_cut(&given, '\n');
        struct entitle_view name = entitle_cut(&codes, '\t');

        if (entitle_same(name, set))
            return codes;
    }
    return (struct entitle_view){ NULL, 0 };
}

bool entitle_number(struct entitle_view word, uint32_t *out)
{
    uint64_t number = 0;

    if (word.length == 0 || word.length > 10)
        return false;
    for (size_t i = 0; i < word.length; i++) {
        if (word.data[i] < '0' || word.data[i] > '9')
            return false;
        number = number * 10 + (uint64_t)(word.data[i] - '0');
    }
    *out = (uint32_t)number;
    return number <= UINT32_MAX;
}

/* ---- what was meant ---- */

#define NEAR_MAX 24 /* longer words are not compared */

static unsigned least(unsigned a, unsigned b, unsigned c)
{
    unsigned ab = a < b ? a : b;

    return ab < c ? ab : c;
}

/* How many letters are too many, too few, or others. */
static unsigned distance(struct entitle_view a, const char *b)
{
    unsigned row[NEAR_MAX + 1];
    size_t width = strlen(b);

    if (a.length > NEAR_MAX || width > NEAR_MAX)
        return NEAR_MAX;
    for (unsigned x = 0; x <= width; x++)
        row[x] = x;
    for (unsigned y = 1; y <= a.length; y++) {
        unsigned diagonal = row[0];

        row[0] = y;
        for (unsigned x = 1; x <= width; x++) {
            unsigned above = row[x];

            row[x] = least(above + 1, row[x - 1] + 1, diagonal + (a.data[y - 1] != b[x - 1]));
            diagonal = above;
        }
    }
    return row[width];
}

const char *entitle_near(struct entitle_view word, const char *const names[], size_t count)
{
    const char *best = NULL;
    unsigned nearest = 3;

    for (size_t i = 0; i < count; i++) {
        unsigned far = distance(word, names[i]);

        if (far < nearest && far < strlen(names[i])) {
            nearest = far;
            best = names[i];
        }
    }
    return best;
}

/* ---- the rest ---- */

void *entitle_grow(struct entitle_array *array, size_t size)
{
    if (array->count == array->room) {
        size_t wanted = array->room ? array->room * 2 : 64;
        void *more = realloc(array->at, wanted * size);

        if (!more)
            return NULL;
        array->at = more;
        array->room = wanted;
    }
    void *slot = (char *)array->at + array->count++ * size;
    memset(slot, 0, size);
    return slot;
}

void entitle_complain(struct entitle_parse *parse, const char *format, ...)
{
    char text[512];
    va_list values;

    parse->mistakes++;
    if (!parse->diag && !parse->told)
        return;
    va_start(values, format);
    vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    if (!parse->told) {
        parse->diag(parse->closure, parse->line, text);
        return;
    }
    const char *file;
    uint32_t line = entitle_rules_place(parse->rules, (uint32_t)parse->line, &file);
    parse->told(parse->closure, file, (int)line, text);
}

void *entitle_parse_add(struct entitle_parse *parse, struct entitle_array *array, size_t size,
                        const struct entitle_view parts[], unsigned count, uint8_t rights)
{
    struct entitle_line *line = entitle_grow(array, size);

    if (!line) {
        entitle_complain(parse, "out of memory");
        return NULL;
    }
    memcpy(line->parts, parts, count * sizeof(parts[0]));
    line->rights = rights;
    line->line = (uint32_t)parse->line;
    return line;
}

void entitle_say(const struct entitle_query *query, const char *step, uint32_t line,
                 const char *format, ...)
{
    char text[512];
    va_list arguments;

    if (!query->step)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    query->step(query->step_self, step, line, text);
}
