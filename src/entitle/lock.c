/* lock.c - see entitle/lock.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "entitle/lock.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- expressions ---- */

#define DEPTH_MAX 16 /* of parentheses */

struct expression {
    struct entitle_view text;
    size_t at;
    bool (*holds)(void *self, struct entitle_view word);
    void *self;
    unsigned depth;
    bool is_wrong;
};

static char look(struct expression *e)
{
    while (e->at < e->text.length && (e->text.data[e->at] == ' ' || e->text.data[e->at] == '\t'))
        e->at++;
    return e->at < e->text.length ? e->text.data[e->at] : 0;
}

static bool is_operator(char c)
{
    return c == '&' || c == '|' || c == '(' || c == ')' || c == ' ' || c == '\t' || c == 0;
}

static bool any_of(struct expression *e);

static bool one_of(struct expression *e)
{
    struct entitle_view word = { NULL, 0 };
    char first = look(e);

    if (first == '(' && e->depth < DEPTH_MAX) {
        e->at++;
        e->depth++;
        bool value = any_of(e);
        e->is_wrong |= look(e) != ')';
        e->at += !e->is_wrong;
        e->depth--;
        return value;
    }
    word.data = e->text.data + e->at;
    while (e->at < e->text.length && !is_operator(e->text.data[e->at])) {
        e->at++;
        word.length++;
    }
    e->is_wrong |= word.length == 0;
    return !e->is_wrong && e->holds(e->self, word);
}

static bool all_of(struct expression *e)
{
    bool value = one_of(e);

    while (!e->is_wrong && look(e) == '&') {
        e->at++;
        value &= one_of(e);
    }
    return value;
}

static bool any_of(struct expression *e)
{
    bool value = all_of(e);

    while (!e->is_wrong && look(e) == '|') {
        e->at++;
        value |= all_of(e);
    }
    return value;
}

bool entitle_expression(struct entitle_view text,
                        bool (*holds)(void *self, struct entitle_view word), void *self,
                        bool *value, size_t *wrong)
{
    struct expression e = { .text = text, .holds = holds, .self = self };
    bool result = any_of(&e);

    e.is_wrong |= look(&e) != 0 || e.at < text.length;
    *value = result && !e.is_wrong;
    *wrong = e.at;
    return !e.is_wrong;
}

/* ---- locks ---- */

const char *entitle_lock_kind_name(enum entitle_lock_kind kind)
{
    static const char *const names[] = {
        [ENTITLE_LOCK_FINE] = "can be read",
        [ENTITLE_LOCK_SHORT] = "are too short",
        [ENTITLE_LOCK_VERSION] = "are of an unknown version",
        [ENTITLE_LOCK_NO_END] = "have no end",
        [ENTITLE_LOCK_OPERATOR] = "have an operator without a code on both sides",
        [ENTITLE_LOCK_NIBBLE] = "have a nibble E or F",
        [ENTITLE_LOCK_NO_SERVICE] = "end where another service is announced",
        [ENTITLE_LOCK_RANGE] = "have a code above 4294967295",
        [ENTITLE_LOCK_TEXT] = "have a text that is no expression of codes",
    };

    return names[kind];
}

enum { AND = 10, OR = 11, END = 12, NEXT = 13 };

struct reading {
    struct entitle_lock_reader *reader;
    struct entitle_view lock;
    size_t nibble; /* the next one */
    uint16_t service;
    bool has_digits;
    uint64_t code;
    bool is_group_open; /* one of its alternatives is held */
    char group[48];
    size_t group_used;
    unsigned group_codes;
    size_t text_used;
};

static void write_text(struct reading *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void write_text(struct reading *r, const char *format, ...)
{
    va_list values;

    if (!r->reader->text || r->text_used >= r->reader->text_size)
        return;
    va_start(values, format);
    int length = vsnprintf(r->reader->text + r->text_used, r->reader->text_size - r->text_used,
                           format, values);
    va_end(values);
    r->text_used += length > 0 ? (size_t)length : 0;
}

static void need(struct entitle_lock_reader *reader, const char *group)
{
    if (reader->is_open)
        snprintf(reader->needs, sizeof(reader->needs), "%s", group);
    reader->is_open = false;
}

static void end_code(struct reading *r)
{
    r->reader->is_null = false;
    r->is_group_open |= r->reader->holds(r->reader->self, r->service, (uint32_t)r->code);
    if (r->group_used < sizeof(r->group)) {
        int length = snprintf(r->group + r->group_used, sizeof(r->group) - r->group_used, "%s%u",
                              r->group_codes ? "|" : "", (unsigned)r->code);
        r->group_used += (size_t)length;
    }
    r->group_codes++;
    r->code = 0;
    r->has_digits = false;
}

static void end_group(struct reading *r)
{
    if (!r->is_group_open)
        need(r->reader, r->group);
    r->is_group_open = false;
    r->group_used = 0;
    r->group_codes = 0;
}

static unsigned nibble_at(const struct reading *r, size_t at)
{
    uint8_t byte = (uint8_t)r->lock.data[at / 2];

    return at % 2 ? byte & 15u : byte >> 4;
}

/* The service id at the next whole byte. */
static enum entitle_lock_kind read_service(struct reading *r)
{
    size_t at = (r->nibble + 1) / 2;

    if (r->lock.length < at + 2)
        return at <= 1 ? ENTITLE_LOCK_SHORT : ENTITLE_LOCK_NO_SERVICE;
    r->service = (uint16_t)((uint8_t)r->lock.data[at] << 8 | (uint8_t)r->lock.data[at + 1]);
    r->nibble = (at + 2) * 2;
    write_text(r, "%s%u: ", at <= 1 ? "" : "; ", r->service);
    return ENTITLE_LOCK_FINE;
}

static enum entitle_lock_kind take_digit(struct reading *r, unsigned digit)
{
    r->code = r->code * 10 + digit;
    r->has_digits = true;
    return r->code > UINT32_MAX ? ENTITLE_LOCK_RANGE : ENTITLE_LOCK_FINE;
}

static enum entitle_lock_kind take_operator(struct reading *r, unsigned op)
{
    if (!r->has_digits)
        return ENTITLE_LOCK_OPERATOR;
    write_text(r, "%u%c", (unsigned)r->code, op == AND ? '&' : '|');
    end_code(r);
    if (op == AND)
        end_group(r);
    return ENTITLE_LOCK_FINE;
}

/* The list of a service is at its end; it may be empty, but not behind an operator. */
static enum entitle_lock_kind end_list(struct reading *r, bool is_begun)
{
    if (!r->has_digits)
        return is_begun ? ENTITLE_LOCK_OPERATOR : ENTITLE_LOCK_FINE;
    write_text(r, "%u", (unsigned)r->code);
    end_code(r);
    end_group(r);
    return ENTITLE_LOCK_FINE;
}

static enum entitle_lock_kind read_nibbles(struct reading *r)
{
    bool is_begun = false;

    while (r->nibble < r->lock.length * 2) {
        unsigned nibble = nibble_at(r, r->nibble++);
        enum entitle_lock_kind kind = ENTITLE_LOCK_FINE;

        if (nibble > NEXT)
            return ENTITLE_LOCK_NIBBLE;
        if (nibble < AND) {
            kind = take_digit(r, nibble);
        } else if (nibble == AND || nibble == OR) {
            kind = take_operator(r, nibble);
        } else {
            kind = end_list(r, is_begun);
            if (kind != ENTITLE_LOCK_FINE || nibble == END)
                return kind;
            kind = read_service(r);
        }
        if (kind != ENTITLE_LOCK_FINE)
            return kind;
        is_begun = nibble < END;
    }
    return ENTITLE_LOCK_NO_END;
}

/* ---- version 4 ---- */

static bool holds_word(void *self, struct entitle_view word)
{
    struct reading *r = self;
    uint64_t code = 0;

    for (size_t i = 0; i < word.length; i++) {
        bool is_digit = word.data[i] >= '0' && word.data[i] <= '9';

        if (!is_digit || (code = code * 10 + (unsigned)(word.data[i] - '0')) > UINT32_MAX) {
            r->has_digits = true; /* it is no code */
            return false;
        }
    }
    r->reader->is_null = false;
    return r->reader->holds(r->reader->self, r->service, (uint32_t)code);
}

static enum entitle_lock_kind read_expression(struct reading *r)
{
    const char *begin = r->lock.data + 3;
    const char *end = memchr(begin, 0xc0, r->lock.length - 3);
    struct entitle_view text = { begin, end ? (size_t)(end - begin) : 0 };
    char needs[48];
    size_t wrong;
    bool value;

    if (!end)
        return ENTITLE_LOCK_NO_END;
    if (text.length == 0)
        return ENTITLE_LOCK_FINE;
    if (!entitle_expression(text, holds_word, r, &value, &wrong) || r->has_digits)
        return ENTITLE_LOCK_TEXT;
    write_text(r, "%.*s", (int)text.length, text.data);
    snprintf(needs, sizeof(needs), "%.*s", (int)(text.length < 47 ? text.length : 47), text.data);
    if (!value)
        need(r->reader, needs);
    return ENTITLE_LOCK_FINE;
}

enum entitle_lock_kind entitle_lock_read(struct entitle_view lock,
                                         struct entitle_lock_reader *reader)
{
    struct reading r = { .reader = reader, .lock = lock, .nibble = 2 };
    enum entitle_lock_kind kind;

    reader->is_open = true;
    reader->is_null = true;
    reader->needs[0] = 0;
    if (reader->text && reader->text_size)
        reader->text[0] = 0;
    if (lock.length == 0)
        return ENTITLE_LOCK_FINE;
    if (lock.data[0] != 3 && lock.data[0] != 4)
        kind = ENTITLE_LOCK_VERSION;
    else if ((kind = read_service(&r)) == ENTITLE_LOCK_FINE)
        kind = lock.data[0] == 3 ? read_nibbles(&r) : read_expression(&r);
    if (kind != ENTITLE_LOCK_FINE)
        reader->is_open = reader->is_null = false;
    return kind;
}
