/* key.c - see rrmp/key.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rrmp/key.h"

#define XXH_INLINE_ALL
/* Without this each word of a hash of the data path is a call of memcpy. */
#define XXH_FORCE_MEMORY_ACCESS 1
#include <xxhash.h>

#include "base/err.h"

#include "codec.h"

int rrmp_key_decode(const uint8_t *bytes, size_t length, struct rrmp_key *out)
{
    struct md_rd rd = md_rd_init(bytes, length);

    memset(out, 0, sizeof(*out));
    out->domain = md_rd_u8(&rd);
    out->members = md_rd_u8(&rd);
    out->name_type = md_rd_u8(&rd);
    uint8_t quality = md_rd_u8(&rd);
    out->qos.timeliness = quality >> 4;
    out->qos.rate = quality & 0x0f;
    out->qos.time_info = md_rd_u16(&rd);
    out->qos.rate_info = md_rd_u16(&rd);
    out->name = rrmp_rd_name(&rd);
    if (out->members & RRMP_KEY_FILTER)
        out->filter = md_rd_u32(&rd);
    if (out->members & RRMP_KEY_IDENTIFIER)
        out->identifier = (int32_t)md_rd_u32(&rd);
    if (out->members & RRMP_KEY_ATTRIBUTES) {
        out->attributes_type = md_rd_u8(&rd);
        uint16_t attributes_length = md_rd_u16(&rd);
        out->attributes = rrmp_rd_view(&rd, attributes_length);
    }
    if (!md_rd_ok(&rd))
        return MD_ERR_SHORT;
    bool has_stray_name = !(out->members & RRMP_KEY_NAME) && out->name.length > 0;
    if (md_rd_left(&rd) > 0 || (out->members & ~RRMP_KEY_ALL) || has_stray_name)
        return MD_ERR_MALFORMED;
    return MD_OK;
}

void rrmp_key_encode(struct md_wr *wr, const struct rrmp_key *key)
{
    const struct rrmp_view none = { .bytes = NULL, .length = 0 };
    uint8_t *start = md_wr_mark(wr);

    md_wr_u8(wr, key->domain);
    md_wr_u8(wr, key->members & RRMP_KEY_ALL);
    md_wr_u8(wr, key->name_type);
    md_wr_u8(wr, (uint8_t)(key->qos.timeliness << 4 | (key->qos.rate & 0x0f)));
    md_wr_u16(wr, key->qos.time_info);
    md_wr_u16(wr, key->qos.rate_info);
    rrmp_wr_name(wr, key->members & RRMP_KEY_NAME ? key->name : none);
    if (key->members & RRMP_KEY_FILTER)
        md_wr_u32(wr, key->filter);
    if (key->members & RRMP_KEY_IDENTIFIER)
        md_wr_u32(wr, (uint32_t)key->identifier);
    if (key->members & RRMP_KEY_ATTRIBUTES) {
        md_wr_u8(wr, key->attributes_type);
        rrmp_wr_length16(wr, key->attributes.length);
        rrmp_wr_view(wr, key->attributes);
    }
    if (md_wr_ok(wr) && (size_t)(wr->pos - start) > RRMP_KEY_SIZE_MAX)
        wr->failed = true;
}

uint64_t rrmp_key_hash(const void *bytes, size_t length)
{
    return XXH3_64bits(bytes, length);
}
