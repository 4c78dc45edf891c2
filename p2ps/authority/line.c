/* line.c - see line.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "line.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/utf8.h"

/* ---- reading ---- */

struct reading {
    char *at;
    char *end;
};

static void skip_blanks(struct reading *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r'))
        r->at++;
}

static bool takes(struct reading *r, char c)
{
    skip_blanks(r);
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Four digits; negative: they are none. */
static int32_t read_hex(struct reading *r)
{
    int32_t value = 0;

    if (r->end - r->at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(*r->at++);
        if (digit < 0)
            return -1;
        value = value << 4 | digit;
    }
    return value;
}

/* Behind `\u`. False: no digits, or half a pair, which has no character of its own. */
static bool read_unicode(struct reading *r, char **out)
{
    int32_t c = read_hex(r);

    if (c >= 0xD800 && c < 0xDC00) {
        if (r->end - r->at < 2 || r->at[0] != '\\' || r->at[1] != 'u')
            return false;
        r->at += 2;
        int32_t low = read_hex(r);
        if (low < 0xDC00 || low >= 0xE000)
            return false;
        c = 0x10000 + ((c - 0xD800) << 10 | (low - 0xDC00));
    } else if (c < 0 || (c >= 0xDC00 && c < 0xE000)) {
        return false;
    }
    *out = (char *)md_utf8_put((uint8_t *)*out, (uint32_t)c);
    return true;
}

/* No text is longer without its escapes: it is written over itself. */
static bool read_text(struct reading *r, struct entitle_view *text)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";

    if (!takes(r, '"'))
        return false;
    char *out = r->at;
    text->data = out;
    while (r->at < r->end) {
        char c = *r->at++;

        if (c == '"') {
            text->length = (size_t)(out - text->data);
            return true;
        }
        if ((uint8_t)c < 0x20)
            return false;
        if (c != '\\') {
            *out++ = c;
            continue;
        }
        if (r->at == r->end)
            return false;
        c = *r->at++;
        const char *known = c ? strchr(from, c) : NULL;
        if (known)
            *out++ = to[known - from];
        else if (c != 'u' || !read_unicode(r, &out))
            return false;
    }
    return false;
}

/* The texts move together, each behind the comma of the one before. */
static bool read_list(struct reading *r, struct entitle_view *list)
{
    struct entitle_view one;
    char *out = r->at;

    r->at++;
    *list = (struct entitle_view){ out, 0 };
    if (takes(r, ']'))
        return true;
    do {
        skip_blanks(r);
        if (!read_text(r, &one) || memchr(one.data, ',', one.length))
            return false;
        if (out != list->data)
            *out++ = ',';
        memmove(out, one.data, one.length);
        out += one.length;
    } while (takes(r, ','));
    list->length = (size_t)(out - list->data);
    return takes(r, ']');
}

bool authority_has_control(struct entitle_view text)
{
    return !md_text_is_plain(text.data, text.length); /* of a line, which is UTF-8 */
}

static bool is_utf8(const char *bytes, size_t length)
{
    for (size_t i = 0; i < length;) {
        size_t many = md_utf8_length((const uint8_t *)bytes + i, length - i);

        if (many == 0)
            return false;
        i += many;
    }
    return true;
}

/* Two members of an object must not have the same name. */
static bool has_name(struct entitle_view text, struct entitle_view name)
{
    const char *at = text.data, *end = text.data + text.length;

    while (at < end) {
        const char *tab = memchr(at, '\t', (size_t)(end - at));
        const char *feed = tab ? memchr(tab, '\n', (size_t)(end - tab)) : NULL;

        if (tab && (size_t)(tab - at) == name.length && memcmp(at, name.data, name.length) == 0)
            return true;
        at = feed ? feed + 1 : end;
    }
    return false;
}

static char *move_text(char *out, struct entitle_view text)
{
    memmove(out, text.data, text.length);
    return out + text.length;
}

/* A flat one: names and texts move together, as the texts of a list do. */
static bool read_object(struct reading *r, struct authority_member *member)
{
    struct entitle_view name, text;
    char *out = r->at;

    r->at++;
    member->text = (struct entitle_view){ out, 0 };
    if (takes(r, '}'))
        return true;
    for (unsigned i = 0; i < AUTHORITY_MEMBERS_MAX; i++) {
        skip_blanks(r);
        if (!read_text(r, &name) || has_name(member->text, name))
            return false;
        member->is_odd |= authority_has_control(name);
        if (i)
            *out++ = '\n';
        out = move_text(out, name);
        *out++ = '\t';
        if (!takes(r, ':'))
            return false;
        skip_blanks(r);
        if (!read_text(r, &text))
            return false;
        member->is_odd |= authority_has_control(text);
        out = move_text(out, text);
        member->text.length = (size_t)(out - member->text.data);
        if (!takes(r, ','))
            return takes(r, '}');
    }
    return false;
}

static bool read_number(struct reading *r, uint64_t *number)
{
    const char *from = r->at;

    *number = 0;
    while (r->at < r->end && *r->at >= '0' && *r->at <= '9') {
        if (__builtin_mul_overflow(*number, 10u, number) ||
            __builtin_add_overflow(*number, (uint64_t)(*r->at - '0'), number))
            return false;
        r->at++;
    }
    return r->at > from && r->at - from <= 20;
}

static bool read_word(struct reading *r, struct entitle_view *text)
{
    static const char *const words[] = { "true", "false", "null" };

    for (unsigned i = 0; i < 3; i++) {
        size_t length = strlen(words[i]);
        if ((size_t)(r->end - r->at) < length || memcmp(r->at, words[i], length) != 0)
            continue;
        *text = (struct entitle_view){ r->at, length };
        r->at += length;
        return true;
    }
    return false;
}

static bool read_value(struct reading *r, struct authority_member *member)
{
    skip_blanks(r);
    char c = r->at < r->end ? *r->at : 0;

    if (c == '"') {
        member->kind = AUTHORITY_TEXT;
        return read_text(r, &member->text);
    }
    if (c == '[') {
        member->kind = AUTHORITY_LIST;
        return read_list(r, &member->text);
    }
    if (c == '{') {
        member->kind = AUTHORITY_OBJECT;
        return read_object(r, member);
    }
    if (c >= '0' && c <= '9') {
        member->kind = AUTHORITY_NUMBER;
        return read_number(r, &member->number);
    }
    member->kind = AUTHORITY_WORD;
    return read_word(r, &member->text);
}

static bool is_name(struct entitle_view name, const char *text)
{
    return name.length == strlen(text) && memcmp(name.data, text, name.length) == 0;
}

static bool has_twin(const struct authority_line *line, struct entitle_view name)
{
    for (unsigned i = 0; i < line->count; i++) {
        if (line->members[i].name.length == name.length &&
            memcmp(line->members[i].name.data, name.data, name.length) == 0)
            return true;
    }
    return false;
}

const char *authority_line_read(char *bytes, size_t length, struct authority_line *line)
{
    struct reading r = { bytes, bytes + length };

    line->count = 0;
    if (!is_utf8(bytes, length))
        return "it is no UTF-8";
    if (!takes(&r, '{'))
        return "it does not begin with {";
    if (!takes(&r, '}')) {
        do {
            struct authority_member *member = &line->members[line->count];

            if (line->count == AUTHORITY_MEMBERS_MAX)
                return "it has more than 32 members";
            *member = (struct authority_member){ .kind = AUTHORITY_WORD };
            skip_blanks(&r);
            if (!read_text(&r, &member->name) || !takes(&r, ':'))
                return "a member has no name";
            if (has_twin(line, member->name))
                return "two members have the same name";
            if (!read_value(&r, member))
                return "a value is neither a text, a whole number, a list of texts, an object of "
                       "at most 32 texts, true, false nor null";
            line->count++;
        } while (takes(&r, ','));
        if (!takes(&r, '}'))
            return "it does not end with }";
    }
    skip_blanks(&r);
    return r.at == r.end ? NULL : "something follows the }";
}

const struct authority_member *authority_line_find(const struct authority_line *line,
                                                   const char *name, enum authority_kind kind)
{
    for (unsigned i = 0; i < line->count; i++) {
        if (line->members[i].kind == kind && is_name(line->members[i].name, name))
            return &line->members[i];
    }
    return NULL;
}

/* ---- writing ---- */

static void put(struct authority_out *out, const char *bytes, size_t length)
{
    if (out->size - out->used < length) {
        out->is_full = true;
        return;
    }
    memcpy(out->bytes + out->used, bytes, length);
    out->used += length;
}

static void put_word(struct authority_out *out, const char *word)
{
    put(out, word, strlen(word));
}

static void put_name(struct authority_out *out, const char *name)
{
    put_word(out, out->used == 0 ? "{\"" : ",\"");
    put_word(out, name);
    put_word(out, "\":");
}

void authority_out_text(struct authority_out *out, const char *name, struct entitle_view value)
{
    const uint8_t *bytes = (const uint8_t *)value.data;

    put_name(out, name);
    put_word(out, "\"");
    for (size_t i = 0; i < value.length;) {
        uint8_t c = bytes[i];
        size_t many = md_utf8_length(bytes + i, value.length - i);
        char escape[8];

        if (many == 0) { /* two names must not become one */
            out->is_full = true;
            return;
        }
        if (c < 0x20 || c == 0x7f) {
            snprintf(escape, sizeof(escape), "\\u%04x", c);
            put_word(out, escape);
        } else {
            if (c == '"' || c == '\\')
                put_word(out, "\\");
            put(out, value.data + i, many);
        }
        i += many;
    }
    put_word(out, "\"");
}

void authority_out_number(struct authority_out *out, const char *name, uint64_t value)
{
    char text[24];

    put_name(out, name);
    snprintf(text, sizeof(text), "%" PRIu64, value);
    put_word(out, text);
}

void authority_out_word(struct authority_out *out, const char *name, const char *word)
{
    put_name(out, name);
    put_word(out, word);
}

void authority_out_end(struct authority_out *out)
{
    put_word(out, "}\n");
}
