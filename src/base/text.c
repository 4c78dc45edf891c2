/* text.c - see text.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include <stdint.h>

size_t md_text_printable(const char *text, size_t length)
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

/* 4: a character of four bytes is there, else 0. */
static size_t four_bytes(const char *text, size_t length)
{
    uint8_t c = (uint8_t)text[0];

    if (c < 0xf0 || c > 0xf4 || length < 4)
        return 0;
    for (size_t i = 1; i < 4; i++) {
        if (((uint8_t)text[i] & 0xc0) != 0x80)
            return 0;
    }
    uint8_t second = (uint8_t)text[1];
    bool is_overlong = c == 0xf0 && second < 0x90, is_beyond = c == 0xf4 && second > 0x8f;
    return is_overlong || is_beyond ? 0 : 4;
}

size_t md_text_plain(const char *text, size_t length)
{
    size_t n = md_text_printable(text, length);

    return n ? n : four_bytes(text, length);
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
