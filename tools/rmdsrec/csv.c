/* csv.c - see csv.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "csv.h"

#include <string.h>

#include "base/err.h"

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
