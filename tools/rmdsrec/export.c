/* export.c - rmdsrec export: the records of a recording as CSV, a line for each field. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "csv.h"
#include "dictionary.h"
#include "itemlist.h"
#include "rec.h"
#include "rmds/rwf.h"
#include "rmds/rwf_rmtes.h"
#include "source.h"

#define TEXT_MAX 200000u /* of the longest field, 65,535 bytes of RMTES, as UTF-8 */

struct exporter {
    struct source source;
    struct rwf_dictionary *dictionary;
    FILE *out;
    struct itemlist items; /* those that are wanted; none: all */
    bool *is_wanted;       /* by number, of those below `known` */
    uint32_t known;
    char time[80]; /* the lines of a record begin with these */
    struct rwf_bytes service, item;
    unsigned domain;
    const char *kind;
    char text[TEXT_MAX];
};

/* ---- CSV ---- */

/* In quotes where they are needed; quotes doubled; what is no text as a dot. */
static void put_text(FILE *out, const char *text, size_t length)
{
    bool is_quoted = false;

    for (size_t i = 0; i < length && !is_quoted; i++)
        is_quoted = text[i] == ',' || text[i] == '"' || text[i] == ' ';
    if (is_quoted)
        (void)fputc('"', out);
    for (size_t i = 0; i < length;) {
        size_t size = md_text_plain(text + i, length - i);
        if (text[i] == '"')
            (void)fputc('"', out);
        if (size > 0)
            (void)fwrite(text + i, 1, size, out);
        else if (text[i] == 0x1b && csv_position(text + i + 1, length - i - 1))
            (void)fputs(CSV_ESCAPE, out);
        else
            (void)fputc('.', out);
        i += size ? size : 1;
    }
    if (is_quoted)
        (void)fputc('"', out);
}

/* All of a line in front of its value. */
static void start_line(struct exporter *exporter, const char *field)
{
    fprintf(exporter->out, "%s,", exporter->time);
    put_text(exporter->out, (const char *)exporter->service.data, exporter->service.length);
    (void)fputc(',', exporter->out);
    put_text(exporter->out, (const char *)exporter->item.data, exporter->item.length);
    fprintf(exporter->out, ",%u,%s,%s,", exporter->domain, exporter->kind, field);
}

static void put_line(struct exporter *exporter, const char *field, const char *value, size_t length)
{
    start_line(exporter, field);
    put_text(exporter->out, value, length);
    (void)fputc('\n', exporter->out);
}

/* All of it, however long. */
static void put_hex_line(struct exporter *exporter, const char *field, const char *before,
                         struct rwf_bytes bytes)
{
    static const char digits[] = "0123456789abcdef";

    start_line(exporter, field);
    (void)fputs(before, exporter->out);
    for (size_t i = 0; i < bytes.length; i++) {
        (void)fputc(digits[bytes.data[i] >> 4], exporter->out);
        (void)fputc(digits[bytes.data[i] & 15], exporter->out);
    }
    (void)fputc('\n', exporter->out);
}

/* ---- values ---- */

/* Whether import reads it back. */
static bool is_readable(unsigned type, struct rwf_bytes text)
{
    struct rwf_value value;

    switch (type) {
    case RWF_TYPE_REAL:
        return rwf_real_from_text(text, &value.real) >= 0;
    case RWF_TYPE_DATE:
        return rwf_date_from_text(text, &value.date) >= 0;
    case RWF_TYPE_TIME:
        return rwf_time_from_text(text, &value.time) >= 0;
    case RWF_TYPE_DATETIME:
        return rwf_datetime_from_text(text, &value.datetime) >= 0;
    default:
        return true;
    }
}

static size_t text_of(const struct rwf_value *value, char *out, size_t size)
{
    size_t length = 0;

    if (value->is_blank)
        return 0;
    switch (value->type) {
    case RWF_TYPE_INT:
        return rwf_int_to_text(value->i, out, size);
    case RWF_TYPE_UINT:
    case RWF_TYPE_ENUM:
        return rwf_uint_to_text(value->u, out, size);
    case RWF_TYPE_FLOAT:
        return (size_t)snprintf(out, size, "%.9g", (double)value->f);
    case RWF_TYPE_DOUBLE:
        return (size_t)snprintf(out, size, "%.17g", value->d);
    case RWF_TYPE_REAL:
        return rwf_real_to_text(&value->real, out, size);
    case RWF_TYPE_DATE:
        return rwf_date_to_text(&value->date, out, size);
    case RWF_TYPE_TIME:
        return rwf_time_to_text(&value->time, out, size);
    case RWF_TYPE_DATETIME:
        return rwf_datetime_to_text(&value->datetime, out, size);
    case RWF_TYPE_RMTES:
        (void)rwf_rmtes_update_to_utf8(value->bytes.data, value->bytes.length, out, size, &length);
        return length;
    default: /* text */
        length = value->bytes.length < size ? value->bytes.length : size;
        memcpy(out, value->bytes.data, length);
        return length;
    }
}

static void put_field(struct exporter *exporter, const struct rwf_field *field)
{
    const struct rwf_field_def *def =
        exporter->dictionary ? rwf_dictionary_field(exporter->dictionary, field->id) : NULL;
    unsigned type = rwf_type_base(field->type ? field->type : def ? def->rwf_type : 0);
    struct rwf_value value = { .type = 0 };
    char number[16];
    const char *name = def ? def->name : number;

    snprintf(number, sizeof(number), "%d", field->id);
    if (!csv_has_text(type)) {
        put_hex_line(exporter, name, "", field->content);
        return;
    }
    if (rwf_value_decode(type, field->content, &value) >= 0) {
        size_t length = text_of(&value, exporter->text, sizeof(exporter->text));
        if (is_readable(type, rwf_bytes((const uint8_t *)exporter->text, length))) {
            put_line(exporter, name, exporter->text, length);
            return;
        }
    }
    put_hex_line(exporter, name, "0x", field->content);
}

static void put_payload(struct exporter *exporter, const struct rwf_msg *msg)
{
    struct rwf_field_list list;
    struct rwf_field field;
    int rc;

    if (msg->container != RWF_TYPE_FIELD_LIST) {
        if (msg->payload.length > 0)
            put_hex_line(exporter, rwf_type_name(msg->container), "", msg->payload);
        return;
    }
    rc = rwf_field_list_decode(msg->payload, NULL, &list);
    while (rc >= 0 && (rc = rwf_field_list_next(&list, &field)) > 0)
        put_field(exporter, &field);
}

/* ---- records ---- */

static void make_head(struct exporter *exporter, const struct rec_record *record, const char *kind)
{
    const struct rec_key *key = rec_reader_item(exporter->source.reader, record->number);
    static const struct rec_key none = { 0 };
    char time[32];

    if (!key)
        key = &none;
    source_print_time(record->wall_ns, time);
    snprintf(exporter->time, sizeof(exporter->time), "%s,%" PRIu64, time, record->mono_ns);
    exporter->service = key->service;
    exporter->item = key->name;
    exporter->domain = key->domain;
    exporter->kind = kind;
}

static void put_message(struct exporter *exporter, const struct rec_record *record)
{
    struct rwf_msg msg;

    if (rwf_msg_decode(record->bytes, &msg) != RWF_OK) {
        make_head(exporter, record, "BROKEN");
        put_line(exporter, "", "", 0);
        return;
    }
    make_head(exporter, record,
              record->kind == REC_IMAGE ? "IMAGE" : rwf_class_name(msg.msg_class));
    if (msg.msg_class == RWF_CLASS_REFRESH ||
        (msg.msg_class == RWF_CLASS_STATUS && msg.flags & RWF_STATUS_HAS_STATE)) {
        int length =
            snprintf(exporter->text, sizeof(exporter->text), "%s/%s/%s %.*s",
                     rwf_stream_state_name(msg.state.stream_state),
                     rwf_data_state_name(msg.state.data_state), rwf_state_code_name(msg.state.code),
                     (int)msg.state.text.length, (const char *)msg.state.text.data);
        if (msg.state.text.length == 0)
            length--;
        put_line(exporter, "", exporter->text, (size_t)length);
    }
    put_payload(exporter, &msg);
}

static void put_record(struct exporter *exporter, const struct rec_record *record)
{
    static const char *const names[] = {
        [REC_LOST] = "LOST", [REC_CUT] = "CUT", [REC_HOLE] = "HOLE"
    };
    int length;

    if (record->kind == REC_MESSAGE || record->kind == REC_IMAGE) {
        put_message(exporter, record);
        return;
    }
    make_head(exporter, record, names[record->kind]);
    if (record->kind == REC_CUT) {
        put_line(exporter, "", (const char *)record->bytes.data, record->bytes.length);
        return;
    }
    length = snprintf(exporter->text, sizeof(exporter->text), "%" PRIu64, record->count);
    put_line(exporter, "", exporter->text, (size_t)length);
}

static bool is_in_list(const struct exporter *exporter, const struct rec_key *key)
{
    for (size_t i = 0; i < exporter->items.count; i++) {
        const struct itemlist_entry *entry = &exporter->items.entries[i];
        if (rwf_bytes_equal(key->name, rwf_bytes(entry->name, entry->name_length)))
            return true;
    }
    return false;
}

/* Directory and dictionary are in a recording, but no rows of a table. */
static bool is_wanted(struct exporter *exporter, const struct rec_record *record)
{
    const struct rec_key *key = rec_reader_item(exporter->source.reader, record->number);

    if (!key || key->domain == 0)
        return true;
    if (key->domain <= RWF_DOMAIN_DICTIONARY)
        return false;
    if (exporter->items.count == 0)
        return true;
    if (record->number >= exporter->known) {
        uint32_t size = record->number + 1024;
        bool *wanted = realloc(exporter->is_wanted, size * sizeof(*wanted));
        if (!wanted)
            return is_in_list(exporter, key);
        for (uint32_t i = exporter->known; i < size; i++) {
            const struct rec_key *other = rec_reader_item(exporter->source.reader, i);
            wanted[i] = other && is_in_list(exporter, other);
        }
        exporter->is_wanted = wanted;
        exporter->known = size;
    }
    return exporter->is_wanted[record->number];
}

static int write_all(struct exporter *exporter, bool images, uint64_t from_ns, uint64_t to_ns)
{
    struct rec_facts facts;
    struct rec_cursor *cursor;
    struct rec_record record;

    rec_reader_facts(exporter->source.reader, &facts);
    if (rec_cursor_create(exporter->source.reader, &cursor) != MD_OK)
        return REC_FILE;
    if (from_ns > 0)
        (void)rec_cursor_seek(cursor, facts.first_mono_ns + from_ns - 1);
    fprintf(exporter->out, "time,mono_ns,service,item,domain,kind,field,value\n");
    while (rec_cursor_next(cursor, &record) > 0) {
        if (to_ns > 0 && record.mono_ns >= facts.first_mono_ns + to_ns)
            break;
        if ((images || record.kind != REC_IMAGE) && is_wanted(exporter, &record))
            put_record(exporter, &record);
    }
    rec_cursor_destroy(cursor);
    rec_reader_facts(exporter->source.reader, &facts);
    if (facts.damages > 0)
        source_print_damages(&exporter->source, stderr);
    return facts.damages > 0 ? REC_DAMAGED : REC_OK;
}

static int open_all(const struct words *w, struct exporter *exporter)
{
    char error[512];

    if (w->names && itemlist_add_names(&exporter->items, w->names, error, sizeof(error)) != MD_OK)
        return rec_usage(error, NULL);
    if (!source_open(w->file, false, w->is_series, &exporter->source))
        return REC_FILE;
    exporter->dictionary = w->dict ? NULL : source_dictionary(exporter->source.reader);
    if (!exporter->dictionary &&
        tool_dictionary_load(w->dict, &exporter->dictionary, error, sizeof(error)) != MD_OK) {
        fprintf(stderr, PROGRAM ": %s; fields are numbers\n", error);
        if (w->dict)
            return REC_FILE;
    }
    exporter->out = w->output ? fopen(w->output, "wx") : stdout;
    if (exporter->out)
        return REC_OK;
    fprintf(stderr, PROGRAM ": cannot begin %s: %s\n", w->output, strerror(errno));
    return REC_FILE;
}

int export_run(const struct words *w)
{
    struct exporter *exporter = calloc(1, sizeof(*exporter));
    double from = 0, to = 0;

    if (!exporter)
        return REC_FILE;
    itemlist_init(&exporter->items);
    int rc = REC_OK;
    if (!rec_parse_real(w->from, 0, 1e9, &from) || !rec_parse_real(w->to, 0, 1e9, &to))
        rc = rec_usage("-from and -to are seconds since the beginning", NULL);
    if (rc == REC_OK)
        rc = open_all(w, exporter);
    if (rc == REC_OK)
        rc = write_all(exporter, w->images_too, (uint64_t)(from * 1e9), (uint64_t)(to * 1e9));
    bool is_file = exporter->out && exporter->out != stdout;
    if (exporter->out && (fflush(exporter->out) != 0 || ferror(exporter->out))) {
        fprintf(stderr, PROGRAM ": cannot write: %s\n", strerror(errno));
        rc = REC_FILE;
    }
    if (is_file)
        (void)fclose(exporter->out);
    source_close(&exporter->source);
    rwf_dictionary_destroy(exporter->dictionary);
    itemlist_fini(&exporter->items);
    free(exporter->is_wanted);
    free(exporter);
    return rc;
}
