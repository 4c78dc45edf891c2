/* maps.c - see maps.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "maps.h"

#include <string.h>

#include "base/siphash.h"
#include "fields.h"

/* ---- may it be merged ---- */

static bool has_known_action(const struct rwf_map_entry *entry)
{
    return entry->action >= RWF_MAP_UPDATE && entry->action <= RWF_MAP_DELETE;
}

bool conflate_map_is_plain(struct rwf_bytes payload)
{
    struct rwf_map map;
    struct rwf_map_entry entry;
    int rc = rwf_map_decode(payload, &map);

    if (rc < 0 || map.info.flags & (RWF_MAP_HAS_SET_DEFS | RWF_MAP_HAS_ENTRY_PERM) ||
        (map.info.container != RWF_TYPE_FIELD_LIST && map.info.container != RWF_TYPE_NO_DATA) ||
        map.count > CONFLATE_ROWS_MAX)
        return false;
    while ((rc = rwf_map_next(&map, &entry)) > 0) {
        if (!has_known_action(&entry) || entry.has_perm)
            return false;
    }
    return rc == 0;
}

static bool are_alike(const struct rwf_map_info *a, const struct rwf_map_info *b)
{
    bool has_id = (a->flags & RWF_MAP_HAS_KEY_FIELD_ID) != 0;

    return a->key_type == b->key_type && a->container == b->container &&
           has_id == ((b->flags & RWF_MAP_HAS_KEY_FIELD_ID) != 0) &&
           (!has_id || a->key_field_id == b->key_field_id);
}

/* ---- rows by key ---- */

static void clear_rows(struct conflate *c)
{
    memset(c->buckets, 0, sizeof(c->buckets));
    c->row_count = 0;
}

static struct rwf_bytes key_of(const struct conflate_row *row)
{
    return row->has_old ? row->old.key : row->fresh.key;
}

/* The row of that key, a new one if there is none. NULL: too many. */
static struct conflate_row *row_at(struct conflate *c, struct rwf_bytes key)
{
    size_t at = md_siphash(c->key, key.length ? key.data : (const uint8_t *)"", key.length) %
                CONFLATE_BUCKETS;

    for (; c->buckets[at] != 0; at = (at + 1) % CONFLATE_BUCKETS) {
        struct conflate_row *row = &c->rows[c->buckets[at] - 1];
        if (rwf_bytes_equal(key_of(row), key))
            return row;
    }
    if (c->row_count == CONFLATE_ROWS_MAX)
        return NULL;
    struct conflate_row *row = &c->rows[c->row_count++];
    *row = (struct conflate_row){ 0 };
    c->buckets[at] = (uint16_t)c->row_count;
    return row;
}

/* False: a key comes twice in one map (readers differ about what that means), or too many. */
static bool take_rows(struct conflate *c, struct rwf_map map, bool is_fresh)
{
    struct rwf_map_entry entry;
    int rc = 0;

    while ((rc = rwf_map_next(&map, &entry)) > 0) {
        struct conflate_row *row = row_at(c, entry.key);
        if (!row || (is_fresh ? row->has_fresh : row->has_old))
            return false;
        if (is_fresh) {
            row->fresh = entry;
            row->has_fresh = true;
        } else {
            row->old = entry;
            row->has_old = true;
        }
    }
    return rc == 0;
}

/* ---- what two entries of one key become ---- */

static bool write_merged(struct conflate *c, struct rwf_encoder *enc, unsigned container,
                         const struct conflate_row *row)
{
    struct rwf_map_entry entry = row->old;

    if (container == RWF_TYPE_NO_DATA)
        return rwf_map_add(enc, &entry) == RWF_OK;
    rwf_map_entry_start(enc, &entry);
    return conflate_fields_merge(c, enc, row->old.data, row->old.action == RWF_MAP_ADD,
                                 row->fresh.data) &&
           rwf_map_entry_finish(enc) == RWF_OK;
}

static bool write_row(struct conflate *c, struct rwf_encoder *enc, unsigned container,
                      const struct conflate_row *row)
{
    if (!row->has_fresh)
        return rwf_map_add(enc, &row->old) == RWF_OK;
    if (!row->has_old || row->fresh.action != RWF_MAP_UPDATE)
        return rwf_map_add(enc, &row->fresh) == RWF_OK;
    if (row->old.action == RWF_MAP_DELETE)
        return false; /* an update of a row that does not exist: consumers judge that themselves */
    return write_merged(c, enc, container, row);
}

static bool write_summary(struct conflate *c, struct rwf_encoder *enc,
                          const struct rwf_map_info *old, const struct rwf_map_info *fresh)
{
    bool both = old->flags & fresh->flags & RWF_MAP_HAS_SUMMARY;
    bool done = false;

    if (both && old->container == RWF_TYPE_FIELD_LIST)
        done = conflate_fields_merge(c, enc, old->summary, false, fresh->summary);
    else
        done = rwf_raw_add(enc, fresh->flags & RWF_MAP_HAS_SUMMARY ? fresh->summary
                                                                   : old->summary) == RWF_OK;
    return done && rwf_summary_finish(enc) == RWF_OK;
}

bool conflate_map_merge(struct conflate *c, struct rwf_encoder *enc, struct rwf_bytes old,
                        struct rwf_bytes fresh)
{
    struct rwf_map before;
    struct rwf_map after;

    if (rwf_map_decode(old, &before) < 0 || rwf_map_decode(fresh, &after) < 0 ||
        !are_alike(&before.info, &after.info))
        return false;
    clear_rows(c);
    if (!take_rows(c, before, false) || !take_rows(c, after, true))
        return false;
    struct rwf_map_info info = after.info;
    info.flags |= before.info.flags & (RWF_MAP_HAS_SUMMARY | RWF_MAP_HAS_HINT);
    if (!(after.info.flags & RWF_MAP_HAS_HINT))
        info.hint = before.info.hint;
    info.summary = rwf_bytes(NULL, 0);
    rwf_map_start(enc, &info);
    if (info.flags & RWF_MAP_HAS_SUMMARY && !write_summary(c, enc, &before.info, &after.info))
        return false;
    for (unsigned i = 0; i < c->row_count; i++) {
        if (!write_row(c, enc, info.container, &c->rows[i]))
            return false;
    }
    return rwf_map_finish(enc) == RWF_OK;
}
