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

    if (rc < 0 || map.info.flags & RWF_MAP_HAS_ENTRY_PERM ||
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

/* ---- the two maps, and the set definitions of each ---- */

struct side {
    struct rwf_map map;
    struct rwf_set_db db;
    struct rwf_sets sets;
    bool has_sets; /* its lists are written out: the merged map has no definitions */
};

static bool open_side(const struct conflate *c, struct rwf_bytes payload, struct side *side)
{
    if (rwf_map_decode(payload, &side->map) < 0)
        return false;
    side->sets = c->config.sets ? *c->config.sets : (struct rwf_sets){ 0 };
    side->has_sets = side->map.info.flags & RWF_MAP_HAS_SET_DEFS &&
                     side->map.info.container == RWF_TYPE_FIELD_LIST;
    if (side->has_sets)
        side->sets.local = &side->db;
    return !side->has_sets ||
           rwf_set_db_decode(side->map.info.set_defs, RWF_SET_FIELDS, &side->db) >= 0;
}

static struct conflate_list list_of(const struct side *side, struct rwf_bytes bytes)
{
    return (struct conflate_list){ bytes, &side->sets };
}

/* ---- what two entries of one key become ---- */

static bool write_merged(struct conflate *c, struct rwf_encoder *enc, const struct side *before,
                         const struct side *after, const struct conflate_row *row)
{
    struct rwf_map_entry entry = row->old;

    if (before->map.info.container == RWF_TYPE_NO_DATA)
        return rwf_map_add(enc, &entry) == RWF_OK;
    rwf_map_entry_start(enc, &entry);
    return conflate_fields_merge(c, enc, list_of(before, row->old.data),
                                 row->old.action == RWF_MAP_ADD, list_of(after, row->fresh.data)) &&
           rwf_map_entry_finish(enc) == RWF_OK;
}

/* A row that one of the maps has, or that the newer one replaces. */
static bool write_one(struct conflate *c, struct rwf_encoder *enc, const struct side *side,
                      const struct rwf_map_entry *entry)
{
    if (!side->has_sets || entry->action == RWF_MAP_DELETE)
        return rwf_map_add(enc, entry) == RWF_OK;
    rwf_map_entry_start(enc, entry);
    return conflate_fields_copy(c, enc, list_of(side, entry->data)) &&
           rwf_map_entry_finish(enc) == RWF_OK;
}

static bool write_row(struct conflate *c, struct rwf_encoder *enc, const struct side *before,
                      const struct side *after, const struct conflate_row *row)
{
    if (!row->has_fresh)
        return write_one(c, enc, before, &row->old);
    if (!row->has_old || row->fresh.action != RWF_MAP_UPDATE)
        return write_one(c, enc, after, &row->fresh);
    if (row->old.action == RWF_MAP_DELETE)
        return false; /* an update of a row that does not exist: consumers judge that themselves */
    return write_merged(c, enc, before, after, row);
}

static bool write_summary(struct conflate *c, struct rwf_encoder *enc, const struct side *before,
                          const struct side *after)
{
    const struct rwf_map_info *old = &before->map.info;
    const struct rwf_map_info *fresh = &after->map.info;
    bool both = old->flags & fresh->flags & RWF_MAP_HAS_SUMMARY;
    const struct side *newest = fresh->flags & RWF_MAP_HAS_SUMMARY ? after : before;
    bool done = false;

    if (both && old->container == RWF_TYPE_FIELD_LIST)
        done = conflate_fields_merge(c, enc, list_of(before, old->summary), false,
                                     list_of(after, fresh->summary));
    else if (newest->has_sets)
        done = conflate_fields_copy(c, enc, list_of(newest, newest->map.info.summary));
    else
        done = rwf_raw_add(enc, newest->map.info.summary) == RWF_OK;
    return done && rwf_summary_finish(enc) == RWF_OK;
}

bool conflate_map_merge(struct conflate *c, struct rwf_encoder *enc, struct rwf_bytes old,
                        struct rwf_bytes fresh)
{
    struct side before;
    struct side after;

    if (!open_side(c, old, &before) || !open_side(c, fresh, &after) ||
        !are_alike(&before.map.info, &after.map.info))
        return false;
    clear_rows(c);
    if (!take_rows(c, before.map, false) || !take_rows(c, after.map, true))
        return false;
    struct rwf_map_info info = after.map.info;
    info.flags |= before.map.info.flags & (RWF_MAP_HAS_SUMMARY | RWF_MAP_HAS_HINT);
    info.flags &= (uint8_t)~RWF_MAP_HAS_SET_DEFS;
    if (!(after.map.info.flags & RWF_MAP_HAS_HINT))
        info.hint = before.map.info.hint;
    info.summary = rwf_bytes(NULL, 0);
    rwf_map_start(enc, &info);
    if (info.flags & RWF_MAP_HAS_SUMMARY && !write_summary(c, enc, &before, &after))
        return false;
    for (unsigned i = 0; i < c->row_count; i++) {
        if (!write_row(c, enc, &before, &after, &c->rows[i]))
            return false;
    }
    return rwf_map_finish(enc) == RWF_OK;
}
