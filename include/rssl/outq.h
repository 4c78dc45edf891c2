/* rssl/outq.h - one channel's output: messages packed into frames, frames laid end to end. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RSSL_OUTQ_H
#define RSSL_OUTQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/share.h"
#include "base/slice.h"
#include "base/writer.h"

/*
 * How a message gets out, the hot path of a fan-out:
 *
 *     uint8_t *room = rssl_outq_reserve(q, length);       room for `length` bytes, or NULL: full
 *     memcpy(room, message, length); patch the stream id  into the caller's words
 *     rssl_outq_commit(q, length);                        it is queued; nothing is sent yet
 *
 * and once per batch and channel: rssl_channel_output() for the list of what is to be written,
 * one write of it, rssl_channel_sent() with what the write took.
 *
 *     chunk  [ sent | frame | frame | frame ..... | open frame: hdr, n msg, n msg, n msg, _____ ]
 *                                                                                  pos     limit
 *
 * A message goes behind the ones already in the open packed frame as long as it fits; else that
 * frame is closed (its header written, its payload compressed if the channel does that) and the
 * next begins. With packing off each message has its own frame. A message longer than a frame is
 * cut in fragments at commit. A queue that holds a single message sends it as a plain frame.
 *
 * Limits are counted in buffers of one frame (maxFragmentSize + 3 bytes): the queue may always
 * hold `guaranteed` of them, and up to `max` as long as the pool's shared bytes last.
 *
 * The fields are for the inline functions below and for rssl; callers use the functions.
 */
struct rssl_chunk;
struct rssl_pool;
struct rssl_codec;

enum rssl_outq_mode {
    RSSL_OUTQ_PACKED, /* the reserved room lies in the open packed frame */
    RSSL_OUTQ_SINGLE, /* in a frame of its own */
    RSSL_OUTQ_STAGED, /* in a buffer beside the queue, to be cut in fragments */
    RSSL_OUTQ_SHUT,   /* nothing may be queued: not open yet, or closing */
};

/* Totals since the channel was made. */
struct rssl_outq_stats {
    uint64_t message_count;
    uint64_t message_bytes;
    uint64_t packed_count; /* messages that shared their frame with others */
    uint64_t frame_count;
    uint64_t fragment_count;   /* frames that were fragments */
    uint64_t compressed_count; /* frames sent compressed */
    uint64_t saved_bytes;      /* what compression took off; 0 if it only added */
    uint64_t flush_count;      /* writes that took something */
    uint64_t wire_bytes;       /* bytes the network took */
    uint64_t full_count;       /* reservations refused */
    uint64_t breach_count;     /* times the queue rose above the breach mark */
    uint64_t queued_bytes_max; /* the deepest it has been */
};

/* The queue rose above its breach mark (`is_slow`) or fell back below its OK mark. Called from
 * within reserve, commit and sent: must not touch the channel. */
typedef void (*rssl_pressure_fn)(void *user, bool is_slow);

struct rssl_outq_config {
    uint32_t frame_max;          /* longest frame, header included */
    uint32_t guaranteed_buffers; /* >= 1 */
    uint32_t max_buffers;        /* >= guaranteed */
    uint32_t message_max;        /* longest message, fragmented */
    uint8_t breach_percent;      /* of max_buffers */
    uint8_t ok_percent;
    uint8_t fragment_id_size; /* 2; 1 in the older versions */
    bool packing;
    rssl_pressure_fn pressure; /* NULL: nobody is told */
    void *pressure_user;
};

struct rssl_outq {
    /* Written for each message: one cache line. */
    uint8_t *pos;   /* end of the open packed frame; where the next length goes */
    uint8_t *limit; /* end of its room; == pos when there is none */
    uint32_t mode;  /* enum rssl_outq_mode of the last reservation */
    uint32_t frame_message_count;
    uint64_t frame_message_bytes;
    uint8_t *frame; /* start of the open frame's header, NULL: none */
    struct rssl_chunk *head;
    struct rssl_chunk *tail;
    /* Written for each frame and each flush. */
    struct rssl_pool *pool;
    struct rssl_codec *codec; /* NULL: no compression */
    uint8_t *staging;
    size_t staging_size;
    size_t reserved;
    uint64_t queued_bytes; /* closed frames, and the open one counted in full */
    uint64_t shared_bytes; /* of which beyond the guaranteed ones */
    struct md_shares shares;
    uint64_t guaranteed_bytes;
    uint64_t max_bytes;
    uint64_t breach_bytes;
    uint64_t ok_bytes;
    size_t message_max;   /* the longest message an empty queue takes */
    uint32_t payload_max; /* of a whole frame, with what compression may add kept free */
    uint16_t fragment_id;
    bool is_slow;
    bool shut;
    bool broken; /* memory ran out in the middle of a message */
    struct rssl_outq_config config;
    struct rssl_outq_stats stats;
};

/* The rare half of reserve and commit. */
uint8_t *rssl_outq_reserve_slow(struct rssl_outq *q, size_t length);
void rssl_outq_commit_slow(struct rssl_outq *q, size_t length);

/* The message fits in the frame that is open and accounted for. */
static inline bool rssl_outq_fits_frame(const struct rssl_outq *q, size_t length)
{
    size_t room = (size_t)(q->limit - q->pos);

    return length - 1 < room && length + 2 <= room;
}

/*
 * Room for a message of `length` bytes, for the caller to fill and commit before anything else
 * is done with the channel. NULL: the queue is full (flush, or count the peer as slow), the
 * channel is not open, or `length` is 0 or more than rssl_outq_message_max().
 */
static inline uint8_t *rssl_outq_reserve(struct rssl_outq *q, size_t length)
{
    if (__builtin_expect(rssl_outq_fits_frame(q, length), 1)) {
        q->mode = RSSL_OUTQ_PACKED;
        return q->pos + 2;
    }
    return rssl_outq_reserve_slow(q, length);
}

/* Queue the `length` bytes written to the room reserved last, 1 up to the length reserved. A
 * reservation that is not committed is forgotten by the next. */
static inline void rssl_outq_commit(struct rssl_outq *q, size_t length)
{
    if (__builtin_expect(q->mode != RSSL_OUTQ_PACKED, 0)) {
        rssl_outq_commit_slow(q, length);
        return;
    }
    md_put_be16(q->pos, (uint16_t)length);
    q->pos += 2 + length;
    q->frame_message_count++;
    q->frame_message_bytes += length;
}

/* The next message will be as long, and others are served before it: a queue among many is in no
 * near cache by then unless what it will write to is fetched now. */
static inline void rssl_outq_fetch(const struct rssl_outq *q, size_t length)
{
    __builtin_prefetch(q->pos + 63, 1);
    __builtin_prefetch(q->pos + length, 1);
}

/* Reserve, copy, commit. MD_ERR_FULL: no room now. MD_ERR_RANGE: never. MD_ERR_STATE: not open. */
int rssl_outq_write(struct rssl_outq *q, const void *message, size_t length);

/* The longest message that an empty queue would take; 0 if the channel is not open. */
size_t rssl_outq_message_max(const struct rssl_outq *q);

/* Nothing waits to be written. */
bool rssl_outq_is_empty(const struct rssl_outq *q);

/* Buffers in use, of config.max_buffers. */
uint32_t rssl_outq_depth(const struct rssl_outq *q);

/* Totals, those of the open frame included. */
void rssl_outq_stats(const struct rssl_outq *q, struct rssl_outq_stats *out);

/* Switch packing on or off for what is queued from now on. */
void rssl_outq_set_packing(struct rssl_outq *q, bool packing);

/*
 * For the channel only.
 */
void rssl_outq_init(struct rssl_outq *q, struct rssl_pool *pool); /* shut: raw bytes only */
void rssl_outq_fini(struct rssl_outq *q);
void rssl_outq_clear(struct rssl_outq *q); /* what is queued is dropped */
/* The handshake is done: messages may be queued. `codec` stays the caller's. */
void rssl_outq_open(struct rssl_outq *q, const struct rssl_outq_config *config,
                    struct rssl_codec *codec);
void rssl_outq_shut(struct rssl_outq *q); /* what is queued still goes out */
/* Queue bytes as they are: handshake messages and pings. MD_ERR_NOMEM if there is no chunk. */
int rssl_outq_raw(struct rssl_outq *q, const uint8_t *bytes, size_t length);
size_t rssl_outq_gather(struct rssl_outq *q, struct md_slice *slices, size_t max);
void rssl_outq_sent(struct rssl_outq *q, size_t length);

#endif
