/* encoder.c - the encoder's levels, lengths and marks; see rmds/rwf_encode.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "encoder.h"

/*
 * A nested length is known only at its end. In the shortest mode one byte is left for it and
 * `end` is lowered by what the longer form would add, so that the room is there if the content
 * has to be moved up; entries below 254 bytes, nearly all, never move.
 *
 *       length_at            pos                end   the buffer's end
 *  ...  | 1 |  content so far |    free room     | kept |
 */
#define LONG16_EXTRA 2
#define LONG15_EXTRA 1

void rwf_encoder_init(struct rwf_encoder *enc, void *buffer, size_t size)
{
    enc->start = buffer;
    enc->pos = buffer;
    enc->end = size ? enc->start + size : enc->start;
    enc->err = RWF_OK;
    enc->depth = 0;
    enc->lengths = RWF_LENGTHS_SHORTEST;
    wire_clear(&enc->level[0], sizeof(enc->level[0]));
    enc->level[0].kind = LEVEL_BASE;
    enc->level[0].slot_is_open = true;
}

struct rwf_mark rwf_encoder_mark(const struct rwf_encoder *enc)
{
    return (struct rwf_mark){
        .pos = enc->pos, .end = enc->end, .depth = enc->depth, .level = enc->level[enc->depth]
    };
}

void rwf_encoder_rollback(struct rwf_encoder *enc, const struct rwf_mark *mark)
{
    /* The flag of entry permissions is in the bytes; it says no more than that some may follow. */
    enc->pos = mark->pos;
    enc->end = mark->end;
    enc->depth = mark->depth;
    enc->level[mark->depth] = mark->level;
    enc->err = RWF_OK;
}

/* ---- levels ---- */

struct rwf_level *encoder_push(struct rwf_encoder *enc, enum level_kind kind, unsigned type)
{
    struct rwf_level *top = encoder_top(enc);

    if (enc->err < 0)
        return NULL;
    if (!top->slot_is_open || (top->container != 0 && top->container != type)) {
        encoder_fail(enc, RWF_ERR_STATE);
        return NULL;
    }
    if (enc->depth >= RWF_DEPTH_MAX) {
        encoder_fail(enc, RWF_ERR_DEPTH);
        return NULL;
    }
    top->slot_is_open = false;
    enc->depth++;
    struct rwf_level *level = encoder_top(enc);
    wire_clear(level, sizeof(*level));
    level->kind = (uint8_t)kind;
    return level;
}

int encoder_pop(struct rwf_encoder *enc, enum level_kind kind)
{
    if (enc->err < 0)
        return enc->err;
    if (encoder_top(enc)->kind != kind)
        return encoder_fail(enc, RWF_ERR_STATE);
    enc->depth--;
    return RWF_OK;
}

int encoder_reserve(struct rwf_encoder *enc, size_t size)
{
    if (size > (size_t)(enc->end - enc->pos))
        return encoder_fail(enc, RWF_ERR_FULL);
    enc->end -= size;
    return RWF_OK;
}

int rwf_raw_add(struct rwf_encoder *enc, struct rwf_bytes bytes)
{
    struct md_wr wr = encoder_writer(enc);

    if (enc->err < 0)
        return enc->err;
    if (!encoder_top(enc)->slot_is_open)
        return encoder_fail(enc, RWF_ERR_STATE);
    wire_wr_view(&wr, bytes);
    int rc = encoder_written(enc, &wr);
    if (rc == RWF_OK)
        encoder_top(enc)->slot_is_open = false;
    return rc;
}

/* ---- nested lengths; `extra` is what the long form adds to the short one ---- */

static inline int open_length(struct rwf_encoder *enc, size_t extra, uint8_t **length_at)
{
    size_t now = enc->lengths == RWF_LENGTHS_RESERVED ? 1 + extra : 1;

    *length_at = enc->pos;
    if (1 + extra > (size_t)(enc->end - enc->pos))
        return encoder_fail(enc, RWF_ERR_FULL);
    enc->pos += now;
    enc->end -= 1 + extra - now;
    return RWF_OK;
}

/* `long_from` is the first length that needs the long form. */
static inline int close_length(struct rwf_encoder *enc, size_t extra, uint8_t *length_at,
                               size_t long_from, size_t max)
{
    bool reserved = enc->lengths == RWF_LENGTHS_RESERVED;
    uint8_t *content = length_at + (reserved ? 1 + extra : 1);
    size_t length = (size_t)(enc->pos - content);

    if (length > max)
        return encoder_fail(enc, RWF_ERR_RANGE);
    if (!reserved)
        enc->end += extra;
    if (!reserved && length < long_from) {
        length_at[0] = (uint8_t)length;
        return RWF_OK;
    }
    if (!reserved) {
        memmove(content + extra, content, length);
        enc->pos += extra;
    }
    if (extra == LONG16_EXTRA)
        *length_at++ = OB16_LONG;
    else
        length |= 0x8000u;
    md_put_be16(length_at, (uint16_t)length);
    return RWF_OK;
}

int encoder_open_length16(struct rwf_encoder *enc, uint8_t **length_at)
{
    return open_length(enc, LONG16_EXTRA, length_at);
}

int encoder_close_length16(struct rwf_encoder *enc, uint8_t *length_at)
{
    return close_length(enc, LONG16_EXTRA, length_at, OB16_LONG, OB16_MAX);
}

int encoder_open_length15(struct rwf_encoder *enc, uint8_t **length_at)
{
    return open_length(enc, LONG15_EXTRA, length_at);
}

int encoder_close_length15(struct rwf_encoder *enc, uint8_t *length_at)
{
    return close_length(enc, LONG15_EXTRA, length_at, 0x80, RB15_MAX);
}
