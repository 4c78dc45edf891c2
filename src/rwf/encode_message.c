/* encode_message.c - message headers, payload and key attributes in place. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "encoder.h"
#include "members.h"

/* ---- what may be written, and what is left out ---- */

/* The flag of a member without content is cleared, as every encoder does. */
static uint16_t flags_written(const struct rwf_msg *msg, const struct member_table *table)
{
    uint16_t flags = msg->flags;

    if (!(flags & table->flags))
        return flags;
    for (unsigned i = 0; i < table->count; i++) {
        const struct member *m = &table->member[i];
        bool empty = false;

        if (m->flag == 0 || !(flags & m->flag))
            continue;
        switch (m->kind) {
        case MEMBER_PERM_DATA:
            empty = msg->perm_data.length == 0;
            break;
        case MEMBER_CONF_INFO:
            empty = msg->conf_count == 0 && msg->conf_time_ms == 0;
            break;
        case MEMBER_GROUP_ID:
            empty = msg->group_id.length == 0;
            break;
        case MEMBER_NAK_CODE:
            empty = msg->nak_code == 0;
            break;
        case MEMBER_TEXT:
            empty = msg->text.length == 0;
            break;
        default:
            break;
        }
        if (empty)
            flags = (uint16_t)(flags & ~m->flag);
    }
    return flags;
}

static int check_member(const struct rwf_msg *msg, enum member_kind kind)
{
    bool ok = true;

    switch (kind) {
    case MEMBER_KEY:
        return key_check(&msg->key);
    case MEMBER_REQ_KEY:
        return key_check(&msg->req_key);
    case MEMBER_EXT_HEADER:
        ok = msg->ext_header.length <= UINT8_MAX;
        break;
    case MEMBER_GROUP_ID:
        ok = msg->group_id.length <= UINT8_MAX;
        break;
    case MEMBER_PERM_DATA:
        ok = msg->perm_data.length <= RB15_MAX;
        break;
    case MEMBER_TEXT:
        ok = msg->text.length <= OB16_MAX;
        break;
    case MEMBER_PART_NUM:
        ok = msg->part_num <= RB15_MAX;
        break;
    case MEMBER_CONF_INFO:
        ok = msg->conf_count <= RB15_MAX;
        break;
    case MEMBER_POST_RIGHTS:
        ok = msg->post_rights <= RB15_MAX;
        break;
    case MEMBER_STATE:
        ok = msg->state.stream_state != RWF_STREAM_UNSPECIFIED;
        break;
    default:
        break;
    }
    return ok ? RWF_OK : RWF_ERR_RANGE;
}

static void wr_key(struct md_wr *wr, const struct rwf_key *key)
{
    uint8_t *length_at = md_wr_take(wr, 2);
    const uint8_t *start = md_wr_mark(wr);

    key_write(wr, key);
    if (md_wr_ok(wr))
        md_put_be16(length_at, (uint16_t)(0x8000u | (size_t)(wr->pos - start)));
}

static int write_member(struct md_wr *wr, const struct rwf_msg *msg, enum member_kind kind)
{
    switch (kind) {
    case MEMBER_PRIORITY:
        md_wr_u8(wr, msg->priority_class);
        wire_wr_ob16(wr, msg->priority_count);
        break;
    case MEMBER_QOS:
        return wire_wr_qos(wr, &msg->qos);
    case MEMBER_WORST_QOS:
        return wire_wr_qos(wr, &msg->worst_qos);
    case MEMBER_KEY:
        wr_key(wr, &msg->key);
        break;
    case MEMBER_REQ_KEY:
        wr_key(wr, &msg->req_key);
        break;
    case MEMBER_EXT_HEADER:
        wire_wr_buf8(wr, msg->ext_header);
        break;
    case MEMBER_SEQ_NUM:
        md_wr_u32(wr, msg->seq_num);
        break;
    case MEMBER_STATE:
        return wire_wr_state(wr, &msg->state);
    case MEMBER_GROUP_ID:
        wire_wr_buf8(wr, msg->group_id);
        break;
    case MEMBER_PERM_DATA:
        wire_wr_buf15(wr, msg->perm_data);
        break;
    case MEMBER_POST_USER:
        md_wr_u32(wr, msg->post_user_addr);
        md_wr_u32(wr, msg->post_user_id);
        break;
    case MEMBER_PART_NUM:
        wire_wr_rb15(wr, msg->part_num);
        break;
    case MEMBER_UPDATE_TYPE:
        md_wr_u8(wr, msg->update_type);
        break;
    case MEMBER_CONF_INFO:
        wire_wr_rb15(wr, msg->conf_count);
        md_wr_u16(wr, msg->conf_time_ms);
        break;
    case MEMBER_ACK_ID:
        md_wr_u32(wr, msg->ack_id);
        break;
    case MEMBER_NAK_CODE:
        md_wr_u8(wr, msg->nak_code);
        break;
    case MEMBER_TEXT:
        wire_wr_buf16(wr, msg->text);
        break;
    case MEMBER_SECONDARY_SEQ:
        md_wr_u32(wr, msg->secondary_seq_num);
        break;
    case MEMBER_POST_ID:
        md_wr_u32(wr, msg->post_id);
        break;
    case MEMBER_POST_RIGHTS:
        wire_wr_rb15(wr, msg->post_rights);
        break;
    case MEMBER_COUNT:
        break;
    }
    return RWF_OK;
}

/* ---- the header, in one go or in two around the key attributes ---- */

static int begin_header(struct md_wr *wr, const struct rwf_msg *msg, uint16_t flags)
{
    unsigned container = msg->container ? msg->container : RWF_TYPE_NO_DATA;

    if (flags > RB15_MAX || container < CONTAINER_BASE || container > CONTAINER_BASE + UINT8_MAX)
        return RWF_ERR_RANGE;
    md_wr_u16(wr, 0);
    md_wr_u8(wr, msg->msg_class);
    md_wr_u8(wr, msg->domain);
    md_wr_u32(wr, (uint32_t)msg->stream_id);
    wire_wr_rb15(wr, flags);
    md_wr_u8(wr, (uint8_t)(container - CONTAINER_BASE));
    return RWF_OK;
}

/* Members `from` up to the first of kind `stop`; *next is where it stopped. */
static int write_members(struct md_wr *wr, const struct rwf_msg *msg, uint16_t flags,
                         const struct member_table *table, unsigned from, enum member_kind stop,
                         unsigned *next)
{
    unsigned i;

    if (msg->msg_class == RWF_CLASS_UPDATE && !(flags & table->flags) && from == 0) {
        /* The tick: nothing optional. */
        md_wr_u8(wr, msg->update_type);
        *next = table->count;
        return RWF_OK;
    }
    for (i = from; i < table->count && table->member[i].kind != stop; i++) {
        const struct member *m = &table->member[i];

        if (m->flag != 0 && !(flags & m->flag))
            continue;
        int rc = check_member(msg, m->kind);
        if (rc == RWF_OK)
            rc = write_member(wr, msg, m->kind);
        if (rc < 0)
            return rc;
    }
    *next = i;
    return RWF_OK;
}

/* The header is whole: its length can be written. */
static int end_header(struct rwf_encoder *enc, uint8_t *header)
{
    size_t length = (size_t)(enc->pos - header) - 2;

    if (length > UINT16_MAX)
        return encoder_fail(enc, RWF_ERR_RANGE);
    md_put_be16(header, (uint16_t)length);
    return RWF_OK;
}

static struct rwf_level *push_msg(struct rwf_encoder *enc, const struct rwf_msg *msg)
{
    if (enc->err == RWF_OK && !members_of_class(msg->msg_class))
        encoder_fail(enc, RWF_ERR_RANGE);
    return encoder_push(enc, LEVEL_MSG, RWF_TYPE_MSG);
}

static void open_payload(struct rwf_level *level, const struct rwf_msg *msg)
{
    level->phase = PHASE_PAYLOAD;
    level->container = msg->container;
    level->slot_is_open = msg->container != 0 && msg->container != RWF_TYPE_NO_DATA;
}

int rwf_msg_start(struct rwf_encoder *enc, const struct rwf_msg *msg)
{
    struct rwf_level *level = push_msg(enc, msg);
    uint8_t *header = enc->pos;
    unsigned next;

    if (!level)
        return enc->err;

    const struct member_table *table = members_of_class(msg->msg_class);
    uint16_t flags = flags_written(msg, table);
    struct md_wr wr = encoder_writer(enc);
    int rc = begin_header(&wr, msg, flags);

    if (rc == RWF_OK)
        rc = write_members(&wr, msg, flags, table, 0, MEMBER_COUNT, &next);
    if (rc < 0)
        return encoder_fail(enc, rc);
    if (encoder_written(enc, &wr) < 0)
        return enc->err;
    open_payload(level, msg);
    return end_header(enc, header);
}

int rwf_msg_finish(struct rwf_encoder *enc)
{
    if (enc->err == RWF_OK && encoder_top(enc)->phase != PHASE_PAYLOAD)
        return encoder_fail(enc, RWF_ERR_STATE);
    return encoder_pop(enc, LEVEL_MSG);
}

int rwf_msg_encode(struct rwf_encoder *enc, const struct rwf_msg *msg)
{
    rwf_msg_start(enc, msg);
    if (msg->payload.length > 0)
        rwf_raw_add(enc, msg->payload);
    return rwf_msg_finish(enc);
}

int rwf_msg_attrib_start(struct rwf_encoder *enc, const struct rwf_msg *msg)
{
    struct rwf_level *level = push_msg(enc, msg);
    uint8_t *header = enc->pos;
    unsigned next;

    if (!level)
        return enc->err;

    const struct member_table *table = members_of_class(msg->msg_class);
    uint16_t flags = flags_written(msg, table);
    struct md_wr wr = encoder_writer(enc);
    int rc = begin_header(&wr, msg, flags);

    if (rc == RWF_OK)
        rc = write_members(&wr, msg, flags, table, 0, MEMBER_KEY, &next);
    if (rc == RWF_OK)
        rc = key_check(&msg->key);
    if (rc == RWF_OK &&
        (next == table->count || !rwf_msg_has_key(msg) || !(msg->key.flags & RWF_KEY_HAS_ATTRIB) ||
         msg->key.attrib_type == RWF_TYPE_NO_DATA))
        rc = RWF_ERR_STATE;
    if (rc < 0)
        return encoder_fail(enc, rc);

    level->flags_at = header;
    level->count_at = md_wr_take(&wr, 2); /* the length of the key */
    level->count = next + 1;
    level->msg = msg;
    level->phase = PHASE_ATTRIB;
    level->container = msg->key.attrib_type;
    level->slot_is_open = true;
    key_write_head(&wr, &msg->key);
    if (encoder_written(enc, &wr) < 0)
        return enc->err;
    return encoder_open_length15(enc, &level->length_at);
}

int rwf_msg_attrib_finish(struct rwf_encoder *enc)
{
    struct rwf_level *level = encoder_top(enc);
    unsigned next;

    if (enc->err < 0)
        return enc->err;
    if (level->kind != LEVEL_MSG || level->phase != PHASE_ATTRIB)
        return encoder_fail(enc, RWF_ERR_STATE);
    if (encoder_close_length15(enc, level->length_at) < 0)
        return enc->err;

    size_t key_length = (size_t)(enc->pos - level->count_at) - 2;
    if (key_length > RB15_MAX)
        return encoder_fail(enc, RWF_ERR_RANGE);
    md_put_be16(level->count_at, (uint16_t)(0x8000u | key_length));

    const struct member_table *table = members_of_class(level->msg->msg_class);
    struct md_wr wr = encoder_writer(enc);
    int rc = write_members(&wr, level->msg, flags_written(level->msg, table), table, level->count,
                           MEMBER_COUNT, &next);
    if (rc < 0)
        return encoder_fail(enc, rc);
    if (encoder_written(enc, &wr) < 0)
        return enc->err;
    open_payload(level, level->msg);
    return end_header(enc, level->flags_at);
}
