/* container.c - iterators over maps, vectors, series, filter lists, arrays. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rmds/rwf_container.h"

#include "wire.h"

/*
 * The heads, in wire order (flags of the container decide about members in brackets):
 *
 *  map     u8 flags  u8 key type  ct8  [i16 key field id] [buf15 set defs] [buf15 summary]
 *          [RB30 hint]  u16 count
 *  vector  u8 flags  ct8  [buf15 set defs] [buf15 summary] [RB30 hint]  u16 count
 *  series  u8 flags  ct8  [buf15 set defs] [buf15 summary] [RB30 hint]  u16 count
 *  filter  u8 flags  ct8  [u8 hint]  u8 count
 *  array   u8 item type  OB16 item length  u16 count
 */
#define CONTAINER_BASE      128
#define ENTRY_ACTION_BITS   0x0f
#define ENTRY_FLAGS_SHIFT   4
#define ENTRY_HAS_PERM      1
#define ENTRY_HAS_CONTAINER 2 /* filter list */

static uint16_t rd_container(struct md_rd *rd)
{
    return (uint16_t)(CONTAINER_BASE + md_rd_u8(rd));
}

/* ---- map ---- */

int rwf_map_decode(struct rwf_bytes bytes, struct rwf_map *map)
{
    struct md_rd rd = md_rd_init(bytes.data, bytes.length);

    *map = (struct rwf_map){ .info = { .container = RWF_TYPE_NO_DATA } };
    if (bytes.length == 0)
        return RWF_OK;
    map->info.flags = md_rd_u8(&rd);
    map->info.key_type = (uint8_t)rwf_type_base(md_rd_u8(&rd));
    map->info.container = rd_container(&rd);
    if (map->info.flags & RWF_MAP_HAS_KEY_FIELD_ID)
        map->info.key_field_id = (int16_t)md_rd_u16(&rd);
    if (map->info.flags & RWF_MAP_HAS_SET_DEFS)
        map->info.set_defs = wire_rd_buf15(&rd);
    if (map->info.flags & RWF_MAP_HAS_SUMMARY)
        map->info.summary = wire_rd_buf15(&rd);
    if (map->info.flags & RWF_MAP_HAS_HINT)
        map->info.hint = wire_rd_rb30(&rd);
    map->count = md_rd_u16(&rd);
    if (!md_rd_ok(&rd))
        return map->err = RWF_ERR_SHORT;
    map->pos = rd.pos;
    map->end = rd.end;
    map->left = map->count;
    return RWF_OK;
}

static int map_entry(const struct rwf_map *map, const uint8_t **pos, struct rwf_map_entry *entry)
{
    int rc;

    if (*pos == map->end)
        return RWF_ERR_SHORT;
    unsigned byte = *(*pos)++;
    entry->action = byte & ENTRY_ACTION_BITS;
    if ((map->info.flags & RWF_MAP_HAS_ENTRY_PERM) &&
        (byte >> ENTRY_FLAGS_SHIFT & ENTRY_HAS_PERM)) {
        entry->has_perm = true;
        rc = wire_buf15(pos, map->end, &entry->perm);
        if (rc < 0)
            return rc;
    }
    rc = wire_buf15(pos, map->end, &entry->key);
    if (rc < 0)
        return rc;
    if (entry->key.length == 0)
        return RWF_ERR_MALFORMED;
    if (entry->action == RWF_MAP_DELETE || map->info.container == RWF_TYPE_NO_DATA)
        return RWF_OK;
    return wire_buf16(pos, map->end, &entry->data);
}

int rwf_map_next(struct rwf_map *map, struct rwf_map_entry *entry)
{
    *entry = (struct rwf_map_entry){ 0 };
    if (map->left == 0)
        return map->err;
    int rc = map_entry(map, &map->pos, entry);
    if (rc < 0) {
        map->left = 0;
        return map->err = rc;
    }
    map->left--;
    return 1;
}

/* ---- vector ---- */

int rwf_vector_decode(struct rwf_bytes bytes, struct rwf_vector *vector)
{
    struct md_rd rd = md_rd_init(bytes.data, bytes.length);

    *vector = (struct rwf_vector){ .info = { .container = RWF_TYPE_NO_DATA } };
    if (bytes.length == 0)
        return RWF_OK;
    vector->info.flags = md_rd_u8(&rd);
    vector->info.container = rd_container(&rd);
    if (vector->info.flags & RWF_VECTOR_HAS_SET_DEFS)
        vector->info.set_defs = wire_rd_buf15(&rd);
    if (vector->info.flags & RWF_VECTOR_HAS_SUMMARY)
        vector->info.summary = wire_rd_buf15(&rd);
    if (vector->info.flags & RWF_VECTOR_HAS_HINT)
        vector->info.hint = wire_rd_rb30(&rd);
    vector->count = md_rd_u16(&rd);
    if (!md_rd_ok(&rd))
        return vector->err = RWF_ERR_SHORT;
    vector->pos = rd.pos;
    vector->end = rd.end;
    vector->left = vector->count;
    return RWF_OK;
}

static int vector_entry(struct rwf_vector *vector, struct rwf_vector_entry *entry)
{
    struct md_rd rd = { .pos = vector->pos, .end = vector->end };
    uint8_t byte = md_rd_u8(&rd);

    entry->action = byte & ENTRY_ACTION_BITS;
    entry->index = wire_rd_rb30(&rd);
    if ((vector->info.flags & RWF_VECTOR_HAS_ENTRY_PERM) &&
        (byte >> ENTRY_FLAGS_SHIFT & ENTRY_HAS_PERM)) {
        entry->has_perm = true;
        entry->perm = wire_rd_buf15(&rd);
    }
    if (!md_rd_ok(&rd))
        return RWF_ERR_SHORT;
    vector->pos = rd.pos;
    if (entry->action == RWF_VECTOR_CLEAR || entry->action == RWF_VECTOR_DELETE ||
        vector->info.container == RWF_TYPE_NO_DATA)
        return RWF_OK;
    return wire_buf16(&vector->pos, vector->end, &entry->data);
}

int rwf_vector_next(struct rwf_vector *vector, struct rwf_vector_entry *entry)
{
    *entry = (struct rwf_vector_entry){ 0 };
    if (vector->left == 0)
        return vector->err;
    int rc = vector_entry(vector, entry);
    if (rc < 0) {
        vector->left = 0;
        return vector->err = rc;
    }
    vector->left--;
    return 1;
}

/* ---- series ---- */

int rwf_series_decode(struct rwf_bytes bytes, struct rwf_series *series)
{
    struct md_rd rd = md_rd_init(bytes.data, bytes.length);

    *series = (struct rwf_series){ .info = { .container = RWF_TYPE_NO_DATA } };
    if (bytes.length == 0)
        return RWF_OK;
    series->info.flags = md_rd_u8(&rd);
    series->info.container = rd_container(&rd);
    if (series->info.flags & RWF_SERIES_HAS_SET_DEFS)
        series->info.set_defs = wire_rd_buf15(&rd);
    if (series->info.flags & RWF_SERIES_HAS_SUMMARY)
        series->info.summary = wire_rd_buf15(&rd);
    if (series->info.flags & RWF_SERIES_HAS_HINT)
        series->info.hint = wire_rd_rb30(&rd);
    series->count = md_rd_u16(&rd);
    if (!md_rd_ok(&rd))
        return series->err = RWF_ERR_SHORT;
    series->pos = rd.pos;
    series->end = rd.end;
    series->left = series->count;
    return RWF_OK;
}

int rwf_series_next(struct rwf_series *series, struct rwf_bytes *data)
{
    *data = (struct rwf_bytes){ 0 };
    if (series->left == 0)
        return series->err;
    if (series->info.container != RWF_TYPE_NO_DATA) {
        int rc = wire_buf16(&series->pos, series->end, data);

        if (rc < 0) {
            series->left = 0;
            return series->err = rc;
        }
    }
    series->left--;
    return 1;
}

/* ---- filter list ---- */

int rwf_filter_list_decode(struct rwf_bytes bytes, struct rwf_filter_list *list)
{
    struct md_rd rd = md_rd_init(bytes.data, bytes.length);

    *list = (struct rwf_filter_list){ .info = { .container = RWF_TYPE_NO_DATA } };
    if (bytes.length == 0)
        return RWF_OK;
    list->info.flags = md_rd_u8(&rd);
    list->info.container = rd_container(&rd);
    if (list->info.flags & RWF_FILTER_HAS_HINT)
        list->info.hint = md_rd_u8(&rd);
    list->count = md_rd_u8(&rd);
    if (!md_rd_ok(&rd))
        return list->err = RWF_ERR_SHORT;
    list->pos = rd.pos;
    list->end = rd.end;
    list->left = list->count;
    return RWF_OK;
}

static int filter_entry(struct rwf_filter_list *list, struct rwf_filter_entry *entry)
{
    struct md_rd rd = { .pos = list->pos, .end = list->end };
    uint8_t byte = md_rd_u8(&rd);

    entry->action = byte & ENTRY_ACTION_BITS;
    entry->id = md_rd_u8(&rd);
    entry->container = list->info.container;
    if (byte >> ENTRY_FLAGS_SHIFT & ENTRY_HAS_CONTAINER) {
        entry->has_container = true;
        entry->container = rd_container(&rd);
    }
    if ((list->info.flags & RWF_FILTER_HAS_ENTRY_PERM) &&
        (byte >> ENTRY_FLAGS_SHIFT & ENTRY_HAS_PERM)) {
        entry->has_perm = true;
        entry->perm = wire_rd_buf15(&rd);
    }
    if (!md_rd_ok(&rd))
        return RWF_ERR_SHORT;
    list->pos = rd.pos;
    if (entry->action == RWF_FILTER_CLEAR || entry->container == RWF_TYPE_NO_DATA)
        return RWF_OK;
    return wire_buf16(&list->pos, list->end, &entry->data);
}

int rwf_filter_list_next(struct rwf_filter_list *list, struct rwf_filter_entry *entry)
{
    *entry = (struct rwf_filter_entry){ 0 };
    if (list->left == 0)
        return list->err;
    int rc = filter_entry(list, entry);
    if (rc < 0) {
        list->left = 0;
        return list->err = rc;
    }
    list->left--;
    return 1;
}

/* ---- array ---- */

static bool item_type_is_legal(unsigned type)
{
    return (type >= RWF_TYPE_INT && type <= RWF_TYPE_DOUBLE) ||
           (type >= RWF_TYPE_REAL && type <= RWF_TYPE_RMTES && type != RWF_TYPE_ARRAY);
}

int rwf_array_decode(struct rwf_bytes bytes, struct rwf_array *array)
{
    struct md_rd rd = md_rd_init(bytes.data, bytes.length);

    *array = (struct rwf_array){ 0 };
    if (bytes.length == 0)
        return RWF_OK;

    unsigned type = rwf_type_base(md_rd_u8(&rd));

    array->item_length = wire_rd_ob16(&rd);
    array->count = md_rd_u16(&rd);
    if (!md_rd_ok(&rd))
        return array->err = RWF_ERR_SHORT;
    if (!item_type_is_legal(type))
        return array->err = RWF_ERR_MALFORMED;
    array->item_type = (uint8_t)type;
    array->pos = rd.pos;
    array->end = rd.end;
    array->left = array->count;
    return RWF_OK;
}

int rwf_array_next(struct rwf_array *array, struct rwf_bytes *item)
{
    int rc = RWF_OK;

    *item = (struct rwf_bytes){ 0 };
    if (array->left == 0)
        return array->err;
    if (array->item_length == 0) {
        rc = wire_buf16(&array->pos, array->end, item);
    } else if (array->item_length > (size_t)(array->end - array->pos)) {
        rc = RWF_ERR_SHORT;
    } else {
        *item = rwf_bytes(array->pos, array->item_length);
        array->pos += array->item_length;
    }
    if (rc < 0) {
        array->left = 0;
        return array->err = rc;
    }
    array->left--;
    return 1;
}
