/* record_up.c - the records a requester sends to an instance; layouts in rrmp/record.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "codec.h"

#include "base/err.h"
#include "rrmp/key.h"

static int request_decode(struct md_rd *rd, struct rrmp_request *out)
{
    out->id = md_rd_u32(rd);
    out->flags = md_rd_u16(rd);
    out->priority_class = md_rd_u8(rd);
    md_rd_u8(rd);
    out->priority_count = md_rd_u32(rd);
    out->handle = md_rd_u32(rd);
    out->key_hash = md_rd_u64(rd);
    out->resume_seq = md_rd_u32(rd);
    uint16_t key_length = md_rd_u16(rd);
    uint16_t message_length = md_rd_u16(rd);
    out->key = rrmp_rd_view(rd, key_length);
    out->message = rrmp_rd_view(rd, message_length);
    if (md_rd_ok(rd) && (out->id == 0 || key_length == 0 || key_length > RRMP_KEY_SIZE_MAX))
        return MD_ERR_MALFORMED;
    return MD_OK;
}

static void request_encode(struct md_wr *wr, const struct rrmp_request *in)
{
    md_wr_u32(wr, in->id);
    md_wr_u16(wr, in->flags);
    md_wr_u8(wr, in->priority_class);
    md_wr_u8(wr, 0);
    md_wr_u32(wr, in->priority_count);
    md_wr_u32(wr, in->handle);
    md_wr_u64(wr, in->key_hash);
    md_wr_u32(wr, in->resume_seq);
    rrmp_wr_length16(wr, in->key.length);
    rrmp_wr_length16(wr, in->message.length);
    rrmp_wr_view(wr, in->key);
    rrmp_wr_view(wr, in->message);
}

static int close_decode(struct md_rd *rd, struct rrmp_close *out)
{
    out->id = md_rd_u32(rd);
    out->handle = md_rd_u32(rd);
    out->key_hash = md_rd_u64(rd);
    uint16_t key_length = md_rd_u16(rd);
    out->reason = md_rd_u8(rd);
    md_rd_u8(rd);
    out->key = rrmp_rd_view(rd, key_length);
    /* A requester that has forgotten the key names the private stream by its handle. */
    bool is_named = key_length > 0 || out->handle != RRMP_HANDLE_NONE;
    if (md_rd_ok(rd) && (!is_named || key_length > RRMP_KEY_SIZE_MAX))
        return MD_ERR_MALFORMED;
    return MD_OK;
}

static void close_encode(struct md_wr *wr, const struct rrmp_close *in)
{
    md_wr_u32(wr, in->id);
    md_wr_u32(wr, in->handle);
    md_wr_u64(wr, in->key_hash);
    rrmp_wr_length16(wr, in->key.length);
    md_wr_u8(wr, in->reason);
    md_wr_u8(wr, 0);
    rrmp_wr_view(wr, in->key);
}

static int post_decode(struct md_rd *rd, struct rrmp_post *out)
{
    out->id = md_rd_u32(rd);
    out->handle = md_rd_u32(rd);
    out->flags = md_rd_u16(rd);
    uint16_t key_length = md_rd_u16(rd);
    out->key_hash = md_rd_u64(rd);
    out->key = rrmp_rd_view(rd, key_length);
    out->message = rrmp_rd_rest(rd);
    if (md_rd_ok(rd) && key_length > RRMP_KEY_SIZE_MAX)
        return MD_ERR_MALFORMED;
    return MD_OK;
}

static void post_encode(struct md_wr *wr, const struct rrmp_post *in)
{
    md_wr_u32(wr, in->id);
    md_wr_u32(wr, in->handle);
    md_wr_u16(wr, in->flags);
    rrmp_wr_length16(wr, in->key.length);
    md_wr_u64(wr, in->key_hash);
    rrmp_wr_view(wr, in->key);
    rrmp_wr_view(wr, in->message);
}

static void gapquery_decode(struct md_rd *rd, struct rrmp_gapquery *out)
{
    out->first = md_rd_u32(rd);
    out->last = md_rd_u32(rd);
    out->id = md_rd_u32(rd);
}

static void gapquery_encode(struct md_wr *wr, const struct rrmp_gapquery *in)
{
    md_wr_u32(wr, in->first);
    md_wr_u32(wr, in->last);
    md_wr_u32(wr, in->id);
}

static int audit_decode(struct md_rd *rd, struct rrmp_audit *out)
{
    out->id = md_rd_u32(rd);
    out->from = md_rd_u32(rd);
    out->to = md_rd_u32(rd);
    out->count = md_rd_u16(rd);
    md_rd_u16(rd);
    out->rows = md_rd_bytes(rd, 8u * out->count);
    if (md_rd_ok(rd) && (out->id == 0 || out->to < out->from))
        return MD_ERR_MALFORMED;
    return MD_OK;
}

static void audit_encode(struct md_wr *wr, const struct rrmp_audit *in)
{
    md_wr_u32(wr, in->id);
    md_wr_u32(wr, in->from);
    md_wr_u32(wr, in->to);
    md_wr_u16(wr, in->count);
    md_wr_u16(wr, 0);
    rrmp_wr_view(wr, (struct rrmp_view){ .bytes = in->rows, .length = 8u * in->count });
}

static void sum_decode(struct md_rd *rd, struct rrmp_sum *out)
{
    out->newest_id = md_rd_u32(rd);
    out->count = md_rd_u32(rd);
    out->key_xor = md_rd_u64(rd);
}

static void sum_encode(struct md_wr *wr, const struct rrmp_sum *in)
{
    md_wr_u32(wr, in->newest_id);
    md_wr_u32(wr, in->count);
    md_wr_u64(wr, in->key_xor);
}

static void dictreq_decode(struct md_rd *rd, struct rrmp_dictreq *out)
{
    out->id = md_rd_u32(rd);
    out->filter = md_rd_u32(rd);
    out->name = rrmp_rd_name(rd);
}

static void dictreq_encode(struct md_wr *wr, const struct rrmp_dictreq *in)
{
    md_wr_u32(wr, in->id);
    md_wr_u32(wr, in->filter);
    rrmp_wr_name(wr, in->name);
}

static void generic_decode(struct md_rd *rd, struct rrmp_tick *out)
{
    out->handle = md_rd_u32(rd);
    out->item_seq = md_rd_u32(rd);
    out->group = RRMP_GROUP_NONE;
    out->message = rrmp_rd_rest(rd);
}

int rrmp_decode_upward(struct md_rd *rd, struct rrmp_record *out)
{
    switch ((enum rrmp_type)out->header.type) {
    case RRMP_REQUEST:
        return request_decode(rd, &out->u.request);
    case RRMP_CLOSE:
        return close_decode(rd, &out->u.close);
    case RRMP_POST:
        return post_decode(rd, &out->u.post);
    case RRMP_GENERICUP:
        generic_decode(rd, &out->u.tick);
        return MD_OK;
    case RRMP_GAPQUERY:
        gapquery_decode(rd, &out->u.gapquery);
        return MD_OK;
    case RRMP_AUDIT:
        return audit_decode(rd, &out->u.audit);
    case RRMP_SUM:
        sum_decode(rd, &out->u.sum);
        return MD_OK;
    case RRMP_DICTREQ:
        dictreq_decode(rd, &out->u.dictreq);
        return MD_OK;
    default: /* the byte comes from outside: any value at all */
        return MD_ERR_UNSUPPORTED;
    }
}

void rrmp_encode_upward(struct md_wr *wr, const struct rrmp_record *record)
{
    switch ((enum rrmp_type)record->header.type) {
    case RRMP_REQUEST:
        request_encode(wr, &record->u.request);
        return;
    case RRMP_CLOSE:
        close_encode(wr, &record->u.close);
        return;
    case RRMP_POST:
        post_encode(wr, &record->u.post);
        return;
    case RRMP_GENERICUP:
        md_wr_u32(wr, record->u.tick.handle);
        md_wr_u32(wr, record->u.tick.item_seq);
        rrmp_wr_view(wr, record->u.tick.message);
        return;
    case RRMP_GAPQUERY:
        gapquery_encode(wr, &record->u.gapquery);
        return;
    case RRMP_AUDIT:
        audit_encode(wr, &record->u.audit);
        return;
    case RRMP_SUM:
        sum_encode(wr, &record->u.sum);
        return;
    case RRMP_DICTREQ:
        dictreq_encode(wr, &record->u.dictreq);
        return;
    default:
        wr->failed = true;
    }
}
