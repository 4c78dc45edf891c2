/* rows.c - rows of maps and entries of filter lists: by key, and the locks of their own. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rows.h"

#include "base/err.h"

int cache_keep_lock(bool had, struct rwf_bytes old, bool *has, struct rwf_bytes *lock)
{
    if (!had)
        return RWF_OK;
    if (*has && !rwf_bytes_equal(*lock, old))
        return MD_ERR_UNSUPPORTED;
    *has = true;
    *lock = old;
    return RWF_OK;
}

int cache_find_row(const struct rwf_map *map, struct rwf_bytes key, struct rwf_map_entry *out)
{
    struct rwf_map walk = *map;
    struct rwf_map_entry entry;
    int found = 0;
    int rc;

    while ((rc = rwf_map_next(&walk, &entry)) > 0) {
        if (rwf_bytes_equal(entry.key, key)) {
            *out = entry;
            found = 1;
        }
    }
    return rc < 0 ? rc : found;
}

int cache_find_filter(const struct rwf_filter_list *list, uint8_t id, struct rwf_filter_entry *out)
{
    struct rwf_filter_list walk = *list;
    struct rwf_filter_entry entry;
    int found = 0;
    int rc;

    while ((rc = rwf_filter_list_next(&walk, &entry)) > 0) {
        if (entry.id == id) {
            *out = entry;
            found = 1;
        }
    }
    return rc < 0 ? rc : found;
}
