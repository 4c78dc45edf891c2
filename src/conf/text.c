/* text.c - rmds.cnf as text: lines, escapes, placeholders, includes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/utf8.h"

/* Where we are, for findings. */
struct place {
    struct text_loader *loader;
    const char *file;
    int file_index;
    unsigned line;
    int depth;
};

#define SAY(place, severity, ...)                                                                  \
    report_say(&(place)->loader->report, severity, (place)->file, (place)->line, __VA_ARGS__)

#define NAME_BYTES "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_word(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

static bool text_is_clean(struct place *place, const char *text, size_t length)
{
    const uint8_t *bytes = (const uint8_t *)text;

    for (size_t i = 0; i < length;) {
        size_t step = md_utf8_length(bytes + i, length - i);

        if (bytes[i] == 0 || step == 0) {
            SAY(place, MD_CONF_ERROR, "%s at column %zu; the file must be UTF-8 text",
                bytes[i] == 0 ? "NUL byte" : "invalid UTF-8", i + 1);
            return false;
        }
        i += step;
    }
    return true;
}

/* "{word}" or "<word>" at `text`: its whole length, with the word in *word; else 0. */
static size_t placeholder(const char *text, const char **word, size_t *word_length)
{
    char close = *text == '{' ? '}' : *text == '<' ? '>' : '\0';
    size_t length = 1;

    if (!close)
        return 0;
    while (is_word(text[length]))
        length++;
    if (length == 1 || text[length] != close)
        return 0;
    *word = text + 1;
    *word_length = length - 1;
    return length + 1;
}

/*
 * In a value: a "<word>" that is the whole value may have blanks between its words, as in
 * "<host of the publisher>".
 */
static size_t value_placeholder(const char *text, bool is_start, const char **word,
                                size_t *word_length)
{
    size_t step = placeholder(text, word, word_length);
    size_t length = 1;

    if (step || !is_start || *text != '<' || is_blank(text[1]))
        return step;
    while (is_word(text[length]) || is_blank(text[length]))
        length++;
    if (text[length] != '>' || text[length + 1 + strspn(text + length + 1, " \t\r")] != '\0')
        return 0;
    *word = text + 1;
    *word_length = length - 1;
    return length + 1;
}

const char *text_placeholder(const char *text, size_t *length)
{
    const char *word;
    size_t word_length;

    for (const char *p = text; *p; p++)
        if ((*length = value_placeholder(p, p == text, &word, &word_length)) > 0)
            return p;
    return NULL;
}

/* The value of {word}, or NULL. */
static const char *word_value(const struct text_loader *loader, const char *word, size_t length)
{
    for (size_t i = 0; i < loader->options->define_count; i++) {
        const char *define = loader->options->defines[i];

        if (strncmp(define, word, length) == 0 && define[length] == '=')
            return define + length + 1;
    }
    if (length == 4 && memcmp(word, "node", 4) == 0)
        return loader->node;
    if (length == 8 && memcmp(word, "instance", 8) == 0)
        return loader->instance;
    return NULL;
}

/* Append to a buffer of DB_LINE_MAX; false when it does not fit. */
static bool put(char *buffer, size_t *used, const char *text, size_t length)
{
    if (length > DB_LINE_MAX - *used)
        return false;
    memcpy(buffer + *used, text, length);
    *used += length;
    return true;
}

static bool too_long(struct place *place)
{
    SAY(place, MD_CONF_ERROR, "line longer than %d bytes once its words are replaced", DB_LINE_MAX);
    return false;
}

/* A component that is a {word}, `step` bytes long: its value. False: a finding was reported. */
static bool name_word(struct place *place, const char *text, size_t step, const char *value,
                      size_t *used)
{
    if (!value) {
        SAY(place, MD_CONF_WARNING, "%.*s is not defined; taken as '?' (any one name)", (int)step,
            text);
        value = "?";
    } else if (value[strspn(value, NAME_BYTES)] || !*value) {
        SAY(place, MD_CONF_ERROR, "%.*s stands for \"%.60s\", which cannot be in a name", (int)step,
            text, value);
        return false;
    }
    return put(place->loader->name, used, value, strlen(value)) || too_long(place);
}

/* One component of a name, from *at on. False: a finding was reported. */
static bool name_component(struct place *place, const char *text, size_t length, size_t *at,
                           size_t *used)
{
    struct text_loader *loader = place->loader;
    size_t start = *at, word_length;
    const char *word;
    size_t step = placeholder(text + start, &word, &word_length);

    if (step) {
        *at += step;
        return name_word(place, text + start, step, word_value(loader, word, word_length), used);
    }
    if (text[start] == '?')
        ++*at;
    while (text[start] != '?' && *at < length && is_word(text[*at]))
        ++*at;
    return put(loader->name, used, text + start, *at - start) || too_long(place);
}

/* False, with a finding: a name ends here in a byte that cannot be in one. */
static bool name_ends(struct place *place, const char *text, size_t length, size_t at)
{
    if (at == length || text[at] == '.' || text[at] == '*')
        return true;
    SAY(place, MD_CONF_ERROR,
        "%.*s: '%.*s' cannot stand in a name (A-Z a-z 0-9 _ -, joined by '.' or '*')",
        (int)(length > 200 ? 200 : length), text,
        (int)md_utf8_length((const uint8_t *)text + at, length - at), text + at);
    return false;
}

/*
 * A name in the form the database keeps: one bind before each component, none for a tight first.
 * Returns its length, or 0 when a finding was reported.
 */
static size_t name_read(struct place *place, const char *text, size_t length)
{
    size_t used = 0, i = 0;
    int components = 0;

    while (i < length) {
        bool loose = false;

        for (; i < length && (text[i] == '.' || text[i] == '*'); i++)
            loose |= text[i] == '*';
        if (i == length)
            break;
        if (loose || components > 0)
            put(place->loader->name, &used, loose ? "*" : ".", 1);
        if (!name_component(place, text, length, &i, &used) || !name_ends(place, text, length, i))
            return 0;
        components++;
    }
    if (components == 0 || text[length - 1] == '.' || text[length - 1] == '*') {
        SAY(place, MD_CONF_ERROR, "%.*s: a parameter name is missing before the ':'",
            (int)(length > 200 ? 200 : length), text);
        return 0;
    }
    if (components > DB_COMPONENTS_MAX) {
        SAY(place, MD_CONF_ERROR, "%.*s: %d components; at most %d",
            (int)(length > 60 ? 60 : length), text, components, DB_COMPONENTS_MAX);
        return 0;
    }
    return used;
}

/* An escape at text[0] == '\\': what it stands for in *out; its length, or 0 for a plain '\'. */
static size_t escape(const char *text, size_t length, char *out)
{
    if (length >= 4 && text[1] >= '0' && text[1] <= '3' && text[2] >= '0' && text[2] <= '7' &&
        text[3] >= '0' && text[3] <= '7') {
        *out = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 | (text[3] - '0'));
        return 4;
    }
    if (length < 2)
        return 0;
    *out = text[1];
    switch (text[1]) {
    case 'n':
        *out = '\n';
        return 2;
    case '\\':
    case ' ':
    case '\t':
        return 2;
    default:
        return 0;
    }
}

/*
 * A value with escapes and words replaced. False when a finding was reported. A word that is not
 * defined stays as it is: whether that is an error depends on who reads the line (check.c).
 */
static bool value_read(struct place *place, const char *text, size_t length, size_t *result,
                       bool *undefined)
{
    struct text_loader *loader = place->loader;
    size_t used = 0, kept = 0, i = 0;

    *undefined = false;
    while (i < length && is_blank(text[i]))
        i++;
    const size_t start = i;
    while (i < length) {
        const char *word;
        size_t word_length;
        size_t step = value_placeholder(text + i, i == start, &word, &word_length);

        if (step) {
            const char *value = word_value(loader, word, word_length);
            size_t value_length = value ? strlen(value) : step;

            *undefined |= !value;
            if (!put(loader->value, &used, value ? value : text + i, value_length))
                goto too_long;
            i += step;
            kept = used;
            continue;
        }
        char c = text[i];
        step = c == '\\' ? escape(text + i, length - i, &c) : 0;
        if (step && c == '\0') {
            SAY(place, MD_CONF_ERROR, "\\000 is a NUL byte, which no value can hold");
            return false;
        }
        if (!put(loader->value, &used, &c, 1))
            goto too_long;
        if (step || !(is_blank(c) || c == '\r'))
            kept = used;
        i += step ? step : 1;
    }
    *result = kept; /* trailing blanks are dropped unless they were written as escapes */
    return true;
too_long:
    SAY(place, MD_CONF_ERROR, "line longer than %d bytes once its words are replaced", DB_LINE_MAX);
    return false;
}

/* "[commented out]", as published reports print what they left out. */
static bool says_absent(const char *value, size_t length)
{
    static const char words[] = "commented out";

    if (length < 2 || value[0] != '[' || value[length - 1] != ']')
        return false;
    for (value++, length -= 2; length > 0 && is_blank(*value); length--)
        value++;
    while (length > 0 && is_blank(value[length - 1]))
        length--;
    return text_same(value, length, words, sizeof(words) - 1);
}

static void entry_add(struct place *place, size_t name_length, size_t value_length, bool undefined)
{
    struct text_loader *loader = place->loader;

    if (says_absent(loader->value, value_length)) {
        SAY(place, MD_CONF_INFO, "%.*s: \"%.*s\" means that the line is absent", (int)name_length,
            loader->name, (int)value_length, loader->value);
        return;
    }
    int rc = db_add(loader->db, loader->name, name_length, loader->value, value_length,
                    place->file_index, place->line);
    if (rc == MD_OK) {
        loader->db->entries[loader->db->count - 1].undefined = undefined;
        return;
    }
    if (rc == MD_ERR_FULL)
        SAY(place, MD_CONF_ERROR, "more than %d entries; the rest is not read", DB_ENTRIES_MAX);
    else
        SAY(place, MD_CONF_ERROR, "out of memory");
    loader->full = true;
}

static void entry_read(struct place *place, const char *text, size_t length)
{
    struct text_loader *loader = place->loader;
    size_t start = 0, sep, end, name_length, value_length;
    bool undefined;

    while (start < length && is_blank(text[start]))
        start++;
    for (sep = start; sep < length && text[sep] != ':' && text[sep] != '='; sep++)
        ;
    if (sep == length) {
        size_t shown = length - start > 60 ? 60 : length - start;
        SAY(place, MD_CONF_ERROR,
            "no ':' in \"%.*s\"; expected name : value, for example *p2ps*rsslPort : 14002",
            (int)shown, text + start);
        return;
    }
    if (text[sep] == '=')
        SAY(place, loader->options->strict ? MD_CONF_ERROR : MD_CONF_WARNING,
            loader->options->strict ? "'=' stands where ':' belongs (-strict)"
                                    : "'=' accepted as ':'");
    for (end = sep; end > start && is_blank(text[end - 1]); end--)
        ;
    if (end == start) {
        SAY(place, MD_CONF_ERROR, "a parameter name is missing before the ':'");
        return;
    }
    name_length = name_read(place, text + start, end - start);
    if (name_length &&
        value_read(place, text + sep + 1, length - sep - 1, &value_length, &undefined))
        entry_add(place, name_length, value_length, undefined);
}

/* #include "path": true when the line is one, or was meant to be. */
static bool include_read(struct place *place, const char *text, size_t length)
{
    static const char keyword[] = "#include";
    char path[4096];
    size_t i = sizeof(keyword) - 1, used = 0;

    if (length < i || memcmp(text, keyword, i) != 0 || (i < length && !is_blank(text[i])))
        return false;
    while (i < length && is_blank(text[i]))
        i++;
    const char *open = text + i;
    const char *close = i < length && *open == '"' ? memchr(open + 1, '"', length - i - 1) : NULL;
    if (!close || close == open + 1) {
        SAY(place, MD_CONF_WARNING,
            "#include needs its file in double quotes: #include \"other.cnf\" (taken as a "
            "comment)");
        return true;
    }
    size_t inner = (size_t)(close - open) - 1;
    const char *slash = open[1] == '/' ? NULL : strrchr(place->file, '/');
    size_t folder = slash ? (size_t)(slash - place->file) + 1 : 0;
    if (folder + inner >= sizeof(path)) {
        SAY(place, MD_CONF_ERROR, "#include: the path is longer than %zu bytes", sizeof(path) - 1);
        return true;
    }
    memcpy(path, place->file, folder);
    used = folder;
    memcpy(path + used, open + 1, inner);
    path[used + inner] = '\0';
    if (place->depth >= DB_DEPTH_MAX)
        SAY(place, MD_CONF_ERROR, "#include \"%s\": files nested deeper than %d", path,
            DB_DEPTH_MAX);
    else if (text_load_file(place->loader, path, place->depth + 1) == MD_ERR_SYS)
        SAY(place, MD_CONF_ERROR, "#include \"%s\": %s", path, strerror(errno));
    return true;
}

/*
 * One line with those that backslashes join to it, in loader->line, without its end. Returns how
 * much of the text it took.
 */
static size_t line_read(struct place *place, const char *text, size_t left, size_t *length,
                        unsigned *lines, bool *good)
{
    char *line = place->loader->line;
    size_t taken = 0;

    *length = 0;
    *lines = 0;
    *good = true;
    for (;;) {
        const char *end = memchr(text + taken, '\n', left - taken);
        size_t part = (end ? (size_t)(end - text) : left) - taken;
        size_t first = 0;

        while (first < part && is_blank(text[taken + first]))
            first++;
        bool comment = *lines == 0 && first < part &&
                       (text[taken + first] == '!' || text[taken + first] == '#');
        bool joined = false;
        if (end && !comment) {
            size_t slashes = 0;
            while (slashes < part && text[taken + part - 1 - slashes] == '\\')
                slashes++;
            joined = slashes % 2 == 1;
        }
        size_t keep = joined ? part - 1 : part;
        if (*good && !put(line, length, text + taken, keep)) {
            SAY(place, MD_CONF_ERROR, "line longer than %d bytes", DB_LINE_MAX);
            *good = false;
        }
        taken += part + (end ? 1 : 0);
        (*lines)++;
        if (!joined)
            return taken;
    }
}

int text_load(struct text_loader *loader, const char *path, const char *text, size_t length,
              int depth)
{
    struct place place = { .loader = loader, .line = 1, .depth = depth };

    place.file_index = db_file_add(loader->db, path);
    if (place.file_index < 0) {
        report_say(&loader->report, MD_CONF_ERROR, path, 0, "more than %d files", DB_FILES_MAX);
        loader->full = true;
        return MD_ERR_FULL;
    }
    place.file = loader->db->files[place.file_index];
    loader->bytes += length;
    for (size_t at = 0; at < length && !loader->full;) {
        size_t line_length, first = 0;
        unsigned lines;
        bool good;

        at += line_read(&place, text + at, length - at, &line_length, &lines, &good);
        const char *line = loader->line;
        loader->line[line_length] = '\0';
        while (first < line_length && (is_blank(line[first]) || line[first] == '\r'))
            first++;
        if (good && first < line_length && text_is_clean(&place, line, line_length)) {
            if (line[first] == '#')
                include_read(&place, line + first, line_length - first);
            else if (line[first] != '!')
                entry_read(&place, line, line_length);
        }
        place.line += lines;
    }
    return MD_OK;
}

int text_load_file(struct text_loader *loader, const char *path, int depth)
{
    size_t left = loader->bytes < DB_FILE_MAX ? DB_FILE_MAX - loader->bytes : 0;
    size_t length;
    char *text = md_file_load(path, left, &length);

    if (!text && errno == EFBIG) {
        report_say(&loader->report, MD_CONF_ERROR, path, 0,
                   "larger than 16 MiB, with the files before it; not read");
        return MD_ERR_FULL;
    }
    if (!text)
        return MD_ERR_SYS;
    /* The joined line is shared: an include is the last thing its own line does. */
    int rc = text_load(loader, path, text, length, depth);
    free(text);
    return rc;
}
