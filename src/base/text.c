/* text.c - see text.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include <stdbool.h>
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
