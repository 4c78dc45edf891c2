/* rows.h - rows of maps and entries of filter lists: by key, and the locks of their own. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CACHE_ROWS_H
#define CACHE_ROWS_H

#include "rmds/rwf_container.h"

/* An UPDATE changes data with a lock of their own: it stays. Another one cannot be combined with it
 * here, and the image is given up. */
int cache_keep_lock(bool had, struct rwf_bytes old, bool *has, struct rwf_bytes *lock);
/* The last entry of the list with this key, or this id. 1: found; 0: none. */
int cache_find_row(const struct rwf_map *map, struct rwf_bytes key, struct rwf_map_entry *out);
int cache_find_filter(const struct rwf_filter_list *list, uint8_t id, struct rwf_filter_entry *out);

#endif
