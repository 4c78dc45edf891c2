/* column_get.c - see column_get.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "column_get.h"

#include <string.h>

#include "forms.h"

void rec_column_get_start(struct rec_get_scratch *scratch)
{
    if (scratch->column < REC_STAMP_MAX)
        return;
    memset(scratch->last, 0, REC_CHUNK_ITEMS * sizeof(*scratch->last));
    scratch->column = 0;
}

/* The bytes in front of a value; at most five bytes. */
static inline size_t put_head(const struct rec_cells *cells, uint8_t *to, size_t length)
{
    if (!cells->is_field)
        return 0;
    md_put_be16(to, cells->id);
    if (length < REC_LENGTH_LONG) {
        to[2] = (uint8_t)length;
        return 3;
    }
    to[2] = REC_LENGTH_LONG;
    md_put_be16(to + 3, (uint16_t)length);
    return 5;
}

/* Bytes of the cell are in the arena. False: that is more than there may be. */
static inline bool end_cell(struct rec_get_scratch *scratch, const struct rec_cells *cells,
                            size_t cell, size_t length)
{
    if (length > scratch->most - scratch->used)
        return false;
    cells->cell[cell] =
        (struct rec_cell){ .at = (uint32_t)scratch->used, .length = (uint32_t)length };
    scratch->used += length;
    return true;
}

/* False: there is no room for them. */
static bool put(struct rec_get_scratch *scratch, const struct rec_cells *cells, size_t cell,
                const uint8_t *bytes, size_t length)
{
    uint8_t *to = scratch->arena + scratch->used;

    if (length > UINT16_MAX)
        return false;
    size_t head = put_head(cells, to, length);
    if (head + length > scratch->most - scratch->used)
        return false;
    rec_copy(to + head, bytes, length);
    return end_cell(scratch, cells, cell, head + length);
}

/* ---- no numbers ---- */

static bool get_bytes(struct rec_planes_out *out, struct rec_get_scratch *scratch,
                      const struct rec_cells *cells)
{
    uint32_t stamp = ++scratch->column;
    size_t next = 0;

    rec_numbers_get(out, scratch->residuals, cells->count);
    size_t length = rec_text_get(out, scratch->text, REC_CHUNK_MAX);
    if (!md_rd_ok(&out->meta))
        return false;
    for (size_t i = 0; i < cells->count; i++) {
        struct rec_known *last = &scratch->last[cells->item[i]];
        uint64_t token = scratch->residuals[i];
        if (token == 0) {
            if (last->column != stamp || last->number > length ||
                last->length > length - last->number ||
                !put(scratch, cells, i, scratch->text + last->number, last->length))
                return false;
            continue;
        }
        if (token - 1 > length - next || !put(scratch, cells, i, scratch->text + next, token - 1))
            return false;
        *last =
            (struct rec_known){ .number = next, .length = (uint32_t)(token - 1), .column = stamp };
        next += (size_t)(token - 1);
    }
    return next == length;
}

/* ---- numbers ---- */

/* Values that are no numbers of the form: they are marked, and their bytes in place. */
static bool get_others(struct rec_planes_out *out, struct rec_get_scratch *scratch,
                       const struct rec_cells *cells, size_t *others)
{
    uint64_t count = rec_get_number(&out->meta);
    size_t at = 0, next = 0;

    memset(scratch->is_other, 0, cells->count);
    if (count > cells->count || !md_rd_ok(&out->meta))
        return false;
    *others = (size_t)count;
    if (count == 0)
        return true;
    rec_numbers_get(out, scratch->residuals, (size_t)count);
    rec_numbers_get(out, scratch->firsts, (size_t)count);
    size_t length = rec_text_get(out, scratch->text, REC_CHUNK_MAX);
    if (!md_rd_ok(&out->meta))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (scratch->residuals[i] >= cells->count - at || (i > 0 && scratch->residuals[i] == 0))
            return false;
        at += (size_t)scratch->residuals[i];
        if (scratch->firsts[i] > length - next ||
            !put(scratch, cells, at, scratch->text + next, (size_t)scratch->firsts[i]))
            return false;
        scratch->is_other[at] = 1;
        next += (size_t)scratch->firsts[i];
    }
    return next == length;
}

/* How many numbers are the first ones of their items. */
static size_t count_firsts(struct rec_get_scratch *scratch, const struct rec_cells *cells)
{
    uint32_t stamp = ++scratch->column;
    size_t firsts = 0;

    for (size_t i = 0; i < cells->count; i++) {
        struct rec_known *last = &scratch->last[cells->item[i]];
        if (scratch->is_other[i])
            continue;
        firsts += last->column != stamp;
        last->column = stamp;
    }
    return firsts;
}

static uint64_t number_of(const struct rec_column *column, uint64_t residual, uint64_t from)
{
    if (column->predictor == REC_FROM_ZERO &&
        (column->form == REC_FORM_FIXED || column->form == REC_FORM_UNSIGNED))
        return residual;
    return from + (uint64_t)rec_unzigzag(residual);
}

static bool get_numbers(struct rec_get_scratch *scratch, const struct rec_cells *cells,
                        const struct rec_column *column)
{
    uint32_t stamp = ++scratch->column;
    const uint64_t *residual = scratch->residuals, *first = scratch->firsts;
    const size_t head = cells->is_field ? 3 : 0;
    uint64_t from = 0;

    for (size_t i = 0; i < cells->count; i++) {
        struct rec_known *last = &scratch->last[cells->item[i]];
        uint8_t *to = scratch->arena + scratch->used;
        uint64_t number;
        if (scratch->is_other[i])
            continue;
        if (column->predictor == REC_FROM_ITEM && last->column != stamp)
            number = number_of(column, *first++, 0);
        else if (column->predictor == REC_FROM_ITEM)
            number = number_of(column, *residual++, last->number);
        else
            number = number_of(column, *residual++, from);
        last->number = number;
        last->column = stamp;
        if (column->predictor == REC_FROM_COLUMN)
            from = number;
        size_t length = rec_form_write(column, number, to + head);
        (void)put_head(cells, to, length);
        if (!end_cell(scratch, cells, i, head + length))
            return false;
    }
    return true;
}

bool rec_column_get(struct rec_planes_out *out, struct rec_get_scratch *scratch,
                    const struct rec_cells *cells)
{
    uint8_t head = md_rd_u8(&out->meta);
    struct rec_column column = { .form = head & 0x0f, .predictor = head >> 4 };
    size_t others = 0, firsts = 0;

    if (column.form == REC_FORM_BYTES)
        return get_bytes(out, scratch, cells);
    if (column.form < REC_FORM_FIXED || column.form > REC_FORM_SCALED ||
        column.predictor > REC_FROM_COLUMN)
        return false;
    if (column.form == REC_FORM_FIXED || column.form == REC_FORM_SCALED)
        column.fixed = md_rd_u8(&out->meta);
    if (column.form == REC_FORM_FIXED && (column.fixed == 0 || column.fixed > 8))
        return false;
    if (!get_others(out, scratch, cells, &others))
        return false;
    if (column.predictor == REC_FROM_ITEM)
        firsts = count_firsts(scratch, cells);
    rec_numbers_get(out, scratch->residuals, cells->count - others - firsts);
    rec_numbers_get(out, scratch->firsts, firsts);
    return md_rd_ok(&out->meta) && get_numbers(scratch, cells, &column);
}
