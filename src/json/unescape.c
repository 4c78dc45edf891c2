/* unescape.c - the characters that a string of JSON stands for. See json/parse.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "json/parse.h"

#include "base/utf8.h"

static uint32_t hex4(const uint8_t *p)
{
    uint32_t value = 0;

    for (int i = 0; i < 4; i++) {
        uint32_t c = p[i];
        value = value << 4 | (c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return value;
}

/* `*p` is behind `\u`. Half a pair has no character of its own. */
static uint32_t unicode(const uint8_t **p, const uint8_t *end)
{
    uint32_t c = hex4(*p);

    *p += 4;
    if (c >= 0xD800 && c < 0xDC00 && end - *p >= 6 && (*p)[0] == '\\' && (*p)[1] == 'u') {
        uint32_t low = hex4(*p + 2);
        if (low >= 0xDC00 && low < 0xE000) {
            *p += 6;
            return 0x10000 + ((c - 0xD800) << 10 | (low - 0xDC00));
        }
    }
    return c >= 0xD800 && c < 0xE000 ? 0xFFFD : c;
}

size_t json_unescape(struct rwf_bytes raw, uint8_t *out)
{
    static const char from[] = "bfnrt";
    static const char to[] = "\b\f\n\r\t";
    const uint8_t *p = raw.data;
    const uint8_t *end = p + raw.length;
    const uint8_t *start = out;

    while (p < end) {
        uint8_t c = *p++;
        if (c != '\\') {
            *out++ = c;
            continue;
        }
        c = *p++;
        const char *letter = strchr(from, c);
        if (c == 'u')
            out = md_utf8_put(out, unicode(&p, end));
        else
            *out++ = letter ? (uint8_t)to[letter - from] : c;
    }
    return (size_t)(out - start);
}
