/* pipe.c - see tests/netio/pipe.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "pipe.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/err.h"
#include "netio/rsocket.h"
#include "stream_private.h"

/*
 * Two rings of bytes under one lock. An end driven by a descriptor has an eventfd that is readable
 * while something may have changed for it: bytes, room, the end. It is set when the other end acts
 * and cleared when a read takes the last byte, unless there is room that a write has waited for.
 * (Speed is not what this is for.)
 */
struct flow {
    uint8_t *bytes;
    size_t start;
    size_t length;
    bool ended; /* no more will be written */
};

struct pipe_pair {
    pthread_mutex_t lock;
    size_t capacity;
    struct flow flows[2]; /* flows[i]: written by end i */
    int event[2];         /* -1: that end polls */
    bool open[2];
    bool starved[2]; /* end i found no room when it wrote last */
};

struct pipe_stream {
    struct net_stream base;
    struct pipe_pair *pair;
    int end;
};

struct pipe_listener {
    struct net_listener base;
    struct pipe_listener *next;
    struct pipe_stream *waiting[64];
    size_t waiting_count;
    uint16_t port;
    int event;
};

static struct {
    pthread_mutex_t lock;
    size_t capacity; /* 0: closed */
    uint16_t next_port;
    struct pipe_listener *listeners;
} hub = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct pipe_stream *pipe_of(struct net_stream *stream)
{
    return (struct pipe_stream *)(void *)stream;
}

static struct pipe_listener *listener_of(struct net_listener *listener)
{
    return (struct pipe_listener *)(void *)listener;
}

static void set_event(int event)
{
    uint64_t one = 1;

    if (event >= 0)
        MD_ASSERT(write(event, &one, sizeof(one)) == sizeof(one));
}

static void clear_event(int event)
{
    uint64_t count;

    if (event >= 0)
        (void)!read(event, &count, sizeof(count)); /* non-blocking: may be clear already */
}

static void destroy_pair(struct pipe_pair *pair)
{
    for (int i = 0; i < 2; i++) {
        free(pair->flows[i].bytes);
        if (pair->event[i] >= 0)
            close(pair->event[i]);
    }
    pthread_mutex_destroy(&pair->lock);
    free(pair);
}

static void pipe_close(struct net_stream *base)
{
    struct pipe_stream *stream = pipe_of(base);
    struct pipe_pair *pair = stream->pair;
    int other = 1 - stream->end;

    pthread_mutex_lock(&pair->lock);
    pair->open[stream->end] = false;
    pair->flows[stream->end].ended = true;
    bool is_last = !pair->open[other];
    if (!is_last)
        set_event(pair->event[other]);
    pthread_mutex_unlock(&pair->lock);
    if (is_last)
        destroy_pair(pair);
    free(stream);
}

static int pipe_ready(struct net_stream *base)
{
    (void)base;
    return MD_OK;
}

static size_t take(struct flow *flow, size_t capacity, uint8_t *bytes, size_t size)
{
    size_t total = size < flow->length ? size : flow->length;
    size_t first = total < capacity - flow->start ? total : capacity - flow->start;

    if (total == 0)
        return 0;
    memcpy(bytes, flow->bytes + flow->start, first);
    memcpy(bytes + first, flow->bytes, total - first);
    flow->start = (flow->start + total) % capacity;
    flow->length -= total;
    return total;
}

static size_t put(struct flow *flow, size_t capacity, const uint8_t *bytes, size_t length)
{
    size_t room = capacity - flow->length;
    size_t total = length < room ? length : room;
    size_t at = (flow->start + flow->length) % capacity;
    size_t first = total < capacity - at ? total : capacity - at;

    if (total == 0)
        return 0;
    memcpy(flow->bytes + at, bytes, first);
    memcpy(flow->bytes, bytes + first, total - first);
    flow->length += total;
    return total;
}

static int64_t pipe_read(struct net_stream *base, uint8_t *bytes, size_t size)
{
    struct pipe_stream *stream = pipe_of(base);
    struct pipe_pair *pair = stream->pair;
    int end = stream->end, other = 1 - end;
    struct flow *flow = &pair->flows[other];

    pthread_mutex_lock(&pair->lock);
    size_t n = take(flow, pair->capacity, bytes, size);
    if (n > 0 && pair->open[other])
        set_event(pair->event[other]); /* there is room now */
    if (flow->length == 0 && !flow->ended) {
        clear_event(pair->event[end]);
        /* The change that woke us may have been room to write: keep it. */
        if (pair->starved[end] && pair->flows[end].length < pair->capacity)
            set_event(pair->event[end]);
    }
    int64_t result = n > 0 ? (int64_t)n : flow->ended ? MD_ERR_CLOSED : MD_ERR_AGAIN;
    pthread_mutex_unlock(&pair->lock);
    return result;
}

static int64_t pipe_write(struct net_stream *base, const struct md_slice *slices, size_t count)
{
    struct pipe_stream *stream = pipe_of(base);
    struct pipe_pair *pair = stream->pair;
    int end = stream->end, other = 1 - end;
    int64_t total = 0;

    pthread_mutex_lock(&pair->lock);
    if (!pair->open[other] || pair->flows[end].ended) {
        pthread_mutex_unlock(&pair->lock);
        snprintf(base->error, sizeof(base->error), "the other end is closed");
        return MD_ERR_CLOSED;
    }
    pair->starved[end] = false;
    for (size_t i = 0; i < count; i++) {
        size_t n = put(&pair->flows[end], pair->capacity, slices[i].bytes, slices[i].length);
        total += (int64_t)n;
        if (n < slices[i].length) {
            pair->starved[end] = true;
            break;
        }
    }
    if (total > 0)
        set_event(pair->event[other]);
    pthread_mutex_unlock(&pair->lock);
    return total;
}

static void pipe_shutdown(struct net_stream *base)
{
    struct pipe_stream *stream = pipe_of(base);
    struct pipe_pair *pair = stream->pair;

    pthread_mutex_lock(&pair->lock);
    pair->flows[stream->end].ended = true;
    if (pair->open[1 - stream->end])
        set_event(pair->event[1 - stream->end]);
    pthread_mutex_unlock(&pair->lock);
}

static int pipe_descriptor(const struct net_stream *base)
{
    const struct pipe_stream *stream = (const struct pipe_stream *)(const void *)base;

    return stream->pair->event[stream->end];
}

static unsigned pipe_wants(const struct net_stream *base, bool has_output)
{
    /* The eventfd is readable for every change, room included. */
    if (pipe_descriptor(base) >= 0)
        return NET_READABLE;
    return NET_READABLE | (has_output ? NET_WRITABLE : 0);
}

static unsigned pipe_poll(struct net_stream *base)
{
    struct pipe_stream *stream = pipe_of(base);
    struct pipe_pair *pair = stream->pair;
    int end = stream->end;
    unsigned ready = 0;

    pthread_mutex_lock(&pair->lock);
    if (pair->flows[1 - end].length > 0 || pair->flows[1 - end].ended)
        ready |= NET_READABLE;
    if (pair->flows[end].length < pair->capacity || !pair->open[1 - end])
        ready |= NET_WRITABLE;
    pthread_mutex_unlock(&pair->lock);
    return ready;
}

static unsigned pipe_poll_described(struct net_stream *base)
{
    (void)base;
    return 0;
}

static const struct net_stream_ops polled_ops = {
    .transport = "pipe-polled",
    .close = pipe_close,
    .ready = pipe_ready,
    .read = pipe_read,
    .write = pipe_write,
    .shutdown = pipe_shutdown,
    .descriptor = pipe_descriptor,
    .wants = pipe_wants,
    .poll = pipe_poll,
};

static const struct net_stream_ops described_ops = {
    .transport = "pipe",
    .close = pipe_close,
    .ready = pipe_ready,
    .read = pipe_read,
    .write = pipe_write,
    .shutdown = pipe_shutdown,
    .descriptor = pipe_descriptor,
    .wants = pipe_wants,
    .poll = pipe_poll_described,
};

static struct pipe_stream *make_end(struct pipe_pair *pair, int end, uint16_t port)
{
    struct pipe_stream *stream = calloc(1, sizeof(*stream));

    if (!stream)
        return NULL;
    stream->base.ops = pair->event[end] >= 0 ? &described_ops : &polled_ops;
    stream->pair = pair;
    stream->end = end;
    pair->open[end] = true;
    snprintf(stream->base.peer, sizeof(stream->base.peer), "pipe:%u", port);
    return stream;
}

static struct pipe_pair *make_pair(size_t capacity, bool first_polls, bool second_polls)
{
    struct pipe_pair *pair = calloc(1, sizeof(*pair));

    if (!pair)
        return NULL;
    pthread_mutex_init(&pair->lock, NULL);
    pair->capacity = capacity;
    bool polls[2] = { first_polls, second_polls };
    bool is_whole = true;
    for (int i = 0; i < 2; i++) {
        pair->flows[i].bytes = malloc(capacity);
        pair->event[i] = polls[i] ? -1 : eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        is_whole = is_whole && pair->flows[i].bytes && (polls[i] || pair->event[i] >= 0);
    }
    if (!is_whole) {
        destroy_pair(pair);
        return NULL;
    }
    return pair;
}

static int dial(uint16_t port, bool polls, struct net_stream **out)
{
    struct pipe_listener *listener;
    struct pipe_stream *near = NULL, *far = NULL;
    int rc = MD_ERR_SYS; /* nobody listens, or it has its hands full */

    *out = NULL;
    MD_ASSERT(hub.capacity != 0);
    pthread_mutex_lock(&hub.lock);
    for (listener = hub.listeners; listener && listener->port != port;)
        listener = listener->next;
    if (listener && listener->waiting_count < sizeof(listener->waiting) / sizeof(void *)) {
        struct pipe_pair *pair = make_pair(hub.capacity, polls, listener->event < 0);
        rc = MD_ERR_NOMEM;
        if (pair) {
            near = make_end(pair, 0, port);
            far = make_end(pair, 1, port);
        }
        if (near && far) {
            listener->waiting[listener->waiting_count++] = far;
            set_event(listener->event);
            *out = &near->base;
            rc = MD_OK;
        } else if (pair) {
            free(near);
            free(far);
            destroy_pair(pair);
        }
    }
    pthread_mutex_unlock(&hub.lock);
    return rc;
}

static int pipe_dial(const struct net_stream_options *options, const char *host, uint16_t port,
                     struct net_stream **out)
{
    (void)options;
    (void)host;
    return dial(port, false, out);
}

static int pipe_dial_polled(const struct net_stream_options *options, const char *host,
                            uint16_t port, struct net_stream **out)
{
    (void)options;
    (void)host;
    return dial(port, true, out);
}

static int pipe_accept(struct net_listener *base, struct net_stream **out)
{
    struct pipe_listener *listener = listener_of(base);
    int rc = MD_ERR_AGAIN;

    *out = NULL;
    pthread_mutex_lock(&hub.lock);
    if (listener->waiting_count > 0) {
        *out = &listener->waiting[0]->base;
        listener->waiting_count--;
        for (size_t i = 0; i < listener->waiting_count; i++)
            listener->waiting[i] = listener->waiting[i + 1];
        rc = MD_OK;
    } else {
        clear_event(listener->event);
    }
    pthread_mutex_unlock(&hub.lock);
    return rc;
}

static int pipe_listener_descriptor(const struct net_listener *base)
{
    return ((const struct pipe_listener *)(const void *)base)->event;
}

static uint16_t pipe_listener_port(const struct net_listener *base)
{
    return ((const struct pipe_listener *)(const void *)base)->port;
}

static void pipe_listener_close(struct net_listener *base)
{
    struct pipe_listener *listener = listener_of(base);
    struct pipe_listener **at = &hub.listeners;

    pthread_mutex_lock(&hub.lock);
    while (*at != listener)
        at = &(*at)->next;
    *at = listener->next;
    pthread_mutex_unlock(&hub.lock);
    for (size_t i = 0; i < listener->waiting_count; i++)
        net_stream_close(&listener->waiting[i]->base);
    if (listener->event >= 0)
        close(listener->event);
    free(listener);
}

static const struct net_listener_ops listener_ops = {
    .accept = pipe_accept,
    .descriptor = pipe_listener_descriptor,
    .port = pipe_listener_port,
    .close = pipe_listener_close,
};

static bool is_taken(uint16_t port)
{
    for (const struct pipe_listener *at = hub.listeners; at; at = at->next) {
        if (at->port == port)
            return true;
    }
    return false;
}

static int listen_on(uint16_t port, bool polls, struct net_listener **out)
{
    struct pipe_listener *listener = calloc(1, sizeof(*listener));
    int rc = MD_OK;

    *out = NULL;
    if (!listener)
        return MD_ERR_NOMEM;
    listener->base.ops = &listener_ops;
    listener->event = polls ? -1 : eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (!polls && listener->event < 0) {
        free(listener);
        return MD_ERR_SYS;
    }
    pthread_mutex_lock(&hub.lock);
    while (port == 0 || (port >= 49152 && is_taken(port)))
        port = (uint16_t)(49152u + hub.next_port++ % 16384u);
    if (is_taken(port)) {
        rc = MD_ERR_EXISTS;
    } else {
        listener->port = port;
        listener->next = hub.listeners;
        hub.listeners = listener;
        *out = &listener->base;
    }
    pthread_mutex_unlock(&hub.lock);
    if (rc != MD_OK) {
        if (listener->event >= 0)
            close(listener->event);
        free(listener);
    }
    return rc;
}

static int pipe_listen(const struct net_stream_options *options, const char *host, uint16_t port,
                       struct net_listener **out)
{
    (void)options;
    (void)host;
    return listen_on(port, false, out);
}

static int pipe_listen_polled(const struct net_stream_options *options, const char *host,
                              uint16_t port, struct net_listener **out)
{
    (void)options;
    (void)host;
    return listen_on(port, true, out);
}

const struct net_transport pipe_transport = {
    .name = "pipe",
    .dial = pipe_dial,
    .listen = pipe_listen,
};

const struct net_transport pipe_polled_transport = {
    .name = "pipe-polled",
    .dial = pipe_dial_polled,
    .listen = pipe_listen_polled,
};

void pipe_network_open(size_t capacity)
{
    MD_ASSERT(capacity > 0 && hub.capacity == 0);
    hub.capacity = capacity;
}

void pipe_network_close(void)
{
    MD_ASSERT(!hub.listeners);
    hub.capacity = 0;
}

const struct net_transport *transport_find(const char *name)
{
    static const struct net_transport *const all[] = {
        &net_tcp_transport,     &net_tls_transport,     &pipe_transport,
        &pipe_polled_transport, &net_rsocket_transport,
    };

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (strcmp(all[i]->name, name) == 0)
            return all[i];
    }
    return NULL;
}
