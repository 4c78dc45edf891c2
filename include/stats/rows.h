/* stats/rows.h - members of a struct as entries of a segment: a table says which. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STATS_ROWS_H
#define STATS_ROWS_H

#include <stddef.h>

#include "stats/segment.h"

struct stats_row {
    const char *name;
    uint16_t offset;
    uint8_t size; /* of the member: 1, 2, 4 or 8 */
    uint8_t kind; /* COUNTER, GAUGE or TIME of enum stats_kind; in a group, also STRING */
};

#define STATS_ROW(kind, name, type, member)                                                        \
    {                                                                                              \
        name, offsetof(type, member), sizeof(((const type *)0)->member), kind                      \
    }

#define STATS_ROW_COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

/*
 * The entries of one struct, kept together. The member of a STRING is a `const char *`.
 * NULL: no memory; the other calls allow it.
 */
struct stats_group *stats_group_create(const struct stats_row rows[], size_t count,
                                       struct stats_segment *segment, const char *prefix);
void stats_group_destroy(struct stats_group *group); /* its entries go, too */
/* Shows the members of the struct at `from`. Owner thread only. */
void stats_group_set(struct stats_group *group, const void *from);

/* Adds an entry for each row, under `prefix` and its name. */
void stats_rows_add(const struct stats_row rows[], size_t count, struct stats_segment *segment,
                    const char *prefix, struct stats_entry *entries[]);
void stats_rows_remove(struct stats_entry *entries[], size_t count, struct stats_segment *segment);
/* Shows the members of the struct at `from`. Owner thread only. */
void stats_rows_set(const struct stats_row rows[], size_t count, struct stats_entry *entries[],
                    const void *from);

#endif
