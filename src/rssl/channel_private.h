/* channel_private.h - the channel's inside, for the files of this folder. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RSSL_CHANNEL_PRIVATE_H
#define RSSL_CHANNEL_PRIVATE_H

#include "base/cursor.h"
#include "codec.h"
#include "frame.h"
#include "pool_private.h"
#include "rssl/channel.h"
#include "rssl/handshake.h"

/* Messages of which we hold fragments at once. Real senders have three priorities. */
#define RSSL_PARTIAL_MAX 16u

/* A message of which fragments have come. */
struct rssl_partial {
    uint8_t *bytes; /* NULL: the slot is free */
    uint32_t total;
    uint32_t filled;
    uint32_t size; /* allocated; grows with what has come, up to total */
    uint16_t id;
};

struct rssl_channel {
    struct rssl_config config;
    struct rssl_pool *pool;
    struct rssl_codec *codec;
    enum rssl_state state;
    enum rssl_reason reason;
    bool opened_pending; /* events not told yet */
    bool closed_pending;
    bool key_asked;     /* client: we asked for the key exchange */
    bool awaits_key;    /* server: the next message is the key, not a frame */
    bool request_sent;  /* client: the request went out */
    bool refused;       /* server: answer the request with a nak */
    uint32_t frame_max; /* longest frame; RSSL_HANDSHAKE_MAX until it is agreed */

    /* Input: what the caller gave, and a frame of which only a part has come. */
    struct md_rd input;
    uint8_t *frame; /* small, or chunk->bytes when the frame is longer */
    struct rssl_chunk *chunk;
    uint32_t frame_filled;
    bool frame_held;       /* views point into it */
    struct md_rd packed;   /* messages of a packed frame not told yet */
    const uint8_t *reread; /* a frame seen, to be taken once OPENED is told */
    size_t reread_length;
    bool stop;             /* views point into what the next frame would overwrite */
    uint8_t *message_held; /* put together from fragments, told, to be freed */
    bool split;            /* the first half of a split frame is kept */
    uint8_t split_header[RSSL_FRAME_HEADER_MAX];
    uint8_t split_header_length;
    struct rssl_partial *partials; /* RSSL_PARTIAL_MAX, made with the first fragment */
    uint64_t partial_bytes;        /* sum of the totals */

    /* Time. */
    uint64_t now_ns;
    uint64_t received_ns;
    uint64_t sent_ns;
    uint64_t handshake_due_ns;
    uint64_t linger_due_ns;
    uint64_t blocked_ns;       /* since when the peer has taken nothing; RSSL_NEVER: it takes */
    uint64_t ping_timeout_ns;  /* RSSL_NEVER: the peer is not supervised */
    uint64_t ping_interval_ns; /* RSSL_NEVER: we do not ping */

    _Alignas(64) struct rssl_outq outq; /* what each message writes stands in one cache line */
    struct rssl_channel_stats stats;
    struct rssl_info info;
    char component[256];
    char host[129];
    char address[65];
    char detail[160];
    uint8_t small[RSSL_HANDSHAKE_MAX];
};

/* Close with a reason and, unless NULL, a detail that was or will be put in ch->detail. What is
 * queued stays only if `flush`. */
void rssl_channel_fail(struct rssl_channel *ch, enum rssl_reason reason, bool flush);

/* ch->detail = texts with two numbers in between: "length 7000, at most 6147 agreed". With `after`
 * NULL there is only the first number. */
void rssl_channel_detail(struct rssl_channel *ch, const char *before, uint64_t a,
                         const char *between, uint64_t b, const char *after);

/* Printable copy: other bytes become '.'; always ended. */
void rssl_printable(const uint8_t *bytes, size_t length, char *out, size_t size);

/* A complete message of the handshake (connect.c). */
void rssl_channel_handshake(struct rssl_channel *ch, const uint8_t *bytes, size_t length);
/* The first bytes cannot begin a connection request. */
void rssl_channel_not_rssl(struct rssl_channel *ch, const uint8_t *bytes, size_t length);
/* Half-received messages and frames are forgotten. */
void rssl_channel_drop_partials(struct rssl_channel *ch);
/* The handshake is through. */
void rssl_channel_activate(struct rssl_channel *ch);

#endif
