/* ws/ws.h - the server's side of WebSocket, RFC 6455: bytes in and out, no socket, no clock. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_WS_H
#define WS_WS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/share.h"
#include "base/slice.h"

/*
 * One connection is a ws_conn. Its owner gives it the bytes that came (ws_input) and is called with
 * each whole message; messages that go out are written in place, several to one frame:
 *
 *     uint8_t *room = ws_out_reserve(conn, length, is_vital);   NULL: full
 *     ... one JSON object of at most `length` bytes ...
 *     ws_out_commit(conn, length);
 *
 * and lie in an array: [{...},{...}]. ws_output() closes the frame and lists what is to be written.
 * A connection that has nothing to send and no half message holds no memory but its own struct.
 */
struct ws_conn;
struct ws_pool;

enum ws_close_code {
    WS_CLOSE_NORMAL = 1000,
    WS_CLOSE_GOING_AWAY = 1001,
    WS_CLOSE_PROTOCOL = 1002,
    WS_CLOSE_TOO_BIG = 1009,
};

/* A document for browsers that come without a WebSocket; both are constant. */
struct ws_page {
    struct md_slice body;
    const char *headers; /* lines of HTTP beside length and type, each with its end */
};

/* Texts are constant. */
struct ws_config {
    const char *path;            /* "/WebSocket"; case does not count */
    const char *protocols;       /* names of sub-protocols, blank between them */
    const char *allowed_origins; /* beside the host itself: names, blank between them; "*": any */
    const char *refusal;         /* not NULL: the handshake is answered by 503 and this */
    const struct ws_page *page;  /* served at `/`; NULL: none */
    bool is_loopback;            /* pages that asked for a foreign name get nothing */
    uint32_t message_max;        /* longest message of the client */
    uint32_t queue_max;          /* bytes that may wait to be sent */
    uint64_t guaranteed;         /* bytes that it may queue however much the others hold */
    uint64_t handshake_ns;       /* it must be there by then */
};

/* Called from within ws_input(); text is good until the call returns. */
struct ws_owner_ops {
    void (*opened)(void *owner);
    /* False: what came behind it waits for ws_resume(). */
    bool (*message)(void *owner, const uint8_t *text, size_t length);
};

struct ws_stats {
    uint64_t messages_in;
    uint64_t bytes_in;
    uint64_t messages_out;
    uint64_t bytes_out; /* that the stream took */
    uint64_t frames_out;
    uint64_t full_count; /* messages for which there was no room */
};

/* Of all connections of a pool together; 0: no bound but their own. */
struct ws_pool_config {
    uint64_t output_bytes;     /* that wait to be sent, beyond what is guaranteed to each */
    uint64_t output_share_max; /* see md_pool_room */
    uint64_t input_bytes; /* of messages that are not whole, or wait; who needs more is closed */
    uint64_t input_share_max;
};

int ws_pool_create(const struct ws_pool_config *config, struct ws_pool **out);
void ws_pool_destroy(struct ws_pool *pool); /* NULL is allowed */
/* How often there was no room. */
uint64_t ws_pool_refused(const struct ws_pool *pool);

int ws_create(const struct ws_config *config, struct ws_pool *pool, uint64_t now_ns,
              const struct ws_owner_ops *ops, void *owner, struct ws_conn **out);
void ws_destroy(struct ws_conn *conn); /* NULL is allowed */

/* Counts what the connection holds of the pool's output and input there, in place of the former
 * shares of that number, below MD_SHARES; NULL: nowhere. The caller keeps them until the
 * connection is destroyed. */
void ws_share_set(struct ws_conn *conn, size_t at, struct md_share *output, struct md_share *input);
/* The owner keeps `to` bytes of messages in place of `from`. False: there is no room for more. */
bool ws_hold_input(struct ws_conn *conn, uint64_t from, uint64_t to);

/* Bytes from the stream; they are unmasked in place. */
void ws_input(struct ws_conn *conn, uint64_t now_ns, uint8_t *bytes, size_t length);
/* Takes what waits, message by message, as ws_input() does. */
void ws_resume(struct ws_conn *conn, uint64_t now_ns);
/* True: the owner has taken its share of messages; the others wait for ws_resume(). */
bool ws_is_paused(const struct ws_conn *conn);
/* Why the connection ends, "" while it does not. */
const char *ws_reason(const struct ws_conn *conn);
/* The Origin or Host of a request that was refused for it; for the log. */
const char *ws_origin(const struct ws_conn *conn);
bool ws_is_open(const struct ws_conn *conn);

uint8_t *ws_out_reserve(struct ws_conn *conn, size_t length, bool is_vital);
void ws_out_commit(struct ws_conn *conn, size_t length);
/* Another frame begins behind what is queued. */
void ws_out_end_frame(struct ws_conn *conn);

/* Sends a close frame behind what is queued; nothing is taken in or queued after it. */
void ws_close(struct ws_conn *conn, enum ws_close_code code, const char *reason);

/* Slices of what is to be written; ws_sent() with what was taken of it. */
size_t ws_output(struct ws_conn *conn, struct md_slice *slices, size_t max);
void ws_sent(struct ws_conn *conn, size_t length);
bool ws_has_output(const struct ws_conn *conn);
/* Everything was sent and nothing more will be: end the stream. */
bool ws_is_finished(const struct ws_conn *conn);

void ws_tick(struct ws_conn *conn, uint64_t now_ns);
/* UINT64_MAX: no time to wait for. */
uint64_t ws_deadline(const struct ws_conn *conn);
/* When the last bytes came. */
uint64_t ws_heard_ns(const struct ws_conn *conn);
/* Bytes that wait, and how many there may be. */
uint32_t ws_queued(const struct ws_conn *conn);
uint32_t ws_queue_max(const struct ws_conn *conn);
const struct ws_stats *ws_conn_stats(const struct ws_conn *conn);

#endif
