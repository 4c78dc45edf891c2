/* planes.c - see planes.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "planes.h"

#include <string.h>

#include "base/err.h"

#define SHORT_MAX 200u /* a frame of its own would cost more than it saves */

enum plane { PLANE_CONSTANT = 0, PLANE_SHORT = 1, PLANE_FRAME = 2, PLANE_PLAIN = 3 };

/* ---- writing ---- */

static bool is_constant(const uint8_t *bytes, size_t count)
{
    return count < 2 || memcmp(bytes, bytes + 1, count - 1) == 0;
}

static void put_frame(struct rec_planes_in *in, const uint8_t *bytes, size_t count)
{
    size_t room = md_wr_left(&in->body);
    size_t stored = rec_pack(in->packer, md_wr_mark(&in->body), room, bytes, count);

    if (stored == 0 || stored >= count) {
        md_wr_u8(&in->meta, PLANE_PLAIN);
        md_wr_bytes(&in->body, bytes, count);
        return;
    }
    md_wr_u8(&in->meta, PLANE_FRAME);
    rec_put_number(&in->meta, stored);
    (void)md_wr_take(&in->body, stored);
}

void rec_plane_put(struct rec_planes_in *in, const uint8_t *bytes, size_t count)
{
    if (count == 0)
        return;
    if (is_constant(bytes, count)) {
        md_wr_u8(&in->meta, PLANE_CONSTANT);
        md_wr_u8(&in->meta, bytes[0]);
    } else if (count <= SHORT_MAX) {
        md_wr_u8(&in->meta, PLANE_SHORT);
        md_wr_bytes(&in->meta, bytes, count);
    } else {
        put_frame(in, bytes, count);
    }
}

void rec_text_put(struct rec_planes_in *in, const uint8_t *bytes, size_t count)
{
    rec_put_number(&in->meta, count);
    rec_plane_put(in, bytes, count);
}

void rec_numbers_put(struct rec_planes_in *in, const uint64_t *numbers, size_t count)
{
    uint64_t all = 0;
    unsigned width = 0;

    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++)
        all |= numbers[i];
    for (; all; all >>= 8)
        width++;
    md_wr_u8(&in->meta, (uint8_t)width);
    for (unsigned plane = 0; plane < width; plane++) {
        for (size_t i = 0; i < count; i++)
            in->plane[i] = (uint8_t)(numbers[i] >> 8 * plane);
        rec_plane_put(in, in->plane, count);
    }
}

/* ---- reading ---- */

static void get_frame(struct rec_planes_out *out, uint8_t *bytes, size_t count)
{
    uint64_t length = rec_get_number(&out->meta);
    const uint8_t *stored =
        md_rd_bytes(&out->body, length <= REC_BODY_MAX ? (size_t)length : SIZE_MAX);

    if (!stored || rec_unpack(out->packer, bytes, count, stored, (size_t)length) != MD_OK)
        out->meta.failed = true;
}

void rec_plane_get(struct rec_planes_out *out, uint8_t *bytes, size_t count)
{
    const uint8_t *plain = NULL;

    if (count == 0 || !md_rd_ok(&out->meta))
        return;
    switch (md_rd_u8(&out->meta)) {
    case PLANE_CONSTANT:
        memset(bytes, md_rd_u8(&out->meta), count);
        return;
    case PLANE_FRAME:
        get_frame(out, bytes, count);
        return;
    case PLANE_SHORT:
        plain = md_rd_bytes(&out->meta, count);
        break;
    case PLANE_PLAIN:
        plain = md_rd_bytes(&out->body, count);
        break;
    default:
        break;
    }
    if (plain)
        memcpy(bytes, plain, count);
    else
        out->meta.failed = true;
}

size_t rec_text_get(struct rec_planes_out *out, uint8_t *bytes, size_t max)
{
    uint64_t count = rec_get_number(&out->meta);

    if (count > max)
        out->meta.failed = true;
    if (!md_rd_ok(&out->meta))
        return 0;
    rec_plane_get(out, bytes, (size_t)count);
    return (size_t)count;
}

void rec_numbers_get(struct rec_planes_out *out, uint64_t *numbers, size_t count)
{
    if (count == 0)
        return;
    unsigned width = md_rd_u8(&out->meta);
    if (width > 8)
        out->meta.failed = true;
    memset(numbers, 0, count * sizeof(*numbers));
    for (unsigned plane = 0; plane < width && md_rd_ok(&out->meta); plane++) {
        rec_plane_get(out, out->plane, count);
        for (size_t i = 0; i < count; i++)
            numbers[i] |= (uint64_t)out->plane[i] << 8 * plane;
    }
}
