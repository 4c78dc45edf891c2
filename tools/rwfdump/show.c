/* show.c - see show.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "show.h"

#include <string.h>

#include "base/err.h"
#include "marketfeed/marketfeed.h"
#include "names.h"
#include "page/page.h"
#include "rmds/rwf.h"
#include "rmds/rwf_rmtes.h"

static void show_content(struct show *show, unsigned type, struct rwf_bytes bytes,
                         const struct rwf_sets *sets, unsigned depth);

static void broken(struct show *show, int err)
{
    show->broken_count++;
    out_error(show->out, rwf_err_name(err));
}

/* ---- primitives ---- */

static bool is_printable(struct rwf_bytes bytes)
{
    for (size_t i = 0; i < bytes.length; i++)
        if (bytes.data[i] < 0x20 || bytes.data[i] > 0x7e)
            return false;
    return true;
}

static void show_rmtes(struct show *show, struct rwf_bytes bytes)
{
    size_t length;

    if (rwf_rmtes_is_partial(bytes.data, bytes.length))
        out_hex(show->out, "partial", bytes);
    rwf_rmtes_to_utf8(bytes.data, bytes.length, show->text, sizeof(show->text), &length);
    out_text(show->out, "value", rwf_bytes(show->text, length));
}

static void show_real(struct show *show, const struct rwf_real *real)
{
    char text[RWF_TEXT_MAX];

    rwf_real_to_text(real, text, sizeof(text));
    if (real->hint > RWF_HINT_FRACTION_256) /* inf, -inf, nan are no numbers in JSON */
        out_word(show->out, "value", text);
    else
        out_number(show->out, "value", text);
}

static void show_double(struct show *show, double d, int digits)
{
    char text[40];

    snprintf(text, sizeof(text), "%.*g", digits, d);
    if (strpbrk(text, "in")) /* inf, nan */
        out_word(show->out, "value", text);
    else
        out_number(show->out, "value", text);
}

static void show_enum(struct show *show, uint16_t number, const struct rwf_enum_table *table)
{
    const struct rwf_enum_value *value = rwf_enum_find(table, number);
    char text[256];
    size_t length;

    out_uint(show->out, "value", number);
    if (!value)
        return;
    rwf_rmtes_to_utf8(value->display, value->display_length, text, sizeof(text), &length);
    out_text(show->out, "display", rwf_bytes(text, length));
}

static void show_state(struct show *show, const struct rwf_state *state)
{
    out_word(show->out, "stream", rwf_stream_state_name(state->stream_state));
    out_word(show->out, "data", rwf_data_state_name(state->data_state));
    out_word(show->out, "code", rwf_state_code_name(state->code));
    if (state->text.length)
        out_text(show->out, "text", state->text);
}

static void show_value(struct show *show, const struct rwf_value *value,
                       const struct rwf_enum_table *table)
{
    char text[RWF_TEXT_MAX];

    switch (value->type) {
    case RWF_TYPE_INT:
        out_int(show->out, "value", value->i);
        return;
    case RWF_TYPE_UINT:
        out_uint(show->out, "value", value->u);
        return;
    case RWF_TYPE_ENUM:
        show_enum(show, (uint16_t)value->u, table);
        return;
    case RWF_TYPE_REAL:
        show_real(show, &value->real);
        return;
    case RWF_TYPE_FLOAT:
        show_double(show, (double)value->f, 9);
        return;
    case RWF_TYPE_DOUBLE:
        show_double(show, value->d, 17);
        return;
    case RWF_TYPE_DATE:
        rwf_date_to_text(&value->date, text, sizeof(text));
        out_word(show->out, "value", text);
        return;
    case RWF_TYPE_TIME:
        rwf_time_to_text(&value->time, text, sizeof(text));
        out_word(show->out, "value", text);
        return;
    case RWF_TYPE_DATETIME:
        rwf_datetime_to_text(&value->datetime, text, sizeof(text));
        out_word(show->out, "value", text);
        return;
    case RWF_TYPE_QOS:
        rwf_qos_to_text(&value->qos, text, sizeof(text));
        out_word(show->out, "value", text);
        return;
    case RWF_TYPE_STATE:
        show_state(show, &value->state);
        return;
    case RWF_TYPE_ASCII:
    case RWF_TYPE_UTF8:
        out_text(show->out, "value", value->bytes);
        return;
    case RWF_TYPE_RMTES:
        show_rmtes(show, value->bytes);
        return;
    default:
        if (value->bytes.length > 0 && is_printable(value->bytes))
            out_text(show->out, "value", value->bytes);
        else
            out_hex(show->out, "value", value->bytes);
        return;
    }
}

static void show_primitive(struct show *show, unsigned type, struct rwf_bytes bytes,
                           const struct rwf_enum_table *table)
{
    struct rwf_value value;
    int err = rwf_value_decode(type, bytes, &value);

    if (show->has_hex)
        out_hex(show->out, "bytes", bytes);
    if (err != RWF_OK) {
        if (!show->has_hex)
            out_hex(show->out, "bytes", bytes);
        broken(show, err);
        return;
    }
    if (value.is_blank)
        out_blank(show->out, "value");
    else
        show_value(show, &value, table);
}

static void show_array(struct show *show, struct rwf_bytes bytes)
{
    struct rwf_array array;
    struct rwf_bytes item;
    int rc = rwf_array_decode(bytes, &array);

    if (rc >= 0) {
        out_word(show->out, "item_type", rwf_type_name(array.item_type));
        out_uint(show->out, "item_length", array.item_length);
        out_list(show->out, "items");
        while ((rc = rwf_array_next(&array, &item)) > 0) {
            out_begin(show->out, "item");
            show_primitive(show, array.item_type, item, NULL);
            out_end(show->out);
        }
        out_list_end(show->out);
    }
    if (rc < 0)
        broken(show, rc);
}

/* The content of a field, an element or a set: a primitive on this line, or a container below. */
static void show_entry_content(struct show *show, unsigned type, struct rwf_bytes content,
                               const struct rwf_enum_table *table, unsigned depth)
{
    if (rwf_type_base(type) == RWF_TYPE_ARRAY && content.length > 0) {
        show_array(show, content);
    } else if (rwf_type_is_container(type)) {
        if (content.length == 0)
            out_blank(show->out, "value");
        else
            show_content(show, type, content, NULL, depth + 1);
    } else {
        show_primitive(show, type, content, table);
    }
}

/* ---- containers ---- */

static void show_field(struct show *show, const struct rwf_field *field, unsigned depth)
{
    const struct rwf_field_def *def =
        show->dictionary ? rwf_dictionary_field(show->dictionary, field->id) : NULL;
    unsigned type = field->type;

    if (type == 0)
        type = def ? def->rwf_type : RWF_TYPE_BUFFER;
    out_begin(show->out, "field");
    out_heading(show->out, true, field->id,
                def ? rwf_bytes(def->name, def->name_length) : rwf_text(""));
    out_word(show->out, "type", def || field->type ? rwf_type_name(type) : "?");
    show_entry_content(show, type, field->content, def ? def->enums : NULL, depth);
    out_end(show->out);
}

static void show_field_list(struct show *show, struct rwf_bytes bytes, const struct rwf_sets *sets,
                            unsigned depth)
{
    struct rwf_field_list list;
    struct rwf_field field;
    int rc = rwf_field_list_decode(bytes, sets, &list);

    if (rc >= 0 && bytes.length > 0) {
        if (list.info.flags & RWF_LIST_HAS_INFO) {
            out_uint(show->out, "dictionary", list.info.dictionary_id);
            out_uint(show->out, "list_num", list.info.list_num);
        }
        if (list.info.flags & RWF_LIST_HAS_SET_ID)
            out_uint(show->out, "set_id", list.info.set_id);
        if (list.set_data.length && !list.set_is_known)
            out_hex(show->out, "set_data", list.set_data);
    }
    out_list(show->out, "fields");
    while (rc >= 0 && (rc = rwf_field_list_next(&list, &field)) > 0)
        show_field(show, &field, depth);
    out_list_end(show->out);
    if (rc < 0)
        broken(show, rc);
}

static void show_element_list(struct show *show, struct rwf_bytes bytes,
                              const struct rwf_sets *sets, unsigned depth)
{
    struct rwf_element_list list;
    struct rwf_element element;
    int rc = rwf_element_list_decode(bytes, sets, &list);

    if (rc >= 0 && bytes.length > 0) {
        if (list.info.flags & RWF_LIST_HAS_INFO)
            out_uint(show->out, "list_num", list.info.list_num);
        if (list.info.flags & RWF_LIST_HAS_SET_ID)
            out_uint(show->out, "set_id", list.info.set_id);
        if (list.set_data.length && !list.set_is_known)
            out_hex(show->out, "set_data", list.set_data);
    }
    out_list(show->out, "elements");
    while (rc >= 0 && (rc = rwf_element_list_next(&list, &element)) > 0) {
        out_begin(show->out, "element");
        out_heading(show->out, false, 0, element.name);
        out_word(show->out, "type", rwf_type_name(element.type));
        if (element.type != RWF_TYPE_NO_DATA)
            show_entry_content(show, element.type, element.content, NULL, depth);
        out_end(show->out);
    }
    out_list_end(show->out);
    if (rc < 0)
        broken(show, rc);
}

/* Definitions of a map, vector or series; false when they are broken. */
static bool read_sets(struct show *show, struct rwf_bytes set_defs, unsigned container,
                      struct rwf_set_db *db, struct rwf_sets *sets)
{
    int err;

    *sets = (struct rwf_sets){ .local = NULL };
    if (set_defs.length == 0)
        return true;
    err = rwf_set_db_decode(
        set_defs, container == RWF_TYPE_FIELD_LIST ? RWF_SET_FIELDS : RWF_SET_ELEMENTS, db);
    if (err != RWF_OK) {
        broken(show, err);
        return false;
    }
    sets->local = db;
    return true;
}

static void show_summary(struct show *show, unsigned container, struct rwf_bytes summary,
                         const struct rwf_sets *sets, unsigned depth)
{
    out_begin(show->out, "summary");
    if (summary.length)
        show_content(show, container, summary, sets, depth + 1);
    out_end(show->out);
}

static void show_entry_data(struct show *show, unsigned container, struct rwf_bytes data,
                            const struct rwf_sets *sets, unsigned depth)
{
    if (container != RWF_TYPE_NO_DATA && data.length > 0)
        show_content(show, container, data, sets, depth + 1);
}

static void show_map(struct show *show, struct rwf_bytes bytes, unsigned depth)
{
    struct rwf_map map;
    struct rwf_map_entry entry;
    struct rwf_set_db db;
    struct rwf_sets sets;
    int rc = rwf_map_decode(bytes, &map);

    if (rc < 0) {
        broken(show, rc);
        return;
    }
    out_word(show->out, "key_type", rwf_type_name(map.info.key_type));
    out_word(show->out, "of", rwf_type_name(map.info.container));
    if (map.info.flags & RWF_MAP_HAS_KEY_FIELD_ID)
        out_int(show->out, "key_field", map.info.key_field_id);
    if (map.info.flags & RWF_MAP_HAS_HINT)
        out_uint(show->out, "count_hint", map.info.hint);
    if (!read_sets(show, map.info.set_defs, map.info.container, &db, &sets))
        return;
    if (map.info.flags & RWF_MAP_HAS_SUMMARY)
        show_summary(show, map.info.container, map.info.summary, &sets, depth);
    out_list(show->out, "entries");
    while ((rc = rwf_map_next(&map, &entry)) > 0) {
        out_begin(show->out, "entry");
        out_word(show->out, "action", names_map_action(entry.action));
        if (entry.has_perm)
            out_hex(show->out, "perm", entry.perm);
        show_primitive(show, map.info.key_type, entry.key, NULL);
        show_entry_data(show, map.info.container, entry.data, &sets, depth);
        out_end(show->out);
    }
    out_list_end(show->out);
    if (rc < 0)
        broken(show, rc);
}

static void show_vector(struct show *show, struct rwf_bytes bytes, unsigned depth)
{
    struct rwf_vector vector;
    struct rwf_vector_entry entry;
    struct rwf_set_db db;
    struct rwf_sets sets;
    int rc = rwf_vector_decode(bytes, &vector);

    if (rc < 0) {
        broken(show, rc);
        return;
    }
    out_word(show->out, "of", rwf_type_name(vector.info.container));
    if (vector.info.flags & RWF_VECTOR_SUPPORTS_SORTING)
        out_word(show->out, "sorting", "supported");
    if (vector.info.flags & RWF_VECTOR_HAS_HINT)
        out_uint(show->out, "count_hint", vector.info.hint);
    if (!read_sets(show, vector.info.set_defs, vector.info.container, &db, &sets))
        return;
    if (vector.info.flags & RWF_VECTOR_HAS_SUMMARY)
        show_summary(show, vector.info.container, vector.info.summary, &sets, depth);
    out_list(show->out, "entries");
    while ((rc = rwf_vector_next(&vector, &entry)) > 0) {
        out_begin(show->out, "entry");
        out_uint(show->out, "index", entry.index);
        out_word(show->out, "action", names_vector_action(entry.action));
        if (entry.has_perm)
            out_hex(show->out, "perm", entry.perm);
        show_entry_data(show, vector.info.container, entry.data, &sets, depth);
        out_end(show->out);
    }
    out_list_end(show->out);
    if (rc < 0)
        broken(show, rc);
}

static void show_series(struct show *show, struct rwf_bytes bytes, unsigned depth)
{
    struct rwf_series series;
    struct rwf_bytes data;
    struct rwf_set_db db;
    struct rwf_sets sets;
    int rc = rwf_series_decode(bytes, &series);

    if (rc < 0) {
        broken(show, rc);
        return;
    }
    out_word(show->out, "of", rwf_type_name(series.info.container));
    if (series.info.flags & RWF_SERIES_HAS_HINT)
        out_uint(show->out, "count_hint", series.info.hint);
    if (!read_sets(show, series.info.set_defs, series.info.container, &db, &sets))
        return;
    if (series.info.flags & RWF_SERIES_HAS_SUMMARY)
        show_summary(show, series.info.container, series.info.summary, &sets, depth);
    out_list(show->out, "entries");
    while ((rc = rwf_series_next(&series, &data)) > 0) {
        out_begin(show->out, "entry");
        show_entry_data(show, series.info.container, data, &sets, depth);
        out_end(show->out);
    }
    out_list_end(show->out);
    if (rc < 0)
        broken(show, rc);
}

static void show_filter_list(struct show *show, struct rwf_bytes bytes, unsigned depth)
{
    struct rwf_filter_list list;
    struct rwf_filter_entry entry;
    int rc = rwf_filter_list_decode(bytes, &list);

    if (rc < 0) {
        broken(show, rc);
        return;
    }
    out_word(show->out, "of", rwf_type_name(list.info.container));
    out_list(show->out, "entries");
    while ((rc = rwf_filter_list_next(&list, &entry)) > 0) {
        out_begin(show->out, "entry");
        out_uint(show->out, "id", entry.id);
        out_word(show->out, "action", names_filter_action(entry.action));
        if (entry.has_perm)
            out_hex(show->out, "perm", entry.perm);
        show_entry_data(show, entry.container, entry.data, NULL, depth);
        out_end(show->out);
    }
    out_list_end(show->out);
    if (rc < 0)
        broken(show, rc);
}

/* ---- messages ---- */

static void show_key(struct show *show, const char *name, const struct rwf_key *key, unsigned depth)
{
    out_begin(show->out, name);
    if (key->flags & RWF_KEY_HAS_SERVICE_ID)
        out_uint(show->out, "service", key->service_id);
    if (key->flags & RWF_KEY_HAS_NAME)
        out_text(show->out, "name", key->name);
    if (key->flags & RWF_KEY_HAS_NAME_TYPE)
        out_uint(show->out, "name_type", key->name_type);
    if (key->flags & RWF_KEY_HAS_FILTER)
        out_uint(show->out, "filter", key->filter);
    if (key->flags & RWF_KEY_HAS_IDENTIFIER)
        out_int(show->out, "identifier", key->identifier);
    if (key->flags & RWF_KEY_HAS_ATTRIB && key->attrib.length)
        show_content(show, key->attrib_type, key->attrib, NULL, depth + 1);
    out_end(show->out);
}

static void show_qos(struct show *show, const char *key, const struct rwf_qos *qos)
{
    char text[RWF_TEXT_MAX];

    rwf_qos_to_text(qos, text, sizeof(text));
    out_word(show->out, key, text);
}

static void show_numbers(struct show *show, const struct rwf_msg *msg)
{
    const struct names_members has = names_members(msg);

    if (msg->msg_class == RWF_CLASS_UPDATE)
        out_word(show->out, "type", rwf_update_type_name(msg->update_type));
    if (has.seq_num)
        out_uint(show->out, "seq_num", msg->seq_num);
    if (has.secondary_seq_num)
        out_uint(show->out, "secondary_seq_num", msg->secondary_seq_num);
    if (has.part_num)
        out_uint(show->out, "part", msg->part_num);
    if (has.conf_info) {
        out_uint(show->out, "conflated", msg->conf_count);
        out_uint(show->out, "conflated_ms", msg->conf_time_ms);
    }
    if (has.priority) {
        out_uint(show->out, "priority_class", msg->priority_class);
        out_uint(show->out, "priority_count", msg->priority_count);
    }
    if (has.post_id)
        out_uint(show->out, "post_id", msg->post_id);
    if (has.post_user) {
        out_uint(show->out, "post_user_addr", msg->post_user_addr);
        out_uint(show->out, "post_user_id", msg->post_user_id);
    }
    if (has.post_rights)
        out_uint(show->out, "post_rights", msg->post_rights);
    if (msg->msg_class == RWF_CLASS_ACK)
        out_uint(show->out, "ack_id", msg->ack_id);
    if (has.nak_code)
        out_word(show->out, "nak_code", rwf_nak_code_name(msg->nak_code));
    if (has.text)
        out_text(show->out, "text", msg->text);
}

static void show_members(struct show *show, const struct rwf_msg *msg, unsigned depth)
{
    const struct names_members has = names_members(msg);

    if (has.qos)
        show_qos(show, "qos", &msg->qos);
    if (has.worst_qos)
        show_qos(show, "worst_qos", &msg->worst_qos);
    if (has.group_id)
        out_hex(show->out, "group", msg->group_id);
    if (has.perm_data)
        out_hex(show->out, "perm", msg->perm_data);
    if (has.ext_header)
        out_hex(show->out, "ext_header", msg->ext_header);
    if (has.state) {
        out_begin(show->out, "state");
        show_state(show, &msg->state);
        out_end(show->out);
    }
    if (rwf_msg_has_key(msg))
        show_key(show, "key", &msg->key, depth);
    if (has.req_key)
        show_key(show, "req_key", &msg->req_key, depth);
}

static void show_domain(struct show *show, unsigned domain)
{
    const char *name = rwf_domain_name(domain);

    if (strcmp(name, "UNKNOWN") != 0)
        out_word(show->out, "domain", name);
    else
        out_uint(show->out, "domain", domain);
}

static void show_message_body(struct show *show, struct rwf_bytes bytes,
                              const struct show_origin *origin, unsigned depth)
{
    struct rwf_msg msg;
    char flags[512];
    int err = rwf_msg_decode(bytes, &msg);

    if (show->out->format == OUT_TEXT)
        out_word(show->out, "value", err == RWF_OK ? rwf_class_name(msg.msg_class) : "?");
    else if (err == RWF_OK)
        out_word(show->out, "class", rwf_class_name(msg.msg_class));
    if (origin) {
        if (origin->number)
            out_uint(show->out, "number", origin->number);
        if (origin->time)
            out_word(show->out, "time", origin->time);
        if (origin->from)
            out_word(show->out, "from", origin->from);
        if (origin->to)
            out_word(show->out, "to", origin->to);
    }
    if (err != RWF_OK) {
        out_hex(show->out, "bytes", bytes);
        broken(show, err);
        return;
    }
    show_domain(show, msg.domain);
    out_int(show->out, "stream_id", msg.stream_id);
    names_flags(&msg, flags, sizeof(flags));
    out_word(show->out, "flags", flags[0] ? flags : "0");
    show_numbers(show, &msg);
    show_members(show, &msg, depth);
    if (msg.container != RWF_TYPE_NO_DATA && msg.payload.length) {
        out_begin(show->out, "payload");
        show_content(show, msg.container, msg.payload, NULL, depth + 1);
        out_end(show->out);
    }
}

/* ---- pages and Marketfeed ---- */

/* What the payload alone writes on an empty page. */
static void show_page(struct show *show, struct rwf_bytes bytes)
{
    static struct page page;
    char text[PAGE_TEXT_MAX];

    unsigned shown = 0;

    page_reset(&page);
    page_apply(&page, bytes);
    for (unsigned row = 0; row < PAGE_ROWS; row++)
        shown += page_row_text(&page, row, text) > 0;
    if (show->has_hex || shown == 0)
        out_hex(show->out, "bytes", bytes);
    out_list(show->out, "rows");
    for (unsigned row = 0; row < PAGE_ROWS; row++) {
        size_t length = page_row_text(&page, row, text);
        if (length == 0)
            continue;
        out_begin(show->out, "row");
        out_uint(show->out, "number", row + 1);
        out_text(show->out, "value", rwf_bytes(text, length));
        out_end(show->out);
    }
    out_list_end(show->out);
}

static void show_record_field(struct show *show, const struct mf_field *field)
{
    const struct rwf_field_def *def =
        show->dictionary ? rwf_dictionary_field(show->dictionary, field->id) : NULL;

    out_begin(show->out, "field");
    out_heading(show->out, true, field->id,
                def ? rwf_bytes(def->name, def->name_length) : rwf_text(""));
    show_rmtes(show, field->value);
    out_end(show->out);
}

static void show_record(struct show *show, struct rwf_bytes bytes)
{
    struct mf_record record;
    struct mf_field field;
    int err = mf_decode(bytes, MF_RECORD_MAX, &record);

    if (show->has_hex || err != MD_OK)
        out_hex(show->out, "bytes", bytes);
    if (err == MD_ERR_UNSUPPORTED) {
        out_uint(show->out, "code", record.code); /* a status or the like */
        return;
    }
    if (err != MD_OK) {
        show->broken_count++;
        out_error(show->out, "no record of Marketfeed");
        return;
    }
    out_uint(show->out, "code", record.code);
    out_text(show->out, "name", record.name);
    if (record.has_template)
        out_uint(show->out, "template", record.template_id);
    if (record.has_level)
        out_uint(show->out, "level", record.level);
    out_list(show->out, "fields");
    while (mf_next(&record.fields, &field))
        show_record_field(show, &field);
    out_list_end(show->out);
}

static void show_container(struct show *show, unsigned type, struct rwf_bytes bytes,
                           const struct rwf_sets *sets, unsigned depth)
{
    switch (type) {
    case RWF_TYPE_FIELD_LIST:
        show_field_list(show, bytes, sets, depth);
        return;
    case RWF_TYPE_ELEMENT_LIST:
        show_element_list(show, bytes, sets, depth);
        return;
    case RWF_TYPE_MAP:
        show_map(show, bytes, depth);
        return;
    case RWF_TYPE_VECTOR:
        show_vector(show, bytes, depth);
        return;
    case RWF_TYPE_SERIES:
        show_series(show, bytes, depth);
        return;
    case RWF_TYPE_FILTER_LIST:
        show_filter_list(show, bytes, depth);
        return;
    case RWF_TYPE_MSG:
        show_message_body(show, bytes, NULL, depth);
        return;
    case RWF_TYPE_ANSI_PAGE:
        show_page(show, bytes);
        return;
    case MF_CONTAINER:
        show_record(show, bytes);
        return;
    case RWF_TYPE_XML:
    case RWF_TYPE_JSON:
        out_text(show->out, "value", bytes);
        return;
    default:
        if (is_printable(bytes))
            out_text(show->out, "value", bytes);
        else
            out_hex(show->out, "value", bytes);
        return;
    }
}

static void show_content(struct show *show, unsigned type, struct rwf_bytes bytes,
                         const struct rwf_sets *sets, unsigned depth)
{
    out_begin(show->out, names_container(type));
    if (depth > RWF_DEPTH_MAX)
        broken(show, RWF_ERR_DEPTH);
    else
        show_container(show, type, bytes, sets, depth);
    out_end(show->out);
}

void show_message(struct show *show, struct rwf_bytes bytes, const struct show_origin *origin)
{
    out_begin(show->out, "message");
    show_message_body(show, bytes, origin, 1);
    out_end(show->out);
}

void show_data(struct show *show, unsigned type, struct rwf_bytes bytes)
{
    if (rwf_type_is_container(type)) {
        show_content(show, type, bytes, NULL, 1);
        return;
    }
    out_begin(show->out, "data");
    out_word(show->out, "type", rwf_type_name(type));
    show_entry_content(show, type, bytes, NULL, 1);
    out_end(show->out);
}
