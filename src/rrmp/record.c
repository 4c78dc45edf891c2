/* record.c - see rrmp/record.h: header, ticks, what is legal, rows and TLVs. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rrmp/record.h"

#include <string.h>

#include "base/cursor.h"
#include "base/err.h"
#include "rrmp/key.h"

#include "codec.h"
#include "layout.h"

static void header_decode(struct md_rd *rd, struct rrmp_header *out, uint8_t *version)
{
    out->type = md_rd_u8(rd);
    uint8_t bits = md_rd_u8(rd);
    *version = bits >> 4;
    out->flags = bits & 0x0f;
    out->svc = md_rd_u16(rd);
    out->svc_seq = md_rd_u32(rd);
}

/* ---- ticks, whose way is short ---- */

static bool is_tick(uint8_t type)
{
    return (type >= RRMP_UPDATE && type <= RRMP_GENERIC) || type == RRMP_GENERICUP;
}

static bool has_group(const struct rrmp_header *header)
{
    return header->type == RRMP_STATUS && (header->flags & RRMP_FLAG_GROUP);
}

static void tick_decode(struct md_rd *rd, struct rrmp_record *out)
{
    struct rrmp_tick *tick = &out->u.tick;

    tick->handle = md_rd_u32(rd);
    tick->item_seq = md_rd_u32(rd);
    tick->group = has_group(&out->header) ? md_rd_u16(rd) : RRMP_GROUP_NONE;
    tick->message = rrmp_rd_rest(rd);
}

static void tick_encode(struct md_wr *wr, const struct rrmp_record *record)
{
    const struct rrmp_tick *tick = &record->u.tick;

    md_wr_u32(wr, tick->handle);
    md_wr_u32(wr, tick->item_seq);
    if (has_group(&record->header))
        md_wr_u16(wr, tick->group);
    rrmp_wr_view(wr, tick->message);
}

/* ---- where a requester is: behind a REQUEST ---- */

static void position_decode(struct md_rd *rd, struct rrmp_request *request)
{
    if (!(request->flags & RRMP_REQUEST_POSITION))
        return;
    request->position.is_known = request->position.is_counted = true; /* else it is not sent */
    request->position.number = request->resume_seq;
    request->position.count = md_rd_u16(rd);
    request->position.kept = md_rd_u8(rd);
    md_rd_u8(rd);
    request->position.digest[0] = md_rd_u64(rd);
    request->position.digest[1] = md_rd_u64(rd);
}

static void position_encode(struct md_wr *wr, const struct rrmp_request *request)
{
    if (!(request->flags & RRMP_REQUEST_POSITION))
        return;
    md_wr_u16(wr, request->position.count);
    md_wr_u8(wr, request->position.kept);
    md_wr_u8(wr, 0);
    md_wr_u64(wr, request->position.digest[0]);
    md_wr_u64(wr, request->position.digest[1]);
}

/* ---- what the bytes may say ---- */

/* Walks the TLVs once, so that the view handed out holds exactly tlv_count whole ones. */
static int service_check(struct rrmp_service *service)
{
    struct rrmp_view rest = service->tlvs;

    if (service->name.length == 0)
        return MD_ERR_MALFORMED;
    for (uint16_t i = 0; i < service->tlv_count; i++) {
        struct rrmp_view value;
        uint8_t type;

        if (!rrmp_tlv_next(&rest, &type, &value))
            return MD_ERR_SHORT;
    }
    service->tlvs.length -= rest.length;
    return MD_OK;
}

/* The view handed out holds exactly `count` keys. */
static int listpart_check(struct rrmp_listpart *part)
{
    struct rrmp_view rest = part->keys;
    struct rrmp_view key;

    for (uint16_t i = 0; i < part->count; i++) {
        if (!rrmp_list_next(&rest, &key))
            return MD_ERR_SHORT;
        if (key.length == 0 || key.length > RRMP_KEY_SIZE_MAX)
            return MD_ERR_MALFORMED;
    }
    part->keys.length -= rest.length;
    return MD_OK;
}

/* FIRST, part 0 and the key go together; only a snapshot has no handle. */
static bool is_image_legal(const struct rrmp_image *image)
{
    bool is_first = image->flags & RRMP_IMAGE_FIRST;
    bool is_snapshot = image->flags & RRMP_IMAGE_SNAPSHOT;

    return is_first == (image->part == 0) && is_first == (image->key.length > 0) &&
           is_snapshot == (image->handle == RRMP_HANDLE_NONE);
}

static bool is_legal(const struct rrmp_record *record)
{
    switch ((enum rrmp_type)record->header.type) {
    case RRMP_REQUEST:
        return record->u.request.id != 0 && record->u.request.key.length > 0 &&
               record->u.request.key.length <= RRMP_KEY_SIZE_MAX &&
               record->u.request.position.kept <= RRMP_POSITION_KEPT;
    case RRMP_CLOSE:
        /* A requester that has forgotten the key names the private stream by its handle. */
        return (record->u.close.key.length > 0 || record->u.close.handle != RRMP_HANDLE_NONE) &&
               record->u.close.key.length <= RRMP_KEY_SIZE_MAX;
    case RRMP_POST:
        return record->u.post.key.length <= RRMP_KEY_SIZE_MAX;
    case RRMP_AUDIT:
        return record->u.audit.id != 0 && record->u.audit.to >= record->u.audit.from;
    case RRMP_BIND:
        return record->u.bind.handle != RRMP_HANDLE_NONE && record->u.bind.key.length > 0;
    case RRMP_IMAGE:
        return is_image_legal(&record->u.image);
    case RRMP_UPDATE:
    case RRMP_STATUS:
    case RRMP_GENERIC:
        return record->u.tick.handle != RRMP_HANDLE_NONE;
    case RRMP_REPLAY:
        return record->u.replay.handle != RRMP_HANDLE_NONE && record->u.replay.request_id != 0;
    case RRMP_REFUSE:
        return record->u.refuse.scope >= RRMP_REFUSE_FINAL &&
               record->u.refuse.scope <= RRMP_REFUSE_LATER;
    default:
        return true;
    }
}

/* ---- whole records ---- */

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
    if (is_tick(out->header.type))
        tick_decode(&rd, out);
    else if (!rrmp_body_read(&rd, out))
        return MD_ERR_UNSUPPORTED;
    if (out->header.type == RRMP_REQUEST)
        position_decode(&rd, &out->u.request);
    if (!md_rd_ok(&rd))
        return MD_ERR_SHORT;
    if (out->header.type == RRMP_SERVICE)
        return service_check(&out->u.service);
    if (out->header.type == RRMP_LISTPART)
        return listpart_check(&out->u.listpart);
    return is_legal(out) ? MD_OK : MD_ERR_MALFORMED;
}

void rrmp_record_encode(struct md_wr *wr, const struct rrmp_record *record)
{
    const struct rrmp_header *header = &record->header;

    md_wr_u8(wr, header->type);
    md_wr_u8(wr, (uint8_t)(RRMP_VERSION << 4 | (header->flags & 0x0f)));
    md_wr_u16(wr, header->svc);
    md_wr_u32(wr, header->svc_seq);
    if (is_tick(header->type))
        tick_encode(wr, record);
    else if (!rrmp_body_write(wr, record))
        wr->failed = true;
    if (header->type == RRMP_REQUEST)
        position_encode(wr, &record->u.request);
}

size_t rrmp_record_size(const struct rrmp_record *record)
{
    const size_t fixed = 64; /* the longest fixed part, header and padding included */

    return fixed +
           (is_tick(record->header.type) ? record->u.tick.message.length : rrmp_body_bytes(record));
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

bool rrmp_list_next(struct rrmp_view *rest, struct rrmp_view *key)
{
    struct md_rd rd = md_rd_init(rest->bytes, rest->length);
    uint16_t length = md_rd_u16(&rd);

    *key = rrmp_rd_view(&rd, length);
    if (!md_rd_ok(&rd)) {
        *key = (struct rrmp_view){ .bytes = NULL, .length = 0 };
        return false;
    }
    rest->length = md_rd_left(&rd);
    rest->bytes = rd.pos;
    return true;
}

const char *rrmp_type_name(uint8_t type)
{
    static const char *const names[64] = {
        [RRMP_INSTANCE] = "INSTANCE", [RRMP_SERVICE] = "SERVICE",   [RRMP_SVCSTATE] = "SVCSTATE",
        [RRMP_GROUP] = "GROUP",       [RRMP_QUERY] = "QUERY",       [RRMP_REQUEST] = "REQUEST",
        [RRMP_CLOSE] = "CLOSE",       [RRMP_POST] = "POST",         [RRMP_GENERICUP] = "GENERICUP",
        [RRMP_GAPQUERY] = "GAPQUERY", [RRMP_AUDIT] = "AUDIT",       [RRMP_SUM] = "SUM",
        [RRMP_DICTREQ] = "DICTREQ",   [RRMP_LISTREQ] = "LISTREQ",   [RRMP_BIND] = "BIND",
        [RRMP_IMAGE] = "IMAGE",       [RRMP_UPDATE] = "UPDATE",     [RRMP_STATUS] = "STATUS",
        [RRMP_GENERIC] = "GENERIC",   [RRMP_UNBIND] = "UNBIND",     [RRMP_REFUSE] = "REFUSE",
        [RRMP_ACK] = "ACK",           [RRMP_GAPITEMS] = "GAPITEMS", [RRMP_AUDITDIFF] = "AUDITDIFF",
        [RRMP_REPLAY] = "REPLAY",     [RRMP_DICTPART] = "DICTPART", [RRMP_LISTPART] = "LISTPART",
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

uint64_t rrmp_replay_session(uint64_t session, uint16_t port)
{
    uint8_t both[10];
    struct md_wr wr = md_wr_init(both, sizeof(both));

    md_wr_u64(&wr, session);
    md_wr_u16(&wr, port);
    return rrmp_key_hash(both, sizeof(both));
}
