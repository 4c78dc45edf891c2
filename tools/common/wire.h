/* wire.h - what the tools' connections run on: RSSL or JSON, over TCP, TLS or rsocket. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_WIRE_H
#define TOOLS_WIRE_H

#include <stdbool.h>
#include <stddef.h>

#include "netio/stream.h"

/* The words of the command line; NULL: not given. */
struct wire_words {
    const char *name; /* rssl, socket, tcp; tls, encrypted; rsocket; websocket, ws, wss */
    bool takes_json;  /* the last three are allowed */
    const char *certificate, *key, *ca;
    const char *method; /* epoll, poll: eventMethod of rmds.cnf */
};

struct wire {
    const struct net_transport *transport;
    struct net_tls *tls; /* NULL with TCP */
    bool is_json;        /* WebSocket with JSON, not RSSL */
    bool is_plain;       /* of net_stream_options */
};

/* For before the loop is made. MD_OK, or an error with a sentence that names the option. A listener
 * needs a certificate and its key; without `ca` a client trusts the system's authorities. */
int wire_make(const struct wire_words *words, bool is_listener, struct wire *wire, char *error,
              size_t error_size);
void wire_fini(struct wire *wire);

#endif
