/* broken.c - see broken.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "broken.h"

#include <string.h>

#include "rmds/rwf.h"

#define AT_CLASS     2u
#define CLASS_BITS   0x1fu
#define UNKNOWN      0x1fu      /* a class that nobody has */
#define NOT_OPEN     0x7ffffff0 /* a stream that no client opens */
#define AT_COUNT     1u         /* within a field list of standard data */
#define AT_LENGTH    5u         /* of its first field */
#define LENGTH_MAX_1 0xfdu      /* the longest in one byte */

/* Always the same bytes. */
static size_t noise(uint8_t *out)
{
    uint32_t state = 20261127;

    for (size_t i = 0; i < FAULT_NOISE; i++) {
        state = state * 1664525u + 1013904223u;
        out[i] = (uint8_t)(state >> 24);
    }
    return FAULT_NOISE;
}

size_t fault_break(enum fault_broken kind, const uint8_t *message, size_t length, uint8_t *out)
{
    struct rwf_peek peek;

    memcpy(out, message, length);
    if (rwf_peek(rwf_bytes(message, length), &peek) != RWF_OK || peek.payload_length <= AT_LENGTH ||
        kind == FAULT_BROKEN_NOISE)
        return noise(out);
    uint8_t *payload = out + peek.payload_at;
    switch (kind) {
    case FAULT_BROKEN_TRUNCATED:
        return peek.payload_at + peek.payload_length / 2;
    case FAULT_BROKEN_HEADER:
        out[0] = out[1] = 0xff;
        return length;
    case FAULT_BROKEN_CLASS:
        out[AT_CLASS] = (uint8_t)((out[AT_CLASS] & ~CLASS_BITS) | UNKNOWN);
        return length;
    case FAULT_BROKEN_CONTAINER:
        out[peek.members_at - 1] = RWF_TYPE_MAP - RWF_TYPE_NO_DATA;
        return length;
    case FAULT_BROKEN_COUNT:
        payload[AT_COUNT] = payload[AT_COUNT + 1] = 0xff;
        return length;
    case FAULT_BROKEN_LENGTH:
        payload[AT_LENGTH] = LENGTH_MAX_1;
        return length;
    case FAULT_BROKEN_STREAM:
        rwf_patch_stream_id(out, NOT_OPEN);
        return length;
    default: /* tiny */
        return 1;
    }
}

/* The header of a frame: u16 length with itself, u8 flags: 0x02 data, 0x10 packed, 0x01 extended
 * ones behind, of these 0x04 a further fragment, with its id. */
size_t fault_break_frame(enum fault_frame kind, uint8_t out[FAULT_NOISE])
{
    static const struct {
        size_t length;
        uint8_t bytes[10];
    } frames[] = {
        [FAULT_FRAME_SHORT] = { 3, { 0, 1, 0x02 } },
        [FAULT_FRAME_LONG] = { 8, { 0xff, 0xff, 0x02 } },
        [FAULT_FRAME_FLAGS] = { 8, { 0, 8, 0xe0 } },
        [FAULT_FRAME_PACKED] = { 9, { 0, 9, 0x12, 0x7f, 0xff } },
        [FAULT_FRAME_FRAGMENT] = { 10, { 0, 10, 0x03, 0x04, 0x7e, 0xee } },
        [FAULT_FRAME_CUT] = { 10, { 0, 100, 0x02 } },
    };

    if (kind == FAULT_FRAME_NOISE)
        return noise(out);
    memcpy(out, frames[kind].bytes, frames[kind].length);
    return frames[kind].length;
}
