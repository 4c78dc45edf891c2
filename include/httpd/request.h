/* httpd/request.h - one HTTP request out of bytes: no socket, no allocation. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTPD_REQUEST_H
#define HTTPD_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

/*
 * GET and HEAD of HTTP/1.0 and 1.1 (RFC 9112), without bodies. Strict where leniency is how
 * requests are smuggled: lines end with CR LF, no folded headers, no blanks before a colon, one
 * Host, no Transfer-Encoding. Views point into the bytes given.
 */
struct http_request {
    bool is_head;
    bool keeps_alive;       /* the client would like to ask again on this connection */
    struct md_slice path;   /* "/metrics": without the query */
    struct md_slice query;  /* what stands behind the "?", or nothing */
    struct md_slice host;   /* of the Host header, or of an absolute target; empty: none */
    struct md_slice origin; /* of the page that asks; empty: none said */
    size_t length;          /* bytes of the request, its empty line included */
};

#define HTTP_INCOMPLETE 0
#define HTTP_OK         200

/*
 * HTTP_INCOMPLETE: more bytes are needed. HTTP_OK: *out is filled. Else the status to answer with
 * before the connection is ended: 400 not a request, 405 another method, 413 it brings a body, 505
 * another version.
 */
int http_request_parse(const uint8_t *bytes, size_t length, struct http_request *out);

/* "OK", "Not Found", ...; for the status line. */
const char *http_status_text(int status);

bool http_slice_is(struct md_slice slice, const char *text);

/*
 * True when the host of the request ("localhost:8080", "[::1]", "10.1.2.3") is an address or
 * localhost. A page that a browser got elsewhere cannot make its own name lead to a server on the
 * loopback and pass this, whatever its name server says.
 */
bool http_host_is_literal(struct md_slice host);

#endif
