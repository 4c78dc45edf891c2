/* set_writer.c - blocks of set definitions; see rmds/rwf_encode.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rmds/rwf_encode.h"
#include "wire.h"

#define ENTRIES_MAX UINT8_MAX

/* The block: u8 flags, u8 definitions, each RB15 id, u8 entries, entries of id or name and type. */

static int fail(struct rwf_set_writer *writer, int err)
{
    if (writer->err == RWF_OK)
        writer->err = err;
    return writer->err;
}

static int written(struct rwf_set_writer *writer, const struct md_wr *wr)
{
    if (!md_wr_ok(wr))
        return fail(writer, RWF_ERR_FULL);
    writer->pos = wr->pos;
    return RWF_OK;
}

static struct md_wr writer_at(const struct rwf_set_writer *writer)
{
    return (struct md_wr){ .start = writer->pos, .pos = writer->pos, .end = writer->end };
}

void rwf_set_writer_init(struct rwf_set_writer *writer, void *buffer, size_t size)
{
    *writer = (struct rwf_set_writer){ .start = buffer, .pos = buffer };
    writer->end = size ? writer->start + size : writer->start;

    struct md_wr wr = writer_at(writer);
    md_wr_u8(&wr, 0);
    writer->def_count_at = wr.pos;
    md_wr_u8(&wr, 0);
    written(writer, &wr);
}

int rwf_set_writer_def(struct rwf_set_writer *writer, uint16_t id)
{
    struct md_wr wr = writer_at(writer);

    if (writer->err < 0)
        return writer->err;
    if (writer->def_count_at[0] >= RWF_SET_LOCAL_MAX || id > RWF_SET_ID_LOCAL)
        return fail(writer, RWF_ERR_RANGE);
    wire_wr_rb15(&wr, id);
    uint8_t *count_at = wr.pos;
    md_wr_u8(&wr, 0);
    if (written(writer, &wr) < 0)
        return writer->err;
    writer->entry_count_at = count_at;
    writer->def_count_at[0]++;
    return RWF_OK;
}

static int check_entry(struct rwf_set_writer *writer, unsigned type)
{
    if (writer->err < 0)
        return writer->err;
    if (!writer->entry_count_at)
        return fail(writer, RWF_ERR_STATE);
    if (!wire_set_type_is_legal(type) || writer->entry_count_at[0] == ENTRIES_MAX)
        return fail(writer, RWF_ERR_RANGE);
    return RWF_OK;
}

static int end_entry(struct rwf_set_writer *writer, struct md_wr *wr, unsigned type)
{
    md_wr_u8(wr, (uint8_t)type);
    if (written(writer, wr) < 0)
        return writer->err;
    writer->entry_count_at[0]++;
    return RWF_OK;
}

int rwf_set_writer_field(struct rwf_set_writer *writer, int16_t field_id, unsigned type)
{
    struct md_wr wr = writer_at(writer);

    if (check_entry(writer, type) < 0)
        return writer->err;
    md_wr_u16(&wr, (uint16_t)field_id);
    return end_entry(writer, &wr, type);
}

int rwf_set_writer_element(struct rwf_set_writer *writer, struct rwf_bytes name, unsigned type)
{
    struct md_wr wr = writer_at(writer);

    if (check_entry(writer, type) < 0)
        return writer->err;
    if (name.length > RB15_MAX)
        return fail(writer, RWF_ERR_RANGE);
    wire_wr_buf15(&wr, name);
    return end_entry(writer, &wr, type);
}

struct rwf_bytes rwf_set_writer_bytes(const struct rwf_set_writer *writer, int *err)
{
    size_t length = (size_t)(writer->pos - writer->start);

    *err = writer->err == RWF_OK && length > RB15_MAX ? RWF_ERR_RANGE : writer->err;
    return *err < 0 ? (struct rwf_bytes){ 0 } : rwf_bytes(writer->start, length);
}
