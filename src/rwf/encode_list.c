/* encode_list.c - see encode_list.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "encode_list.h"

#define COUNT_SIZE 2

/* ---- the head of a list: set data, then the count of the standard entries ---- */

static uint8_t standard_phase(enum level_kind kind)
{
    return kind == LEVEL_FIELD_LIST ? PHASE_FIELDS : PHASE_STANDARD;
}

/* Room for the count is set aside while the set is written; now it takes its place. */
static void begin_standard(struct rwf_encoder *enc, struct rwf_level *level)
{
    encoder_release(enc, COUNT_SIZE);
    level->count_at = enc->pos;
    enc->pos += COUNT_SIZE;
    level->phase = standard_phase(level->kind);
}

/* The last value of the set is written. */
static int end_set(struct rwf_encoder *enc, struct rwf_level *level)
{
    if (!level->has_standard) {
        level->phase = PHASE_NO_MORE;
        return RWF_OK;
    }
    if (encoder_close_length15(enc, level->set_length_at) < 0)
        return enc->err;
    begin_standard(enc, level);
    return RWF_OK;
}

static int write_set_data(struct rwf_encoder *enc, struct rwf_level *level, struct rwf_bytes data)
{
    struct md_wr wr = encoder_writer(enc);

    if (data.length > RB15_MAX && level->has_standard)
        return encoder_fail(enc, RWF_ERR_RANGE);
    if (level->has_standard)
        wire_wr_buf15(&wr, data);
    else
        wire_wr_view(&wr, data);
    if (encoder_written(enc, &wr) < 0)
        return enc->err;
    if (level->has_standard)
        begin_standard(enc, level);
    else
        level->phase = PHASE_NO_MORE;
    return RWF_OK;
}

static int begin_set(struct rwf_encoder *enc, struct rwf_level *level, uint16_t set_id,
                     const struct rwf_sets *sets, const struct rwf_bytes *set_data)
{
    if (set_data && set_data->data)
        return write_set_data(enc, level, *set_data);
    level->set = rwf_sets_find(
        sets, level->kind == LEVEL_FIELD_LIST ? RWF_SET_FIELDS : RWF_SET_ELEMENTS, set_id);
    if (!level->set)
        return encoder_fail(enc, RWF_ERR_NOT_FOUND);
    level->set_left = level->set->count;
    level->phase = PHASE_SET;
    if (level->has_standard && encoder_open_length15(enc, &level->set_length_at) < 0)
        return enc->err;
    return level->set_left == 0 ? end_set(enc, level) : RWF_OK;
}

int list_begin(struct rwf_encoder *enc, struct md_wr *wr, uint8_t flags, uint16_t set_id,
               const struct rwf_sets *sets, const struct rwf_bytes *set_data)
{
    struct rwf_level *level = encoder_top(enc);

    if ((flags & RWF_LIST_HAS_SET_DATA) && (flags & RWF_LIST_HAS_SET_ID))
        wire_wr_rb15(wr, set_id);
    if (encoder_written(enc, wr) < 0)
        return enc->err;
    level->has_standard = flags & RWF_LIST_HAS_STANDARD_DATA;
    level->phase = PHASE_NO_MORE;
    if (level->has_standard && encoder_reserve(enc, COUNT_SIZE) < 0)
        return enc->err;
    if (flags & RWF_LIST_HAS_SET_DATA)
        return begin_set(enc, level, set_id, sets, set_data);
    if (level->has_standard)
        begin_standard(enc, level);
    return RWF_OK;
}

int list_finish(struct rwf_encoder *enc, enum level_kind kind)
{
    struct rwf_level *level = encoder_top(enc);

    if (enc->err < 0)
        return enc->err;
    if (level->kind != kind ||
        (level->phase != standard_phase(kind) && level->phase != PHASE_NO_MORE))
        return encoder_fail(enc, RWF_ERR_STATE);
    if (level->phase != PHASE_NO_MORE)
        md_put_be16(level->count_at, (uint16_t)level->count);
    return encoder_pop(enc, kind);
}

/* ---- values of set data ---- */

/*
 * The two top bits of the first byte say how many follow: 1..4, or 2, 4, 6, 8. A blank has the
 * fewest, as real decoders read it.
 */
static int write_real_rb(struct md_wr *wr, unsigned type, const struct rwf_value *value)
{
    bool wide = type == RWF_TYPE_REAL_8RB;
    unsigned need = value->is_blank ? 1 : wire_int_size(value->real.value);
    unsigned step = wide ? (need + 1) / 2 - 1 : need - 1;
    unsigned width = wide ? 2 * step + 2 : need;
    uint8_t hint = value->is_blank ? 0x20 : value->real.hint;
    uint8_t bytes[8];

    if (step > 3 || (!value->is_blank && value->real.hint > RWF_HINT_FRACTION_256))
        return RWF_ERR_RANGE;
    wire_store8(bytes, value->is_blank ? 0 : (uint64_t)value->real.value, width);
    md_wr_u8(wr, (uint8_t)(step << 6 | hint));
    md_wr_bytes(wr, bytes, width);
    return RWF_OK;
}

/* Content in the form that the definition's type wants. */
static int write_set_value(struct md_wr *wr, unsigned type, const struct rwf_value *value)
{
    uint8_t bytes[WIRE_PRIMITIVE_MAX];
    unsigned width = wire_set_width(type);
    size_t length;

    if (rwf_type_base(type) != value->type)
        return RWF_ERR_STATE;
    if (width > 0) {
        int rc = wire_put_fixed(value->type, width, value, bytes);
        if (rc < 0)
            return rc;
        md_wr_bytes(wr, bytes, width);
        return RWF_OK;
    }
    if (type == RWF_TYPE_REAL_4RB || type == RWF_TYPE_REAL_8RB)
        return write_real_rb(wr, type, value);
    if (wire_set_has_length8(type)) {
        int rc = rwf_value_encode(value, bytes, sizeof(bytes), &length);
        if (rc < 0)
            return rc;
        md_wr_u8(wr, (uint8_t)length);
        md_wr_bytes(wr, bytes, length);
        return RWF_OK;
    }
    if (value->type == RWF_TYPE_ENUM) {
        int rc = rwf_value_encode(value, bytes, sizeof(bytes), &length);
        if (rc < 0)
            return rc;
        wire_wr_buf16(wr, rwf_bytes(bytes, length));
        return RWF_OK;
    }
    if (value->bytes.length > OB16_MAX)
        return RWF_ERR_RANGE;
    wire_wr_buf16(wr, value->bytes);
    return RWF_OK;
}

/* The next entry of the definition, when it is the one the caller names. */
static int take_set_entry(struct rwf_encoder *enc, enum rwf_set_kind kind, int16_t field_id,
                          struct rwf_bytes name, struct rwf_set_entry *entry, size_t *behind)
{
    struct rwf_level *level = encoder_top(enc);

    *behind = level->set_entry;
    if (rwf_set_def_next(level->set, kind, behind, entry) <= 0)
        return encoder_fail(enc, RWF_ERR_STATE);
    if (kind == RWF_SET_FIELDS ? entry->field_id != field_id : !rwf_bytes_equal(entry->name, name))
        return encoder_fail(enc, RWF_ERR_STATE);
    return RWF_OK;
}

static int set_entry_written(struct rwf_encoder *enc, size_t behind)
{
    struct rwf_level *level = encoder_top(enc);

    level->set_entry = behind;
    level->set_left--;
    return level->set_left == 0 ? end_set(enc, level) : RWF_OK;
}

int list_add_set_value(struct rwf_encoder *enc, enum rwf_set_kind kind, int16_t field_id,
                       struct rwf_bytes name, const struct rwf_value *value)
{
    struct rwf_set_entry entry;
    size_t behind;

    if (take_set_entry(enc, kind, field_id, name, &entry, &behind) < 0)
        return enc->err;
    struct md_wr wr = encoder_writer(enc);
    int rc = write_set_value(&wr, entry.type, value);
    if (rc < 0)
        return encoder_fail(enc, rc);
    if (encoder_written(enc, &wr) < 0)
        return enc->err;
    return set_entry_written(enc, behind);
}

int list_add_set_bytes(struct rwf_encoder *enc, enum rwf_set_kind kind, int16_t field_id,
                       struct rwf_bytes name, struct rwf_bytes content)
{
    struct rwf_set_entry entry;
    struct rwf_value value;
    size_t behind;

    if (take_set_entry(enc, kind, field_id, name, &entry, &behind) < 0)
        return enc->err;
    int rc = rwf_value_decode(entry.type, content, &value);
    if (rc < 0)
        return encoder_fail(enc, rc);
    return list_add_set_value(enc, kind, field_id, name, &value);
}

/* ---- an entry in place ---- */

int list_start_set_entry(struct rwf_encoder *enc, enum rwf_set_kind kind, int16_t field_id,
                         struct rwf_bytes name, unsigned type)
{
    struct rwf_level *level = encoder_top(enc);
    struct rwf_set_entry entry;

    if (take_set_entry(enc, kind, field_id, name, &entry, &level->set_entry) < 0)
        return enc->err;
    if (entry.type != type || (type != RWF_TYPE_ARRAY && !rwf_type_is_container(type)))
        return encoder_fail(enc, RWF_ERR_STATE);
    level->phase = PHASE_SET_ENTRY;
    level->container = (uint16_t)type;
    level->slot_is_open = true;
    return encoder_open_length16(enc, &level->length_at);
}

int list_start_entry(struct rwf_encoder *enc, unsigned type)
{
    struct rwf_level *level = encoder_top(enc);

    level->count++;
    level->phase = PHASE_STANDARD_ENTRY;
    level->container = (uint16_t)type;
    level->slot_is_open = true;
    return encoder_open_length16(enc, &level->length_at);
}

int list_finish_entry(struct rwf_encoder *enc, enum level_kind kind)
{
    struct rwf_level *level = encoder_top(enc);

    if (enc->err < 0)
        return enc->err;
    if (level->kind != kind)
        return encoder_fail(enc, RWF_ERR_STATE);
    level->slot_is_open = false;
    if (level->phase == PHASE_STANDARD_ENTRY) {
        level->phase = standard_phase(kind);
        return encoder_close_length16(enc, level->length_at);
    }
    if (level->phase != PHASE_SET_ENTRY)
        return encoder_fail(enc, RWF_ERR_STATE);
    level->phase = PHASE_SET;
    if (encoder_close_length16(enc, level->length_at) < 0)
        return enc->err;
    return set_entry_written(enc, level->set_entry);
}

int list_place(struct rwf_encoder *enc, enum level_kind kind)
{
    const struct rwf_level *level = encoder_top(enc);

    if (enc->err < 0)
        return enc->err;
    if (level->kind == kind && level->phase == PHASE_SET)
        return 1;
    if (level->kind != kind || level->phase != standard_phase(kind))
        return encoder_fail(enc, RWF_ERR_STATE);
    if (level->count >= UINT16_MAX)
        return encoder_fail(enc, RWF_ERR_RANGE);
    return RWF_OK;
}

/* ---- values of standard data ---- */

/*
 * OB16 length and content. A state may be long, so it is encoded behind the longest length and
 * moved down; the others pass through a few bytes of scratch.
 */
int list_write_value(struct md_wr *wr, const struct rwf_value *value)
{
    uint8_t scratch[WIRE_PRIMITIVE_MAX + 4];
    size_t left = md_wr_left(wr);
    size_t length;

    if (value->is_blank || value->type >= RWF_TYPE_ARRAY) {
        struct rwf_bytes content = value->is_blank ? (struct rwf_bytes){ 0 } : value->bytes;

        if (content.length > OB16_MAX)
            return RWF_ERR_RANGE;
        wire_wr_buf16(wr, content);
        return RWF_OK;
    }
    if (value->type != RWF_TYPE_STATE) {
        int rc = rwf_value_encode(value, scratch, sizeof(scratch), &length);
        wire_wr_buf16(wr, rwf_bytes(scratch, length));
        return rc;
    }
    if (left < 3)
        return RWF_ERR_FULL;
    uint8_t *at = wr->pos + 3;
    int rc = rwf_value_encode(value, at, left - 3, &length);
    if (rc < 0 || length > OB16_MAX)
        return rc < 0 ? rc : RWF_ERR_RANGE;
    wire_wr_ob16(wr, length);
    uint8_t *content_at = md_wr_take(wr, length);
    if (content_at)
        memmove(content_at, at, length);
    return RWF_OK;
}

int list_entry_written(struct rwf_encoder *enc, int rc, const struct md_wr *wr)
{
    if (rc < 0)
        return encoder_fail(enc, rc);
    if (encoder_written(enc, wr) < 0)
        return enc->err;
    encoder_top(enc)->count++;
    return RWF_OK;
}
