/* show.c - a payload as text: fields with their names, containers of any kind inside each other. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "tc.h"

enum { TEXT_MAX = 400, FIRST_INDENT = 8, MORE_INDENT = 4 };

/* How deep it stands, and what its set definitions are. */
struct place {
    const struct tc *tc;
    int indent;
    unsigned depth;
    const struct rwf_sets *sets;
};

static bool show(struct place at, unsigned type, struct rwf_bytes bytes);

/* Nothing that a terminal would obey, and nothing that it could not show. */
static size_t bytes_text(struct rwf_bytes bytes, char *out, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; i < bytes.length && n + 1 < size; i++)
        out[n++] = bytes.data[i] < 0x20 || bytes.data[i] > 0x7e ? '.' : (char)bytes.data[i];
    out[n] = 0;
    return n;
}

const char *show_words(struct rwf_bytes text, char *out, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; i < text.length && n + 1 < size; i++) {
        uint8_t byte = text.data[i];
        bool is_c1 = i > 0 && text.data[i - 1] == 0xc2 && byte >= 0x80 && byte < 0xa0;
        out[n++] = byte < 0x20 || byte == 0x7f || is_c1 ? '.' : (char)byte;
    }
    out[n] = 0;
    return out;
}

/* The commands of a partial update in braces: {22} is "go on at cell 22", {*3} "three times more".
 */
static size_t partial_text(struct rwf_bytes bytes, char *out, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; i < bytes.length && n + 16 < size;) {
        size_t end = i + 2;
        if (bytes.data[i] == 0x1b && i + 2 < bytes.length && bytes.data[i + 1] == '[') {
            while (end < bytes.length && end < i + 8 && bytes.data[end] >= '0' &&
                   bytes.data[end] <= '9')
                end++;
            if (end < bytes.length && (bytes.data[end] == '`' || bytes.data[end] == 'b')) {
                int count =
                    snprintf(out + n, size - n, "{%s%.*s}", bytes.data[end] == 'b' ? "*" : "",
                             (int)(end - i - 2), (const char *)bytes.data + i + 2);
                n += count > 0 ? (size_t)count : 0;
                i = end + 1;
                continue;
            }
        }
        n += bytes_text(rwf_bytes(bytes.data + i++, 1), out + n, size - n);
    }
    out[n] = 0;
    return n;
}

/* Its text comes from the network. */
static size_t state_text(const struct rwf_state *state, char *out, size_t size)
{
    char text[TEXT_MAX];
    size_t length = rwf_state_to_text(state, text, sizeof(text));

    return bytes_text(rwf_bytes(text, length < sizeof(text) ? length : sizeof(text) - 1), out,
                      size);
}

static size_t value_text(const struct rwf_value *value, char *out, size_t size)
{
    if (value->is_blank)
        return (size_t)snprintf(out, size, "(blank)");
    switch (value->type) {
    case RWF_TYPE_INT:
        return rwf_int_to_text(value->i, out, size);
    case RWF_TYPE_UINT:
    case RWF_TYPE_ENUM:
        return rwf_uint_to_text(value->u, out, size);
    case RWF_TYPE_FLOAT:
        return (size_t)snprintf(out, size, "%g", (double)value->f);
    case RWF_TYPE_DOUBLE:
        return (size_t)snprintf(out, size, "%g", value->d);
    case RWF_TYPE_REAL:
        return rwf_real_to_text(&value->real, out, size);
    case RWF_TYPE_DATE:
        return rwf_date_to_text(&value->date, out, size);
    case RWF_TYPE_TIME:
        return rwf_time_to_text(&value->time, out, size);
    case RWF_TYPE_DATETIME:
        return rwf_datetime_to_text(&value->datetime, out, size);
    case RWF_TYPE_QOS:
        return rwf_qos_to_text(&value->qos, out, size);
    case RWF_TYPE_STATE:
        return state_text(&value->state, out, size);
    case RWF_TYPE_ASCII:
    case RWF_TYPE_UTF8:
        return bytes_text(value->bytes, out, size);
    case RWF_TYPE_RMTES:
        return partial_text(value->bytes, out, size);
    default:
        return (size_t)snprintf(out, size, "(%zu bytes)", value->bytes.length);
    }
}

static bool is_container(unsigned type)
{
    return type >= RWF_TYPE_FIELD_LIST && type <= RWF_TYPE_SERIES;
}

/* The type is that of a set definition; 0: the dictionary has it. */
static bool show_field(struct place at, const struct rwf_field *field)
{
    const struct rwf_field_def *def =
        at.tc->dictionary ? rwf_dictionary_field(at.tc->dictionary, field->id) : NULL;
    unsigned type = field->type ? field->type : def ? def->rwf_type : RWF_TYPE_UNKNOWN;
    struct rwf_value value = { .type = 0 };
    char text[TEXT_MAX];

    if (!def && !field->type) {
        printf("%*s%-12s %5d  (%zu bytes)\n", at.indent, "", "?", field->id, field->content.length);
        return true;
    }
    printf("%*s%-12s %5d", at.indent, "", def ? def->name : "?", field->id);
    if (is_container(type)) {
        printf("\n");
        return show(at, type, field->content);
    }
    if (rwf_value_decode(type, field->content, &value) < 0) {
        printf("  (not legal)\n");
        return false;
    }
    (void)value_text(&value, text, sizeof(text));
    printf("  %s", text);
    const struct rwf_enum_value *entry = value.type == RWF_TYPE_ENUM && !value.is_blank && def
                                             ? rwf_enum_find(def->enums, (unsigned)value.u)
                                             : NULL;
    if (entry) {
        (void)bytes_text(rwf_bytes(entry->display, entry->display_length), text, sizeof(text));
        printf(" \"%s\"", text);
    }
    printf("\n");
    return true;
}

static bool show_fields(struct place at, struct rwf_bytes bytes)
{
    struct rwf_field_list list;
    struct rwf_field field;
    int rc = rwf_field_list_decode(bytes, at.sets, &list);

    while (rc >= 0 && (rc = rwf_field_list_next(&list, &field)) > 0) {
        if (!show_field(at, &field))
            return false;
    }
    return rc >= 0;
}

static bool show_elements(struct place at, struct rwf_bytes bytes)
{
    struct rwf_element_list list;
    struct rwf_element element;
    char name[TEXT_MAX], text[TEXT_MAX];
    int rc = rwf_element_list_decode(bytes, at.sets, &list);

    while (rc >= 0 && (rc = rwf_element_list_next(&list, &element)) > 0) {
        struct rwf_value value = { .type = 0 };
        (void)bytes_text(element.name, name, sizeof(name));
        printf("%*s%-18s", at.indent, "", name);
        if (is_container(element.type)) {
            printf("\n");
            if (!show(at, element.type, element.content))
                return false;
            continue;
        }
        if (rwf_value_decode(element.type, element.content, &value) < 0) {
            printf("  (not legal)\n");
            return false;
        }
        (void)value_text(&value, text, sizeof(text));
        printf("  %s\n", text);
    }
    return rc >= 0;
}

/* Set definitions of a container hold for its entries. */
static bool take_sets(struct place *at, unsigned container, bool has_sets, struct rwf_bytes bytes,
                      struct rwf_set_db *db, struct rwf_sets *sets)
{
    enum rwf_set_kind kind = container == RWF_TYPE_ELEMENT_LIST ? RWF_SET_ELEMENTS : RWF_SET_FIELDS;

    *sets = (struct rwf_sets){ .local = NULL };
    if (has_sets) {
        if (rwf_set_db_decode(bytes, kind, db) != RWF_OK)
            return false;
        sets->local = db;
    }
    at->sets = sets;
    return true;
}

static bool show_summary(struct place at, unsigned container, bool has_summary,
                         struct rwf_bytes bytes)
{
    if (!has_summary)
        return true;
    printf("%*ssummary\n", at.indent, "");
    return show(at, container, bytes);
}

static const char *map_action(unsigned action)
{
    static const char *const names[] = { NULL, "UPDATE", "ADD", "DELETE" };

    return action < sizeof(names) / sizeof(names[0]) && names[action] ? names[action] : "?";
}

static const char *vector_action(unsigned action)
{
    static const char *const names[] = { NULL, "UPDATE", "SET", "CLEAR", "INSERT", "DELETE" };

    return action < sizeof(names) / sizeof(names[0]) && names[action] ? names[action] : "?";
}

/* A key as text; one of bytes is shown as the letters that it mostly is. */
static void key_text(unsigned type, struct rwf_bytes key, char *text, size_t size)
{
    struct rwf_value value = { .type = 0 };

    if (type == RWF_TYPE_BUFFER || rwf_value_decode(type, key, &value) < 0)
        (void)bytes_text(key, text, size);
    else
        (void)value_text(&value, text, size);
}

static bool show_map(struct place at, struct rwf_bytes bytes)
{
    struct rwf_map map;
    struct rwf_map_entry entry;
    struct rwf_set_db db;
    struct rwf_sets sets;
    char text[TEXT_MAX];
    int rc = rwf_map_decode(bytes, &map);

    if (rc < 0 ||
        !take_sets(&at, map.info.container, (map.info.flags & RWF_MAP_HAS_SET_DEFS) != 0,
                   map.info.set_defs, &db, &sets) ||
        !show_summary(at, map.info.container, (map.info.flags & RWF_MAP_HAS_SUMMARY) != 0,
                      map.info.summary))
        return false;
    while (rc >= 0 && (rc = rwf_map_next(&map, &entry)) > 0) {
        key_text(map.info.key_type, entry.key, text, sizeof(text));
        printf("%*s%-6s %s\n", at.indent, "", map_action(entry.action), text);
        if (entry.data.length && !show(at, map.info.container, entry.data))
            return false;
    }
    return rc >= 0;
}

static bool show_vector(struct place at, struct rwf_bytes bytes)
{
    struct rwf_vector vector;
    struct rwf_vector_entry entry;
    struct rwf_set_db db;
    struct rwf_sets sets;
    int rc = rwf_vector_decode(bytes, &vector);

    if (rc < 0 ||
        !take_sets(&at, vector.info.container, (vector.info.flags & RWF_VECTOR_HAS_SET_DEFS) != 0,
                   vector.info.set_defs, &db, &sets) ||
        !show_summary(at, vector.info.container, (vector.info.flags & RWF_VECTOR_HAS_SUMMARY) != 0,
                      vector.info.summary))
        return false;
    while (rc >= 0 && (rc = rwf_vector_next(&vector, &entry)) > 0) {
        printf("%*s%-6s [%u]\n", at.indent, "", vector_action(entry.action), entry.index);
        if (entry.data.length && !show(at, vector.info.container, entry.data))
            return false;
    }
    return rc >= 0;
}

static bool show_series(struct place at, struct rwf_bytes bytes)
{
    struct rwf_series series;
    struct rwf_bytes row;
    struct rwf_set_db db;
    struct rwf_sets sets;
    int rc = rwf_series_decode(bytes, &series);

    if (rc < 0 ||
        !take_sets(&at, series.info.container, (series.info.flags & RWF_SERIES_HAS_SET_DEFS) != 0,
                   series.info.set_defs, &db, &sets) ||
        !show_summary(at, series.info.container, (series.info.flags & RWF_SERIES_HAS_SUMMARY) != 0,
                      series.info.summary))
        return false;
    while (rc >= 0 && (rc = rwf_series_next(&series, &row)) > 0) {
        printf("%*srow\n", at.indent, "");
        if (!show(at, series.info.container, row))
            return false;
    }
    return rc >= 0;
}

static bool show_filters(struct place at, struct rwf_bytes bytes)
{
    struct rwf_filter_list list;
    struct rwf_filter_entry entry;
    int rc = rwf_filter_list_decode(bytes, &list);

    while (rc >= 0 && (rc = rwf_filter_list_next(&list, &entry)) > 0) {
        printf("%*sfilter %u\n", at.indent, "", entry.id);
        if (entry.data.length && !show(at, entry.container, entry.data))
            return false;
    }
    return rc >= 0;
}

/* What stands in it is shown deeper. False: it is broken. */
static bool show(struct place at, unsigned type, struct rwf_bytes bytes)
{
    if (++at.depth > RWF_DEPTH_MAX)
        return false;
    at.indent += at.depth == 1 ? FIRST_INDENT : MORE_INDENT;
    switch (type) {
    case RWF_TYPE_FIELD_LIST:
        return show_fields(at, bytes);
    case RWF_TYPE_ELEMENT_LIST:
        return show_elements(at, bytes);
    case RWF_TYPE_MAP:
        return show_map(at, bytes);
    case RWF_TYPE_VECTOR:
        return show_vector(at, bytes);
    case RWF_TYPE_SERIES:
        return show_series(at, bytes);
    case RWF_TYPE_FILTER_LIST:
        return show_filters(at, bytes);
    case RWF_TYPE_NO_DATA:
        return true;
    default:
        printf("%*s(%zu bytes of type %u)\n", at.indent, "", bytes.length, type);
        return rwf_check(type, bytes, NULL) == RWF_OK;
    }
}

bool show_payload(const struct tc *tc, unsigned container, struct rwf_bytes payload)
{
    const struct place at = { .tc = tc };

    return show(at, container, payload);
}
