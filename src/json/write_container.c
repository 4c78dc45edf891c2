/* write_container.c - containers of RWF as JSON. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "names.h"
#include "write_message.h"
#include "json/parse.h"

/* ---- field list, element list ---- */

static void write_enum(struct json_writer *w, const struct rwf_field_def *def, uint16_t number)
{
    const struct rwf_enum_value *value =
        w->context->expands_enums ? rwf_enum_find(def->enums, number) : NULL;

    if (!value)
        json_uint(&w->out, number);
    else if (!value->quoted)
        json_rmtes(&w->out, rwf_bytes(value->display, value->display_length));
    else if (value->quoted_length > 16 || !json_has(&w->out, 16))
        json_put(&w->out, value->quoted, value->quoted_length);
    else {
        memcpy(w->out.pos, value->quoted, 16);
        w->out.pos += value->quoted_length;
    }
}

/* A value that does not decode is null: the values beside it are good. */
static void write_member(struct json_writer *w, unsigned type, struct rwf_bytes content,
                         const struct rwf_sets *sets)
{
    const struct json_out before = w->out;
    unsigned depth = w->depth;

    if (json_write_value(w, type, content, sets) >= 0)
        return;
    w->out = before;
    w->depth = depth;
    json_lit(&w->out, "null");
}

/* A value of one of the types that most fields have; false when it is another or does not decode.
 */
static bool write_common(struct json_writer *w, const struct rwf_field_def *def, unsigned type,
                         struct rwf_bytes content)
{
    union {
        struct rwf_real real;
        struct rwf_time time;
        struct rwf_date date;
        uint64_t u;
        int64_t i;
        uint16_t number;
    } value;
    struct json_out *out = &w->out;
    bool is_good;

    switch (type) {
    case RWF_TYPE_REAL:
        if ((is_good = rwf_real_decode(content, &value.real) == RWF_OK))
            json_real(out, &value.real);
        return is_good;
    case RWF_TYPE_ENUM:
        if ((is_good = rwf_enum_decode(content, &value.number) == RWF_OK))
            write_enum(w, def, value.number);
        return is_good;
    case RWF_TYPE_UINT:
        if ((is_good = rwf_uint_decode(content, &value.u) == RWF_OK))
            json_uint(out, value.u);
        return is_good;
    case RWF_TYPE_INT:
        if ((is_good = rwf_int_decode(content, &value.i) == RWF_OK))
            json_int(out, value.i);
        return is_good;
    case RWF_TYPE_TIME:
        if ((is_good = rwf_time_decode(content, &value.time) == RWF_OK))
            json_time(out, &value.time);
        return is_good;
    case RWF_TYPE_DATE:
        if ((is_good = rwf_date_decode(content, &value.date) == RWF_OK))
            json_date(out, &value.date);
        return is_good;
    case RWF_TYPE_RMTES:
        if ((is_good = content.length > 0))
            json_rmtes(out, content);
        return is_good;
    default:
        return false;
    }
}

static void write_field(struct json_writer *w, const struct rwf_field *field,
                        const struct rwf_sets *sets)
{
    const struct rwf_field_def *def = rwf_dictionary_field(w->context->dictionary, field->id);

    if (!def)
        return;
    json_put_field(&w->out, def);
    unsigned type = field->type ? rwf_type_base(field->type) : def->rwf_type;
    if (!write_common(w, def, type, field->content))
        write_member(w, type, field->content, sets);
}

static int write_fields(struct json_writer *w, struct rwf_bytes bytes, const struct rwf_sets *sets)
{
    struct rwf_field_list list;
    struct rwf_field field;
    int rc = rwf_field_list_decode(bytes, sets, &list);

    json_lit(&w->out, "{");
    while (rc >= 0 && (rc = rwf_field_list_next(&list, &field)) > 0)
        write_field(w, &field, sets);
    json_lit(&w->out, "}");
    return rc;
}

static void write_element(struct json_writer *w, const struct rwf_element *element,
                          const struct rwf_sets *sets)
{
    unsigned type = rwf_type_base(element->type);
    bool is_bare = (type == RWF_TYPE_UINT || type == RWF_TYPE_ASCII) && element->content.length;

    json_comma(&w->out);
    json_string(&w->out, element->name);
    json_lit(&w->out, ":");
    if (is_bare) {
        write_member(w, type, element->content, sets);
        return;
    }
    json_lit(&w->out, "{\"Type\":");
    json_write_name(w, json_name(&json_types, type), type);
    json_lit(&w->out, ",\"Data\":");
    write_member(w, type, element->content, sets);
    json_lit(&w->out, "}");
}

static int write_elements(struct json_writer *w, struct rwf_bytes bytes,
                          const struct rwf_sets *sets)
{
    struct rwf_element_list list;
    struct rwf_element element;
    int rc = rwf_element_list_decode(bytes, sets, &list);

    json_lit(&w->out, "{");
    while (rc >= 0 && (rc = rwf_element_list_next(&list, &element)) > 0)
        write_element(w, &element, sets);
    json_lit(&w->out, "}");
    return rc;
}

/* ---- map, vector, series, filter list ---- */

/* The sets that are defined in front of the rows of `container`, in place of the outer ones. */
static int read_sets(struct rwf_bytes defs, unsigned container, struct rwf_set_db *db,
                     struct rwf_sets *sets)
{
    enum rwf_set_kind kind = container == RWF_TYPE_ELEMENT_LIST ? RWF_SET_ELEMENTS : RWF_SET_FIELDS;

    *sets = (struct rwf_sets){ .local = db };
    db->count = 0;
    db->kind = (uint8_t)kind;
    return defs.length ? rwf_set_db_decode(defs, kind, db) : RWF_OK;
}

static int write_summary(struct json_writer *w, bool has_summary, unsigned container,
                         struct rwf_bytes summary, const struct rwf_sets *sets)
{
    if (!has_summary)
        return RWF_OK;
    json_member(&w->out, "\"Summary\":{");
    int rc = json_write_payload(w, container, summary, sets);
    json_lit(&w->out, "}");
    return rc;
}

static void write_hint(struct json_writer *w, bool has_hint, uint32_t hint)
{
    if (!has_hint)
        return;
    json_member(&w->out, "\"CountHint\":");
    json_uint(&w->out, hint);
}

/* `"Entries":[` before the first entry, a comma before the others. */
static void start_entry(struct json_writer *w, bool *has_entries)
{
    if (!*has_entries)
        json_member(&w->out, "\"Entries\":[");
    *has_entries = true;
    json_comma(&w->out);
    json_lit(&w->out, "{");
}

static void end_entries(struct json_writer *w, bool has_entries)
{
    if (has_entries)
        json_lit(&w->out, "]");
    json_lit(&w->out, "}");
}

static void write_perm(struct json_writer *w, bool has_perm, struct rwf_bytes perm)
{
    if (!has_perm)
        return;
    json_member(&w->out, "\"PermData\":");
    json_base64(&w->out, perm);
}

static int write_map(struct json_writer *w, struct rwf_bytes bytes)
{
    struct rwf_map map;
    struct rwf_map_entry entry;
    struct rwf_set_db db;
    struct rwf_sets sets;
    bool has_entries = false;
    int rc = rwf_map_decode(bytes, &map);
    const struct rwf_map_info *info = &map.info;

    if (rc >= 0)
        rc = read_sets(info->set_defs, info->container, &db, &sets);
    if (rc < 0)
        return rc;
    json_lit(&w->out, "{\"KeyType\":");
    json_write_name(w, json_name(&json_types, info->key_type), info->key_type);
    rc = write_summary(w, info->flags & RWF_MAP_HAS_SUMMARY, info->container, info->summary, &sets);
    write_hint(w, info->flags & RWF_MAP_HAS_HINT, info->hint);
    if (info->flags & RWF_MAP_HAS_KEY_FIELD_ID) {
        json_member(&w->out, "\"KeyFieldID\":");
        json_int(&w->out, info->key_field_id);
    }
    while (rc >= 0 && (rc = rwf_map_next(&map, &entry)) > 0) {
        start_entry(w, &has_entries);
        json_lit(&w->out, "\"Action\":");
        json_write_name(w, json_name(&json_map_actions, entry.action), entry.action);
        json_lit(&w->out, ",\"Key\":");
        rc = json_write_value(w, info->key_type, entry.key, NULL);
        write_perm(w, entry.has_perm, entry.perm);
        if (rc >= 0 && entry.action != RWF_MAP_DELETE)
            rc = json_write_payload(w, info->container, entry.data, &sets);
        json_lit(&w->out, "}");
    }
    end_entries(w, has_entries);
    return rc;
}

static int write_vector(struct json_writer *w, struct rwf_bytes bytes)
{
    struct rwf_vector vector;
    struct rwf_vector_entry entry;
    struct rwf_set_db db;
    struct rwf_sets sets;
    bool has_entries = false;
    int rc = rwf_vector_decode(bytes, &vector);
    const struct rwf_vector_info *info = &vector.info;

    if (rc >= 0)
        rc = read_sets(info->set_defs, info->container, &db, &sets);
    if (rc < 0)
        return rc;
    json_lit(&w->out, "{");
    rc = write_summary(w, info->flags & RWF_VECTOR_HAS_SUMMARY, info->container, info->summary,
                       &sets);
    write_hint(w, info->flags & RWF_VECTOR_HAS_HINT, info->hint);
    if (info->flags & RWF_VECTOR_SUPPORTS_SORTING)
        json_member(&w->out, "\"SupportSorting\":true");
    while (rc >= 0 && (rc = rwf_vector_next(&vector, &entry)) > 0) {
        start_entry(w, &has_entries);
        json_lit(&w->out, "\"Index\":");
        json_uint(&w->out, entry.index);
        json_lit(&w->out, ",\"Action\":");
        json_write_name(w, json_name(&json_vector_actions, entry.action), entry.action);
        write_perm(w, entry.has_perm, entry.perm);
        if (entry.action != RWF_VECTOR_CLEAR && entry.action != RWF_VECTOR_DELETE)
            rc = json_write_payload(w, info->container, entry.data, &sets);
        json_lit(&w->out, "}");
    }
    end_entries(w, has_entries);
    return rc;
}

static int write_series(struct json_writer *w, struct rwf_bytes bytes)
{
    struct rwf_series series;
    struct rwf_bytes row;
    struct rwf_set_db db;
    struct rwf_sets sets;
    bool has_entries = false;
    int rc = rwf_series_decode(bytes, &series);
    const struct rwf_series_info *info = &series.info;

    if (rc >= 0)
        rc = read_sets(info->set_defs, info->container, &db, &sets);
    if (rc < 0)
        return rc;
    json_lit(&w->out, "{");
    rc = write_summary(w, info->flags & RWF_SERIES_HAS_SUMMARY, info->container, info->summary,
                       &sets);
    write_hint(w, info->flags & RWF_SERIES_HAS_HINT, info->hint);
    while (rc >= 0 && (rc = rwf_series_next(&series, &row)) > 0) {
        start_entry(w, &has_entries);
        rc = json_write_payload(w, info->container, row, &sets);
        json_lit(&w->out, "}");
    }
    end_entries(w, has_entries);
    return rc;
}

static int write_filter_list(struct json_writer *w, struct rwf_bytes bytes)
{
    struct rwf_filter_list list;
    struct rwf_filter_entry entry;
    bool has_entries = false;
    int rc = rwf_filter_list_decode(bytes, &list);

    if (rc < 0)
        return rc;
    json_lit(&w->out, "{");
    write_hint(w, list.info.flags & RWF_FILTER_HAS_HINT, list.info.hint);
    while (rc >= 0 && (rc = rwf_filter_list_next(&list, &entry)) > 0) {
        start_entry(w, &has_entries);
        json_lit(&w->out, "\"ID\":");
        json_uint(&w->out, entry.id);
        json_lit(&w->out, ",\"Action\":");
        json_write_name(w, json_name(&json_filter_actions, entry.action), entry.action);
        write_perm(w, entry.has_perm, entry.perm);
        if (entry.action != RWF_FILTER_CLEAR)
            rc = json_write_payload(w, entry.container, entry.data, NULL);
        json_lit(&w->out, "}");
    }
    end_entries(w, has_entries);
    return rc;
}

/* ---- any container ---- */

static bool is_json(struct rwf_bytes text)
{
    struct json_parse parse = { .text = text.data, .length = text.length, .is_strict = true };

    return json_parse(&parse);
}

/* A provider's own text; lines and tabs between its values become blanks. */
static void write_json(struct json_writer *w, struct rwf_bytes text)
{
    if (!json_room(&w->out, text.length))
        return;
    for (size_t i = 0; i < text.length; i++)
        *w->out.pos++ = text.data[i] < 0x20 ? ' ' : text.data[i];
}

static void write_bytes(struct json_writer *w, unsigned container, struct rwf_bytes bytes)
{
    if (container == RWF_TYPE_JSON && is_json(bytes))
        write_json(w, bytes);
    else if (container == RWF_TYPE_XML || container == RWF_TYPE_JSON)
        json_string(&w->out, bytes);
    else
        json_base64(&w->out, bytes);
}

static int write_message(struct json_writer *w, struct rwf_bytes bytes)
{
    json_lit(&w->out, "{\"ID\":");
    json_int(&w->out, rwf_peek_stream_id(bytes));
    int rc = w->members(w, bytes);
    json_lit(&w->out, "}");
    return rc;
}

int json_write_container(struct json_writer *w, unsigned container, struct rwf_bytes bytes,
                         const struct rwf_sets *sets)
{
    int rc = RWF_OK;

    if (container == RWF_TYPE_NO_DATA) {
        json_lit(&w->out, "null");
        return RWF_OK;
    }
    if (bytes.length == 0 && container >= RWF_TYPE_FIELD_LIST && container != RWF_TYPE_ANSI_PAGE &&
        container <= RWF_TYPE_MSG) {
        json_lit(&w->out, "{}");
        return RWF_OK;
    }
    if (++w->depth > RWF_DEPTH_MAX)
        return RWF_ERR_DEPTH;
    switch (container) {
    case RWF_TYPE_FIELD_LIST:
        rc = write_fields(w, bytes, sets);
        break;
    case RWF_TYPE_ELEMENT_LIST:
        rc = write_elements(w, bytes, sets);
        break;
    case RWF_TYPE_MAP:
        rc = write_map(w, bytes);
        break;
    case RWF_TYPE_VECTOR:
        rc = write_vector(w, bytes);
        break;
    case RWF_TYPE_SERIES:
        rc = write_series(w, bytes);
        break;
    case RWF_TYPE_FILTER_LIST:
        rc = write_filter_list(w, bytes);
        break;
    case RWF_TYPE_MSG:
        rc = write_message(w, bytes);
        break;
    default:
        write_bytes(w, container, bytes);
        break;
    }
    w->depth--;
    return rc;
}

#define PAYLOAD(name)                                                                              \
    {                                                                                              \
        "\"" name "\":", sizeof(name) + 2                                                          \
    }

int json_write_payload(struct json_writer *w, unsigned container, struct rwf_bytes bytes,
                       const struct rwf_sets *sets)
{
    static const struct json_name opaque = PAYLOAD("Opaque");
    static const struct json_name names[] = {
        [RWF_TYPE_XML - RWF_TYPE_NO_DATA] = PAYLOAD("Xml"),
        [RWF_TYPE_FIELD_LIST - RWF_TYPE_NO_DATA] = PAYLOAD("Fields"),
        [RWF_TYPE_ELEMENT_LIST - RWF_TYPE_NO_DATA] = PAYLOAD("Elements"),
        [RWF_TYPE_ANSI_PAGE - RWF_TYPE_NO_DATA] = PAYLOAD("AnsiPage"),
        [RWF_TYPE_FILTER_LIST - RWF_TYPE_NO_DATA] = PAYLOAD("FilterList"),
        [RWF_TYPE_VECTOR - RWF_TYPE_NO_DATA] = PAYLOAD("Vector"),
        [RWF_TYPE_MAP - RWF_TYPE_NO_DATA] = PAYLOAD("Map"),
        [RWF_TYPE_SERIES - RWF_TYPE_NO_DATA] = PAYLOAD("Series"),
        [RWF_TYPE_MSG - RWF_TYPE_NO_DATA] = PAYLOAD("Message"),
        [RWF_TYPE_JSON - RWF_TYPE_NO_DATA] = PAYLOAD("Json"),
    };
    static const struct json_names payloads = { names, sizeof(names) / sizeof(names[0]) };

    if (container == RWF_TYPE_NO_DATA)
        return RWF_OK;
    const struct json_name *name = json_name(&payloads, container - RWF_TYPE_NO_DATA);
    json_comma(&w->out);
    json_put_name(&w->out, name ? name : &opaque);
    return json_write_container(w, container, bytes, sets);
}
