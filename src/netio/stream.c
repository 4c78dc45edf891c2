/* stream.c - see netio/stream.h: calls through the table. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "netio/stream.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "error.h"
#include "stream_private.h"

static _Thread_local char sentence[256];

int net_error_set(const char *text)
{
    snprintf(sentence, sizeof(sentence), "%s", text);
    errno = NET_ERROR_TOLD;
    return MD_ERR_SYS;
}

const char *net_error(void)
{
    return errno == NET_ERROR_TOLD ? sentence : strerror(errno);
}

void net_stream_close(struct net_stream *stream)
{
    if (stream)
        stream->ops->close(stream);
}

int net_stream_ready(struct net_stream *stream)
{
    return stream->ops->ready(stream);
}

int net_stream_next(struct net_stream *stream, const struct net_stream_options *options,
                    const char *host, struct net_stream **out)
{
    *out = NULL;
    return stream->ops->next ? stream->ops->next(stream, options, host, out) : MD_ERR_NOT_FOUND;
}

int64_t net_stream_read(struct net_stream *stream, uint8_t *bytes, size_t size)
{
    return stream->ops->read(stream, bytes, size);
}

int64_t net_stream_write(struct net_stream *stream, const struct md_slice *slices, size_t count)
{
    return stream->ops->write(stream, slices, count);
}

void net_stream_nodelay_set(struct net_stream *stream, bool is_on)
{
    int fd = net_stream_descriptor(stream);
    int value = is_on;

    if (fd >= 0)
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, sizeof(value));
}

uint32_t net_stream_rtt_us(const struct net_stream *stream)
{
    struct tcp_info info;
    socklen_t length = sizeof(info);
    int fd = net_stream_descriptor(stream);

    if (fd < 0 || getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0)
        return 0;
    return info.tcpi_rtt;
}

void net_stream_shutdown(struct net_stream *stream)
{
    stream->ops->shutdown(stream);
}

int net_stream_descriptor(const struct net_stream *stream)
{
    return stream->ops->descriptor(stream);
}

unsigned net_stream_wants(const struct net_stream *stream, bool has_output)
{
    return stream->ops->wants(stream, has_output);
}

unsigned net_stream_poll(struct net_stream *stream)
{
    return stream->ops->poll(stream);
}

const char *net_stream_peer(const struct net_stream *stream)
{
    return stream->peer;
}

const char *net_stream_transport(const struct net_stream *stream)
{
    return stream->ops->transport;
}

const char *net_stream_error(const struct net_stream *stream)
{
    return stream->error;
}

int net_listener_accept(struct net_listener *listener, struct net_stream **out)
{
    return listener->ops->accept(listener, out);
}

int net_listener_descriptor(const struct net_listener *listener)
{
    return listener->ops->descriptor(listener);
}

uint16_t net_listener_port(const struct net_listener *listener)
{
    return listener->ops->port(listener);
}

void net_listener_close(struct net_listener *listener)
{
    if (listener)
        listener->ops->close(listener);
}

bool net_stream_identity(const struct net_stream *stream, enum net_identity which,
                         char out[NET_IDENTITY_MAX], int64_t *expires_s)
{
    out[0] = '\0';
    *expires_s = 0;
    return stream->ops->identity && stream->ops->identity(stream, which, out, expires_s);
}

bool net_stream_serial(const struct net_stream *stream, char out[NET_SERIAL_MAX])
{
    out[0] = '\0';
    return stream->ops->serial && stream->ops->serial(stream, out);
}
