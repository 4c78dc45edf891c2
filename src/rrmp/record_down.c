/* record_down.c - the records an instance sends, and QUERY; layouts in rrmp/record.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "codec.h"

#include "base/err.h"
#include "rrmp/key.h"

static void instance_decode(struct md_rd *rd, struct rrmp_instance *out)
{
    out->start_ms = md_rd_u64(rd);
    out->beat = md_rd_u32(rd);
    out->interval_ms = md_rd_u16(rd);
    out->state = md_rd_u16(rd);
    out->handles_high = md_rd_u32(rd);
    uint8_t name_length = md_rd_u8(rd);
    md_rd_u8(rd);
    out->service_count = md_rd_u16(rd);
    out->name = rrmp_rd_padded(rd, name_length);
    out->services = md_rd_bytes(rd, 16u * out->service_count);
}

static void instance_encode(struct md_wr *wr, const struct rrmp_instance *in)
{
    if (in->name.length > RRMP_NAME_MAX)
        wr->failed = true;
    md_wr_u64(wr, in->start_ms);
    md_wr_u32(wr, in->beat);
    md_wr_u16(wr, in->interval_ms);
    md_wr_u16(wr, in->state);
    md_wr_u32(wr, in->handles_high);
    md_wr_u8(wr, (uint8_t)in->name.length);
    md_wr_u8(wr, 0);
    md_wr_u16(wr, in->service_count);
    rrmp_wr_padded(wr, in->name);
    rrmp_wr_view(wr,
                 (struct rrmp_view){ .bytes = in->services, .length = 16u * in->service_count });
}

static int service_decode(struct md_rd *rd, struct rrmp_service *out)
{
    out->version = md_rd_u32(rd);
    out->topic = md_rd_u32(rd);
    out->id = md_rd_u16(rd);
    out->state = md_rd_u8(rd);
    out->priority = md_rd_u8(rd);
    out->kind = md_rd_u8(rd);
    out->image_from = md_rd_u8(rd);
    out->load_factor = md_rd_u16(rd);
    out->open_limit = md_rd_u32(rd);
    out->open_window = md_rd_u32(rd);
    out->features = md_rd_u32(rd);
    out->tlv_count = md_rd_u16(rd);
    uint8_t name_length = md_rd_u8(rd);
    uint8_t mirror_length = md_rd_u8(rd);
    out->name = rrmp_rd_padded(rd, name_length);
    out->mirror_group = rrmp_rd_padded(rd, mirror_length);
    if (!md_rd_ok(rd))
        return MD_ERR_SHORT;
    if (name_length == 0)
        return MD_ERR_MALFORMED;

    /* Walk the TLVs once, so that the view handed out holds exactly tlv_count whole ones. */
    struct rrmp_view rest = rrmp_rd_rest(rd);
    const uint8_t *start = rest.bytes;
    for (uint16_t i = 0; i < out->tlv_count; i++) {
        struct rrmp_view value;
        uint8_t type;

        if (!rrmp_tlv_next(&rest, &type, &value))
            return MD_ERR_SHORT;
    }
    out->tlvs = (struct rrmp_view){ .bytes = start, .length = (size_t)(rest.bytes - start) };
    return MD_OK;
}

static void service_encode(struct md_wr *wr, const struct rrmp_service *in)
{
    if (in->name.length > RRMP_NAME_MAX || in->mirror_group.length > RRMP_NAME_MAX)
        wr->failed = true;
    md_wr_u32(wr, in->version);
    md_wr_u32(wr, in->topic);
    md_wr_u16(wr, in->id);
    md_wr_u8(wr, in->state);
    md_wr_u8(wr, in->priority);
    md_wr_u8(wr, in->kind);
    md_wr_u8(wr, in->image_from);
    md_wr_u16(wr, in->load_factor);
    md_wr_u32(wr, in->open_limit);
    md_wr_u32(wr, in->open_window);
    md_wr_u32(wr, in->features);
    md_wr_u16(wr, in->tlv_count);
    md_wr_u8(wr, (uint8_t)in->name.length);
    md_wr_u8(wr, (uint8_t)in->mirror_group.length);
    rrmp_wr_padded(wr, in->name);
    rrmp_wr_padded(wr, in->mirror_group);
    rrmp_wr_view(wr, in->tlvs);
}

static void svcstate_decode(struct md_rd *rd, struct rrmp_svcstate *out)
{
    out->state = md_rd_u8(rd);
    out->code = md_rd_u8(rd);
    out->service_state = md_rd_u8(rd);
    out->has_status = md_rd_u8(rd);
    uint16_t length = md_rd_u16(rd);
    md_rd_u16(rd);
    out->text = rrmp_rd_view(rd, length);
}

static void svcstate_encode(struct md_wr *wr, const struct rrmp_svcstate *in)
{
    md_wr_u8(wr, in->state);
    md_wr_u8(wr, in->code);
    md_wr_u8(wr, in->service_state);
    md_wr_u8(wr, in->has_status);
    rrmp_wr_length16(wr, in->text.length);
    md_wr_u16(wr, 0);
    rrmp_wr_view(wr, in->text);
}

static void group_decode(struct md_rd *rd, struct rrmp_group *out)
{
    out->group = md_rd_u16(rd);
    out->merged_into = md_rd_u16(rd);
    out->state = md_rd_u8(rd);
    out->code = md_rd_u8(rd);
    uint16_t length = md_rd_u16(rd);
    out->text = rrmp_rd_view(rd, length);
}

static void group_encode(struct md_wr *wr, const struct rrmp_group *in)
{
    md_wr_u16(wr, in->group);
    md_wr_u16(wr, in->merged_into);
    md_wr_u8(wr, in->state);
    md_wr_u8(wr, in->code);
    rrmp_wr_length16(wr, in->text.length);
    rrmp_wr_view(wr, in->text);
}

static int bind_decode(struct md_rd *rd, struct rrmp_bind *out)
{
    out->handle = md_rd_u32(rd);
    out->item_seq = md_rd_u32(rd);
    out->key_hash = md_rd_u64(rd);
    out->group = md_rd_u16(rd);
    out->state = md_rd_u8(rd);
    out->code = md_rd_u8(rd);
    out->tag = md_rd_u32(rd);
    uint16_t key_length = md_rd_u16(rd);
    md_rd_u16(rd);
    out->session = md_rd_u64(rd);
    out->key = rrmp_rd_view(rd, key_length);
    if (md_rd_ok(rd) && (out->handle == RRMP_HANDLE_NONE || key_length == 0))
        return MD_ERR_MALFORMED;
    return MD_OK;
}

static void bind_encode(struct md_wr *wr, const struct rrmp_bind *in)
{
    md_wr_u32(wr, in->handle);
    md_wr_u32(wr, in->item_seq);
    md_wr_u64(wr, in->key_hash);
    md_wr_u16(wr, in->group);
    md_wr_u8(wr, in->state);
    md_wr_u8(wr, in->code);
    md_wr_u32(wr, in->tag);
    rrmp_wr_length16(wr, in->key.length);
    md_wr_u16(wr, 0);
    md_wr_u64(wr, in->session);
    rrmp_wr_view(wr, in->key);
}

static int image_decode(struct md_rd *rd, struct rrmp_image *out)
{
    out->handle = md_rd_u32(rd);
    out->item_seq = md_rd_u32(rd);
    out->key_hash = md_rd_u64(rd);
    out->group = md_rd_u16(rd);
    out->state = md_rd_u8(rd);
    out->code = md_rd_u8(rd);
    out->part = md_rd_u16(rd);
    out->flags = md_rd_u16(rd);
    out->request_id = md_rd_u32(rd);
    out->tag = md_rd_u32(rd);
    uint16_t key_length = md_rd_u16(rd);
    md_rd_u16(rd);
    out->key = rrmp_rd_view(rd, key_length);
    out->message = rrmp_rd_rest(rd);
    if (!md_rd_ok(rd))
        return MD_ERR_SHORT;
    /* FIRST, part 0 and the key go together; only a snapshot has no handle. */
    bool is_first = out->flags & RRMP_IMAGE_FIRST;
    bool is_snapshot = out->flags & RRMP_IMAGE_SNAPSHOT;
    if (is_first != (out->part == 0) || is_first != (key_length > 0) ||
        is_snapshot != (out->handle == RRMP_HANDLE_NONE))
        return MD_ERR_MALFORMED;
    return MD_OK;
}

static void image_encode(struct md_wr *wr, const struct rrmp_image *in)
{
    md_wr_u32(wr, in->handle);
    md_wr_u32(wr, in->item_seq);
    md_wr_u64(wr, in->key_hash);
    md_wr_u16(wr, in->group);
    md_wr_u8(wr, in->state);
    md_wr_u8(wr, in->code);
    md_wr_u16(wr, in->part);
    md_wr_u16(wr, in->flags);
    md_wr_u32(wr, in->request_id);
    md_wr_u32(wr, in->tag);
    rrmp_wr_length16(wr, in->key.length);
    md_wr_u16(wr, 0);
    rrmp_wr_view(wr, in->key);
    rrmp_wr_view(wr, in->message);
}

static int tick_decode(struct md_rd *rd, struct rrmp_record *out)
{
    struct rrmp_tick *tick = &out->u.tick;

    tick->handle = md_rd_u32(rd);
    tick->item_seq = md_rd_u32(rd);
    tick->group = RRMP_GROUP_NONE;
    if (out->header.type == RRMP_STATUS && (out->header.flags & RRMP_FLAG_GROUP))
        tick->group = md_rd_u16(rd);
    tick->message = rrmp_rd_rest(rd);
    if (md_rd_ok(rd) && tick->handle == RRMP_HANDLE_NONE)
        return MD_ERR_MALFORMED;
    return MD_OK;
}

static void tick_encode(struct md_wr *wr, const struct rrmp_record *record)
{
    const struct rrmp_tick *tick = &record->u.tick;

    md_wr_u32(wr, tick->handle);
    md_wr_u32(wr, tick->item_seq);
    if (record->header.type == RRMP_STATUS && (record->header.flags & RRMP_FLAG_GROUP))
        md_wr_u16(wr, tick->group);
    rrmp_wr_view(wr, tick->message);
}

static void unbind_decode(struct md_rd *rd, struct rrmp_unbind *out)
{
    out->handle = md_rd_u32(rd);
    out->item_seq = md_rd_u32(rd);
    out->reason = md_rd_u8(rd);
}

static void unbind_encode(struct md_wr *wr, const struct rrmp_unbind *in)
{
    md_wr_u32(wr, in->handle);
    md_wr_u32(wr, in->item_seq);
    md_wr_u8(wr, in->reason);
}

static int refuse_decode(struct md_rd *rd, struct rrmp_refuse *out)
{
    out->request_id = md_rd_u32(rd);
    out->state = md_rd_u8(rd);
    out->code = md_rd_u8(rd);
    out->scope = md_rd_u8(rd);
    md_rd_u8(rd);
    out->wait_ms = md_rd_u32(rd);
    out->key_hash = md_rd_u64(rd);
    uint16_t length = md_rd_u16(rd);
    md_rd_u16(rd);
    out->text = rrmp_rd_view(rd, length);
    if (md_rd_ok(rd) && (out->scope < RRMP_REFUSE_FINAL || out->scope > RRMP_REFUSE_LATER))
        return MD_ERR_MALFORMED;
    return MD_OK;
}

static void refuse_encode(struct md_wr *wr, const struct rrmp_refuse *in)
{
    md_wr_u32(wr, in->request_id);
    md_wr_u8(wr, in->state);
    md_wr_u8(wr, in->code);
    md_wr_u8(wr, in->scope);
    md_wr_u8(wr, 0);
    md_wr_u32(wr, in->wait_ms);
    md_wr_u64(wr, in->key_hash);
    rrmp_wr_length16(wr, in->text.length);
    md_wr_u16(wr, 0);
    rrmp_wr_view(wr, in->text);
}

static void ack_decode(struct md_rd *rd, struct rrmp_ack *out)
{
    out->post_id = md_rd_u32(rd);
    md_rd_u32(rd);
    out->message = rrmp_rd_rest(rd);
}

static void ack_encode(struct md_wr *wr, const struct rrmp_ack *in)
{
    md_wr_u32(wr, in->post_id);
    md_wr_u32(wr, 0);
    rrmp_wr_view(wr, in->message);
}

static void gapitems_decode(struct md_rd *rd, struct rrmp_gapitems *out)
{
    out->id = md_rd_u32(rd);
    out->first = md_rd_u32(rd);
    out->last = md_rd_u32(rd);
    out->flags = md_rd_u16(rd);
    out->count = md_rd_u16(rd);
    out->rows = md_rd_bytes(rd, 8u * out->count);
}

static void gapitems_encode(struct md_wr *wr, const struct rrmp_gapitems *in)
{
    md_wr_u32(wr, in->id);
    md_wr_u32(wr, in->first);
    md_wr_u32(wr, in->last);
    md_wr_u16(wr, in->flags);
    md_wr_u16(wr, in->count);
    rrmp_wr_view(wr, (struct rrmp_view){ .bytes = in->rows, .length = 8u * in->count });
}

static void auditdiff_decode(struct md_rd *rd, struct rrmp_auditdiff *out)
{
    out->id = md_rd_u32(rd);
    out->count = md_rd_u16(rd);
    md_rd_u16(rd);
    out->rows = md_rd_bytes(rd, 12u * out->count);
}

static void auditdiff_encode(struct md_wr *wr, const struct rrmp_auditdiff *in)
{
    md_wr_u32(wr, in->id);
    md_wr_u16(wr, in->count);
    md_wr_u16(wr, 0);
    rrmp_wr_view(wr, (struct rrmp_view){ .bytes = in->rows, .length = 12u * in->count });
}

static void replay_decode(struct md_rd *rd, struct rrmp_replay *out)
{
    out->handle = md_rd_u32(rd);
    out->item_seq = md_rd_u32(rd);
    out->tag = md_rd_u32(rd);
    out->flags = md_rd_u16(rd);
    md_rd_u16(rd);
    out->message = rrmp_rd_rest(rd);
}

static void replay_encode(struct md_wr *wr, const struct rrmp_replay *in)
{
    md_wr_u32(wr, in->handle);
    md_wr_u32(wr, in->item_seq);
    md_wr_u32(wr, in->tag);
    md_wr_u16(wr, in->flags);
    md_wr_u16(wr, 0);
    rrmp_wr_view(wr, in->message);
}

static void dictpart_decode(struct md_rd *rd, struct rrmp_dictpart *out)
{
    out->request_id = md_rd_u32(rd);
    out->part = md_rd_u16(rd);
    out->flags = md_rd_u16(rd);
    out->name = rrmp_rd_name(rd);
    out->version = rrmp_rd_name(rd);
    out->message = rrmp_rd_rest(rd);
}

static void dictpart_encode(struct md_wr *wr, const struct rrmp_dictpart *in)
{
    md_wr_u32(wr, in->request_id);
    md_wr_u16(wr, in->part);
    md_wr_u16(wr, in->flags);
    rrmp_wr_name(wr, in->name);
    rrmp_wr_name(wr, in->version);
    rrmp_wr_view(wr, in->message);
}

int rrmp_decode_downward(struct md_rd *rd, struct rrmp_record *out)
{
    switch ((enum rrmp_type)out->header.type) {
    case RRMP_INSTANCE:
        instance_decode(rd, &out->u.instance);
        return MD_OK;
    case RRMP_SERVICE:
        return service_decode(rd, &out->u.service);
    case RRMP_SVCSTATE:
        svcstate_decode(rd, &out->u.svcstate);
        return MD_OK;
    case RRMP_GROUP:
        group_decode(rd, &out->u.group);
        return MD_OK;
    case RRMP_QUERY:
        out->u.query.what = md_rd_u32(rd);
        return MD_OK;
    case RRMP_BIND:
        return bind_decode(rd, &out->u.bind);
    case RRMP_IMAGE:
        return image_decode(rd, &out->u.image);
    case RRMP_UPDATE:
    case RRMP_STATUS:
    case RRMP_GENERIC:
        return tick_decode(rd, out);
    case RRMP_UNBIND:
        unbind_decode(rd, &out->u.unbind);
        return MD_OK;
    case RRMP_REFUSE:
        return refuse_decode(rd, &out->u.refuse);
    case RRMP_ACK:
        ack_decode(rd, &out->u.ack);
        return MD_OK;
    case RRMP_GAPITEMS:
        gapitems_decode(rd, &out->u.gapitems);
        return MD_OK;
    case RRMP_AUDITDIFF:
        auditdiff_decode(rd, &out->u.auditdiff);
        return MD_OK;
    case RRMP_REPLAY:
        replay_decode(rd, &out->u.replay);
        return MD_OK;
    case RRMP_DICTPART:
        dictpart_decode(rd, &out->u.dictpart);
        return MD_OK;
    default: /* the byte comes from outside: any value at all */
        return MD_ERR_UNSUPPORTED;
    }
}

void rrmp_encode_downward(struct md_wr *wr, const struct rrmp_record *record)
{
    switch ((enum rrmp_type)record->header.type) {
    case RRMP_INSTANCE:
        instance_encode(wr, &record->u.instance);
        return;
    case RRMP_SERVICE:
        service_encode(wr, &record->u.service);
        return;
    case RRMP_SVCSTATE:
        svcstate_encode(wr, &record->u.svcstate);
        return;
    case RRMP_GROUP:
        group_encode(wr, &record->u.group);
        return;
    case RRMP_QUERY:
        md_wr_u32(wr, record->u.query.what);
        return;
    case RRMP_BIND:
        bind_encode(wr, &record->u.bind);
        return;
    case RRMP_IMAGE:
        image_encode(wr, &record->u.image);
        return;
    case RRMP_UPDATE:
    case RRMP_STATUS:
    case RRMP_GENERIC:
        tick_encode(wr, record);
        return;
    case RRMP_UNBIND:
        unbind_encode(wr, &record->u.unbind);
        return;
    case RRMP_REFUSE:
        refuse_encode(wr, &record->u.refuse);
        return;
    case RRMP_ACK:
        ack_encode(wr, &record->u.ack);
        return;
    case RRMP_GAPITEMS:
        gapitems_encode(wr, &record->u.gapitems);
        return;
    case RRMP_AUDITDIFF:
        auditdiff_encode(wr, &record->u.auditdiff);
        return;
    case RRMP_REPLAY:
        replay_encode(wr, &record->u.replay);
        return;
    case RRMP_DICTPART:
        dictpart_encode(wr, &record->u.dictpart);
        return;
    default:
        wr->failed = true;
    }
}
