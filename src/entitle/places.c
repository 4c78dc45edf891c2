/* places.c - which line of which file it is. See rules.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "rules.h"

static const struct entitle_piece *piece_of(const struct entitle_rules *rules, uint32_t line)
{
    const struct entitle_piece *pieces = rules->pieces.at;
    size_t low = 0, high = rules->pieces.count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (pieces[middle].first <= line)
            low = middle;
        else
            high = middle;
    }
    return high > low ? &pieces[low] : NULL;
}

static const char *name_of(const struct entitle_rules *rules, const struct entitle_piece *piece)
{
    return ((const struct entitle_file *)rules->files.at + piece->file)->path;
}

uint32_t entitle_rules_place(const struct entitle_rules *rules, uint32_t line, const char **file)
{
    const struct entitle_piece *piece = line ? piece_of(rules, line) : NULL;

    *file = rules->path;
    if (!piece)
        return line;
    *file = name_of(rules, piece);
    return line - piece->first + piece->local;
}

void entitle_line_name(const struct entitle_rules *rules, uint32_t from, uint32_t line, char *out,
                       size_t size)
{
    const char *here, *there;

    (void)entitle_rules_place(rules, from, &here);
    uint32_t local = entitle_rules_place(rules, line, &there);
    if (here == there)
        snprintf(out, size, "line %u", local);
    else
        snprintf(out, size, "%s:%u", there, local);
}
