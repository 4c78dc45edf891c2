/* column_put.c - see column_put.h: what form values have, and what they are told from. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "column_put.h"

#include <stdlib.h>
#include <string.h>

#include "forms.h"

#define FORM_SAMPLE      512u
#define PREDICTOR_SAMPLE 4096u
#define SAMPLE_LEAST     256u /* fewer numbers are no statistics */
#define LOW_PLANES       3u
#define HIGH_BITS        32u /* what a number costs that is longer than these */

void rec_column_put_start(struct rec_put_scratch *scratch)
{
    if (scratch->column < REC_STAMP_MAX)
        return;
    memset(scratch->last, 0, (REC_CHUNK_ITEMS + 1u) * sizeof(*scratch->last));
    scratch->column = 0;
}

/* ---- the form ---- */

/* Of a sample: how many values are numbers of that form. */
static size_t fits(const struct rec_values *values, size_t step, const struct rec_column *column)
{
    size_t count = 0;
    uint64_t number;

    for (size_t i = 0; i < values->count; i += step)
        count += rec_form_read(column, values->bytes + values->at[i], values->length[i], &number);
    return count;
}

static bool has_one_length(const struct rec_values *values, size_t step)
{
    for (size_t i = 0; i < values->count; i += step) {
        if (values->length[i] != values->length[0])
            return false;
    }
    return true;
}

static struct rec_column choose_form(const struct rec_values *values)
{
    size_t step = values->count / FORM_SAMPLE + 1;
    size_t sample = (values->count + step - 1) / step, enough = sample - sample / 8;
    struct rec_column column = { .form = REC_FORM_FIXED, .fixed = (uint8_t)values->length[0] };

    if (values->length[0] > 0 && values->length[0] <= 8 && has_one_length(values, step))
        return column;
    column.form = REC_FORM_SCALED;
    column.fixed = values->length[0] > 1 ? values->bytes[values->at[0]] : 0;
    if (fits(values, step, &column) >= enough)
        return column;
    column.form = REC_FORM_UNSIGNED;
    size_t as_unsigned = fits(values, step, &column);
    column.form = REC_FORM_SIGNED;
    size_t as_signed = fits(values, step, &column);
    column.form = as_unsigned >= as_signed ? REC_FORM_UNSIGNED : REC_FORM_SIGNED;
    if ((as_unsigned >= as_signed ? as_unsigned : as_signed) < enough)
        column.form = REC_FORM_BYTES;
    return column;
}

/* ---- the predictor ---- */

/* The residual that is told of a number, `from` being the predicted one. */
static inline uint64_t residual_of(const struct rec_column *column, uint64_t number, uint64_t from)
{
    int64_t by = (int64_t)(number - from);

    if (column->predictor == REC_FROM_ZERO &&
        (column->form == REC_FORM_FIXED || column->form == REC_FORM_UNSIGNED))
        return number;
    if (column->form == REC_FORM_FIXED) { /* modulo the length */
        unsigned unused = 64u - 8u * column->fixed;
        by = (int64_t)((uint64_t)by << unused) >> unused;
    }
    return rec_zigzag(by);
}

/* c * log2(c), times 16; good enough to compare. */
static uint64_t weight(uint32_t c)
{
    unsigned bits = 31u - (unsigned)__builtin_clz(c);
    uint32_t part = bits >= 4 ? (c >> (bits - 4)) & 15 : (c << (4 - bits)) & 15;

    return (uint64_t)c * (16u * bits + part);
}

/* The bits, times 16, that an order-0 code takes for a sample. */
static uint64_t cost(const struct rec_put_scratch *scratch, const struct rec_column *column,
                     size_t count, struct rec_last *last, uint32_t stamp)
{
    uint32_t seen[LOW_PLANES][256] = { { 0 } };
    uint64_t from = 0, bits = 0;
    uint32_t counted = 0;

    for (size_t i = 0; i < count; i++) {
        uint64_t number = scratch->numbers[i];
        struct rec_last *mine = &last[scratch->who[i]];
        bool is_first = column->predictor == REC_FROM_ITEM && mine->column != stamp;
        if (column->predictor == REC_FROM_ITEM)
            from = is_first ? 0 : mine->number;
        uint64_t residual = residual_of(column, number, from);
        mine->number = number;
        mine->column = stamp;
        if (column->predictor == REC_FROM_COLUMN)
            from = number;
        if (is_first) /* they stand for themselves; every item has one, however long the column */
            continue;
        for (unsigned p = 0; p < LOW_PLANES; p++)
            seen[p][(uint8_t)(residual >> 8 * p)]++;
        bits += residual >> 8 * LOW_PLANES ? 16 * HIGH_BITS : 0;
        counted++;
    }
    for (unsigned p = 0; p < LOW_PLANES && counted > 0; p++) {
        bits += weight(counted);
        for (unsigned b = 0; b < 256; b++)
            bits -= seen[p][b] ? weight(seen[p][b]) : 0;
    }
    return counted ? bits * 1024 / counted : UINT64_MAX - 1;
}

static void choose_predictor(struct rec_put_scratch *scratch, struct rec_column *column,
                             size_t count)
{
    size_t sample = count < PREDICTOR_SAMPLE ? count : PREDICTOR_SAMPLE;
    uint64_t best = UINT64_MAX;
    uint8_t found = REC_FROM_ITEM;

    column->predictor = found;
    if (count < SAMPLE_LEAST)
        return;
    for (unsigned p = REC_FROM_ZERO; p <= REC_FROM_COLUMN; p++) {
        column->predictor = (uint8_t)p;
        uint64_t bits = cost(scratch, column, sample, scratch->last, ++scratch->column);
        if (bits < best) {
            best = bits;
            found = (uint8_t)p;
        }
    }
    column->predictor = found;
}

/* ---- numbers ---- */

static void put_numbers(struct rec_planes_in *in, struct rec_put_scratch *scratch,
                        const struct rec_column *column, size_t count)
{
    uint32_t stamp = ++scratch->column;
    size_t residuals = 0, firsts = 0;
    uint64_t from = 0;

    for (size_t i = 0; i < count; i++) {
        uint64_t number = scratch->numbers[i];
        struct rec_last *last = &scratch->last[scratch->who[i]];
        if (column->predictor == REC_FROM_ITEM && last->column != stamp) {
            scratch->firsts[firsts++] = residual_of(column, number, 0);
        } else {
            if (column->predictor == REC_FROM_ITEM)
                from = last->number;
            scratch->residuals[residuals++] = residual_of(column, number, from);
        }
        last->number = number;
        last->column = stamp;
        if (column->predictor == REC_FROM_COLUMN)
            from = number;
    }
    rec_numbers_put(in, scratch->residuals, residuals);
    rec_numbers_put(in, scratch->firsts, firsts);
}

/* Values that are no numbers of the form: how far from the last one, how long, their bytes. */
static void put_others(struct rec_planes_in *in, struct rec_put_scratch *scratch,
                       const struct rec_values *values, const struct rec_column *column)
{
    size_t others = 0, used = 0, before = 0;
    uint64_t number;

    for (size_t i = 0; i < values->count; i++) {
        const uint8_t *bytes = values->bytes + values->at[i];
        size_t length = values->length[i];
        if (rec_form_read(column, bytes, length, &number))
            continue;
        scratch->residuals[others] = i - before;
        scratch->firsts[others++] = length;
        before = i;
        memcpy(scratch->text + used, bytes, length);
        used += length;
    }
    rec_put_number(&in->meta, others);
    if (others == 0)
        return;
    rec_numbers_put(in, scratch->residuals, others);
    rec_numbers_put(in, scratch->firsts, others);
    rec_text_put(in, scratch->text, used);
}

/* ---- no numbers ---- */

/* Each is 0, as the last one of the item, or its length and one. */
static void put_bytes(struct rec_planes_in *in, struct rec_put_scratch *scratch,
                      const struct rec_values *values)
{
    uint32_t stamp = ++scratch->column;
    size_t used = 0;

    for (size_t i = 0; i < values->count; i++) {
        const uint8_t *bytes = values->bytes + values->at[i];
        uint16_t length = values->length[i];
        struct rec_last *last = &scratch->last[values->item[i]];
        if (last->column == stamp && last->length == length &&
            memcmp(values->bytes + last->number, bytes, length) == 0) {
            scratch->residuals[i] = 0;
            continue;
        }
        scratch->residuals[i] = length + 1u;
        *last = (struct rec_last){ .number = values->at[i], .length = length, .column = stamp };
        memcpy(scratch->text + used, bytes, length);
        used += length;
    }
    rec_numbers_put(in, scratch->residuals, values->count);
    rec_text_put(in, scratch->text, used);
}

void rec_column_put(struct rec_planes_in *in, struct rec_put_scratch *scratch,
                    const struct rec_values *values)
{
    struct rec_column column = choose_form(values);
    size_t count = 0;

    for (size_t i = 0; i < values->count && column.form != REC_FORM_BYTES; i++) {
        if (rec_form_read(&column, values->bytes + values->at[i], values->length[i],
                          &scratch->numbers[count]))
            scratch->who[count++] = values->item[i];
        else if (i - count > values->count / 4)
            column.form = REC_FORM_BYTES; /* the sample was not like the rest */
    }
    if (column.form != REC_FORM_BYTES)
        choose_predictor(scratch, &column, count);
    md_wr_u8(&in->meta, (uint8_t)(column.form | column.predictor << 4));
    if (column.form == REC_FORM_BYTES) {
        put_bytes(in, scratch, values);
        return;
    }
    if (column.form == REC_FORM_FIXED || column.form == REC_FORM_SCALED)
        md_wr_u8(&in->meta, column.fixed);
    if (count == values->count)
        rec_put_number(&in->meta, 0);
    else
        put_others(in, scratch, values, &column);
    put_numbers(in, scratch, &column, count);
}
