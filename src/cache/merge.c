/* merge.c - see merge.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "merge.h"
#include "image.h"
#include "rows.h"

#include <stdlib.h>

#include "base/err.h"
#include "rmds/rwf_rmtes.h"

#define STRING_MAX 16384 /* an RMTES string that commands make longer is refused */

static bool has(unsigned flags, unsigned flag)
{
    return (flags & flag) != 0;
}

/* ---- field lists ---- */

/* The last entry of that id in the list, or content.data NULL. */
static int find_field(struct rwf_bytes bytes, const struct rwf_sets *sets, int16_t id,
                      struct rwf_field *out)
{
    struct rwf_field_list list;
    struct rwf_field field;
    int found = 0;

    *out = (struct rwf_field){ 0 };
    int rc = rwf_field_list_decode(bytes, sets, &list);
    while (rc >= 0 && (rc = rwf_field_list_next(&list, &field)) > 0) {
        if (field.id == id) {
            *out = field;
            found = 1;
        }
    }
    return rc < 0 ? rc : found;
}

static int add_field(const struct cache *cache, struct rwf_encoder *enc, int16_t id,
                     struct rwf_bytes old, struct rwf_bytes content)
{
    uint8_t string[STRING_MAX];
    size_t length = old.length;

    if (!cache_takes_partial(cache, id, old, content))
        return rwf_field_add_bytes(enc, id, content);
    if (old.length > sizeof(string))
        return RWF_ERR_FULL;
    if (old.length)
        memcpy(string, old.data, old.length);
    int rc = rwf_rmtes_apply(string, sizeof(string), &length, content.data, content.length);
    return rc < 0 ? rc : rwf_field_add_bytes(enc, id, rwf_bytes(string, length));
}

static int merge_fields(const struct cache *cache, struct rwf_encoder *enc, struct rwf_bytes old,
                        struct rwf_bytes update, const struct rwf_sets *sets)
{
    struct rwf_field_list list;
    struct rwf_field_list changes;
    struct rwf_field field;
    struct rwf_field other;
    int rc = rwf_field_list_decode(old, NULL, &list);

    if (rc >= 0)
        rc = rwf_field_list_decode(update, sets, &changes);
    if (rc < 0)
        return rc;
    if (changes.set_data.length && !changes.set_is_known)
        return RWF_ERR_NOT_FOUND;
    struct rwf_field_list_info info =
        has(changes.info.flags, RWF_LIST_HAS_INFO) ? changes.info : list.info;
    info.flags = (uint8_t)((info.flags & RWF_LIST_HAS_INFO) | RWF_LIST_HAS_STANDARD_DATA);
    rwf_field_list_start(enc, &info);
    while ((rc = rwf_field_list_next(&list, &field)) > 0) {
        int found = find_field(update, sets, field.id, &other);
        if (found < 0)
            return found;
        rc = found ? add_field(cache, enc, field.id, field.content, other.content)
                   : rwf_field_add_bytes(enc, field.id, field.content);
        if (rc < 0)
            return rc;
    }
    while (rc >= 0 && (rc = rwf_field_list_next(&changes, &field)) > 0) {
        int found = find_field(old, NULL, field.id, &other);
        if (found == 0)
            found = add_field(cache, enc, field.id, rwf_bytes(NULL, 0), field.content);
        if (found < 0)
            return found;
    }
    return rc < 0 ? rc : rwf_field_list_finish(enc);
}

/* ---- element lists ---- */

static int find_element(struct rwf_bytes bytes, const struct rwf_sets *sets, struct rwf_bytes name,
                        struct rwf_element *out)
{
    struct rwf_element_list list;
    struct rwf_element element;
    int found = 0;

    *out = (struct rwf_element){ 0 };
    int rc = rwf_element_list_decode(bytes, sets, &list);
    while (rc >= 0 && (rc = rwf_element_list_next(&list, &element)) > 0) {
        if (rwf_bytes_equal(element.name, name)) {
            *out = element;
            found = 1;
        }
    }
    return rc < 0 ? rc : found;
}

static int merge_elements(struct rwf_encoder *enc, struct rwf_bytes old, struct rwf_bytes update,
                          const struct rwf_sets *sets)
{
    struct rwf_element_list list;
    struct rwf_element_list changes;
    struct rwf_element element;
    struct rwf_element other;
    int rc = rwf_element_list_decode(old, NULL, &list);

    if (rc >= 0)
        rc = rwf_element_list_decode(update, sets, &changes);
    if (rc < 0)
        return rc;
    if (changes.set_data.length && !changes.set_is_known)
        return RWF_ERR_NOT_FOUND;
    struct rwf_element_list_info info =
        has(changes.info.flags, RWF_LIST_HAS_INFO) ? changes.info : list.info;
    info.flags = (uint8_t)((info.flags & RWF_LIST_HAS_INFO) | RWF_LIST_HAS_STANDARD_DATA);
    rwf_element_list_start(enc, &info);
    while ((rc = rwf_element_list_next(&list, &element)) > 0) {
        int found = find_element(update, sets, element.name, &other);
        if (found < 0)
            return found;
        if (found)
            element = other;
        rwf_element_add_bytes(enc, element.name, element.type, element.content);
    }
    while (rc >= 0 && (rc = rwf_element_list_next(&changes, &element)) > 0) {
        int found = find_element(old, NULL, element.name, &other);
        if (found < 0)
            return found;
        if (found == 0)
            rwf_element_add_bytes(enc, element.name, element.type, element.content);
    }
    return rc < 0 ? rc : rwf_element_list_finish(enc);
}

/* ---- what the containers of rows have in common ---- */

/* Summary data: the old one changed by the new one. `update` without data keeps the old one. */
static int merge_summary(const struct cache *cache, struct rwf_encoder *enc, unsigned container,
                         struct rwf_bytes old, struct rwf_bytes update, const struct rwf_sets *sets)
{
    int rc = cache_merge(cache, enc, container, old, update, sets);

    return rc < 0 ? rc : rwf_summary_finish(enc);
}

/* The definitions of a map, vector or series, as the scope of what it holds. */
static int scope_of(struct rwf_bytes set_defs, bool has_defs, unsigned container,
                    struct rwf_set_db *db, struct rwf_sets *sets)
{
    *sets = (struct rwf_sets){ 0 };
    if (!has_defs)
        return RWF_OK;
    sets->local = db;
    return rwf_set_db_decode(
        set_defs, container == RWF_TYPE_ELEMENT_LIST ? RWF_SET_ELEMENTS : RWF_SET_FIELDS, db);
}

/* ---- maps ---- */

static int add_row(const struct cache *cache, struct rwf_encoder *enc, unsigned container,
                   struct rwf_map_entry row, struct rwf_bytes old, struct rwf_bytes update,
                   const struct rwf_sets *sets)
{
    row.action = RWF_MAP_ADD;
    if (container == RWF_TYPE_NO_DATA)
        return rwf_map_add(enc, &row);
    rwf_map_entry_start(enc, &row);
    int rc = cache_merge(cache, enc, container, old, update, sets);
    return rc < 0 ? rc : rwf_map_entry_finish(enc);
}

static int update_row(const struct cache *cache, struct rwf_encoder *enc, unsigned container,
                      const struct rwf_map_entry *row, struct rwf_map_entry change,
                      const struct rwf_sets *sets)
{
    int rc = cache_keep_lock(row->has_perm, row->perm, &change.has_perm, &change.perm);

    return rc < 0 ? rc : add_row(cache, enc, container, change, row->data, change.data, sets);
}

static int old_rows(const struct cache *cache, struct rwf_encoder *enc, struct rwf_map list,
                    const struct rwf_map *changes, unsigned container, const struct rwf_sets *sets)
{
    struct rwf_map_entry row;
    struct rwf_map_entry change;
    int rc;

    while ((rc = rwf_map_next(&list, &row)) > 0) {
        int found = cache_find_row(changes, row.key, &change);
        if (found < 0)
            return found;
        if (found == 0)
            rc = rwf_map_add(enc, &row);
        else if (change.action == RWF_MAP_UPDATE)
            rc = update_row(cache, enc, container, &row, change, sets);
        else if (change.action == RWF_MAP_ADD)
            rc = add_row(cache, enc, container, change, rwf_bytes(NULL, 0), change.data, sets);
        if (rc < 0)
            return rc;
    }
    return rc;
}

static int new_rows(const struct cache *cache, struct rwf_encoder *enc, const struct rwf_map *list,
                    struct rwf_map changes, unsigned container, const struct rwf_sets *sets)
{
    struct rwf_map walk = changes;
    struct rwf_map_entry change;
    struct rwf_map_entry other = { 0 };
    int rc;

    while ((rc = rwf_map_next(&walk, &change)) > 0) {
        int found = cache_find_row(list, change.key, &other);
        if (found < 0)
            return found;
        /* Of several changes of one new key the last one counts. */
        if (found || cache_find_row(&changes, change.key, &other) < 0 ||
            other.data.data != change.data.data || change.action == RWF_MAP_DELETE)
            continue;
        rc = add_row(cache, enc, container, change, rwf_bytes(NULL, 0), change.data, sets);
        if (rc < 0)
            return rc;
    }
    return rc;
}

static int merge_map(const struct cache *cache, struct rwf_encoder *enc, struct rwf_bytes old,
                     struct rwf_bytes update)
{
    struct rwf_map list;
    struct rwf_map changes;
    struct rwf_set_db db;
    struct rwf_sets sets;
    int rc = rwf_map_decode(old, &list);

    if (rc >= 0)
        rc = rwf_map_decode(update, &changes);
    if (rc >= 0)
        rc = scope_of(changes.info.set_defs, has(changes.info.flags, RWF_MAP_HAS_SET_DEFS),
                      changes.info.container, &db, &sets);
    if (rc < 0)
        return rc;
    struct rwf_map_info info = old.length ? list.info : changes.info;
    bool has_summary = has(info.flags | changes.info.flags, RWF_MAP_HAS_SUMMARY);
    info.flags &= (uint8_t) ~(RWF_MAP_HAS_SET_DEFS | RWF_MAP_HAS_SUMMARY | RWF_MAP_HAS_ENTRY_PERM |
                              RWF_MAP_HAS_HINT);
    if (has_summary)
        info.flags |= RWF_MAP_HAS_SUMMARY;
    info.summary = rwf_bytes(NULL, 0);
    rwf_map_start(enc, &info);
    if (has_summary)
        rc = merge_summary(cache, enc, info.container, list.info.summary, changes.info.summary,
                           &sets);
    if (rc >= 0)
        rc = old_rows(cache, enc, list, &changes, info.container, &sets);
    if (rc >= 0)
        rc = new_rows(cache, enc, &list, changes, info.container, &sets);
    return rc < 0 ? rc : rwf_map_finish(enc);
}

/* ---- vectors ---- */

struct vector_row {
    struct rwf_vector_entry entry;
    struct rwf_bytes old; /* what an UPDATE changes */
    bool is_old;          /* stands as it is */
};

struct vector_rows {
    struct vector_row *rows; /* ascending by index */
    size_t count;
    size_t room;
};

static size_t position(const struct vector_rows *v, uint32_t index)
{
    size_t at = v->count;

    while (at > 0 && v->rows[at - 1].entry.index >= index)
        at--;
    return at;
}

static int insert_row(struct vector_rows *v, size_t at, struct vector_row row)
{
    if (v->count == v->room) {
        size_t room = v->room ? v->room * 2 : 64;
        struct vector_row *rows = realloc(v->rows, room * sizeof(*rows));
        if (!rows)
            return RWF_ERR_FULL;
        v->rows = rows;
        v->room = room;
    }
    memmove(&v->rows[at + 1], &v->rows[at], (v->count - at) * sizeof(v->rows[0]));
    v->rows[at] = row;
    v->count++;
    return RWF_OK;
}

static void shift(struct vector_rows *v, size_t from, int by)
{
    for (size_t i = from; i < v->count; i++)
        v->rows[i].entry.index = (uint32_t)((int64_t)v->rows[i].entry.index + by);
}

static int change_row(struct vector_rows *v, const struct rwf_vector_entry *entry, bool is_sorted)
{
    size_t at = position(v, entry->index);
    bool is_there = at < v->count && v->rows[at].entry.index == entry->index;
    struct vector_row row = { .entry = *entry };

    switch (entry->action) {
    case RWF_VECTOR_INSERT:
        if (is_sorted)
            shift(v, at, 1);
        return insert_row(v, at, row);
    case RWF_VECTOR_DELETE:
        if (is_there) {
            memmove(&v->rows[at], &v->rows[at + 1], (v->count - at - 1) * sizeof(v->rows[0]));
            v->count--;
        }
        if (is_sorted)
            shift(v, at, -1);
        return RWF_OK;
    case RWF_VECTOR_CLEAR:
        row.entry.data = rwf_bytes(NULL, 0);
        break;
    case RWF_VECTOR_UPDATE:
        if (!is_there)
            break;
        row.old = v->rows[at].is_old ? v->rows[at].entry.data : v->rows[at].old;
        if (cache_keep_lock(v->rows[at].entry.has_perm, v->rows[at].entry.perm, &row.entry.has_perm,
                            &row.entry.perm) < 0)
            return MD_ERR_UNSUPPORTED;
        break;
    default:
        break;
    }
    if (!is_there)
        return insert_row(v, at, row);
    v->rows[at] = row;
    return RWF_OK;
}

static int write_rows(const struct cache *cache, struct rwf_encoder *enc,
                      const struct vector_rows *v, unsigned container, const struct rwf_sets *sets)
{
    for (size_t i = 0; i < v->count; i++) {
        struct rwf_vector_entry entry = v->rows[i].entry;
        int rc;

        if (entry.action == RWF_VECTOR_CLEAR) {
            rc = rwf_vector_add(enc, &entry);
        } else {
            entry.action = RWF_VECTOR_SET;
            if (v->rows[i].is_old || container == RWF_TYPE_NO_DATA) {
                rc = rwf_vector_add(enc, &entry);
            } else {
                rwf_vector_entry_start(enc, &entry);
                rc = cache_merge(cache, enc, container, v->rows[i].old, entry.data, sets);
                if (rc >= 0)
                    rc = rwf_vector_entry_finish(enc);
            }
        }
        if (rc < 0)
            return rc;
    }
    return RWF_OK;
}

static int collect_rows(struct vector_rows *v, struct rwf_vector *list, struct rwf_vector *changes,
                        bool is_sorted)
{
    struct rwf_vector_entry entry;
    int rc;

    while ((rc = rwf_vector_next(list, &entry)) > 0) {
        struct vector_row row = { .entry = entry, .is_old = true };
        int err = insert_row(v, position(v, entry.index), row);
        if (err < 0)
            return err;
    }
    while (rc >= 0 && (rc = rwf_vector_next(changes, &entry)) > 0) {
        int err = change_row(v, &entry, is_sorted);
        if (err < 0)
            return err;
    }
    return rc;
}

static int merge_vector(const struct cache *cache, struct rwf_encoder *enc, struct rwf_bytes old,
                        struct rwf_bytes update)
{
    struct rwf_vector list;
    struct rwf_vector changes;
    struct vector_rows v = { 0 };
    struct rwf_set_db db;
    struct rwf_sets sets;
    int rc = rwf_vector_decode(old, &list);

    if (rc >= 0)
        rc = rwf_vector_decode(update, &changes);
    if (rc >= 0)
        rc = scope_of(changes.info.set_defs, has(changes.info.flags, RWF_VECTOR_HAS_SET_DEFS),
                      changes.info.container, &db, &sets);
    if (rc < 0)
        return rc;
    struct rwf_vector_info info = old.length ? list.info : changes.info;
    bool has_summary = has(info.flags | changes.info.flags, RWF_VECTOR_HAS_SUMMARY);
    info.flags &= RWF_VECTOR_SUPPORTS_SORTING;
    if (has_summary)
        info.flags |= RWF_VECTOR_HAS_SUMMARY;
    info.summary = rwf_bytes(NULL, 0);
    rc = collect_rows(&v, &list, &changes, has(info.flags, RWF_VECTOR_SUPPORTS_SORTING));
    if (rc >= 0)
        rc = rwf_vector_start(enc, &info);
    if (rc >= 0 && has_summary)
        rc = merge_summary(cache, enc, info.container, list.info.summary, changes.info.summary,
                           &sets);
    if (rc >= 0)
        rc = write_rows(cache, enc, &v, info.container, &sets);
    free(v.rows);
    return rc < 0 ? rc : rwf_vector_finish(enc);
}

/* ---- filter lists ---- */

static int add_filter(const struct cache *cache, struct rwf_encoder *enc,
                      struct rwf_filter_entry entry, struct rwf_bytes old)
{
    entry.action = RWF_FILTER_SET;
    rwf_filter_entry_start(enc, &entry);
    int rc = cache_merge(cache, enc, entry.container, old, entry.data, NULL);
    return rc < 0 ? rc : rwf_filter_entry_finish(enc);
}

static int merge_filters(const struct cache *cache, struct rwf_encoder *enc, struct rwf_bytes old,
                         struct rwf_bytes update)
{
    struct rwf_filter_list list;
    struct rwf_filter_list changes;
    struct rwf_filter_entry entry;
    struct rwf_filter_entry other = { 0 };
    int rc = rwf_filter_list_decode(old, &list);

    if (rc >= 0)
        rc = rwf_filter_list_decode(update, &changes);
    if (rc < 0)
        return rc;
    struct rwf_filter_list_info info = old.length ? list.info : changes.info;
    const struct rwf_filter_list all_old = list;
    const struct rwf_filter_list all_changes = changes;
    info.flags = 0;
    rwf_filter_list_start(enc, &info);
    while ((rc = rwf_filter_list_next(&list, &entry)) > 0) {
        int found = cache_find_filter(&all_changes, entry.id, &other);
        if (found < 0)
            return found;
        if (found && other.action == RWF_FILTER_CLEAR)
            continue;
        bool merges =
            found && other.action == RWF_FILTER_UPDATE && other.container == entry.container;
        if (merges)
            rc = cache_keep_lock(entry.has_perm, entry.perm, &other.has_perm, &other.perm);
        if (rc >= 0)
            rc = add_filter(cache, enc, found ? other : entry,
                            merges ? entry.data : rwf_bytes(NULL, 0));
        if (rc < 0)
            return rc;
    }
    while (rc >= 0 && (rc = rwf_filter_list_next(&changes, &entry)) > 0) {
        int found = cache_find_filter(&all_old, entry.id, &other);
        if (found < 0)
            return found;
        if (!found && entry.action != RWF_FILTER_CLEAR)
            rc = add_filter(cache, enc, entry, rwf_bytes(NULL, 0));
        if (rc < 0)
            return rc;
    }
    return rc < 0 ? rc : rwf_filter_list_finish(enc);
}

/* ---- series ---- */

static int add_rows(const struct cache *cache, struct rwf_encoder *enc, struct rwf_series *series,
                    unsigned container, const struct rwf_sets *sets)
{
    struct rwf_bytes row;
    int rc;

    while ((rc = rwf_series_next(series, &row)) > 0) {
        rwf_series_entry_start(enc);
        int err = cache_merge(cache, enc, container, rwf_bytes(NULL, 0), row, sets);
        if (err < 0)
            return err;
        rwf_series_entry_finish(enc);
    }
    return rc;
}

static int merge_series(const struct cache *cache, struct rwf_encoder *enc, struct rwf_bytes old,
                        struct rwf_bytes update)
{
    struct rwf_series list;
    struct rwf_series more;
    struct rwf_set_db db;
    struct rwf_sets sets;
    int rc = rwf_series_decode(old, &list);

    if (rc >= 0)
        rc = rwf_series_decode(update, &more);
    if (rc >= 0)
        rc = scope_of(more.info.set_defs, has(more.info.flags, RWF_SERIES_HAS_SET_DEFS),
                      more.info.container, &db, &sets);
    if (rc < 0)
        return rc;
    struct rwf_series_info info = old.length ? list.info : more.info;
    bool has_summary = has(info.flags | more.info.flags, RWF_SERIES_HAS_SUMMARY);
    info.flags = has_summary ? RWF_SERIES_HAS_SUMMARY : 0;
    info.summary = rwf_bytes(NULL, 0);
    rwf_series_start(enc, &info);
    if (has_summary)
        rc = merge_summary(cache, enc, info.container, list.info.summary, more.info.summary, &sets);
    if (rc >= 0)
        rc = add_rows(cache, enc, &list, info.container, NULL);
    if (rc >= 0)
        rc = add_rows(cache, enc, &more, info.container, &sets);
    return rc < 0 ? rc : rwf_series_finish(enc);
}

int cache_merge(const struct cache *cache, struct rwf_encoder *enc, unsigned type,
                struct rwf_bytes old, struct rwf_bytes update, const struct rwf_sets *sets)
{
    /* The encoder refuses to nest too deep; asking it first keeps the recursion as shallow. */
    if (rwf_encoder_error(enc) < 0)
        return rwf_encoder_error(enc);
    switch (type) {
    case RWF_TYPE_FIELD_LIST:
        return merge_fields(cache, enc, old, update, sets);
    case RWF_TYPE_ELEMENT_LIST:
        return merge_elements(enc, old, update, sets);
    case RWF_TYPE_MAP:
        return merge_map(cache, enc, old, update);
    case RWF_TYPE_VECTOR:
        return merge_vector(cache, enc, old, update);
    case RWF_TYPE_FILTER_LIST:
        return merge_filters(cache, enc, old, update);
    case RWF_TYPE_SERIES:
        return merge_series(cache, enc, old, update);
    default:
        return rwf_raw_add(enc, update);
    }
}
