/* utf8.c - see utf8.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "utf8.h"

size_t rwf_utf8_length(const uint8_t *p, size_t left)
{
    uint8_t low = 0x80, high = 0xbf;
    size_t length;

    if (p[0] < 0x80)
        return 1;
    if (p[0] >= 0xc2 && p[0] <= 0xdf)
        length = 2;
    else if (p[0] >= 0xe0 && p[0] <= 0xef)
        length = 3;
    else if (p[0] >= 0xf0 && p[0] <= 0xf4)
        length = 4;
    else
        return 0;
    if (p[0] == 0xe0)
        low = 0xa0;
    if (p[0] == 0xed)
        high = 0x9f;
    if (p[0] == 0xf0)
        low = 0x90;
    if (p[0] == 0xf4)
        high = 0x8f;
    if (left < length || p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    return length;
}
