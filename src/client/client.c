/* client.c - see rmds/client.h: the public face of sessions. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rmds/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "client/session.h"
#include "netio/rsocket.h"

_Static_assert((int)RMDS_ERROR_RANGE == (int)MD_ERR_RANGE, "one set of codes");
_Static_assert((int)RMDS_ERROR_FULL == (int)MD_ERR_FULL, "one set of codes");
_Static_assert((int)RMDS_ERROR_NOMEM == (int)MD_ERR_NOMEM, "one set of codes");
_Static_assert((int)RMDS_ERROR_SYSTEM == (int)MD_ERR_SYS, "one set of codes");
_Static_assert((int)RMDS_ERROR_NOT_FOUND == (int)MD_ERR_NOT_FOUND, "one set of codes");
_Static_assert((int)RMDS_ERROR_EXISTS == (int)MD_ERR_EXISTS, "one set of codes");
_Static_assert((int)RMDS_ERROR_STATE == (int)MD_ERR_STATE, "one set of codes");
_Static_assert((int)RMDS_ERROR_UNSUPPORTED == (int)MD_ERR_UNSUPPORTED, "one set of codes");
_Static_assert((int)RMDS_ERROR_AGAIN == (int)MD_ERR_AGAIN, "one set of codes");
_Static_assert((int)RMDS_ERROR_CLOSED == (int)MD_ERR_CLOSED, "one set of codes");
_Static_assert(RMDS_READABLE == NET_READABLE && RMDS_WRITABLE == NET_WRITABLE, "the same bits");
_Static_assert(RMDS_COMPRESSION_ZLIB == RSSL_COMPRESSION_BIT_ZLIB, "the same bits");
_Static_assert(RMDS_COMPRESSION_LZ4 == RSSL_COMPRESSION_BIT_LZ4, "the same bits");
_Static_assert((int)RMDS_EVENT_CLOSED == (int)RSSL_EVENT_CLOSED, "events are passed on");
_Static_assert((int)RMDS_EVENT_MESSAGE == (int)RSSL_EVENT_MESSAGE, "events are passed on");
_Static_assert(sizeof(struct rmds_event) == sizeof(struct rssl_event), "events are passed on");
_Static_assert(offsetof(struct rmds_event, bytes) == offsetof(struct rssl_event, bytes), "as is");

#define TURN_MAX 64 /* events passed on in one go */

/* Identities of connecting channels, of which all with the same files share one. */
struct identity {
    struct identity *next;
    struct net_tls *tls;
    struct rmds_options files; /* its strings are ours */
};

struct rmds_context {
    struct client_context *sessions;
    struct identity *identities;
};

/* Options with strings of their own. */
struct settings {
    struct rmds_options options;
    const struct net_transport *transport;
};

struct rmds_channel {
    struct client_session *session;
    struct settings settings; /* of a connecting one */
    void *user;
};

struct rmds_listener {
    struct net_listener *listener;
    struct settings settings;
    struct net_tls *tls;
};

uint64_t rmds_now(void)
{
    return md_clock_mono_ns();
}

const char *rmds_error_text(int error)
{
    return md_err_name(error);
}

void rmds_options_init(struct rmds_options *options)
{
    memset(options, 0, sizeof(*options));
    options->transport = "tcp";
    options->fragment_size = 6144;
    options->nodelay = true;
    options->packing = true;
    options->guaranteed_buffers = 100;
    options->max_buffers = 400;
    options->message_max = 64u << 20;
    options->ping_timeout_s = 60;
    options->ping_timeout_min_s = 20;
}

static char *copy(const char *text)
{
    return text ? strdup(text) : NULL;
}

static void drop(const char *text)
{
    free((char *)(uintptr_t)text);
}

static void copy_strings(struct rmds_options *options)
{
    options->host = copy(options->host);
    options->interface = copy(options->interface);
    options->component = copy(options->component);
    options->tls_certificate = copy(options->tls_certificate);
    options->tls_key = copy(options->tls_key);
    options->tls_ca = copy(options->tls_ca);
    options->transport = NULL;
}

static void drop_strings(struct rmds_options *options)
{
    drop(options->host);
    drop(options->interface);
    drop(options->component);
    drop(options->tls_certificate);
    drop(options->tls_key);
    drop(options->tls_ca);
}

static int settings_init(struct settings *settings, const struct rmds_options *options)
{
    static const struct net_transport *const all[] = { &net_tcp_transport, &net_tls_transport,
                                                       &net_rsocket_transport };
    const char *name = options->transport ? options->transport : "tcp";

    memset(settings, 0, sizeof(*settings));
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        settings->transport = strcmp(all[i]->name, name) == 0 ? all[i] : settings->transport;
    if (!settings->transport)
        return MD_ERR_UNSUPPORTED;
    if (options->ping_timeout_s > 255 || options->ping_timeout_min_s > 255)
        return MD_ERR_RANGE;
    settings->options = *options;
    copy_strings(&settings->options);
    return MD_OK;
}

static void settings_fini(struct settings *settings)
{
    drop_strings(&settings->options);
    memset(settings, 0, sizeof(*settings));
}

static struct net_stream_options stream_options(const struct rmds_options *options,
                                                struct net_tls *tls)
{
    return (struct net_stream_options){
        .nodelay = options->nodelay,
        .send_buffer = options->send_buffer,
        .recv_buffer = options->recv_buffer,
        .interface = options->interface,
        .attempt = options->attempt,
        .tls = tls,
    };
}

static struct rssl_config rssl_options(const struct rmds_options *options, enum rssl_role role)
{
    struct rssl_config config = rssl_config_default(role);

    config.message_size_max = options->fragment_size;
    config.ping_timeout_s = (uint8_t)options->ping_timeout_s;
    config.ping_timeout_min_s = (uint8_t)options->ping_timeout_min_s;
    if (role == RSSL_ROLE_CLIENT)
        config.ping_timeout_min_s = 0; /* the server's to say */
    config.compression_bits = (uint8_t)(options->compression & 3);
    config.packing = options->packing;
    config.guaranteed_buffers = options->guaranteed_buffers;
    config.max_buffers = options->max_buffers;
    config.message_max = options->message_max;
    config.component = options->component;
    if (options->handshake_timeout_ms)
        config.handshake_timeout_ns = options->handshake_timeout_ms * MD_NS_PER_MS;
    config.random = md_clock_mono_ns();
    return config;
}

int rmds_context_create(struct rmds_context **out)
{
    struct rmds_context *context = calloc(1, sizeof(*context));

    *out = NULL;
    if (!context)
        return MD_ERR_NOMEM;
    int rc = client_context_create(NULL, &context->sessions);
    if (rc != MD_OK) {
        free(context);
        return rc;
    }
    *out = context;
    return MD_OK;
}

void rmds_context_destroy(struct rmds_context *context)
{
    if (!context)
        return;
    client_context_destroy(context->sessions);
    while (context->identities) {
        struct identity *next = context->identities->next;
        net_tls_destroy(context->identities->tls);
        drop_strings(&context->identities->files);
        free(context->identities);
        context->identities = next;
    }
    free(context);
}

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static int make_tls(const struct rmds_options *options, bool is_server, struct net_tls **out)
{
    char error[160];
    struct net_tls_config config = {
        .certificate = options->tls_certificate,
        .key = options->tls_key,
        .ca = options->tls_ca,
        .is_server = is_server,
        .require_client_certificate = is_server && options->tls_client_certificate,
        .skip_verify = options->tls_skip_verify,
    };

    return net_tls_create(&config, error, sizeof(error), out);
}

static int find_identity(struct rmds_context *context, const struct rmds_options *options,
                         struct net_tls **out)
{
    struct identity *at = context->identities;

    while (at &&
           !(same(at->files.tls_certificate, options->tls_certificate) &&
             same(at->files.tls_key, options->tls_key) && same(at->files.tls_ca, options->tls_ca) &&
             at->files.tls_skip_verify == options->tls_skip_verify))
        at = at->next;
    *out = at ? at->tls : NULL;
    if (at)
        return MD_OK;
    at = calloc(1, sizeof(*at));
    if (!at)
        return MD_ERR_NOMEM;
    int rc = make_tls(options, false, &at->tls);
    if (rc != MD_OK) {
        free(at);
        return rc;
    }
    at->files = *options;
    copy_strings(&at->files);
    at->next = context->identities;
    context->identities = at;
    *out = at->tls;
    return MD_OK;
}

int rmds_connect(struct rmds_context *context, const struct rmds_options *options,
                 struct rmds_channel **out)
{
    struct rmds_channel *channel = calloc(1, sizeof(*channel));
    struct net_tls *tls = NULL;
    int rc = MD_ERR_NOMEM;

    *out = NULL;
    if (!channel)
        return rc;
    rc = options->host ? settings_init(&channel->settings, options) : MD_ERR_RANGE;
    if (rc != MD_OK)
        goto fail;
    if (channel->settings.transport == &net_tls_transport)
        rc = find_identity(context, options, &tls);
    if (rc != MD_OK)
        goto fail_settings;
    const struct rmds_options *own = &channel->settings.options;
    struct client_dial dial = {
        .transport = channel->settings.transport,
        .options = stream_options(own, tls),
        .host = own->host,
        .port = own->port,
        .rssl = rssl_options(own, RSSL_ROLE_CLIENT),
    };
    rc = client_session_dial(context->sessions, &dial, md_clock_mono_ns(), &channel->session);
    if (rc != MD_OK)
        goto fail_settings;
    *out = channel;
    return MD_OK;
fail_settings:
    settings_fini(&channel->settings);
fail:
    free(channel);
    return rc;
}

int rmds_listen(struct rmds_context *context, const struct rmds_options *options,
                struct rmds_listener **out)
{
    struct rmds_listener *listener = calloc(1, sizeof(*listener));
    int rc = MD_ERR_NOMEM;

    (void)context;
    *out = NULL;
    if (!listener)
        return rc;
    rc = settings_init(&listener->settings, options);
    if (rc == MD_OK && listener->settings.transport == &net_tls_transport)
        rc = make_tls(options, true, &listener->tls);
    if (rc == MD_OK) {
        struct net_stream_options net = stream_options(&listener->settings.options, listener->tls);
        rc = listener->settings.transport->listen(&net, listener->settings.options.host,
                                                  options->port, &listener->listener);
    }
    if (rc != MD_OK) {
        rmds_listener_close(listener);
        return rc;
    }
    *out = listener;
    return MD_OK;
}

int rmds_listener_descriptor(const struct rmds_listener *listener)
{
    return net_listener_descriptor(listener->listener);
}

uint16_t rmds_listener_port(const struct rmds_listener *listener)
{
    return net_listener_port(listener->listener);
}

int rmds_listener_accept(struct rmds_listener *listener, struct rmds_context *context,
                         struct rmds_channel **out)
{
    struct net_stream *stream;
    int rc = net_listener_accept(listener->listener, &stream);

    *out = NULL;
    if (rc != MD_OK)
        return rc;
    struct rmds_channel *channel = calloc(1, sizeof(*channel));
    if (!channel) {
        net_stream_close(stream);
        return MD_ERR_NOMEM;
    }
    struct rssl_config config = rssl_options(&listener->settings.options, RSSL_ROLE_SERVER);
    rc = client_session_serve(context->sessions, stream, &config, md_clock_mono_ns(),
                              &channel->session);
    if (rc != MD_OK) {
        free(channel);
        return rc;
    }
    *out = channel;
    return MD_OK;
}

int rmds_listener_reload(struct rmds_listener *listener)
{
    char error[160];

    return listener->tls ? net_tls_reload(listener->tls, error, sizeof(error)) : MD_OK;
}

void rmds_listener_close(struct rmds_listener *listener)
{
    if (!listener)
        return;
    net_listener_close(listener->listener);
    net_tls_destroy(listener->tls);
    settings_fini(&listener->settings);
    free(listener);
}

size_t rmds_channel_turn(struct rmds_channel *channel, uint64_t now_ns, struct rmds_event *events,
                         size_t max)
{
    struct rssl_event own[TURN_MAX];
    size_t count =
        client_session_turn(channel->session, now_ns, own, max < TURN_MAX ? max : TURN_MAX);

    for (size_t i = 0; i < count; i++)
        events[i] =
            (struct rmds_event){ (enum rmds_event_kind)own[i].kind, own[i].length, own[i].bytes };
    return count;
}

uint8_t *rmds_channel_reserve(struct rmds_channel *channel, size_t length)
{
    return rssl_outq_reserve(client_session_outq(channel->session), length);
}

void rmds_channel_commit(struct rmds_channel *channel, size_t length)
{
    rssl_outq_commit(client_session_outq(channel->session), length);
}

int rmds_channel_send(struct rmds_channel *channel, const void *message, size_t length)
{
    return rssl_outq_write(client_session_outq(channel->session), message, length);
}

int rmds_channel_flush(struct rmds_channel *channel, uint64_t now_ns)
{
    return client_session_flush(channel->session, now_ns);
}

int rmds_channel_descriptor(const struct rmds_channel *channel)
{
    return client_session_descriptor(channel->session);
}

unsigned rmds_channel_wants(const struct rmds_channel *channel)
{
    return client_session_wants(channel->session);
}

uint64_t rmds_channel_deadline(const struct rmds_channel *channel)
{
    return client_session_deadline(channel->session);
}

void rmds_channel_close(struct rmds_channel *channel)
{
    rssl_channel_close(client_session_channel(channel->session));
}

void rmds_channel_refuse(struct rmds_channel *channel, const char *text)
{
    rssl_channel_refuse(client_session_channel(channel->session), text);
}

void rmds_channel_destroy(struct rmds_channel *channel)
{
    if (!channel)
        return;
    client_session_destroy(channel->session);
    settings_fini(&channel->settings);
    free(channel);
}

void rmds_channel_info(const struct rmds_channel *channel, struct rmds_channel_info *out)
{
    const struct rssl_info *info = rssl_channel_info(client_session_channel(channel->session));

    *out = (struct rmds_channel_info){
        .rwf_major = info->rwf_major,
        .rwf_minor = info->rwf_minor,
        .fragment_size = info->message_size_max,
        .ping_timeout_s = info->ping_timeout_s,
        .compression = info->compression ? 1u << (info->compression - 1) : 0,
        .component = info->component,
        .peer = client_session_peer(channel->session),
    };
}

void rmds_channel_stats(const struct rmds_channel *channel, struct rmds_channel_stats *out)
{
    const struct rssl_channel_stats *in =
        rssl_channel_stats(client_session_channel(channel->session));
    const struct rssl_outq *q = client_session_outq(channel->session);
    struct rssl_outq_stats sent;

    rssl_outq_stats(q, &sent);
    *out = (struct rmds_channel_stats){
        .messages_in = in->message_count,
        .bytes_in = in->bytes_in,
        .messages_out = sent.message_count,
        .bytes_out = sent.wire_bytes,
        .frames_out = sent.frame_count,
        .flushes = sent.flush_count,
        .refused = sent.full_count,
        .queued_buffers = rssl_outq_depth(q),
        .queued_buffers_max =
            q->config.frame_max ? (uint32_t)(sent.queued_bytes_max / q->config.frame_max) : 0,
    };
}

const char *rmds_channel_reason(const struct rmds_channel *channel)
{
    return client_session_describe(channel->session);
}

void rmds_channel_set_user(struct rmds_channel *channel, void *user)
{
    channel->user = user;
}

void *rmds_channel_user(const struct rmds_channel *channel)
{
    return channel->user;
}
