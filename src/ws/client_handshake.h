/* client_handshake.h - the request for a WebSocket, and the answer to it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WS_CLIENT_HANDSHAKE_H
#define WS_CLIENT_HANDSHAKE_H

#include "client_parts.h"

/* Queues the request. */
int ws_client_ask(struct ws_client *client, const struct ws_client_config *config);
/* Judges the answer and returns its length; 0: it is not whole. */
size_t ws_client_answer(struct ws_client *client, const uint8_t *bytes, size_t length);

#endif
