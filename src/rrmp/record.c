/* record.c - see rrmp/record.h: header, dispatch, and what all records share. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rrmp/record.h"

#include "base/cursor.h"
#include "base/err.h"

#include "codec.h"

struct rrmp_view rrmp_rd_view(struct md_rd *rd, size_t length)
{
    const uint8_t *p = md_rd_bytes(rd, length);

    return (struct rrmp_view){ .bytes = p, .length = p ? length : 0 };
}

struct rrmp_view rrmp_rd_rest(struct md_rd *rd)
{
    return rrmp_rd_view(rd, md_rd_left(rd));
}

struct rrmp_view rrmp_rd_name(struct md_rd *rd)
{
    uint8_t length = md_rd_u8(rd);

    return rrmp_rd_view(rd, length);
}

struct rrmp_view rrmp_rd_padded(struct md_rd *rd, size_t length)
{
    struct rrmp_view view = rrmp_rd_view(rd, length);

    md_rd_bytes(rd, (4 - length % 4) % 4);
    return view;
}

void rrmp_wr_view(struct md_wr *wr, struct rrmp_view view)
{
    uint8_t *p = md_wr_take(wr, view.length);

    if (p && view.bytes && view.length)
        memcpy(p, view.bytes, view.length);
}

void rrmp_wr_padded(struct md_wr *wr, struct rrmp_view view)
{
    static const uint8_t zero[4];

    rrmp_wr_view(wr, view);
    md_wr_bytes(wr, zero, (4 - view.length % 4) % 4);
}

void rrmp_wr_name(struct md_wr *wr, struct rrmp_view view)
{
    if (view.length > RRMP_NAME_MAX)
        wr->failed = true;
    md_wr_u8(wr, (uint8_t)view.length);
    rrmp_wr_view(wr, view);
}

void rrmp_wr_length16(struct md_wr *wr, size_t length)
{
    if (length > UINT16_MAX)
        wr->failed = true;
    md_wr_u16(wr, (uint16_t)length);
}

static void header_decode(struct md_rd *rd, struct rrmp_header *out, uint8_t *version)
{
    out->type = md_rd_u8(rd);
    uint8_t bits = md_rd_u8(rd);
    *version = bits >> 4;
    out->flags = bits & 0x0f;
    out->svc = md_rd_u16(rd);
    out->svc_seq = md_rd_u32(rd);
}

int rrmp_record_decode(const uint8_t *bytes, size_t length, struct rrmp_record *out)
{
    struct md_rd rd = md_rd_init(bytes, length);
    uint8_t version;

    memset(out, 0, sizeof(*out));
    header_decode(&rd, &out->header, &version);
    if (!md_rd_ok(&rd))
        return MD_ERR_SHORT;
    if (version != RRMP_VERSION)
        return MD_ERR_UNSUPPORTED;

    int err = out->header.type < RRMP_BIND && out->header.type >= RRMP_REQUEST
                  ? rrmp_decode_upward(&rd, out)
                  : rrmp_decode_downward(&rd, out);
    if (err)
        return err;
    return md_rd_ok(&rd) ? MD_OK : MD_ERR_SHORT;
}

void rrmp_record_encode(struct md_wr *wr, const struct rrmp_record *record)
{
    const struct rrmp_header *header = &record->header;

    md_wr_u8(wr, header->type);
    md_wr_u8(wr, (uint8_t)(RRMP_VERSION << 4 | (header->flags & 0x0f)));
    md_wr_u16(wr, header->svc);
    md_wr_u32(wr, header->svc_seq);
    if (header->type < RRMP_BIND && header->type >= RRMP_REQUEST)
        rrmp_encode_upward(wr, record);
    else
        rrmp_encode_downward(wr, record);
}

size_t rrmp_record_size(const struct rrmp_record *record)
{
    const size_t fixed = 64; /* the longest fixed part, header and padding included */

    switch ((enum rrmp_type)record->header.type) {
    case RRMP_INSTANCE:
        return fixed + record->u.instance.name.length + 16u * record->u.instance.service_count;
    case RRMP_SERVICE:
        return fixed + record->u.service.name.length + record->u.service.mirror_group.length +
               record->u.service.tlvs.length;
    case RRMP_SVCSTATE:
        return fixed + record->u.svcstate.text.length;
    case RRMP_GROUP:
        return fixed + record->u.group.text.length;
    case RRMP_REQUEST:
        return fixed + record->u.request.key.length + record->u.request.message.length;
    case RRMP_CLOSE:
        return fixed + record->u.close.key.length;
    case RRMP_POST:
        return fixed + record->u.post.key.length + record->u.post.message.length;
    case RRMP_AUDIT:
        return fixed + 8u * record->u.audit.count;
    case RRMP_DICTREQ:
        return fixed + record->u.dictreq.name.length;
    case RRMP_BIND:
        return fixed + record->u.bind.key.length;
    case RRMP_IMAGE:
        return fixed + record->u.image.key.length + record->u.image.message.length;
    case RRMP_UPDATE:
    case RRMP_STATUS:
    case RRMP_GENERIC:
    case RRMP_GENERICUP:
        return fixed + record->u.tick.message.length;
    case RRMP_REFUSE:
        return fixed + record->u.refuse.text.length;
    case RRMP_ACK:
        return fixed + record->u.ack.message.length;
    case RRMP_GAPITEMS:
        return fixed + 8u * record->u.gapitems.count;
    case RRMP_AUDITDIFF:
        return fixed + 12u * record->u.auditdiff.count;
    case RRMP_REPLAY:
        return fixed + record->u.replay.message.length;
    case RRMP_DICTPART:
        return fixed + record->u.dictpart.name.length + record->u.dictpart.version.length +
               record->u.dictpart.message.length;
    case RRMP_QUERY:
    case RRMP_GAPQUERY:
    case RRMP_SUM:
    case RRMP_UNBIND:
        return fixed;
    }
    return fixed;
}

struct rrmp_instance_row rrmp_instance_row(const struct rrmp_instance *instance, size_t index)
{
    const uint8_t *p = instance->services + 16 * index;

    return (struct rrmp_instance_row){ .svc = md_be16(p),
                                       .state = md_be16(p + 2),
                                       .topic = md_be32(p + 4),
                                       .version = md_be32(p + 8),
                                       .last_seq = md_be32(p + 12) };
}

void rrmp_instance_row_put(uint8_t out[16], const struct rrmp_instance_row *row)
{
    md_put_be16(out, row->svc);
    md_put_be16(out + 2, row->state);
    md_put_be32(out + 4, row->topic);
    md_put_be32(out + 8, row->version);
    md_put_be32(out + 12, row->last_seq);
}

bool rrmp_tlv_next(struct rrmp_view *rest, uint8_t *type, struct rrmp_view *value)
{
    struct md_rd rd = md_rd_init(rest->bytes, rest->length);

    *type = md_rd_u8(&rd);
    md_rd_u8(&rd);
    uint16_t length = md_rd_u16(&rd);
    *value = rrmp_rd_padded(&rd, length);
    if (!md_rd_ok(&rd)) {
        *value = (struct rrmp_view){ .bytes = NULL, .length = 0 };
        return false;
    }
    rest->length = md_rd_left(&rd);
    rest->bytes = rd.pos;
    return true;
}

void rrmp_tlv_put(struct md_wr *wr, uint8_t type, const void *bytes, size_t length)
{
    md_wr_u8(wr, type);
    md_wr_u8(wr, 0);
    rrmp_wr_length16(wr, length);
    rrmp_wr_padded(wr, (struct rrmp_view){ .bytes = bytes, .length = length });
}

const char *rrmp_type_name(uint8_t type)
{
    static const char *const names[64] = {
        [RRMP_INSTANCE] = "INSTANCE",
        [RRMP_SERVICE] = "SERVICE",
        [RRMP_SVCSTATE] = "SVCSTATE",
        [RRMP_GROUP] = "GROUP",
        [RRMP_QUERY] = "QUERY",
        [RRMP_REQUEST] = "REQUEST",
        [RRMP_CLOSE] = "CLOSE",
        [RRMP_POST] = "POST",
        [RRMP_GENERICUP] = "GENERICUP",
        [RRMP_GAPQUERY] = "GAPQUERY",
        [RRMP_AUDIT] = "AUDIT",
        [RRMP_SUM] = "SUM",
        [RRMP_DICTREQ] = "DICTREQ",
        [RRMP_BIND] = "BIND",
        [RRMP_IMAGE] = "IMAGE",
        [RRMP_UPDATE] = "UPDATE",
        [RRMP_STATUS] = "STATUS",
        [RRMP_GENERIC] = "GENERIC",
        [RRMP_UNBIND] = "UNBIND",
        [RRMP_REFUSE] = "REFUSE",
        [RRMP_ACK] = "ACK",
        [RRMP_GAPITEMS] = "GAPITEMS",
        [RRMP_AUDITDIFF] = "AUDITDIFF",
        [RRMP_REPLAY] = "REPLAY",
        [RRMP_DICTPART] = "DICTPART",
    };

    return type < 64 && names[type] ? names[type] : "unknown";
}

uint32_t rrmp_topic(const void *name, size_t length)
{
    const uint8_t *p = name;
    uint32_t hash = 0x811c9dc5u;

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ p[i]) * 0x01000193u;
    return hash >= 0xFFFFFFFEu ? 0 : hash;
}
