/* out.c - see out.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "out.h"

#include <inttypes.h>
#include <string.h>

#include "base/assert.h"
#include "base/utf8.h"

/* Colours as terminals have had them since ECMA-48. */
#define COLOUR_NODE  "\033[1m"
#define COLOUR_KEY   "\033[36m"
#define COLOUR_TEXT  "\033[32m"
#define COLOUR_ERROR "\033[31;1m"
#define COLOUR_OFF   "\033[0m"

static void colour(const struct out *out, const char *code)
{
    if (out->has_colour)
        fputs(code, out->file);
}

static void indent(const struct out *out)
{
    unsigned depth = 0;

    /* In text and XML a list is no level of its own. */
    for (unsigned i = 0; i < out->depth; i++)
        depth += out->format == OUT_JSON || !out->level[i].is_list;
    fprintf(out->file, "%*s", (int)(2 * depth), "");
}

/* The length of a character that may be printed as it is: printable, and whole UTF-8. */
static size_t character(const uint8_t *p, size_t left)
{
    size_t length = md_utf8_length(p, left);

    if (length == 1)
        return p[0] >= 0x20 && p[0] < 0x7f;
    /* C1 controls speak to terminals too. */
    return length == 2 && p[0] == 0xc2 && p[1] < 0xa0 ? 0 : length;
}

static void put_special(const struct out *out, uint8_t c)
{
    if (c >= 0x80)
        fputs("\xef\xbf\xbd", out->file);
    else if (out->format == OUT_XML && (c == '\t' || c == '\n' || c == '\r'))
        fprintf(out->file, "&#%d;", c);
    else if (out->format == OUT_XML) /* has no way to say other controls */
        fputs("\xef\xbf\xbd", out->file);
    else
        fprintf(out->file, out->format == OUT_JSON ? "\\u%04x" : "\\x%02x", c);
}

static void put_escaped(const struct out *out, const uint8_t *p, size_t length)
{
    for (size_t i = 0; i < length;) {
        size_t taken = character(p + i, length - i);

        if (taken == 0) {
            put_special(out, p[i++]);
            continue;
        }
        if (out->format == OUT_XML && strchr("<>&\"", p[i]))
            fprintf(out->file, "&#%d;", p[i]);
        else if (out->format != OUT_XML && (p[i] == '"' || p[i] == '\\'))
            fprintf(out->file, "\\%c", p[i]);
        else
            fwrite(p + i, 1, taken, out->file);
        i += taken;
    }
}

void out_init(struct out *out, FILE *file, enum out_format format, bool has_colour)
{
    *out = (struct out){ .file = file, .format = format };
    out->has_colour = has_colour && format == OUT_TEXT;
}

static void push(struct out *out, const char *name, bool is_list)
{
    MD_ASSERT(out->depth < OUT_DEPTH_MAX);
    out->level[out->depth].name = name;
    out->level[out->depth].is_list = is_list;
    out->level[out->depth].has_content = false;
    out->depth++;
}

/* Called before each node or list within the present level: ends what stands before it. */
static void separate(struct out *out)
{
    bool had_content;

    if (out->depth == 0)
        return;
    had_content = out->level[out->depth - 1].has_content;
    out->level[out->depth - 1].has_content = true;
    if (out->format == OUT_JSON)
        fputs(had_content ? ",\n" : "\n", out->file);
    if (out->format == OUT_XML && !had_content && !out->level[out->depth - 1].is_list)
        fputs(">\n", out->file);
    if (out->format == OUT_TEXT && !had_content && !out->level[out->depth - 1].is_list)
        fputs("\n", out->file);
}

void out_open(struct out *out)
{
    if (out->format == OUT_XML)
        fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<rwf>\n", out->file);
}

void out_close(struct out *out)
{
    if (out->format == OUT_XML)
        fputs("</rwf>\n", out->file);
}

void out_begin(struct out *out, const char *name)
{
    separate(out);
    indent(out);
    if (out->format == OUT_XML)
        fprintf(out->file, "<%s", name);
    if (out->format == OUT_JSON) {
        if (out->depth > 0 && !out->level[out->depth - 1].is_list)
            fprintf(out->file, "\"%s\": ", name);
        fputs("{", out->file);
    }
    if (out->format == OUT_TEXT) {
        colour(out, COLOUR_NODE);
        fputs(name, out->file);
        colour(out, COLOUR_OFF);
    }
    push(out, name, false);
}

void out_end(struct out *out)
{
    const char *name = out->level[out->depth - 1].name;
    bool had_content = out->level[out->depth - 1].has_content;

    out->depth--;
    if (out->format == OUT_XML && had_content) {
        indent(out);
        fprintf(out->file, "</%s>\n", name);
    } else if (out->format == OUT_XML) {
        fputs("/>\n", out->file);
    }
    if (out->format == OUT_JSON) {
        if (had_content) {
            fputs("\n", out->file);
            indent(out);
        }
        fputs(out->depth ? "}" : "}\n", out->file);
    }
    if (out->format == OUT_TEXT && !had_content)
        fputs("\n", out->file);
}

void out_list(struct out *out, const char *name)
{
    separate(out);
    if (out->format == OUT_JSON) {
        indent(out);
        fprintf(out->file, "\"%s\": [", name);
    }
    push(out, name, true);
}

void out_list_end(struct out *out)
{
    bool had_content = out->level[out->depth - 1].has_content;

    out->depth--;
    if (out->format != OUT_JSON)
        return;
    if (had_content) {
        fputs("\n", out->file);
        indent(out);
    }
    fputs("]", out->file);
}

/* ---- values ---- */

static void begin_value(struct out *out, const char *key)
{
    if (out->format == OUT_XML) {
        fprintf(out->file, " %s=\"", key);
    } else if (out->format == OUT_JSON) {
        separate(out);
        indent(out);
        fprintf(out->file, "\"%s\": ", key);
    } else {
        fputs(" ", out->file);
        if (strcmp(key, "value") != 0) {
            colour(out, COLOUR_KEY);
            fprintf(out->file, "%s=", key);
            colour(out, COLOUR_OFF);
        }
    }
}

static void end_value(struct out *out)
{
    if (out->format == OUT_XML)
        fputs("\"", out->file);
}

void out_word(struct out *out, const char *key, const char *word)
{
    begin_value(out, key);
    fprintf(out->file, out->format == OUT_JSON ? "\"%s\"" : "%s", word);
    end_value(out);
}

void out_number(struct out *out, const char *key, const char *digits)
{
    begin_value(out, key);
    fputs(digits, out->file);
    end_value(out);
}

void out_int(struct out *out, const char *key, int64_t number)
{
    char digits[24];

    snprintf(digits, sizeof(digits), "%" PRId64, number);
    out_number(out, key, digits);
}

void out_uint(struct out *out, const char *key, uint64_t number)
{
    char digits[24];

    snprintf(digits, sizeof(digits), "%" PRIu64, number);
    out_number(out, key, digits);
}

void out_text(struct out *out, const char *key, struct rwf_bytes utf8)
{
    begin_value(out, key);
    colour(out, COLOUR_TEXT);
    if (out->format != OUT_XML)
        fputs("\"", out->file);
    put_escaped(out, utf8.data, utf8.length);
    if (out->format != OUT_XML)
        fputs("\"", out->file);
    colour(out, COLOUR_OFF);
    end_value(out);
}

void out_hex(struct out *out, const char *key, struct rwf_bytes bytes)
{
    begin_value(out, key);
    if (out->format == OUT_JSON)
        fputs("\"", out->file);
    if (out->format == OUT_TEXT)
        fputs("#", out->file);
    for (size_t i = 0; i < bytes.length; i++)
        fprintf(out->file, "%02x", bytes.data[i]);
    if (out->format == OUT_JSON)
        fputs("\"", out->file);
    end_value(out);
}

void out_blank(struct out *out, const char *key)
{
    if (out->format == OUT_XML) {
        fputs(" blank=\"true\"", out->file);
        return;
    }
    begin_value(out, key);
    fputs(out->format == OUT_JSON ? "null" : "(blank)", out->file);
}

void out_error(struct out *out, const char *what)
{
    if (out->format == OUT_XML) {
        separate(out);
        indent(out);
        fprintf(out->file, "<error>%s</error>\n", what);
        return;
    }
    if (out->format == OUT_JSON) {
        bool in_list = out->depth > 0 && out->level[out->depth - 1].is_list;

        separate(out);
        indent(out);
        fprintf(out->file, in_list ? "{\"error\": \"%s\"}" : "\"error\": \"%s\"", what);
        return;
    }
    separate(out);
    indent(out);
    colour(out, COLOUR_ERROR);
    fprintf(out->file, "*** %s", what);
    colour(out, COLOUR_OFF);
    fputs("\n", out->file);
}

void out_heading(struct out *out, bool has_id, int id, struct rwf_bytes name)
{
    if (out->format != OUT_TEXT) {
        if (has_id)
            out_int(out, "id", id);
        if (name.length)
            out_text(out, "name", name);
        return;
    }
    if (has_id)
        fprintf(out->file, " %5d", id);
    fputs(" ", out->file);
    put_escaped(out, name.data, name.length);
    for (size_t i = name.length; i < 10; i++)
        fputs(" ", out->file);
}
