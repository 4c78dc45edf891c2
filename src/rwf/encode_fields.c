/* encode_fields.c - field lists. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "encode_list.h"

/* Longest entry around a primitive: id, length, content; and the eight bytes a store touches. */
#define FIELD_ROOM (2 + 1 + WIRE_PRIMITIVE_MAX + 8)

int rwf_field_list_start_set(struct rwf_encoder *enc, const struct rwf_field_list_info *info,
                             const struct rwf_sets *sets, const struct rwf_bytes *set_data)
{
    struct md_wr wr = encoder_writer(enc);

    if (!encoder_push(enc, LEVEL_FIELD_LIST, RWF_TYPE_FIELD_LIST))
        return enc->err;
    if (info->dictionary_id > RB15_MAX || info->set_id > RB15_MAX)
        return encoder_fail(enc, RWF_ERR_RANGE);
    md_wr_u8(&wr, info->flags);
    if (info->flags & RWF_LIST_HAS_INFO) {
        md_wr_u8(&wr, info->dictionary_id < 0x80 ? 3 : 4);
        wire_wr_rb15(&wr, info->dictionary_id);
        md_wr_u16(&wr, info->list_num);
    }
    return list_begin(enc, &wr, info->flags, info->set_id, sets, set_data);
}

int rwf_field_list_start(struct rwf_encoder *enc, const struct rwf_field_list_info *info)
{
    static const struct rwf_field_list_info standard = { .flags = RWF_LIST_HAS_STANDARD_DATA };

    return rwf_field_list_start_set(enc, info ? info : &standard, NULL, NULL);
}

int rwf_field_list_finish(struct rwf_encoder *enc)
{
    return list_finish(enc, LEVEL_FIELD_LIST);
}

int rwf_field_add_bytes(struct rwf_encoder *enc, int16_t id, struct rwf_bytes content)
{
    int place = list_place(enc, LEVEL_FIELD_LIST);

    if (place < 0)
        return place;
    if (place > 0)
        return list_add_set_bytes(enc, RWF_SET_FIELDS, id, (struct rwf_bytes){ 0 }, content);
    if (content.length > OB16_MAX)
        return encoder_fail(enc, RWF_ERR_RANGE);
    struct md_wr wr = encoder_writer(enc);
    md_wr_u16(&wr, (uint16_t)id);
    wire_wr_buf16(&wr, content);
    return list_entry_written(enc, RWF_OK, &wr);
}

int rwf_field_add(struct rwf_encoder *enc, int16_t id, const struct rwf_value *value)
{
    int place = list_place(enc, LEVEL_FIELD_LIST);

    if (place < 0)
        return place;
    if (place > 0)
        return list_add_set_value(enc, RWF_SET_FIELDS, id, (struct rwf_bytes){ 0 }, value);
    struct md_wr wr = encoder_writer(enc);
    md_wr_u16(&wr, (uint16_t)id);
    return list_entry_written(enc, list_write_value(&wr, value), &wr);
}

/*
 * The frequent types have a short way when there is room to spare and no set data: id, a length
 * byte, the content.
 */
static inline uint8_t *field_place(struct rwf_encoder *enc, struct rwf_level **top)
{
    struct rwf_level *level = &enc->level[enc->depth];

    *top = level;
    if (level->phase == PHASE_FIELDS && enc->end - enc->pos >= FIELD_ROOM && enc->err == RWF_OK &&
        level->count < UINT16_MAX)
        return enc->pos;
    return NULL;
}

/* Place and level are passed on: after a store of bytes the compiler has to fetch them again. */
static inline int field_done(struct rwf_encoder *enc, struct rwf_level *level, uint8_t *p,
                             int16_t id, unsigned length)
{
    enc->pos = p + 3 + length;
    level->count++;
    md_put_be16(p, (uint16_t)id);
    p[2] = (uint8_t)length;
    return RWF_OK;
}

/* The long way, kept apart so that the short one needs no stack. `v` is the value of that type. */
static __attribute__((noinline)) int field_rare(struct rwf_encoder *enc, int16_t id, unsigned type,
                                                const void *v, uint64_t number)
{
    struct rwf_value value = { .type = (uint16_t)type, .u = number };

    if (type == RWF_TYPE_REAL)
        value.real = *(const struct rwf_real *)v;
    else if (type == RWF_TYPE_DATE)
        value.date = *(const struct rwf_date *)v;
    else if (type == RWF_TYPE_TIME)
        value.time = *(const struct rwf_time *)v;
    else if (type == RWF_TYPE_DATETIME)
        value.datetime = *(const struct rwf_datetime *)v;
    return rwf_field_add(enc, id, &value);
}

int rwf_field_add_int(struct rwf_encoder *enc, int16_t id, int64_t value)
{
    struct rwf_level *level;
    uint8_t *p = field_place(enc, &level);

    if (!p)
        return field_rare(enc, id, RWF_TYPE_INT, NULL, (uint64_t)value);
    unsigned length = wire_int_size(value);
    wire_store8(p + 3, (uint64_t)value, length);
    return field_done(enc, level, p, id, length);
}

int rwf_field_add_uint(struct rwf_encoder *enc, int16_t id, uint64_t value)
{
    struct rwf_level *level;
    uint8_t *p = field_place(enc, &level);

    if (!p)
        return field_rare(enc, id, RWF_TYPE_UINT, NULL, value);
    unsigned length = wire_uint_size(value);
    wire_store8(p + 3, value, length);
    return field_done(enc, level, p, id, length);
}

int rwf_field_add_real(struct rwf_encoder *enc, int16_t id, const struct rwf_real *value)
{
    struct rwf_level *level;
    uint8_t *p = field_place(enc, &level);

    if (!p || value->hint > RWF_HINT_FRACTION_256)
        return field_rare(enc, id, RWF_TYPE_REAL, value, 0);
    int64_t number = value->value;
    unsigned length = wire_int_size(number);
    p[3] = value->hint;
    wire_store8(p + 4, (uint64_t)number, length);
    return field_done(enc, level, p, id, 1 + length);
}

int rwf_field_add_enum(struct rwf_encoder *enc, int16_t id, uint16_t value)
{
    struct rwf_level *level;
    uint8_t *p = field_place(enc, &level);

    if (!p)
        return field_rare(enc, id, RWF_TYPE_ENUM, NULL, value);
    unsigned length = wire_uint_size(value);
    wire_store8(p + 3, value, length);
    return field_done(enc, level, p, id, length);
}

int rwf_field_add_date(struct rwf_encoder *enc, int16_t id, const struct rwf_date *value)
{
    struct rwf_level *level;
    uint8_t *p = field_place(enc, &level);

    if (!p)
        return field_rare(enc, id, RWF_TYPE_DATE, value, 0);
    wire_put_date(p + 3, value);
    return field_done(enc, level, p, id, 4);
}

int rwf_field_add_time(struct rwf_encoder *enc, int16_t id, const struct rwf_time *value)
{
    struct rwf_level *level;
    uint8_t *p = field_place(enc, &level);

    if (!p)
        return field_rare(enc, id, RWF_TYPE_TIME, value, 0);
    unsigned length = wire_time_size(value);
    wire_put_time(p + 3, length, value);
    return field_done(enc, level, p, id, length);
}

int rwf_field_add_datetime(struct rwf_encoder *enc, int16_t id, const struct rwf_datetime *value)
{
    struct rwf_level *level;
    uint8_t *p = field_place(enc, &level);

    if (!p)
        return field_rare(enc, id, RWF_TYPE_DATETIME, value, 0);
    unsigned length = wire_time_size(&value->time);
    wire_put_date(p + 3, &value->date);
    wire_put_time(p + 7, length, &value->time);
    return field_done(enc, level, p, id, 4 + length);
}

int rwf_field_start(struct rwf_encoder *enc, int16_t id, unsigned type)
{
    int place = list_place(enc, LEVEL_FIELD_LIST);

    if (place < 0)
        return place;
    if (place > 0)
        return list_start_set_entry(enc, RWF_SET_FIELDS, id, (struct rwf_bytes){ 0 }, type);
    struct md_wr wr = encoder_writer(enc);
    md_wr_u16(&wr, (uint16_t)id);
    if (encoder_written(enc, &wr) < 0)
        return enc->err;
    return list_start_entry(enc, type);
}

int rwf_field_finish(struct rwf_encoder *enc)
{
    return list_finish_entry(enc, LEVEL_FIELD_LIST);
}
