/* tls_context.h - what all connections of one identity share: files, versions, suites, trust. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLS_CONTEXT_H
#define TLS_CONTEXT_H

#include <openssl/ssl.h>
#include <stddef.h>
#include <stdint.h>

#include "netio/stream.h"

/* Reads all files. MD_ERR_SYS: `error` says which one is wrong. */
int tls_context_create(const struct net_tls_config *config, char *error, size_t error_size,
                       SSL_CTX **out);

/* In seconds since 1970, 0: there is none. Of the certificate; the first of the lists of revoked
 * certificates. */
int64_t tls_context_expires(const SSL_CTX *context);
int64_t tls_context_crl_expires(const SSL_CTX *context);

/* A name of the peer's certificate, as net_stream_identity() says. */
bool tls_identity(const SSL *ssl, enum net_identity which, char out[NET_IDENTITY_MAX],
                  int64_t *expires_s);

/* Its number, as net_stream_serial() says. */
bool tls_serial(const SSL *ssl, char out[NET_SERIAL_MAX]);

/* `what`, and the oldest reason that OpenSSL has, in words. */
void tls_describe(char *text, size_t size, const char *what);

#endif
