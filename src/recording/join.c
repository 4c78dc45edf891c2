/* join.c - see join.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "join.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "column_get.h"

struct shape {
    const uint8_t *head;
    uint32_t head_length, field_count;
    uint32_t columns_at; /* of join->columns_of */
    uint32_t count, first;
    uint8_t kind;
};

struct rec_join {
    struct rec_memory memory;
    struct rec_get_scratch scratch;
    struct rec_planes_out out;
    uint8_t *meta;
    size_t expanded;
    struct shape shapes[REC_SHAPES_MAX];
    uint32_t shape_count, columns_used;
    uint16_t columns_of[REC_SHAPES_FIELDS]; /* the columns of the fields of each shape */
    uint16_t column_of[65536];              /* by id: number of the column and one */
    uint16_t ids[REC_COLUMNS_MAX];          /* by column */
    uint32_t columns;
    uint32_t column_first[REC_COLUMNS_MAX + 1], column_next[REC_COLUMNS_MAX];
    uint32_t record_count, message_count, item_count, raw_count;
    uint16_t *shape_of, *item_of; /* of the records */
    uint64_t *times;
    uint32_t *raw_length; /* of the raw ones, in order */
    uint32_t *numbers;    /* of items */
    uint32_t *members;    /* messages in the order of the shapes */
    uint32_t *head_at;    /* of the records */
    uint8_t *heads, *raw;
    size_t raw_bytes;
    uint16_t *who; /* items of a column's values */
    struct rec_cell *cells;
    struct rec_cell row[REC_SHAPE_FIELDS]; /* of one message */
};

void rec_join_destroy(struct rec_join *join)
{
    if (!join)
        return;
    rec_memory_free(&join->memory);
    free(join);
}

int rec_join_create(struct rec_join **out)
{
    struct rec_join *join = calloc(1, sizeof(*join));
    const size_t values = REC_COLUMN_VALUES, records = REC_COLUMN_RECORDS;

    *out = join;
    if (!join)
        return MD_ERR_NOMEM;
    struct rec_memory *memory = &join->memory;
    join->scratch.residuals = rec_memory_get(memory, values, sizeof(uint64_t));
    join->scratch.firsts = rec_memory_get(memory, values, sizeof(uint64_t));
    join->scratch.is_other = rec_memory_get(memory, values, 1);
    join->scratch.text = rec_memory_get(memory, REC_CHUNK_MAX + REC_SLACK, 1);
    join->scratch.last = rec_memory_get(memory, REC_CHUNK_ITEMS, sizeof(struct rec_known));
    join->scratch.arena = rec_memory_get(memory, REC_CHUNK_MAX + REC_SLACK, 1);
    join->out.plane = rec_memory_get(memory, REC_CHUNK_MAX, 1);
    join->meta = rec_memory_get(memory, REC_META_MAX + REC_SLACK, 1);
    join->shape_of = rec_memory_get(memory, records, sizeof(uint16_t));
    join->item_of = rec_memory_get(memory, records, sizeof(uint16_t));
    join->times = rec_memory_get(memory, records, sizeof(uint64_t));
    join->raw_length = rec_memory_get(memory, records, sizeof(uint32_t));
    join->numbers = rec_memory_get(memory, REC_CHUNK_ITEMS, sizeof(uint32_t));
    join->members = rec_memory_get(memory, records, sizeof(uint32_t));
    join->head_at = rec_memory_get(memory, records, sizeof(uint32_t));
    join->heads = rec_memory_get(memory, REC_CHUNK_MAX + REC_SLACK, 1);
    join->raw = rec_memory_get(memory, REC_CHUNK_MAX, 1);
    join->who = rec_memory_get(memory, values, sizeof(uint16_t));
    join->cells = rec_memory_get(memory, values, sizeof(struct rec_cell));
    if (!memory->is_short) {
        memset(join->scratch.last, 0, REC_CHUNK_ITEMS * sizeof(struct rec_known));
        return MD_OK;
    }
    rec_join_destroy(join);
    *out = NULL;
    return MD_ERR_NOMEM;
}

/* ---- shapes ---- */

/* The column of a field; false: there are too many. */
static bool note_field(struct rec_join *join, uint16_t id)
{
    if (join->columns_used == REC_SHAPES_FIELDS)
        return false;
    if (join->column_of[id] == 0) {
        if (join->columns == REC_COLUMNS_MAX)
            return false;
        join->ids[join->columns++] = id;
        join->column_of[id] = (uint16_t)join->columns;
    }
    join->columns_of[join->columns_used++] = (uint16_t)(join->column_of[id] - 1u);
    return true;
}

static bool get_shape(struct rec_join *join, struct shape *shape)
{
    struct md_rd *meta = &join->out.meta;

    *shape = (struct shape){ .kind = md_rd_u8(meta), .columns_at = join->columns_used };
    uint64_t head = rec_get_number(meta);
    if (head > REC_SHAPE_HEAD)
        return false;
    shape->head_length = (uint32_t)head;
    shape->head = md_rd_bytes(meta, shape->head_length);
    uint64_t fields = rec_get_number(meta);
    if (!shape->head || fields > REC_SHAPE_FIELDS)
        return false;
    shape->field_count = (uint32_t)fields;
    for (uint32_t i = 0; i < shape->field_count; i++) {
        uint16_t id = md_rd_u16(meta);
        if (!md_rd_ok(meta) || !note_field(join, id))
            return false;
    }
    return md_rd_ok(meta);
}

static bool get_shapes(struct rec_join *join)
{
    uint64_t count = rec_get_number(&join->out.meta);

    for (uint32_t i = 0; i < join->columns; i++)
        join->column_of[join->ids[i]] = 0;
    join->columns = join->columns_used = join->shape_count = 0;
    if (count > REC_SHAPES_MAX)
        return false;
    while (join->shape_count < count) {
        if (!get_shape(join, &join->shapes[join->shape_count]))
            return false;
        join->shape_count++;
    }
    return true;
}

/* ---- records ---- */

/* Which shape each record has, and how many records of a kind there are. */
static bool get_shape_numbers(struct rec_join *join)
{
    uint64_t *numbers = join->scratch.residuals;

    join->message_count = join->item_count = join->raw_count = 0;
    rec_numbers_get(&join->out, numbers, join->record_count);
    for (uint32_t i = 0; i < join->record_count; i++) {
        if (numbers[i] >= join->shape_count + REC_SHAPES)
            return false;
        join->shape_of[i] = (uint16_t)numbers[i];
        join->raw_count += numbers[i] == REC_SHAPE_RAW;
        join->item_count += numbers[i] == REC_SHAPE_ITEM;
        if (numbers[i] < REC_SHAPES)
            continue;
        join->shapes[numbers[i] - REC_SHAPES].count++;
        join->message_count++;
    }
    return join->item_count <= REC_CHUNK_ITEMS;
}

/* Items in the order of their first records; a message is of one before it. */
static bool get_items(struct rec_join *join)
{
    uint64_t *numbers = join->scratch.residuals;
    uint32_t next = 0, known = 0;
    int64_t number = 0;

    rec_numbers_get(&join->out, numbers, join->message_count);
    for (uint32_t i = 0; i < join->record_count; i++) {
        known += join->shape_of[i] == REC_SHAPE_ITEM;
        if (join->shape_of[i] < REC_SHAPES)
            continue;
        if (numbers[next] >= known)
            return false;
        join->item_of[i] = (uint16_t)numbers[next++];
    }
    rec_numbers_get(&join->out, numbers, join->item_count);
    for (uint32_t i = 0; i < join->item_count; i++) {
        if (numbers[i] > 2ull * REC_ITEMS_MAX + 1)
            return false;
        number += rec_unzigzag(numbers[i]);
        if (number < 1 || number > REC_ITEMS_MAX)
            return false;
        join->numbers[i] = (uint32_t)number;
    }
    return true;
}

static bool get_raw(struct rec_join *join)
{
    uint64_t *numbers = join->scratch.residuals;

    rec_numbers_get(&join->out, numbers, join->raw_count);
    for (uint32_t i = 0; i < join->raw_count; i++) {
        if (numbers[i] > REC_CHUNK_MAX)
            return false;
        join->raw_length[i] = (uint32_t)numbers[i];
    }
    join->raw_bytes = rec_text_get(&join->out, join->raw, REC_CHUNK_MAX);
    return md_rd_ok(&join->out.meta);
}

static bool get_records(struct rec_join *join)
{
    uint64_t count = rec_get_number(&join->out.meta);

    if (count > REC_COLUMN_RECORDS)
        return false;
    join->record_count = (uint32_t)count;
    if (!get_shapes(join) || !get_shape_numbers(join))
        return false;
    rec_numbers_get(&join->out, join->times, join->record_count);
    return get_items(join) && get_raw(join);
}

/* ---- heads ---- */

/* Every head as that of the first message of its shape. */
static bool copy_heads(struct rec_join *join)
{
    uint32_t first = 0;
    size_t used = 0;

    for (uint32_t i = 0; i < join->shape_count; i++) {
        join->shapes[i].first = first;
        first += join->shapes[i].count;
        join->shapes[i].count = 0;
    }
    for (uint32_t i = 0; i < join->record_count; i++) {
        if (join->shape_of[i] < REC_SHAPES)
            continue;
        struct shape *shape = &join->shapes[join->shape_of[i] - REC_SHAPES];
        if (shape->head_length > join->expanded - used)
            return false;
        join->members[shape->first + shape->count++] = i;
        join->head_at[i] = (uint32_t)used;
        rec_copy(join->heads + used, shape->head, shape->head_length);
        used += shape->head_length;
    }
    return true;
}

/* A run of bytes that is not the same in all heads of a shape. */
static bool get_run(struct rec_join *join, const struct shape *shape, uint32_t at, uint32_t width)
{
    const uint32_t *members = join->members + shape->first;
    const struct rec_cells cells = { join->cells, join->who, shape->count, false, 0 };

    for (uint32_t i = 0; i < shape->count; i++)
        join->who[i] = join->item_of[members[i]];
    join->scratch.used = 0;
    if (shape->count > 0 && !rec_column_get(&join->out, &join->scratch, &cells))
        return false;
    for (uint32_t i = 0; i < shape->count; i++) {
        if (join->cells[i].length != width)
            return false;
        memcpy(join->heads + join->head_at[members[i]] + at,
               join->scratch.arena + join->cells[i].at, width);
    }
    return true;
}

static bool get_heads(struct rec_join *join)
{
    if (!copy_heads(join))
        return false;
    for (uint32_t i = 0; i < join->shape_count; i++) {
        const struct shape *shape = &join->shapes[i];
        uint64_t at = 0, free_at = 0;
        for (;;) {
            uint64_t by = rec_get_number(&join->out.meta);
            uint64_t width = rec_get_number(&join->out.meta);
            if (!md_rd_ok(&join->out.meta) || by > shape->head_length || width > REC_RUN_MAX)
                return false;
            if (width == 0)
                break;
            at += by;
            if (at < free_at || at + width > shape->head_length ||
                !get_run(join, shape, (uint32_t)at, (uint32_t)width))
                return false;
            free_at = at + width;
        }
    }
    return true;
}

/* ---- fields ---- */

static bool place_columns(struct rec_join *join)
{
    uint64_t values = 0;

    memset(join->column_first, 0, (join->columns + 1u) * sizeof(*join->column_first));
    for (uint32_t i = 0; i < join->shape_count; i++) {
        const struct shape *shape = &join->shapes[i];
        values += (uint64_t)shape->count * shape->field_count;
        if (values > REC_COLUMN_VALUES)
            return false;
        for (uint32_t f = 0; f < shape->field_count; f++)
            join->column_first[join->columns_of[shape->columns_at + f] + 1] += shape->count;
    }
    for (uint32_t c = 0; c < join->columns; c++) {
        join->column_first[c + 1] += join->column_first[c];
        join->column_next[c] = join->column_first[c];
    }
    for (uint32_t i = 0; i < join->record_count; i++) {
        if (join->shape_of[i] < REC_SHAPES)
            continue;
        const struct shape *shape = &join->shapes[join->shape_of[i] - REC_SHAPES];
        for (uint32_t f = 0; f < shape->field_count; f++)
            join->who[join->column_next[join->columns_of[shape->columns_at + f]]++] =
                join->item_of[i];
    }
    return true;
}

static bool get_fields(struct rec_join *join)
{
    if (!place_columns(join))
        return false;
    join->scratch.used = 0;
    for (uint32_t c = 0; c < join->columns; c++) {
        uint32_t first = join->column_first[c];
        const struct rec_cells cells = { join->cells + first, join->who + first,
                                         join->column_first[c + 1] - first, true, join->ids[c] };
        join->column_next[c] = first;
        if (cells.count > 0 && !rec_column_get(&join->out, &join->scratch, &cells))
            return false;
    }
    return md_rd_ok(&join->out.meta) && md_rd_left(&join->out.meta) == 0;
}

/* ---- the records again ---- */

static inline void copy(uint8_t *to, const uint8_t *from, size_t length, bool has_slack)
{
    if (has_slack)
        rec_copy(to, from, length);
    else
        memcpy(to, from, length);
}

/* The cells of its fields, the next ones of their columns, and the length of the message. */
static size_t take_row(struct rec_join *join, const struct shape *shape)
{
    const uint16_t *columns = join->columns_of + shape->columns_at;
    size_t length = shape->head_length;

    for (uint32_t f = 0; f < shape->field_count; f++) {
        join->row[f] = join->cells[join->column_next[columns[f]]++];
        length += join->row[f].length;
    }
    return length;
}

static void write_message(struct rec_join *join, struct md_wr *wr, uint32_t record)
{
    const struct shape *shape = &join->shapes[join->shape_of[record] - REC_SHAPES];
    size_t length = take_row(join, shape);

    rec_put_number(wr, join->numbers[join->item_of[record]]);
    rec_put_number(wr, length);
    bool has_slack = md_wr_left(wr) >= length + REC_SLACK;
    uint8_t *to = md_wr_take(wr, length);
    if (!to)
        return;
    copy(to, join->heads + join->head_at[record], shape->head_length, has_slack);
    to += shape->head_length;
    for (uint32_t f = 0; f < shape->field_count; f++) {
        const struct rec_cell *cell = &join->row[f];
        copy(to, join->scratch.arena + cell->at, cell->length, has_slack);
        to += cell->length;
    }
}

/* Kind and time, and what stands behind them. False: it is not whole. */
static bool write_record(struct rec_join *join, struct md_wr *wr, uint32_t record,
                         struct md_rd *raw, uint32_t *raws, uint32_t *items)
{
    if (join->shape_of[record] == REC_SHAPE_RAW) {
        struct md_rd one = md_rd_sub(raw, join->raw_length[(*raws)++]);
        md_wr_u8(wr, md_rd_u8(&one));
        rec_put_number(wr, join->times[record]);
        md_wr_bytes(wr, one.pos, md_rd_left(&one));
        return md_rd_ok(&one);
    }
    if (join->shape_of[record] == REC_SHAPE_ITEM) {
        const uint8_t *from = raw->pos;
        struct rec_key key;
        rec_key_get(raw, &key);
        if (!md_rd_ok(raw))
            return false;
        md_wr_u8(wr, REC_ITEM);
        rec_put_number(wr, join->times[record]);
        rec_put_number(wr, join->numbers[(*items)++]);
        md_wr_bytes(wr, from, (size_t)(raw->pos - from));
        return true;
    }
    md_wr_u8(wr, join->shapes[join->shape_of[record] - REC_SHAPES].kind);
    rec_put_number(wr, join->times[record]);
    write_message(join, wr, record);
    return true;
}

static bool write_records(struct rec_join *join, uint8_t *out)
{
    struct md_wr wr = md_wr_init(out, join->expanded);
    struct md_rd raw = md_rd_init(join->raw, join->raw_bytes);
    uint32_t raws = 0, items = 0;

    for (uint32_t i = 0; i < join->record_count; i++) {
        if (!write_record(join, &wr, i, &raw, &raws, &items) || !md_wr_ok(&wr))
            return false;
    }
    return md_wr_length(&wr) == join->expanded && md_rd_left(&raw) == 0;
}

int rec_join_chunk(struct rec_join *join, struct rec_packer *packer, uint8_t *out, size_t expanded,
                   const uint8_t *stored, size_t length)
{
    struct md_rd rd = md_rd_init(stored, length);
    uint32_t meta = md_rd_u32(&rd), packed = md_rd_u32(&rd);
    const uint8_t *bytes = md_rd_bytes(&rd, packed);

    if (!bytes || meta > REC_META_MAX || expanded > REC_CHUNK_MAX ||
        rec_unpack(packer, join->meta, meta, bytes, packed) != MD_OK)
        return MD_ERR_MALFORMED;
    rec_column_get_start(&join->scratch);
    join->expanded = expanded;
    join->scratch.most = expanded;
    join->out.packer = packer;
    join->out.meta = md_rd_init(join->meta, meta);
    join->out.body = rd;
    bool is_whole = get_records(join) && get_heads(join) && get_fields(join) &&
                    md_rd_left(&join->out.body) == 0 && write_records(join, out);
    return is_whole ? MD_OK : MD_ERR_MALFORMED;
}
