/* dictionary_text.c - see dictionary_text.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dictionary_text.h"

#include <string.h>

enum {
    FOUND_LENGTH_MAX = 40,
};

struct text_scan text_begin(const char *file, const void *text, size_t length,
                            struct rwf_dictionary_error *error)
{
    const char *bytes = length ? text : "";

    *error = (struct rwf_dictionary_error){ .line = 0 };
    return (struct text_scan){
        .file = file,
        .next = bytes,
        .text_end = bytes + length,
        .pos = bytes,
        .end = bytes,
        .error = error,
    };
}

bool text_next_line(struct text_scan *scan)
{
    const char *newline;
    size_t left = (size_t)(scan->text_end - scan->next);

    if (left == 0)
        return false;
    newline = memchr(scan->next, '\n', left);
    scan->pos = scan->next;
    scan->end = newline ? newline : scan->text_end;
    scan->next = newline ? newline + 1 : scan->text_end;
    scan->line++;
    if (scan->end > scan->pos && scan->end[-1] == '\r')
        scan->end--;
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

bool text_skip_blanks(struct text_scan *scan)
{
    while (scan->pos < scan->end && is_blank(*scan->pos))
        scan->pos++;
    return scan->pos < scan->end;
}

struct store_view text_word(struct text_scan *scan)
{
    struct store_view word;

    text_skip_blanks(scan);
    word.bytes = scan->pos;
    while (scan->pos < scan->end && !is_blank(*scan->pos))
        scan->pos++;
    word.length = (size_t)(scan->pos - word.bytes);
    return word;
}

struct store_view text_rest(struct text_scan *scan)
{
    struct store_view rest;

    text_skip_blanks(scan);
    rest.bytes = scan->pos;
    rest.length = (size_t)(scan->end - scan->pos);
    while (rest.length && is_blank(rest.bytes[rest.length - 1]))
        rest.length--;
    scan->pos = scan->end;
    return rest;
}

bool text_between(struct text_scan *scan, char mark, struct store_view *inside)
{
    const char *close;

    *inside = (struct store_view){ .bytes = scan->pos };
    if (!text_skip_blanks(scan) || *scan->pos != mark)
        return false;
    close = memchr(scan->pos + 1, mark, (size_t)(scan->end - scan->pos - 1));
    if (!close)
        return false;
    inside->bytes = scan->pos + 1;
    inside->length = (size_t)(close - inside->bytes);
    scan->pos = close + 1;
    return true;
}

bool text_number(struct text_scan *scan, long min, long max, long *number)
{
    bool is_negative = false;
    long value = 0;
    const char *first;

    *number = 0;
    if (!text_skip_blanks(scan))
        return false;
    if (*scan->pos == '-') {
        is_negative = true;
        scan->pos++;
    }
    first = scan->pos;
    for (; scan->pos < scan->end && *scan->pos >= '0' && *scan->pos <= '9'; scan->pos++)
        if (value < 1000000000)
            value = value * 10 + (*scan->pos - '0');
    if (scan->pos == first)
        return false;
    if (scan->pos < scan->end && !is_blank(*scan->pos) && *scan->pos != '(' && *scan->pos != ')')
        return false;
    if (is_negative)
        value = -value;
    if (value < min || value > max)
        return false;
    *number = value;
    return true;
}

bool text_is(struct store_view view, const char *word)
{
    return view.length == strlen(word) && memcmp(view.bytes, word, view.length) == 0;
}

bool text_starts_with(struct store_view view, const char *word)
{
    size_t length = strlen(word);

    return view.length >= length && memcmp(view.bytes, word, length) == 0;
}

/* ---- sentences ---- */

static void append(struct rwf_dictionary_error *error, size_t *at, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length && *at < sizeof(error->text) - 1; i++) {
        char c = bytes[i];

        error->text[(*at)++] = (char)(c >= 0x20 && c < 0x7f ? c : '?');
    }
    error->text[*at] = '\0';
}

static void append_string(struct rwf_dictionary_error *error, size_t *at, const char *string)
{
    append(error, at, string, strlen(string));
}

static void append_number(struct rwf_dictionary_error *error, size_t *at, long number)
{
    char digits[24];
    size_t i = sizeof(digits);
    unsigned long rest = number < 0 ? 0ul - (unsigned long)number : (unsigned long)number;

    do {
        digits[--i] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (number < 0)
        digits[--i] = '-';
    append(error, at, digits + i, sizeof(digits) - i);
}

static size_t append_place(const struct text_scan *scan, unsigned line)
{
    size_t at = 0;

    scan->error->line = line;
    append_string(scan->error, &at, scan->file);
    if (line) {
        append_string(scan->error, &at, ":");
        append_number(scan->error, &at, (long)line);
    }
    append_string(scan->error, &at, ": ");
    return at;
}

int text_fail(const struct text_scan *scan, unsigned line, int err, const char *before,
              struct store_view found, const char *after)
{
    size_t at = append_place(scan, line);
    bool is_cut = found.length > FOUND_LENGTH_MAX;

    append_string(scan->error, &at, before);
    if (found.bytes) {
        append_string(scan->error, &at, " '");
        append(scan->error, &at, found.bytes, is_cut ? FOUND_LENGTH_MAX : found.length);
        append_string(scan->error, &at, is_cut ? "...'" : "'");
    }
    append_string(scan->error, &at, after);
    return err;
}

int text_fail_number(const struct text_scan *scan, unsigned line, int err, const char *before,
                     long number, const char *after)
{
    size_t at = append_place(scan, line);

    append_string(scan->error, &at, before);
    append_string(scan->error, &at, " ");
    append_number(scan->error, &at, number);
    append_string(scan->error, &at, after);
    return err;
}
