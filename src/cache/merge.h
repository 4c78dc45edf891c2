/* merge.h - one encoded container changed by another: the rules of each container. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CACHE_MERGE_H
#define CACHE_MERGE_H

#include "rmds/rwf.h"

struct cache;

/*
 * Writes to `enc`, where a container may stand, what `old` becomes by `update`. Both are encoded
 * containers of `type`; `old` may be empty (then this only writes set data out as standard data:
 * the result never needs a definition that is not in it). `cache` knows the types of fields, `sets`
 * are the definitions that hold for `update`, NULL if none. Types without rules of their own are
 * replaced.
 *
 *     field list, element list   entries replaced by id or name, new ones at the end; RMTES
 *                                commands in a content are carried out on the content before
 *     map                        ADD, UPDATE (what it holds changes), DELETE by key
 *     vector                     SET, UPDATE, CLEAR, INSERT, DELETE by index
 *     filter list                SET, UPDATE, CLEAR by id
 *     series                     rows are added
 *
 * An RWF_ERR_: the result is not to be used.
 */
int cache_merge(const struct cache *cache, struct rwf_encoder *enc, unsigned type,
                struct rwf_bytes old, struct rwf_bytes update, const struct rwf_sets *sets);

#endif
