/* conn.h - a connection's own fields, for the files of ws only. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CONN_H
#define WS_CONN_H

#include "base/share.h"
#include "ws/ws.h"

#define WS_HEAD_MAX    10u /* of a frame */
#define WS_CHUNK_SIZE  (32u << 10)
#define WS_CONTROL_MAX 125u
#define WS_REQUEST_MAX (16u << 10)
#define WS_ORIGIN_MAX  96

enum ws_opcode {
    WS_CONTINUATION = 0,
    WS_TEXT = 1,
    WS_BINARY = 2,
    WS_CLOSE = 8,
    WS_PING = 9,
    WS_PONG = 10,
};

enum ws_phase {
    WS_HANDSHAKE,
    WS_OPEN,
    WS_CLOSING, /* what is queued goes out, nothing comes in */
};

/* Frames end to end; of a chunk of its own size, one large message. */
struct ws_chunk {
    struct ws_chunk *next;
    uint32_t size;
    uint32_t begin; /* sent so far */
    uint32_t end;
    uint8_t bytes[];
};

struct ws_kept {
    uint8_t *bytes;
    size_t length;
    size_t room;
};

struct ws_pool {
    struct ws_chunk *idle;
    uint32_t idle_count;
    struct md_pool_room output; /* what connections hold beyond what is their own */
    struct md_pool_room input;  /* of messages that are not whole yet */
};

struct ws_conn {
    struct ws_config config;
    struct ws_pool *pool;
    uint64_t held;                         /* bytes of chunks */
    struct md_shares shares, input_shares; /* by whom chunks and input are held */
    const struct ws_owner_ops *ops;
    void *owner;
    enum ws_phase phase;
    uint64_t opened_ns;
    uint64_t heard_ns;
    const char *reason;
    char origin[WS_ORIGIN_MAX];
    /* Input: what was not a whole frame yet, and the parts of a message. */
    struct ws_kept kept, parts;
    uint64_t input_held; /* bytes of both, and what the owner keeps */
    bool has_parts;
    bool is_paused;
    /* Output. */
    struct ws_chunk *head;
    struct ws_chunk *tail;
    uint32_t frame; /* where the open frame begins in the tail, UINT32_MAX: none is open */
    uint32_t queued;
    struct md_slice page;  /* what is left of it; goes out behind the chunks */
    uint32_t pongs_queued; /* of it, bytes of answers to pings, since none was */
    uint64_t pongs_end;    /* the last one ends behind so many bytes of output */
    struct ws_stats stats;
};

/* ---- handshake.c ---- */
/* Answers the request that ends before `length`; false: it was refused. */
bool ws_handshake(struct ws_conn *conn, const uint8_t *request, size_t length);
/* The answer without a handshake: a status of HTTP and a sentence. */
void ws_refuse(struct ws_conn *conn, int status, const char *more, const char *text);
/* A server answers a key of 24 characters with this. */
bool ws_accept_key(const char *key, char out[32]);

/* ---- output.c ---- */
/* The connection ends for this reason; no frame says so. */
void ws_end(struct ws_conn *conn, const char *reason);
/* Queues bytes as they are; false: no memory. */
bool ws_out_raw(struct ws_conn *conn, const uint8_t *bytes, size_t length);
/* Queues constant bytes behind everything else; they are not copied. */
void ws_out_page(struct ws_conn *conn, struct md_slice page);
bool ws_out_control(struct ws_conn *conn, enum ws_opcode opcode, const uint8_t *bytes,
                    size_t length);
void ws_out_clear(struct ws_conn *conn);

#endif
