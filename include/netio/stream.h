/* netio/stream.h - byte streams: one interface over TCP and TLS. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NETIO_STREAM_H
#define NETIO_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

/*
 * A stream is never waited for: each call does what can be done at once. It is driven in one of
 * two manners. Descriptor-driven: net_stream_descriptor() goes to the event loop, which wakes the
 * owner for what net_stream_wants() asks. Poll-driven (no descriptor): the loop calls
 * net_stream_poll() once a turn and bounds its sleep to NET_POLL_INTERVAL_NS while one is open.
 * Owners that handle both do so in a few lines and know nothing else about what is below.
 *
 * A wake-up says that something may be possible now, not what: try both reading and what waits to
 * be written.
 *
 * A stream belongs to one thread at a time; it may be handed over between calls.
 */
struct net_stream;
struct net_listener;
struct net_tls;

#define NET_POLL_INTERVAL_NS 1000000u

/* Readiness, and interest in it. */
#define NET_READABLE 0x1u
#define NET_WRITABLE 0x2u

struct net_stream_options {
    bool nodelay;          /* TCP_NODELAY */
    uint32_t send_buffer;  /* bytes; 0 = the kernel tunes it */
    uint32_t recv_buffer;  /* likewise */
    uint32_t unsent_max;   /* bytes the kernel may hold before it has sent them; 0 = no bound */
    const char *interface; /* local address to bind; NULL = any */
    struct net_tls *tls;   /* needed by net_tls_transport; must outlive the stream */
    const char *tls_host;  /* client: the name the certificate must show; NULL = that dialed */
    uint32_t attempt;      /* dial: which of a name's addresses is the first, counted round */
    uint32_t backlog;      /* listener; 0 = 1024 */
    bool is_plain;         /* sockets by the calls that libraries in front of the kernel know */
};

/*
 * What makes streams. `host` is a name or an address, IPv4 or IPv6; NULL for a listener: any. Names
 * are looked up on the spot, which may block; addresses never do.
 */
struct net_transport {
    const char *name;
    /* The stream is usually still connecting when this returns MD_OK; see net_stream_ready(). */
    int (*dial)(const struct net_stream_options *options, const char *host, uint16_t port,
                struct net_stream **out);
    /* port 0: one is chosen; net_listener_port(). */
    int (*listen)(const struct net_stream_options *options, const char *host, uint16_t port,
                  struct net_listener **out);
};

extern const struct net_transport net_tcp_transport;
extern const struct net_transport net_tls_transport;

void net_stream_close(struct net_stream *stream); /* at once; NULL is allowed */

/* MD_OK: connected, bytes may flow. MD_ERR_AGAIN: not yet; wait for net_stream_wants(). Else it
 * failed: net_stream_error() says how. */
int net_stream_ready(struct net_stream *stream);

/* A dialed stream did not connect: dial the next address of the same name, found by the same
 * look-up, with the options and the host of the dial. The caller closes both streams.
 * MD_ERR_NOT_FOUND: every address was tried, or this stream has connected. */
int net_stream_next(struct net_stream *stream, const struct net_stream_options *options,
                    const char *host, struct net_stream **out);

/*
 * Up to `size` bytes. > 0: that many came. MD_ERR_AGAIN: none now. MD_ERR_CLOSED: the peer has
 * ended its side. MD_ERR_SYS: broken. A read that filled `size` may have left more behind that no
 * descriptor tells of: read again. One that gave less has taken all there was.
 */
int64_t net_stream_read(struct net_stream *stream, uint8_t *bytes, size_t size);

/* Writes what is taken at once of the slices, with one call to the kernel. >= 0: bytes taken; less
 * than offered: wait until writable. MD_ERR_CLOSED or MD_ERR_SYS: broken. */
int64_t net_stream_write(struct net_stream *stream, const struct md_slice *slices, size_t count);

/* TCP_NODELAY from now on, or no more; nothing where there is no such thing. */
void net_stream_nodelay_set(struct net_stream *stream, bool is_on);

/* Round trip of the path in microseconds, as the kernel has smoothed it; 0: it is not known. */
uint32_t net_stream_rtt_us(const struct net_stream *stream);

/* No more will be written; the peer sees the end after what was sent. Reading goes on. */
void net_stream_shutdown(struct net_stream *stream);

/* For the event loop only; -1: poll-driven. */
int net_stream_descriptor(const struct net_stream *stream);

/* The events to wait for: NET_READABLE, NET_WRITABLE. `has_output`: the owner has bytes to write.
 */
unsigned net_stream_wants(const struct net_stream *stream, bool has_output);

/* The events possible now without waiting. Poll-driven: asks the transport. Descriptor-driven:
 * tells of bytes held above the descriptor (TLS), else 0. */
unsigned net_stream_poll(struct net_stream *stream);

/* "127.0.0.1:40112", "[::1]:40112"; the peer's, and for tls the version behind it. */
const char *net_stream_peer(const struct net_stream *stream);

/* The names in a certificate that one may be known by; of several the first counts. */
enum net_identity {
    NET_IDENTITY_CN,    /* of the subject, if it has one only */
    NET_IDENTITY_DN,    /* the whole subject, as in RFC 2253 */
    NET_IDENTITY_EMAIL, /* of the alternative names, as all below */
    NET_IDENTITY_DNS,
    NET_IDENTITY_URI,
};
#define NET_IDENTITY_MAX 128 /* with its zero */

/* Of the certificate that the peer has shown, and that is trusted. False: it has shown none, or the
 * certificate has no such name, or one that is too long, or has control characters. */
bool net_stream_identity(const struct net_stream *stream, enum net_identity which,
                         char out[NET_IDENTITY_MAX], int64_t *expires_s);

/* The number of that certificate: small hexadecimal digits without leading zeros. False: the peer
 * has shown none, or its number is longer than 20 bytes. */
#define NET_SERIAL_MAX 41 /* with its zero */
bool net_stream_serial(const struct net_stream *stream, char out[NET_SERIAL_MAX]);

/* The name of the transport that made it: "tcp", "tls", "rsocket". */
const char *net_stream_transport(const struct net_stream *stream);

/* The error, for a log line: "Connection refused", "certificate has expired". */
const char *net_stream_error(const struct net_stream *stream);

/* Why the last dial, listen or accept of this thread failed (MD_ERR_SYS), for a log line: "Address
 * already in use". Ask before anything else is called. */
const char *net_error(void);

/* Take the next waiting connection. MD_ERR_AGAIN: none. MD_ERR_SYS: e.g. out of descriptors; pause.
 */
int net_listener_accept(struct net_listener *listener, struct net_stream **out);
int net_listener_descriptor(const struct net_listener *listener); /* -1: poll-driven */
uint16_t net_listener_port(const struct net_listener *listener);
void net_listener_close(struct net_listener *listener); /* NULL is allowed */

/*
 * TLS: one context for each listening port, or for all dialed connections with one identity.
 * Version 1.2 at least, or 1.3. Reload reads the files again for connections made from then on, and
 * leaves all as it was when they do not fit; other threads may accept and dial meanwhile.
 */
struct net_tls_config {
    const char *certificate; /* PEM file, with chain; servers need it */
    const char *key;         /* PEM file */
    const char *ca;          /* PEM file of trusted roots; NULL for a client: the system's */
    const char *crl;         /* PEM file of revoked certificates, of every issuer; NULL: none */
    const char *ciphers;     /* of TLS 1.2, as OpenSSL names them; NULL: AEAD suites only */
    bool is_server;
    bool require_client_certificate; /* server; needs `ca` */
    bool request_client_certificate; /* the same, but a client without one is taken, too */
    bool require_tls13;              /* version 1.2 is refused */
    bool skip_verify;                /* client: take any certificate; for tests */
};

/* `error`, of `error_size` bytes, gets a sentence when it fails (MD_ERR_SYS, MD_ERR_NOMEM). */
int net_tls_create(const struct net_tls_config *config, char *error, size_t error_size,
                   struct net_tls **out);
int net_tls_reload(struct net_tls *tls, char *error, size_t error_size);
/* A reload in two halves: prepare reads the files and changes nothing, commit puts them in force
 * and cannot fail. `crl` is the path of now; NULL or "": none. */
struct net_tls_fresh;
int net_tls_prepare(struct net_tls *tls, const char *crl, char *error, size_t error_size,
                    struct net_tls_fresh **out);
void net_tls_commit(struct net_tls_fresh *fresh);
void net_tls_discard(struct net_tls_fresh *fresh);
/* When the certificate in force ends, in seconds since 1970; 0: there is none. */
int64_t net_tls_expires(struct net_tls *tls);
/* The same of the lists of revoked certificates: when the first issuer has no list any more that is
 * in force. Then its peers are refused. */
int64_t net_tls_crl_expires(struct net_tls *tls);
void net_tls_destroy(struct net_tls *tls); /* NULL is allowed */

#endif
