/* rssl/channel.h - one RSSL connection: handshake, frames, pings, orderly end. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RSSL_CHANNEL_H
#define RSSL_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"
#include "rssl/outq.h"
#include "rssl/pool.h"

/*
 * A channel is an engine: it gets bytes and the time, and gives bytes and events. The shell around
 * it (client/session.h is one) owns the byte stream and does, each turn:
 *
 *     n = read(stream, buffer)                     rssl_channel_input(ch, now, buffer, n)
 *     while (rssl_channel_events(ch, ev, N) > 0)   handle them; the views die with the next call
 *     rssl_channel_tick(ch, now)                   when rssl_channel_deadline() has come
 *     rssl_channel_output(ch, slices, N)           write the slices with one call
 *     rssl_channel_sent(ch, now, written)
 *     if (rssl_channel_is_finished(ch))            shut the stream for writing, and close it
 *
 *   state         | bytes                    | end of stream | time              | close()
 *   CONNECT       | -                        | CLOSED        | handshake timeout | CLOSED
 *   WAIT_REQUEST  | ack, or nak, or CLOSED   | CLOSED        | handshake timeout | CLOSED
 *   WAIT_ACK      | key: ACTIVE; nak: CLOSED | CLOSED (*)    | handshake timeout | CLOSED
 *   WAIT_KEY      | ACTIVE                   | CLOSED        | handshake timeout | CLOSED
 *   ACTIVE        | messages                 | CLOSED        | ping, timeout     | CLOSED, flushes
 *   CLOSED        | dropped                  | -             | -                 | -
 *
 *   (*) an older server closes when it does not know the version: rssl_channel_older_version().
 *
 * Memory: nothing is allocated per message. A message in fragments has a buffer of its own that
 * grows as the fragments arrive; compression has its state once per connection that agreed on it.
 */
enum rssl_role {
    RSSL_ROLE_CLIENT, /* the connecting side */
    RSSL_ROLE_SERVER, /* the listening side */
};

enum rssl_version { /* as in the connection request */
                    RSSL_VERSION_11 = 0x14,
                    RSSL_VERSION_12 = 0x15,
                    RSSL_VERSION_13 = 0x16,
                    RSSL_VERSION_14 = 0x17,
};

enum rssl_compression {
    RSSL_COMPRESSION_NONE = 0,
    RSSL_COMPRESSION_ZLIB = 1,
    RSSL_COMPRESSION_LZ4 = 2,
};

/* Bits of a set of compression types. */
#define RSSL_COMPRESSION_BIT_ZLIB 0x01u
#define RSSL_COMPRESSION_BIT_LZ4  0x02u

enum rssl_state {
    RSSL_STATE_CONNECT,      /* client: rssl_channel_start() is awaited */
    RSSL_STATE_WAIT_REQUEST, /* server: the client's request */
    RSSL_STATE_WAIT_ACK,     /* client: the server's answer */
    RSSL_STATE_WAIT_KEY,     /* server: the client's key */
    RSSL_STATE_ACTIVE,
    RSSL_STATE_CLOSED, /* what is queued may still be written */
};

/* Why a channel is closed. rssl_reason_text() has a phrase for each. */
enum rssl_reason {
    RSSL_REASON_NONE,
    RSSL_REASON_LOCAL,         /* we wanted so */
    RSSL_REASON_PEER_CLOSED,   /* end of stream */
    RSSL_REASON_STREAM_FAILED, /* the byte stream broke */
    RSSL_REASON_REFUSED,       /* client: the server sent a nak; rssl_channel_reason_detail() */
    RSSL_REASON_REFUSED_BY_US, /* server: we sent a nak */
    RSSL_REASON_HANDSHAKE_TIMEOUT,
    RSSL_REASON_PING_TIMEOUT, /* nothing heard for the agreed time */
    RSSL_REASON_STALLED,      /* the peer takes nothing of what is queued */
    RSSL_REASON_NOT_RSSL,     /* the first bytes are not a connection request */
    RSSL_REASON_BAD_REQUEST,
    RSSL_REASON_BAD_VERSION,
    RSSL_REASON_BAD_ACK,
    RSSL_REASON_BAD_KEY,
    RSSL_REASON_BAD_LENGTH, /* a frame shorter than its header or longer than agreed */
    RSSL_REASON_BAD_OPCODE,
    RSSL_REASON_BAD_PACKING,
    RSSL_REASON_BAD_FRAGMENT,
    RSSL_REASON_TOO_BIG, /* a message longer than our limit, or too many half ones */
    RSSL_REASON_BAD_COMPRESSION,
    RSSL_REASON_NO_MEMORY,
};

const char *rssl_reason_text(enum rssl_reason reason);
const char *rssl_state_name(enum rssl_state state);

enum rssl_event_kind {
    RSSL_EVENT_OPENED,  /* messages may be sent; rssl_channel_info() */
    RSSL_EVENT_MESSAGE, /* bytes, length */
    RSSL_EVENT_PING,
    RSSL_EVENT_CLOSED, /* the last one; rssl_channel_reason() */
};

struct rssl_event {
    enum rssl_event_kind kind;
    uint32_t length;
    const uint8_t *bytes; /* a view, good until the next call of events, input or destroy */
};

/* The bytes one read of a connection can take: so many whole frames with the fragment size
 * agreed, but at least what is good for batches, which the shell knows. */
#define RSSL_READ_MAX ((size_t)16 << 20)
size_t rssl_read_size(uint32_t input_buffers, uint16_t message_size_max, size_t least);

/* The values both ends know once it is open. */
struct rssl_info {
    enum rssl_version version;
    enum rssl_compression compression;
    uint16_t message_size_max; /* maxUserMsgSize: longest unfragmented message */
    uint8_t ping_timeout_s;
    bool client_pings;
    bool server_pings;
    uint8_t rwf_major;
    uint8_t rwf_minor;
    char component[256];   /* the peer's, made printable */
    char peer_host[64];    /* server: as the client's request names itself, printable */
    char peer_address[64]; /* server: likewise; not to be trusted */
};

struct rssl_config {
    enum rssl_role role;
    enum rssl_version version;  /* client: what to ask for; server: the newest accepted */
    uint16_t message_size_max;  /* server: announced. 20..63000, usually 6144 */
    uint8_t ping_timeout_s;     /* client: proposed; server: the highest granted */
    uint8_t ping_timeout_min_s; /* server: the lowest granted */
    uint8_t ping_interval_s;  /* silence before we ping, at most a third of the timeout; 0 = that */
    bool client_pings;        /* server: announced; the client is supervised */
    bool server_pings;        /* server: announced; we ping */
    uint8_t compression_bits; /* client: offered; server: allowed */
    bool compression_forced;  /* server: use the (first) allowed type, asked for or not */
    uint8_t zlib_level;       /* server: announced and used; client: 10 = the server's choice */
    uint8_t rwf_major;        /* 14 */
    uint8_t rwf_minor;        /* 1 */
    bool key_exchange;        /* client: ask for it (real ones do); version 14 only */
    bool packing;
    uint32_t guaranteed_buffers;
    uint32_t max_buffers;
    uint32_t input_buffers; /* for the shell, see rssl_read_size(); 0 = what it has by itself */
    uint8_t breach_percent;
    uint8_t ok_percent;
    uint32_t message_max; /* longest message put together from fragments, and sent as such */
    uint64_t handshake_timeout_ns;
    uint64_t stall_timeout_ns; /* queued output and no progress: closed. 0 = never */
    const char *component;     /* copied. NULL: "openrmds VERSION" */
    const char *host;          /* client: own name and address for the request; may be NULL */
    const char *address;
    rssl_pressure_fn pressure; /* see outq.h; may be NULL */
    void *pressure_user;
    uint64_t random; /* for the key exchange; any number */
};

struct rssl_channel_stats {
    uint64_t bytes_in;
    uint64_t frame_count; /* received, pings not counted */
    uint64_t message_count;
    uint64_t message_bytes;
    uint64_t packed_count;     /* messages that came in packed frames */
    uint64_t fragment_count;   /* frames that were fragments */
    uint64_t compressed_count; /* frames that came compressed */
    uint64_t ping_in_count;
    uint64_t ping_out_count;
    uint64_t ignored_count; /* frames the protocol says to ignore */
};

struct rssl_channel; /* belongs to the thread of its pool */

#define RSSL_NEVER UINT64_MAX

/* Usual values for a role; change what you need. */
struct rssl_config rssl_config_default(enum rssl_role role);

/*
 * Make a channel on `pool` (which must outlive it). The handshake timeout runs from `now_ns`.
 * MD_ERR_RANGE: a value outside its limits. MD_ERR_NOMEM. *out is NULL then.
 */
int rssl_channel_create(const struct rssl_config *config, struct rssl_pool *pool, uint64_t now_ns,
                        struct rssl_channel **out);
void rssl_channel_destroy(struct rssl_channel *ch); /* NULL is allowed */

/* Counts what the channel queues beyond its guaranteed buffers at `share`, in place of the former
 * one of that number, below MD_SHARES; NULL: nowhere. The caller keeps it until the channel is
 * destroyed. See rssl_pool_config.share_max. */
void rssl_channel_share_set(struct rssl_channel *ch, size_t at, struct md_share *share);

/* Client: the stream is connected; the request is queued. */
void rssl_channel_start(struct rssl_channel *ch, uint64_t now_ns);

/* Server, before the request has come: answer it with a nak that says `text`. */
void rssl_channel_refuse(struct rssl_channel *ch, const char *text);

/*
 * Bytes arrived. They are read when events are asked for and must stay where they are until
 * rssl_channel_events() has returned 0; only then may the next piece be given.
 */
void rssl_channel_input(struct rssl_channel *ch, uint64_t now_ns, const uint8_t *bytes,
                        size_t length);

/* Its owner does not read now: the silence is not the peer's, and no ping is missed. */
void rssl_channel_heard(struct rssl_channel *ch, uint64_t now_ns);

/* The stream ended (`failed`: with an error). Ask for events afterwards. */
void rssl_channel_input_end(struct rssl_channel *ch, bool failed);

/* Up to `max` events in order; 0: nothing more now. Their views are good until the next call. */
size_t rssl_channel_events(struct rssl_channel *ch, struct rssl_event *events, size_t max);

/* Time has passed: pings are queued, timeouts seen (as events). */
void rssl_channel_tick(struct rssl_channel *ch, uint64_t now_ns);

/* When to call tick next, RSSL_NEVER if no time matters. May be early, never late. */
uint64_t rssl_channel_deadline(const struct rssl_channel *ch);

/* Where messages are queued; see outq.h. The same for the channel's life. */
struct rssl_outq *rssl_channel_outq(struct rssl_channel *ch);

/* Close the open frame and list what is to be written, oldest first. 0: nothing. */
size_t rssl_channel_output(struct rssl_channel *ch, struct md_slice *slices, size_t max);

/* The first `length` of these bytes are written. Say so also when it was none: that is how a peer
 * that does not read is noticed. */
void rssl_channel_sent(struct rssl_channel *ch, uint64_t now_ns, size_t length);

/* Orderly end from our side: what is queued goes out, nothing more is taken in. CLOSED follows as
 * an event. */
void rssl_channel_close(struct rssl_channel *ch);

/* Closed, and nothing is left to write: the stream may go. */
bool rssl_channel_is_finished(const struct rssl_channel *ch);

enum rssl_state rssl_channel_state(const struct rssl_channel *ch);
enum rssl_reason rssl_channel_reason(const struct rssl_channel *ch);
/* A printable sentence on the reason: the text of a nak, the length that was wrong; "" if none. */
const char *rssl_channel_reason_detail(const struct rssl_channel *ch);
/* Client, closed: the version to ask for on a new connection now, or 0: do not fall back. */
enum rssl_version rssl_channel_older_version(const struct rssl_channel *ch);
const struct rssl_info *rssl_channel_info(const struct rssl_channel *ch);
const struct rssl_channel_stats *rssl_channel_stats(const struct rssl_channel *ch);

#endif
