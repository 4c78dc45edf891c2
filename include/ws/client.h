/* ws/client.h - the client's side of WebSocket, RFC 6455: bytes in and out, no socket, no clock. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CLIENT_H
#define WS_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

/*
 * One connection is a ws_client. Its owner gives it the bytes that came (ws_client_input) and is
 * called with each whole message; ws_client_send() queues a message as one masked frame, and
 * ws_client_output() lists what is to be written. The first output is the request of HTTP.
 */
struct ws_client;

#define WS_CLIENT_KEY_SIZE 16

/* Texts are copied. */
struct ws_client_config {
    const char *host;                /* the server as it was dialed, "name:port" */
    const char *path;                /* "/WebSocket" */
    const char *protocol;            /* one sub-protocol */
    uint32_t message_max;            /* longest message of the server */
    uint32_t queue_max;              /* bytes that may wait to be sent */
    uint64_t handshake_ns;           /* the answer must be there by then */
    uint8_t key[WS_CLIENT_KEY_SIZE]; /* random; of the handshake */
    uint64_t seed;                   /* random; of the masks */
};

/* Called from within ws_client_input(); text is good until the call returns. */
struct ws_client_ops {
    void (*opened)(void *owner);
    void (*message)(void *owner, const uint8_t *text, size_t length);
};

/* Fails with MD_ERR_NOMEM, MD_ERR_RANGE when the request gets too long. */
int ws_client_create(const struct ws_client_config *config, uint64_t now_ns,
                     const struct ws_client_ops *ops, void *owner, struct ws_client **out);
void ws_client_destroy(struct ws_client *client); /* NULL is allowed */

void ws_client_input(struct ws_client *client, uint64_t now_ns, const uint8_t *bytes,
                     size_t length);

/* A text frame. MD_ERR_STATE: not open. MD_ERR_FULL: queue_max. MD_ERR_NOMEM. */
int ws_client_send(struct ws_client *client, const uint8_t *text, size_t length);
/* Sends a close frame behind what is queued; nothing is taken in or queued after it. */
void ws_client_close(struct ws_client *client, unsigned code, const char *reason);

/* The bytes to be written; ws_client_sent() counts those that were taken. */
struct md_slice ws_client_output(const struct ws_client *client);
void ws_client_sent(struct ws_client *client, size_t length);

bool ws_client_is_open(const struct ws_client *client);
/* Everything was sent and nothing more will be: end the stream. */
bool ws_client_is_finished(const struct ws_client *client);
/* Why the connection ends, "" while it does not. */
const char *ws_client_reason(const struct ws_client *client);

void ws_client_tick(struct ws_client *client, uint64_t now_ns);
uint64_t ws_client_deadline(const struct ws_client *client); /* UINT64_MAX: none */
uint64_t ws_client_heard_ns(const struct ws_client *client); /* when the last bytes came */

#endif
