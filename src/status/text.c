/* text.c - see text.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "text.h"

#include <stdint.h>
#include <string.h>

/* The length of the UTF-8 character there, 0 if it is none that is to be printed as it is. */
static size_t printable(const char *text, size_t length)
{
    uint8_t c = (uint8_t)text[0];
    size_t n = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : 0;

    if (c < 0x20 || c == 0x7f || n == 0 || n > length)
        return 0;
    for (size_t i = 1; i < n; i++) {
        if (((uint8_t)text[i] & 0xc0) != 0x80)
            return 0;
    }
    uint8_t second = n > 1 ? (uint8_t)text[1] : 0;
    bool is_control = c == 0xc2 && second < 0xa0;
    bool is_overlong = c == 0xe0 && second < 0xa0, is_surrogate = c == 0xed && second >= 0xa0;
    return is_control || is_overlong || is_surrogate ? 0 : n;
}

static void add(struct http_answer *answer, const char *text, size_t length, const char *escaped,
                const char *format)
{
    for (size_t at = 0; at < length;) {
        size_t n = printable(text + at, length - at);
        if (n == 0) {
            http_answer_add(answer, "%s%02x", format, (unsigned)(uint8_t)text[at]);
            n = 1;
        } else if (n == 1 && strchr(escaped, text[at])) {
            http_answer_add(answer, "\\%c", text[at]);
        } else {
            http_answer_add_bytes(answer, text + at, n);
        }
        at += n;
    }
}

void text_add_json(struct http_answer *answer, const char *text)
{
    add(answer, text, strlen(text), "\"\\", "\\u00");
}

void text_add_label(struct http_answer *answer, const char *text, size_t length)
{
    add(answer, text, length, "\"\\", "\\\\x"); /* a backslash, and the byte in hex */
}
