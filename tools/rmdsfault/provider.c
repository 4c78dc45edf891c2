/* provider.c - see provider.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "provider.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "conf/options.h"
#include "dictionary.h"
#include "omm/directory.h"
#include "omm/item.h"
#include "omm/login.h"

#define PROGRAM   "rmdsfault"
#define BUFFERS   30000u
#define HANGUP_NS (50 * MD_NS_PER_MS)

/* ---- the engine and the loop ---- */

/* What was queued goes out, and the engine is called again when it wants to be. */
static void settle(struct provider *provider)
{
    for (struct conn *conn = provider->conns; conn && !provider->is_silent; conn = conn->next) {
        if (conn->is_unflushed && !conn->is_doomed)
            (void)link_flush(conn->link);
        conn->is_unflushed = false;
    }
    (void)md_loop_timer_at(provider->timer, fault_engine_deadline(provider->engine));
}

static void on_time(void *owner)
{
    struct provider *provider = owner;

    fault_engine_tick(provider->engine, md_clock_mono_ns());
    settle(provider);
}

static void tell(struct conn *conn, struct fault_event *event)
{
    struct provider *provider = conn->provider;

    if (conn->is_doomed)
        return;
    event->client = conn->number;
    if (provider->config.is_verbose && event->kind != FAULT_SEEN_PING)
        fprintf(stderr, PROGRAM ": %s: %s %s\n", client_session_peer(link_session(conn->link)),
                fault_seen_name(event->kind), event->name ? event->name : "");
    fault_engine_event(provider->engine, md_clock_mono_ns(), event);
}

/* ---- messages of clients ---- */

static void copy_name(char out[FAULT_NAME_MAX + 1], struct rwf_bytes name)
{
    size_t length = name.length < FAULT_NAME_MAX ? name.length : FAULT_NAME_MAX;

    if (length > 0)
        memcpy(out, name.data, length);
    out[length] = 0;
}

static void on_login(struct conn *conn, const struct rwf_msg *msg)
{
    struct omm_login_request request;
    char name[FAULT_NAME_MAX + 1];
    struct fault_event event = { .kind = FAULT_SEEN_LOGIN, .name = name };

    (void)omm_login_request_decode(msg, &request);
    copy_name(name, request.user);
    (void)snprintf(conn->user, sizeof(conn->user), "%.127s", name);
    conn->login_stream = event.stream_id = msg->stream_id;
    event.no_refresh = request.no_refresh;
    tell(conn, &event);
}

static void on_directory(struct conn *conn, const struct rwf_msg *msg)
{
    struct omm_directory_request request;
    struct fault_event event = { .kind = FAULT_SEEN_DIRECTORY };

    (void)omm_directory_request_decode(msg, &request);
    conn->directory_stream = event.stream_id = msg->stream_id;
    event.filter = request.filter;
    event.is_streaming = request.is_streaming;
    event.no_refresh = request.no_refresh;
    tell(conn, &event);
}

static void on_dictionary(struct conn *conn, const struct rwf_msg *msg)
{
    struct omm_dictionary_request request;
    char name[FAULT_NAME_MAX + 1];
    struct fault_event event = { .kind = FAULT_SEEN_DICTIONARY, .name = name };

    (void)omm_dictionary_request_decode(msg, &request);
    copy_name(name, request.name);
    event.stream_id = msg->stream_id;
    event.filter = request.filter;
    event.is_streaming = request.is_streaming;
    if (strcmp(name, "RWFFld") == 0)
        event.dictionary = RWF_DICTIONARY_TYPE_FIELDS;
    else if (strcmp(name, "RWFEnum") == 0)
        event.dictionary = RWF_DICTIONARY_TYPE_ENUMS;
    tell(conn, &event);
}

static void on_item(struct conn *conn, const struct rwf_msg *msg)
{
    struct omm_item_request request;
    char name[FAULT_NAME_MAX + 1];
    struct fault_event event = { .kind = FAULT_SEEN_REQUEST, .name = name };
    struct omm_batch batch;

    omm_item_request_decode(msg, &request);
    event.stream_id = request.stream_id;
    event.domain = request.domain;
    event.service_id = request.key.service_id;
    event.is_streaming = request.is_streaming;
    event.is_private = request.is_private;
    event.no_refresh = request.no_refresh;
    event.wants_info = request.conf_info_in_updates;
    if (!request.is_batch) {
        copy_name(name, request.key.name);
        tell(conn, &event);
        return;
    }
    struct rwf_bytes one;
    if (omm_batch_start(&request, &batch) == RWF_OK) {
        while (omm_batch_next(&batch, &one) > 0) {
            copy_name(name, one);
            event.stream_id = (int32_t)((uint32_t)event.stream_id + 1);
            tell(conn, &event);
        }
    }
    if (!conn->is_doomed)
        fault_batch_done(conn, request.stream_id, request.domain);
}

static void on_close(struct conn *conn, const struct rwf_msg *msg)
{
    struct fault_event event = { .kind = msg->stream_id == conn->login_stream ? FAULT_SEEN_LOGOUT
                                                                              : FAULT_SEEN_CLOSE,
                                 .stream_id = msg->stream_id };

    if (msg->stream_id != conn->directory_stream)
        tell(conn, &event);
}

static void on_message(struct conn *conn, const struct rssl_event *bytes)
{
    struct fault_event event = { .kind = FAULT_SEEN_POST };
    struct rwf_msg msg;

    if (conn->is_doomed || rwf_msg_decode(rwf_bytes(bytes->bytes, bytes->length), &msg) != RWF_OK)
        return;
    switch (msg.msg_class) {
    case RWF_CLASS_REQUEST:
        if (msg.domain == RWF_DOMAIN_LOGIN)
            on_login(conn, &msg);
        else if (msg.domain == RWF_DOMAIN_SOURCE)
            on_directory(conn, &msg);
        else if (msg.domain == RWF_DOMAIN_DICTIONARY)
            on_dictionary(conn, &msg);
        else
            on_item(conn, &msg);
        break;
    case RWF_CLASS_CLOSE:
        on_close(conn, &msg);
        break;
    case RWF_CLASS_POST:
        fault_post_done(conn, &msg);
        event.stream_id = msg.stream_id;
        tell(conn, &event);
        break;
    default:
        break;
    }
}

/* ---- connections ---- */

static void on_open(void *owner)
{
    struct conn *conn = owner;
    struct fault_event event = { .kind = FAULT_SEEN_CONNECT };

    if (conn->is_doomed)
        return;
    conn->outq = client_session_outq(link_session(conn->link));
    tell(conn, &event);
    settle(conn->provider);
}

static void on_messages(void *owner, const struct rssl_event *events, size_t count)
{
    struct conn *conn = owner;
    struct fault_event ping = { .kind = FAULT_SEEN_PING };

    for (size_t i = 0; i < count; i++) {
        if (events[i].kind == RSSL_EVENT_MESSAGE)
            on_message(conn, &events[i]);
        else if (events[i].kind == RSSL_EVENT_PING)
            tell(conn, &ping);
    }
    settle(conn->provider);
}

static void forget(struct conn *conn)
{
    struct provider *provider = conn->provider;
    struct conn **at = &provider->conns;

    while (*at != conn)
        at = &(*at)->next;
    *at = conn->next;
    if (!conn->is_doomed)
        provider->numbers[conn->number] = NULL;
    link_destroy(conn->link);
    free(conn);
}

static void on_closed(void *owner, const char *reason)
{
    struct conn *conn = owner;
    struct provider *provider = conn->provider;
    struct fault_event event = { .kind = FAULT_SEEN_DISCONNECT, .name = reason };

    tell(conn, &event);
    forget(conn);
    settle(provider);
}

static const struct link_ops link_ops = {
    .on_open = on_open,
    .on_messages = on_messages,
    .on_closed = on_closed,
};

static bool take_number(struct provider *provider, struct conn *conn)
{
    for (unsigned i = 0; i < FAULT_CLIENTS_MAX; i++) {
        if (!provider->numbers[i]) {
            provider->numbers[i] = conn;
            conn->number = i;
            return true;
        }
    }
    return false;
}

static void serve(struct provider *provider, struct net_stream *stream)
{
    struct rssl_config config = rssl_config_default(RSSL_ROLE_SERVER);
    struct conn *conn = calloc(1, sizeof(*conn));
    struct client_session *session;

    config.max_buffers = config.guaranteed_buffers = BUFFERS;
    config.component = PROGRAM;
    config.ping_timeout_s = provider->config.ping_s;
    config.ping_timeout_min_s = 1;
    int rc = client_session_serve(provider->context, stream, &config, md_clock_mono_ns(), &session);
    if (rc != MD_OK || !conn || !take_number(provider, conn) ||
        link_create(provider->loop, session, &link_ops, conn, &conn->link) != MD_OK) {
        fprintf(stderr, PROGRAM ": a connection has no room: %u are the most\n", FAULT_CLIENTS_MAX);
        if (conn && provider->numbers[conn->number] == conn)
            provider->numbers[conn->number] = NULL;
        free(conn);
        if (rc == MD_OK)
            client_session_destroy(session);
        return;
    }
    conn->provider = provider;
    conn->next = provider->conns;
    provider->conns = conn;
    link_start(conn->link);
}

static void on_accept(void *owner, int fd, unsigned events)
{
    struct provider *provider = owner;
    struct net_stream *stream;

    (void)fd;
    (void)events;
    while (net_listener_accept(provider->listener, &stream) == MD_OK)
        serve(provider, stream);
}

/* ---- the port ---- */

static void shut_port(struct provider *provider)
{
    md_loop_fd_remove(provider->watch);
    provider->watch = NULL;
    if (provider->listener)
        net_listener_close(provider->listener);
    provider->listener = NULL;
}

static int open_port(struct provider *provider)
{
    const struct net_stream_options options = { .nodelay = true,
                                                .tls = provider->wire->tls,
                                                .is_plain = provider->wire->is_plain };

    if (provider->listener)
        return MD_OK;
    int rc = provider->wire->transport->listen(&options, provider->config.address,
                                               provider->config.port, &provider->listener);
    if (rc == MD_OK)
        rc = md_loop_fd_add(provider->loop, net_listener_descriptor(provider->listener),
                            provider->is_silent ? 0 : MD_LOOP_READ, on_accept, provider,
                            &provider->watch);
    if (rc != MD_OK) {
        fprintf(stderr, PROGRAM ": cannot listen on port %u: %s\n", provider->config.port,
                net_error());
        return rc;
    }
    provider->config.port = net_listener_port(provider->listener);
    return MD_OK;
}

/* Nothing is read during silence: whether a peer has gone must be asked of the kernel. */
static void on_hangups(void *owner)
{
    struct provider *provider = owner;

    for (struct conn *conn = provider->conns; conn; conn = conn->next) {
        struct pollfd poll_fd = { .fd = client_session_descriptor(link_session(conn->link)),
                                  .events = POLLRDHUP };
        if (poll_fd.fd >= 0 && poll(&poll_fd, 1, 0) > 0)
            link_pause(conn->link, false);
    }
}

static void set_silence(struct provider *provider, bool is_on)
{
    if (provider->is_silent == is_on)
        return;
    provider->is_silent = is_on;
    for (struct conn *conn = provider->conns; conn; conn = conn->next)
        link_pause(conn->link, is_on);
    if (provider->watch)
        (void)md_loop_fd_set(provider->watch, is_on ? 0 : MD_LOOP_READ);
    if (is_on)
        (void)md_loop_timer_every(provider->hangups, HANGUP_NS);
    else
        md_loop_timer_stop(provider->hangups);
}

/* ---- dictionaries ---- */

/* The same dictionaries, with another version in their heads. */
static void set_version(struct provider *provider, const char *version)
{
    struct rwf_dictionary *dictionary;
    char error[512];

    if (tool_dictionary_load_version(provider->config.dictionary, version, &dictionary, error,
                                     sizeof(error)) != MD_OK) {
        fprintf(stderr, PROGRAM ": %s; the version stays\n", error);
        return;
    }
    rwf_dictionary_destroy(provider->dictionary);
    provider->dictionary = dictionary;
}

/* ---- what the engine orders ---- */

static void drop(struct conn *conn)
{
    conn->is_doomed = true;
    conn->provider->numbers[conn->number] = NULL;
    if (conn->provider->is_silent)
        link_pause(conn->link, false);
    link_close(conn->link);
}

static bool act(void *owner, const struct fault_action *action)
{
    struct provider *provider = owner;

    switch (action->kind) {
    case FAULT_ACT_DROP:
        if (provider->numbers[action->client])
            drop(provider->numbers[action->client]);
        return true;
    case FAULT_ACT_LISTEN:
        if (!action->is_on)
            shut_port(provider);
        else if (open_port(provider) != MD_OK)
            provider->config.on_trouble(provider->config.owner, MD_EXIT_PORT);
        return true;
    case FAULT_ACT_SILENCE:
        set_silence(provider, action->is_on);
        return true;
    case FAULT_ACT_VERSION:
        set_version(provider, action->text);
        return true;
    case FAULT_ACT_SAY:
    case FAULT_ACT_STEP:
    case FAULT_ACT_DONE:
        provider->config.on_word(provider->config.owner, action);
        return true;
    default:
        return provider->numbers[action->client] &&
               fault_answer(provider->numbers[action->client], action);
    }
}

/* ---- all together ---- */

int provider_start(struct provider *provider, const struct provider_config *config)
{
    const struct fault_engine_config engine = { .services = config->services,
                                                .service_count = config->service_count,
                                                .script = config->script,
                                                .is_live = config->is_live,
                                                .act = act,
                                                .owner = provider };
    char error[512];

    provider->config = *config;
    if (tool_dictionary_load(config->dictionary, &provider->dictionary, error, sizeof(error)) !=
        MD_OK) {
        fprintf(stderr, PROGRAM ": %s%s\n", error,
                config->dictionary ? "" : "; no dictionary is offered");
        if (config->dictionary)
            return MD_EXIT_FILE;
    }
    if (client_context_create(NULL, &provider->context) != MD_OK ||
        md_loop_timer_create(provider->loop, on_time, provider, &provider->timer) != MD_OK ||
        md_loop_timer_create(provider->loop, on_hangups, provider, &provider->hangups) != MD_OK ||
        fault_engine_create(&engine, md_clock_mono_ns(), &provider->engine) != MD_OK) {
        fprintf(stderr, PROGRAM ": no memory, or more than %u services\n", FAULT_SERVICES_MAX);
        return MD_EXIT_FILE;
    }
    if (open_port(provider) != MD_OK)
        return MD_EXIT_PORT;
    return MD_OK;
}

void provider_go(struct provider *provider)
{
    on_time(provider);
}

void provider_stop(struct provider *provider)
{
    shut_port(provider);
    while (provider->conns) {
        if (!provider->is_silent)
            (void)link_flush(provider->conns->link);
        forget(provider->conns);
    }
    md_loop_timer_destroy(provider->timer);
    md_loop_timer_destroy(provider->hangups);
    fault_engine_destroy(provider->engine);
    client_context_destroy(provider->context);
    rwf_dictionary_destroy(provider->dictionary);
}

void provider_exited(struct provider *provider, uint8_t code)
{
    const struct fault_event event = { .kind = FAULT_SEEN_EXIT, .code = code };

    fault_engine_event(provider->engine, md_clock_mono_ns(), &event);
    settle(provider);
}

int provider_push(struct provider *provider, const struct fault_step *step)
{
    int rc = fault_engine_push(provider->engine, md_clock_mono_ns(), step);

    settle(provider);
    return rc;
}

size_t provider_clients(const struct provider *provider)
{
    size_t count = 0;

    for (unsigned i = 0; i < FAULT_CLIENTS_MAX; i++)
        count += provider->numbers[i] != NULL;
    return count;
}
