/* stream_private.h - what is below a stream, for the files of this folder. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NETIO_STREAM_PRIVATE_H
#define NETIO_STREAM_PRIVATE_H

#include "netio/stream.h"

struct net_stream_ops {
    const char *transport; /* its name */
    void (*close)(struct net_stream *stream);
    int (*ready)(struct net_stream *stream);
    int64_t (*read)(struct net_stream *stream, uint8_t *bytes, size_t size);
    int64_t (*write)(struct net_stream *stream, const struct md_slice *slices, size_t count);
    void (*shutdown)(struct net_stream *stream);
    int (*descriptor)(const struct net_stream *stream);
    unsigned (*wants)(const struct net_stream *stream, bool has_output);
    unsigned (*poll)(struct net_stream *stream);
    /* NULL: a name has one address. */
    int (*next)(struct net_stream *stream, const struct net_stream_options *options,
                const char *host, struct net_stream **out);
    /* NULL: peers show no certificates. */
    bool (*identity)(const struct net_stream *stream, enum net_identity which, char *out,
                     int64_t *expires_s);
    bool (*serial)(const struct net_stream *stream, char *out); /* likewise */
};

/* The head of every stream. */
struct net_stream {
    const struct net_stream_ops *ops;
    char peer[72];
    char error[120];
};

struct net_listener_ops {
    int (*accept)(struct net_listener *listener, struct net_stream **out);
    int (*descriptor)(const struct net_listener *listener);
    uint16_t (*port)(const struct net_listener *listener);
    void (*close)(struct net_listener *listener);
};

struct net_listener {
    const struct net_listener_ops *ops;
};

/* TLS over another stream, which it owns from then on, also when this fails. `name`: what the
 * server's certificate must show, NULL for the server's side. */
int net_tls_wrap(struct net_tls *tls, struct net_stream *inner, const char *name,
                 struct net_stream **out);

#endif
