/* text.c - see text.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include "base/utf8.h"

size_t md_text_plain(const char *text, size_t length)
{
    const uint8_t *p = (const uint8_t *)text;
    size_t n = md_utf8_length(p, length);
    bool is_control = p[0] < 0x20 || p[0] == 0x7f || (n == 2 && p[0] == 0xc2 && p[1] < 0xa0);

    return is_control ? 0 : n;
}

size_t md_text_printable(const char *text, size_t length)
{
    size_t n = md_text_plain(text, length);

    return n < 4 ? n : 0;
}

bool md_text_is_plain(const char *text, size_t length)
{
    for (size_t i = 0; i < length;) {
        size_t n = md_text_plain(text + i, length - i);

        if (n == 0)
            return false;
        i += n;
    }
    return true;
}

const char *md_text_dotted(const void *text, size_t length, char out[MD_TEXT_DOTTED_MAX + 1])
{
    const uint8_t *from = text;
    size_t n = 0;

    for (; n < length && n < MD_TEXT_DOTTED_MAX; n++)
        out[n] = from[n] < 0x20 || from[n] >= 0x7f ? '.' : (char)from[n];
    out[n] = 0;
    return out;
}
