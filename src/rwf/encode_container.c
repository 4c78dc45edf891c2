/* encode_container.c - maps, vectors, series, filter lists and arrays. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "encoder.h"

/* The four heads and their entries stand as tables in container.c. */
#define COUNT_SIZE          2
#define ENTRY_ACTION_MAX    0x0f
#define ENTRY_FLAGS_SHIFT   4
#define ENTRY_HAS_PERM      1
#define ENTRY_HAS_CONTAINER 2

/* The parts that map, vector and series have in common. */
struct head {
    uint16_t container;
    bool has_set_defs;
    bool has_summary;
    bool has_hint;
    uint32_t hint;
    struct rwf_bytes set_defs;
    struct rwf_bytes summary;
};

static unsigned rb30_size(uint32_t value)
{
    return value < 1u << 6 ? 1 : value < 1u << 14 ? 2 : value < 1u << 22 ? 3 : 4;
}

static bool container_is_legal(unsigned container)
{
    return container >= CONTAINER_BASE && container <= CONTAINER_BASE + UINT8_MAX;
}

/* Hint and count: behind the summary, in room that was set aside. */
static void begin_entries(struct rwf_encoder *enc, struct rwf_level *level)
{
    encoder_release(enc, COUNT_SIZE + (level->has_hint ? rb30_size(level->hint) : 0));
    if (level->has_hint) {
        struct md_wr wr = encoder_writer(enc);

        wire_wr_rb30(&wr, level->hint);
        enc->pos = wr.pos;
    }
    level->count_at = enc->pos;
    enc->pos += COUNT_SIZE;
    level->phase = PHASE_ENTRIES;
    level->slot_is_open = false;
}

/* In the reserved mode set definitions have the long form, as everything nested. */
static void write_set_defs(struct md_wr *wr, struct rwf_bytes set_defs, bool reserved)
{
    if (!reserved || set_defs.length > RB15_MAX) {
        wire_wr_buf15(wr, set_defs);
        return;
    }
    md_wr_u16(wr, (uint16_t)(0x8000u | set_defs.length));
    wire_wr_view(wr, set_defs);
}

/* From the set definitions on; `wr` holds what stands before them. */
static int begin_head(struct rwf_encoder *enc, struct rwf_level *level, struct md_wr *wr,
                      const struct head *head)
{
    bool in_place = head->has_summary && !head->summary.data;

    if (!container_is_legal(head->container) || head->set_defs.length > RB15_MAX ||
        head->summary.length > RB15_MAX || (head->has_hint && head->hint > RB30_MAX))
        return encoder_fail(enc, RWF_ERR_RANGE);
    if (head->has_set_defs)
        write_set_defs(wr, head->set_defs, enc->lengths == RWF_LENGTHS_RESERVED);
    if (head->has_summary && !in_place)
        wire_wr_buf15(wr, head->summary);
    if (encoder_written(enc, wr) < 0)
        return enc->err;
    level->container = head->container;
    level->has_hint = head->has_hint;
    level->hint = head->hint;
    if (encoder_reserve(enc, COUNT_SIZE + (head->has_hint ? rb30_size(head->hint) : 0)) < 0)
        return enc->err;
    if (!in_place) {
        begin_entries(enc, level);
        return RWF_OK;
    }
    level->phase = PHASE_SUMMARY;
    level->slot_is_open = head->container != RWF_TYPE_NO_DATA;
    return encoder_open_length15(enc, &level->length_at);
}

int rwf_summary_finish(struct rwf_encoder *enc)
{
    struct rwf_level *level = encoder_top(enc);

    if (enc->err < 0)
        return enc->err;
    if (level->phase != PHASE_SUMMARY)
        return encoder_fail(enc, RWF_ERR_STATE);
    if (encoder_close_length15(enc, level->length_at) < 0)
        return enc->err;
    begin_entries(enc, level);
    return RWF_OK;
}

static int finish_container(struct rwf_encoder *enc, enum level_kind kind)
{
    struct rwf_level *level = encoder_top(enc);

    if (enc->err < 0)
        return enc->err;
    if (level->kind != kind || level->phase != PHASE_ENTRIES)
        return encoder_fail(enc, RWF_ERR_STATE);
    md_put_be16(level->count_at, (uint16_t)level->count);
    return encoder_pop(enc, kind);
}

/* ---- entries ---- */

/* The level, when an entry may start now. */
static struct rwf_level *entry_place(struct rwf_encoder *enc, enum level_kind kind,
                                     unsigned count_max)
{
    struct rwf_level *level = encoder_top(enc);

    if (enc->err < 0)
        return NULL;
    if (level->kind != kind || level->phase != PHASE_ENTRIES) {
        encoder_fail(enc, RWF_ERR_STATE);
        return NULL;
    }
    if (level->count >= count_max) {
        encoder_fail(enc, RWF_ERR_RANGE);
        return NULL;
    }
    return level;
}

/* The head of an entry is written; its data follows in place, if it has any. */
static int begin_entry(struct rwf_encoder *enc, struct rwf_level *level, const struct md_wr *wr,
                       bool has_data)
{
    if (encoder_written(enc, wr) < 0)
        return enc->err;
    level->count++;
    level->phase = PHASE_ENTRY;
    level->has_length = has_data;
    level->slot_is_open = has_data;
    return has_data ? encoder_open_length16(enc, &level->length_at) : RWF_OK;
}

static int finish_entry(struct rwf_encoder *enc, enum level_kind kind)
{
    struct rwf_level *level = encoder_top(enc);

    if (enc->err < 0)
        return enc->err;
    if (level->kind != kind || level->phase != PHASE_ENTRY)
        return encoder_fail(enc, RWF_ERR_STATE);
    level->phase = PHASE_ENTRIES;
    level->slot_is_open = false;
    return level->has_length ? encoder_close_length16(enc, level->length_at) : RWF_OK;
}

/* A whole entry with data as given. */
static int write_entry(struct rwf_encoder *enc, struct rwf_level *level, struct md_wr *wr,
                       bool has_data, struct rwf_bytes data)
{
    if (data.length > OB16_MAX || (!has_data && data.length > 0))
        return encoder_fail(enc, RWF_ERR_RANGE);
    if (has_data)
        wire_wr_buf16(wr, data);
    if (encoder_written(enc, wr) < 0)
        return enc->err;
    level->count++;
    return RWF_OK;
}

/* Action, flags and permission data; the container's flag says that some entry has them. */
static void write_action(struct md_wr *wr, unsigned action, unsigned flags)
{
    md_wr_u8(wr, (uint8_t)(flags << ENTRY_FLAGS_SHIFT | action));
}

/* ---- map ---- */

int rwf_map_start(struct rwf_encoder *enc, const struct rwf_map_info *info)
{
    struct rwf_level *level = encoder_push(enc, LEVEL_MAP, RWF_TYPE_MAP);
    struct md_wr wr = encoder_writer(enc);
    struct head head = {
        .container = info->container,
        .has_set_defs = info->flags & RWF_MAP_HAS_SET_DEFS,
        .has_summary = info->flags & RWF_MAP_HAS_SUMMARY,
        .has_hint = info->flags & RWF_MAP_HAS_HINT,
        .hint = info->hint,
        .set_defs = info->set_defs,
        .summary = info->summary,
    };

    if (!level)
        return enc->err;
    level->flags_at = enc->pos;
    level->item_type = info->key_type;
    md_wr_u8(&wr, info->flags);
    md_wr_u8(&wr, info->key_type);
    md_wr_u8(&wr, (uint8_t)(info->container - CONTAINER_BASE));
    if (info->flags & RWF_MAP_HAS_KEY_FIELD_ID)
        md_wr_u16(&wr, (uint16_t)info->key_field_id);
    return begin_head(enc, level, &wr, &head);
}

int rwf_map_finish(struct rwf_encoder *enc)
{
    return finish_container(enc, LEVEL_MAP);
}

/* Everything of an entry before its data. NULL: not now. */
static struct rwf_level *map_entry_head(struct rwf_encoder *enc, const struct rwf_map_entry *entry,
                                        struct md_wr *wr, bool *has_data)
{
    struct rwf_level *level = entry_place(enc, LEVEL_MAP, UINT16_MAX);

    *wr = encoder_writer(enc);
    if (!level)
        return NULL;
    if (entry->action > ENTRY_ACTION_MAX || entry->key.length == 0 ||
        entry->key.length > RB15_MAX || entry->perm.length > RB15_MAX) {
        encoder_fail(enc, RWF_ERR_RANGE);
        return NULL;
    }
    write_action(wr, entry->action, entry->has_perm ? ENTRY_HAS_PERM : 0);
    if (entry->has_perm) {
        level->flags_at[0] |= RWF_MAP_HAS_ENTRY_PERM;
        wire_wr_buf15(wr, entry->perm);
    }
    wire_wr_buf15(wr, entry->key);
    *has_data = entry->action != RWF_MAP_DELETE && level->container != RWF_TYPE_NO_DATA;
    return level;
}

int rwf_map_add(struct rwf_encoder *enc, const struct rwf_map_entry *entry)
{
    bool has_data;
    struct md_wr wr;
    struct rwf_level *level = map_entry_head(enc, entry, &wr, &has_data);

    return level ? write_entry(enc, level, &wr, has_data, entry->data) : enc->err;
}

int rwf_map_entry_start(struct rwf_encoder *enc, const struct rwf_map_entry *entry)
{
    bool has_data;
    struct md_wr wr;
    struct rwf_level *level = map_entry_head(enc, entry, &wr, &has_data);

    return level ? begin_entry(enc, level, &wr, has_data) : enc->err;
}

int rwf_map_entry_finish(struct rwf_encoder *enc)
{
    return finish_entry(enc, LEVEL_MAP);
}

/* ---- vector ---- */

int rwf_vector_start(struct rwf_encoder *enc, const struct rwf_vector_info *info)
{
    struct rwf_level *level = encoder_push(enc, LEVEL_VECTOR, RWF_TYPE_VECTOR);
    struct md_wr wr = encoder_writer(enc);
    struct head head = {
        .container = info->container,
        .has_set_defs = info->flags & RWF_VECTOR_HAS_SET_DEFS,
        .has_summary = info->flags & RWF_VECTOR_HAS_SUMMARY,
        .has_hint = info->flags & RWF_VECTOR_HAS_HINT,
        .hint = info->hint,
        .set_defs = info->set_defs,
        .summary = info->summary,
    };

    if (!level)
        return enc->err;
    level->flags_at = enc->pos;
    md_wr_u8(&wr, info->flags);
    md_wr_u8(&wr, (uint8_t)(info->container - CONTAINER_BASE));
    return begin_head(enc, level, &wr, &head);
}

int rwf_vector_finish(struct rwf_encoder *enc)
{
    return finish_container(enc, LEVEL_VECTOR);
}

static struct rwf_level *vector_entry_head(struct rwf_encoder *enc,
                                           const struct rwf_vector_entry *entry, struct md_wr *wr,
                                           bool *has_data)
{
    struct rwf_level *level = entry_place(enc, LEVEL_VECTOR, UINT16_MAX);

    *wr = encoder_writer(enc);
    if (!level)
        return NULL;
    if (entry->action > ENTRY_ACTION_MAX || entry->index > RB30_MAX ||
        entry->perm.length > RB15_MAX) {
        encoder_fail(enc, RWF_ERR_RANGE);
        return NULL;
    }
    write_action(wr, entry->action, entry->has_perm ? ENTRY_HAS_PERM : 0);
    wire_wr_rb30(wr, entry->index);
    if (entry->has_perm) {
        level->flags_at[0] |= RWF_VECTOR_HAS_ENTRY_PERM;
        wire_wr_buf15(wr, entry->perm);
    }
    *has_data = entry->action != RWF_VECTOR_CLEAR && entry->action != RWF_VECTOR_DELETE &&
                level->container != RWF_TYPE_NO_DATA;
    return level;
}

int rwf_vector_add(struct rwf_encoder *enc, const struct rwf_vector_entry *entry)
{
    bool has_data;
    struct md_wr wr;
    struct rwf_level *level = vector_entry_head(enc, entry, &wr, &has_data);

    return level ? write_entry(enc, level, &wr, has_data, entry->data) : enc->err;
}

int rwf_vector_entry_start(struct rwf_encoder *enc, const struct rwf_vector_entry *entry)
{
    bool has_data;
    struct md_wr wr;
    struct rwf_level *level = vector_entry_head(enc, entry, &wr, &has_data);

    return level ? begin_entry(enc, level, &wr, has_data) : enc->err;
}

int rwf_vector_entry_finish(struct rwf_encoder *enc)
{
    return finish_entry(enc, LEVEL_VECTOR);
}

/* ---- series ---- */

int rwf_series_start(struct rwf_encoder *enc, const struct rwf_series_info *info)
{
    struct rwf_level *level = encoder_push(enc, LEVEL_SERIES, RWF_TYPE_SERIES);
    struct md_wr wr = encoder_writer(enc);
    struct head head = {
        .container = info->container,
        .has_set_defs = info->flags & RWF_SERIES_HAS_SET_DEFS,
        .has_summary = info->flags & RWF_SERIES_HAS_SUMMARY,
        .has_hint = info->flags & RWF_SERIES_HAS_HINT,
        .hint = info->hint,
        .set_defs = info->set_defs,
        .summary = info->summary,
    };

    if (!level)
        return enc->err;
    md_wr_u8(&wr, info->flags);
    md_wr_u8(&wr, (uint8_t)(info->container - CONTAINER_BASE));
    return begin_head(enc, level, &wr, &head);
}

int rwf_series_finish(struct rwf_encoder *enc)
{
    return finish_container(enc, LEVEL_SERIES);
}

int rwf_series_add(struct rwf_encoder *enc, struct rwf_bytes data)
{
    struct rwf_level *level = entry_place(enc, LEVEL_SERIES, UINT16_MAX);
    struct md_wr wr = encoder_writer(enc);

    if (!level)
        return enc->err;
    return write_entry(enc, level, &wr, level->container != RWF_TYPE_NO_DATA, data);
}

int rwf_series_entry_start(struct rwf_encoder *enc)
{
    struct rwf_level *level = entry_place(enc, LEVEL_SERIES, UINT16_MAX);
    struct md_wr wr = encoder_writer(enc);

    if (!level)
        return enc->err;
    return begin_entry(enc, level, &wr, level->container != RWF_TYPE_NO_DATA);
}

int rwf_series_entry_finish(struct rwf_encoder *enc)
{
    return finish_entry(enc, LEVEL_SERIES);
}

/* ---- filter list ---- */

int rwf_filter_list_start(struct rwf_encoder *enc, const struct rwf_filter_list_info *info)
{
    struct rwf_level *level = encoder_push(enc, LEVEL_FILTER_LIST, RWF_TYPE_FILTER_LIST);
    struct md_wr wr = encoder_writer(enc);

    if (!level)
        return enc->err;
    if (!container_is_legal(info->container))
        return encoder_fail(enc, RWF_ERR_RANGE);
    level->flags_at = enc->pos;
    level->list_container = info->container;
    md_wr_u8(&wr, info->flags);
    md_wr_u8(&wr, (uint8_t)(info->container - CONTAINER_BASE));
    if (info->flags & RWF_FILTER_HAS_HINT)
        md_wr_u8(&wr, info->hint);
    level->count_at = wr.pos;
    md_wr_u8(&wr, 0);
    level->phase = PHASE_ENTRIES;
    return encoder_written(enc, &wr);
}

int rwf_filter_list_finish(struct rwf_encoder *enc)
{
    struct rwf_level *level = encoder_top(enc);

    if (enc->err < 0)
        return enc->err;
    if (level->kind != LEVEL_FILTER_LIST || level->phase != PHASE_ENTRIES)
        return encoder_fail(enc, RWF_ERR_STATE);
    level->count_at[0] = (uint8_t)level->count;
    return encoder_pop(enc, LEVEL_FILTER_LIST);
}

static struct rwf_level *filter_entry_head(struct rwf_encoder *enc,
                                           const struct rwf_filter_entry *entry, struct md_wr *wr,
                                           bool *has_data)
{
    struct rwf_level *level = entry_place(enc, LEVEL_FILTER_LIST, UINT8_MAX);
    unsigned flags =
        (entry->has_perm ? ENTRY_HAS_PERM : 0u) | (entry->has_container ? ENTRY_HAS_CONTAINER : 0u);

    *wr = encoder_writer(enc);
    if (!level)
        return NULL;
    if (entry->action > ENTRY_ACTION_MAX || entry->perm.length > RB15_MAX ||
        (entry->has_container && !container_is_legal(entry->container))) {
        encoder_fail(enc, RWF_ERR_RANGE);
        return NULL;
    }
    level->container = entry->has_container ? entry->container : level->list_container;
    write_action(wr, entry->action, flags);
    md_wr_u8(wr, entry->id);
    if (entry->has_container)
        md_wr_u8(wr, (uint8_t)(entry->container - CONTAINER_BASE));
    if (entry->has_perm) {
        level->flags_at[0] |= RWF_FILTER_HAS_ENTRY_PERM;
        wire_wr_buf15(wr, entry->perm);
    }
    *has_data = entry->action != RWF_FILTER_CLEAR && level->container != RWF_TYPE_NO_DATA;
    return level;
}

int rwf_filter_add(struct rwf_encoder *enc, const struct rwf_filter_entry *entry)
{
    bool has_data;
    struct md_wr wr;
    struct rwf_level *level = filter_entry_head(enc, entry, &wr, &has_data);

    return level ? write_entry(enc, level, &wr, has_data, entry->data) : enc->err;
}

int rwf_filter_entry_start(struct rwf_encoder *enc, const struct rwf_filter_entry *entry)
{
    bool has_data;
    struct md_wr wr;
    struct rwf_level *level = filter_entry_head(enc, entry, &wr, &has_data);

    return level ? begin_entry(enc, level, &wr, has_data) : enc->err;
}

int rwf_filter_entry_finish(struct rwf_encoder *enc)
{
    return finish_entry(enc, LEVEL_FILTER_LIST);
}

/* ---- array ---- */

int rwf_array_start(struct rwf_encoder *enc, unsigned item_type, uint16_t item_length)
{
    struct rwf_level *level = encoder_push(enc, LEVEL_ARRAY, RWF_TYPE_ARRAY);
    struct md_wr wr = encoder_writer(enc);

    if (!level)
        return enc->err;
    if (item_type > RWF_TYPE_RMTES || item_type < RWF_TYPE_INT || item_type == RWF_TYPE_ARRAY ||
        item_type == 7)
        return encoder_fail(enc, RWF_ERR_RANGE);
    level->item_type = (uint8_t)item_type;
    level->item_length = item_length;
    md_wr_u8(&wr, (uint8_t)item_type);
    wire_wr_ob16(&wr, item_length);
    level->count_at = wr.pos;
    md_wr_u16(&wr, 0);
    level->phase = PHASE_ENTRIES;
    return encoder_written(enc, &wr);
}

int rwf_array_finish(struct rwf_encoder *enc)
{
    return finish_container(enc, LEVEL_ARRAY);
}

static bool is_string(unsigned type)
{
    return type >= RWF_TYPE_BUFFER && type <= RWF_TYPE_RMTES;
}

/* Shorter strings are padded with zero bytes, longer ones cut. */
static void write_padded(struct md_wr *wr, struct rwf_bytes content, size_t width)
{
    size_t take = content.length < width ? content.length : width;
    uint8_t *p = md_wr_take(wr, width);

    if (!p)
        return;
    if (take > 0)
        memcpy(p, content.data, take);
    memset(p + take, 0, width - take);
}

static int item_written(struct rwf_encoder *enc, struct rwf_level *level, const struct md_wr *wr)
{
    if (encoder_written(enc, wr) < 0)
        return enc->err;
    level->count++;
    return RWF_OK;
}

int rwf_array_add_bytes(struct rwf_encoder *enc, struct rwf_bytes content)
{
    struct rwf_level *level = entry_place(enc, LEVEL_ARRAY, UINT16_MAX);
    struct md_wr wr = encoder_writer(enc);

    if (!level)
        return enc->err;
    if (level->item_length == 0) {
        if (content.length > OB16_MAX)
            return encoder_fail(enc, RWF_ERR_RANGE);
        wire_wr_buf16(&wr, content);
    } else if (is_string(level->item_type)) {
        write_padded(&wr, content, level->item_length);
    } else if (content.length != level->item_length) {
        return encoder_fail(enc, RWF_ERR_RANGE);
    } else {
        wire_wr_view(&wr, content);
    }
    return item_written(enc, level, &wr);
}

int rwf_array_add(struct rwf_encoder *enc, const struct rwf_value *value)
{
    const struct rwf_level *level = encoder_top(enc);
    uint8_t scratch[WIRE_PRIMITIVE_MAX + 4];
    size_t length;
    int rc;

    if (enc->err < 0)
        return enc->err;
    if (level->kind != LEVEL_ARRAY || value->type != level->item_type)
        return encoder_fail(enc, RWF_ERR_STATE);
    if (is_string(value->type))
        return rwf_array_add_bytes(enc, value->is_blank ? (struct rwf_bytes){ 0 } : value->bytes);
    if (value->type == RWF_TYPE_STATE && !value->is_blank) {
        /* Its text may be long: it is encoded where it goes, behind the longest length. */
        size_t left = (size_t)(enc->end - enc->pos);
        uint8_t *at = enc->pos + 3;

        if (left < 3)
            return encoder_fail(enc, RWF_ERR_FULL);
        rc = rwf_value_encode(value, at, left - 3, &length);
        if (rc < 0)
            return encoder_fail(enc, rc);
        struct md_wr wr = encoder_writer(enc);
        if (level->item_length != 0 || length > OB16_MAX)
            return encoder_fail(enc, RWF_ERR_RANGE);
        wire_wr_ob16(&wr, length);
        uint8_t *content_at = md_wr_take(&wr, length);
        if (content_at)
            memmove(content_at, at, length);
        return item_written(enc, encoder_top(enc), &wr);
    }
    if (level->item_length == 0) {
        rc = rwf_value_encode(value, scratch, sizeof(scratch), &length);
    } else {
        length = level->item_length;
        rc = length > WIRE_PRIMITIVE_MAX
                 ? RWF_ERR_RANGE
                 : wire_put_fixed(value->type, (unsigned)length, value, scratch);
    }
    if (rc < 0)
        return encoder_fail(enc, rc);
    return rwf_array_add_bytes(enc, rwf_bytes(scratch, length));
}
