/* read_container.c - containers of JSON as containers of RWF. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "reader.h"

static const struct {
    const char *name;
    unsigned type;
} payloads[] = {
    { "Fields", RWF_TYPE_FIELD_LIST },
    { "FieldList", RWF_TYPE_FIELD_LIST },
    { "Elements", RWF_TYPE_ELEMENT_LIST },
    { "ElementList", RWF_TYPE_ELEMENT_LIST },
    { "FilterList", RWF_TYPE_FILTER_LIST },
    { "Map", RWF_TYPE_MAP },
    { "Vector", RWF_TYPE_VECTOR },
    { "Series", RWF_TYPE_SERIES },
    { "Message", RWF_TYPE_MSG },
    { "Opaque", RWF_TYPE_OPAQUE },
    { "Xml", RWF_TYPE_XML },
    { "Json", RWF_TYPE_JSON },
    { "AnsiPage", RWF_TYPE_ANSI_PAGE },
};

unsigned json_payload_type(const struct json_reader *r, uint32_t object, uint32_t *token)
{
    for (size_t i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++) {
        *token = json_find(r, object, payloads[i].name);
        if (*token != NO_TOKEN)
            return payloads[i].type;
    }
    return RWF_TYPE_NO_DATA;
}

static bool missing(struct json_reader *r, uint32_t object, const char *key)
{
    return FAIL(r, json_at(r, object)->at, "JSON Missing required key '%s'", key);
}

/* ---- arrays ---- */

static bool check_kinds(struct json_reader *r, uint32_t list)
{
    const struct json_token *l = json_at(r, list);
    int first = -1;

    for (uint32_t i = list + 1; i < l->next; i = json_at(r, i)->next) {
        int kind = json_at(r, i)->kind;

        if (json_is_null(r, i))
            continue;
        if (first >= 0 && kind != first)
            return FAIL(r, json_at(r, i)->at,
                        "JSON Mixed Types in OMM Array: Received '%s' and '%s' for key 'Data'",
                        first == JSON_STRING ? "STRING" : "PRIMITIVE",
                        kind == JSON_STRING ? "STRING" : "PRIMITIVE");
        first = kind;
    }
    return true;
}

bool json_read_array(struct json_reader *r, uint32_t token, const char *key)
{
    unsigned type;

    if (!json_expect(r, token, JSON_OBJECT, key))
        return false;
    uint32_t type_at = json_find(r, token, "Type");
    uint32_t data = json_find(r, token, "Data");
    if (type_at == NO_TOKEN || data == NO_TOKEN)
        return missing(r, token, type_at == NO_TOKEN ? "Type" : "Data");
    if (!json_to_number(r, type_at, "Type", &json_types, RWF_TYPE_RMTES, &type) ||
        !json_expect(r, data, JSON_ARRAY, "Data") || !check_kinds(r, data))
        return false;
    rwf_array_start(&r->enc, type, 0);
    for (uint32_t i = data + 1; i < json_at(r, data)->next; i = json_at(r, i)->next) {
        struct rwf_value value;

        if (!json_read_value(r, type, i, NULL, &value))
            return false;
        rwf_array_add(&r->enc, &value);
    }
    rwf_array_finish(&r->enc);
    return true;
}

/* ---- field list, element list ---- */

/* A field by its name, or by its number in quotes. */
static const struct rwf_field_def *field_of(const struct json_reader *r, struct rwf_bytes name)
{
    const struct rwf_field_def *field =
        rwf_dictionary_field_named(r->context.dictionary, (const char *)name.data, name.length);
    int number = 0;
    size_t i = 0;

    if (field || name.length == 0 || name.length > 6)
        return field;
    for (i = name.data[0] == '-'; i < name.length; i++) {
        if (name.data[i] < '0' || name.data[i] > '9')
            return NULL;
        number = number * 10 + (name.data[i] - '0');
    }
    return rwf_dictionary_field(r->context.dictionary, name.data[0] == '-' ? -number : number);
}

static bool read_field(struct json_reader *r, uint32_t name_at, uint32_t value_at)
{
    struct rwf_bytes name = json_text(r, name_at);
    const struct rwf_field_def *field = field_of(r, name);
    struct rwf_value value;

    if (!field) {
        if (!r->context.catches_fields)
            return true;
        return FAIL(r, json_at(r, name_at)->at,
                    "JSON Unexpected FID. Received '%.*s' for key 'Fields'",
                    (int)(name.length < 64 ? name.length : 64), (const char *)name.data);
    }
    if (json_is_null(r, value_at)) {
        rwf_field_add_bytes(&r->enc, field->fid, rwf_bytes(NULL, 0));
        return true;
    }
    if (field->rwf_type == RWF_TYPE_ARRAY || rwf_type_is_container(field->rwf_type)) {
        rwf_field_start(&r->enc, field->fid, field->rwf_type);
        bool is_read = field->rwf_type == RWF_TYPE_ARRAY
                           ? json_read_array(r, value_at, field->name)
                           : json_read_container(r, field->rwf_type, value_at);
        rwf_field_finish(&r->enc);
        return is_read;
    }
    if (!json_read_value(r, field->rwf_type, value_at, field, &value))
        return false;
    rwf_field_add(&r->enc, field->fid, &value);
    return true;
}

static bool read_fields(struct json_reader *r, uint32_t object)
{
    rwf_field_list_start(&r->enc, NULL);
    for (uint32_t i = object + 1; i < json_at(r, object)->next; i = json_at(r, i + 1)->next) {
        if (!read_field(r, i, i + 1))
            return false;
    }
    rwf_field_list_finish(&r->enc);
    return true;
}

static bool read_typed(struct json_reader *r, struct rwf_bytes name, uint32_t object)
{
    uint32_t type_at = json_find(r, object, "Type");
    uint32_t data = json_find(r, object, "Data");
    struct rwf_value value;
    unsigned type;

    if (type_at == NO_TOKEN)
        return missing(r, object, "Type");
    if (!json_to_number(r, type_at, "Type", &json_types, 255, &type))
        return false;
    if (type == RWF_TYPE_NO_DATA || data == NO_TOKEN || json_is_null(r, data)) {
        rwf_element_add_bytes(&r->enc, name, type, rwf_bytes(NULL, 0));
        return true;
    }
    if (type == RWF_TYPE_ARRAY || rwf_type_is_container(type)) {
        rwf_element_start(&r->enc, name, type);
        bool is_read = type == RWF_TYPE_ARRAY ? json_read_array(r, data, "Data")
                                              : json_read_container(r, type, data);
        rwf_element_finish(&r->enc);
        return is_read;
    }
    if (!json_read_value(r, type, data, NULL, &value))
        return false;
    rwf_element_add(&r->enc, name, &value);
    return true;
}

static bool read_element(struct json_reader *r, uint32_t name_at, uint32_t value_at)
{
    struct rwf_bytes name = json_text(r, name_at);
    struct rwf_value value;
    unsigned kind = json_at(r, value_at)->kind;

    if (kind == JSON_OBJECT)
        return read_typed(r, name, value_at);
    if (kind == JSON_ARRAY)
        return json_expect(r, value_at, JSON_OBJECT, "Elements");
    if (kind == JSON_PRIMITIVE && rwf_bytes_equal(name, rwf_text("ApplicationId"))) {
        /* Some clients write the number that DACS knows them by without quotes. */
        rwf_element_add_bytes(&r->enc, name, RWF_TYPE_ASCII, json_raw(r, value_at));
        return true;
    }
    unsigned type = kind == JSON_STRING ? RWF_TYPE_ASCII : RWF_TYPE_UINT;
    if (!json_read_value(r, type, value_at, NULL, &value))
        return false;
    rwf_element_add(&r->enc, name, &value);
    return true;
}

static bool read_elements(struct json_reader *r, uint32_t object)
{
    rwf_element_list_start(&r->enc, NULL);
    for (uint32_t i = object + 1; i < json_at(r, object)->next; i = json_at(r, i + 1)->next) {
        if (!read_element(r, i, i + 1))
            return false;
    }
    rwf_element_list_finish(&r->enc);
    return true;
}

/* ---- map, vector, series, filter list ---- */

/* `Entries`; NO_TOKEN: there are none. */
static bool entries_of(struct json_reader *r, uint32_t object, uint32_t *entries)
{
    *entries = json_find(r, object, "Entries");
    if (*entries == NO_TOKEN)
        return true;
    if (!json_expect(r, *entries, JSON_ARRAY, "Entries"))
        return false;
    for (uint32_t i = *entries + 1; i < json_at(r, *entries)->next; i = json_at(r, i)->next) {
        if (!json_expect(r, i, JSON_OBJECT, "Entries"))
            return false;
    }
    return true;
}

/* The type of the summary and of all entries. */
static bool common_type(struct json_reader *r, uint32_t summary, uint32_t entries, uint16_t *type)
{
    uint32_t token;

    *type = RWF_TYPE_NO_DATA;
    if (summary != NO_TOKEN)
        *type = (uint16_t)json_payload_type(r, summary, &token);
    for (uint32_t i = entries + 1; entries != NO_TOKEN && i < json_at(r, entries)->next;
         i = json_at(r, i)->next) {
        unsigned one = json_payload_type(r, i, &token);

        if (one != RWF_TYPE_NO_DATA && *type != RWF_TYPE_NO_DATA && one != *type)
            return FAIL_VALUE(r, i);
        if (one != RWF_TYPE_NO_DATA)
            *type = (uint16_t)one;
    }
    return true;
}

static bool read_summary(struct json_reader *r, uint32_t summary)
{
    uint32_t token;

    if (summary == NO_TOKEN)
        return true;
    unsigned type = json_payload_type(r, summary, &token);
    if (type != RWF_TYPE_NO_DATA && !json_read_container(r, type, token))
        return false;
    rwf_summary_finish(&r->enc);
    return true;
}

static bool read_hint(struct json_reader *r, uint32_t object, uint8_t flag, uint8_t *flags,
                      uint32_t *hint)
{
    uint32_t token = json_find(r, object, "CountHint");
    int64_t value;

    if (token == NO_TOKEN)
        return true;
    if (!json_to_int(r, token, "CountHint", 0, (1 << 30) - 1, &value))
        return false;
    *flags |= flag;
    *hint = (uint32_t)value;
    return true;
}

static bool summary_of(struct json_reader *r, uint32_t object, uint8_t flag, uint8_t *flags,
                       uint32_t *summary)
{
    *summary = json_find(r, object, "Summary");
    if (*summary == NO_TOKEN)
        return true;
    *flags |= flag;
    return json_expect(r, *summary, JSON_OBJECT, "Summary");
}

static bool read_perm(struct json_reader *r, uint32_t entry, bool *has_perm, struct rwf_bytes *perm)
{
    uint32_t token = json_find(r, entry, "PermData");

    *has_perm = token != NO_TOKEN;
    return token == NO_TOKEN || json_bytes(r, token, "PermData", perm);
}

static bool read_action(struct json_reader *r, uint32_t entry, const struct json_names *names,
                        uint8_t *action)
{
    uint32_t token = json_find(r, entry, "Action");
    unsigned value;

    if (token == NO_TOKEN)
        return missing(r, entry, "Action");
    if (!json_to_number(r, token, "Action", names, 15, &value))
        return false;
    *action = (uint8_t)value;
    return true;
}

static bool read_map_entry(struct json_reader *r, uint32_t at, unsigned key_type)
{
    struct rwf_map_entry entry = { 0 };
    uint8_t key[1024];
    struct rwf_value value;
    uint32_t payload;
    size_t length;
    uint32_t key_at = json_find(r, at, "Key");

    if (!read_action(r, at, &json_map_actions, &entry.action) ||
        !read_perm(r, at, &entry.has_perm, &entry.perm))
        return false;
    if (key_at == NO_TOKEN)
        return missing(r, at, "Key");
    if (!json_read_value(r, key_type, key_at, NULL, &value))
        return false;
    if (rwf_value_encode(&value, key, sizeof(key), &length) != RWF_OK)
        return FAIL_VALUE(r, key_at);
    entry.key = rwf_bytes(key, length);
    unsigned type = json_payload_type(r, at, &payload);
    if (entry.action == RWF_MAP_DELETE || type == RWF_TYPE_NO_DATA) {
        rwf_map_add(&r->enc, &entry);
        return true;
    }
    rwf_map_entry_start(&r->enc, &entry);
    bool is_read = json_read_container(r, type, payload);
    rwf_map_entry_finish(&r->enc);
    return is_read;
}

static bool read_map(struct json_reader *r, uint32_t object)
{
    struct rwf_map_info info = { 0 };
    uint32_t entries, summary;
    unsigned key_type;
    int64_t field;
    uint32_t type_at = json_find(r, object, "KeyType");
    uint32_t field_at = json_find(r, object, "KeyFieldID");

    if (type_at == NO_TOKEN)
        return missing(r, object, "KeyType");
    if (!json_to_number(r, type_at, "KeyType", &json_types, RWF_TYPE_RMTES, &key_type) ||
        !summary_of(r, object, RWF_MAP_HAS_SUMMARY, &info.flags, &summary) ||
        !read_hint(r, object, RWF_MAP_HAS_HINT, &info.flags, &info.hint) ||
        !entries_of(r, object, &entries) || !common_type(r, summary, entries, &info.container))
        return false;
    if (field_at != NO_TOKEN) {
        if (!json_to_int(r, field_at, "KeyFieldID", INT16_MIN, INT16_MAX, &field))
            return false;
        info.flags |= RWF_MAP_HAS_KEY_FIELD_ID;
        info.key_field_id = (int16_t)field;
    }
    info.key_type = (uint8_t)key_type;
    rwf_map_start(&r->enc, &info);
    if (!read_summary(r, summary))
        return false;
    for (uint32_t i = entries + 1; entries != NO_TOKEN && i < json_at(r, entries)->next;
         i = json_at(r, i)->next) {
        if (!read_map_entry(r, i, key_type))
            return false;
    }
    rwf_map_finish(&r->enc);
    return true;
}

static bool read_vector_entry(struct json_reader *r, uint32_t at)
{
    struct rwf_vector_entry entry = { 0 };
    uint32_t payload;
    int64_t index;
    uint32_t index_at = json_find(r, at, "Index");

    if (index_at == NO_TOKEN)
        return missing(r, at, "Index");
    if (!json_to_int(r, index_at, "Index", 0, (1 << 30) - 1, &index) ||
        !read_action(r, at, &json_vector_actions, &entry.action) ||
        !read_perm(r, at, &entry.has_perm, &entry.perm))
        return false;
    entry.index = (uint32_t)index;
    unsigned type = json_payload_type(r, at, &payload);
    if (entry.action == RWF_VECTOR_CLEAR || entry.action == RWF_VECTOR_DELETE ||
        type == RWF_TYPE_NO_DATA) {
        rwf_vector_add(&r->enc, &entry);
        return true;
    }
    rwf_vector_entry_start(&r->enc, &entry);
    bool is_read = json_read_container(r, type, payload);
    rwf_vector_entry_finish(&r->enc);
    return is_read;
}

static bool read_vector(struct json_reader *r, uint32_t object)
{
    struct rwf_vector_info info = { 0 };
    uint32_t entries, summary;
    bool sorts = false;
    uint32_t sorts_at = json_find(r, object, "SupportSorting");

    if (!summary_of(r, object, RWF_VECTOR_HAS_SUMMARY, &info.flags, &summary) ||
        !read_hint(r, object, RWF_VECTOR_HAS_HINT, &info.flags, &info.hint) ||
        !entries_of(r, object, &entries) || !common_type(r, summary, entries, &info.container) ||
        (sorts_at != NO_TOKEN && !json_to_bool(r, sorts_at, "SupportSorting", &sorts)))
        return false;
    if (sorts)
        info.flags |= RWF_VECTOR_SUPPORTS_SORTING;
    rwf_vector_start(&r->enc, &info);
    if (!read_summary(r, summary))
        return false;
    for (uint32_t i = entries + 1; entries != NO_TOKEN && i < json_at(r, entries)->next;
         i = json_at(r, i)->next) {
        if (!read_vector_entry(r, i))
            return false;
    }
    rwf_vector_finish(&r->enc);
    return true;
}

static bool read_series(struct json_reader *r, uint32_t object)
{
    struct rwf_series_info info = { 0 };
    uint32_t entries, summary, payload;

    if (!summary_of(r, object, RWF_SERIES_HAS_SUMMARY, &info.flags, &summary) ||
        !read_hint(r, object, RWF_SERIES_HAS_HINT, &info.flags, &info.hint) ||
        !entries_of(r, object, &entries) || !common_type(r, summary, entries, &info.container))
        return false;
    rwf_series_start(&r->enc, &info);
    if (!read_summary(r, summary))
        return false;
    for (uint32_t i = entries + 1; entries != NO_TOKEN && i < json_at(r, entries)->next;
         i = json_at(r, i)->next) {
        unsigned type = json_payload_type(r, i, &payload);

        if (type == RWF_TYPE_NO_DATA) {
            rwf_series_add(&r->enc, rwf_bytes(NULL, 0));
            continue;
        }
        rwf_series_entry_start(&r->enc);
        if (!json_read_container(r, type, payload))
            return false;
        rwf_series_entry_finish(&r->enc);
    }
    rwf_series_finish(&r->enc);
    return true;
}

static bool read_filter_entry(struct json_reader *r, uint32_t at, unsigned list_type)
{
    struct rwf_filter_entry entry = { 0 };
    uint32_t payload;
    int64_t id;
    uint32_t id_at = json_find(r, at, "ID");

    if (id_at == NO_TOKEN)
        return missing(r, at, "ID");
    if (!json_to_int(r, id_at, "ID", 0, 255, &id) ||
        !read_action(r, at, &json_filter_actions, &entry.action) ||
        !read_perm(r, at, &entry.has_perm, &entry.perm))
        return false;
    entry.id = (uint8_t)id;
    entry.container = (uint16_t)json_payload_type(r, at, &payload);
    entry.has_container = entry.container != list_type;
    if (entry.action == RWF_FILTER_CLEAR || entry.container == RWF_TYPE_NO_DATA) {
        rwf_filter_add(&r->enc, &entry);
        return true;
    }
    rwf_filter_entry_start(&r->enc, &entry);
    bool is_read = json_read_container(r, entry.container, payload);
    rwf_filter_entry_finish(&r->enc);
    return is_read;
}

static bool read_filter_list(struct json_reader *r, uint32_t object)
{
    struct rwf_filter_list_info info = { .container = RWF_TYPE_ELEMENT_LIST };
    uint32_t entries;
    uint32_t hint = 0;

    if (!read_hint(r, object, RWF_FILTER_HAS_HINT, &info.flags, &hint) ||
        !entries_of(r, object, &entries))
        return false;
    info.hint = (uint8_t)(hint > 255 ? 255 : hint);
    rwf_filter_list_start(&r->enc, &info);
    for (uint32_t i = entries + 1; entries != NO_TOKEN && i < json_at(r, entries)->next;
         i = json_at(r, i)->next) {
        if (!read_filter_entry(r, i, info.container))
            return false;
    }
    rwf_filter_list_finish(&r->enc);
    return true;
}

/* ---- any container ---- */

static bool read_bytes(struct json_reader *r, unsigned type, uint32_t token)
{
    const struct json_token *t = json_at(r, token);
    struct rwf_bytes bytes = { 0 };

    if (type == RWF_TYPE_JSON && t->kind != JSON_STRING)
        bytes = json_raw(r, token);
    else if (type == RWF_TYPE_JSON || type == RWF_TYPE_XML) {
        if (!json_expect(r, token, JSON_STRING, "Xml"))
            return false;
        bytes = json_text(r, token);
    } else if (!json_bytes(r, token, "Opaque", &bytes)) {
        return false;
    }
    rwf_raw_add(&r->enc, bytes);
    return true;
}

bool json_read_container(struct json_reader *r, unsigned type, uint32_t token)
{
    bool is_structured =
        type >= RWF_TYPE_FIELD_LIST && type <= RWF_TYPE_MSG && type != RWF_TYPE_ANSI_PAGE;

    if (!is_structured)
        return read_bytes(r, type, token);
    if (json_is_null(r, token) ||
        (json_at(r, token)->kind == JSON_OBJECT && json_at(r, token)->next == token + 1 &&
         type != RWF_TYPE_MAP && type != RWF_TYPE_MSG)) {
        rwf_raw_add(&r->enc, rwf_bytes(NULL, 0));
        return true;
    }
    if (!json_expect(r, token, JSON_OBJECT, "Data"))
        return false;
    switch (type) {
    case RWF_TYPE_FIELD_LIST:
        return read_fields(r, token);
    case RWF_TYPE_ELEMENT_LIST:
        return read_elements(r, token);
    case RWF_TYPE_FILTER_LIST:
        return read_filter_list(r, token);
    case RWF_TYPE_MAP:
        return read_map(r, token);
    case RWF_TYPE_VECTOR:
        return read_vector(r, token);
    case RWF_TYPE_SERIES:
        return read_series(r, token);
    case RWF_TYPE_MSG:
        return r->message(r, token, true, NULL);
    default:
        return FAIL_VALUE(r, token);
    }
}
