/* rsocket_listener.c - listening rsockets; see netio/rsocket.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "address.h"
#include "base/err.h"
#include "error.h"
#include "netio/rsocket.h"
#include "rsocket_private.h"

#define WAITING_MAX 64 /* accepted, and not taken by the owner yet; more wait below */
#define BACKLOG     1024

struct rsocket_listener {
    struct net_listener base;
    struct rsocket_entry entry;
    struct net_stream_options options;
    struct sockaddr_storage at;
    socklen_t at_length;
    uint16_t port;
    sem_t opened; /* it listens, or failed */
    pthread_mutex_t lock;
    struct net_stream *waiting[WAITING_MAX];
    unsigned first, count;
    int error; /* errno of an accept, told once */
};

static struct rsocket_listener *of(struct net_listener *listener)
{
    return (struct rsocket_listener *)(void *)listener;
}

static const struct rsocket_listener *of_const(const struct net_listener *listener)
{
    return (const struct rsocket_listener *)(const void *)listener;
}

static struct rsocket_listener *of_entry(struct rsocket_entry *entry)
{
    return (struct rsocket_listener *)(void *)((char *)entry -
                                               offsetof(struct rsocket_listener, entry));
}

/* ---- on the thread of a group ---- */

static int begin(struct rsocket_listener *listener, const struct rsocket_calls *calls)
{
    const int on = 1;
    const int off = 0;
    const struct sockaddr *at = (const struct sockaddr *)&listener->at;
    uint32_t backlog = listener->options.backlog;
    int rs = calls->socket(at->sa_family, SOCK_STREAM, 0);

    listener->entry.rs = rs;
    if (rs < 0)
        return errno ? errno : ENODEV;
    (void)calls->setsockopt(rs, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (at->sa_family == AF_INET6)
        (void)calls->setsockopt(rs, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    (void)rsocket_set_buffers(calls, rs, &listener->options); /* inherited by what is accepted */
    struct sockaddr_storage bound = { .ss_family = AF_UNSPEC };
    socklen_t length = sizeof(bound);
    if (calls->set_nonblocking(rs) != 0 || calls->bind(rs, at, listener->at_length) != 0 ||
        calls->listen(rs, backlog ? (int)backlog : BACKLOG) != 0 ||
        calls->getsockname(rs, (struct sockaddr *)&bound, &length) != 0)
        return errno ? errno : ENODEV;
    listener->port = net_address_port(&bound);
    return 0;
}

static int open_listener(struct rsocket_entry *entry, const struct rsocket_calls *calls)
{
    struct rsocket_listener *listener = of_entry(entry);
    int error = begin(listener, calls);

    listener->error = error;
    (void)sem_post(&listener->opened);
    return error;
}

/* One more, for the owner; false: it has to take some first, or there was an error. */
static bool put(struct rsocket_listener *listener, struct net_stream *stream, int error)
{
    pthread_mutex_lock(&listener->lock);
    if (stream)
        listener->waiting[(listener->first + listener->count++) % WAITING_MAX] = stream;
    if (error)
        listener->error = error;
    bool has_room = !error && listener->count < WAITING_MAX;
    pthread_mutex_unlock(&listener->lock);
    return has_room;
}

/* True: nothing was there for the owner. */
static bool accept_all(struct rsocket_entry *entry, const struct rsocket_calls *calls)
{
    struct rsocket_listener *listener = of_entry(entry);
    struct net_stream *stream = NULL;
    bool has_room = true;
    bool has_news = false;

    while (has_room) {
        int rs = calls->accept(entry->rs, NULL, NULL);
        if (rs < 0 && (errno == EINTR || errno == ECONNABORTED))
            continue;
        if (rs < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            break;
        int error = rs < 0 ? errno : rsocket_stream_adopt(calls, &listener->options, rs, &stream);
        has_room = put(listener, error ? NULL : stream, error);
        has_news = true;
    }
    return !has_news;
}

static void destroy(struct rsocket_entry *entry)
{
    struct rsocket_listener *listener = of_entry(entry);

    for (unsigned i = 0; i < listener->count; i++)
        net_stream_close(listener->waiting[(listener->first + i) % WAITING_MAX]);
    (void)sem_destroy(&listener->opened);
    (void)pthread_mutex_destroy(&listener->lock);
    free(listener);
}

static void nothing(struct rsocket_entry *entry, const struct rsocket_calls *calls)
{
    (void)entry;
    (void)calls;
}

static const struct rsocket_kind kind = {
    .open = open_listener,
    .opened = nothing,
    .accept = accept_all,
    .destroy = destroy,
};

/* ---- the owner ---- */

static int rsocket_accept(struct net_listener *base, struct net_stream **out)
{
    struct rsocket_listener *listener = of(base);
    int error = 0;

    *out = NULL;
    pthread_mutex_lock(&listener->lock);
    if (listener->count > 0) {
        *out = listener->waiting[listener->first];
        listener->first = (listener->first + 1) % WAITING_MAX;
        listener->count--;
    } else {
        error = listener->error;
        listener->error = 0;
    }
    pthread_mutex_unlock(&listener->lock);
    if (*out)
        return MD_OK;
    rsocket_entry_rest(&listener->entry, NET_READABLE);
    if (!error)
        return MD_ERR_AGAIN;
    char why[160];
    rsocket_explain(error, why, sizeof(why));
    return net_error_set(why);
}

static int rsocket_listener_descriptor(const struct net_listener *base)
{
    return of_const(base)->entry.signal.owner;
}

static uint16_t rsocket_listener_port(const struct net_listener *base)
{
    return of_const(base)->port;
}

static void rsocket_listener_close(struct net_listener *base)
{
    rsocket_entry_close(&of(base)->entry);
}

static const struct net_listener_ops listener_ops = {
    .accept = rsocket_accept,
    .descriptor = rsocket_listener_descriptor,
    .port = rsocket_listener_port,
    .close = rsocket_listener_close,
};

/* A listener at one address: MD_OK, or an error with errno. */
static int listen_at(const struct rsocket_calls *calls, const struct net_stream_options *options,
                     const struct addrinfo *at, struct rsocket_listener **out)
{
    struct rsocket_listener *listener = calloc(1, sizeof(*listener));

    *out = NULL;
    if (!listener)
        return MD_ERR_NOMEM;
    if (rsocket_signal_open(&listener->entry.signal) != MD_OK) {
        free(listener);
        return MD_ERR_SYS;
    }
    listener->base.ops = &listener_ops;
    listener->options = *options;
    listener->entry.kind = &kind;
    listener->entry.calls = calls;
    listener->entry.rs = -1;
    atomic_init(&listener->entry.wanted, NET_READABLE);
    memcpy(&listener->at, at->ai_addr, at->ai_addrlen);
    listener->at_length = at->ai_addrlen;
    (void)sem_init(&listener->opened, 0, 0);
    (void)pthread_mutex_init(&listener->lock, NULL);
    int err = rsocket_entry_add(&listener->entry);
    if (err != MD_OK) {
        int error = errno;
        close(listener->entry.signal.owner);
        close(listener->entry.signal.other);
        free(listener);
        errno = error;
        return err;
    }
    while (sem_wait(&listener->opened) != 0 && errno == EINTR)
        ;
    int error = listener->error;
    listener->error = 0;
    if (!error) {
        *out = listener;
        return MD_OK;
    }
    rsocket_entry_close(&listener->entry);
    errno = error;
    return MD_ERR_SYS;
}

static int rsocket_listen(const struct net_stream_options *options, const char *host, uint16_t port,
                          struct net_listener **out)
{
    struct rsocket_listener *listener = NULL;
    struct addrinfo *list;
    char why[256];
    const struct rsocket_calls *calls = rsocket_calls_load(why, sizeof(why));

    *out = NULL;
    if (!calls)
        return net_error_set(why);
    int err = net_look_up(host, port, AI_PASSIVE, &list);
    if (err != MD_OK)
        return err;
    err = MD_ERR_SYS;
    /* For "any" IPv6 first: it takes both. */
    for (int pass = 0; pass < 2 && !listener; pass++) {
        for (const struct addrinfo *at = list; at && !listener; at = at->ai_next) {
            if (host || (at->ai_family == AF_INET6) == (pass == 0))
                err = listen_at(calls, options, at, &listener);
        }
    }
    int error = errno;
    freeaddrinfo(list);
    errno = error;
    if (listener) {
        *out = &listener->base;
        return MD_OK;
    }
    if (err != MD_ERR_SYS || error == EADDRINUSE)
        return err;
    rsocket_explain(error, why, sizeof(why));
    return net_error_set(why);
}

const struct net_transport net_rsocket_transport = {
    .name = "rsocket",
    .dial = rsocket_dial,
    .listen = rsocket_listen,
};
