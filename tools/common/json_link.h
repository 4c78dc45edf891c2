/* json_link.h - one connection of WebSocket and JSON on the loop of a tool that speaks RWF. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_JSON_LINK_H
#define TOOLS_JSON_LINK_H

#include "link.h"
#include "rmds/rwf_dictionary.h"

/*
 * A link (link.h) whose bytes are JSON: what its owner sends as a message of RWF goes out as text,
 * and what comes is handed to it as the message of RWF that it stands for, one at a time. The link
 * answers pings, and asks a silent server.
 */
struct json_link;
struct json_context; /* what all links of a loop share: the reader and its buffers */

int json_context_create(struct json_context **out);      /* MD_ERR_NOMEM */
void json_context_destroy(struct json_context *context); /* after its links; NULL is allowed */
/* Fields have names from now on; without it they are left out. It must live as long as the links.
 */
void json_context_use(struct json_context *context, const struct rwf_dictionary *dictionary);

struct json_dial {
    const struct net_transport *transport;
    struct net_stream_options options;
    const char *host;
    uint16_t port;
    struct link_ops ops;
    /* A text that cannot be used, of the server or in the eyes of the server. */
    void (*on_error)(void *owner, struct rwf_bytes text);
    void *owner;
    unsigned read_factor; /* reads at once, 0: no bound */
};

/* Fails as the transport's dial does. */
int json_link_dial(struct md_loop *loop, struct json_context *context, const struct json_dial *dial,
                   struct json_link **out);
void json_link_destroy(struct json_link *link); /* NULL is allowed */
void json_link_start(struct json_link *link);

/* A message of RWF. MD_ERR_FULL: longer than the server takes, or too many wait. */
int json_link_send(struct json_link *link, struct rwf_bytes message);
int json_link_flush(struct json_link *link);  /* MD_ERR_AGAIN: a part is left */
void json_link_close(struct json_link *link); /* in good order; on_closed follows */

uint64_t json_link_bytes_in(const struct json_link *link); /* of texts that came */

#endif
