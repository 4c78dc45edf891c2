/* reader.c - received bytes to events: frames, packed messages, fragments. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "channel_private.h"

#define PARTIAL_FIRST_SIZE 65536u

/* A frame taken apart; views into the frame, or into the codec's memory. */
struct frame {
    uint8_t flags;
    uint8_t extended;
    uint32_t total;
    uint16_t id;
    const uint8_t *payload;
    size_t length;
};

/* Is this a length a message may have now? */
static bool check_length(struct rssl_channel *ch, const uint8_t *bytes, size_t have)
{
    uint32_t length = md_be16(bytes);

    if (ch->state == RSSL_STATE_WAIT_REQUEST) {
        if (length >= 12 && length <= RSSL_HANDSHAKE_MAX)
            return true;
        rssl_channel_not_rssl(ch, bytes, have);
        return false;
    }
    if (length >= RSSL_FRAME_HEADER && length <= ch->frame_max)
        return true;
    rssl_channel_detail(ch, "length ", length, ", at most ", ch->frame_max, " agreed");
    rssl_channel_fail(ch, RSSL_REASON_BAD_LENGTH, false);
    return false;
}

static void release_frame(struct rssl_channel *ch)
{
    if (ch->chunk)
        rssl_pool_give(ch->pool, ch->chunk);
    ch->chunk = NULL;
    ch->frame = ch->small;
    ch->frame_filled = 0;
    ch->frame_held = false;
}

/* Move input to the frame in the making until it has `want` bytes; false: not enough. */
static bool fill(struct rssl_channel *ch, uint32_t want)
{
    size_t n = want - ch->frame_filled;

    if (n > md_rd_left(&ch->input))
        n = md_rd_left(&ch->input);
    if (n > 0)
        memcpy(ch->frame + ch->frame_filled, md_rd_bytes(&ch->input, n), n);
    ch->frame_filled += (uint32_t)n;
    return ch->frame_filled == want;
}

/* The frame in the making is `length` long: have room for it. */
static bool make_room(struct rssl_channel *ch, uint32_t length)
{
    if (length <= sizeof(ch->small) || ch->chunk)
        return true;
    ch->chunk = rssl_pool_take(ch->pool);
    if (!ch->chunk) {
        rssl_channel_fail(ch, RSSL_REASON_NO_MEMORY, false);
        return false;
    }
    memcpy(ch->chunk->bytes, ch->frame, ch->frame_filled);
    ch->frame = ch->chunk->bytes;
    return true;
}

/* The next whole message: in the caller's bytes if it lies there in one piece, else put together.
 * NULL: not all of it is there, or the channel is closed. */
static const uint8_t *next_whole(struct rssl_channel *ch, size_t *length)
{
    if (ch->frame_filled == 0 && md_rd_left(&ch->input) >= 2) {
        if (!check_length(ch, ch->input.pos, md_rd_left(&ch->input)))
            return NULL;
        *length = md_be16(ch->input.pos);
        if (*length <= md_rd_left(&ch->input))
            return md_rd_bytes(&ch->input, *length);
    }
    if (ch->frame_filled < 2) {
        if (!fill(ch, 2) || !check_length(ch, ch->frame, 2))
            return NULL;
    }
    *length = md_be16(ch->frame);
    if (!make_room(ch, (uint32_t)*length) || !fill(ch, (uint32_t)*length))
        return NULL;
    ch->frame_held = true;
    return ch->frame;
}

static void fail_frame(struct rssl_channel *ch, enum rssl_reason reason, const struct frame *frame)
{
    if (ch->detail[0] == '\0')
        rssl_channel_detail(ch, "flags ", frame->flags, ", extended ", frame->extended, "");
    rssl_channel_fail(ch, reason, false);
}

/* Take the headers off. */
static bool parse_headers(const struct rssl_channel *ch, struct md_rd rd, struct frame *frame)
{
    (void)md_rd_u16(&rd);
    frame->flags = md_rd_u8(&rd);
    frame->extended = frame->flags & RSSL_FLAG_EXT ? md_rd_u8(&rd) : 0;
    if (frame->extended & RSSL_EXT_FRAGMENT_FIRST)
        frame->total = md_rd_u32(&rd);
    if (frame->extended & (RSSL_EXT_FRAGMENT_FIRST | RSSL_EXT_FRAGMENT_NEXT))
        frame->id =
            rssl_version_fragment_id_size(ch->info.version) == 2 ? md_rd_u16(&rd) : md_rd_u8(&rd);
    frame->length = md_rd_left(&rd);
    frame->payload = rd.pos;
    return md_rd_ok(&rd);
}

/* A compressed frame: expand it, with the first half's headers if it is a second half. 1: go on
 * with *frame; 0: nothing to deliver yet; < 0: failed. */
static int expand(struct rssl_channel *ch, const uint8_t *bytes, struct frame *frame)
{
    int rc;

    ch->stop = true; /* the next compressed frame overwrites what this one becomes */
    if (ch->split) {
        const uint8_t *rest = frame->payload;
        size_t length = frame->length;
        if (frame->flags & (RSSL_FLAG_EXT | RSSL_FLAG_SPLIT))
            return MD_ERR_MALFORMED;
        ch->split = false;
        memset(frame, 0, sizeof(*frame));
        parse_headers(ch, md_rd_init(ch->split_header, ch->split_header_length), frame);
        rc = rssl_codec_join(ch->codec, rest, length, &frame->payload, &frame->length);
    } else if (frame->flags & RSSL_FLAG_SPLIT) {
        ch->split = true;
        ch->split_header_length = (uint8_t)(frame->payload - bytes);
        memcpy(ch->split_header, bytes, ch->split_header_length);
        return rssl_codec_keep(ch->codec, frame->payload, frame->length);
    } else {
        rc = rssl_codec_expand(ch->codec, frame->payload, frame->length, &frame->payload,
                               &frame->length);
    }
    return rc == MD_OK ? 1 : rc;
}

static void drop_partial(struct rssl_channel *ch, struct rssl_partial *partial)
{
    free(partial->bytes);
    rssl_pool_assemble(ch->pool, partial->size, 0);
    ch->partial_bytes -= partial->total;
    memset(partial, 0, sizeof(*partial));
}

void rssl_channel_drop_partials(struct rssl_channel *ch)
{
    for (size_t i = 0; ch->partials && i < RSSL_PARTIAL_MAX; i++) {
        if (ch->partials[i].bytes)
            drop_partial(ch, &ch->partials[i]);
    }
    free(ch->partials);
    ch->partials = NULL;
    free(ch->message_held);
    ch->message_held = NULL;
    release_frame(ch);
}

/* The slot of a message by its id, or a free one. */
static struct rssl_partial *find_partial(struct rssl_channel *ch, bool is_free, uint16_t id)
{
    for (size_t i = 0; ch->partials && i < RSSL_PARTIAL_MAX; i++) {
        struct rssl_partial *partial = &ch->partials[i];
        if (is_free ? !partial->bytes : (partial->bytes && partial->id == id))
            return partial;
    }
    return NULL;
}

/* A message in fragments begins. */
static struct rssl_partial *begin_partial(struct rssl_channel *ch, const struct frame *frame)
{
    struct rssl_partial *partial = find_partial(ch, false, frame->id);

    if (partial)
        drop_partial(ch, partial);
    if (frame->total > ch->config.message_max) {
        rssl_channel_detail(ch, "message of ", frame->total, " bytes, at most ",
                            ch->config.message_max, "");
        rssl_channel_fail(ch, RSSL_REASON_TOO_BIG, false);
        return NULL;
    }
    if (!ch->partials)
        ch->partials = calloc(RSSL_PARTIAL_MAX, sizeof(*ch->partials));
    partial = find_partial(ch, true, 0);
    if (!partial || ch->partial_bytes + frame->total > 2 * (uint64_t)ch->config.message_max) {
        rssl_channel_detail(ch, "too many messages in fragments at once, with ",
                            ch->partial_bytes + frame->total, " bytes", 0, NULL);
        rssl_channel_fail(ch, RSSL_REASON_TOO_BIG, false);
        return NULL;
    }
    /* Memory follows what really comes, not what is announced. */
    uint32_t size = frame->total < PARTIAL_FIRST_SIZE ? frame->total : PARTIAL_FIRST_SIZE;
    if (size < frame->length)
        size = (uint32_t)frame->length;
    bool is_allowed = rssl_pool_assemble(ch->pool, 0, size);
    partial->bytes = is_allowed ? malloc(size) : NULL;
    if (!partial->bytes) {
        if (is_allowed)
            rssl_pool_assemble(ch->pool, size, 0);
        rssl_channel_fail(ch, RSSL_REASON_NO_MEMORY, false);
        return NULL;
    }
    partial->size = size;
    partial->total = frame->total;
    partial->filled = 0;
    partial->id = frame->id;
    ch->partial_bytes += frame->total;
    return partial;
}

static bool append_partial(struct rssl_channel *ch, struct rssl_partial *partial,
                           const struct frame *frame)
{
    if (frame->length > partial->total - partial->filled) {
        rssl_channel_detail(ch, "fragments beyond the ", partial->total, " bytes announced", 0,
                            NULL);
        fail_frame(ch, RSSL_REASON_BAD_FRAGMENT, frame);
        return false;
    }
    uint32_t filled = partial->filled + (uint32_t)frame->length;
    if (filled > partial->size) {
        uint64_t size = 2 * (uint64_t)partial->size;
        if (size < filled)
            size = filled;
        if (size > partial->total)
            size = partial->total;
        bool may_grow = rssl_pool_assemble(ch->pool, partial->size, size);
        uint8_t *bytes = may_grow ? realloc(partial->bytes, (size_t)size) : NULL;
        if (!bytes) {
            if (may_grow)
                rssl_pool_assemble(ch->pool, size, partial->size);
            rssl_channel_fail(ch, RSSL_REASON_NO_MEMORY, false);
            return false;
        }
        partial->bytes = bytes;
        partial->size = (uint32_t)size;
    }
    if (frame->length)
        memcpy(partial->bytes + partial->filled, frame->payload, frame->length);
    partial->filled = filled;
    return true;
}

/* A fragment; the event if it completes its message. */
static size_t take_fragment(struct rssl_channel *ch, const struct frame *frame,
                            struct rssl_event *event)
{
    struct rssl_partial *partial;

    ch->stats.fragment_count++;
    if (frame->extended & RSSL_EXT_FRAGMENT_FIRST) {
        if (frame->total == 0) {
            ch->stats.ignored_count++;
            return 0;
        }
        partial = begin_partial(ch, frame);
        if (!partial)
            return 0;
    } else {
        partial = find_partial(ch, false, frame->id);
        if (!partial) {
            ch->stats.ignored_count++;
            return 0;
        }
    }
    if (!append_partial(ch, partial, frame) || partial->filled < partial->total)
        return 0;

    *event = (struct rssl_event){ RSSL_EVENT_MESSAGE, partial->total, partial->bytes };
    ch->message_held = partial->bytes; /* one a time, and for a moment: not counted */
    rssl_pool_assemble(ch->pool, partial->size, 0);
    ch->stop = true;
    ch->partial_bytes -= partial->total;
    memset(partial, 0, sizeof(*partial));
    ch->stats.message_count++;
    ch->stats.message_bytes += event->length;
    return 1;
}

/* Messages of the packed frame at hand, as many as there is room for. */
static size_t unpack(struct rssl_channel *ch, struct rssl_event *events, size_t max)
{
    const uint8_t *pos = ch->packed.pos, *end = ch->packed.end;
    size_t count = 0, bytes = 0;

    while (count < max && pos < end) {
        size_t left = (size_t)(end - pos);
        size_t length = left >= 2 ? md_be16(pos) : 1;
        if (length == 0) { /* the rest is not for us */
            pos = end;
            break;
        }
        if (length + 2 > left) {
            rssl_channel_detail(ch, "a packed length runs over the end of its frame, ", left,
                                " bytes left", 0, NULL);
            rssl_channel_fail(ch, RSSL_REASON_BAD_PACKING, false);
            break;
        }
        events[count++] = (struct rssl_event){ RSSL_EVENT_MESSAGE, (uint32_t)length, pos + 2 };
        bytes += length;
        pos += 2 + length;
    }
    ch->packed.pos = pos;
    ch->stats.packed_count += count;
    ch->stats.message_count += count;
    ch->stats.message_bytes += bytes;
    return count;
}

/* One frame; the count of events it gave, of which a packed frame has more to come. */
static size_t take_frame(struct rssl_channel *ch, const uint8_t *bytes, size_t length,
                         struct rssl_event *event)
{
    struct frame frame = { 0 };

    if (length == RSSL_FRAME_HEADER) {
        ch->stats.ping_in_count++;
        *event = (struct rssl_event){ .kind = RSSL_EVENT_PING };
        return 1;
    }
    ch->stats.frame_count++;
    if (!parse_headers(ch, md_rd_init(bytes, length), &frame)) {
        fail_frame(ch, RSSL_REASON_BAD_LENGTH, &frame);
        return 0;
    }
    if (frame.flags & RSSL_FLAG_COMP) {
        ch->stats.compressed_count++;
        int rc = ch->codec ? expand(ch, bytes, &frame) : MD_ERR_MALFORMED;
        if (rc < 0)
            fail_frame(ch, rc == MD_ERR_NOMEM ? RSSL_REASON_NO_MEMORY : RSSL_REASON_BAD_COMPRESSION,
                       &frame);
        if (rc != 1)
            return 0;
    } else if (!(frame.flags & RSSL_FLAG_DATA)) {
        fail_frame(ch, RSSL_REASON_BAD_OPCODE, &frame);
        return 0;
    }
    if (frame.extended & (RSSL_EXT_FRAGMENT_FIRST | RSSL_EXT_FRAGMENT_NEXT))
        return take_fragment(ch, &frame, event);
    if (frame.flags & RSSL_FLAG_EXT || frame.length == 0) {
        ch->stats.ignored_count++;
        return 0;
    }
    if (frame.flags & RSSL_FLAG_PACKED) {
        ch->packed = md_rd_init(frame.payload, frame.length);
        return 0;
    }
    *event = (struct rssl_event){ RSSL_EVENT_MESSAGE, (uint32_t)frame.length, frame.payload };
    ch->stats.message_count++;
    ch->stats.message_bytes += frame.length;
    return 1;
}

/* The bytes that the last events pointed to are no longer needed. */
static void release_views(struct rssl_channel *ch)
{
    free(ch->message_held);
    ch->message_held = NULL;
    if (md_rd_left(&ch->packed) > 0 || ch->reread)
        return;
    ch->stop = false;
    if (ch->frame_held)
        release_frame(ch);
}

/* Frames until `max` events are there, or something must be read before the next may come. */
static size_t read_frames(struct rssl_channel *ch, struct rssl_event *events, size_t max)
{
    size_t count = 0;

    while (count < max && !ch->opened_pending && ch->state != RSSL_STATE_CLOSED) {
        if (md_rd_left(&ch->packed) > 0) {
            count += unpack(ch, events + count, max - count);
            continue;
        }
        if ((ch->stop || ch->frame_held) && !ch->reread) {
            if (count > 0)
                break; /* views point there */
            release_views(ch);
        }
        size_t length = ch->reread_length;
        const uint8_t *bytes = ch->reread ? ch->reread : next_whole(ch, &length);
        ch->reread = NULL;
        if (!bytes)
            break;
        if (ch->state == RSSL_STATE_ACTIVE) {
            count += take_frame(ch, bytes, length, events + count);
        } else if (ch->state == RSSL_STATE_WAIT_KEY && !ch->awaits_key) {
            /* The first frame of a client without a key: open before it. */
            rssl_channel_activate(ch);
            ch->reread = bytes;
            ch->reread_length = length;
        } else {
            rssl_channel_handshake(ch, bytes, length);
        }
    }
    return count;
}

size_t rssl_channel_events(struct rssl_channel *ch, struct rssl_event *events, size_t max)
{
    size_t count = 0;

    if (max == 0)
        return 0;
    release_views(ch);
    for (;;) {
        count += read_frames(ch, events + count, max - count);
        if (count == max || !ch->opened_pending)
            break;
        ch->opened_pending = false;
        events[count++] = (struct rssl_event){ .kind = RSSL_EVENT_OPENED };
    }
    if (count < max && ch->closed_pending && ch->state == RSSL_STATE_CLOSED) {
        ch->closed_pending = false;
        events[count++] = (struct rssl_event){ .kind = RSSL_EVENT_CLOSED };
    }
    return count;
}
