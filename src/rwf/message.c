/* message.c - message headers and keys into plain structs; see rmds/rwf_message.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rmds/rwf_message.h"

#include "members.h"
#include "rmds/rwf_encode.h"

int rwf_peek(struct rwf_bytes bytes, struct rwf_peek *peek)
{
    const uint8_t *p = bytes.data;

    if (bytes.length < HEADER_MIN) {
        *peek = (struct rwf_peek){ 0 };
        return RWF_ERR_SHORT;
    }

    uint32_t head = 2u + md_be16(p);
    uint32_t at = HEADER_FIXED + 1;
    uint32_t flags = p[HEADER_FIXED];

    if (flags & 0x80) {
        flags = (flags & 0x7f) << 8 | p[HEADER_FIXED + 1];
        at++;
    }
    peek->msg_class = p[2] & MSG_CLASS_BITS;
    peek->domain = p[3];
    peek->flags = (uint16_t)flags;
    peek->stream_id = (int32_t)md_be32(p + 4);
    peek->members_at = (uint16_t)(at + 1);
    peek->payload_at = head;
    peek->payload_length = 0;
    peek->container = RWF_TYPE_NO_DATA;
    if (at >= head || head > bytes.length)
        return RWF_ERR_SHORT;
    peek->container = (uint16_t)(CONTAINER_BASE + p[at]);
    peek->payload_length = bytes.length - head;
    if (peek->msg_class - 1u >= RWF_CLASS_POST)
        return RWF_ERR_MALFORMED;
    return RWF_OK;
}

int rwf_peek_seq_num(struct rwf_bytes bytes, struct rwf_peek *peek, uint32_t *number)
{
    struct md_rd rd;
    int rc = members_begin(bytes, peek, &rd);
    if (rc < 0)
        return rc;
    if (peek->msg_class == RWF_CLASS_UPDATE)
        return rwf_peek_update_seq_num(bytes, number);

    const struct member_table *table = members_of_class(peek->msg_class);
    uint16_t flags = peek->flags;

    for (unsigned i = 0; i < table->count; i++) {
        const struct member *m = &table->member[i];

        if (!member_is_there(m, &flags, &rd)) {
            if (m->kind == MEMBER_SEQ_NUM)
                break;
            continue;
        }
        if (m->kind == MEMBER_SEQ_NUM) {
            *number = md_rd_u32(&rd);
            return md_rd_ok(&rd) ? 1 : RWF_ERR_SHORT;
        }
        member_skip(&rd, m->kind);
    }
    return md_rd_ok(&rd) ? 0 : RWF_ERR_SHORT;
}

/* ---- keys ---- */

/* Bounded by its own length; what follows the members it knows is skipped. */
int rwf_key_decode(struct rwf_bytes bytes, struct rwf_key *key)
{
    struct md_rd rd = md_rd_init(bytes.data, bytes.length);

    *key = (struct rwf_key){ .name_type = RWF_NAME_RIC, .attrib_type = RWF_TYPE_NO_DATA };
    key->flags = wire_rd_rb15(&rd);
    if (key->flags & RWF_KEY_HAS_SERVICE_ID)
        key->service_id = wire_rd_ob16(&rd);
    if (key->flags & RWF_KEY_HAS_NAME) {
        key->name = wire_rd_buf8(&rd);
        if (key->flags & RWF_KEY_HAS_NAME_TYPE)
            key->name_type = md_rd_u8(&rd);
    }
    if (key->flags & RWF_KEY_HAS_FILTER)
        key->filter = md_rd_u32(&rd);
    if (key->flags & RWF_KEY_HAS_IDENTIFIER)
        key->identifier = (int32_t)md_rd_u32(&rd);
    if (key->flags & RWF_KEY_HAS_ATTRIB) {
        key->attrib_type = (uint16_t)(CONTAINER_BASE + md_rd_u8(&rd));
        if (key->attrib_type != RWF_TYPE_NO_DATA)
            key->attrib = wire_rd_buf15(&rd);
    }
    return md_rd_ok(&rd) ? RWF_OK : RWF_ERR_SHORT;
}

uint16_t key_flags_written(const struct rwf_key *key)
{
    if ((key->flags & RWF_KEY_HAS_NAME) && key->name.length == 0)
        return (uint16_t)(key->flags & ~(RWF_KEY_HAS_NAME | RWF_KEY_HAS_NAME_TYPE));
    return key->flags;
}

int key_check(const struct rwf_key *key)
{
    if (key->flags > RB15_MAX)
        return RWF_ERR_RANGE;
    if ((key->flags & RWF_KEY_HAS_NAME) && key->name.length > UINT8_MAX)
        return RWF_ERR_RANGE;
    if (key->flags & RWF_KEY_HAS_ATTRIB) {
        if (key->attrib_type < CONTAINER_BASE || key->attrib_type > CONTAINER_BASE + UINT8_MAX)
            return RWF_ERR_RANGE;
        if (key->attrib.length > RB15_MAX)
            return RWF_ERR_RANGE;
    }
    return RWF_OK;
}

/* Everything up to the attributes. */
static void key_write_members(struct md_wr *wr, const struct rwf_key *key, uint16_t flags)
{
    wire_wr_rb15(wr, flags);
    if (flags & RWF_KEY_HAS_SERVICE_ID)
        wire_wr_ob16(wr, key->service_id);
    if (flags & RWF_KEY_HAS_NAME) {
        wire_wr_buf8(wr, key->name);
        if (flags & RWF_KEY_HAS_NAME_TYPE)
            md_wr_u8(wr, key->name_type);
    }
    if (flags & RWF_KEY_HAS_FILTER)
        md_wr_u32(wr, key->filter);
    if (flags & RWF_KEY_HAS_IDENTIFIER)
        md_wr_u32(wr, (uint32_t)key->identifier);
    if (flags & RWF_KEY_HAS_ATTRIB)
        md_wr_u8(wr, (uint8_t)(key->attrib_type - CONTAINER_BASE));
}

void key_write(struct md_wr *wr, const struct rwf_key *key)
{
    key_write_members(wr, key, key_flags_written(key));
    if ((key->flags & RWF_KEY_HAS_ATTRIB) && key->attrib_type != RWF_TYPE_NO_DATA)
        wire_wr_buf15(wr, key->attrib);
}

void key_write_head(struct md_wr *wr, const struct rwf_key *key)
{
    key_write_members(wr, key, key_flags_written(key));
}

int rwf_key_encode(const struct rwf_key *key, uint8_t *out, size_t size, size_t *length)
{
    struct md_wr wr = md_wr_init(out, size);
    int rc = key_check(key);

    *length = 0;
    if (rc < 0)
        return rc;
    key_write(&wr, key);
    if (!md_wr_ok(&wr))
        return RWF_ERR_FULL;
    *length = md_wr_length(&wr);
    return RWF_OK;
}

bool rwf_key_equal(const struct rwf_key *a, const struct rwf_key *b)
{
    uint16_t members = RWF_KEY_HAS_SERVICE_ID | RWF_KEY_HAS_NAME | RWF_KEY_HAS_FILTER |
                       RWF_KEY_HAS_IDENTIFIER | RWF_KEY_HAS_ATTRIB;
    uint16_t flags = a->flags & members;

    if (flags != (b->flags & members))
        return false;
    if ((flags & RWF_KEY_HAS_SERVICE_ID) && a->service_id != b->service_id)
        return false;
    if (flags & RWF_KEY_HAS_NAME) {
        unsigned type_a = a->flags & RWF_KEY_HAS_NAME_TYPE ? a->name_type : RWF_NAME_RIC;
        unsigned type_b = b->flags & RWF_KEY_HAS_NAME_TYPE ? b->name_type : RWF_NAME_RIC;

        if (type_a != type_b || !rwf_bytes_equal(a->name, b->name))
            return false;
    }
    if ((flags & RWF_KEY_HAS_FILTER) && a->filter != b->filter)
        return false;
    if ((flags & RWF_KEY_HAS_IDENTIFIER) && a->identifier != b->identifier)
        return false;
    if (flags & RWF_KEY_HAS_ATTRIB)
        return a->attrib_type == b->attrib_type && rwf_bytes_equal(a->attrib, b->attrib);
    return true;
}

/* ---- messages ---- */

static int decode_member(struct md_rd *rd, enum member_kind kind, struct rwf_msg *msg)
{
    struct rwf_bytes bytes;

    switch (kind) {
    case MEMBER_PRIORITY:
        msg->priority_class = md_rd_u8(rd);
        msg->priority_count = wire_rd_ob16(rd);
        break;
    case MEMBER_QOS:
        wire_rd_qos(rd, &msg->qos);
        break;
    case MEMBER_WORST_QOS:
        wire_rd_qos(rd, &msg->worst_qos);
        break;
    case MEMBER_KEY:
        bytes = wire_rd_buf15(rd);
        return md_rd_ok(rd) ? rwf_key_decode(bytes, &msg->key) : RWF_ERR_SHORT;
    case MEMBER_REQ_KEY:
        bytes = wire_rd_buf15(rd);
        return md_rd_ok(rd) ? rwf_key_decode(bytes, &msg->req_key) : RWF_ERR_SHORT;
    case MEMBER_EXT_HEADER:
        msg->ext_header = wire_rd_buf8(rd);
        break;
    case MEMBER_SEQ_NUM:
        msg->seq_num = md_rd_u32(rd);
        break;
    case MEMBER_STATE:
        wire_rd_state(rd, &msg->state);
        break;
    case MEMBER_GROUP_ID:
        msg->group_id = wire_rd_buf8(rd);
        break;
    case MEMBER_PERM_DATA:
        msg->perm_data = wire_rd_buf15(rd);
        break;
    case MEMBER_POST_USER:
        msg->post_user_addr = md_rd_u32(rd);
        msg->post_user_id = md_rd_u32(rd);
        break;
    case MEMBER_PART_NUM:
        msg->part_num = wire_rd_rb15(rd);
        break;
    case MEMBER_UPDATE_TYPE:
        msg->update_type = md_rd_u8(rd);
        break;
    case MEMBER_CONF_INFO:
        msg->conf_count = wire_rd_rb15(rd);
        msg->conf_time_ms = md_rd_u16(rd);
        break;
    case MEMBER_ACK_ID:
        msg->ack_id = md_rd_u32(rd);
        break;
    case MEMBER_NAK_CODE:
        msg->nak_code = md_rd_u8(rd);
        break;
    case MEMBER_TEXT:
        msg->text = wire_rd_buf16(rd);
        break;
    case MEMBER_SECONDARY_SEQ:
        msg->secondary_seq_num = md_rd_u32(rd);
        break;
    case MEMBER_POST_ID:
        msg->post_id = md_rd_u32(rd);
        break;
    case MEMBER_POST_RIGHTS:
        msg->post_rights = wire_rd_rb15(rd);
        break;
    case MEMBER_COUNT:
        break;
    }
    return md_rd_ok(rd) ? RWF_OK : RWF_ERR_SHORT;
}

/* Absent members are zero. */
static void clear_msg(struct rwf_msg *msg, const struct rwf_peek *peek)
{
    wire_clear(msg, sizeof(*msg));
    msg->msg_class = peek->msg_class;
    msg->domain = peek->domain;
    msg->flags = peek->flags;
    msg->stream_id = peek->stream_id;
    msg->container = peek->container;
    msg->priority_class = 1;
    msg->priority_count = 1;
}

/* The members that the flags, and the class itself, say are there. */
static int decode_members(struct md_rd *rd, const struct member_table *table, struct rwf_msg *msg)
{
    for (unsigned i = 0; i < table->count; i++) {
        if (!member_is_there(&table->member[i], &msg->flags, rd))
            continue;
        int rc = decode_member(rd, table->member[i].kind, msg);
        if (rc < 0)
            return rc;
    }
    return RWF_OK;
}

int rwf_msg_decode(struct rwf_bytes bytes, struct rwf_msg *msg)
{
    struct rwf_peek peek;
    struct md_rd rd;
    int rc = members_begin(bytes, &peek, &rd);

    clear_msg(msg, &peek);
    if (rc < 0)
        return rc;

    const struct member_table *table = members_of_class(peek.msg_class);

    if (peek.msg_class == RWF_CLASS_UPDATE && !(peek.flags & table->flags)) {
        /* The tick: nothing optional. */
        if (md_rd_left(&rd) == 0)
            return RWF_ERR_SHORT;
        msg->update_type = rd.pos[0];
    } else {
        rc = decode_members(&rd, table, msg);
        if (rc < 0)
            return rc;
    }
    if (peek.payload_length > 0)
        msg->payload = rwf_bytes(bytes.data + peek.payload_at, peek.payload_length);
    return RWF_OK;
}

bool rwf_msg_has_key(const struct rwf_msg *msg)
{
    const struct member_table *table = members_of_class(msg->msg_class);

    if (msg->msg_class == RWF_CLASS_REQUEST)
        return true;
    return table && (msg->flags & table->key_flag);
}
