/* chunk.c - see chunk.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "chunk.h"

#include <stdlib.h>

#include "base/err.h"
#include "block.h"
#include "rmds/rwf.h"

#define KIND_MASK 0x0fu

int rec_chunk_create(struct rec_chunk **out)
{
    struct rec_chunk *chunk = calloc(1, sizeof(*chunk));

    *out = chunk;
    if (!chunk)
        return MD_ERR_NOMEM;
    chunk->bytes = malloc(REC_CHUNK_MAX);
    chunk->touched = malloc(REC_CHUNK_ITEMS * sizeof(*chunk->touched));
    if (chunk->bytes && chunk->touched)
        return MD_OK;
    rec_chunk_destroy(chunk);
    *out = NULL;
    return MD_ERR_NOMEM;
}

void rec_chunk_destroy(struct rec_chunk *chunk)
{
    if (!chunk)
        return;
    free(chunk->bytes);
    free(chunk->touched);
    free(chunk);
}

/* ---- writing ---- */

static struct md_wr begin(struct rec_chunk *chunk, uint64_t mono_ns, unsigned kind, unsigned flags)
{
    struct md_wr wr = md_wr_init(chunk->bytes + chunk->length, REC_CHUNK_MAX - chunk->length);

    md_wr_u8(&wr, (uint8_t)(kind | flags));
    rec_put_number(&wr, mono_ns - chunk->last_mono_ns);
    chunk->last_mono_ns = mono_ns;
    return wr;
}

static void end(struct rec_chunk *chunk, const struct md_wr *wr)
{
    chunk->length += (uint32_t)md_wr_length(wr);
    chunk->records++;
}

void rec_chunk_put_item(struct rec_chunk *chunk, uint64_t mono_ns, const struct rec_item *item)
{
    struct md_wr wr = begin(chunk, mono_ns, REC_ITEM, 0);

    rec_put_number(&wr, item->number);
    rec_key_put(&wr, &item->key);
    end(chunk, &wr);
}

void rec_chunk_put_clock(struct rec_chunk *chunk, struct rec_moment now)
{
    struct md_wr wr = begin(chunk, now.mono_ns, REC_CLOCK, 0);

    md_wr_u64(&wr, now.wall_ns);
    end(chunk, &wr);
}

void rec_chunk_put(struct rec_chunk *chunk, uint64_t mono_ns, const struct rec_put *put)
{
    struct md_wr wr = begin(chunk, mono_ns, put->kind, put->flags);

    rec_put_number(&wr, put->item->number);
    if (put->kind == REC_LOST) {
        rec_put_number(&wr, put->count);
        chunk->lost += put->count;
    } else {
        rec_put_number(&wr, put->bytes.length);
        uint8_t *bytes = md_wr_mark(&wr);
        md_wr_bytes(&wr, put->bytes.data, put->bytes.length);
        if (put->kind != REC_CUT && put->bytes.length >= 8)
            rwf_patch_stream_id(bytes, 0);
    }
    end(chunk, &wr);
}

void rec_preamble_put(uint8_t out[REC_CHUNK_PREAMBLE], const struct rec_preamble *preamble)
{
    struct md_wr wr = md_wr_init(out, REC_CHUNK_PREAMBLE);

    md_wr_u64(&wr, preamble->first_mono_ns);
    md_wr_u64(&wr, preamble->last_mono_ns);
    md_wr_u64(&wr, preamble->first_wall_ns);
    md_wr_u32(&wr, preamble->records);
    md_wr_u32(&wr, 0);
}

/* ---- reading ---- */

void rec_preamble_get(const uint8_t bytes[REC_CHUNK_PREAMBLE], struct rec_preamble *preamble)
{
    struct md_rd rd = md_rd_init(bytes, REC_CHUNK_PREAMBLE);

    preamble->first_mono_ns = md_rd_u64(&rd);
    preamble->last_mono_ns = md_rd_u64(&rd);
    preamble->first_wall_ns = md_rd_u64(&rd);
    preamble->records = md_rd_u32(&rd);
}

struct rec_scan rec_scan_start(struct rwf_bytes records, const struct rec_preamble *preamble)
{
    return (struct rec_scan){
        .rd = md_rd_init(records.data, records.length),
        .mono_ns = preamble->first_mono_ns,
        .wall_offset_ns = preamble->first_wall_ns - preamble->first_mono_ns,
        .last_mono_ns = preamble->last_mono_ns,
    };
}

static void read_bytes(struct md_rd *rd, struct rec_raw *raw)
{
    uint64_t length = rec_get_number(rd);
    const uint8_t *bytes = md_rd_bytes(rd, length <= REC_CHUNK_MAX ? (size_t)length : SIZE_MAX);

    raw->bytes = rwf_bytes(bytes, bytes ? (size_t)length : 0);
}

static void read_number(struct md_rd *rd, struct rec_raw *raw)
{
    uint64_t number = rec_get_number(rd);

    if (number == 0 || number > REC_ITEMS_MAX)
        rd->failed = true;
    raw->number = (uint32_t)number;
}

/* The members behind kind and time. */
static void read_rest(struct rec_scan *scan, struct rec_raw *raw)
{
    struct md_rd *rd = &scan->rd;

    switch (raw->kind) {
    case REC_ITEM:
        read_number(rd, raw);
        rec_key_get(rd, &raw->key);
        break;
    case REC_MESSAGE:
    case REC_IMAGE:
    case REC_CUT:
        read_number(rd, raw);
        read_bytes(rd, raw);
        break;
    case REC_LOST:
        read_number(rd, raw);
        raw->count = rec_get_number(rd);
        break;
    case REC_CLOCK:
        scan->wall_offset_ns = md_rd_u64(rd) - scan->mono_ns;
        break;
    default:
        rd->failed = true;
    }
}

int rec_scan_next(struct rec_scan *scan, struct rec_raw *raw)
{
    if (md_rd_ok(&scan->rd) && md_rd_left(&scan->rd) == 0)
        return 0;
    uint8_t head = md_rd_u8(&scan->rd);
    uint64_t by_ns = rec_get_number(&scan->rd);

    if (by_ns > scan->last_mono_ns - scan->mono_ns)
        scan->rd.failed = true;
    if (!md_rd_ok(&scan->rd))
        return MD_ERR_MALFORMED;
    scan->mono_ns += by_ns;
    *raw = (struct rec_raw){ .kind = head & KIND_MASK,
                             .flags = (uint8_t)(head & ~KIND_MASK),
                             .mono_ns = scan->mono_ns };
    read_rest(scan, raw);
    raw->wall_ns = scan->mono_ns + scan->wall_offset_ns;
    return md_rd_ok(&scan->rd) ? 1 : MD_ERR_MALFORMED;
}
