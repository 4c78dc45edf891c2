/* chunk.c - see chunk.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "chunk.h"

#include <string.h>

#include "base/err.h"
#include "base/siphash.h"

#define MAGIC      0x524D4C4Eu
#define VERSION    1u
#define SUM_AT     8u /* the checksum is of everything behind it */
#define SUM_BYTES  8u

#define FLAG_FIRST 1u
#define FLAG_LAST  2u

/* Finds what a disk or a crash has broken; who may write there could write anything. */
static uint64_t sum_of(const uint8_t *bytes, size_t length)
{
    static const uint64_t key[2] = { 0x6f70656e726d6473ull, 0x64656c61796c696eull };

    return md_siphash(key, bytes + SUM_AT + SUM_BYTES, length - SUM_AT - SUM_BYTES);
}

void delay_chunk_seal(uint8_t *bytes, size_t length, const struct delay_head *head)
{
    uint8_t written[DELAY_CHUNK_HEAD];
    struct md_wr wr = md_wr_init(written, sizeof(written));

    md_wr_u32(&wr, MAGIC);
    md_wr_u32(&wr, VERSION);
    md_wr_u64(&wr, 0);
    md_wr_u64(&wr, length);
    md_wr_u64(&wr, head->number);
    md_wr_u64(&wr, head->first);
    md_wr_u64(&wr, head->boot);
    md_wr_u64(&wr, head->identity);
    md_wr_u64(&wr, head->mono_ns);
    md_wr_u64(&wr, head->wall_ns);
    md_wr_u32(&wr, head->count);
    memcpy(bytes, written, sizeof(written));
    md_put_be64(bytes + SUM_AT, sum_of(bytes, length));
}

int delay_chunk_read(const uint8_t *bytes, size_t length, struct delay_head *head,
                     struct md_rd *records)
{
    struct md_rd rd = md_rd_init(bytes, length);

    if (length < DELAY_CHUNK_HEAD || md_rd_u32(&rd) != MAGIC || md_rd_u32(&rd) != VERSION ||
        md_rd_u64(&rd) != sum_of(bytes, length) || md_rd_u64(&rd) != length)
        return MD_ERR_MALFORMED;
    head->number = md_rd_u64(&rd);
    head->first = md_rd_u64(&rd);
    head->boot = md_rd_u64(&rd);
    head->identity = md_rd_u64(&rd);
    head->mono_ns = md_rd_u64(&rd);
    head->wall_ns = md_rd_u64(&rd);
    head->count = md_rd_u32(&rd);
    *records = rd;
    return md_rd_ok(&rd) ? MD_OK : MD_ERR_MALFORMED;
}

void delay_record_put(struct md_wr *wr, const struct delay_record *record)
{
    md_wr_u32(wr, (uint32_t)delay_record_size(record->key.length, record->message.length));
    md_wr_u8(wr, record->kind);
    md_wr_u8(wr,
             (uint8_t)((record->is_first ? FLAG_FIRST : 0) | (record->is_last ? FLAG_LAST : 0)));
    md_wr_u16(wr, (uint16_t)record->key.length);
    md_wr_u64(wr, record->mono_ns);
    md_wr_bytes(wr, record->key.data, record->key.length);
    md_wr_bytes(wr, record->message.data, record->message.length);
}

bool delay_record_next(struct md_rd *rd, struct delay_record *record)
{
    size_t length = md_rd_u32(rd);

    if (!md_rd_ok(rd) || length < DELAY_RECORD_HEAD)
        return false;
    record->kind = md_rd_u8(rd);
    uint8_t flags = md_rd_u8(rd);
    record->is_first = (flags & FLAG_FIRST) != 0;
    record->is_last = (flags & FLAG_LAST) != 0;
    size_t key_length = md_rd_u16(rd);
    record->mono_ns = md_rd_u64(rd);
    if (key_length > length - DELAY_RECORD_HEAD)
        return false;
    size_t message_length = length - DELAY_RECORD_HEAD - key_length;
    record->key = rwf_bytes(md_rd_bytes(rd, key_length), key_length);
    record->message = rwf_bytes(md_rd_bytes(rd, message_length), message_length);
    return md_rd_ok(rd);
}
