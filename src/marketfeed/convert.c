/* convert.c - records to field lists and back, with their messages. See marketfeed.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"
#include "table.h"

enum { FS = 0x1c, US = 0x1f };

/* ---- to RWF ---- */

static int add_field(const struct mf_table *table, const struct mf_options *options,
                     const struct mf_field *field, struct rwf_encoder *enc,
                     struct mf_losses *losses)
{
    const struct mf_entry *entry = &table->entries[(uint16_t)field->id];
    struct rwf_value value;

    if (entry->class == MF_CLASS_TEXT)
        return rwf_field_add_bytes(enc, field->id, field->value);
    enum mf_reason reason = mf_value_read(options, entry, field->value, &value);
    if (reason != MF_KEPT) {
        mf_lose(losses, field->id, reason);
        return RWF_OK;
    }
    if (value.is_blank)
        return rwf_field_add_bytes(enc, field->id, rwf_bytes(NULL, 0));
    return rwf_field_add(enc, field->id, &value);
}

static bool is_image(const struct mf_record *record)
{
    return record->code == MF_IMAGE || record->code == MF_SNAPSHOT;
}

int mf_to_fields(const struct mf_table *table, const struct mf_record *record, bool is_refresh,
                 struct rwf_encoder *enc, struct mf_losses *losses)
{
    struct rwf_field_list_info info = { .flags = RWF_LIST_HAS_STANDARD_DATA };
    const struct mf_options options = mf_table_options(table);
    struct rwf_bytes rest = record->fields;
    struct mf_field field;

    if (is_refresh && is_image(record) && record->has_template) {
        info.flags |= RWF_LIST_HAS_INFO;
        info.dictionary_id = options.dictionary_id;
        info.list_num = record->template_id;
    }
    int rc = rwf_field_list_start(enc, &info);
    while (rc >= 0 && mf_next(&rest, &field))
        rc = add_field(table, &options, &field, enc, losses);
    return rc < 0 ? rc : rwf_field_list_finish(enc);
}

static void set_update(const struct mf_record *record, struct rwf_msg *msg)
{
    uint8_t type = RWF_UPDATE_UNSPECIFIED;

    if (record->code == MF_CLOSING_RUN)
        type = RWF_UPDATE_CLOSING_RUN;
    else if (record->code == MF_CORRECTION)
        type = RWF_UPDATE_CORRECTION;
    else if (record->code == MF_VERIFY)
        type = RWF_UPDATE_VERIFY;
    if (msg->update_type == RWF_UPDATE_UNSPECIFIED)
        msg->update_type = type;
    if (record->code == MF_CORRECTION || record->code == MF_VERIFY || is_image(record))
        msg->flags |= RWF_UPDATE_DO_NOT_RIPPLE;
}

int mf_to_message(const struct mf_table *table, const struct rwf_msg *msg, struct rwf_encoder *enc,
                  struct mf_losses *losses, struct mf_record *record)
{
    bool is_refresh = msg->msg_class == RWF_CLASS_REFRESH;
    uint16_t has_seq = is_refresh ? RWF_REFRESH_HAS_SEQ_NUM : RWF_UPDATE_HAS_SEQ_NUM;
    struct rwf_msg head = *msg;
    struct mf_record own;

    if (!record)
        record = &own;
    if (!is_refresh && msg->msg_class != RWF_CLASS_UPDATE)
        return MD_ERR_UNSUPPORTED;
    int rc = mf_decode(msg->payload, MF_RECORD_MAX, record);
    if (rc < 0)
        return rc;
    head.container = RWF_TYPE_FIELD_LIST;
    head.payload = rwf_bytes(NULL, 0);
    if (!is_refresh)
        set_update(record, &head);
    if (!(head.flags & has_seq) && record->has_level) {
        head.flags |= has_seq;
        head.seq_num = record->level;
    }
    rc = rwf_msg_start(enc, &head);
    if (rc >= 0)
        rc = mf_to_fields(table, record, is_refresh, enc, losses);
    return rc < 0 ? rc : rwf_msg_finish(enc);
}

/* ---- from RWF ---- */

static uint16_t code_for(const struct mf_head *head)
{
    if (head->is_image)
        return MF_IMAGE;
    if (head->update_type == RWF_UPDATE_VERIFY)
        return MF_VERIFY;
    if (head->update_type == RWF_UPDATE_CORRECTION || head->no_ripple)
        return MF_CORRECTION;
    return head->update_type == RWF_UPDATE_CLOSING_RUN ? MF_CLOSING_RUN : MF_UPDATE;
}

static void put_head(struct mf_output *out, const struct mf_head *head, uint16_t template_id)
{
    uint16_t code = code_for(head);

    mf_put_head(out, &(struct mf_record){
                         .code = code,
                         .has_template = code == MF_IMAGE || code == MF_VERIFY,
                         .has_level = head->has_level,
                         .template_id = template_id,
                         .level = head->level & 0xffff,
                         .tag = head->tag,
                         .name = head->name,
                     });
}

/* RS id US value. */
static void put_field(struct mf_output *out, const struct mf_table *table,
                      const struct mf_options *options, const struct rwf_field *field,
                      struct mf_losses *losses)
{
    size_t begin = out->length;
    enum mf_reason reason;
    enum mf_reason more;
    size_t length;

    mf_put_id(out, field->id);
    if (out->is_full)
        return;
    if (mf_value_write(options, &table->entries[(uint16_t)field->id], field->content,
                       out->bytes + out->length, out->size - out->length, &length, &reason,
                       &more) != MD_OK) {
        out->is_full = true;
        return;
    }
    out->length += length;
    if (reason == MF_UNKNOWN || reason == MF_TYPE || reason == MF_RWF)
        out->length = begin;
    mf_lose(losses, field->id, reason);
    mf_lose(losses, field->id, more);
}

static bool can_stand(struct rwf_bytes text)
{
    for (size_t i = 0; i < text.length; i++) {
        if (text.data[i] >= FS && text.data[i] <= US)
            return false;
    }
    return true;
}

int mf_from_fields(const struct mf_table *table, const struct mf_head *head, struct rwf_bytes bytes,
                   const struct rwf_sets *sets, uint8_t *out, size_t size, size_t *length,
                   struct mf_losses *losses)
{
    struct mf_output output = { .bytes = out, .size = size < MF_RECORD_MAX ? size : MF_RECORD_MAX };
    const struct mf_options options = mf_table_options(table);
    struct rwf_field_list list = { 0 };
    struct rwf_field field;
    int rc = bytes.length > 0 ? rwf_field_list_decode(bytes, sets, &list) : RWF_OK;

    *length = 0;
    if (rc < 0)
        return rc;
    if (list.set_data.length > 0 && !list.set_is_known)
        return MD_ERR_NOT_FOUND;
    if (head->name.length < 1 || head->name.length > MF_NAME_MAX || !can_stand(head->name) ||
        !can_stand(head->tag))
        return MD_ERR_RANGE;
    put_head(&output, head, list.info.flags & RWF_LIST_HAS_INFO ? list.info.list_num : 0);
    while (bytes.length > 0 && (rc = rwf_field_list_next(&list, &field)) > 0) {
        if (field.id == 0)
            mf_lose(losses, 0, MF_UNKNOWN);
        else
            put_field(&output, table, &options, &field, losses);
    }
    mf_put_end(&output);
    if (rc < 0)
        return rc;
    *length = output.is_full ? 0 : output.length;
    return output.is_full ? MD_ERR_FULL : MD_OK;
}

int mf_head_of(const struct rwf_msg *msg, struct rwf_bytes name, struct mf_head *out)
{
    bool refresh = msg->msg_class == RWF_CLASS_REFRESH;

    if ((!refresh && msg->msg_class != RWF_CLASS_UPDATE) || msg->container != RWF_TYPE_FIELD_LIST ||
        msg->domain != RWF_DOMAIN_MARKET_PRICE)
        return MD_ERR_UNSUPPORTED;
    if (refresh && (!(msg->flags & RWF_REFRESH_COMPLETE) ||
                    (msg->flags & RWF_REFRESH_HAS_PART_NUM && msg->part_num > 0)))
        return MD_ERR_UNSUPPORTED;
    *out = (struct mf_head){
        .name = name,
        .is_image = refresh,
        .no_ripple = !refresh && msg->flags & RWF_UPDATE_DO_NOT_RIPPLE,
        .has_level =
            (msg->flags & (refresh ? RWF_REFRESH_HAS_SEQ_NUM : RWF_UPDATE_HAS_SEQ_NUM)) != 0,
        .update_type = msg->update_type,
        .level = msg->seq_num,
    };
    return MD_OK;
}
