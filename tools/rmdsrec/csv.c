/* csv.c - see csv.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "csv.h"

#include <string.h>

#include "base/err.h"
#include "rmds/rwf_rmtes.h"

/* One cell, unquoted where it stands; NULL: it has no end. *more: another one follows. */
static char *take_cell(char *from, struct rwf_bytes *cell, bool *more)
{
    bool is_quoted = *from == '"';
    char *in = from + is_quoted, *out = from;

    while (*in && (is_quoted || *in != ',')) {
        if (is_quoted && *in == '"' && *++in != '"')
            break;
        *out++ = *in++;
    }
    if (*in && *in != ',')
        return NULL;
    *cell = rwf_bytes((const uint8_t *)from, (size_t)(out - from));
    *more = *in == ',';
    return in + *more;
}

int csv_next(struct csv *csv)
{
    bool more = true;
    size_t count = 0;

    csv->line++;
    if (!fgets(csv->text, sizeof(csv->text), csv->file))
        return 0;
    size_t length = strlen(csv->text);
    if (length == sizeof(csv->text) - 1 && csv->text[length - 1] != '\n')
        return MD_ERR_RANGE;
    while (length > 0 && (csv->text[length - 1] == '\n' || csv->text[length - 1] == '\r'))
        csv->text[--length] = 0;
    for (char *at = csv->text; at && more && count < CSV_CELLS; count++)
        at = take_cell(at, &csv->cells[count], &more);
    return count == CSV_CELLS && !more ? 1 : MD_ERR_MALFORMED;
}

bool csv_has_text(unsigned type)
{
    return (type >= RWF_TYPE_INT && type <= RWF_TYPE_DATETIME) || type == RWF_TYPE_ENUM ||
           type == RWF_TYPE_ASCII || type == RWF_TYPE_UTF8 || type == RWF_TYPE_RMTES;
}

size_t csv_position(const char *text, size_t length)
{
    size_t at = 1;

    if (length < 2 || text[0] != '[')
        return 0;
    while (at < length && text[at] >= '0' && text[at] <= '9')
        at++;
    return at < length && text[at] == '`' ? at + 1 : 0;
}

/* ---- strings ---- */

static bool is_ascii(struct rwf_bytes text)
{
    for (size_t i = 0; i < text.length; i++) {
        if (text.data[i] >= 0x80)
            return false;
    }
    return true;
}

/* The text with ESC where a position of a partial update begins. `out` has room for it. */
static size_t with_positions(struct rwf_bytes text, uint8_t *out)
{
    const size_t sign = sizeof(CSV_ESCAPE) - 1;
    size_t length = 0;

    for (size_t i = 0; i < text.length;) {
        const char *at = (const char *)text.data + i;
        size_t left = text.length - i;
        bool is_position = left > sign && memcmp(at, CSV_ESCAPE, sign) == 0 &&
                           csv_position(at + sign, left - sign) > 0;

        out[length++] = is_position ? 0x1b : text.data[i];
        i += is_position ? sign : 1;
    }
    return length;
}

bool csv_rmtes(struct rwf_bytes text, uint8_t *room, size_t size, struct rwf_bytes *out)
{
    static const uint8_t utf8[] = { 0x1b, 0x25, 0x30 };
    uint8_t *behind = room + sizeof(utf8);
    size_t length;

    *out = text;
    if (is_ascii(text))
        return true;
    if (2 * text.length + sizeof(utf8) > size)
        return false;
    struct rwf_bytes content = rwf_bytes(behind, with_positions(text, behind));
    uint8_t *string = behind + content.length;
    *out = content;
    if (is_ascii(content))
        return true;
    if (rwf_rmtes_from_utf8(content.data, content.length, string, content.length, &length) ==
        MD_OK) {
        *out = rwf_bytes(string, length);
        return true;
    }
    if (rwf_rmtes_is_partial(content.data, content.length))
        return false;
    memcpy(room, utf8, sizeof(utf8));
    *out = rwf_bytes(room, content.length + sizeof(utf8));
    return true;
}
