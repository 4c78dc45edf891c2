/* dictionary_decode.c - see rmds/rwf_dictionary.h: dictionaries from messages. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"
#include "dictionary_store.h"
#include "rmds/rwf_dictionary.h"

/* A number, whether INT or UINT; real decoders take both. */
static int get_number(const struct rwf_element *element, int64_t min, int64_t max, int64_t *number)
{
    struct rwf_value value;
    int err = rwf_value_decode(element->type, element->content, &value);

    *number = 0;
    if (err != RWF_OK)
        return err;
    if (value.is_blank)
        return RWF_OK;
    if (value.type == RWF_TYPE_INT)
        *number = value.i;
    else if (value.type == RWF_TYPE_UINT && value.u <= INT64_MAX)
        *number = (int64_t)value.u;
    else
        return RWF_ERR_MALFORMED;
    return *number < min || *number > max ? RWF_ERR_MALFORMED : RWF_OK;
}

static int get_text(const struct rwf_element *element, struct rwf_bytes *text)
{
    *text = (struct rwf_bytes){ .data = NULL };
    if (element->type < RWF_TYPE_BUFFER || element->type > RWF_TYPE_RMTES)
        return RWF_ERR_MALFORMED;
    *text = element->content;
    return RWF_OK;
}

/* ---- the summary ---- */

static int read_summary_element(const struct rwf_element *element,
                                struct rwf_dictionary_summary *summary)
{
    int64_t number;
    int err = RWF_OK;

    if (rwf_element_is(element, "Type")) {
        err = get_number(element, 0, UINT8_MAX, &number);
        summary->type = (enum rwf_dictionary_type)number;
    } else if (rwf_element_is(element, "DictionaryId")) {
        err = get_number(element, INT32_MIN, INT32_MAX, &number);
        summary->dictionary_id = (int32_t)number;
    } else if (rwf_element_is(element, "Version")) {
        err = get_text(element, &summary->version);
    } else if (rwf_element_is(element, "RT_Version")) {
        err = get_text(element, &summary->rt_version);
    } else if (rwf_element_is(element, "DT_Version")) {
        err = get_text(element, &summary->dt_version);
    }
    return err;
}

static int read_summary(const struct rwf_series *series, struct rwf_dictionary_summary *summary)
{
    struct rwf_element_list list;
    struct rwf_element element;
    int rc;

    *summary = (struct rwf_dictionary_summary){ .count = series->info.hint };
    if (!(series->info.flags & RWF_SERIES_HAS_SUMMARY))
        return RWF_OK;
    rc = rwf_element_list_decode(series->info.summary, NULL, &list);
    while (rc >= 0 && (rc = rwf_element_list_next(&list, &element)) > 0) {
        rc = read_summary_element(&element, summary);
        if (rc < 0)
            break;
    }
    return rc;
}

static int open_series(struct rwf_bytes payload, struct rwf_series *series)
{
    int err = rwf_series_decode(payload, series);

    if (err == RWF_OK && series->info.container != RWF_TYPE_ELEMENT_LIST && payload.length > 0)
        err = RWF_ERR_MALFORMED;
    return err;
}

int rwf_dictionary_summary_decode(struct rwf_bytes payload, struct rwf_dictionary_summary *summary)
{
    struct rwf_series series;
    int err = open_series(payload, &series);

    *summary = (struct rwf_dictionary_summary){ .count = 0 };
    return err != RWF_OK ? err : read_summary(&series, summary);
}

static int keep_text(struct rwf_dictionary *dictionary, const char **string, struct rwf_bytes text)
{
    const char *copy;

    if (text.length == 0)
        return RWF_OK;
    copy = store_string(dictionary, text.data, text.length);
    if (!copy)
        return MD_ERR_NOMEM;
    *string = copy;
    return RWF_OK;
}

static int keep_summary(struct rwf_dictionary *dictionary,
                        const struct rwf_dictionary_summary *summary)
{
    struct rwf_dictionary_info *info = &dictionary->info;
    int err = RWF_OK;

    if (summary->dictionary_id)
        info->dictionary_id = summary->dictionary_id;
    if (summary->type == RWF_DICTIONARY_TYPE_FIELDS)
        return keep_text(dictionary, &info->field_version, summary->version);
    if (summary->type == RWF_DICTIONARY_TYPE_ENUMS) {
        err = keep_text(dictionary, &info->rt_version, summary->rt_version);
        if (err == RWF_OK)
            err = keep_text(dictionary, &info->dt_version,
                            summary->dt_version.length ? summary->dt_version : summary->version);
    }
    return err;
}

/* ---- entries ---- */

/* The parts of an entry; the ones present say whether it is a field or a table. */
struct entry {
    struct rwf_bytes name;
    struct rwf_bytes long_name;
    struct rwf_field_def field;
    struct rwf_bytes fids;
    struct rwf_bytes values;
    struct rwf_bytes displays;
    struct rwf_bytes meanings;
};

/* A member of struct rwf_field_def that is a number. */
static int read_number(const struct rwf_element *element, struct entry *entry)
{
    struct rwf_field_def *field = &entry->field;
    int64_t number = 0;
    int err = RWF_OK;

    if (rwf_element_is(element, "RIPPLETO")) {
        err = get_number(element, INT16_MIN, INT16_MAX, &number);
        field->ripples_to = (int16_t)number;
    } else if (rwf_element_is(element, "TYPE")) {
        err = get_number(element, INT8_MIN, INT8_MAX, &number);
        field->field_type = (int8_t)number;
    } else if (rwf_element_is(element, "LENGTH")) {
        err = get_number(element, 0, UINT16_MAX, &number);
        field->length = (uint16_t)number;
    } else if (rwf_element_is(element, "RWFTYPE")) {
        err = get_number(element, 0, UINT8_MAX, &number);
        field->rwf_type = (uint8_t)number;
    } else if (rwf_element_is(element, "RWFLEN")) {
        err = get_number(element, 0, UINT16_MAX, &number);
        field->rwf_length = (uint16_t)number;
    } else if (rwf_element_is(element, "ENUMLENGTH")) {
        err = get_number(element, 0, UINT8_MAX, &number);
        field->enum_length = (uint8_t)number;
    }
    return err;
}

static int read_element(const struct rwf_element *element, struct entry *entry)
{
    int64_t number;
    int err;

    if (rwf_element_is(element, "NAME"))
        return get_text(element, &entry->name);
    if (rwf_element_is(element, "LONGNAME"))
        return get_text(element, &entry->long_name);
    if (element->type == RWF_TYPE_ARRAY) {
        if (rwf_element_is(element, "FIDS") || rwf_element_is(element, "FID"))
            entry->fids = element->content;
        else if (rwf_element_is(element, "VALUE") || rwf_element_is(element, "VALUES"))
            entry->values = element->content;
        else if (rwf_element_is(element, "DISPLAY") || rwf_element_is(element, "DISPLAYS"))
            entry->displays = element->content;
        else if (rwf_element_is(element, "MEANING"))
            entry->meanings = element->content;
        return RWF_OK;
    }
    if (rwf_element_is(element, "FID")) {
        err = get_number(element, INT16_MIN, INT16_MAX, &number);
        entry->field.fid = (int16_t)number;
        return err;
    }
    return read_number(element, entry);
}

static int add_field(struct rwf_dictionary *dictionary, const struct entry *entry)
{
    int err = store_add_field(
        dictionary, &entry->field,
        (struct store_view){ (const char *)entry->name.data, entry->name.length },
        (struct store_view){ (const char *)entry->long_name.data, entry->long_name.length });

    return err == MD_ERR_RANGE ? RWF_ERR_MALFORMED : err;
}

static int collect_fids(const struct entry *entry, struct store_table *table)
{
    struct rwf_array array;
    struct rwf_bytes item;
    int rc = rwf_array_decode(entry->fids, &array);

    while (rc >= 0 && (rc = rwf_array_next(&array, &item)) > 0) {
        struct rwf_element element = { .type = array.item_type, .content = item };
        int64_t fid;

        rc = get_number(&element, INT16_MIN, INT16_MAX, &fid);
        if (rc < 0)
            break;
        if (fid == 0)
            return RWF_ERR_MALFORMED;
        rc = store_table_add_fid(table, (int16_t)fid);
        if (rc < 0)
            break;
    }
    return rc;
}

static int collect_value(struct rwf_dictionary *dictionary, struct store_table *table,
                         struct rwf_bytes value_bytes, struct rwf_bytes display,
                         struct rwf_bytes meaning)
{
    struct rwf_enum_value value = { .display_length = (uint16_t)display.length };
    int err = rwf_enum_decode(value_bytes, &value.value);

    if (err < 0)
        return err;
    value.display = (uint8_t *)store_string(dictionary, display.data, display.length);
    value.meaning = store_string(dictionary, meaning.data, meaning.length);
    if (!value.display || !value.meaning)
        return MD_ERR_NOMEM;
    return store_table_add_value(table, value, 0);
}

/* Values and displays go in step; meanings, which few senders have, too. */
static int collect_values(struct rwf_dictionary *dictionary, const struct entry *entry,
                          struct store_table *table)
{
    struct rwf_array values, displays, meanings;
    struct rwf_bytes value, display, meaning = { .data = NULL };
    bool has_meanings = entry->meanings.length > 0;
    int rc = rwf_array_decode(entry->values, &values);

    if (rc >= 0)
        rc = rwf_array_decode(entry->displays, &displays);
    if (rc >= 0 && has_meanings)
        rc = rwf_array_decode(entry->meanings, &meanings);
    if (rc < 0)
        return rc;
    if (values.count != displays.count || values.item_type != RWF_TYPE_ENUM ||
        (has_meanings && meanings.count != values.count))
        return RWF_ERR_MALFORMED;
    while ((rc = rwf_array_next(&values, &value)) > 0) {
        rc = rwf_array_next(&displays, &display);
        if (rc > 0 && has_meanings)
            rc = rwf_array_next(&meanings, &meaning);
        if (rc > 0)
            rc = collect_value(dictionary, table, value, display, meaning);
        if (rc < 0)
            break;
    }
    return rc;
}

static int add_table(struct rwf_dictionary *dictionary, const struct entry *entry)
{
    struct store_table table = { .fids = NULL };
    unsigned line;
    int number;
    int err = collect_fids(entry, &table);

    if (err == RWF_OK)
        err = collect_values(dictionary, entry, &table);
    if (err == RWF_OK)
        err = store_add_table(dictionary, &table, &line, &number);
    store_table_fini(&table);
    return err;
}

static int read_entry(struct rwf_dictionary *dictionary, struct rwf_bytes data,
                      const struct rwf_sets *sets)
{
    struct rwf_element_list list;
    struct rwf_element element;
    struct entry entry = { .name = { .data = NULL } };
    int rc = rwf_element_list_decode(data, sets, &list);

    while (rc >= 0 && (rc = rwf_element_list_next(&list, &element)) > 0) {
        rc = read_element(&element, &entry);
        if (rc < 0)
            break;
    }
    if (rc < 0)
        return rc;
    if (entry.name.length > 0)
        return add_field(dictionary, &entry);
    if (entry.fids.length > 0 && entry.values.length > 0 && entry.displays.length > 0)
        return add_table(dictionary, &entry);
    return RWF_ERR_MALFORMED;
}

static int read_part(struct rwf_dictionary *dictionary, struct rwf_bytes payload)
{
    struct rwf_dictionary_summary summary;
    struct rwf_series series;
    struct rwf_set_db db;
    struct rwf_sets sets = { .local = NULL };
    struct rwf_bytes data;
    int rc = open_series(payload, &series);

    if (rc >= 0)
        rc = read_summary(&series, &summary);
    if (rc >= 0)
        rc = keep_summary(dictionary, &summary);
    if (rc >= 0 && series.info.flags & RWF_SERIES_HAS_SET_DEFS) {
        rc = rwf_set_db_decode(series.info.set_defs, RWF_SET_ELEMENTS, &db);
        sets.local = &db;
    }
    while (rc >= 0 && (rc = rwf_series_next(&series, &data)) > 0) {
        rc = read_entry(dictionary, data, &sets);
        if (rc < 0)
            break;
    }
    return rc;
}

int rwf_dictionary_decode(struct rwf_dictionary *dictionary, struct rwf_bytes payload)
{
    struct store_mark mark = store_mark(dictionary);
    int err = read_part(dictionary, payload);

    if (err != RWF_OK)
        store_rollback(dictionary, &mark);
    else
        store_link(dictionary);
    return err;
}
