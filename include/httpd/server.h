/* httpd/server.h - a small read-only HTTP server on an event loop. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTPD_SERVER_H
#define HTTPD_SERVER_H

#include <stdint.h>

#include "base/loop.h"
#include "httpd/request.h"

/*
 * For a control loop: nothing here blocks, and what it may hold and how long is bounded. A client
 * gets `timeout_ns` from its connection, or its last answer, until its next request is complete,
 * however slowly it sends, and as long to take the answer. When all connections are taken the
 * oldest that waits for nothing makes room, else the new one is told 503.
 */
struct httpd;

/* An answer. The text is the server's, to be added to; or `fixed` is set. */
struct http_answer {
    int status;                   /* 200 unless changed */
    const char *type;             /* media type; constant text */
    const struct md_slice *fixed; /* bytes that stay where they are, sent instead of the text */
    const char *sources; /* " http://a:1": whom the page may ask beside us; until it is sent */
    const char *reader;  /* "a:1": a page of http://a:1 may read it, too; until it is sent */
    char *text;
    size_t length, size;
    bool is_out_of_memory; /* becomes a 500 */
};

void http_answer_add(struct http_answer *answer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void http_answer_add_bytes(struct http_answer *answer, const char *bytes, size_t length);

typedef void (*httpd_answer_fn)(void *owner, const struct http_request *request,
                                struct http_answer *answer);

struct httpd_config {
    struct md_loop *loop;
    const char *address; /* to listen on; a name or an address */
    uint16_t port;       /* 0: any; httpd_port() */
    uint32_t connection_max;
    uint32_t request_max; /* bytes of a request, its headers included */
    uint64_t timeout_ns;
    httpd_answer_fn answer;
    void *owner;
};

struct httpd_stats {
    uint64_t connections;
    uint64_t requests; /* answered, with whatever */
    uint64_t refused;  /* connections, when all were taken */
    uint64_t timeouts;
    uint32_t connections_now;
};

/* MD_OK, MD_ERR_SYS (net_error() says why), MD_ERR_NOMEM. */
int httpd_open(const struct httpd_config *config, struct httpd **out);
void httpd_close(struct httpd *server); /* at once; NULL is allowed */
uint16_t httpd_port(const struct httpd *server);
const struct httpd_stats *httpd_stats(const struct httpd *server);

#endif
