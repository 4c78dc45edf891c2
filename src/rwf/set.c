/* set.c - set definitions, and set data cut into its contents; see rmds/rwf_container.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "set.h"

/* Widths by type - RWF_TYPE_INT_1; 0: the length is in the data. */
static const uint8_t widths[] = { 1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 0, 0, 4, 3, 5, 7, 9, 11, 12, 7, 8 };

#define SET_TYPE_LAST (RWF_TYPE_INT_1 + sizeof(widths) - 1)

unsigned wire_set_width(unsigned type)
{
    return type >= RWF_TYPE_INT_1 && type <= SET_TYPE_LAST ? widths[type - RWF_TYPE_INT_1] : 0;
}

bool wire_set_type_is_legal(unsigned type)
{
    if (type >= RWF_TYPE_INT_1 && type <= SET_TYPE_LAST)
        return true;
    switch (type) {
    case RWF_TYPE_INT:
    case RWF_TYPE_UINT:
    case RWF_TYPE_FLOAT:
    case RWF_TYPE_DOUBLE:
    case RWF_TYPE_REAL:
    case RWF_TYPE_DATE:
    case RWF_TYPE_TIME:
    case RWF_TYPE_DATETIME:
    case RWF_TYPE_QOS:
    case RWF_TYPE_ENUM:
    case RWF_TYPE_ARRAY:
    case RWF_TYPE_BUFFER:
    case RWF_TYPE_ASCII:
    case RWF_TYPE_UTF8:
    case RWF_TYPE_RMTES:
    case RWF_TYPE_OPAQUE:
    case RWF_TYPE_XML:
    case RWF_TYPE_FIELD_LIST:
    case RWF_TYPE_ELEMENT_LIST:
    case RWF_TYPE_ANSI_PAGE:
    case RWF_TYPE_FILTER_LIST:
    case RWF_TYPE_VECTOR:
    case RWF_TYPE_MAP:
    case RWF_TYPE_SERIES:
    case RWF_TYPE_MSG:
        return true;
    default:
        return false;
    }
}

/* The two top bits of the first byte say how many bytes follow. */
static size_t real_rb_width(unsigned type, uint8_t first)
{
    size_t step = first >> 6;

    return type == RWF_TYPE_REAL_4RB ? 2 + step : 3 + step * 2;
}

int set_content_take(unsigned type, const uint8_t **pos, const uint8_t *end,
                     struct rwf_bytes *content)
{
    size_t left = (size_t)(end - *pos);
    size_t width = wire_set_width(type);

    if (width == 0) {
        if (type > RWF_TYPE_QOS && type != RWF_TYPE_REAL_4RB && type != RWF_TYPE_REAL_8RB)
            return wire_buf16(pos, end, content);
        if (left == 0)
            return RWF_ERR_SHORT;
        if (type <= RWF_TYPE_QOS) {
            width = (*pos)[0];
            (*pos)++;
            left--;
        } else {
            width = real_rb_width(type, (*pos)[0]);
        }
    }
    if (width > left)
        return RWF_ERR_SHORT;
    *content = rwf_bytes(*pos, width);
    *pos += width;
    return RWF_OK;
}

int rwf_set_def_next(const struct rwf_set_def *def, enum rwf_set_kind kind, size_t *pos,
                     struct rwf_set_entry *entry)
{
    struct md_rd rd = md_rd_init(def->entries.data, def->entries.length);

    *entry = (struct rwf_set_entry){ 0 };
    md_rd_bytes(&rd, *pos);
    if (md_rd_left(&rd) == 0)
        return md_rd_ok(&rd) ? 0 : RWF_ERR_SHORT;
    if (kind == RWF_SET_FIELDS)
        entry->field_id = (int16_t)md_rd_u16(&rd);
    else
        entry->name = wire_rd_buf15(&rd);
    entry->type = md_rd_u8(&rd);
    if (!md_rd_ok(&rd))
        return RWF_ERR_SHORT;
    *pos = (size_t)(rd.pos - def->entries.data);
    return 1;
}

/* Steps over the entries of one definition and checks their types. */
static int take_def(struct md_rd *rd, enum rwf_set_kind kind, struct rwf_set_def *def)
{
    def->id = wire_rd_rb15(rd);
    def->count = md_rd_u8(rd);

    const uint8_t *start = rd->pos;
    for (unsigned i = 0; i < def->count && md_rd_ok(rd); i++) {
        if (kind == RWF_SET_FIELDS)
            md_rd_u16(rd);
        else
            wire_rd_buf15(rd);
        unsigned type = md_rd_u8(rd);
        if (md_rd_ok(rd) && !wire_set_type_is_legal(type))
            return RWF_ERR_MALFORMED;
    }
    if (!md_rd_ok(rd))
        return RWF_ERR_SHORT;
    def->entries = rwf_bytes(start, (size_t)(rd->pos - start));
    return RWF_OK;
}

int rwf_set_db_decode(struct rwf_bytes bytes, enum rwf_set_kind kind, struct rwf_set_db *db)
{
    struct md_rd rd = md_rd_init(bytes.data, bytes.length);
    uint32_t seen = 0;

    db->kind = (uint8_t)kind;
    db->count = 0;
    md_rd_u8(&rd); /* flags, none defined */
    uint8_t count = md_rd_u8(&rd);
    if (!md_rd_ok(&rd))
        return RWF_ERR_SHORT;
    if (count > RWF_SET_LOCAL_MAX)
        return RWF_ERR_MALFORMED;
    for (unsigned i = 0; i < count; i++) {
        int rc = take_def(&rd, kind, &db->def[i]);

        if (rc < 0)
            return rc;
        if (db->def[i].id > RWF_SET_ID_LOCAL || (seen & 1u << db->def[i].id))
            return RWF_ERR_MALFORMED;
        seen |= 1u << db->def[i].id;
    }
    db->count = count;
    return RWF_OK;
}

static const struct rwf_set_def *find_global(const struct rwf_set_global *global, uint16_t id)
{
    size_t low = 0;
    size_t high = global ? global->count : 0;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (global->def[middle].id == id)
            return &global->def[middle];
        if (global->def[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

const struct rwf_set_def *rwf_sets_find(const struct rwf_sets *sets, enum rwf_set_kind kind,
                                        uint16_t id)
{
    if (!sets)
        return NULL;
    if (id > RWF_SET_ID_LOCAL)
        return find_global(kind == RWF_SET_FIELDS ? sets->global_fields : sets->global_elements,
                           id);
    if (!sets->local || sets->local->kind != kind)
        return NULL;
    for (unsigned i = 0; i < sets->local->count; i++) {
        if (sets->local->def[i].id == id)
            return &sets->local->def[i];
    }
    return NULL;
}
