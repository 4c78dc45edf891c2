/* server.c - see httpd/server.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "httpd/server.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/err.h"
#include "netio/stream.h"

#define PAUSE_NS  MD_NS_PER_S /* after accept failed */
#define DRAIN_NS  MD_NS_PER_S /* for the client to take the last answer before the end */
#define DRAIN_MAX 65536u      /* bytes it may send meanwhile */
#define HEAD_MAX  2560

enum phase {
    PHASE_READ,  /* a request is waited for, or under way */
    PHASE_WRITE, /* an answer is under way */
    PHASE_DRAIN, /* the last answer is out; what still comes is thrown away */
};

struct connection {
    struct httpd *server;
    struct connection *next;
    struct net_stream *stream;
    struct md_loop_fd *watch;
    struct md_loop_timer *timer;
    enum phase phase;
    bool has_asked; /* one request was answered */
    bool ends;      /* after this answer */
    uint64_t since_ns;
    size_t drained;
    char head[HEAD_MAX];
    size_t head_length;
    struct http_answer answer;
    struct md_slice body;
    size_t sent;
    size_t length; /* of what is in `input` */
    uint8_t input[];
};

struct httpd {
    struct httpd_config config;
    struct net_listener *listener;
    struct md_loop_fd *watch;
    struct md_loop_timer *pause;
    struct connection *connections;
    struct httpd_stats stats;
};

/* ---- what an answer is made of ---- */

static bool make_room(struct http_answer *answer, size_t more)
{
    size_t size = answer->size ? answer->size : 4096;

    while (size - answer->length <= more)
        size *= 2;
    if (size != answer->size) {
        char *text = realloc(answer->text, size);
        if (!text) {
            answer->is_out_of_memory = true;
            return false;
        }
        answer->text = text;
        answer->size = size;
    }
    return true;
}

void http_answer_add_bytes(struct http_answer *answer, const char *bytes, size_t length)
{
    if (answer->is_out_of_memory || !make_room(answer, length))
        return;
    memcpy(answer->text + answer->length, bytes, length);
    answer->length += length;
}

void http_answer_add(struct http_answer *answer, const char *format, ...)
{
    va_list args;

    for (int attempt = 0; attempt < 2 && !answer->is_out_of_memory; attempt++) {
        size_t room = answer->size - answer->length;
        va_start(args, format);
        int length = vsnprintf(room ? answer->text + answer->length : NULL, room, format, args);
        va_end(args);
        if (length < 0)
            return;
        if ((size_t)length < room) {
            answer->length += (size_t)length;
            return;
        }
        (void)make_room(answer, (size_t)length + 1);
    }
}

static void forget_answer(struct connection *connection)
{
    free(connection->answer.text);
    connection->answer = (struct http_answer){ .status = HTTP_OK, .type = "text/plain" };
    connection->body = (struct md_slice){ .length = 0 };
    connection->head_length = connection->sent = 0;
}

/* ---- the life of a connection ---- */

static void release(struct connection *connection)
{
    connection->server->stats.connections_now--;
    md_loop_fd_remove(connection->watch);
    md_loop_timer_destroy(connection->timer);
    net_stream_close(connection->stream);
    free(connection->answer.text);
    free(connection);
}

static void end(struct connection *connection)
{
    struct connection **link = &connection->server->connections;

    while (*link != connection)
        link = &(*link)->next;
    *link = connection->next;
    release(connection);
}

static void enter(struct connection *connection, enum phase phase)
{
    struct httpd *server = connection->server;

    connection->phase = phase;
    connection->since_ns = md_loop_now(server->config.loop);
    (void)md_loop_timer_after(connection->timer,
                              phase == PHASE_DRAIN ? DRAIN_NS : server->config.timeout_ns);
    md_loop_fd_set(connection->watch, phase == PHASE_WRITE ? MD_LOOP_WRITE : MD_LOOP_READ);
}

static void write_head(struct connection *connection)
{
    const struct http_answer *answer = &connection->answer;
    int length = snprintf(
        connection->head, sizeof(connection->head),
        "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nCache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
        "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; script-src "
        "'unsafe-inline'; img-src data:; connect-src 'self'%s; base-uri 'none'; form-action "
        "'none'; frame-ancestors 'none'\r\n%s%s%s%sConnection: %s\r\n\r\n",
        answer->status, http_status_text(answer->status), answer->type, connection->body.length,
        answer->sources ? answer->sources : "",
        answer->reader ? "Access-Control-Allow-Origin: http://" : "",
        answer->reader ? answer->reader : "", answer->reader ? "\r\nVary: Origin\r\n" : "",
        answer->status == 405 ? "Allow: GET, HEAD\r\n" : "",
        connection->ends ? "close" : "keep-alive");

    MD_ASSERT(length > 0 && (size_t)length < sizeof(connection->head));
    connection->head_length = (size_t)length;
}

static void write_some(struct connection *connection)
{
    struct md_slice slices[2] = {
        { .bytes = (const uint8_t *)connection->head, .length = connection->head_length },
        connection->body,
    };
    size_t sent = connection->sent;

    for (size_t i = 0; i < 2; i++) {
        size_t skip = sent < slices[i].length ? sent : slices[i].length;
        slices[i].bytes = skip ? slices[i].bytes + skip : slices[i].bytes;
        slices[i].length -= skip;
        sent -= skip;
    }
    size_t left = slices[0].length + slices[1].length;
    bool has_head = slices[0].length > 0;
    int64_t taken = net_stream_write(connection->stream, has_head ? slices : slices + 1,
                                     (has_head ? 1u : 0u) + (slices[1].length > 0));
    if (taken < 0) {
        end(connection);
        return;
    }
    connection->sent += (size_t)taken;
    if ((size_t)taken < left)
        return;
    forget_answer(connection);
    connection->has_asked = true;
    if (connection->ends)
        net_stream_shutdown(connection->stream);
    enter(connection, connection->ends ? PHASE_DRAIN : PHASE_READ);
}

/* The answer is complete: on its way with it. `is_head`: without its body. */
static void send_answer(struct connection *connection, bool is_head)
{
    struct http_answer *answer = &connection->answer;

    if (answer->is_out_of_memory) {
        forget_answer(connection);
        connection->answer.status = 500;
        connection->ends = true;
    }
    connection->body = answer->fixed ? *answer->fixed
                                     : (struct md_slice){ .bytes = (const uint8_t *)answer->text,
                                                          .length = answer->length };
    connection->server->stats.requests++;
    write_head(connection);
    if (is_head)
        connection->body.length = 0;
    enter(connection, PHASE_WRITE);
    write_some(connection);
}

static void refuse(struct connection *connection, int status)
{
    connection->ends = true;
    connection->answer.status = status;
    http_answer_add(&connection->answer, "%d %s\n", status, http_status_text(status));
    send_answer(connection, false);
}

/* ---- input ---- */

static void take_request(struct connection *connection)
{
    struct httpd *server = connection->server;
    struct http_request request;
    int status = http_request_parse(connection->input, connection->length, &request);

    if (status == HTTP_INCOMPLETE && connection->length < server->config.request_max)
        return;
    if (status != HTTP_OK) {
        refuse(connection, status == HTTP_INCOMPLETE ? 431 : status);
        return;
    }
    /* One that sends the next request before it has its answer has to connect again. */
    connection->ends = !request.keeps_alive || request.length < connection->length;
    connection->length = 0;
    server->config.answer(server->config.owner, &request, &connection->answer);
    send_answer(connection, request.is_head);
}

static void read_some(struct connection *connection)
{
    size_t room = connection->server->config.request_max - connection->length;
    int64_t got = net_stream_read(connection->stream, connection->input + connection->length, room);

    if (got == MD_ERR_AGAIN)
        return;
    if (got <= 0) {
        end(connection);
        return;
    }
    connection->length += (size_t)got;
    take_request(connection);
}

static void drain_some(struct connection *connection)
{
    int64_t got = net_stream_read(connection->stream, connection->input,
                                  connection->server->config.request_max);

    if (got == MD_ERR_AGAIN)
        return;
    if (got > 0)
        connection->drained += (size_t)got;
    if (got <= 0 || connection->drained > DRAIN_MAX)
        end(connection);
}

static void on_stream(void *owner, int fd, unsigned events)
{
    struct connection *connection = owner;

    (void)fd;
    (void)events;
    switch (connection->phase) {
    case PHASE_READ:
        read_some(connection);
        break;
    case PHASE_WRITE:
        write_some(connection);
        break;
    case PHASE_DRAIN:
        drain_some(connection);
        break;
    }
}

static void on_timeout(void *owner)
{
    struct connection *connection = owner;

    if (connection->phase == PHASE_READ && connection->length > 0) {
        connection->server->stats.timeouts++;
        refuse(connection, 408);
        return;
    }
    connection->server->stats.timeouts += connection->phase == PHASE_WRITE;
    end(connection);
}

/* ---- new connections ---- */

/* The one that has been idle for longest goes. */
static void make_place(struct httpd *server)
{
    struct connection *oldest = NULL;

    for (struct connection *at = server->connections; at; at = at->next) {
        /* The analyser takes the one that was freed for one still in the list; end() took it out.
         * NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
        if (at->phase == PHASE_READ && at->has_asked && at->length == 0 &&
            (!oldest || at->since_ns < oldest->since_ns))
            oldest = at;
    }
    if (oldest)
        end(oldest);
}

static void turn_away(struct httpd *server, struct net_stream *stream)
{
    static const char text[] =
        "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    struct md_slice slice = { .bytes = (const uint8_t *)text, .length = sizeof(text) - 1 };

    server->stats.refused++;
    (void)net_stream_write(stream, &slice, 1);
    net_stream_close(stream);
}

static struct connection *begin(struct httpd *server, struct net_stream *stream)
{
    struct md_loop *loop = server->config.loop;
    struct connection *connection = calloc(1, sizeof(*connection) + server->config.request_max);

    if (!connection)
        return NULL;
    connection->server = server;
    connection->stream = stream;
    connection->answer = (struct http_answer){ .status = HTTP_OK, .type = "text/plain" };
    if (md_loop_fd_add(loop, net_stream_descriptor(stream), MD_LOOP_READ, on_stream, connection,
                       &connection->watch) != MD_OK ||
        md_loop_timer_create(loop, on_timeout, connection, &connection->timer) != MD_OK) {
        md_loop_fd_remove(connection->watch);
        free(connection);
        return NULL;
    }
    connection->next = server->connections;
    server->connections = connection;
    server->stats.connections++;
    server->stats.connections_now++;
    enter(connection, PHASE_READ);
    return connection;
}

static void on_listener(void *owner, int fd, unsigned events)
{
    struct httpd *server = owner;
    struct net_stream *stream;
    int err;

    (void)fd;
    (void)events;
    while ((err = net_listener_accept(server->listener, &stream)) == MD_OK) {
        if (server->stats.connections_now >= server->config.connection_max)
            make_place(server);
        if (server->stats.connections_now >= server->config.connection_max ||
            !begin(server, stream))
            turn_away(server, stream);
    }
    if (err != MD_ERR_AGAIN) {
        md_loop_fd_set(server->watch, 0);
        (void)md_loop_timer_after(server->pause, PAUSE_NS);
    }
}

static void on_pause_over(void *owner)
{
    struct httpd *server = owner;

    md_loop_fd_set(server->watch, MD_LOOP_READ);
}

int httpd_open(const struct httpd_config *config, struct httpd **out)
{
    const struct net_stream_options options = { .nodelay = true, .backlog = 64 };
    struct httpd *server = calloc(1, sizeof(*server));
    int err = MD_ERR_NOMEM;

    *out = NULL;
    if (!server)
        return MD_ERR_NOMEM;
    server->config = *config;
    err = net_tcp_transport.listen(&options, config->address, config->port, &server->listener);
    if (err == MD_OK)
        err = md_loop_timer_create(config->loop, on_pause_over, server, &server->pause);
    if (err == MD_OK)
        err = md_loop_fd_add(config->loop, net_listener_descriptor(server->listener), MD_LOOP_READ,
                             on_listener, server, &server->watch);
    if (err != MD_OK) {
        httpd_close(server);
        return err;
    }
    *out = server;
    return MD_OK;
}

void httpd_close(struct httpd *server)
{
    if (!server)
        return;
    for (struct connection *at = server->connections, *next; at; at = next) {
        next = at->next;
        release(at);
    }
    md_loop_fd_remove(server->watch);
    md_loop_timer_destroy(server->pause);
    net_listener_close(server->listener);
    free(server);
}

uint16_t httpd_port(const struct httpd *server)
{
    return net_listener_port(server->listener);
}

const struct httpd_stats *httpd_stats(const struct httpd *server)
{
    return &server->stats;
}
