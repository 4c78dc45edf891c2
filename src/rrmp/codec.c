/* codec.c - see codec.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "codec.h"

struct rrmp_view rrmp_rd_view(struct md_rd *rd, size_t length)
{
    const uint8_t *p = md_rd_bytes(rd, length);

    return (struct rrmp_view){ .bytes = p, .length = p ? length : 0 };
}

struct rrmp_view rrmp_rd_rest(struct md_rd *rd)
{
    return rrmp_rd_view(rd, md_rd_left(rd));
}

struct rrmp_view rrmp_rd_name(struct md_rd *rd)
{
    uint8_t length = md_rd_u8(rd);

    return rrmp_rd_view(rd, length);
}

struct rrmp_view rrmp_rd_padded(struct md_rd *rd, size_t length)
{
    struct rrmp_view view = rrmp_rd_view(rd, length);

    md_rd_bytes(rd, (4 - length % 4) % 4);
    return view;
}

void rrmp_wr_view(struct md_wr *wr, struct rrmp_view view)
{
    uint8_t *p = md_wr_take(wr, view.length);

    if (p && view.bytes && view.length)
        memcpy(p, view.bytes, view.length);
}

void rrmp_wr_padded(struct md_wr *wr, struct rrmp_view view)
{
    static const uint8_t zero[4];

    rrmp_wr_view(wr, view);
    md_wr_bytes(wr, zero, (4 - view.length % 4) % 4);
}

void rrmp_wr_name(struct md_wr *wr, struct rrmp_view view)
{
    if (view.length > RRMP_NAME_MAX)
        wr->failed = true;
    md_wr_u8(wr, (uint8_t)view.length);
    rrmp_wr_view(wr, view);
}

void rrmp_wr_length16(struct md_wr *wr, size_t length)
{
    if (length > UINT16_MAX)
        wr->failed = true;
    md_wr_u16(wr, (uint16_t)length);
}
