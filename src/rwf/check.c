/* check.c - everything of a message decoded once, to know that it can be; see rwf_check(). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rmds/rwf_container.h"
#include "rmds/rwf_message.h"
#include "rmds/rwf_value.h"

static const struct rwf_check no_check = { 0 };

static int check_any(unsigned type, struct rwf_bytes bytes, const struct rwf_check *check,
                     const struct rwf_sets *sets, unsigned depth);

static int check_array(struct rwf_bytes bytes)
{
    struct rwf_array array;
    struct rwf_bytes item;
    struct rwf_value value;
    int rc = rwf_array_decode(bytes, &array);

    while (rc >= 0 && (rc = rwf_array_next(&array, &item)) > 0) {
        rc = rwf_value_decode(array.item_type, item, &value);
        if (rc < 0)
            return rc;
    }
    return rc;
}

/* The inside of a list's entry is outside the scope of local definitions. */
static struct rwf_sets inner_sets(const struct rwf_sets *sets)
{
    struct rwf_sets inner = { 0 };

    if (sets) {
        inner = *sets;
        inner.local = NULL;
    }
    return inner;
}

static int check_field_list(struct rwf_bytes bytes, const struct rwf_check *check,
                            const struct rwf_sets *sets, unsigned depth)
{
    struct rwf_field_list list;
    struct rwf_field field;
    struct rwf_sets inner = inner_sets(sets);
    int rc = rwf_field_list_decode(bytes, sets, &list);

    while (rc >= 0 && (rc = rwf_field_list_next(&list, &field)) > 0) {
        unsigned type = field.type;

        if (type == RWF_TYPE_UNKNOWN && check->field_type)
            type = check->field_type(check->context, field.id);
        rc = check_any(type, field.content, check, &inner, depth);
        if (rc < 0)
            return rc;
    }
    return rc;
}

static int check_element_list(struct rwf_bytes bytes, const struct rwf_check *check,
                              const struct rwf_sets *sets, unsigned depth)
{
    struct rwf_element_list list;
    struct rwf_element element;
    struct rwf_sets inner = inner_sets(sets);
    int rc = rwf_element_list_decode(bytes, sets, &list);

    while (rc >= 0 && (rc = rwf_element_list_next(&list, &element)) > 0) {
        rc = check_any(element.type, element.content, check, &inner, depth);
        if (rc < 0)
            return rc;
    }
    return rc;
}

/* The definitions of a container come into the scope of its summary and entries. */
static int open_sets(unsigned container, bool has_defs, struct rwf_bytes defs,
                     const struct rwf_sets *outer, struct rwf_set_db *db, struct rwf_sets *sets)
{
    *sets = outer ? *outer : (struct rwf_sets){ 0 };
    if (!has_defs)
        return RWF_OK;
    if (container != RWF_TYPE_FIELD_LIST && container != RWF_TYPE_ELEMENT_LIST)
        return RWF_OK; /* definitions that no list can use */
    sets->local = db;
    return rwf_set_db_decode(
        defs, container == RWF_TYPE_FIELD_LIST ? RWF_SET_FIELDS : RWF_SET_ELEMENTS, db);
}

static int check_map(struct rwf_bytes bytes, const struct rwf_check *check,
                     const struct rwf_sets *sets, unsigned depth)
{
    struct rwf_set_db db;
    struct rwf_sets scope;
    struct rwf_map map;
    struct rwf_map_entry entry;
    struct rwf_value key;
    int rc = rwf_map_decode(bytes, &map);

    if (rc == RWF_OK)
        rc = open_sets(map.info.container, map.info.flags & RWF_MAP_HAS_SET_DEFS, map.info.set_defs,
                       sets, &db, &scope);
    if (rc == RWF_OK)
        rc = check_any(map.info.container, map.info.summary, check, &scope, depth);
    while (rc >= 0 && (rc = rwf_map_next(&map, &entry)) > 0) {
        rc = rwf_value_decode(map.info.key_type, entry.key, &key);
        if (rc == RWF_OK)
            rc = check_any(map.info.container, entry.data, check, &scope, depth);
        if (rc < 0)
            return rc;
    }
    return rc;
}

static int check_vector(struct rwf_bytes bytes, const struct rwf_check *check,
                        const struct rwf_sets *sets, unsigned depth)
{
    struct rwf_set_db db;
    struct rwf_sets scope;
    struct rwf_vector vector;
    struct rwf_vector_entry entry;
    int rc = rwf_vector_decode(bytes, &vector);

    if (rc == RWF_OK)
        rc = open_sets(vector.info.container, vector.info.flags & RWF_VECTOR_HAS_SET_DEFS,
                       vector.info.set_defs, sets, &db, &scope);
    if (rc == RWF_OK)
        rc = check_any(vector.info.container, vector.info.summary, check, &scope, depth);
    while (rc >= 0 && (rc = rwf_vector_next(&vector, &entry)) > 0) {
        rc = check_any(vector.info.container, entry.data, check, &scope, depth);
        if (rc < 0)
            return rc;
    }
    return rc;
}

static int check_series(struct rwf_bytes bytes, const struct rwf_check *check,
                        const struct rwf_sets *sets, unsigned depth)
{
    struct rwf_set_db db;
    struct rwf_sets scope;
    struct rwf_series series;
    struct rwf_bytes data;
    int rc = rwf_series_decode(bytes, &series);

    if (rc == RWF_OK)
        rc = open_sets(series.info.container, series.info.flags & RWF_SERIES_HAS_SET_DEFS,
                       series.info.set_defs, sets, &db, &scope);
    if (rc == RWF_OK)
        rc = check_any(series.info.container, series.info.summary, check, &scope, depth);
    if (rc < 0 || series.info.container == RWF_TYPE_NO_DATA)
        return rc; /* 65535 entries in five bytes: there is nothing to see in them */
    while (rc >= 0 && (rc = rwf_series_next(&series, &data)) > 0) {
        rc = check_any(series.info.container, data, check, &scope, depth);
        if (rc < 0)
            return rc;
    }
    return rc;
}

static int check_filter_list(struct rwf_bytes bytes, const struct rwf_check *check,
                             const struct rwf_sets *sets, unsigned depth)
{
    struct rwf_filter_list list;
    struct rwf_filter_entry entry;
    struct rwf_sets inner = inner_sets(sets);
    int rc = rwf_filter_list_decode(bytes, &list);

    while (rc >= 0 && (rc = rwf_filter_list_next(&list, &entry)) > 0) {
        rc = check_any(entry.container, entry.data, check, &inner, depth);
        if (rc < 0)
            return rc;
    }
    return rc;
}

static int check_msg(struct rwf_bytes bytes, const struct rwf_check *check,
                     const struct rwf_sets *sets, unsigned depth)
{
    struct rwf_msg msg;
    struct rwf_sets inner = inner_sets(sets);
    int rc = rwf_msg_decode(bytes, &msg);

    if (rc == RWF_OK)
        rc = check_any(msg.key.attrib_type, msg.key.attrib, check, &inner, depth);
    if (rc == RWF_OK)
        rc = check_any(msg.req_key.attrib_type, msg.req_key.attrib, check, &inner, depth);
    if (rc == RWF_OK)
        rc = check_any(msg.container, msg.payload, check, sets, depth);
    return rc;
}

/* Containers of containers, by their type less that of a field list. */
static int (*const nesting[])(struct rwf_bytes bytes, const struct rwf_check *check,
                              const struct rwf_sets *sets, unsigned depth) = {
    [0] = check_field_list,
    [RWF_TYPE_ELEMENT_LIST - RWF_TYPE_FIELD_LIST] = check_element_list,
    [RWF_TYPE_FILTER_LIST - RWF_TYPE_FIELD_LIST] = check_filter_list,
    [RWF_TYPE_VECTOR - RWF_TYPE_FIELD_LIST] = check_vector,
    [RWF_TYPE_MAP - RWF_TYPE_FIELD_LIST] = check_map,
    [RWF_TYPE_SERIES - RWF_TYPE_FIELD_LIST] = check_series,
    [RWF_TYPE_MSG - RWF_TYPE_FIELD_LIST] = check_msg,
};

/* `depth` levels are open around these bytes. */
static int check_any(unsigned type, struct rwf_bytes bytes, const struct rwf_check *check,
                     const struct rwf_sets *sets, unsigned depth)
{
    struct rwf_value value;
    unsigned at = type - RWF_TYPE_FIELD_LIST;

    if (bytes.length == 0)
        return RWF_OK;
    if (at < sizeof(nesting) / sizeof(nesting[0]) && nesting[at])
        return depth >= RWF_DEPTH_MAX ? RWF_ERR_DEPTH : nesting[at](bytes, check, sets, depth + 1);
    return type == RWF_TYPE_ARRAY ? check_array(bytes) : rwf_value_decode(type, bytes, &value);
}

int rwf_check(unsigned type, struct rwf_bytes bytes, const struct rwf_check *check)
{
    if (!check)
        check = &no_check;
    if (bytes.length == 0 && type == RWF_TYPE_MSG)
        return RWF_ERR_SHORT;
    return check_any(type, bytes, check, check->sets, 0);
}
