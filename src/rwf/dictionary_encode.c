/* dictionary_encode.c - see rmds/rwf_dictionary.h: dictionaries as messages. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/assert.h"
#include "base/utf8.h"
#include "dictionary_store.h"
#include "rmds/rwf_dictionary.h"

struct column {
    const char *name;
    uint8_t type;
};

/* One definition, id 0; the last two only from RWF_DICTIONARY_NORMAL on. */
static const struct column field_columns[] = {
    { "NAME", RWF_TYPE_ASCII },     { "FID", RWF_TYPE_INT_2 },
    { "RIPPLETO", RWF_TYPE_INT_2 }, { "TYPE", RWF_TYPE_INT_1 },
    { "LENGTH", RWF_TYPE_UINT_2 },  { "RWFTYPE", RWF_TYPE_UINT_1 },
    { "RWFLEN", RWF_TYPE_UINT_2 },  { "ENUMLENGTH", RWF_TYPE_UINT_1 },
    { "LONGNAME", RWF_TYPE_ASCII },
};

static const struct column enum_columns[] = {
    { "FIDS", RWF_TYPE_ARRAY },
    { "VALUE", RWF_TYPE_ARRAY },
    { "DISPLAY", RWF_TYPE_ARRAY },
};

enum {
    FIELD_COLUMNS_MINIMAL = 7,
    FIELD_COLUMNS = sizeof(field_columns) / sizeof(field_columns[0]),
    ENUM_COLUMNS = sizeof(enum_columns) / sizeof(enum_columns[0]),
    SET_DEFS_SIZE = 160,
};

struct part {
    const struct rwf_dictionary *dictionary;
    struct rwf_encoder *enc;
    unsigned column_count;
    struct rwf_set_db db;
    struct rwf_sets sets;
    uint8_t set_defs[SET_DEFS_SIZE];
    struct rwf_bytes set_defs_bytes;
};

static void define(struct part *part, const struct column *columns, unsigned count)
{
    struct rwf_set_writer writer;
    int err;

    part->column_count = count;
    rwf_set_writer_init(&writer, part->set_defs, sizeof(part->set_defs));
    rwf_set_writer_def(&writer, 0);
    for (unsigned i = 0; i < count; i++)
        rwf_set_writer_element(&writer, rwf_text(columns[i].name), columns[i].type);
    part->set_defs_bytes = rwf_set_writer_bytes(&writer, &err);
    MD_ASSERT(err == RWF_OK);
    err = rwf_set_db_decode(part->set_defs_bytes, RWF_SET_ELEMENTS, &part->db);
    MD_ASSERT(err == RWF_OK);
    part->sets = (struct rwf_sets){ .local = &part->db };
}

/* ---- fields ---- */

static int encode_field(struct part *part, const struct rwf_field_def *field)
{
    const struct rwf_element_list_info info = { .flags = RWF_LIST_HAS_SET_DATA };
    const struct rwf_value values[FIELD_COLUMNS] = {
        rwf_value_bytes(RWF_TYPE_ASCII, rwf_bytes(field->name, field->name_length)),
        rwf_value_int(field->fid),
        rwf_value_int(field->ripples_to),
        rwf_value_int(field->field_type),
        rwf_value_uint(field->length),
        rwf_value_uint(field->rwf_type),
        rwf_value_uint(field->rwf_length),
        rwf_value_uint(field->enum_length),
        rwf_value_bytes(RWF_TYPE_ASCII, rwf_bytes(field->long_name, field->long_name_length)),
    };

    rwf_series_entry_start(part->enc);
    rwf_element_list_start_set(part->enc, &info, &part->sets, NULL);
    for (unsigned i = 0; i < part->column_count; i++)
        rwf_element_add(part->enc, rwf_text(field_columns[i].name), &values[i]);
    rwf_element_list_finish(part->enc);
    return rwf_series_entry_finish(part->enc);
}

/* The cursor counts ids from INT16_MIN, so that fields go out in ascending order. */
static int encode_fields(struct part *part, struct rwf_dictionary_cursor *cursor)
{
    uint32_t next = cursor->next;

    while (next < FID_COUNT) {
        const struct rwf_field_def *field =
            rwf_dictionary_next(part->dictionary, INT16_MIN - 1 + (int)next);

        if (!field)
            break;
        struct rwf_mark mark = rwf_encoder_mark(part->enc);
        int err = encode_field(part, field);
        if (err == RWF_ERR_FULL && next != cursor->next) {
            rwf_encoder_rollback(part->enc, &mark);
            cursor->next = next;
            return RWF_OK;
        }
        if (err != RWF_OK)
            return err;
        next = (uint32_t)(field->fid - INT16_MIN + 1);
    }
    cursor->next = FID_COUNT;
    cursor->is_complete = true;
    return RWF_OK;
}

/* ---- enumerated types ---- */

/* ASCII if it can be, else UTF-8 if it can be, else RMTES. */
static unsigned display_type(const struct rwf_enum_table *table)
{
    unsigned type = RWF_TYPE_ASCII;

    for (uint32_t i = 0; i < table->value_count; i++) {
        const struct rwf_enum_value *value = &table->values[i];

        for (size_t at = 0; at < value->display_length;) {
            size_t length = md_utf8_length(value->display + at, value->display_length - at);

            if (length == 0)
                return RWF_TYPE_RMTES;
            if (length > 1)
                type = RWF_TYPE_UTF8;
            at += length;
        }
    }
    return type;
}

static int encode_table(struct part *part, const struct rwf_enum_table *table)
{
    const struct rwf_element_list_info info = { .flags =
                                                    RWF_LIST_HAS_SET_DATA | RWF_LIST_HAS_SET_ID };
    struct rwf_encoder *enc = part->enc;

    rwf_series_entry_start(enc);
    rwf_element_list_start_set(enc, &info, &part->sets, NULL);

    rwf_element_start(enc, rwf_text("FIDS"), RWF_TYPE_ARRAY);
    rwf_array_start(enc, RWF_TYPE_INT, 2);
    for (uint32_t i = 0; i < table->fid_count; i++) {
        struct rwf_value fid = rwf_value_int(table->fids[i]);
        rwf_array_add(enc, &fid);
    }
    rwf_array_finish(enc);
    rwf_element_finish(enc);

    rwf_element_start(enc, rwf_text("VALUE"), RWF_TYPE_ARRAY);
    rwf_array_start(enc, RWF_TYPE_ENUM, 0);
    for (uint32_t i = 0; i < table->value_count; i++) {
        struct rwf_value value = rwf_value_enum(table->values[i].value);
        rwf_array_add(enc, &value);
    }
    rwf_array_finish(enc);
    rwf_element_finish(enc);

    rwf_element_start(enc, rwf_text("DISPLAY"), RWF_TYPE_ARRAY);
    rwf_array_start(enc, display_type(table), 0);
    for (uint32_t i = 0; i < table->value_count; i++)
        rwf_array_add_bytes(enc,
                            rwf_bytes(table->values[i].display, table->values[i].display_length));
    rwf_array_finish(enc);
    rwf_element_finish(enc);

    rwf_element_list_finish(enc);
    return rwf_series_entry_finish(enc);
}

static int encode_tables(struct part *part, struct rwf_dictionary_cursor *cursor)
{
    uint32_t next = cursor->next;

    for (; next < part->dictionary->table_count; next++) {
        struct rwf_mark mark = rwf_encoder_mark(part->enc);
        int err = encode_table(part, part->dictionary->tables[next]);

        if (err == RWF_ERR_FULL && next != cursor->next) {
            rwf_encoder_rollback(part->enc, &mark);
            cursor->next = next;
            return RWF_OK;
        }
        if (err != RWF_OK)
            return err;
    }
    cursor->next = next;
    cursor->is_complete = true;
    return RWF_OK;
}

/* ---- parts and messages ---- */

static void encode_summary(struct part *part, enum rwf_dictionary_type type)
{
    const struct rwf_dictionary_info *info = &part->dictionary->info;
    bool is_enums = type == RWF_DICTIONARY_TYPE_ENUMS;

    rwf_element_list_start(part->enc, NULL);
    rwf_element_add_int(part->enc, "Type", type);
    rwf_element_add_int(part->enc, "DictionaryId", info->dictionary_id);
    if (is_enums) {
        rwf_element_add_ascii(part->enc, "RT_Version", rwf_text(info->rt_version));
        rwf_element_add_ascii(part->enc, "DT_Version", rwf_text(info->dt_version));
    }
    rwf_element_add_ascii(part->enc, "Version",
                          rwf_text(is_enums ? info->dt_version : info->field_version));
    rwf_element_list_finish(part->enc);
    rwf_summary_finish(part->enc);
}

int rwf_dictionary_encode(const struct rwf_dictionary *dictionary, enum rwf_dictionary_type type,
                          unsigned verbosity, struct rwf_dictionary_cursor *cursor,
                          struct rwf_encoder *enc)
{
    struct part part = { .dictionary = dictionary, .enc = enc };
    struct rwf_series_info info = { .container = RWF_TYPE_ELEMENT_LIST };
    struct rwf_dictionary_cursor moved = *cursor;
    bool is_enums = type == RWF_DICTIONARY_TYPE_ENUMS;
    int err = RWF_OK;

    if (cursor->is_complete)
        return RWF_ERR_STATE;
    if (type != RWF_DICTIONARY_TYPE_FIELDS && !is_enums)
        return RWF_ERR_RANGE;
    if (verbosity != RWF_DICTIONARY_INFO) {
        if (is_enums)
            define(&part, enum_columns, ENUM_COLUMNS);
        else
            define(&part, field_columns,
                   verbosity >= RWF_DICTIONARY_NORMAL ? FIELD_COLUMNS : FIELD_COLUMNS_MINIMAL);
        info.flags |= RWF_SERIES_HAS_SET_DEFS;
        info.set_defs = part.set_defs_bytes;
    }
    if (is_enums) {
        info.flags |= RWF_SERIES_HAS_SUMMARY;
    } else if (cursor->part == 0) {
        info.flags |= RWF_SERIES_HAS_SUMMARY | RWF_SERIES_HAS_HINT;
        info.hint = dictionary->field_count;
    }
    rwf_series_start(enc, &info);
    if (info.flags & RWF_SERIES_HAS_SUMMARY)
        encode_summary(&part, type);
    if (verbosity == RWF_DICTIONARY_INFO)
        moved.is_complete = true;
    else
        err = is_enums ? encode_tables(&part, &moved) : encode_fields(&part, &moved);
    if (err == RWF_OK)
        err = rwf_series_finish(enc);
    if (err != RWF_OK)
        return err;
    moved.part++;
    *cursor = moved;
    return RWF_OK;
}

int rwf_dictionary_refresh_encode(const struct rwf_dictionary *dictionary,
                                  enum rwf_dictionary_type type, unsigned verbosity,
                                  const struct rwf_msg *msg, struct rwf_dictionary_cursor *cursor,
                                  void *buffer, size_t size, size_t *length)
{
    struct rwf_dictionary_cursor moved = *cursor;
    struct rwf_msg refresh = *msg;
    struct rwf_encoder enc;
    int err;

    *length = 0;
    refresh.msg_class = RWF_CLASS_REFRESH;
    refresh.domain = RWF_DOMAIN_DICTIONARY;
    refresh.container = RWF_TYPE_SERIES;
    refresh.state = (struct rwf_state){
        .stream_state = msg->state.stream_state == RWF_STREAM_NON_STREAMING
                            ? RWF_STREAM_NON_STREAMING
                            : RWF_STREAM_OPEN,
        .data_state = RWF_DATA_OK,
    };
    refresh.flags = (uint16_t)(refresh.flags & ~RWF_REFRESH_COMPLETE) | RWF_REFRESH_HAS_PART_NUM;
    if (cursor->part > 0)
        refresh.flags = (uint16_t)(refresh.flags & ~RWF_REFRESH_CLEAR_CACHE);
    refresh.part_num = cursor->part;

    rwf_encoder_init(&enc, buffer, size);
    err = rwf_msg_start(&enc, &refresh);
    if (err == RWF_OK)
        err = rwf_dictionary_encode(dictionary, type, verbosity, &moved, &enc);
    if (err == RWF_OK)
        err = rwf_msg_finish(&enc);
    if (err != RWF_OK)
        return err;
    *length = rwf_encoder_bytes(&enc).length;
    /* Whether it is the last part is known only now; HAS_PART_NUM keeps the flags at two bytes. */
    if (moved.is_complete) {
        err = rwf_patch_flags(buffer, *length, RWF_REFRESH_COMPLETE, 0);
        MD_ASSERT(err == RWF_OK);
    }
    *cursor = moved;
    return RWF_OK;
}
