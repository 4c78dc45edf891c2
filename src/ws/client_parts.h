/* client_parts.h - the client's own fields, its end, and its buffers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CLIENT_PARTS_H
#define WS_CLIENT_PARTS_H

#include <stdarg.h>

#include "base/prng.h"
#include "conn.h"
#include "ws/client.h"

enum ws_client_phase {
    WS_CLIENT_HANDSHAKE,
    WS_CLIENT_OPEN,
    WS_CLIENT_CLOSING, /* what is queued goes out, nothing comes in */
};

/* Bytes in a row, from `begin` to `length`. */
struct ws_client_buffer {
    uint8_t *bytes;
    size_t begin;
    size_t length;
    size_t room;
};

struct ws_client {
    enum ws_client_phase phase;
    uint32_t message_max;
    uint32_t queue_max;
    const struct ws_client_ops *ops;
    void *owner;
    uint64_t heard_ns;
    uint64_t deadline_ns; /* of the handshake */
    struct md_prng masks;
    char accept[32]; /* what the server has to make of our key */
    char protocol[32];
    bool has_parts;
    struct ws_client_buffer kept;  /* what is not a whole frame yet */
    struct ws_client_buffer parts; /* of a message */
    struct ws_client_buffer out;
    char reason[256];
};

/* Moves what is left to the front, adds the bytes. MD_ERR_FULL above `max`, MD_ERR_NOMEM. */
int ws_client_keep(struct ws_client_buffer *buffer, size_t max, const void *bytes, size_t length);
/* The connection ends for this reason; no frame says so. */
void ws_client_end(struct ws_client *client, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
