/* dictionary_file.c - see rmds/rwf_dictionary.h: the files RDMFieldDictionary and enumtype.def. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/err.h"
#include "dictionary_store.h"
#include "dictionary_text.h"

struct named_type {
    const char *prefix;
    int type;
};

/* Matched by prefix, in this order: TIME_SECONDS before TIME. */
static const struct named_type field_types[] = {
    { "TIME_SECONDS", RWF_FIELD_TYPE_TIME_SECONDS },
    { "INTEGER", RWF_FIELD_TYPE_INTEGER },
    { "NUMERIC", RWF_FIELD_TYPE_NUMERIC },
    { "DATE", RWF_FIELD_TYPE_DATE },
    { "PRICE", RWF_FIELD_TYPE_PRICE },
    { "ALPHANUMERIC", RWF_FIELD_TYPE_ALPHANUMERIC },
    { "ENUMERATED", RWF_FIELD_TYPE_ENUMERATED },
    { "TIME", RWF_FIELD_TYPE_TIME },
    { "BINARY", RWF_FIELD_TYPE_BINARY },
    { "LONG_ALPHANUMERIC", RWF_FIELD_TYPE_LONG_ALPHANUMERIC },
    { "OPAQUE", RWF_FIELD_TYPE_OPAQUE },
    { "NONE", RWF_FIELD_TYPE_NONE },
};

/* Matched by prefix, in this order: UINT64 and UINT32 are UINT, DATETIME is not DATE. */
static const struct named_type rwf_types[] = {
    { "UINT", 4 },         { "INT", 3 },           { "REAL", 8 },          { "FLOAT", 5 },
    { "DOUBLE", 6 },       { "DATETIME", 11 },     { "DATE_TIME", 11 },    { "DATE", 9 },
    { "TIME", 10 },        { "QOS", 12 },          { "STATE", 13 },        { "STATUS", 13 },
    { "ENUM", 14 },        { "ARRAY", 15 },        { "BUFFER", 16 },       { "ASCII_STRING", 17 },
    { "UTF8_STRING", 18 }, { "RMTES_STRING", 19 }, { "VECTOR", 136 },      { "MAP", 137 },
    { "SERIES", 138 },     { "FIELD_LIST", 132 },  { "FILTER_LIST", 135 }, { "ELEMENT_LIST", 133 },
    { "ELEM_LIST", 133 },  { "XML", 131 },         { "ANSI_PAGE", 134 },   { "OPAQUE", 130 },
    { "MSG", 141 },        { "JSON", 142 },
};

static const struct store_view nothing;

static bool find_type(const struct named_type *types, size_t count, struct store_view word,
                      int *type)
{
    for (size_t i = 0; i < count; i++) {
        if (!text_starts_with(word, types[i].prefix))
            continue;
        *type = types[i].type;
        return true;
    }
    return false;
}

/* ---- tags ---- */

static int set_string(struct rwf_dictionary *dictionary, const char **string,
                      struct store_view value)
{
    const char *copy = store_string(dictionary, value.bytes, value.length);

    if (!copy)
        return MD_ERR_NOMEM;
    *string = copy;
    return MD_OK;
}

static int set_dictionary_id(struct rwf_dictionary *dictionary, struct text_scan *scan)
{
    long id;

    if (!text_number(scan, 0, INT32_MAX, &id))
        return text_fail(scan, scan->line, MD_ERR_MALFORMED,
                         "the tag DictionaryId wants a number from 0 on", nothing, "");
    if (id && dictionary->info.dictionary_id && id != dictionary->info.dictionary_id)
        return text_fail_number(scan, scan->line, MD_ERR_EXISTS,
                                "this file is of another dictionary than those before: its "
                                "DictionaryId is",
                                id, ", theirs is not (0 goes with all)");
    if (id)
        dictionary->info.dictionary_id = (int32_t)id;
    return MD_OK;
}

/* A line that starts with '!': a comment, or a tag of a file of this type. */
static int read_comment(struct rwf_dictionary *dictionary, struct text_scan *scan, long file_type)
{
    struct store_view name;
    long type;

    if (!text_is(text_word(scan), "!tag"))
        return MD_OK;
    name = text_word(scan);
    if (text_is(name, "DictionaryId"))
        return set_dictionary_id(dictionary, scan);
    if (text_is(name, "Type")) {
        if (text_number(scan, file_type, file_type, &type))
            return MD_OK;
        return text_fail_number(scan, scan->line, MD_ERR_MALFORMED,
                                file_type == 1 ? "this is no field dictionary: the tag Type must be"
                                               : "these are no enumerated types: the tag Type must "
                                                 "be",
                                file_type, "");
    }
    if (text_is(name, "Filename"))
        return set_string(dictionary,
                          file_type == 1 ? &dictionary->info.field_filename
                                         : &dictionary->info.enum_filename,
                          text_rest(scan));
    if (file_type == 1 && text_is(name, "Version"))
        return set_string(dictionary, &dictionary->info.field_version, text_rest(scan));
    if (file_type == 2 && text_is(name, "RT_Version"))
        return set_string(dictionary, &dictionary->info.rt_version, text_rest(scan));
    if (file_type == 2 && text_is(name, "DT_Version"))
        return set_string(dictionary, &dictionary->info.dt_version, text_rest(scan));
    return MD_OK;
}

/* ---- fields ---- */

/* A field that ripples to one that may be defined further down. */
struct ripple {
    struct store_view target;
    uint32_t index;
    unsigned line;
};

struct field_load {
    struct rwf_dictionary *dictionary;
    struct text_scan scan;
    struct ripple *ripples;
    uint32_t ripple_count;
    uint32_t ripple_room;
};

static int note_ripple(struct field_load *load, struct store_view target)
{
    if (!store_grow((void **)&load->ripples, load->ripple_count, &load->ripple_room,
                    sizeof(*load->ripples)))
        return MD_ERR_NOMEM;
    load->ripples[load->ripple_count++] = (struct ripple){
        .target = target,
        .index = load->dictionary->field_count,
        .line = load->scan.line,
    };
    return MD_OK;
}

/* FIELD_TYPE LENGTH [( ENUM_LENGTH )] RWF_TYPE RWF_LEN */
static int read_types(struct text_scan *scan, struct rwf_field_def *field)
{
    struct store_view word = text_word(scan);
    long number;
    int type;

    if (!find_type(field_types, sizeof(field_types) / sizeof(field_types[0]), word, &type))
        return text_fail(scan, scan->line, MD_ERR_MALFORMED, "the field type", word,
                         " is not known; it is one of INTEGER NUMERIC ALPHANUMERIC "
                         "LONG_ALPHANUMERIC PRICE ENUMERATED DATE TIME TIME_SECONDS BINARY OPAQUE "
                         "NONE");
    field->field_type = (int8_t)type;
    if (!text_number(scan, 0, UINT16_MAX, &number))
        return text_fail(scan, scan->line, MD_ERR_MALFORMED,
                         "after the field type stands the length, from 0 to 65535, found",
                         text_rest(scan), "");
    field->length = (uint16_t)number;
    if (text_skip_blanks(scan) && *scan->pos == '(') {
        scan->pos++;
        if (!text_number(scan, 0, UINT8_MAX, &number) || !text_skip_blanks(scan) ||
            *scan->pos != ')')
            return text_fail(scan, scan->line, MD_ERR_MALFORMED,
                             "the length of an enumerated value stands in parentheses, from 0 to "
                             "255, for example ( 3 )",
                             nothing, "");
        scan->pos++;
        field->enum_length = (uint8_t)number;
    }
    word = text_word(scan);
    if (!find_type(rwf_types, sizeof(rwf_types) / sizeof(rwf_types[0]), word, &type))
        return text_fail(scan, scan->line, MD_ERR_MALFORMED, "the RWF type", word,
                         " is not known; it is one of INT64 UINT64 REAL64 ENUM RMTES_STRING "
                         "ASCII_STRING DATE TIME BUFFER ...");
    field->rwf_type = (uint8_t)type;
    if (!text_number(scan, 0, UINT16_MAX, &number))
        return text_fail(scan, scan->line, MD_ERR_MALFORMED,
                         "the line ends with the RWF length, from 0 to 65535, found",
                         text_rest(scan), "");
    field->rwf_length = (uint16_t)number;
    return MD_OK;
}

static int add_field(struct field_load *load, const struct rwf_field_def *field,
                     struct store_view name, struct store_view long_name)
{
    struct text_scan *scan = &load->scan;
    int err = store_add_field(load->dictionary, field, name, long_name);

    if (err == MD_ERR_EXISTS)
        return text_fail_number(scan, scan->line, err, "the field id", field->fid,
                                " is defined already");
    if (err == MD_ERR_RANGE)
        return text_fail_number(scan, scan->line, MD_ERR_MALFORMED,
                                "the acronym and the DDE acronym have at most", NAME_LENGTH_MAX,
                                " bytes");
    return err;
}

static int read_field(struct field_load *load)
{
    struct text_scan *scan = &load->scan;
    struct rwf_field_def field = { .fid = 0 };
    struct store_view name = text_word(scan);
    struct store_view long_name, target, rest;
    long fid;
    int err;

    if (!text_between(scan, '"', &long_name))
        return text_fail(scan, scan->line, MD_ERR_MALFORMED,
                         "after the acronym stands the DDE acronym in double quotes, found",
                         text_rest(scan), "");
    if (!text_number(scan, INT16_MIN, INT16_MAX, &fid) || fid == 0)
        return text_fail(scan, scan->line, MD_ERR_MALFORMED, "the id of", name,
                         " must be a number from -32768 to 32767, and not 0");
    field.fid = (int16_t)fid;
    target = text_word(scan);
    if (target.length == 0)
        return text_fail(scan, scan->line, MD_ERR_MALFORMED,
                         "the line ends after the field id; RIPPLES TO is missing (an acronym or "
                         "NULL)",
                         nothing, "");
    err = read_types(scan, &field);
    if (err != MD_OK)
        return err;
    rest = text_rest(scan);
    if (rest.length && rest.bytes[0] != '!')
        return text_fail(scan, scan->line, MD_ERR_MALFORMED,
                         "the line should end after the RWF length, found", rest, "");
    if (!text_is(target, "NULL")) {
        err = note_ripple(load, target);
        if (err != MD_OK)
            return err;
    }
    return add_field(load, &field, name, long_name);
}

static int resolve_ripples(struct field_load *load)
{
    for (uint32_t i = 0; i < load->ripple_count; i++) {
        const struct ripple *ripple = &load->ripples[i];
        const struct rwf_field_def *target = rwf_dictionary_field_named(
            load->dictionary, ripple->target.bytes, ripple->target.length);

        if (!target)
            return text_fail(&load->scan, ripple->line, MD_ERR_MALFORMED, "the field rippled to,",
                             ripple->target,
                             ", is not defined in this dictionary; write NULL for none");
        load->dictionary->fields[ripple->index].ripples_to = target->fid;
    }
    return MD_OK;
}

static int read_fields(struct field_load *load)
{
    while (text_next_line(&load->scan)) {
        int err = MD_OK;

        if (!text_skip_blanks(&load->scan))
            continue;
        if (*load->scan.pos == '!')
            err = read_comment(load->dictionary, &load->scan, 1);
        else
            err = read_field(load);
        if (err != MD_OK)
            return err;
    }
    return resolve_ripples(load);
}

static int finish(struct rwf_dictionary *dictionary, const struct store_mark *mark,
                  const struct text_scan *scan, int err)
{
    if (err == MD_ERR_NOMEM)
        text_fail(scan, scan->line, err, "there is not enough memory to load this file", nothing,
                  "");
    if (err != MD_OK)
        store_rollback(dictionary, mark);
    else
        store_link(dictionary);
    return err;
}

int rwf_dictionary_load_fields(struct rwf_dictionary *dictionary, const char *file,
                               const void *text, size_t length, struct rwf_dictionary_error *error)
{
    struct field_load load = {
        .dictionary = dictionary,
        .scan = text_begin(file, text, length, error),
    };
    struct store_mark mark = store_mark(dictionary);
    int err = finish(dictionary, &mark, &load.scan, read_fields(&load));

    free(load.ripples);
    return err;
}

/* ---- enumerated types ---- */

struct enum_load {
    struct rwf_dictionary *dictionary;
    struct text_scan scan;
    struct store_table table;
    unsigned table_line; /* where the table being collected started */
};

/* The table that was being collected is complete. */
static int end_table(struct enum_load *load)
{
    const struct text_scan *scan = &load->scan;
    unsigned line;
    int number;
    int err;

    if (load->table.fid_count == 0)
        return MD_OK;
    if (load->table.value_count == 0)
        return text_fail(scan, load->table_line, MD_ERR_MALFORMED,
                         "the table that starts here has no values", nothing, "");
    err = store_add_table(load->dictionary, &load->table, &line, &number);
    if (err == MD_ERR_EXISTS && line)
        return text_fail_number(scan, line, err, "the value", number,
                                " stands twice in this table");
    if (err == MD_ERR_EXISTS)
        return text_fail_number(scan, load->table_line, err, "the field", number,
                                " of the table that starts here has a table already");
    store_table_clear(&load->table);
    return err;
}

/* ACRONYM FID */
static int read_user(struct enum_load *load)
{
    struct text_scan *scan = &load->scan;
    struct store_view name, rest;
    const struct rwf_field_def *field;
    long fid;
    int err;

    if (load->table.value_count) {
        err = end_table(load);
        if (err != MD_OK)
            return err;
    }
    name = text_word(scan);
    if (!text_number(scan, INT16_MIN, INT16_MAX, &fid) || fid == 0)
        return text_fail(scan, scan->line, MD_ERR_MALFORMED, "the id of", name,
                         " must be a number from -32768 to 32767, and not 0");
    rest = text_rest(scan);
    if (rest.length && rest.bytes[0] != '!')
        return text_fail(scan, scan->line, MD_ERR_MALFORMED,
                         "the line should end after the field id, found", rest, "");
    field = rwf_dictionary_field(load->dictionary, (int)fid);
    if (field && !text_is(name, field->name))
        return text_fail(scan, scan->line, MD_ERR_MALFORMED,
                         "the field dictionary has another acronym for this id than", name, "");
    if (load->table.fid_count == 0)
        load->table_line = scan->line;
    return store_table_add_fid(&load->table, (int16_t)fid);
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* "text" or #hex#; the copy is the dictionary's. */
static int read_display(struct enum_load *load, struct rwf_enum_value *value)
{
    struct text_scan *scan = &load->scan;
    struct store_view inside;
    uint8_t *display;

    if (text_between(scan, '"', &inside) && inside.length <= UINT16_MAX) {
        value->display = (uint8_t *)store_string(load->dictionary, inside.bytes, inside.length);
        value->display_length = (uint16_t)inside.length;
        return value->display ? MD_OK : MD_ERR_NOMEM;
    }
    if (!text_between(scan, '#', &inside) || inside.length % 2 || inside.length / 2 > UINT16_MAX)
        return text_fail(scan, scan->line, MD_ERR_MALFORMED,
                         "after the value stands its display, \"text\" or #pairs of hex digits#, "
                         "found",
                         text_rest(scan), "");
    display = store_take(load->dictionary, inside.length / 2 + 1);
    if (!display)
        return MD_ERR_NOMEM;
    for (size_t i = 0; i < inside.length / 2; i++) {
        int high = hex_digit(inside.bytes[2 * i]);
        int low = hex_digit(inside.bytes[2 * i + 1]);

        if (high < 0 || low < 0)
            return text_fail(scan, scan->line, MD_ERR_MALFORMED,
                             "between # and # stand pairs of hex digits, found", inside, "");
        display[i] = (uint8_t)(high << 4 | low);
    }
    display[inside.length / 2] = 0;
    value->display = display;
    value->display_length = (uint16_t)(inside.length / 2);
    return MD_OK;
}

/* VALUE DISPLAY MEANING */
static int read_value(struct enum_load *load)
{
    struct text_scan *scan = &load->scan;
    struct rwf_enum_value value = { .value = 0 };
    struct store_view meaning;
    long number;
    int err;

    if (load->table.fid_count == 0)
        return text_fail(scan, scan->line, MD_ERR_MALFORMED,
                         "values come after the fields they are for: lines ACRONYM FID", nothing,
                         "");
    if (!text_number(scan, 0, UINT16_MAX, &number))
        return text_fail(scan, scan->line, MD_ERR_MALFORMED, "a value is a number from 0 to 65535",
                         nothing, "");
    value.value = (uint16_t)number;
    err = read_display(load, &value);
    if (err != MD_OK)
        return err;
    meaning = text_rest(scan);
    value.meaning = store_string(load->dictionary, meaning.bytes, meaning.length);
    if (!value.meaning)
        return MD_ERR_NOMEM;
    return store_table_add_value(&load->table, value, scan->line);
}

/* A value line starts with a number; the acronym of a field may start with a digit, too. */
static bool is_value_line(const struct text_scan *scan)
{
    struct text_scan ahead = *scan;
    struct store_view word = text_word(&ahead);

    for (size_t i = 0; i < word.length; i++) {
        char c = word.bytes[i];

        if (c == '"' || c == '#')
            return i > 0; /* a value without a blank before its display */
        if (c < '0' || c > '9')
            return false;
    }
    return true;
}

static int read_tables(struct enum_load *load)
{
    while (text_next_line(&load->scan)) {
        int err;

        if (!text_skip_blanks(&load->scan))
            continue;
        if (*load->scan.pos == '!')
            err = read_comment(load->dictionary, &load->scan, 2);
        else if (is_value_line(&load->scan))
            err = read_value(load);
        else
            err = read_user(load);
        if (err != MD_OK)
            return err;
    }
    return end_table(load);
}

int rwf_dictionary_load_enums(struct rwf_dictionary *dictionary, const char *file, const void *text,
                              size_t length, struct rwf_dictionary_error *error)
{
    struct enum_load load = {
        .dictionary = dictionary,
        .scan = text_begin(file, text, length, error),
    };
    struct store_mark mark = store_mark(dictionary);
    int err = finish(dictionary, &mark, &load.scan, read_tables(&load));

    store_table_fini(&load.table);
    return err;
}
