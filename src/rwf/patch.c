/* patch.c - encoded messages changed without a decode; see rmds/rwf_message.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "members.h"

int rwf_layout_decode(struct rwf_bytes bytes, struct rwf_layout *layout)
{
    struct md_rd rd;
    struct rwf_span unused;

    *layout = (struct rwf_layout){ 0 };
    int rc = members_begin(bytes, &layout->peek, &rd);
    if (rc < 0)
        return rc;

    const struct member_table *table = members_of_class(layout->peek.msg_class);
    uint16_t flags = layout->peek.flags;

    for (unsigned i = 0; i < table->count; i++) {
        struct rwf_span *span = &unused;

        if (!member_is_there(&table->member[i], &flags, &rd))
            continue;
        switch (table->member[i].kind) {
        case MEMBER_SEQ_NUM:
            span = &layout->seq_num;
            break;
        case MEMBER_STATE:
            span = &layout->state;
            break;
        case MEMBER_GROUP_ID:
            span = &layout->group_id;
            break;
        case MEMBER_PERM_DATA:
            span = &layout->perm_data;
            break;
        case MEMBER_QOS:
            span = &layout->qos;
            break;
        case MEMBER_KEY:
            span = &layout->key;
            break;
        default:
            break;
        }
        span->at = (uint32_t)(rd.pos - bytes.data);
        member_skip(&rd, table->member[i].kind);
        if (!md_rd_ok(&rd))
            return RWF_ERR_SHORT;
        span->length = (uint32_t)(rd.pos - bytes.data) - span->at;
    }
    if (layout->key.at != 0) {
        uint32_t skip = bytes.data[layout->key.at] & 0x80 ? 2 : 1;

        layout->key_body.at = layout->key.at + skip;
        layout->key_body.length = layout->key.length - skip;
    }
    return RWF_OK;
}

/* ---- flags ---- */

static void put_flags(uint8_t *at, uint16_t flags, bool is_long)
{
    if (is_long)
        md_put_be16(at, (uint16_t)(0x8000u | flags));
    else
        at[0] = (uint8_t)flags;
}

int rwf_patch_flags(uint8_t *msg, size_t length, uint16_t set, uint16_t clear)
{
    struct rwf_peek peek;
    int rc = rwf_peek(rwf_bytes(msg, length), &peek);

    if (rc < 0)
        return rc;

    uint16_t flags = (uint16_t)((peek.flags & ~clear) | set);
    bool is_long = msg[HEADER_FIXED] & 0x80;

    if (flags > RB15_MAX || (!is_long && flags > 0x7f))
        return RWF_ERR_RANGE;
    put_flags(msg + HEADER_FIXED, flags, is_long);
    return RWF_OK;
}

/* ---- splice ---- */

/* One pass over the members: each is copied, replaced, dropped or added in its place. */
struct splicing {
    const struct rwf_splice *splice;
    const struct member_table *table;
    struct md_rd rd;
    struct md_wr wr;
    uint16_t flags;     /* of the result */
    uint16_t flags_was; /* members of the message itself */
    int err;
};

/* A key, its length always in two bytes. */
static void wr_key(struct splicing *s, const struct rwf_key *key)
{
    uint8_t *length_at = md_wr_take(&s->wr, 2);
    uint8_t *start = md_wr_mark(&s->wr);

    key_write(&s->wr, key);
    size_t length = (size_t)(md_wr_mark(&s->wr) - start);
    if (length > RB15_MAX)
        s->err = RWF_ERR_RANGE;
    else if (length_at)
        md_put_be16(length_at, (uint16_t)(0x8000u | length));
}

/* The key the message has, with another service id or none. Other members keep their bytes. */
static void wr_key_service(struct splicing *s, struct rwf_bytes key)
{
    struct md_rd rd = md_rd_init(key.data, key.length);
    uint16_t flags = wire_rd_rb15(&rd);
    bool strip = s->splice->ops & RWF_SPLICE_STRIP_SERVICE;

    if (flags & RWF_KEY_HAS_SERVICE_ID)
        wire_rd_ob16(&rd);
    if (!md_rd_ok(&rd)) {
        s->err = RWF_ERR_SHORT;
        return;
    }
    flags = (uint16_t)(strip ? flags & ~RWF_KEY_HAS_SERVICE_ID : flags | RWF_KEY_HAS_SERVICE_ID);

    uint8_t *length_at = md_wr_take(&s->wr, 2);
    uint8_t *start = md_wr_mark(&s->wr);

    wire_wr_rb15(&s->wr, flags);
    if (!strip)
        wire_wr_ob16(&s->wr, s->splice->service_id);
    md_wr_bytes(&s->wr, rd.pos, md_rd_left(&rd));
    size_t length = (size_t)(md_wr_mark(&s->wr) - start);
    if (length > RB15_MAX)
        s->err = RWF_ERR_RANGE;
    else if (length_at)
        md_put_be16(length_at, (uint16_t)(0x8000u | length));
}

static void splice_key(struct splicing *s, const struct member *m, bool is_there)
{
    static const struct rwf_key no_key = { 0 };
    uint32_t ops = s->splice->ops;
    struct rwf_bytes key = { 0 };

    const uint8_t *start = s->rd.pos;
    if (is_there)
        key = wire_rd_buf15(&s->rd);
    if (!md_rd_ok(&s->rd)) {
        s->err = RWF_ERR_SHORT;
        return;
    }
    if (ops & RWF_SPLICE_SET_KEY) {
        s->flags |= m->flag;
        wr_key(s, s->splice->key);
    } else if (ops & RWF_SPLICE_STRIP_KEY) {
        s->flags = (uint16_t)(s->flags & ~m->flag);
        if (m->flag == 0)
            wr_key(s, &no_key);
    } else if (is_there && (ops & (RWF_SPLICE_SERVICE_ID | RWF_SPLICE_STRIP_SERVICE))) {
        wr_key_service(s, key);
    } else if (is_there) {
        md_wr_bytes(&s->wr, start, (size_t)(s->rd.pos - start));
    }
}

/* A refresh always has a group id, if an empty one; a status has none rather than an empty one. */
static void splice_group(struct splicing *s, const struct member *m, bool is_there)
{
    struct rwf_bytes group = { 0 };

    if (is_there)
        group = wire_rd_buf8(&s->rd);
    if (s->splice->ops & RWF_SPLICE_GROUP_ID)
        group = s->splice->group_id;
    else if (!is_there)
        return;
    if (m->flag != 0 && group.length == 0 && (s->splice->ops & RWF_SPLICE_GROUP_ID)) {
        s->flags = (uint16_t)(s->flags & ~m->flag);
        return;
    }
    s->flags |= m->flag;
    wire_wr_buf8(&s->wr, group);
}

static void splice_qos(struct splicing *s, const struct member *m, bool is_there)
{
    if (is_there)
        member_skip(&s->rd, m->kind);
    s->flags |= m->flag;
    if (wire_wr_qos(&s->wr, &s->splice->qos) < 0)
        s->err = RWF_ERR_RANGE;
}

static void splice_member(struct splicing *s, const struct member *m)
{
    bool is_there = member_is_there(m, &s->flags_was, &s->rd);
    const uint8_t *start = s->rd.pos;

    if (m->kind == MEMBER_KEY) {
        splice_key(s, m, is_there);
        return;
    }
    if (m->kind == MEMBER_GROUP_ID) {
        splice_group(s, m, is_there);
        return;
    }
    if (m->kind == MEMBER_QOS && s->splice->ops & RWF_SPLICE_QOS) {
        splice_qos(s, m, is_there);
        return;
    }
    if (!is_there)
        return;
    member_skip(&s->rd, m->kind);
    if ((m->kind == MEMBER_CONF_INFO && (s->splice->ops & RWF_SPLICE_STRIP_CONF_INFO)) ||
        (m->kind == MEMBER_PERM_DATA && (s->splice->ops & RWF_SPLICE_STRIP_PERM_DATA))) {
        s->flags = (uint16_t)(s->flags & ~m->flag);
        return;
    }
    if (m->kind == MEMBER_SEQ_NUM && (s->splice->ops & RWF_SPLICE_SEQ_NUM)) {
        md_wr_u32(&s->wr, s->splice->seq_num);
        return;
    }
    md_wr_bytes(&s->wr, start, (size_t)(s->rd.pos - start));
}

static int splice_check(const struct rwf_splice *splice)
{
    if ((splice->ops & RWF_SPLICE_GROUP_ID) && splice->group_id.length > UINT8_MAX)
        return RWF_ERR_RANGE;
    if (splice->ops & RWF_SPLICE_SET_KEY)
        return key_check(splice->key);
    return RWF_OK;
}

/* Members from behind the flags on; then the flags are known and go in front. */
static void splice_members(struct splicing *s)
{
    for (unsigned i = 0; i < s->table->count && s->err == RWF_OK; i++)
        splice_member(s, &s->table->member[i]);
    if (!md_rd_ok(&s->rd) && s->err == RWF_OK)
        s->err = RWF_ERR_SHORT;
    md_wr_bytes(&s->wr, s->rd.pos, md_rd_left(&s->rd)); /* members newer than this codec */
}

/* The flag word grows to two bytes: what is behind it makes room. */
static void grow_flags(struct md_wr *wr, uint8_t *flags_at)
{
    size_t behind = (size_t)(wr->pos - flags_at) - 1;

    if (md_wr_take(wr, 1))
        memmove(flags_at + 2, flags_at + 1, behind);
}

/* When there was no room: how much would do, which is never more than this. */
static size_t enough(const struct rwf_peek *peek, const struct rwf_splice *splice)
{
    size_t size = peek->payload_at + RWF_SPLICE_GROWTH + splice->group_id.length;

    if (splice->ops & RWF_SPLICE_SET_KEY)
        size += splice->key->name.length + splice->key->attrib.length;
    return size;
}

int rwf_splice_head(struct rwf_bytes msg, const struct rwf_splice *splice, uint8_t *out,
                    size_t size, size_t *length, size_t *payload_at)
{
    struct rwf_peek peek;
    struct splicing s = { .splice = splice };
    int rc = members_begin(msg, &peek, &s.rd);

    *length = 0;
    *payload_at = peek.payload_at;
    if (rc == RWF_OK)
        rc = splice_check(splice);
    if (rc < 0)
        return rc;

    s.table = members_of_class(peek.msg_class);
    s.flags_was = peek.flags;
    s.flags = peek.flags;
    if (splice->ops & RWF_SPLICE_FLAGS)
        s.flags = (uint16_t)((s.flags & ~splice->flags_clear) | splice->flags_set);

    /* The flag word nearly always keeps its length; the members are written as if it did. */
    bool is_long = msg.data[HEADER_FIXED] & 0x80;
    size_t flags_length = is_long ? 2 : 1;
    s.wr = md_wr_init(out, size);
    uint8_t *head = md_wr_take(&s.wr, HEADER_FIXED + flags_length);
    md_wr_u8(&s.wr, (uint8_t)(peek.container - CONTAINER_BASE));
    splice_members(&s);
    if (s.err < 0)
        return s.err;
    if (s.flags > RB15_MAX)
        return RWF_ERR_RANGE;
    if (head && !is_long && s.flags > 0x7f) {
        grow_flags(&s.wr, head + HEADER_FIXED);
        is_long = true;
    }
    if (!head || !md_wr_ok(&s.wr)) {
        *length = enough(&peek, splice);
        return RWF_ERR_FULL;
    }
    if (md_wr_length(&s.wr) - 2 > UINT16_MAX)
        return RWF_ERR_RANGE;
    md_put_be16(head, (uint16_t)(md_wr_length(&s.wr) - 2));
    memcpy(head + 2, msg.data + 2, HEADER_FIXED - 2);
    if (splice->ops & RWF_SPLICE_STREAM_ID)
        rwf_patch_stream_id(head, splice->stream_id);
    put_flags(head + HEADER_FIXED, s.flags, is_long);
    *length = md_wr_length(&s.wr);
    return RWF_OK;
}

int rwf_splice(struct rwf_bytes msg, const struct rwf_splice *splice, uint8_t *out, size_t size,
               size_t *length)
{
    size_t payload_at;
    int rc = rwf_splice_head(msg, splice, out, size, length, &payload_at);

    if (rc < 0) {
        if (rc == RWF_ERR_FULL)
            *length += msg.length - payload_at;
        return rc;
    }

    size_t payload_length = msg.length - payload_at;
    size_t head_length = *length;

    *length = head_length + payload_length;
    if (payload_length > size - head_length)
        return RWF_ERR_FULL;
    if (payload_length > 0)
        memcpy(out + head_length, msg.data + payload_at, payload_length);
    return RWF_OK;
}
