/* encode_container.c - maps, vectors, series, filter lists and arrays. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "encode_list.h"

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
    if (kind == LEVEL_FILTER_LIST)
        level->count_at[0] = (uint8_t)level->count;
    else
        md_put_be16(level->count_at, (uint16_t)level->count);
    return encoder_pop(enc, kind);
}

/* ---- entries ---- */

/* Where an entry goes. No level: not now, or there can be no such entry; enc->err says why. */
struct place {
    struct rwf_level *level;
    struct md_wr wr; /* has what stands before the entry's data */
    bool has_data;
};

static struct place refuse(struct rwf_encoder *enc, int err)
{
    encoder_fail(enc, err);
    return (struct place){ 0 };
}

static struct place entry_place(struct rwf_encoder *enc, enum level_kind kind, unsigned count_max)
{
    struct rwf_level *level = encoder_top(enc);

    if (enc->err < 0 || level->kind != kind || level->phase != PHASE_ENTRIES)
        return refuse(enc, RWF_ERR_STATE);
    if (level->count >= count_max)
        return refuse(enc, RWF_ERR_RANGE);
    return (struct place){
        .level = level,
        .wr = encoder_writer(enc),
        .has_data = level->container != RWF_TYPE_NO_DATA,
    };
}

/* The data follows in place, if the entry has any. */
static int begin_entry(struct rwf_encoder *enc, struct place place)
{
    struct rwf_level *level = place.level;

    if (!level || encoder_written(enc, &place.wr) < 0)
        return enc->err;
    level->count++;
    level->phase = PHASE_ENTRY;
    level->has_length = place.has_data;
    level->slot_is_open = place.has_data;
    return place.has_data ? encoder_open_length16(enc, &level->length_at) : RWF_OK;
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

/* The entry at `place` is whole. */
static int end_entry(struct rwf_encoder *enc, const struct place *place)
{
    if (encoder_written(enc, &place->wr) < 0)
        return enc->err;
    place->level->count++;
    return RWF_OK;
}

/* A whole entry with data as given. */
static int write_entry(struct rwf_encoder *enc, struct place place, struct rwf_bytes data)
{
    if (!place.level)
        return enc->err;
    if (data.length > OB16_MAX || (!place.has_data && data.length > 0))
        return encoder_fail(enc, RWF_ERR_RANGE);
    if (place.has_data)
        wire_wr_buf16(&place.wr, data);
    return end_entry(enc, &place);
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

static struct place map_entry_place(struct rwf_encoder *enc, const struct rwf_map_entry *entry)
{
    struct place place = entry_place(enc, LEVEL_MAP, UINT16_MAX);

    if (!place.level)
        return place;
    if (entry->action > ENTRY_ACTION_MAX || entry->key.length == 0 ||
        entry->key.length > RB15_MAX || entry->perm.length > RB15_MAX)
        return refuse(enc, RWF_ERR_RANGE);
    write_action(&place.wr, entry->action, entry->has_perm ? ENTRY_HAS_PERM : 0);
    if (entry->has_perm) {
        place.level->flags_at[0] |= RWF_MAP_HAS_ENTRY_PERM;
        wire_wr_buf15(&place.wr, entry->perm);
    }
    wire_wr_buf15(&place.wr, entry->key);
    place.has_data = place.has_data && entry->action != RWF_MAP_DELETE;
    return place;
}

int rwf_map_add(struct rwf_encoder *enc, const struct rwf_map_entry *entry)
{
    return write_entry(enc, map_entry_place(enc, entry), entry->data);
}

int rwf_map_entry_start(struct rwf_encoder *enc, const struct rwf_map_entry *entry)
{
    return begin_entry(enc, map_entry_place(enc, entry));
}

int rwf_map_entry_finish(struct rwf_encoder *enc)
{
    return finish_entry(enc, LEVEL_MAP);
}

/* ---- vector ---- */

/* Vector and series begin with their flags and the type alone. */
static int begin_flags_and_head(struct rwf_encoder *enc, struct rwf_level *level, uint8_t flags,
                                const struct head *head)
{
    struct md_wr wr = encoder_writer(enc);

    if (!level)
        return enc->err;
    level->flags_at = enc->pos;
    md_wr_u8(&wr, flags);
    md_wr_u8(&wr, (uint8_t)(head->container - CONTAINER_BASE));
    return begin_head(enc, level, &wr, head);
}

int rwf_vector_start(struct rwf_encoder *enc, const struct rwf_vector_info *info)
{
    const struct head head = {
        .container = info->container,
        .has_set_defs = info->flags & RWF_VECTOR_HAS_SET_DEFS,
        .has_summary = info->flags & RWF_VECTOR_HAS_SUMMARY,
        .has_hint = info->flags & RWF_VECTOR_HAS_HINT,
        .hint = info->hint,
        .set_defs = info->set_defs,
        .summary = info->summary,
    };

    return begin_flags_and_head(enc, encoder_push(enc, LEVEL_VECTOR, RWF_TYPE_VECTOR), info->flags,
                                &head);
}

int rwf_vector_finish(struct rwf_encoder *enc)
{
    return finish_container(enc, LEVEL_VECTOR);
}

static struct place vector_entry_place(struct rwf_encoder *enc,
                                       const struct rwf_vector_entry *entry)
{
    struct place place = entry_place(enc, LEVEL_VECTOR, UINT16_MAX);

    if (!place.level)
        return place;
    if (entry->action > ENTRY_ACTION_MAX || entry->index > RB30_MAX ||
        entry->perm.length > RB15_MAX)
        return refuse(enc, RWF_ERR_RANGE);
    write_action(&place.wr, entry->action, entry->has_perm ? ENTRY_HAS_PERM : 0);
    wire_wr_rb30(&place.wr, entry->index);
    if (entry->has_perm) {
        place.level->flags_at[0] |= RWF_VECTOR_HAS_ENTRY_PERM;
        wire_wr_buf15(&place.wr, entry->perm);
    }
    place.has_data =
        place.has_data && entry->action != RWF_VECTOR_CLEAR && entry->action != RWF_VECTOR_DELETE;
    return place;
}

int rwf_vector_add(struct rwf_encoder *enc, const struct rwf_vector_entry *entry)
{
    return write_entry(enc, vector_entry_place(enc, entry), entry->data);
}

int rwf_vector_entry_start(struct rwf_encoder *enc, const struct rwf_vector_entry *entry)
{
    return begin_entry(enc, vector_entry_place(enc, entry));
}

int rwf_vector_entry_finish(struct rwf_encoder *enc)
{
    return finish_entry(enc, LEVEL_VECTOR);
}

/* ---- series ---- */

int rwf_series_start(struct rwf_encoder *enc, const struct rwf_series_info *info)
{
    const struct head head = {
        .container = info->container,
        .has_set_defs = info->flags & RWF_SERIES_HAS_SET_DEFS,
        .has_summary = info->flags & RWF_SERIES_HAS_SUMMARY,
        .has_hint = info->flags & RWF_SERIES_HAS_HINT,
        .hint = info->hint,
        .set_defs = info->set_defs,
        .summary = info->summary,
    };

    return begin_flags_and_head(enc, encoder_push(enc, LEVEL_SERIES, RWF_TYPE_SERIES), info->flags,
                                &head);
}

int rwf_series_finish(struct rwf_encoder *enc)
{
    return finish_container(enc, LEVEL_SERIES);
}

int rwf_series_add(struct rwf_encoder *enc, struct rwf_bytes data)
{
    return write_entry(enc, entry_place(enc, LEVEL_SERIES, UINT16_MAX), data);
}

int rwf_series_entry_start(struct rwf_encoder *enc)
{
    return begin_entry(enc, entry_place(enc, LEVEL_SERIES, UINT16_MAX));
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
    return finish_container(enc, LEVEL_FILTER_LIST);
}

static struct place filter_entry_place(struct rwf_encoder *enc,
                                       const struct rwf_filter_entry *entry)
{
    struct place place = entry_place(enc, LEVEL_FILTER_LIST, UINT8_MAX);
    struct rwf_level *level = place.level;
    unsigned flags =
        (entry->has_perm ? ENTRY_HAS_PERM : 0u) | (entry->has_container ? ENTRY_HAS_CONTAINER : 0u);

    if (!level)
        return place;
    if (entry->action > ENTRY_ACTION_MAX || entry->perm.length > RB15_MAX ||
        (entry->has_container && !container_is_legal(entry->container)))
        return refuse(enc, RWF_ERR_RANGE);
    level->container = entry->has_container ? entry->container : level->list_container;
    write_action(&place.wr, entry->action, flags);
    md_wr_u8(&place.wr, entry->id);
    if (entry->has_container)
        md_wr_u8(&place.wr, (uint8_t)(entry->container - CONTAINER_BASE));
    if (entry->has_perm) {
        level->flags_at[0] |= RWF_FILTER_HAS_ENTRY_PERM;
        wire_wr_buf15(&place.wr, entry->perm);
    }
    place.has_data = entry->action != RWF_FILTER_CLEAR && level->container != RWF_TYPE_NO_DATA;
    return place;
}

int rwf_filter_add(struct rwf_encoder *enc, const struct rwf_filter_entry *entry)
{
    return write_entry(enc, filter_entry_place(enc, entry), entry->data);
}

int rwf_filter_entry_start(struct rwf_encoder *enc, const struct rwf_filter_entry *entry)
{
    return begin_entry(enc, filter_entry_place(enc, entry));
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

int rwf_array_add_bytes(struct rwf_encoder *enc, struct rwf_bytes content)
{
    struct place place = entry_place(enc, LEVEL_ARRAY, UINT16_MAX);
    const struct rwf_level *level = place.level;

    if (!level)
        return enc->err;
    if (level->item_length == 0) {
        if (content.length > OB16_MAX)
            return encoder_fail(enc, RWF_ERR_RANGE);
        wire_wr_buf16(&place.wr, content);
    } else if (is_string(level->item_type)) {
        write_padded(&place.wr, content, level->item_length);
    } else if (content.length != level->item_length) {
        return encoder_fail(enc, RWF_ERR_RANGE);
    } else {
        wire_wr_view(&place.wr, content);
    }
    return end_entry(enc, &place);
}

int rwf_array_add(struct rwf_encoder *enc, const struct rwf_value *value)
{
    struct place place = entry_place(enc, LEVEL_ARRAY, UINT16_MAX);
    uint8_t fixed[WIRE_PRIMITIVE_MAX];
    int rc;

    if (!place.level)
        return enc->err;
    if (value->type != place.level->item_type)
        return encoder_fail(enc, RWF_ERR_STATE);
    unsigned width = place.level->item_length;
    if (width == 0) {
        rc = list_write_value(&place.wr, value);
        return rc < 0 ? encoder_fail(enc, rc) : end_entry(enc, &place);
    }
    if (is_string(value->type))
        return rwf_array_add_bytes(enc, value->is_blank ? (struct rwf_bytes){ 0 } : value->bytes);
    rc = width > sizeof(fixed) ? RWF_ERR_RANGE : wire_put_fixed(value->type, width, value, fixed);
    if (rc < 0)
        return encoder_fail(enc, rc);
    return rwf_array_add_bytes(enc, rwf_bytes(fixed, width));
}
