/* tcp.c - byte streams over TCP, IPv4 and IPv6. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "address.h"
#include "base/err.h"
#include "stream_private.h"

#define SLICES_MAX 64

struct tcp_stream {
    struct net_stream base;
    int fd;
    bool connecting;
    struct net_addresses addresses; /* of the name, until one is connected */
};

struct tcp_listener {
    struct net_listener base;
    struct net_stream_options options;
    int fd;
    uint16_t port;
};

static struct tcp_stream *tcp(struct net_stream *stream)
{
    return (struct tcp_stream *)(void *)stream;
}

static const struct tcp_stream *tcp_const(const struct net_stream *stream)
{
    return (const struct tcp_stream *)(const void *)stream;
}

static int fail(struct tcp_stream *stream, int error)
{
    snprintf(stream->base.error, sizeof(stream->base.error), "%s", strerror(error));
    return error == EPIPE || error == ECONNRESET ? MD_ERR_CLOSED : MD_ERR_SYS;
}

static void tcp_close(struct net_stream *base)
{
    struct tcp_stream *stream = tcp(base);

    net_addresses_free(&stream->addresses);
    close(stream->fd);
    free(stream);
}

static void name_peer(struct tcp_stream *stream)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof(address);

    if (getpeername(stream->fd, (struct sockaddr *)&address, &length) == 0)
        (void)net_address_text(&address, length, stream->base.peer, sizeof(stream->base.peer));
}

static int tcp_ready(struct net_stream *base)
{
    struct tcp_stream *stream = tcp(base);
    struct pollfd poll_fd = { .fd = stream->fd, .events = POLLOUT };
    int error = 0;
    socklen_t length = sizeof(error);

    if (!stream->connecting)
        return MD_OK;
    if (poll(&poll_fd, 1, 0) == 0)
        return MD_ERR_AGAIN;
    if (getsockopt(stream->fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0)
        error = errno;
    if (error)
        return fail(stream, error);
    stream->connecting = false;
    net_addresses_free(&stream->addresses);
    name_peer(stream);
    return MD_OK;
}

static int64_t tcp_read(struct net_stream *base, uint8_t *bytes, size_t size)
{
    struct tcp_stream *stream = tcp(base);
    ssize_t n;

    do
        n = recv(stream->fd, bytes, size, 0);
    while (n < 0 && errno == EINTR);
    if (n > 0)
        return n;
    if (n == 0)
        return MD_ERR_CLOSED;
    if (errno == EAGAIN || errno == EWOULDBLOCK)
        return MD_ERR_AGAIN;
    return fail(stream, errno);
}

static int64_t tcp_write(struct net_stream *base, const struct md_slice *slices, size_t count)
{
    struct tcp_stream *stream = tcp(base);
    struct iovec iov[SLICES_MAX];
    struct msghdr message = { .msg_iov = iov };
    ssize_t n;

    for (message.msg_iovlen = 0; message.msg_iovlen < count && message.msg_iovlen < SLICES_MAX;
         message.msg_iovlen++) {
        iov[message.msg_iovlen].iov_base = (void *)(uintptr_t)slices[message.msg_iovlen].bytes;
        iov[message.msg_iovlen].iov_len = slices[message.msg_iovlen].length;
    }
    do
        n = sendmsg(stream->fd, &message, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n >= 0)
        return n;
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS)
        return 0;
    return fail(stream, errno);
}

static void tcp_shutdown(struct net_stream *base)
{
    /* An error here is one of a connection that is gone anyway. */
    (void)shutdown(tcp(base)->fd, SHUT_WR);
}

static int tcp_descriptor(const struct net_stream *base)
{
    return tcp_const(base)->fd;
}

static unsigned tcp_wants(const struct net_stream *base, bool has_output)
{
    if (tcp_const(base)->connecting)
        return NET_WRITABLE;
    return NET_READABLE | (has_output ? NET_WRITABLE : 0);
}

static unsigned tcp_poll(struct net_stream *base)
{
    (void)base;
    return 0; /* the descriptor tells all */
}

static int tcp_next(struct net_stream *base, const struct net_stream_options *options,
                    const char *host, struct net_stream **out);

static const struct net_stream_ops stream_ops = {
    .transport = "tcp",
    .close = tcp_close,
    .ready = tcp_ready,
    .read = tcp_read,
    .write = tcp_write,
    .shutdown = tcp_shutdown,
    .descriptor = tcp_descriptor,
    .wants = tcp_wants,
    .poll = tcp_poll,
    .next = tcp_next,
};

static void set_int(int fd, int level, int name, int value)
{
    /* Each is a wish; the connection works without. */
    (void)setsockopt(fd, level, name, &value, sizeof(value));
}

/* Buffer sizes count only before the connection is made, and are inherited from the listener. */
static void set_buffers(int fd, const struct net_stream_options *options)
{
    if (options->send_buffer)
        set_int(fd, SOL_SOCKET, SO_SNDBUF, (int)options->send_buffer);
    if (options->recv_buffer)
        set_int(fd, SOL_SOCKET, SO_RCVBUF, (int)options->recv_buffer);
}

static struct net_stream *make_stream(int fd, const struct net_stream_options *options)
{
    struct tcp_stream *stream = calloc(1, sizeof(*stream));

    if (!stream)
        return NULL;
    stream->base.ops = &stream_ops;
    stream->fd = fd;
    if (options->nodelay)
        set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    if (options->unsent_max)
        set_int(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, (int)options->unsent_max);
    return &stream->base;
}

static int bind_local(int fd, const char *interface)
{
    struct addrinfo *local;
    int rc = net_look_up(interface, 0, AI_PASSIVE, &local);

    if (rc != MD_OK)
        return rc;
    rc = bind(fd, local->ai_addr, local->ai_addrlen) == 0 ? MD_OK : MD_ERR_SYS;
    freeaddrinfo(local);
    return rc;
}

/* `fd` as sockets of ours are. A library that stands in for the kernel's sockets may know no
 * FD_CLOEXEC. */
static int settle(int fd)
{
    if (fd < 0)
        return -1;
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    if (fcntl(fd, F_SETFL, O_NONBLOCK) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

static int make_socket(const struct net_stream_options *options, int family)
{
    return options->is_plain ? settle(socket(family, SOCK_STREAM, 0))
                             : socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

/* Begins to connect to one address. */
static int dial_one(const struct net_stream_options *options, const struct addrinfo *to,
                    struct net_stream **out)
{
    int rc = MD_OK;
    int fd = make_socket(options, to->ai_family);

    if (fd < 0)
        return MD_ERR_SYS;
    set_buffers(fd, options);
    if (options->interface)
        rc = bind_local(fd, options->interface);
    if (rc == MD_OK && connect(fd, to->ai_addr, to->ai_addrlen) != 0 && errno != EINPROGRESS)
        rc = MD_ERR_SYS;
    if (rc == MD_OK) {
        *out = make_stream(fd, options);
        rc = *out ? MD_OK : MD_ERR_NOMEM;
    }
    if (rc != MD_OK) {
        int error = errno;
        close(fd);
        errno = error;
        return rc;
    }
    tcp(*out)->connecting = true; /* ready() finds out, also when it was at once */
    return MD_OK;
}

/* Dials the first of the addresses left to which a connection can begin. On success they are the
 * stream's. */
static int dial_left(const struct net_stream_options *options, struct net_addresses *addresses,
                     struct net_stream **out)
{
    const struct addrinfo *to;
    int rc = MD_ERR_NOT_FOUND;

    *out = NULL;
    while ((to = net_addresses_take(addresses)) != NULL) {
        rc = dial_one(options, to, out);
        if (rc == MD_OK) {
            tcp(*out)->addresses = *addresses;
            *addresses = (struct net_addresses){ 0 };
            break;
        }
    }
    return rc;
}

static int tcp_dial(const struct net_stream_options *options, const char *host, uint16_t port,
                    struct net_stream **out)
{
    struct net_addresses addresses;
    int rc = net_addresses_find(&addresses, host, port, options->attempt);

    *out = NULL;
    if (rc != MD_OK)
        return rc;
    rc = dial_left(options, &addresses, out);
    if (rc == MD_OK)
        snprintf((*out)->peer, sizeof((*out)->peer), "%.60s:%u", host, port);
    else
        net_addresses_free(&addresses);
    return rc;
}

static int tcp_next(struct net_stream *base, const struct net_stream_options *options,
                    const char *host, struct net_stream **out)
{
    int rc = dial_left(options, &tcp(base)->addresses, out);

    (void)host; /* it was looked up */
    if (rc == MD_OK)
        memcpy((*out)->peer, base->peer, sizeof(base->peer));
    return rc;
}

static int tcp_accept(struct net_listener *base, struct net_stream **out)
{
    struct tcp_listener *listener = (struct tcp_listener *)(void *)base;
    int fd;

    *out = NULL;
    do
        fd = listener->options.is_plain
                 ? settle(accept(listener->fd, NULL, NULL))
                 : accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
    if (fd < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK ? MD_ERR_AGAIN : MD_ERR_SYS;
    *out = make_stream(fd, &listener->options);
    if (!*out) {
        close(fd);
        return MD_ERR_NOMEM;
    }
    name_peer(tcp(*out));
    return MD_OK;
}

static int tcp_listener_descriptor(const struct net_listener *base)
{
    return ((const struct tcp_listener *)(const void *)base)->fd;
}

static uint16_t tcp_listener_port(const struct net_listener *base)
{
    return ((const struct tcp_listener *)(const void *)base)->port;
}

static void tcp_listener_close(struct net_listener *base)
{
    struct tcp_listener *listener = (struct tcp_listener *)(void *)base;

    close(listener->fd);
    free(listener);
}

static const struct net_listener_ops listener_ops = {
    .accept = tcp_accept,
    .descriptor = tcp_listener_descriptor,
    .port = tcp_listener_port,
    .close = tcp_listener_close,
};

/* A bound and listening socket, or -1. */
static int open_socket(const struct net_stream_options *options, const struct addrinfo *at)
{
    int fd = make_socket(options, at->ai_family);

    if (fd < 0)
        return -1;
    set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (at->ai_family == AF_INET6)
        set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    set_buffers(fd, options);
    if (bind(fd, at->ai_addr, at->ai_addrlen) == 0 &&
        listen(fd, options->backlog ? (int)options->backlog : 1024) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

static uint16_t port_of(int fd)
{
    struct sockaddr_storage address = { .ss_family = AF_UNSPEC };
    socklen_t length = sizeof(address);

    return getsockname(fd, (struct sockaddr *)&address, &length) == 0 ? net_address_port(&address)
                                                                      : 0;
}

static int tcp_listen(const struct net_stream_options *options, const char *host, uint16_t port,
                      struct net_listener **out)
{
    struct addrinfo *list;
    int rc = net_look_up(host, port, AI_PASSIVE, &list), fd = -1;

    *out = NULL;
    if (rc != MD_OK)
        return rc;
    /* For "any" IPv6 first: it takes both. */
    for (int pass = 0; pass < 2 && fd < 0; pass++) {
        for (struct addrinfo *at = list; at && fd < 0; at = at->ai_next) {
            if (host || (at->ai_family == AF_INET6) == (pass == 0))
                fd = open_socket(options, at);
        }
    }
    freeaddrinfo(list);
    if (fd < 0)
        return MD_ERR_SYS;
    struct tcp_listener *listener = calloc(1, sizeof(*listener));
    if (!listener) {
        close(fd);
        return MD_ERR_NOMEM;
    }
    listener->base.ops = &listener_ops;
    listener->options = *options;
    listener->fd = fd;
    listener->port = port_of(fd);
    *out = &listener->base;
    return MD_OK;
}

const struct net_transport net_tcp_transport = {
    .name = "tcp",
    .dial = tcp_dial,
    .listen = tcp_listen,
};
