/* rmds/client.h - RSSL channels for applications: consumers, providers, servers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RMDS_CLIENT_H
#define RMDS_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * This library speaks the transport that real-time market data applications use, as its client and
 * as its server. It carries messages, whole and in order, and does not look into them: rmds/rwf.h
 * reads and writes what is in them.
 *
 * It brings no event loop and no thread. For each channel the application's loop gets a descriptor
 * with what to wait for, a deadline, and calls a turn function when one of them has come:
 *
 *     struct pollfd p = { rmds_channel_descriptor(ch), events_of(rmds_channel_wants(ch)), 0 };
 *     poll(&p, 1, timeout_until(rmds_channel_deadline(ch)));
 *     while ((n = rmds_channel_turn(ch, now, events, 64)) > 0)
 *         for (i = 0; i < n; i++)
 *             handle(&events[i]);
 *     rmds_channel_flush(ch, now);
 *
 * Times are nanoseconds of CLOCK_MONOTONIC (rmds_now() reads it). A context with all its channels
 * and listeners belongs to one thread; different contexts have nothing in common. Functions return
 * 0 or more on success and a negative enum rmds_error else. Nothing blocks, but for the look-up of
 * a host given by name.
 */

enum rmds_error {                        /* rmds_error_text() */
                  RMDS_ERROR_RANGE = -3, /* a value outside its limits, a message too long */
                  RMDS_ERROR_FULL = -4,  /* the output queue is full: the peer reads too slowly */
                  RMDS_ERROR_NOMEM = -5,
                  RMDS_ERROR_SYSTEM = -6,    /* errno says why */
                  RMDS_ERROR_NOT_FOUND = -7, /* no such host */
                  RMDS_ERROR_EXISTS = -8,    /* it is there already */
                  RMDS_ERROR_STATE = -9,     /* the channel is not open */
                  RMDS_ERROR_UNSUPPORTED = -10,
                  RMDS_ERROR_AGAIN = -11, /* not all could be done now */
                  RMDS_ERROR_CLOSED = -12,
};

#define RMDS_NEVER            UINT64_MAX /* a deadline that does not come */

#define RMDS_READABLE         0x1u
#define RMDS_WRITABLE         0x2u

#define RMDS_COMPRESSION_ZLIB 0x1u
#define RMDS_COMPRESSION_LZ4  0x2u

struct rmds_context;
struct rmds_channel;
struct rmds_listener;

/* Options of a channel. rmds_options_init() gives each a usual value; strings are copied. */
struct rmds_options {
    const char *transport;  /* "tcp", "tls", or "rsocket": RDMA, by librmds-rsocket.so */
    const char *host;       /* to connect to; to listen on (NULL: everywhere) */
    const char *interface;  /* local address to connect from; NULL: any */
    uint16_t port;          /* listening on 0: rmds_listener_port() */
    uint16_t fragment_size; /* listener: longest unfragmented message, announced; 6144 */
    bool nodelay;
    bool packing;         /* several messages in a frame */
    uint32_t send_buffer; /* of the kernel, bytes; 0: it decides */
    uint32_t recv_buffer;
    uint32_t guaranteed_buffers; /* of the output queue, in frames */
    uint32_t max_buffers;
    uint32_t message_max;        /* longest message taken or sent, bytes */
    unsigned compression;        /* RMDS_COMPRESSION_... offered, or (listener) allowed */
    unsigned ping_timeout_s;     /* proposed; (listener) the longest granted */
    unsigned ping_timeout_min_s; /* listener */
    unsigned handshake_timeout_ms;
    unsigned attempt; /* which address of the host is tried first; count it up when you retry */
    const char *component;       /* what the peer's operator sees; NULL: the library's name */
    const char *tls_certificate; /* PEM files; a listener needs the first two */
    const char *tls_key;
    const char *tls_ca;          /* NULL: the system's (connecting) */
    bool tls_client_certificate; /* listener: clients must show one */
    bool tls_skip_verify;        /* connecting: take any certificate */
};

enum rmds_event_kind {
    RMDS_EVENT_OPENED,  /* messages may be sent */
    RMDS_EVENT_MESSAGE, /* bytes, length */
    RMDS_EVENT_PING,
    RMDS_EVENT_CLOSED, /* the last one: rmds_channel_reason(); then destroy the channel */
};

struct rmds_event {
    enum rmds_event_kind kind;
    uint32_t length;
    const uint8_t *bytes; /* good until the next call with this channel */
};

struct rmds_channel_info {
    unsigned rwf_major;
    unsigned rwf_minor;
    unsigned fragment_size;
    unsigned ping_timeout_s;
    unsigned compression;  /* RMDS_COMPRESSION_..., 0: none */
    const char *component; /* of the peer */
    const char *peer;      /* address and port */
};

/* Totals of one channel. */
struct rmds_channel_stats {
    uint64_t messages_in;
    uint64_t bytes_in; /* on the wire */
    uint64_t messages_out;
    uint64_t bytes_out;
    uint64_t frames_out;
    uint64_t flushes;
    uint64_t refused; /* reservations that found the queue full */
    uint32_t queued_buffers;
    uint32_t queued_buffers_max;
};

uint64_t rmds_now(void);
const char *rmds_error_text(int error); /* never NULL */

int rmds_context_create(struct rmds_context **out);
void rmds_context_destroy(struct rmds_context *context); /* after its channels and listeners */

void rmds_options_init(struct rmds_options *options);

/* Begin to connect; OPENED or CLOSED follow as events. A server that does not know our version is
 * asked again with an older one. */
int rmds_connect(struct rmds_context *context, const struct rmds_options *options,
                 struct rmds_channel **out);

int rmds_listen(struct rmds_context *context, const struct rmds_options *options,
                struct rmds_listener **out);
int rmds_listener_descriptor(const struct rmds_listener *listener); /* readable: accept */
uint16_t rmds_listener_port(const struct rmds_listener *listener);
/* The next connection, a channel on `context` (which may be another thread's than the listener's,
 * if both are not in use at the same time). RMDS_ERROR_AGAIN: none waits. */
int rmds_listener_accept(struct rmds_listener *listener, struct rmds_context *context,
                         struct rmds_channel **out);
/* Read certificate and key again, for connections from now on. */
int rmds_listener_reload(struct rmds_listener *listener);
void rmds_listener_close(struct rmds_listener *listener); /* NULL is allowed */

/* Do what can be done now; up to `max` events. 0: wait for the descriptor or the deadline. */
size_t rmds_channel_turn(struct rmds_channel *channel, uint64_t now_ns, struct rmds_event *events,
                         size_t max);

/* Room for a message of `length` bytes, to be filled and committed before anything else is done
 * with the channel. NULL: the queue is full, the channel not open, or the message too long. */
uint8_t *rmds_channel_reserve(struct rmds_channel *channel, size_t length);
/* Queue the first `length` bytes of that room. */
void rmds_channel_commit(struct rmds_channel *channel, size_t length);
/* Both with a copy. RMDS_ERROR_FULL, RMDS_ERROR_RANGE, RMDS_ERROR_STATE. */
int rmds_channel_send(struct rmds_channel *channel, const void *message, size_t length);
/* Write what is queued, once for many messages. RMDS_ERROR_AGAIN: the rest goes when the descriptor
 * is writable, in a turn. */
int rmds_channel_flush(struct rmds_channel *channel, uint64_t now_ns);

/* For the loop; look again after each turn: while a channel connects the descriptor may be
 * replaced. */
int rmds_channel_descriptor(const struct rmds_channel *channel);
unsigned rmds_channel_wants(const struct rmds_channel *channel); /* RMDS_READABLE, ... */
uint64_t rmds_channel_deadline(const struct rmds_channel *channel);

/* End in good order: what is queued is written; CLOSED follows as an event. */
void rmds_channel_close(struct rmds_channel *channel);
/* Refuses an accepted connection that has not opened yet; the client gets `text`. */
void rmds_channel_refuse(struct rmds_channel *channel, const char *text);
void rmds_channel_destroy(struct rmds_channel *channel); /* at once; NULL is allowed */

void rmds_channel_info(const struct rmds_channel *channel, struct rmds_channel_info *out);
void rmds_channel_stats(const struct rmds_channel *channel, struct rmds_channel_stats *out);
/* Why it is closed, in one sentence. */
const char *rmds_channel_reason(const struct rmds_channel *channel);

/* Something of the application's own. */
void rmds_channel_set_user(struct rmds_channel *channel, void *user);
void *rmds_channel_user(const struct rmds_channel *channel);

#ifdef __cplusplus
}
#endif

#endif
