/* rows.c - see stats/rows.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/rows.h"

#include <stdlib.h>

struct stats_group {
    const struct stats_row *rows;
    size_t count;
    struct stats_segment *segment;
    struct stats_entry *entries[];
};

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

static uint64_t number_at(const void *at, uint8_t size)
{
    return size == 8   ? *(const uint64_t *)at
           : size == 4 ? *(const uint32_t *)at
           : size == 2 ? *(const uint16_t *)at
                       : *(const uint8_t *)at;
}

void stats_rows_set(const struct stats_row rows[], size_t count, struct stats_entry *entries[],
                    const void *from)
{
    for (size_t i = 0; i < count; i++) {
        const void *at = (const char *)from + rows[i].offset;

        if (rows[i].kind == STATS_KIND_GAUGE)
            stats_gauge_set(entries[i], number_at(at, rows[i].size));
        else if (rows[i].kind != STATS_KIND_STRING)
            md_ctr_set(&entries[i]->value, number_at(at, rows[i].size));
    }
}

struct stats_group *stats_group_create(const struct stats_row rows[], size_t count,
                                       struct stats_segment *segment, const char *prefix)
{
    struct stats_group *group = calloc(1, sizeof(*group) + count * sizeof(group->entries[0]));

    if (!group)
        return NULL;
    group->rows = rows;
    group->count = count;
    group->segment = segment;
    stats_rows_add(rows, count, segment, prefix, group->entries);
    return group;
}

void stats_group_destroy(struct stats_group *group)
{
    if (group)
        stats_rows_remove(group->entries, group->count, group->segment);
    free(group);
}

void stats_group_set(struct stats_group *group, const void *from)
{
    if (!group)
        return;
    stats_rows_set(group->rows, group->count, group->entries, from);
    for (size_t i = 0; i < group->count; i++) {
        if (group->rows[i].kind == STATS_KIND_STRING)
            stats_string_set(
                group->segment, group->entries[i],
                *(const char *const *)(const void *)((const char *)from + group->rows[i].offset));
    }
}
