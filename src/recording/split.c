/* split.c - see split.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "split.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "column_put.h"
#include "rmds/rwf.h"

#define TABLE_SIZE 4096u /* a power of two, four times REC_SHAPES_MAX */
#define LONG_VALUE 0xfeu /* the first byte of a length that takes three */

struct shape {
    uint8_t kind;
    uint16_t head_length;
    uint16_t field_count;
    uint32_t hash;
    uint32_t ids_at;  /* of split->ids */
    uint32_t head_at; /* of the records: the head of its first message */
    uint32_t mask_at; /* of split->masks: bits that are not the same in all heads */
    uint32_t count, first, filled;
    bool varies;
};

struct record {
    uint32_t at; /* of a message */
    uint32_t values_at;
    uint16_t shape, item;
};

/* A message that is looked at. */
struct fields {
    uint32_t hash, values_at;
    uint16_t count, head_length;
    uint8_t kind;
    uint16_t ids[REC_SHAPE_FIELDS];
};

struct rec_split {
    struct rec_memory memory;
    struct rec_put_scratch scratch;
    struct rec_planes_in in;
    uint8_t *meta;
    const uint8_t *bytes;
    size_t length;
    struct record *records;
    uint64_t *times; /* then, after they were put, any numbers */
    uint32_t record_count;
    uint32_t *value_at; /* in the order of the records */
    uint16_t *value_length, *value_column, *value_item;
    uint32_t value_count;
    uint32_t *sorted_at; /* in the order of the columns */
    uint16_t *sorted_length, *sorted_item;
    struct shape shapes[REC_SHAPES_MAX];
    uint16_t table[TABLE_SIZE]; /* by hash: number of a shape and one */
    uint32_t shape_count, ids_count, masks_count;
    uint16_t ids[REC_SHAPES_FIELDS];
    uint8_t masks[REC_SHAPES_HEADS];
    uint16_t column_of[65536]; /* by id: number of the column and one */
    uint32_t column_count[REC_COLUMNS_MAX];
    uint16_t column_ids[REC_COLUMNS_MAX];
    uint32_t columns;
    bool has_too_many; /* columns */
    uint16_t *local;   /* by number of an item: its number in the chunk, and one */
    uint32_t *locals;
    uint32_t local_count;
    uint8_t *raw; /* of records that are no message of fields */
    size_t raw_length;
    uint32_t raw_count;
    struct fields fields;
};

void rec_split_destroy(struct rec_split *split)
{
    if (!split)
        return;
    rec_memory_free(&split->memory);
    free(split);
}

int rec_split_create(struct rec_split **out)
{
    struct rec_split *split = calloc(1, sizeof(*split));
    const size_t values = REC_COLUMN_VALUES, records = REC_COLUMN_RECORDS;

    *out = split;
    if (!split)
        return MD_ERR_NOMEM;
    struct rec_memory *memory = &split->memory;
    split->scratch.numbers = rec_memory_get(memory, values, sizeof(uint64_t));
    split->scratch.residuals = rec_memory_get(memory, values, sizeof(uint64_t));
    split->scratch.firsts = rec_memory_get(memory, values, sizeof(uint64_t));
    split->scratch.who = rec_memory_get(memory, values, sizeof(uint16_t));
    split->scratch.text = rec_memory_get(memory, REC_CHUNK_MAX, 1);
    split->scratch.last = rec_memory_get(memory, REC_CHUNK_ITEMS + 1u, sizeof(struct rec_last));
    split->in.plane = rec_memory_get(memory, REC_CHUNK_MAX, 1);
    split->meta = rec_memory_get(memory, REC_META_MAX, 1);
    split->records = rec_memory_get(memory, records, sizeof(struct record));
    split->times = rec_memory_get(memory, records, sizeof(uint64_t));
    split->value_at = rec_memory_get(memory, values, sizeof(uint32_t));
    split->value_length = rec_memory_get(memory, values, sizeof(uint16_t));
    split->value_column = rec_memory_get(memory, values, sizeof(uint16_t));
    split->value_item = rec_memory_get(memory, values, sizeof(uint16_t));
    split->sorted_at = rec_memory_get(memory, values, sizeof(uint32_t));
    split->sorted_length = rec_memory_get(memory, values, sizeof(uint16_t));
    split->sorted_item = rec_memory_get(memory, values, sizeof(uint16_t));
    split->local = rec_memory_get(memory, REC_ITEMS_MAX + 1u, sizeof(uint16_t));
    split->locals = rec_memory_get(memory, REC_CHUNK_ITEMS + 1u, sizeof(uint32_t));
    split->raw = rec_memory_get(memory, REC_CHUNK_MAX, 1);
    if (!memory->is_short) {
        memset(split->scratch.last, 0, (REC_CHUNK_ITEMS + 1u) * sizeof(struct rec_last));
        memset(split->local, 0, (REC_ITEMS_MAX + 1u) * sizeof(uint16_t));
        return MD_OK;
    }
    rec_split_destroy(split);
    *out = NULL;
    return MD_ERR_NOMEM;
}

/* ---- the shape of a message ---- */

static uint32_t mix(uint32_t hash, uint32_t value)
{
    hash = (hash ^ value) * 0x9e3779b1u;
    return hash ^ hash >> 15;
}

/* Up to the first field: standard data, nothing behind them. 0: another message. */
static uint32_t find_fields(struct rwf_bytes message, uint32_t *count)
{
    struct rwf_peek peek;

    if (rwf_peek(message, &peek) != RWF_OK || peek.container != RWF_TYPE_FIELD_LIST ||
        peek.payload_length < 3)
        return 0;
    const uint8_t *p = message.data + peek.payload_at;
    const uint8_t *end = message.data + message.length;
    uint8_t flags = *p++;
    if (flags & RWF_LIST_HAS_SET_DATA || !(flags & RWF_LIST_HAS_STANDARD_DATA))
        return 0;
    if (flags & RWF_LIST_HAS_INFO) {
        if (*p >= end - p - 2)
            return 0;
        p += 1 + *p;
    }
    *count = md_be16(p);
    return (uint32_t)(p + 2 - message.data);
}

/* One field; false: its length is not written as we write it. */
static bool take_field(struct rec_split *split, const uint8_t **pos, const uint8_t *end,
                       uint16_t item)
{
    const uint8_t *p = *pos;
    struct fields *fields = &split->fields;

    if (end - p < 3 || split->value_count == REC_COLUMN_VALUES)
        return false;
    uint16_t id = md_be16(p);
    uint32_t length = p[2];
    p += 3;
    if (length >= LONG_VALUE) {
        if (length > LONG_VALUE || end - p < 2)
            return false;
        length = md_be16(p);
        p += 2;
        if (length < LONG_VALUE)
            return false;
    }
    if ((size_t)(end - p) < length)
        return false;
    fields->ids[fields->count++] = id;
    fields->hash = mix(fields->hash, id);
    split->value_at[split->value_count] = (uint32_t)(p - split->bytes);
    split->value_length[split->value_count] = (uint16_t)length;
    split->value_item[split->value_count++] = item;
    *pos = p + length;
    return true;
}

static bool take_fields(struct rec_split *split, const struct rec_raw *raw, uint16_t item)
{
    struct fields *fields = &split->fields;
    uint32_t count = 0;

    fields->count = 0;
    fields->kind = (uint8_t)(raw->kind | raw->flags);
    fields->values_at = split->value_count;
    uint32_t head = find_fields(raw->bytes, &count);
    if (head == 0 || head > REC_SHAPE_HEAD || count > REC_SHAPE_FIELDS)
        return false;
    fields->head_length = (uint16_t)head;
    fields->hash = mix(head, fields->kind);
    const uint8_t *p = raw->bytes.data + head, *end = raw->bytes.data + raw->bytes.length;
    bool is_whole = true;
    while (count-- > 0 && is_whole)
        is_whole = take_field(split, &p, end, item);
    if (is_whole && p == end)
        return true;
    split->value_count = fields->values_at;
    return false;
}

static bool is_same(const struct rec_split *split, const struct shape *shape)
{
    const struct fields *fields = &split->fields;

    return shape->hash == fields->hash && shape->kind == fields->kind &&
           shape->head_length == fields->head_length && shape->field_count == fields->count &&
           memcmp(split->ids + shape->ids_at, fields->ids, fields->count * sizeof(uint16_t)) == 0;
}

/* UINT32_MAX: there are too many. */
static uint32_t make_shape(struct rec_split *split, uint32_t slot, uint32_t head_at)
{
    const struct fields *fields = &split->fields;

    if (split->shape_count == REC_SHAPES_MAX ||
        split->ids_count + fields->count > REC_SHAPES_FIELDS ||
        split->masks_count + fields->head_length > REC_SHAPES_HEADS)
        return UINT32_MAX;
    uint32_t number = split->shape_count;
    split->shapes[number] = (struct shape){
        .kind = fields->kind,
        .head_length = fields->head_length,
        .field_count = fields->count,
        .hash = fields->hash,
        .ids_at = split->ids_count,
        .head_at = head_at,
        .mask_at = split->masks_count,
    };
    memcpy(split->ids + split->ids_count, fields->ids, fields->count * sizeof(uint16_t));
    memset(split->masks + split->masks_count, 0, fields->head_length);
    split->ids_count += fields->count;
    split->masks_count += fields->head_length;
    split->shape_count++;
    split->table[slot] = (uint16_t)(number + 1);
    return number;
}

static uint32_t find_shape(struct rec_split *split, uint32_t head_at)
{
    uint32_t slot = split->fields.hash & (TABLE_SIZE - 1);

    for (; split->table[slot]; slot = (slot + 1) & (TABLE_SIZE - 1)) {
        uint32_t number = split->table[slot] - 1u;
        if (is_same(split, &split->shapes[number]))
            return number;
    }
    return make_shape(split, slot, head_at);
}

/* The bits that this head has otherwise than the first one. */
static void note_head(struct rec_split *split, struct shape *shape, uint32_t head_at)
{
    const uint8_t *first = split->bytes + shape->head_at, *head = split->bytes + head_at;
    uint8_t *mask = split->masks + shape->mask_at;

    if (memcmp(first, head, shape->head_length) == 0)
        return;
    shape->varies = true;
    for (uint32_t i = 0; i < shape->head_length; i++)
        mask[i] |= first[i] ^ head[i];
}

static void note_columns(struct rec_split *split)
{
    const struct fields *fields = &split->fields;

    for (uint32_t i = 0; i < fields->count; i++) {
        uint16_t *column = &split->column_of[fields->ids[i]];
        if (*column == 0) {
            split->has_too_many = split->columns == REC_COLUMNS_MAX / 2;
            if (split->has_too_many)
                return;
            split->column_ids[split->columns] = fields->ids[i];
            split->column_count[split->columns] = 0;
            *column = (uint16_t)++split->columns;
        }
        split->value_column[fields->values_at + i] = (uint16_t)(*column - 1u);
        split->column_count[*column - 1]++;
    }
}

/* ---- the records ---- */

static bool take_message(struct rec_split *split, const struct rec_raw *raw, struct record *record)
{
    if (raw->kind != REC_MESSAGE && raw->kind != REC_IMAGE)
        return false;
    uint16_t item = split->local[raw->number];
    if (item == 0 || !take_fields(split, raw, (uint16_t)(item - 1)))
        return false;
    uint32_t at = (uint32_t)(raw->bytes.data - split->bytes);
    uint32_t shape = find_shape(split, at);
    if (shape == UINT32_MAX) {
        split->value_count = split->fields.values_at;
        return false;
    }
    note_columns(split);
    note_head(split, &split->shapes[shape], at);
    split->shapes[shape].count++;
    record->at = at;
    record->values_at = split->fields.values_at;
    record->shape = (uint16_t)(shape + REC_SHAPES);
    record->item = (uint16_t)(item - 1);
    return true;
}

static void take_raw(struct rec_split *split, const uint8_t *from, const uint8_t *to)
{
    memcpy(split->raw + split->raw_length, from, (size_t)(to - from));
    split->raw_length += (size_t)(to - from);
}

static size_t number_length(uint64_t value)
{
    size_t length = 1;

    for (; value >= 0x80; value >>= 7)
        length++;
    return length;
}

/* Key of an item; the number stands elsewhere. */
static void take_item(struct rec_split *split, const struct rec_raw *raw, const uint8_t *key,
                      const uint8_t *end)
{
    split->locals[split->local_count++] = raw->number;
    split->local[raw->number] = (uint16_t)split->local_count;
    take_raw(split, key, end);
}

/* False: there are too many. */
static bool take_record(struct rec_split *split, const struct rec_raw *raw, uint64_t by_ns,
                        const uint8_t *from, const uint8_t *to)
{
    struct record *record = &split->records[split->record_count];
    size_t time = number_length(by_ns);

    if (split->record_count == REC_COLUMN_RECORDS)
        return false;
    split->times[split->record_count++] = by_ns;
    *record = (struct record){ .shape = REC_SHAPE_RAW };
    if (raw->kind == REC_ITEM && raw->flags == 0 && split->local[raw->number] == 0) {
        if (split->local_count == REC_CHUNK_ITEMS)
            return false;
        record->shape = REC_SHAPE_ITEM;
        take_item(split, raw, from + 1 + time + number_length(raw->number), to);
        return true;
    }
    if (take_message(split, raw, record))
        return !split->has_too_many;
    /* Without its time. */
    record->at = (uint32_t)(to - from - (ptrdiff_t)time);
    split->raw_count++;
    take_raw(split, from, from + 1);
    take_raw(split, from + 1 + time, to);
    return true;
}

static bool scan(struct rec_split *split, const struct rec_chunk *chunk)
{
    const struct rec_preamble preamble = { .first_mono_ns = chunk->first_mono_ns,
                                           .last_mono_ns = chunk->last_mono_ns };
    struct rec_scan at = rec_scan_start(rwf_bytes(chunk->bytes, chunk->length), &preamble);
    uint64_t before_ns = chunk->first_mono_ns;
    const uint8_t *from = at.rd.pos;
    struct rec_raw raw;
    int more;

    while ((more = rec_scan_next(&at, &raw)) > 0) {
        if (!take_record(split, &raw, raw.mono_ns - before_ns, from, at.rd.pos))
            return false;
        before_ns = raw.mono_ns;
        from = at.rd.pos;
    }
    return more == 0;
}

static void clear(struct rec_split *split)
{
    for (uint32_t i = 0; i < split->columns; i++)
        split->column_of[split->column_ids[i]] = 0;
    for (uint32_t i = 0; i < split->local_count; i++)
        split->local[split->locals[i]] = 0;
    memset(split->table, 0, sizeof(split->table));
    split->record_count = split->value_count = split->raw_count = 0;
    split->shape_count = split->ids_count = split->masks_count = 0;
    split->columns = split->local_count = 0;
    split->raw_length = 0;
    split->has_too_many = false;
}

/* ---- the columns ---- */

static void put_shapes(struct rec_split *split)
{
    struct md_wr *meta = &split->in.meta;

    rec_put_number(meta, split->shape_count);
    for (uint32_t i = 0; i < split->shape_count; i++) {
        const struct shape *shape = &split->shapes[i];
        md_wr_u8(meta, shape->kind);
        rec_put_number(meta, shape->head_length);
        md_wr_bytes(meta, split->bytes + shape->head_at, shape->head_length);
        rec_put_number(meta, shape->field_count);
        for (uint32_t f = 0; f < shape->field_count; f++)
            md_wr_u16(meta, split->ids[shape->ids_at + f]);
    }
}

static void put_records(struct rec_split *split)
{
    uint64_t *numbers = split->scratch.numbers;
    size_t count = split->record_count, used = 0;
    uint32_t before = 0;

    for (size_t i = 0; i < count; i++)
        numbers[i] = split->records[i].shape;
    rec_numbers_put(&split->in, numbers, count);
    rec_numbers_put(&split->in, split->times, count);
    for (size_t i = 0; i < count; i++) {
        if (split->records[i].shape >= REC_SHAPES)
            numbers[used++] = split->records[i].item;
    }
    rec_numbers_put(&split->in, numbers, used);
    for (used = 0; used < split->local_count; used++) {
        numbers[used] = rec_zigzag((int64_t)split->locals[used] - before);
        before = split->locals[used];
    }
    rec_numbers_put(&split->in, numbers, used);
    used = 0;
    for (size_t i = 0; i < count; i++) {
        if (split->records[i].shape == REC_SHAPE_RAW)
            numbers[used++] = split->records[i].at;
    }
    rec_numbers_put(&split->in, numbers, used);
    rec_text_put(&split->in, split->raw, split->raw_length);
}

/* Bytes of the heads of a shape that are not the same in all of its messages. */
static void put_run(struct rec_split *split, const struct shape *shape, uint32_t at, uint32_t width,
                    const uint32_t *members)
{
    for (uint32_t i = 0; i < shape->count; i++) {
        split->sorted_at[i] = split->records[members[i]].at + at;
        split->sorted_length[i] = (uint16_t)width;
        split->sorted_item[i] = split->records[members[i]].item;
    }
    const struct rec_values values = { split->bytes, split->sorted_at, split->sorted_length,
                                       split->sorted_item, shape->count };
    rec_column_put(&split->in, &split->scratch, &values);
}

static uint32_t run_width(const uint8_t *mask, uint32_t left)
{
    uint32_t width = 0;

    while (width < left && width < REC_RUN_MAX && mask[width])
        width++;
    return width;
}

/* Each run: how far from the last one, its width, its column; 0 and 0 at the end. */
static bool put_heads(struct rec_split *split)
{
    uint32_t *members = (uint32_t *)(void *)split->times; /* they are written */
    uint32_t first = 0, runs = 0;

    for (uint32_t i = 0; i < split->shape_count; i++) {
        split->shapes[i].first = first;
        split->shapes[i].filled = first;
        first += split->shapes[i].count;
    }
    for (uint32_t i = 0; i < split->record_count; i++) {
        if (split->records[i].shape >= REC_SHAPES)
            members[split->shapes[split->records[i].shape - REC_SHAPES].filled++] = i;
    }
    for (uint32_t i = 0; i < split->shape_count; i++) {
        const struct shape *shape = &split->shapes[i];
        const uint8_t *mask = split->masks + shape->mask_at;
        uint32_t before = 0, width;
        for (uint32_t at = 0; shape->varies && at < shape->head_length; at += width ? width : 1) {
            width = run_width(mask + at, shape->head_length - at);
            if (width == 0)
                continue;
            if (++runs > REC_COLUMNS_MAX / 2)
                return false;
            rec_put_number(&split->in.meta, at - before);
            rec_put_number(&split->in.meta, width);
            put_run(split, shape, at, width, members + shape->first);
            before = at;
        }
        rec_put_number(&split->in.meta, 0);
        rec_put_number(&split->in.meta, 0);
    }
    return true;
}

static void put_fields(struct rec_split *split)
{
    uint32_t *next = (uint32_t *)(void *)split->times;
    uint32_t first = 0;

    for (uint32_t c = 0; c < split->columns; c++) {
        next[c] = first;
        first += split->column_count[c];
    }
    for (uint32_t i = 0; i < split->value_count; i++) {
        uint32_t to = next[split->value_column[i]]++;
        split->sorted_at[to] = split->value_at[i];
        split->sorted_length[to] = split->value_length[i];
        split->sorted_item[to] = split->value_item[i];
    }
    for (uint32_t c = 0; c < split->columns; c++) {
        uint32_t at = next[c] - split->column_count[c];
        const struct rec_values values = { split->bytes, split->sorted_at + at,
                                           split->sorted_length + at, split->sorted_item + at,
                                           split->column_count[c] };
        if (values.count > 0)
            rec_column_put(&split->in, &split->scratch, &values);
    }
}

/* Length of the meta (u32), as it is stored (u32), the meta, the planes. */
static size_t finish(struct rec_split *split, uint8_t *out, size_t size)
{
    struct rec_planes_in *in = &split->in;
    size_t meta = md_wr_length(&in->meta), body = md_wr_length(&in->body);
    size_t head = 8 + rec_pack_bound(meta);

    if (!md_wr_ok(&in->meta) || !md_wr_ok(&in->body))
        return 0;
    /* The planes stand behind the room for the meta, and move up to it. */
    size_t stored = rec_pack(in->packer, out + 8, head - 8, split->meta, meta);
    if (stored == 0 || 8 + stored + body > size)
        return 0;
    md_put_be32(out, (uint32_t)meta);
    md_put_be32(out + 4, (uint32_t)stored);
    memmove(out + 8 + stored, in->body.start, body);
    return 8 + stored + body;
}

size_t rec_split_chunk(struct rec_split *split, struct rec_packer *packer,
                       const struct rec_chunk *chunk, uint8_t *out, size_t size)
{
    size_t room = 8 + rec_pack_bound(REC_META_MAX);

    clear(split);
    rec_column_put_start(&split->scratch);
    split->bytes = chunk->bytes;
    split->length = chunk->length;
    if (size <= room || !scan(split, chunk) || split->value_count == 0)
        return 0;
    split->in.packer = packer;
    split->in.meta = md_wr_init(split->meta, REC_META_MAX);
    split->in.body = md_wr_init(out + room, size - room);
    rec_put_number(&split->in.meta, split->record_count);
    put_shapes(split);
    put_records(split);
    if (!put_heads(split))
        return 0;
    put_fields(split);
    size_t length = finish(split, out, size);
    return length < chunk->length ? length : 0;
}
