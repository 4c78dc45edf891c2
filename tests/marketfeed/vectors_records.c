/* vectors_records.c - records.tsv, values.tsv, malformed.tsv, messages.tsv: Marketfeed both ways.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "marketfeed/marketfeed.h"
#include "vectors.h"

#define TEXT_SIZE 2048

/* ---- parameters, losses, heads ---- */

struct parameters {
    struct mf_options options;
    char tag[16];
    size_t longest;
};

static const char *parameter(const char *text, const char *name)
{
    const char *at = strstr(text, name);

    return at ? at + strlen(name) : NULL;
}

static struct parameters parameters_of(const char *text)
{
    struct parameters p = { .options = MF_OPTIONS_DEFAULT, .longest = MF_RECORD_MAX };
    const char *value;

    p.options.zero_is_blank = !parameter(text, "zero=0");
    p.options.blank_is_empty = parameter(text, "blank=") != NULL;
    if ((value = parameter(text, "dict=")))
        p.options.dictionary_id = (uint16_t)atoi(value);
    if ((value = parameter(text, "limit=")))
        p.longest = (size_t)atoi(value);
    if ((value = parameter(text, "tag=")))
        snprintf(p.tag, sizeof(p.tag), "%.*s", (int)strcspn(value, " "), value);
    return p;
}

/* "FID:reason ...", in the order in which they come. */
struct loss_text {
    char text[TEXT_SIZE];
    size_t length;
};

static void note_loss(void *self, int16_t id, enum mf_reason reason)
{
    struct loss_text *out = self;

    out->length += (size_t)snprintf(out->text + out->length, sizeof(out->text) - out->length,
                                    "%s%d:%s", out->length ? " " : "", id, mf_reason_name(reason));
}

static bool same_losses(struct vector *vector, const struct loss_text *found, const char *wanted)
{
    const char *text = found->length ? found->text : "-";

    return strcmp(text, wanted) == 0 ||
           vector_fail(vector, "losses: found %s, expected %s", text, wanted);
}

static void describe_head(const struct rwf_msg *msg, char *out, size_t size)
{
    bool refresh = msg->msg_class == RWF_CLASS_REFRESH;
    size_t at = refresh ? (size_t)snprintf(out, size, "REFRESH")
                        : (size_t)snprintf(out, size, "UPDATE type=%u", msg->update_type);

    if (!refresh && msg->flags & RWF_UPDATE_DO_NOT_RIPPLE)
        at += (size_t)snprintf(out + at, size - at, " dnr");
    if (msg->flags & (refresh ? RWF_REFRESH_HAS_SEQ_NUM : RWF_UPDATE_HAS_SEQ_NUM))
        snprintf(out + at, size - at, " seq=%u", msg->seq_num);
}

static struct mf_head parse_head(const char *text, const char *name, const char *tag)
{
    struct mf_head head = { .name = rwf_text(name), .tag = rwf_text(tag) };
    const char *value;

    head.is_image = strncmp(text, "REFRESH", 7) == 0;
    head.no_ripple = strstr(text, " dnr") != NULL;
    if ((value = parameter(text, "type=")))
        head.update_type = (uint8_t)atoi(value);
    if ((value = parameter(text, "seq="))) {
        head.has_level = true;
        head.level = (uint32_t)strtoul(value, NULL, 10);
    }
    return head;
}

static bool record_is_image(struct rwf_bytes record)
{
    return record.length > 3 && record.data[1] == '3' && record.data[2] == '4';
}

/* ---- both ways ---- */

/* The message that the record becomes. */
static bool to_message(struct vector *vector, const struct mf_table *table, struct rwf_bytes record,
                       struct loss_text *lost, struct rwf_msg *out)
{
    static uint8_t buffer[VECTOR_BYTES_MAX];
    struct mf_losses losses = { .note = note_loss, .note_self = lost };
    struct rwf_encoder enc;
    struct rwf_msg msg = {
        .msg_class = record_is_image(record) ? RWF_CLASS_REFRESH : RWF_CLASS_UPDATE,
        .domain = RWF_DOMAIN_MARKET_PRICE,
        .container = MF_CONTAINER,
        .state = { .stream_state = RWF_STREAM_OPEN, .data_state = RWF_DATA_OK },
        .payload = record,
    };

    rwf_encoder_init(&enc, buffer, sizeof(buffer));
    int rc = mf_to_message(table, &msg, &enc, &losses, NULL);
    if (rc < 0)
        return vector_fail(vector, "to RWF: %s", md_err_name(rc));
    if (rwf_msg_decode(rwf_encoder_bytes(&enc), out) != RWF_OK)
        return vector_fail(vector, "the message cannot be read");
    return true;
}

static struct mf_table *table_for(const struct vector *vector, const struct parameters *parameters)
{
    struct mf_table *table;

    if (mf_table_create(vector->dictionary, &parameters->options, &table) != MD_OK)
        exit(2);
    return table;
}

static bool record_to_rwf(struct vector *vector, const struct mf_table *table,
                          struct rwf_bytes record, struct rwf_bytes list)
{
    struct loss_text lost = { .length = 0 };
    struct mf_record decoded;
    struct rwf_msg msg;
    char head[100];

    if (mf_decode(record, MF_RECORD_MAX, &decoded) != MD_OK)
        return vector_fail(vector, "the record is refused");
    if (!rwf_bytes_equal(decoded.name, rwf_text(vector->columns[4])))
        return vector_fail(vector, "the name is %.*s", (int)decoded.name.length,
                           (const char *)decoded.name.data);
    if (!to_message(vector, table, record, &lost, &msg))
        return false;
    describe_head(&msg, head, sizeof(head));
    if (strcmp(head, vector->columns[5]) != 0)
        return vector_fail(vector, "the head is %s", head);
    return vector_equals(vector, "the field list", msg.payload, list) &&
           same_losses(vector, &lost, vector->columns[8]);
}

static bool record_from_rwf(struct vector *vector, const struct mf_table *table, const char *tag,
                            struct rwf_bytes list, struct rwf_bytes record)
{
    static uint8_t out[MF_RECORD_MAX];
    struct loss_text lost = { .length = 0 };
    struct mf_losses losses = { .note = note_loss, .note_self = &lost };
    struct mf_head head = parse_head(vector->columns[5], vector->columns[4], tag);
    struct mf_record decoded;
    size_t length;

    int rc = mf_from_fields(table, &head, list, NULL, out, sizeof(out), &length, &losses);
    if (rc != MD_OK)
        return vector_fail(vector, "to Marketfeed: %s", md_err_name(rc));
    if (mf_decode(rwf_bytes(out, length), MF_RECORD_MAX, &decoded) != MD_OK)
        return vector_fail(vector, "what was written is refused");
    return vector_equals(vector, "the record", rwf_bytes(out, length), record) &&
           same_losses(vector, &lost, vector->columns[8]);
}

bool vector_records(struct vector *vector)
{
    char way = vector->columns[1][0];
    struct parameters parameters = parameters_of(vector->columns[2]);
    struct mf_table *table = table_for(vector, &parameters);
    struct vector_bytes record = vector_hex(vector->columns[3], strlen(vector->columns[3]));
    struct vector_bytes list = vector_hex(vector->columns[6], strlen(vector->columns[6]));
    bool passed = true;

    if (way != '<')
        passed = record_to_rwf(vector, table, record.bytes, list.bytes);
    if (passed && way != '>')
        passed = record_from_rwf(vector, table, parameters.tag, list.bytes, record.bytes);
    vector_free(&record);
    vector_free(&list);
    mf_table_destroy(table);
    return passed;
}

/* ---- single values ---- */

static bool value_to_rwf(struct vector *vector, const struct mf_table *table, int16_t id,
                         struct rwf_bytes text, struct rwf_bytes content)
{
    static uint8_t record[MF_RECORD_MAX];
    struct loss_text lost = { .length = 0 };
    struct rwf_field_list list;
    struct rwf_field field;
    struct rwf_msg msg;
    bool refused = vector->columns[1][0] == 'x';
    char wanted[64] = "-";
    size_t at = (size_t)snprintf((char *)record, sizeof(record),
                                 "\x1c"
                                 "316\x1fXX\x1dN\x1e%d\x1f",
                                 id);

    memcpy(record + at, text.data, text.length);
    at += text.length;
    record[at++] = 0x1c;
    if (!to_message(vector, table, rwf_bytes(record, at), &lost, &msg))
        return false;
    rwf_field_list_decode(msg.payload, NULL, &list);
    bool is_there = rwf_field_list_next(&list, &field) > 0;
    if (refused)
        snprintf(wanted, sizeof(wanted), "%d:%s", id, vector->columns[7]);
    if (is_there == refused)
        return vector_fail(vector, refused ? "the value is taken" : "the value is refused");
    if (!refused && !vector_equals(vector, "the content", field.content, content))
        return false;
    return same_losses(vector, &lost, wanted);
}

static bool value_from_rwf(struct vector *vector, const struct mf_table *table, int16_t id,
                           struct rwf_bytes content, struct rwf_bytes text)
{
    static uint8_t message[VECTOR_BYTES_MAX];
    static uint8_t out[MF_RECORD_MAX];
    struct loss_text lost = { .length = 0 };
    struct mf_losses losses = { .note = note_loss, .note_self = &lost };
    struct mf_head head = { .name = rwf_text("N") };
    struct rwf_encoder enc;
    struct rwf_msg msg = { .msg_class = RWF_CLASS_UPDATE,
                           .domain = RWF_DOMAIN_MARKET_PRICE,
                           .container = RWF_TYPE_FIELD_LIST };
    struct mf_record record;
    struct mf_field field;
    char wanted[64] = "-";
    size_t length;

    rwf_encoder_init(&enc, message, sizeof(message));
    rwf_msg_start(&enc, &msg);
    rwf_field_list_start(&enc, NULL);
    rwf_field_add_bytes(&enc, id, content);
    rwf_field_list_finish(&enc);
    rwf_msg_finish(&enc);
    rwf_msg_decode(rwf_encoder_bytes(&enc), &msg);
    if (mf_from_fields(table, &head, msg.payload, NULL, out, sizeof(out), &length, &losses) !=
            MD_OK ||
        mf_decode(rwf_bytes(out, length), MF_RECORD_MAX, &record) != MD_OK ||
        !mf_next(&record.fields, &field))
        return vector_fail(vector, "the value is not written");
    if (strcmp(vector->columns[7], "-") != 0)
        snprintf(wanted, sizeof(wanted), "%d:%s", id, vector->columns[7]);
    return vector_equals(vector, "the text", field.value, text) &&
           same_losses(vector, &lost, wanted);
}

bool vector_values(struct vector *vector)
{
    char way = vector->columns[1][0];
    struct parameters parameters = parameters_of(vector->columns[2]);
    struct mf_table *table = table_for(vector, &parameters);
    int16_t id = (int16_t)atoi(vector->columns[3]);
    struct vector_bytes text = vector_hex(vector->columns[4], strlen(vector->columns[4]));
    struct vector_bytes content = vector_hex(vector->columns[5], strlen(vector->columns[5]));
    bool passed = true;

    if (way != '<')
        passed = value_to_rwf(vector, table, id, text.bytes, content.bytes);
    if (passed && (way == '=' || way == '<'))
        passed = value_from_rwf(vector, table, id, content.bytes, text.bytes);
    vector_free(&text);
    vector_free(&content);
    mf_table_destroy(table);
    return passed;
}

/* ---- what is refused; messages ---- */

bool vector_malformed(struct vector *vector)
{
    struct parameters parameters = parameters_of(vector->columns[1]);
    struct vector_bytes record = vector_hex(vector->columns[2], strlen(vector->columns[2]));
    struct mf_record decoded;
    bool is_control = strcmp(vector->columns[3], "control") == 0;

    int err = mf_decode(record.bytes, parameters.longest, &decoded);
    vector_free(&record);
    if (err == MD_OK || (err == MD_ERR_UNSUPPORTED) != is_control)
        return vector_fail(vector, "%s", md_err_name(err));
    return true;
}

bool vector_messages(struct vector *vector)
{
    static uint8_t out[VECTOR_BYTES_MAX];
    struct parameters parameters = parameters_of("-");
    struct mf_table *table = table_for(vector, &parameters);
    struct loss_text lost = { .length = 0 };
    struct mf_losses losses = { .note = note_loss, .note_self = &lost };
    struct vector_bytes native = vector_hex(vector->columns[1], strlen(vector->columns[1]));
    struct vector_bytes wanted = vector_hex(vector->columns[2], strlen(vector->columns[2]));
    bool refused = strcmp(vector->columns[2], "-") == 0;
    struct rwf_encoder enc;
    struct rwf_msg msg;
    bool passed;

    rwf_encoder_init(&enc, out, sizeof(out));
    int rc = rwf_msg_decode(native.bytes, &msg);
    if (rc == RWF_OK)
        rc = mf_to_message(table, &msg, &enc, &losses, NULL);
    if (refused || rc < 0)
        passed = (refused && rc < 0) || vector_fail(vector, "%s", md_err_name(rc));
    else
        passed = vector_equals(vector, "the message", rwf_encoder_bytes(&enc), wanted.bytes) &&
                 same_losses(vector, &lost, vector->columns[4]);
    vector_free(&native);
    vector_free(&wanted);
    mf_table_destroy(table);
    return passed;
}
