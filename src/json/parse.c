/* parse.c - the text of JSON into tokens that say where each value stands. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "json/parse.h"

#include "base/utf8.h"

static bool fail(struct json_parse *p, const char *what)
{
    p->what = what;
    return false;
}

static int peek(struct json_parse *p)
{
    while (p->at < p->length && (p->text[p->at] == ' ' || p->text[p->at] == '\t' ||
                                 p->text[p->at] == '\n' || p->text[p->at] == '\r'))
        p->at++;
    return p->at < p->length ? p->text[p->at] : -1;
}

static struct json_token *add(struct json_parse *p, enum json_kind kind)
{
    if (p->tokens && p->count == p->room)
        return NULL;
    struct json_token *token = p->tokens ? &p->tokens[p->count] : &p->spare;
    p->count++;
    *token = (struct json_token){
        .at = (uint32_t)p->at,
        .next = (uint32_t)p->count,
        .kind = (uint8_t)kind,
    };
    return token;
}

static bool is_hex(uint8_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* `at` is behind the backslash. */
static bool skip_escape(struct json_parse *p)
{
    uint8_t c = p->at < p->length ? p->text[p->at] : 0;

    p->at++;
    if (c != 'u')
        return c && strchr("\"\\/bfnrt", c) ? true : fail(p, "unknown escape");
    for (int i = 0; i < 4; i++, p->at++) {
        if (p->at >= p->length || !is_hex(p->text[p->at]))
            return fail(p, "broken escape");
    }
    return true;
}

/* One character of a string. */
static bool skip_character(struct json_parse *p, bool *is_escape)
{
    uint8_t c = p->text[p->at];

    *is_escape = c == '\\';
    if (c < 0x20)
        return fail(p, "control character in a string");
    if (c < 0x80 || !p->is_strict) {
        p->at++;
        return *is_escape ? skip_escape(p) : true;
    }
    size_t length = md_utf8_length(p->text + p->at, p->length - p->at);
    p->at += length;
    return length ? true : fail(p, "no UTF-8");
}

static bool parse_string(struct json_parse *p)
{
    p->at++;
    struct json_token *token = add(p, JSON_STRING);
    if (!token)
        return fail(p, "too many values");
    while (p->at < p->length && p->text[p->at] != '"') {
        bool is_escape;

        if (!skip_character(p, &is_escape))
            return false;
        token->has_escapes |= is_escape;
    }
    if (p->at >= p->length)
        return fail(p, "string without an end");
    token->end = (uint32_t)p->at++;
    return true;
}

static bool skip_digits(struct json_parse *p)
{
    size_t from = p->at;

    while (p->at < p->length && p->text[p->at] >= '0' && p->text[p->at] <= '9')
        p->at++;
    return p->at > from;
}

/* Leading zeros are taken, unless the text has to be strict. */
static bool skip_number(struct json_parse *p)
{
    if (p->text[p->at] == '-')
        p->at++;
    size_t from = p->at;
    if (!skip_digits(p) || (p->is_strict && p->at > from + 1 && p->text[from] == '0'))
        return false;
    if (p->at < p->length && p->text[p->at] == '.') {
        p->at++;
        if (!skip_digits(p))
            return false;
    }
    if (p->at < p->length && (p->text[p->at] | 0x20) == 'e') {
        p->at++;
        if (p->at < p->length && (p->text[p->at] == '+' || p->text[p->at] == '-'))
            p->at++;
        return skip_digits(p);
    }
    return true;
}

static bool parse_primitive(struct json_parse *p)
{
    static const char *const words[] = { "true", "false", "null" };
    struct json_token *token = add(p, JSON_PRIMITIVE);

    if (!token)
        return fail(p, "too many values");
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t length = strlen(words[i]);

        if (p->length - p->at >= length && memcmp(p->text + p->at, words[i], length) == 0) {
            p->at += length;
            token->end = (uint32_t)p->at;
            return true;
        }
    }
    if (!skip_number(p))
        return fail(p, "unexpected character");
    token->end = (uint32_t)p->at;
    return true;
}

static bool parse_value(struct json_parse *p, unsigned depth);

static bool parse_name(struct json_parse *p)
{
    if (peek(p) != '"')
        return fail(p, "a name in quotes is expected");
    if (!parse_string(p))
        return false;
    if (peek(p) != ':')
        return fail(p, "':' is expected");
    p->at++;
    return true;
}

static bool parse_list(struct json_parse *p, enum json_kind kind, unsigned depth)
{
    int end = kind == JSON_OBJECT ? '}' : ']';
    size_t index = p->count;

    if (depth == JSON_DEPTH_MAX)
        return fail(p, "nested too deep");
    if (!add(p, kind))
        return fail(p, "too many values");
    p->at++;
    if (peek(p) == end) {
        p->at++;
    } else {
        for (;;) {
            if ((kind == JSON_OBJECT && !parse_name(p)) || !parse_value(p, depth + 1))
                return false;
            int c = peek(p);
            if (c != ',' && c != end)
                return fail(p, kind == JSON_OBJECT ? "',' or '}' is expected"
                                                   : "',' or ']' is expected");
            p->at++;
            if (c == end)
                break;
        }
    }
    if (p->tokens) {
        p->tokens[index].end = (uint32_t)p->at;
        p->tokens[index].next = (uint32_t)p->count;
    }
    return true;
}

static bool parse_value(struct json_parse *p, unsigned depth)
{
    switch (peek(p)) {
    case -1:
        return fail(p, "the text ends too early");
    case '{':
        return parse_list(p, JSON_OBJECT, depth);
    case '[':
        return parse_list(p, JSON_ARRAY, depth);
    case '"':
        return parse_string(p);
    default:
        return parse_primitive(p);
    }
}

bool json_parse(struct json_parse *p)
{
    p->at = 0;
    p->count = 0;
    p->what = NULL;
    if (!parse_value(p, 0))
        return false;
    return peek(p) < 0 ? true : fail(p, "more text behind the value");
}
