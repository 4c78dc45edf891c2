/* list.c - iterators over field lists and element lists; see rmds/rwf_container.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rmds/rwf_container.h"

#include <string.h>

#include "set.h"

/*
 *  u8 flags
 *  [HAS_INFO]      u8 n, n bytes of which the known ones come first
 *  [HAS_SET_DATA]  [HAS_SET_ID: RB15 set id], set data: buf15, or up to the end when nothing
 * follows [HAS_STANDARD]  u16 count, entries
 *
 * Both lists differ in the known bytes of the info and in how an entry starts.
 */

/* Set data and count, the same in both. */
static int list_body(struct md_rd *rd, uint8_t flags, uint16_t *set_id, struct rwf_bytes *set_data,
                     uint16_t *count)
{
    if (flags & RWF_LIST_HAS_SET_DATA) {
        if (flags & RWF_LIST_HAS_SET_ID)
            *set_id = wire_rd_rb15(rd);
        if (flags & RWF_LIST_HAS_STANDARD_DATA)
            *set_data = wire_rd_buf15(rd);
        else
            *set_data = wire_rd_view(rd, md_rd_left(rd));
    }
    if (flags & RWF_LIST_HAS_STANDARD_DATA)
        *count = md_rd_u16(rd);
    return md_rd_ok(rd) ? RWF_OK : RWF_ERR_SHORT;
}

/* ---- field list ---- */

/* Anything but a list of standard data alone. */
static int field_list_decode_rare(struct rwf_bytes bytes, const struct rwf_sets *sets,
                                  struct rwf_field_list *list)
{
    struct md_rd rd = md_rd_init(bytes.data, bytes.length);

    list->info.flags = md_rd_u8(&rd);
    if (list->info.flags & RWF_LIST_HAS_INFO) {
        struct md_rd info = md_rd_sub(&rd, md_rd_u8(&rd));

        list->info.dictionary_id = wire_rd_rb15(&info);
        list->info.list_num = md_rd_u16(&info);
        if (!md_rd_ok(&info))
            return list->err = RWF_ERR_SHORT;
    }
    list->err = list_body(&rd, list->info.flags, &list->info.set_id, &list->set_data, &list->count);
    if (list->err < 0)
        return list->err;
    list->pos = rd.pos;
    list->end = rd.end;
    list->left = list->count;
    if (list->info.flags & RWF_LIST_HAS_SET_DATA) {
        list->set = rwf_sets_find(sets, RWF_SET_FIELDS, list->info.set_id);
        list->set_is_known = list->set != NULL;
        list->set_left = list->set ? list->set->count : 0;
        list->set_pos = list->set_data.data;
    }
    return RWF_OK;
}

int rwf_field_list_decode(struct rwf_bytes bytes, const struct rwf_sets *sets,
                          struct rwf_field_list *list)
{
    const uint8_t *p = bytes.data;

    wire_clear(list, sizeof(*list));
    if (bytes.length >= 3 && p[0] == RWF_LIST_HAS_STANDARD_DATA) {
        list->info.flags = RWF_LIST_HAS_STANDARD_DATA;
        list->count = md_be16(p + 1);
        list->left = list->count;
        list->pos = p + 3;
        list->end = p + bytes.length;
        return RWF_OK;
    }
    if (bytes.length == 0)
        return RWF_OK;
    return field_list_decode_rare(bytes, sets, list);
}

static int field_fail(struct rwf_field_list *list, struct rwf_field *field, int err)
{
    *field = (struct rwf_field){ 0 };
    list->left = 0;
    list->set_left = 0;
    return list->err = err;
}

/* The next value of the set. */
static int field_next_set(struct rwf_field_list *list, struct rwf_field *field)
{
    const uint8_t *end = list->set_data.data + list->set_data.length;
    struct rwf_set_entry entry;

    if (rwf_set_def_next(list->set, RWF_SET_FIELDS, &list->set_entry, &entry) <= 0)
        return field_fail(list, field, RWF_ERR_SHORT);
    int rc = set_content_take(entry.type, &list->set_pos, end, &field->content);
    if (rc < 0)
        return field_fail(list, field, rc);
    field->id = entry.field_id;
    field->type = (uint8_t)rwf_type_base(entry.type);
    list->set_left--;
    return 1;
}

static int field_next_end(struct rwf_field_list *list, struct rwf_field *field)
{
    *field = (struct rwf_field){ 0 };
    return list->err;
}

int rwf_field_list_next(struct rwf_field_list *list, struct rwf_field *field)
{
    const uint8_t *p = list->pos;

    if (__builtin_expect(list->set_left > 0, 0))
        return field_next_set(list, field);
    if (list->left == 0)
        return field_next_end(list, field);
    if (__builtin_expect(list->end - p < 3, 0))
        return field_fail(list, field, RWF_ERR_SHORT);
    field->id = (int16_t)md_be16(p);
    field->type = RWF_TYPE_UNKNOWN;
    p += 2;
    int rc = wire_buf16(&p, list->end, &field->content);
    if (__builtin_expect(rc < 0, 0))
        return field_fail(list, field, rc);
    list->pos = p;
    list->left--;
    return 1;
}

/* `from` up to `to` of the old list goes behind what the new one has. */
static void cut_copy(uint8_t *out, struct rwf_field_cut *cut, const uint8_t *from,
                     const uint8_t *to)
{
    if (out && to > from)
        memcpy(out + cut->length, from, (size_t)(to - from));
    cut->length += (size_t)(to - from);
}

int rwf_field_list_cut(struct rwf_bytes bytes, const struct rwf_field_choice *choice, uint8_t *out,
                       struct rwf_field_cut *cut)
{
    struct rwf_field_list list;
    struct rwf_bytes content;
    const uint8_t *run = bytes.data; /* not copied yet */
    int rc = rwf_field_list_decode(bytes, NULL, &list);

    cut->length = 0;
    cut->left = list.count;
    cut->lost = 0;
    if (rc < 0 || list.info.flags & RWF_LIST_HAS_SET_DATA)
        return rc < 0 ? rc : RWF_ERR_NOT_FOUND;
    const uint64_t *bits = choice->bits;
    const uint64_t flip = choice->keeps ? UINT64_MAX : 0; /* then a bit says that it is lost */
    const uint8_t *p = list.pos;
    const uint8_t *end = list.end;
    for (unsigned i = list.count; i > 0; i--) {
        const uint8_t *entry = p;
        size_t room = (size_t)(end - p);
        if (__builtin_expect(room < 3, 0))
            return RWF_ERR_SHORT;
        uint16_t id = md_be16(p);
        size_t length = p[2];
        if (__builtin_expect(length < OB16_LONG && length + 3 <= room, 1)) {
            p += 3 + length;
        } else {
            const uint8_t *behind = p + 2;
            if ((rc = wire_buf16(&behind, end, &content)) < 0)
                return rc;
            p = behind;
        }
        if (!((bits[id / 64] ^ flip) >> id % 64 & 1))
            continue;
        cut_copy(out, cut, run, entry);
        run = p;
        if (cut->lost < RWF_CUT_IDS)
            cut->ids[cut->lost] = (int16_t)id;
        cut->lost++;
    }
    cut->left -= cut->lost;
    if (cut->lost == 0)
        return RWF_OK;
    cut_copy(out, cut, run, p);
    if (out)
        md_put_be16(out + (list.pos - bytes.data) - 2, (uint16_t)cut->left);
    return RWF_OK;
}

/* ---- element list ---- */

int rwf_element_list_decode(struct rwf_bytes bytes, const struct rwf_sets *sets,
                            struct rwf_element_list *list)
{
    struct md_rd rd = md_rd_init(bytes.data, bytes.length);

    wire_clear(list, sizeof(*list));
    if (bytes.length == 0)
        return RWF_OK;
    list->info.flags = md_rd_u8(&rd);
    if (list->info.flags & RWF_LIST_HAS_INFO) {
        struct md_rd info = md_rd_sub(&rd, md_rd_u8(&rd));

        list->info.list_num = md_rd_u16(&info);
        if (!md_rd_ok(&info))
            return list->err = RWF_ERR_SHORT;
    }
    list->err = list_body(&rd, list->info.flags, &list->info.set_id, &list->set_data, &list->count);
    if (list->err < 0)
        return list->err;
    list->pos = rd.pos;
    list->end = rd.end;
    list->left = list->count;
    if (list->info.flags & RWF_LIST_HAS_SET_DATA) {
        list->set = rwf_sets_find(sets, RWF_SET_ELEMENTS, list->info.set_id);
        list->set_is_known = list->set != NULL;
        list->set_left = list->set ? list->set->count : 0;
        list->set_pos = list->set_data.data;
    }
    return RWF_OK;
}

static int element_fail(struct rwf_element_list *list, struct rwf_element *element, int err)
{
    *element = (struct rwf_element){ 0 };
    list->left = 0;
    list->set_left = 0;
    return list->err = err;
}

static int element_next_set(struct rwf_element_list *list, struct rwf_element *element)
{
    const uint8_t *end = list->set_data.data + list->set_data.length;
    struct rwf_set_entry entry;

    if (rwf_set_def_next(list->set, RWF_SET_ELEMENTS, &list->set_entry, &entry) <= 0)
        return element_fail(list, element, RWF_ERR_SHORT);
    int rc = set_content_take(entry.type, &list->set_pos, end, &element->content);
    if (rc < 0)
        return element_fail(list, element, rc);
    element->name = entry.name;
    element->type = (uint8_t)rwf_type_base(entry.type);
    list->set_left--;
    return 1;
}

int rwf_element_list_next(struct rwf_element_list *list, struct rwf_element *element)
{
    const uint8_t *p = list->pos;

    if (list->set_left > 0)
        return element_next_set(list, element);
    *element = (struct rwf_element){ 0 };
    if (list->left == 0)
        return list->err;
    int rc = wire_buf15(&p, list->end, &element->name);
    if (rc < 0)
        return element_fail(list, element, rc);
    if (p == list->end)
        return element_fail(list, element, RWF_ERR_SHORT);
    element->type = *p++;
    if (element->type != RWF_TYPE_NO_DATA) {
        rc = wire_buf16(&p, list->end, &element->content);
        if (rc < 0)
            return element_fail(list, element, rc);
    }
    list->pos = p;
    list->left--;
    return 1;
}
