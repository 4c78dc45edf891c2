/* client/session.h - an RSSL channel on a byte stream: the shell around the engine. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLIENT_SESSION_H
#define CLIENT_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "netio/stream.h"
#include "rssl/channel.h"

/* The bytes one read may bring by default: large enough for batches, small enough for the
 * cache. A session that has not read all of it keeps its buffer. */
#define CLIENT_READ_LEAST ((size_t)128 << 10)

/*
 * What a loop has to do for one connection, for our own programs; rmds/client.h offers the same to
 * others. A session dials (and goes back to an older version when the server hangs up on ours),
 * reads, writes, ends in good order. The loop does for each session
 *
 *     when net readiness shows on client_session_descriptor() for client_session_wants(),
 *     or client_session_deadline() has come, or, without a descriptor, once a turn:
 *         while ((n = client_session_turn(s, now, events, max)) > 0)
 *             handle them
 *     at the end of its turn, for sessions it queued messages on:
 *         client_session_flush(s, now)
 *
 * Messages are queued with rssl_outq_reserve() and rssl_outq_commit() on client_session_outq().
 *
 * A loop that would rather do other things may stop calling turn before it said 0; then the
 * deadline is 0: come back at once. Events' views are good until the next call on the same session.
 */
struct client_context; /* one per loop: the pool and the receive buffers of its sessions */
struct client_session;

int client_context_create(const struct rssl_pool_config *pool, struct client_context **out);
void client_context_destroy(struct client_context *context); /* after its sessions */
struct rssl_pool *client_context_pool(struct client_context *context);

struct client_dial {
    const struct net_transport *transport;
    struct net_stream_options options;
    const char *host;
    uint16_t port;
    struct rssl_config rssl; /* role client */
};

/* Tries every address of the host's name, one after the other, before the session closes. Strings
 * of `dial` and what they point to must live as long as the session is not open. Fails as the
 * transport's dial does, or MD_ERR_RANGE for the configuration. */
int client_session_dial(struct client_context *context, const struct client_dial *dial,
                        uint64_t now_ns, struct client_session **out);

/* The server's side of an accepted stream, which it owns from now on, also when this fails. */
int client_session_serve(struct client_context *context, struct net_stream *stream,
                         const struct rssl_config *config, uint64_t now_ns,
                         struct client_session **out);

/* At once; for a good end first rssl_channel_close() and turns until CLOSED. NULL is allowed. */
void client_session_destroy(struct client_session *session);

/*
 * Do what can be done now; up to `max` events. 0: nothing more until the next wake-up. CLOSED comes
 * when all is over: what was queued is written, the peer has been given time to read it.
 */
size_t client_session_turn(struct client_session *session, uint64_t now_ns,
                           struct rssl_event *events, size_t max);

/* Write what is queued. MD_ERR_AGAIN: a part is left; the session waits to be able to go on. */
int client_session_flush(struct client_session *session, uint64_t now_ns);

/* Bytes that are no frame, between two frames: for programs that play a broken peer. MD_ERR_STATE:
 * it is not open, or frames wait to be written. MD_ERR_SYS: not all of them were taken. */
int client_session_write_raw(struct client_session *session, const uint8_t *bytes, size_t length);

/* It may change during a turn (another address, or an older version); the old one stays open until
 * the turn after, so compare and swap it in the loop after each turn. -1: call turn once a turn of
 * the loop, and sleep no longer than NET_POLL_INTERVAL_NS. */
int client_session_descriptor(const struct client_session *session);
unsigned client_session_wants(const struct client_session *session); /* NET_READABLE, ... */
uint64_t client_session_deadline(const struct client_session *session);

/* The channel may be another one after a turn that did not say OPENED yet. */
struct rssl_channel *client_session_channel(struct client_session *session);
struct rssl_outq *client_session_outq(struct client_session *session);
const char *client_session_peer(const struct client_session *session);
/* The stream below, for what TLS knows of the peer. Another one after a turn that did not say
 * OPENED yet. */
const struct net_stream *client_session_stream(const struct client_session *session);
/* One sentence for the log once it is closed, or "". */
const char *client_session_describe(struct client_session *session);

#endif
