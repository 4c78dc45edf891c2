/* stats/rows.h - members of a struct as entries of a segment: a table says which. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STATS_ROWS_H
#define STATS_ROWS_H

#include <stddef.h>

#include "stats/segment.h"

struct stats_row {
    const char *name;
    uint16_t offset;
    uint8_t size; /* of the member: 4 or 8 */
    uint8_t kind; /* COUNTER, GAUGE or TIME of enum stats_kind */
};

#define STATS_ROW(kind, name, type, member)                                                        \
    {                                                                                              \
        name, offsetof(type, member), sizeof(((const type *)0)->member), kind                      \
    }

#define STATS_ROW_COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

/* Adds an entry for each row, under `prefix` and its name. */
void stats_rows_add(const struct stats_row rows[], size_t count, struct stats_segment *segment,
                    const char *prefix, struct stats_entry *entries[]);
void stats_rows_remove(struct stats_entry *entries[], size_t count, struct stats_segment *segment);
/* Shows the members of the struct at `from`. Owner thread only. */
void stats_rows_set(const struct stats_row rows[], size_t count, struct stats_entry *entries[],
                    const void *from);

#endif
