/* layout.c - see layout.h: each record's body as a list of fields. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "layout.h"

#include "codec.h"

/*
 * The bodies in the order of their bytes; rrmp/record.h says what they mean. A number is as wide
 * on the wire as its member. A view's length stands before its bytes, which may come later.
 */
enum kind { NUMBER, PAD, LENGTH, VIEW, PADDED_VIEW, NAMED_VIEW, REST_VIEW, ROW_BYTES };

struct rrmp_field {
    uint8_t kind;
    uint8_t width;  /* of a number, a length, some zeroes, one row */
    uint8_t offset; /* of the member in the record's body */
    uint8_t count;  /* of the member that counts the rows */
};

/* clang-format off */
#define AT(type, member) offsetof(struct rrmp_##type, member)
#define NUM(type, member) { NUMBER, sizeof(((struct rrmp_##type *)0)->member), AT(type, member), 0 }
#define ZERO(width) { PAD, width, 0, 0 }
#define LEN8(type, member) { LENGTH, 1, AT(type, member), 0 }
#define LEN16(type, member) { LENGTH, 2, AT(type, member), 0 }
#define BYTES(type, member) { VIEW, 0, AT(type, member), 0 }
#define PADDED(type, member) { PADDED_VIEW, 0, AT(type, member), 0 }
#define NAME(type, member) { NAMED_VIEW, 0, AT(type, member), 0 }
#define REST(type, member) { REST_VIEW, 0, AT(type, member), 0 }
#define ROWS(type, member, size, counter) { ROW_BYTES, size, AT(type, member), AT(type, counter) }

static const struct rrmp_field instance_fields[] = {
    NUM(instance, start_ms), NUM(instance, beat), NUM(instance, interval_ms),
    NUM(instance, state), NUM(instance, handles_high), LEN8(instance, name), ZERO(1),
    NUM(instance, service_count), PADDED(instance, name),
    ROWS(instance, services, 16, service_count),
};
static const struct rrmp_field service_fields[] = {
    NUM(service, version), NUM(service, topic), NUM(service, id), NUM(service, state),
    NUM(service, priority), NUM(service, kind), NUM(service, image_from),
    NUM(service, load_factor), NUM(service, open_limit), NUM(service, open_window),
    NUM(service, features), NUM(service, tlv_count), LEN8(service, name),
    LEN8(service, mirror_group), PADDED(service, name), PADDED(service, mirror_group),
    REST(service, tlvs),
};
static const struct rrmp_field svcstate_fields[] = {
    NUM(svcstate, state), NUM(svcstate, code), NUM(svcstate, service_state),
    NUM(svcstate, has_status), LEN16(svcstate, text), ZERO(2), BYTES(svcstate, text),
};
static const struct rrmp_field group_fields[] = {
    NUM(group, group), NUM(group, merged_into), NUM(group, state), NUM(group, code),
    LEN16(group, text), BYTES(group, text),
};
static const struct rrmp_field query_fields[] = {
    NUM(query, what),
};
static const struct rrmp_field request_fields[] = {
    NUM(request, id), NUM(request, flags), NUM(request, priority_class), ZERO(1),
    NUM(request, priority_count), NUM(request, handle), NUM(request, key_hash),
    NUM(request, resume_seq), LEN16(request, key), LEN16(request, message), BYTES(request, key),
    BYTES(request, message),
};
static const struct rrmp_field close_fields[] = {
    NUM(close, id), NUM(close, handle), NUM(close, key_hash), LEN16(close, key),
    NUM(close, reason), ZERO(1), BYTES(close, key),
};
static const struct rrmp_field post_fields[] = {
    NUM(post, id), NUM(post, handle), NUM(post, flags), LEN16(post, key), NUM(post, key_hash),
    BYTES(post, key), REST(post, message),
};
static const struct rrmp_field gapquery_fields[] = {
    NUM(gapquery, first), NUM(gapquery, last), NUM(gapquery, id),
};
static const struct rrmp_field audit_fields[] = {
    NUM(audit, id), NUM(audit, from), NUM(audit, to), NUM(audit, count), ZERO(2),
    ROWS(audit, rows, 8, count),
};
static const struct rrmp_field sum_fields[] = {
    NUM(sum, newest_id), NUM(sum, count), NUM(sum, key_xor),
};
static const struct rrmp_field dictreq_fields[] = {
    NUM(dictreq, id), NUM(dictreq, filter), NAME(dictreq, name),
};
static const struct rrmp_field listreq_fields[] = {
    NUM(listreq, id), NUM(listreq, from),
};
static const struct rrmp_field bind_fields[] = {
    NUM(bind, handle), NUM(bind, item_seq), NUM(bind, key_hash), NUM(bind, group),
    NUM(bind, state), NUM(bind, code), NUM(bind, tag), LEN16(bind, key), ZERO(2),
    NUM(bind, session), BYTES(bind, key),
};
static const struct rrmp_field image_fields[] = {
    NUM(image, handle), NUM(image, item_seq), NUM(image, key_hash), NUM(image, group),
    NUM(image, state), NUM(image, code), NUM(image, part), NUM(image, flags),
    NUM(image, request_id), NUM(image, tag), LEN16(image, key), ZERO(2), BYTES(image, key),
    REST(image, message),
};
static const struct rrmp_field unbind_fields[] = {
    NUM(unbind, handle), NUM(unbind, item_seq), NUM(unbind, reason),
};
static const struct rrmp_field refuse_fields[] = {
    NUM(refuse, request_id), NUM(refuse, state), NUM(refuse, code), NUM(refuse, scope), ZERO(1),
    NUM(refuse, wait_ms), NUM(refuse, key_hash), LEN16(refuse, text), ZERO(2),
    BYTES(refuse, text),
};
static const struct rrmp_field ack_fields[] = {
    NUM(ack, post_id), ZERO(4), REST(ack, message),
};
static const struct rrmp_field gapitems_fields[] = {
    NUM(gapitems, id), NUM(gapitems, first), NUM(gapitems, last), NUM(gapitems, flags),
    NUM(gapitems, count), ROWS(gapitems, rows, 8, count),
};
static const struct rrmp_field auditdiff_fields[] = {
    NUM(auditdiff, id), NUM(auditdiff, count), ZERO(2), ROWS(auditdiff, rows, 12, count),
};
static const struct rrmp_field replay_fields[] = {
    NUM(replay, handle), NUM(replay, item_seq), NUM(replay, tag), NUM(replay, flags),
    NUM(replay, part), NUM(replay, request_id), ZERO(4), NUM(replay, key_hash),
    REST(replay, message),
};
static const struct rrmp_field dictpart_fields[] = {
    NUM(dictpart, request_id), NUM(dictpart, part), NUM(dictpart, flags), NAME(dictpart, name),
    NAME(dictpart, version), REST(dictpart, message),
};
static const struct rrmp_field listpart_fields[] = {
    NUM(listpart, id), NUM(listpart, next), NUM(listpart, count), ZERO(2), REST(listpart, keys),
};
#define LAYOUT(type) { type##_fields, sizeof(type##_fields) / sizeof(type##_fields[0]) }
/* clang-format on */

struct layout {
    const struct rrmp_field *fields;
    size_t count;
};

static struct layout layout_of(uint8_t type)
{
    static const struct layout layouts[] = {
        [RRMP_INSTANCE] = LAYOUT(instance), [RRMP_SERVICE] = LAYOUT(service),
        [RRMP_SVCSTATE] = LAYOUT(svcstate), [RRMP_GROUP] = LAYOUT(group),
        [RRMP_QUERY] = LAYOUT(query),       [RRMP_REQUEST] = LAYOUT(request),
        [RRMP_CLOSE] = LAYOUT(close),       [RRMP_POST] = LAYOUT(post),
        [RRMP_GAPQUERY] = LAYOUT(gapquery), [RRMP_AUDIT] = LAYOUT(audit),
        [RRMP_SUM] = LAYOUT(sum),           [RRMP_DICTREQ] = LAYOUT(dictreq),
        [RRMP_LISTREQ] = LAYOUT(listreq),   [RRMP_BIND] = LAYOUT(bind),
        [RRMP_IMAGE] = LAYOUT(image),       [RRMP_UNBIND] = LAYOUT(unbind),
        [RRMP_REFUSE] = LAYOUT(refuse),     [RRMP_ACK] = LAYOUT(ack),
        [RRMP_GAPITEMS] = LAYOUT(gapitems), [RRMP_AUDITDIFF] = LAYOUT(auditdiff),
        [RRMP_REPLAY] = LAYOUT(replay),     [RRMP_DICTPART] = LAYOUT(dictpart),
        [RRMP_LISTPART] = LAYOUT(listpart),
    };

    return type < sizeof(layouts) / sizeof(layouts[0]) ? layouts[type] : (struct layout){ 0 };
}

/* ---- one field ---- */

static void number_read(struct md_rd *rd, uint8_t width, void *member)
{
    if (width == 1)
        *(uint8_t *)member = md_rd_u8(rd);
    else if (width == 2)
        *(uint16_t *)member = md_rd_u16(rd);
    else if (width == 4)
        *(uint32_t *)member = md_rd_u32(rd);
    else
        *(uint64_t *)member = md_rd_u64(rd);
}

static void number_write(struct md_wr *wr, uint8_t width, const void *member)
{
    if (width == 1)
        md_wr_u8(wr, *(const uint8_t *)member);
    else if (width == 2)
        md_wr_u16(wr, *(const uint16_t *)member);
    else if (width == 4)
        md_wr_u32(wr, *(const uint32_t *)member);
    else
        md_wr_u64(wr, *(const uint64_t *)member);
}

static size_t rows_length(const struct rrmp_field *field, const uint8_t *body)
{
    const void *count = body + field->count;

    return (size_t)field->width * *(const uint16_t *)count;
}

static void field_read(struct md_rd *rd, const struct rrmp_field *field, uint8_t *body)
{
    void *member = body + field->offset;
    struct rrmp_view *view = member;

    switch ((enum kind)field->kind) {
    case NUMBER:
        number_read(rd, field->width, member);
        return;
    case PAD:
        md_rd_bytes(rd, field->width);
        return;
    case LENGTH:
        view->length = field->width == 1 ? md_rd_u8(rd) : md_rd_u16(rd);
        return;
    case VIEW:
        *view = rrmp_rd_view(rd, view->length);
        return;
    case PADDED_VIEW:
        *view = rrmp_rd_padded(rd, view->length);
        return;
    case NAMED_VIEW:
        *view = rrmp_rd_name(rd);
        return;
    case REST_VIEW:
        *view = rrmp_rd_rest(rd);
        return;
    case ROW_BYTES:
        *(const uint8_t **)member = md_rd_bytes(rd, rows_length(field, body));
        return;
    }
}

static void length_write(struct md_wr *wr, uint8_t width, size_t length)
{
    if (width == 2) {
        rrmp_wr_length16(wr, length);
        return;
    }
    if (length > RRMP_NAME_MAX)
        wr->failed = true;
    md_wr_u8(wr, (uint8_t)length);
}

static void field_write(struct md_wr *wr, const struct rrmp_field *field, const uint8_t *body)
{
    static const uint8_t zeroes[4];
    const void *member = body + field->offset;
    const struct rrmp_view *view = member;

    switch ((enum kind)field->kind) {
    case NUMBER:
        number_write(wr, field->width, member);
        return;
    case PAD:
        md_wr_bytes(wr, zeroes, field->width);
        return;
    case LENGTH:
        length_write(wr, field->width, view->length);
        return;
    case VIEW:
    case REST_VIEW:
        rrmp_wr_view(wr, *view);
        return;
    case PADDED_VIEW:
        rrmp_wr_padded(wr, *view);
        return;
    case NAMED_VIEW:
        rrmp_wr_name(wr, *view);
        return;
    case ROW_BYTES:
        rrmp_wr_view(wr, (struct rrmp_view){ .bytes = *(const uint8_t *const *)member,
                                             .length = rows_length(field, body) });
        return;
    }
}

/* ---- a body ---- */

bool rrmp_body_read(struct md_rd *rd, struct rrmp_record *record)
{
    struct layout layout = layout_of(record->header.type);
    void *body = &record->u;

    for (size_t i = 0; i < layout.count; i++)
        field_read(rd, &layout.fields[i], body);
    return layout.count > 0;
}

bool rrmp_body_write(struct md_wr *wr, const struct rrmp_record *record)
{
    struct layout layout = layout_of(record->header.type);
    const void *body = &record->u;

    for (size_t i = 0; i < layout.count; i++)
        field_write(wr, &layout.fields[i], body);
    return layout.count > 0;
}

size_t rrmp_body_bytes(const struct rrmp_record *record)
{
    struct layout layout = layout_of(record->header.type);
    const uint8_t *body = (const uint8_t *)(const void *)&record->u;
    size_t bytes = 0;

    for (size_t i = 0; i < layout.count; i++) {
        const struct rrmp_field *field = &layout.fields[i];
        const void *member = body + field->offset;

        if (field->kind == ROW_BYTES)
            bytes += rows_length(field, body);
        else if (field->kind != NUMBER && field->kind != PAD && field->kind != LENGTH)
            bytes += ((const struct rrmp_view *)member)->length;
    }
    return bytes;
}
