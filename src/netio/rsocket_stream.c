/* rsocket_stream.c - byte streams over rsockets; see netio/rsocket.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "address.h"
#include "base/err.h"
#include "error.h"
#include "rsocket_private.h"

#define SLICES_MAX 64

struct rsocket_stream {
    struct net_stream base;
    struct rsocket_entry entry;
    struct net_addresses addresses; /* of a name that is dialed */
    struct sockaddr_storage to, local;
    socklen_t to_length, local_length; /* local: 0 = any */
    struct net_stream_options options;
    char found[72]; /* the peer, as the thread found it */
    bool is_ready;
};

static struct rsocket_stream *of(struct net_stream *stream)
{
    return (struct rsocket_stream *)(void *)stream;
}

static struct rsocket_stream *of_entry(struct rsocket_entry *entry)
{
    return (struct rsocket_stream *)(void *)((char *)entry -
                                             offsetof(struct rsocket_stream, entry));
}

void rsocket_explain(int error, char *out, size_t size)
{
    struct rlimit limit = { 0 };
    const char *text = strerror(error);

    switch (error) {
    case ENODEV:
        snprintf(out, size, "%s: no RDMA device has this address, see `rdma link`", text);
        break;
    case ENOMEM:
        (void)getrlimit(RLIMIT_MEMLOCK, &limit);
        if (limit.rlim_cur == RLIM_INFINITY)
            snprintf(out, size, "%s", text);
        else
            snprintf(out, size, "%s: %llu KB may be pinned; raise it (ulimit -l, LimitMEMLOCK)",
                     text, (unsigned long long)limit.rlim_cur >> 10);
        break;
    case ENOBUFS:
        snprintf(out, size, "rsocketMemory is used up, or 4096 rsockets are open");
        break;
    default:
        snprintf(out, size, "%s", text);
    }
}

/* ---- on the thread of a group ---- */

uint64_t rsocket_set_buffers(const struct rsocket_calls *calls, int rs,
                             const struct net_stream_options *options)
{
    const int names[2] = { SO_SNDBUF, SO_RCVBUF };
    const uint32_t wanted[2] = { options->send_buffer, options->recv_buffer };
    uint64_t pinned = 0;

    for (int i = 0; i < 2; i++) {
        int value = (int)(wanted[i] / 2); /* of which the library pins twice as much */
        socklen_t length = sizeof(value);

        if (wanted[i])
            (void)calls->setsockopt(rs, SOL_SOCKET, names[i], &value, sizeof(value));
        if (calls->getsockopt(rs, SOL_SOCKET, names[i], &value, &length) == 0 && value > 0)
            pinned += (uint64_t)value;
    }
    return pinned;
}

static int open_stream(struct rsocket_entry *entry, const struct rsocket_calls *calls)
{
    struct rsocket_stream *stream = of_entry(entry);

    if (entry->rs >= 0)
        return 0; /* it was accepted */
    entry->rs = calls->socket(stream->to.ss_family, SOCK_STREAM, 0);
    if (entry->rs < 0)
        return errno ? errno : ENODEV;
    if (!rsocket_entry_pin(entry, rsocket_set_buffers(calls, entry->rs, &stream->options)))
        return ENOBUFS;
    if (calls->set_nonblocking(entry->rs) != 0)
        return errno;
    if (stream->local_length &&
        calls->bind(entry->rs, (const struct sockaddr *)&stream->local, stream->local_length) != 0)
        return errno;
    if (calls->connect(entry->rs, (const struct sockaddr *)&stream->to, stream->to_length) == 0 ||
        errno == EINPROGRESS || errno == EAGAIN)
        return 0;
    return errno ? errno : ECONNREFUSED;
}

static void name_peer(struct rsocket_entry *entry, const struct rsocket_calls *calls)
{
    struct rsocket_stream *stream = of_entry(entry);
    struct sockaddr_storage address = { .ss_family = AF_UNSPEC };
    socklen_t length = sizeof(address);

    if (calls->getpeername(entry->rs, (struct sockaddr *)&address, &length) == 0)
        (void)net_address_text(&address, length, stream->found, sizeof(stream->found));
}

static void destroy(struct rsocket_entry *entry)
{
    net_addresses_free(&of_entry(entry)->addresses);
    free(of_entry(entry));
}

static const struct rsocket_kind kind = {
    .open = open_stream,
    .opened = name_peer,
    .destroy = destroy,
};

/* ---- the owner ---- */

static int fail(struct rsocket_stream *stream, int error)
{
    rsocket_explain(error, stream->base.error, sizeof(stream->base.error));
    return error == EPIPE || error == ECONNRESET ? MD_ERR_CLOSED : MD_ERR_SYS;
}

static void rsocket_close(struct net_stream *base)
{
    rsocket_entry_close(&of(base)->entry);
}

static int rsocket_ready(struct net_stream *base)
{
    struct rsocket_stream *stream = of(base);

    if (stream->is_ready)
        return MD_OK;
    switch (atomic_load(&stream->entry.phase)) {
    case RSOCKET_OPEN:
        break;
    case RSOCKET_FAILED:
        return fail(stream, stream->entry.error);
    default:
        return MD_ERR_AGAIN;
    }
    stream->is_ready = true;
    net_addresses_free(&stream->addresses);
    memcpy(base->peer, stream->found, sizeof(base->peer));
    return MD_OK;
}

static int64_t rsocket_read(struct net_stream *base, uint8_t *bytes, size_t size)
{
    struct rsocket_stream *stream = of(base);
    int err = rsocket_ready(base);
    ssize_t n;

    if (err == MD_ERR_AGAIN)
        rsocket_entry_rest(&stream->entry, NET_READABLE);
    if (err != MD_OK)
        return err;
    do
        n = stream->entry.calls->recv(stream->entry.rs, bytes, size, 0);
    while (n < 0 && errno == EINTR);
    if (n == 0)
        return MD_ERR_CLOSED;
    if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
        return fail(stream, errno);
    /* The owner may not come again before it is told. */
    if (n < (ssize_t)size)
        rsocket_entry_rest(&stream->entry, NET_READABLE);
    return n < 0 ? MD_ERR_AGAIN : n;
}

static int64_t rsocket_write(struct net_stream *base, const struct md_slice *slices, size_t count)
{
    struct rsocket_stream *stream = of(base);
    struct iovec iov[SLICES_MAX];
    struct msghdr message = { .msg_iov = iov };
    size_t offered = 0;
    int err = rsocket_ready(base);
    ssize_t n = -1;

    if (err != MD_OK && err != MD_ERR_AGAIN)
        return err;
    for (; message.msg_iovlen < count && message.msg_iovlen < SLICES_MAX; message.msg_iovlen++) {
        const struct md_slice *slice = &slices[message.msg_iovlen];

        iov[message.msg_iovlen].iov_base = (void *)(uintptr_t)slice->bytes;
        iov[message.msg_iovlen].iov_len = slice->length;
        offered += slice->length;
    }
    if (offered == 0)
        return 0;
    errno = EAGAIN;
    while (err == MD_OK && (n = stream->entry.calls->sendmsg(stream->entry.rs, &message, 0)) < 0 &&
           errno == EINTR)
        ;
    if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
        return fail(stream, errno);
    n = n < 0 ? 0 : n;
    if ((size_t)n < offered)
        rsocket_entry_rest(&stream->entry, NET_WRITABLE);
    return n;
}

static void rsocket_shutdown(struct net_stream *base)
{
    rsocket_entry_end(&of(base)->entry);
}

static int rsocket_descriptor(const struct net_stream *base)
{
    return ((const struct rsocket_stream *)(const void *)base)->entry.signal.owner;
}

static unsigned rsocket_wants(const struct net_stream *base, bool has_output)
{
    const struct rsocket_stream *stream = (const struct rsocket_stream *)(const void *)base;

    if (!stream->is_ready && stream->addresses.list)
        return NET_WRITABLE; /* it connects */
    return NET_READABLE | (has_output ? NET_WRITABLE : 0);
}

static unsigned rsocket_poll(struct net_stream *base)
{
    (void)base;
    return 0; /* the descriptor tells all */
}

static int rsocket_next(struct net_stream *base, const struct net_stream_options *options,
                        const char *host, struct net_stream **out);

static const struct net_stream_ops stream_ops = {
    .transport = "rsocket",
    .close = rsocket_close,
    .ready = rsocket_ready,
    .read = rsocket_read,
    .write = rsocket_write,
    .shutdown = rsocket_shutdown,
    .descriptor = rsocket_descriptor,
    .wants = rsocket_wants,
    .poll = rsocket_poll,
    .next = rsocket_next,
};

/* ---- life ---- */

static struct rsocket_stream *make(const struct rsocket_calls *calls,
                                   const struct net_stream_options *options)
{
    struct rsocket_stream *stream = calloc(1, sizeof(*stream));

    if (stream && rsocket_signal_open(&stream->entry.signal) != MD_OK) {
        free(stream);
        return NULL;
    }
    if (!stream)
        return NULL;
    stream->base.ops = &stream_ops;
    stream->options = *options;
    stream->entry.kind = &kind;
    stream->entry.calls = calls;
    stream->entry.rs = -1;
    atomic_init(&stream->entry.wanted, NET_READABLE);
    return stream;
}

static void abandon(struct rsocket_stream *stream)
{
    int error = errno;

    close(stream->entry.signal.owner);
    close(stream->entry.signal.other);
    free(stream);
    errno = error;
}

int rsocket_stream_adopt(const struct rsocket_calls *calls,
                         const struct net_stream_options *options, int rs, struct net_stream **out)
{
    struct rsocket_stream *stream = make(calls, options);
    struct net_stream_options inherited = { 0 };
    int error = stream ? 0 : ENOMEM;

    *out = NULL;
    if (stream) {
        stream->entry.rs = rs;
        if (calls->set_nonblocking(rs) != 0)
            error = errno;
        else if (!rsocket_entry_pin(&stream->entry, rsocket_set_buffers(calls, rs, &inherited)))
            error = ENOBUFS;
        name_peer(&stream->entry, calls);
        memcpy(stream->base.peer, stream->found, sizeof(stream->base.peer));
    }
    if (!error && rsocket_entry_add(&stream->entry) != MD_OK)
        error = ENOBUFS;
    if (!error) {
        *out = &stream->base;
        return 0;
    }
    if (stream && rsocket_entry_refuse(&stream->entry))
        return error;
    (void)calls->close(rs);
    if (stream) {
        rsocket_entry_unpin(&stream->entry);
        abandon(stream);
    }
    return error;
}

static int dial_one(const struct rsocket_calls *calls, const struct net_stream_options *options,
                    struct net_addresses *addresses, struct net_stream **out)
{
    const struct addrinfo *to = net_addresses_take(addresses);
    struct addrinfo *local = NULL;

    *out = NULL;
    if (!to)
        return MD_ERR_NOT_FOUND;
    if (options->interface && net_look_up(options->interface, 0, AI_PASSIVE, &local) != MD_OK)
        return MD_ERR_NOT_FOUND;
    struct rsocket_stream *stream = make(calls, options);
    int err = stream ? MD_OK : MD_ERR_NOMEM;
    if (stream) {
        memcpy(&stream->to, to->ai_addr, to->ai_addrlen);
        stream->to_length = to->ai_addrlen;
        if (local) {
            memcpy(&stream->local, local->ai_addr, local->ai_addrlen);
            stream->local_length = local->ai_addrlen;
        }
        stream->addresses = *addresses;
        rsocket_signal_lower(&stream->entry.signal, NET_WRITABLE);
        atomic_init(&stream->entry.wanted, NET_READABLE | NET_WRITABLE);
        err = rsocket_entry_add(&stream->entry);
    }
    if (local)
        freeaddrinfo(local);
    if (err == MD_OK)
        *out = &stream->base;
    else if (stream)
        abandon(stream);
    return err;
}

int rsocket_dial(const struct net_stream_options *options, const char *host, uint16_t port,
                 struct net_stream **out)
{
    struct net_addresses addresses;
    char why[256];
    const struct rsocket_calls *calls = rsocket_calls_load(why, sizeof(why));

    *out = NULL;
    if (!calls)
        return net_error_set(why);
    int err = net_addresses_find(&addresses, host, port, options->attempt);
    if (err != MD_OK)
        return err;
    err = dial_one(calls, options, &addresses, out);
    if (err == MD_OK)
        snprintf((*out)->peer, sizeof((*out)->peer), "%.60s:%u", host, port);
    else
        net_addresses_free(&addresses);
    return err;
}

static int rsocket_next(struct net_stream *base, const struct net_stream_options *options,
                        const char *host, struct net_stream **out)
{
    struct rsocket_stream *stream = of(base);

    (void)host; /* it was looked up */
    int err = dial_one(stream->entry.calls, options, &stream->addresses, out);
    if (err != MD_OK)
        return err;
    stream->addresses = (struct net_addresses){ 0 };
    memcpy((*out)->peer, base->peer, sizeof(base->peer));
    return MD_OK;
}
