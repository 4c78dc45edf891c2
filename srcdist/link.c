/* link.c - see link.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "link.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/trace.h"
#include "route_loop.h"
#include "uplinks.h"

#define NO_PROVIDER UINT32_MAX
#define FETCH_AHEAD 3u /* messages: some hundred nanoseconds */

/* ---- what the core asks ---- */

static int send_message(void *self, struct rwf_bytes message)
{
    struct link *link = self;

    if (!link->session || link->is_leaving)
        return MD_ERR_CLOSED;
    return rssl_outq_write(client_session_outq(link->session), message.data, message.length);
}

static void hang_up(struct link *link)
{
    md_loop_fd_remove(link->watch);
    link->watch = NULL;
    link->watched_fd = -1;
    if (link->session)
        link->bytes_before += rssl_channel_stats(client_session_channel(link->session))->bytes_in;
    client_session_destroy(link->session);
    link->session = NULL;
    link->event_count = 0;
    link->event_at = 0;
    link->is_blocked = false;
    if (!link->is_route) {
        link->is_dead = true;
        return;
    }
    srcdist_retry_failed(&link->retry, md_loop_now(link->loop->loop));
}

static void close_link(void *self, const char *reason)
{
    struct link *link = self;

    if (link->is_leaving)
        return;
    md_log(MD_LOG_WARNING, "provider: host=%s cut: %s",
           link->session ? client_session_peer(link->session) : "?", reason);
    link->provider = NO_PROVIDER;
    if (link->session) {
        client_session_flush(link->session, md_loop_now(link->loop->loop));
        hang_up(link);
    }
}

static void show_proof(void *self, struct srcdist_proof *out)
{
    const struct link *link = self;

    *out = (struct srcdist_proof){
        .is_encrypted = link->is_encrypted,
        .certificate = link->certificate,
        .serial = link->serial,
        .certificate_ends_s = link->certificate_ends_s > 0 ? (uint64_t)link->certificate_ends_s : 0,
    };
}

static void show_uplink(void *self, struct srcdist_uplink *out)
{
    const struct link *link = self;

    if (link->uplink)
        *out = *uplink_says(link->uplink);
}

static bool renew_uplink(void *self)
{
    const struct link *link = self;

    return link->uplink && uplink_prepare(link->uplink, true);
}

const struct srcdist_link link_ops = {
    .send = send_message,
    .close = close_link,
    .proof = show_proof,
    .uplink = show_uplink,
    .renew = renew_uplink,
};

/* ---- events ---- */

static void look_at_peer(struct link *link)
{
    const struct net_stream *stream = client_session_stream(link->session);

    link->is_encrypted = strcmp(net_stream_transport(stream), net_tls_transport.name) == 0;
    if (!net_stream_identity(stream, link->loop->config.user_from, link->certificate,
                             &link->certificate_ends_s))
        link->certificate[0] = '\0';
    if (!net_stream_serial(stream, link->serial))
        link->serial[0] = '\0';
}

static void opened(struct link *link, uint64_t now_ns)
{
    const struct rssl_info *info = rssl_channel_info(client_session_channel(link->session));
    const char *peer = client_session_peer(link->session);
    enum srcdist_provider_kind kind =
        link->is_route ? SRCDIST_INTERACTIVE : SRCDIST_NON_INTERACTIVE;

    md_log(MD_LOG_NOTICE, "provider: host=%s connected (%s), %s", peer,
           link->is_route ? "interactive" : "non-interactive", info->component);
    if (link->is_route)
        srcdist_retry_opened(&link->retry);
    else
        look_at_peer(link);
    link->connects++;
    link->is_greeting = false;
    link->told = (struct srcdist_misuse){ 0 };
    if (srcdist_provider_add(link->loop->core, now_ns, kind, link->number, peer, &link_ops, link,
                             &link->provider) != MD_OK) {
        md_log(MD_LOG_ERROR, "provider: host=%s refused: too many providers", peer);
        rssl_channel_close(client_session_channel(link->session));
    }
}

/* A host that is away for a night is not a line every three seconds. */
static void tell_end(const struct link *link)
{
    const char *peer = client_session_peer(link->session);
    const char *why = client_session_describe(link->session);

    if (!link->is_route)
        md_log(MD_LOG_NOTICE, "provider: host=%s ended: %s", peer, why);
    else if (link->retry.failures < link->retry.hosts)
        md_log(MD_LOG_WARNING, "provider: host=%s ended: %s", peer, why);
    else if (srcdist_retry_is_logged(&link->retry))
        md_log(MD_LOG_WARNING, "provider: host=%s ended: %s; route %u failed %llu times in a row",
               peer, why, (unsigned)link->number, (unsigned long long)link->retry.failures + 1);
}

static void closed(struct link *link, uint64_t now_ns)
{
    if (link->is_leaving) { /* the core has taken leave of it */
        hang_up(link);
        return;
    }
    tell_end(link);
    if (link->provider != NO_PROVIDER) {
        srcdist_provider_gone(link->loop->core, now_ns, link->provider);
        link->provider = NO_PROVIDER;
    }
    hang_up(link);
}

/* One event; false: it must be offered again later. */
static bool take_event(struct link *link, const struct rssl_event *event, uint64_t now_ns)
{
    int err = MD_OK;

    switch (event->kind) {
    case RSSL_EVENT_OPENED:
        opened(link, now_ns);
        break;
    case RSSL_EVENT_MESSAGE:
        if (link->provider == NO_PROVIDER)
            break;
        md_trace_mark(MD_TRACE_MESSAGE);
        err = srcdist_provider_message(link->loop->core, now_ns, link->provider,
                                       rwf_bytes(event->bytes, event->length));
        break;
    case RSSL_EVENT_PING:
        break;
    case RSSL_EVENT_CLOSED:
        closed(link, now_ns);
        break;
    }
    if (err == MD_ERR_FULL)
        return false;
    if (err != MD_OK && link->session && link->provider != NO_PROVIDER) {
        srcdist_provider_gone(link->loop->core, now_ns, link->provider);
        close_link(link, "a message cannot be decoded");
    }
    return true;
}

/* ---- the turn ---- */

static void watch(struct link *link);

static void on_session(void *owner, int fd, unsigned events)
{
    (void)owner;
    (void)fd;
    (void)events; /* link_turn() does it */
}

static void watch(struct link *link)
{
    int fd = link->session ? client_session_descriptor(link->session) : -1;

    if (fd != link->watched_fd) {
        md_loop_fd_remove(link->watch);
        link->watch = NULL;
        if (fd >= 0)
            md_loop_fd_add(link->loop->loop, fd, MD_LOOP_READ, on_session, link, &link->watch);
        link->watched_fd = fd;
    }
    if (!link->watch)
        return;
    unsigned wants = link->is_blocked ? 0 : client_session_wants(link->session);
    md_loop_fd_set(link->watch, (wants & NET_READABLE ? MD_LOOP_READ : 0) |
                                    (wants & NET_WRITABLE ? MD_LOOP_WRITE : 0));
}

static void dial(struct link *link, uint64_t now_ns)
{
    struct client_dial to = {
        .transport = link->transport,
        .options = link->options,
        .host = link->hosts[link->retry.at],
        .port = link->ports[link->retry.at],
        .rssl = link->rssl,
    };

    if (link->uplink && !uplink_prepare(link->uplink, srcdist_retry_is_logged(&link->retry))) {
        hang_up(link);
        return;
    }
    to.options.attempt = link->retry.round;
    to.options.nodelay = atomic_load(&link->loop->tcp_nodelay);
    to.rssl.packing = atomic_load(&link->loop->packing);
    int err = client_session_dial(link->loop->context, &to, now_ns, &link->session);
    if (err != MD_OK) {
        md_log(MD_LOG_WARNING, "route %u: %s:%u cannot be dialed: %s", link->number, to.host,
               to.port, err == MD_ERR_SYS ? net_error() : md_err_name(err));
        link->session = NULL;
        link->watched_fd = -1;
        hang_up(link);
    }
}

/* The updates of a read are of as many items, and no cache holds all items: what the next ones
 * need is fetched while this one is worked on. */
static void fetch_ahead(const struct link *link)
{
    for (unsigned step = 0; step < 2; step++) {
        size_t at = link->event_at + (size_t)(2 - step) * FETCH_AHEAD;
        if (at < link->event_count && link->events[at].kind == RSSL_EVENT_MESSAGE)
            srcdist_provider_expect(link->loop->core, link->provider,
                                    rwf_bytes(link->events[at].bytes, link->events[at].length),
                                    step);
    }
}

static int take_events(struct link *link, uint64_t now_ns)
{
    int done = 0;

    while (link->session && link->event_at < link->event_count) {
        fetch_ahead(link);
        if (!take_event(link, &link->events[link->event_at], now_ns)) {
            link->is_blocked = true;
            return done;
        }
        link->is_blocked = false;
        if (!link->session)
            return done + 1;
        link->event_at++;
        done++;
    }
    link->is_blocked = false;
    return done;
}

int link_turn(struct link *link, uint64_t now_ns, int budget)
{
    int done = 0;

    if (!link->session) {
        if (!link->is_route || link->is_leaving || now_ns < link->retry.due_ns)
            return 0;
        dial(link, now_ns);
        if (!link->session)
            return 0;
    }
    while (done < budget) {
        if (link->event_at == link->event_count) {
            link->event_count =
                client_session_turn(link->session, now_ns, link->events, LINK_EVENTS);
            md_trace_mark(MD_TRACE_READ);
            link->event_at = 0;
            if (link->event_count == 0)
                break;
        }
        done += take_events(link, now_ns);
        if (!link->session)
            return done;
        if (link->is_blocked)
            break;
    }
    if (!link->is_blocked)
        client_session_flush(link->session, now_ns);
    watch(link);
    return done;
}

uint64_t link_deadline(const struct link *link)
{
    if (!link->session)
        return link->is_route && !link->is_leaving ? link->retry.due_ns : UINT64_MAX;
    if (link->is_blocked)
        return md_loop_now(link->loop->loop) + 1000000;
    return client_session_deadline(link->session);
}

struct link *link_accept(struct route_loop *loop, struct net_stream *stream,
                         const struct rssl_config *config)
{
    struct link *link = calloc(1, sizeof(*link));

    if (!link) {
        net_stream_close(stream);
        return NULL;
    }
    link->loop = loop;
    link->watched_fd = -1;
    link->provider = NO_PROVIDER;
    link->is_greeting = true;
    link->accepted_ns = md_loop_now(loop->loop);
    if (client_session_serve(loop->context, stream, config, md_loop_now(loop->loop),
                             &link->session) != MD_OK) {
        free(link);
        return NULL;
    }
    return link;
}

void link_leave(struct link *link)
{
    link->is_leaving = true;
    if (!link->session)
        return;
    link->event_count = link->event_at = 0; /* what it said last is heard by nobody */
    link->is_blocked = false;
    rssl_channel_close(client_session_channel(link->session));
    client_session_flush(link->session, md_loop_now(link->loop->loop));
}

void link_give_way(struct link *link)
{
    if (link->provider != NO_PROVIDER)
        srcdist_provider_gone(link->loop->core, md_loop_now(link->loop->loop), link->provider);
    link->provider = NO_PROVIDER;
    hang_up(link);
}

void link_destroy(struct link *link)
{
    md_loop_fd_remove(link->watch);
    client_session_destroy(link->session);
    net_tls_destroy(link->tls);
    uplink_destroy(link->uplink);
    free(link);
}
