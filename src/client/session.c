/* session.c - see client/session.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/err.h"

#define SLICES_MAX 32
#define LINGER_NS  1000000000ull /* for the peer to read our last words */

struct receive_buffer {
    struct receive_buffer *next;
    size_t size;
    uint8_t bytes[];
};

struct client_context {
    struct rssl_pool *pool;
    struct receive_buffer *idle;
    size_t session_count;
};

enum phase {
    PHASE_CONNECTING, /* the stream */
    PHASE_OPEN,       /* bytes flow; the channel says the rest */
    PHASE_LINGERING,  /* all is written; the peer's end is awaited */
    PHASE_OVER,       /* CLOSED is told next, or was */
};

struct client_session {
    struct client_context *context;
    struct rssl_channel *channel;
    struct net_stream *stream;
    struct net_stream *old_stream; /* of the last attempt, until the loop has let go of it */
    struct receive_buffer *buffer; /* while it holds bytes not looked at */
    uint32_t input_buffers;
    enum phase phase;
    bool dry;     /* the last read took all there was */
    bool unread;  /* turn has not said 0 yet */
    bool blocked; /* the last write was not taken whole */
    bool write_failed;
    bool was_told; /* CLOSED */
    uint64_t linger_due_ns;
    struct client_dial dial;
    char description[256];
};

int client_context_create(const struct rssl_pool_config *pool, struct client_context **out)
{
    struct client_context *context = calloc(1, sizeof(*context));

    *out = NULL;
    if (!context)
        return MD_ERR_NOMEM;
    int rc = rssl_pool_create(pool, &context->pool);
    if (rc != MD_OK) {
        free(context);
        return rc;
    }
    *out = context;
    return MD_OK;
}

void client_context_destroy(struct client_context *context)
{
    if (!context)
        return;
    MD_ASSERT(context->session_count == 0);
    while (context->idle) {
        struct receive_buffer *next = context->idle->next;
        free(context->idle);
        context->idle = next;
    }
    rssl_pool_destroy(context->pool);
    free(context);
}

struct rssl_pool *client_context_pool(struct client_context *context)
{
    return context->pool;
}

/* One that is too small goes for good: the sizes grow to what the connections need, and stay. */
static bool take_buffer(struct client_session *session)
{
    struct client_context *context = session->context;
    size_t size =
        rssl_read_size(session->input_buffers,
                       rssl_channel_info(session->channel)->message_size_max, CLIENT_READ_LEAST);

    if (session->buffer)
        return true;
    session->buffer = context->idle;
    if (session->buffer)
        context->idle = session->buffer->next;
    if (session->buffer && session->buffer->size < size) {
        free(session->buffer);
        session->buffer = NULL;
    }
    if (!session->buffer) {
        session->buffer = malloc(sizeof(*session->buffer) + size);
        if (session->buffer)
            session->buffer->size = size;
    }
    return session->buffer != NULL;
}

static void give_buffer(struct client_session *session)
{
    if (!session->buffer)
        return;
    session->buffer->next = session->context->idle;
    session->context->idle = session->buffer;
    session->buffer = NULL;
}

static struct client_session *make(struct client_context *context, struct net_stream *stream)
{
    struct client_session *session = calloc(1, sizeof(*session));

    if (!session)
        return NULL;
    session->context = context;
    session->stream = stream;
    session->phase = PHASE_CONNECTING;
    context->session_count++;
    return session;
}

int client_session_serve(struct client_context *context, struct net_stream *stream,
                         const struct rssl_config *config, uint64_t now_ns,
                         struct client_session **out)
{
    struct client_session *session = make(context, stream);

    *out = NULL;
    if (!session) {
        net_stream_close(stream);
        return MD_ERR_NOMEM;
    }
    session->input_buffers = config->input_buffers;
    int rc = rssl_channel_create(config, context->pool, now_ns, &session->channel);
    if (rc != MD_OK) {
        client_session_destroy(session);
        return rc;
    }
    *out = session;
    return MD_OK;
}

static int dial(struct client_session *session, uint64_t now_ns)
{
    struct client_dial *to = &session->dial;
    int rc = to->transport->dial(&to->options, to->host, to->port, &session->stream);

    if (rc != MD_OK)
        return rc;
    session->phase = PHASE_CONNECTING;
    session->dry = session->blocked = session->write_failed = false;
    return rssl_channel_create(&to->rssl, session->context->pool, now_ns, &session->channel);
}

int client_session_dial(struct client_context *context, const struct client_dial *to,
                        uint64_t now_ns, struct client_session **out)
{
    struct client_session *session = make(context, NULL);

    *out = NULL;
    if (!session)
        return MD_ERR_NOMEM;
    session->dial = *to;
    session->input_buffers = to->rssl.input_buffers;
    int rc = dial(session, now_ns);
    if (rc != MD_OK) {
        int error = errno;
        client_session_destroy(session);
        errno = error;
        return rc;
    }
    *out = session;
    return MD_OK;
}

void client_session_destroy(struct client_session *session)
{
    if (!session)
        return;
    rssl_channel_destroy(session->channel);
    give_buffer(session);
    net_stream_close(session->old_stream);
    net_stream_close(session->stream);
    session->context->session_count--;
    free(session);
}

static void connect_stream(struct client_session *session, uint64_t now_ns)
{
    int rc = net_stream_ready(session->stream);

    if (rc == MD_ERR_AGAIN)
        return;
    if (rc != MD_OK) {
        rssl_channel_input_end(session->channel, true);
        return;
    }
    session->phase = PHASE_OPEN;
    rssl_channel_start(session->channel, now_ns);
}

int client_session_flush(struct client_session *session, uint64_t now_ns)
{
    struct md_slice slices[SLICES_MAX];
    size_t count;

    if (session->phase != PHASE_OPEN || session->write_failed)
        return MD_ERR_STATE;
    if (session->blocked)
        return MD_ERR_AGAIN;
    while ((count = rssl_channel_output(session->channel, slices, SLICES_MAX)) > 0) {
        size_t offered = 0;
        for (size_t i = 0; i < count; i++)
            offered += slices[i].length;
        int64_t n = net_stream_write(session->stream, slices, count);
        if (n < 0) {
            /* Read first what the peer sent before it closed. */
            session->write_failed = true;
            return MD_ERR_CLOSED;
        }
        rssl_channel_sent(session->channel, now_ns, (size_t)n);
        if ((size_t)n < offered) {
            session->blocked = true;
            return MD_ERR_AGAIN;
        }
    }
    return MD_OK;
}

int client_session_write_raw(struct client_session *session, const uint8_t *bytes, size_t length)
{
    const struct md_slice slice = { bytes, length };

    if (session->phase != PHASE_OPEN || session->write_failed || session->blocked ||
        !rssl_outq_is_empty(rssl_channel_outq(session->channel)))
        return MD_ERR_STATE;
    return net_stream_write(session->stream, &slice, 1) == (int64_t)length ? MD_OK : MD_ERR_SYS;
}

/* One read; true if the channel got something to say. */
static bool read_stream(struct client_session *session, uint64_t now_ns)
{
    if (session->dry) {
        session->dry = false;
        return false;
    }
    if (!take_buffer(session)) {
        rssl_channel_input_end(session->channel, true);
        return true;
    }
    int64_t n = net_stream_read(session->stream, session->buffer->bytes, session->buffer->size);
    if (n > 0) {
        session->dry = n < (int64_t)session->buffer->size;
        rssl_channel_input(session->channel, now_ns, session->buffer->bytes, (size_t)n);
        return true;
    }
    if (n == MD_ERR_AGAIN && !session->write_failed)
        return false;
    rssl_channel_input_end(session->channel, n != MD_ERR_CLOSED);
    return true;
}

/* The host's address did not take the connection: the next one of the name may. */
static bool try_next_address(struct client_session *session, uint64_t now_ns)
{
    const struct client_dial *to = &session->dial;
    enum rssl_reason reason = rssl_channel_reason(session->channel);
    struct rssl_channel *channel;
    struct net_stream *next;

    if (session->phase != PHASE_CONNECTING || !to->transport ||
        (reason != RSSL_REASON_STREAM_FAILED && reason != RSSL_REASON_HANDSHAKE_TIMEOUT))
        return false;
    if (rssl_channel_create(&to->rssl, session->context->pool, now_ns, &channel) != MD_OK)
        return false;
    if (net_stream_next(session->stream, &to->options, to->host, &next) != MD_OK) {
        rssl_channel_destroy(channel);
        return false;
    }
    rssl_channel_destroy(session->channel);
    session->channel = channel;
    session->old_stream = session->stream;
    session->stream = next;
    return true;
}

/* The server hung up on our request: once more, with the version before. */
static bool fall_back(struct client_session *session, uint64_t now_ns)
{
    enum rssl_version older = rssl_channel_older_version(session->channel);
    struct net_stream *stream = session->stream;

    if (older == 0 || !session->dial.transport)
        return false;
    struct rssl_channel *channel = session->channel;
    session->dial.rssl.version = older;
    session->channel = NULL;
    if (dial(session, now_ns) != MD_OK) {
        if (session->stream != stream)
            net_stream_close(session->stream);
        session->stream = stream;
        session->channel = channel;
        return false;
    }
    rssl_channel_destroy(channel);
    give_buffer(session);
    session->old_stream = stream;
    return true;
}

/* The channel is closed: write what is left, hang up, and see that the peer could read it. */
static void wind_up(struct client_session *session, uint64_t now_ns)
{
    enum rssl_reason reason = rssl_channel_reason(session->channel);
    /* Worth waiting for only where we had something to say. */
    bool lingers = reason == RSSL_REASON_LOCAL || reason == RSSL_REASON_REFUSED_BY_US ||
                   reason == RSSL_REASON_NOT_RSSL;

    if (session->phase == PHASE_OPEN) {
        (void)client_session_flush(session, now_ns);
        rssl_channel_tick(session->channel, now_ns);
        if (!rssl_channel_is_finished(session->channel) && !session->write_failed)
            return;
        net_stream_shutdown(session->stream);
        if (lingers && !session->write_failed) {
            session->linger_due_ns = now_ns + LINGER_NS;
            session->phase = PHASE_LINGERING;
        }
    }
    if (session->phase == PHASE_LINGERING && now_ns < session->linger_due_ns) {
        while (take_buffer(session)) {
            int64_t n =
                net_stream_read(session->stream, session->buffer->bytes, session->buffer->size);
            if (n == MD_ERR_AGAIN)
                return;
            if (n < 0)
                break;
        }
    }
    session->phase = PHASE_OVER;
}

/* Events but CLOSED, which is held back until the session has wound up. */
static size_t channel_events(struct client_session *session, struct rssl_event *events, size_t max)
{
    size_t count = rssl_channel_events(session->channel, events, max);

    if (count > 0 && events[count - 1].kind == RSSL_EVENT_CLOSED)
        count--;
    return count;
}

static size_t active_turn(struct client_session *session, uint64_t now_ns,
                          struct rssl_event *events, size_t max)
{
    struct rssl_channel *channel = session->channel;
    size_t count;

    if (session->phase == PHASE_CONNECTING)
        connect_stream(session, now_ns);
    if (now_ns >= rssl_channel_deadline(channel))
        rssl_channel_tick(channel, now_ns);
    while ((count = channel_events(session, events, max)) == 0) {
        if (session->phase != PHASE_OPEN || rssl_channel_state(channel) == RSSL_STATE_CLOSED ||
            !read_stream(session, now_ns))
            break;
    }
    return count;
}

size_t client_session_turn(struct client_session *session, uint64_t now_ns,
                           struct rssl_event *events, size_t max)
{
    size_t count = 0;

    if (max == 0)
        return 0;
    if (session->old_stream) {
        net_stream_close(session->old_stream);
        session->old_stream = NULL;
    }
    if (!session->unread)
        session->blocked = false; /* woken: it may go on */
    if (session->phase == PHASE_CONNECTING || session->phase == PHASE_OPEN) {
        count = active_turn(session, now_ns, events, max);
        if (count > 0) {
            session->unread = true;
            return count;
        }
    }
    session->unread = false;
    if (rssl_channel_state(session->channel) != RSSL_STATE_CLOSED) {
        give_buffer(session);
        (void)client_session_flush(session, now_ns);
        return 0;
    }
    if (session->phase != PHASE_OVER) {
        if (try_next_address(session, now_ns) || fall_back(session, now_ns))
            return 0;
        if (session->phase == PHASE_CONNECTING)
            session->phase = PHASE_OVER;
        else
            wind_up(session, now_ns);
        give_buffer(session);
    }
    if (session->phase != PHASE_OVER || session->was_told)
        return 0;
    session->was_told = true;
    events[0] = (struct rssl_event){ .kind = RSSL_EVENT_CLOSED };
    return 1;
}

int client_session_descriptor(const struct client_session *session)
{
    return net_stream_descriptor(session->stream);
}

unsigned client_session_wants(const struct client_session *session)
{
    const struct rssl_outq *q = rssl_channel_outq(session->channel);
    bool has_output = session->phase == PHASE_OPEN && !rssl_outq_is_empty(q);

    if (session->phase == PHASE_OVER)
        return 0;
    return net_stream_wants(session->stream, has_output);
}

uint64_t client_session_deadline(const struct client_session *session)
{
    if (session->unread || (session->phase == PHASE_OVER && !session->was_told))
        return 0;
    if (session->phase == PHASE_OVER)
        return RSSL_NEVER;
    if (session->phase == PHASE_LINGERING)
        return session->linger_due_ns;
    return rssl_channel_deadline(session->channel);
}

struct rssl_channel *client_session_channel(struct client_session *session)
{
    return session->channel;
}

struct rssl_outq *client_session_outq(struct client_session *session)
{
    return rssl_channel_outq(session->channel);
}

const char *client_session_peer(const struct client_session *session)
{
    return net_stream_peer(session->stream);
}

const struct net_stream *client_session_stream(const struct client_session *session)
{
    return session->stream;
}

const char *client_session_describe(struct client_session *session)
{
    const char *detail = rssl_channel_reason_detail(session->channel);
    enum rssl_reason reason = rssl_channel_reason(session->channel);

    if (reason == RSSL_REASON_NONE)
        return "";
    if (reason == RSSL_REASON_STREAM_FAILED)
        detail = net_stream_error(session->stream);
    snprintf(session->description, sizeof(session->description), "%s%s%s", rssl_reason_text(reason),
             detail[0] ? ": " : "", detail);
    return session->description;
}
