/* ranges.c - lists of sequence numbers, as NAK and NCF carry them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "ranges.h"

#include "base/writer.h"

bool rrcp_ranges_add(struct range_builder *b, uint64_t first, uint64_t count)
{
    uint64_t offset = first - b->base;

    if (offset > UINT32_MAX - PACKET_RANGE_TOTAL || first < b->base)
        return false;
    if (b->count > 0) {
        uint32_t last = b->count - 1;

        if ((uint64_t)b->ranges[last].offset + b->ranges[last].count == offset &&
            b->total + count <= PACKET_RANGE_TOTAL) {
            b->ranges[last].count += (uint32_t)count;
            b->total += count;
            return true;
        }
    }
    if (b->count == PACKET_RANGES_MAX || b->total + count > PACKET_RANGE_TOTAL)
        return false;
    b->ranges[b->count].offset = (uint32_t)offset;
    b->ranges[b->count].count = (uint32_t)count;
    b->total += count;
    b->count++;
    return true;
}

uint32_t rrcp_ranges_write(const struct range_builder *b, struct packet_range out[])
{
    for (uint32_t i = 0; i < b->count; i++) {
        md_put_be32(out[i].offset, b->ranges[i].offset);
        md_put_be32(out[i].count, b->ranges[i].count);
    }
    return b->count * (uint32_t)sizeof(out[0]);
}
