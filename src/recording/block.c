/* block.c - see block.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "block.h"

#include <stdlib.h>

#include <xxhash.h>
#include <zstd.h>

#include "base/err.h"

#define VERSION     2u
#define VERSION_OLD 1u /* without columns */
#define HEAD_SUM_AT 40u

uint64_t rec_sum(const uint8_t *bytes, size_t length)
{
    return XXH64(bytes, length, 0);
}

void rec_block_seal(uint8_t head[REC_BLOCK_HEAD], struct rec_block *block, const uint8_t *stored)
{
    struct md_wr wr = md_wr_init(head, REC_BLOCK_HEAD);

    block->sum = rec_sum(stored, block->stored);
    md_wr_u32(&wr, REC_BLOCK_MAGIC);
    md_wr_u8(&wr, block->kind);
    md_wr_u8(&wr, VERSION);
    md_wr_u8(&wr, block->coding);
    md_wr_u8(&wr, 0);
    md_wr_u32(&wr, block->stored);
    md_wr_u32(&wr, block->expanded);
    md_wr_u64(&wr, block->identity);
    md_wr_u64(&wr, block->number);
    md_wr_u64(&wr, block->sum);
    md_wr_u64(&wr, rec_sum(head, HEAD_SUM_AT));
}

static bool has_fair_lengths(const struct rec_block *block)
{
    switch (block->kind) {
    case REC_BLOCK_FILE:
        return block->stored == block->expanded && block->stored < REC_FILE_ROOM;
    case REC_BLOCK_CHUNK:
        return block->expanded <= REC_CHUNK_MAX && block->stored > REC_CHUNK_PREAMBLE &&
               block->stored <= REC_CHUNK_PREAMBLE + rec_pack_bound(REC_CHUNK_MAX);
    case REC_BLOCK_INDEX:
        return block->expanded <= REC_INDEX_MAX && block->stored <= rec_pack_bound(REC_INDEX_MAX);
    case REC_BLOCK_END:
        return block->stored == REC_END_BYTES && block->expanded == REC_END_BYTES;
    default:
        return false;
    }
}

int rec_block_read(const uint8_t head[REC_BLOCK_HEAD], struct rec_block *block)
{
    struct md_rd rd = md_rd_init(head, REC_BLOCK_HEAD);

    if (md_rd_u32(&rd) != REC_BLOCK_MAGIC)
        return MD_ERR_MALFORMED;
    block->kind = md_rd_u8(&rd);
    uint8_t version = md_rd_u8(&rd);
    block->coding = md_rd_u8(&rd);
    (void)md_rd_u8(&rd);
    block->stored = md_rd_u32(&rd);
    block->expanded = md_rd_u32(&rd);
    block->identity = md_rd_u64(&rd);
    block->number = md_rd_u64(&rd);
    block->sum = md_rd_u64(&rd);
    if (md_rd_u64(&rd) != rec_sum(head, HEAD_SUM_AT) || version < VERSION_OLD ||
        version > VERSION || block->coding > (version == VERSION ? REC_CODING_COLUMNS : 0))
        return MD_ERR_MALFORMED;
    return has_fair_lengths(block) ? MD_OK : MD_ERR_MALFORMED;
}

/* ---- compression ---- */

struct rec_packer {
    ZSTD_CCtx *in;
    ZSTD_DCtx *out;
};

size_t rec_pack_bound(size_t length)
{
    return ZSTD_compressBound(length);
}

int rec_packer_create(int level, struct rec_packer **out)
{
    struct rec_packer *packer = calloc(1, sizeof(*packer));

    *out = packer;
    if (!packer)
        return MD_ERR_NOMEM;
    packer->in = ZSTD_createCCtx();
    packer->out = ZSTD_createDCtx();
    if (!packer->in || !packer->out ||
        ZSTD_isError(ZSTD_CCtx_setParameter(packer->in, ZSTD_c_compressionLevel, level))) {
        rec_packer_destroy(packer);
        *out = NULL;
        return MD_ERR_NOMEM;
    }
    return MD_OK;
}

void rec_packer_destroy(struct rec_packer *packer)
{
    if (!packer)
        return;
    ZSTD_freeCCtx(packer->in);
    ZSTD_freeDCtx(packer->out);
    free(packer);
}

size_t rec_pack(struct rec_packer *packer, uint8_t *out, size_t size, const uint8_t *bytes,
                size_t length)
{
    size_t stored = ZSTD_compress2(packer->in, out, size, bytes, length);

    return ZSTD_isError(stored) ? 0 : stored;
}

int rec_unpack(struct rec_packer *packer, uint8_t *out, size_t expanded, const uint8_t *bytes,
               size_t length)
{
    size_t found = ZSTD_decompressDCtx(packer->out, out, expanded, bytes, length);

    return !ZSTD_isError(found) && found == expanded ? MD_OK : MD_ERR_MALFORMED;
}

/* ---- contents of the first and the last block ---- */

static void put_text(struct md_wr *wr, struct rwf_bytes text)
{
    size_t length = text.length < 255 ? text.length : 255;

    md_wr_u8(wr, (uint8_t)length);
    md_wr_bytes(wr, text.data, length);
}

static struct rwf_bytes get_text(struct md_rd *rd)
{
    size_t length = md_rd_u8(rd);
    const uint8_t *bytes = md_rd_bytes(rd, length);

    return rwf_bytes(bytes, bytes ? length : 0);
}

void rec_file_info_put(struct md_wr *wr, const struct rec_file_info *info)
{
    md_wr_u64(wr, info->mono_ns);
    md_wr_u64(wr, info->wall_ns);
    md_wr_u64(wr, info->series);
    md_wr_u32(wr, info->part);
    put_text(wr, info->program);
    put_text(wr, info->source);
}

int rec_file_info_get(struct md_rd rd, struct rec_file_info *info)
{
    info->mono_ns = md_rd_u64(&rd);
    info->wall_ns = md_rd_u64(&rd);
    info->series = md_rd_u64(&rd);
    info->part = md_rd_u32(&rd);
    info->program = get_text(&rd);
    info->source = get_text(&rd);
    return md_rd_ok(&rd) ? MD_OK : MD_ERR_MALFORMED;
}

void rec_file_end_put(struct md_wr *wr, const struct rec_file_end *end)
{
    md_wr_u64(wr, end->index_at);
    md_wr_u64(wr, end->chunks);
    md_wr_u64(wr, end->records);
    md_wr_u64(wr, end->items);
    md_wr_u64(wr, end->last_mono_ns);
    md_wr_u64(wr, end->lost);
}

int rec_file_end_get(struct md_rd rd, struct rec_file_end *end)
{
    end->index_at = md_rd_u64(&rd);
    end->chunks = md_rd_u64(&rd);
    end->records = md_rd_u64(&rd);
    end->items = md_rd_u64(&rd);
    end->last_mono_ns = md_rd_u64(&rd);
    end->lost = md_rd_u64(&rd);
    return md_rd_ok(&rd) ? MD_OK : MD_ERR_MALFORMED;
}

void rec_key_put(struct md_wr *wr, const struct rec_key *key)
{
    md_wr_u8(wr, key->domain);
    md_wr_u16(wr, key->service_id);
    put_text(wr, key->service);
    put_text(wr, key->name);
}

void rec_key_get(struct md_rd *rd, struct rec_key *key)
{
    key->domain = md_rd_u8(rd);
    key->service_id = md_rd_u16(rd);
    key->service = get_text(rd);
    key->name = get_text(rd);
}
