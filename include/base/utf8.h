/* base/utf8.h - what is legal UTF-8. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_UTF8_H
#define MD_UTF8_H

#include <stddef.h>
#include <stdint.h>

/*
 * The length of the UTF-8 character at `p`, of which `left` bytes (at least 1) may be read, or 0.
 * As RFC 3629 has it: no overlong form, no surrogate, nothing beyond U+10FFFF.
 */
static inline size_t md_utf8_length(const uint8_t *p, size_t left)
{
    uint8_t lead = p[0];
    size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;

    if (lead < 0x80)
        return 1;
    if (lead < 0xc2 || lead > 0xf4 || length > left)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    }
    if ((lead == 0xe0 && p[1] < 0xa0) || (lead == 0xed && p[1] > 0x9f) ||
        (lead == 0xf0 && p[1] < 0x90) || (lead == 0xf4 && p[1] > 0x8f))
        return 0;
    return length;
}

/* Writes the character, which is none above U+10FFFF, in at most 4 bytes. Returns their end. */
static inline uint8_t *md_utf8_put(uint8_t *out, uint32_t c)
{
    if (c < 0x80) {
        *out++ = (uint8_t)c;
    } else if (c < 0x800) {
        *out++ = (uint8_t)(0xc0 | c >> 6);
        *out++ = (uint8_t)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        *out++ = (uint8_t)(0xe0 | c >> 12);
        *out++ = (uint8_t)(0x80 | (c >> 6 & 0x3f));
        *out++ = (uint8_t)(0x80 | (c & 0x3f));
    } else {
        *out++ = (uint8_t)(0xf0 | c >> 18);
        *out++ = (uint8_t)(0x80 | (c >> 12 & 0x3f));
        *out++ = (uint8_t)(0x80 | (c >> 6 & 0x3f));
        *out++ = (uint8_t)(0x80 | (c & 0x3f));
    }
    return out;
}

#endif
