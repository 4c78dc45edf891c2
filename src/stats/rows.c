/* rows.c - see stats/rows.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/rows.h"

void stats_rows_add(const struct stats_row rows[], size_t count, struct stats_segment *segment,
                    const char *prefix, struct stats_entry *entries[])
{
    for (size_t i = 0; i < count; i++)
        entries[i] =
            stats_entry_addf(segment, (enum stats_kind)rows[i].kind, "%s%s", prefix, rows[i].name);
}

void stats_rows_remove(struct stats_entry *entries[], size_t count, struct stats_segment *segment)
{
    for (size_t i = 0; i < count; i++)
        stats_entry_remove(segment, entries[i]);
}

void stats_rows_set(const struct stats_row rows[], size_t count, struct stats_entry *entries[],
                    const void *from)
{
    for (size_t i = 0; i < count; i++) {
        const void *at = (const char *)from + rows[i].offset;
        uint64_t value = rows[i].size == 8 ? *(const uint64_t *)at : *(const uint32_t *)at;

        if (rows[i].kind == STATS_KIND_GAUGE)
            stats_gauge_set(entries[i], value);
        else
            md_ctr_set(&entries[i]->value, value);
    }
}
