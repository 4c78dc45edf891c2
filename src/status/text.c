/* text.c - see text.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "text.h"

#include <stdint.h>
#include <string.h>

#include "base/text.h"

static void add(struct http_answer *answer, const char *text, size_t length, const char *escaped,
                const char *format)
{
    for (size_t at = 0; at < length;) {
        size_t n = md_text_printable(text + at, length - at);
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
