/* listeners.c - see listeners.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "listeners.h"

#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "daemon/connections.h"
#include "daemon/words.h"
#include "netio/rsocket.h"

/* A client that does not read ties up this much of the kernel, and what its own window takes. */
#define UNSENT_MAX (256u << 10)
#define FULL       "Maximum number of mounts reached"
#define WS_FULL    "Maximum number of WebSocket connections reached"

static uint32_t count_of(const _Atomic uint32_t *count)
{
    return atomic_load_explicit(count, memory_order_relaxed);
}

/* Connections that have not logged in; with `is_ws` WebSockets only: the others have no such seat.
 */
static uint32_t idle_of(const struct p2ps_worker *worker, bool is_ws)
{
    uint32_t logins = count_of(is_ws ? &worker->ws_login_count : &worker->login_count);
    uint32_t count = count_of(is_ws ? &worker->ws_count : &worker->mount_count);

    return count > logins ? count - logins : 0;
}

/* The worker with most of them; NULL: there are none. */
static struct p2ps_worker *idlest(const struct p2ps *p2ps, bool is_ws)
{
    struct p2ps_worker *best = NULL;
    uint32_t most = 0;

    for (unsigned i = 0; i < p2ps->worker_count; i++) {
        uint32_t idle = idle_of(p2ps->workers[i], is_ws);

        if (idle > most) {
            most = idle;
            best = p2ps->workers[i];
        }
    }
    return best;
}

/* Refused with a constant text, which the log has with the limit. */
static void refuse(struct p2ps *p2ps, struct p2ps_worker *worker, const struct listener *listener,
                   struct net_stream *stream, const char *text)
{
    md_ctr_inc(p2ps->mounts_rejected);
    p2ps_worker_hand(
        worker,
        &(struct p2ps_handed){ .protocol = listener->protocol, .stream = stream, .refusal = text });
}

/* The address, with one connection more; NULL: it has as many as it may have. */
static struct p2ps_party *count_host(struct p2ps *p2ps, const struct net_stream *stream)
{
    struct p2ps_party *host =
        p2ps_parties_host(p2ps->parties, md_loop_now(p2ps->daemon.loop), net_stream_peer(stream));

    if (!host)
        return NULL;
    uint32_t before = atomic_fetch_add_explicit(&host->mounts, 1, memory_order_relaxed);
    if (p2ps->mounts_of_host_max == 0 || before < p2ps->mounts_of_host_max)
        return host;
    atomic_fetch_sub_explicit(&host->mounts, 1, memory_order_relaxed);
    p2ps_parties_leave(p2ps->parties, host);
    return NULL;
}

static struct p2ps_worker *emptiest(struct p2ps *p2ps, uint32_t *total, uint32_t *total_ws)
{
    struct p2ps_worker *best = p2ps->workers[0];
    uint32_t least = UINT32_MAX;

    *total = *total_ws = 0;
    for (unsigned i = 0; i < p2ps->worker_count; i++) {
        uint32_t count = atomic_load_explicit(&p2ps->workers[i]->mount_count, memory_order_relaxed);
        *total += count;
        *total_ws += atomic_load_explicit(&p2ps->workers[i]->ws_count, memory_order_relaxed);
        if (count < least) {
            least = count;
            best = p2ps->workers[i];
        }
    }
    return best;
}

static void pause_accepting(struct p2ps *p2ps, unsigned events)
{
    for (unsigned i = 0; i < LISTENERS_MAX; i++) {
        if (p2ps->listeners[i].watch)
            md_loop_fd_set(p2ps->listeners[i].watch, events);
    }
}

static void on_accept_again(void *owner)
{
    pause_accepting(owner, MD_LOOP_READ);
}

/* Takes it, or refuses it with `text` unless one without a login makes room for it. */
static void take(struct p2ps *p2ps, struct p2ps_worker *worker, const struct listener *listener,
                 struct net_stream *stream, const struct p2ps_handed *how)
{
    struct p2ps_handed handed = *how;

    handed.protocol = listener->protocol;
    handed.stream = stream;
    handed.host = count_host(p2ps, stream);
    if (handed.host) {
        p2ps_worker_hand(worker, &handed);
        return;
    }
    md_log(MD_LOG_WARNING, "mount: host=%s refused: mountLimitPerHost %u reached",
           net_stream_peer(stream), p2ps->mounts_of_host_max);
    refuse(p2ps, worker, listener, stream, "Maximum number of mounts of this address reached");
}

static void admit(struct p2ps *p2ps, const struct listener *listener, struct net_stream *stream)
{
    uint32_t total, total_ws;
    struct p2ps_worker *worker = emptiest(p2ps, &total, &total_ws);
    bool is_ws_full = listener->protocol == &p2ps_ws_protocol && total_ws >= p2ps->ws_max;
    struct p2ps_worker *idle = p2ps->is_draining ? NULL : idlest(p2ps, is_ws_full);

    if (is_ws_full) {
        if (idle) {
            take(p2ps, idle, listener, stream,
                 &(struct p2ps_handed){ .refusal = WS_FULL, .room = P2PS_ROOM_OF_ITS_OWN });
            return;
        }
        md_log(MD_LOG_WARNING, "mount: host=%s refused: wsMaxConnections %u reached",
               net_stream_peer(stream), p2ps->ws_max);
        refuse(p2ps, worker, listener, stream, WS_FULL);
    } else if (total >= p2ps->mounts_max && !idle) {
        md_log(MD_LOG_WARNING, "mount: host=%s refused: maxMounts %u reached",
               net_stream_peer(stream), p2ps->mounts_max);
        refuse(p2ps, worker, listener, stream, FULL);
    } else if (total >= p2ps->mounts_max) {
        take(p2ps, idle, listener, stream,
             &(struct p2ps_handed){ .refusal = FULL, .room = P2PS_ROOM_OF_ANY });
    } else if (p2ps->is_draining) {
        refuse(p2ps, worker, listener, stream, "This p2ps is draining: connect to another one");
    } else {
        take(p2ps, worker, listener, stream, &(struct p2ps_handed){ 0 });
    }
}

static void on_listener(void *owner, int fd, unsigned events)
{
    struct listener *listener = owner;
    struct p2ps *p2ps = listener->p2ps;
    struct net_stream *stream;
    int err;

    (void)fd;
    (void)events;
    while ((err = net_listener_accept(listener->listener, &stream)) == MD_OK)
        admit(p2ps, listener, stream);
    if (err == MD_ERR_AGAIN)
        return;
    md_log(MD_LOG_ERROR, "accept: %s; not accepting for a second", net_error());
    pause_accepting(p2ps, 0);
    md_loop_timer_after(p2ps->accept_pause, 1000000000ull);
}

static int open_listener(struct p2ps *p2ps, unsigned slot, const struct p2ps_protocol *protocol,
                         const struct net_transport *transport, const char *param)
{
    const struct md_conf_object *daemon = &p2ps->daemon.object;
    struct listener *listener = &p2ps->listeners[slot];
    struct net_stream_options options = daemon_stream_options(daemon, p2ps->tls);

    options.unsent_max = UNSENT_MAX;
    listener->p2ps = p2ps;
    listener->protocol = protocol;
    int code = daemon_listen(daemon, param, md_conf_string(daemon, "listenAddress"), transport,
                             &options, "serving consumers", &listener->listener);
    if (listener->listener &&
        md_loop_fd_add(p2ps->daemon.loop, net_listener_descriptor(listener->listener), MD_LOOP_READ,
                       on_listener, listener, &listener->watch) != MD_OK)
        return MD_EXIT_FILE;
    return code;
}

static bool wants_tls(const struct md_conf_object *daemon)
{
    return md_conf_port(daemon, "tlsPort") != 0 ||
           (md_conf_bool(daemon, "wsEnable") && md_conf_port(daemon, "wsTlsPort") != 0);
}

static bool requires_certificates(const struct md_conf_object *daemon)
{
    return md_conf_bool(daemon, "tlsRequireClientCert") ||
           strcmp(md_conf_string(daemon, "tlsClientCert"), "require") == 0;
}

/* A door beside the one that asks for certificates has to be meant: allowRSSLConnections : True is
 * written, for WebSocket, too. */
static bool is_open_by_mistake(const struct md_conf_object *daemon)
{
    bool allows = md_conf_bool(daemon, "allowRSSLConnections");
    bool has_tcp = md_conf_port(daemon, "rsslPort") != 0 && allows;
    bool has_rssl = has_tcp || (md_conf_port(daemon, "rsocketPort") != 0 && allows);
    bool has_ws = md_conf_bool(daemon, "wsEnable") && md_conf_port(daemon, "wsPort") != 0;

    if (!requires_certificates(daemon) || !wants_tls(daemon) || (!has_rssl && !has_ws) ||
        (allows && md_conf_is_set(daemon, "allowRSSLConnections")))
        return false;
    if (has_rssl)
        md_log(MD_LOG_CRITICAL,
               "tlsRequireClientCert: %s lets everybody in without a certificate; write "
               "allowRSSLConnections : False to close it, or True to keep it open",
               has_tcp ? "rsslPort" : "rsocketPort");
    else
        md_log(MD_LOG_CRITICAL,
               "tlsRequireClientCert: wsPort lets everybody in without a certificate; write wsPort "
               ": 0 to close it, or allowRSSLConnections : True to keep it open");
    return true;
}

/* Without users nobody compares the name of a login with that of its certificate. */
static bool is_never_matched(const struct md_conf_object *daemon)
{
    char where[400];

    if (strcmp(md_conf_string(daemon, "tlsUserPolicy"), "match") != 0 ||
        md_conf_string(daemon, "accessFile")[0])
        return false;
    daemon_where(daemon, "tlsUserPolicy", where, sizeof(where));
    md_log(MD_LOG_CRITICAL,
           "%s: match is of the users of accessFile, and that is not set: a login would need no "
           "certificate; name a file of users, or write replace or ignore",
           where);
    return true;
}

/* Consumers come from other hosts: that is what the ports are for, and it has to be known. */
static void tell_openness(const struct md_conf_object *daemon)
{
    const char *address = md_conf_string(daemon, "listenAddress");
    bool has_port =
        md_conf_port(daemon, "tlsPort") != 0 || md_conf_bool(daemon, "wsEnable") ||
        ((md_conf_port(daemon, "rsslPort") != 0 || md_conf_port(daemon, "rsocketPort") != 0) &&
         md_conf_bool(daemon, "allowRSSLConnections"));

    if (has_port && !md_conf_string(daemon, "accessFile")[0] && strncmp(address, "127.", 4) != 0 &&
        strcmp(address, "::1") != 0)
        md_log(
            MD_LOG_WARNING,
            "accessFile is not set: whoever reaches the ports for consumers sees everything, and "
            "may post; name a file of users, or see listenAddress");
}

int p2ps_open_listeners(struct p2ps *p2ps)
{
    const struct md_conf_object *daemon = &p2ps->daemon.object;
    int code = -1;

    if (is_open_by_mistake(daemon) || is_never_matched(daemon))
        return MD_EXIT_CONFIG;
    net_rsocket_memory_set(md_conf_u64(daemon, "rsocketMemory"));
    if (wants_tls(daemon) && daemon_tls_create(daemon, true, "", &p2ps->tls) != MD_OK)
        code = MD_EXIT_FILE;
    daemon_tls_show(&p2ps->daemon, p2ps->tls, "server");
    if (code < 0 && md_loop_timer_create(p2ps->daemon.loop, on_accept_again, p2ps,
                                         &p2ps->accept_pause) != MD_OK)
        code = MD_EXIT_FILE;
    if (code < 0 && md_conf_bool(daemon, "allowRSSLConnections"))
        code = open_listener(p2ps, 0, &p2ps_rssl_protocol, &net_tcp_transport, "rsslPort");
    if (code < 0)
        code = open_listener(p2ps, 1, &p2ps_rssl_protocol, &net_tls_transport, "tlsPort");
    if (code < 0 && md_conf_bool(daemon, "wsEnable"))
        code = open_listener(p2ps, 2, &p2ps_ws_protocol, &net_tcp_transport, "wsPort");
    if (code < 0 && md_conf_bool(daemon, "wsEnable"))
        code = open_listener(p2ps, 3, &p2ps_ws_protocol, &net_tls_transport, "wsTlsPort");
    if (code < 0 && md_conf_bool(daemon, "allowRSSLConnections"))
        code = open_listener(p2ps, 4, &p2ps_rssl_protocol, &net_rsocket_transport, "rsocketPort");
    if (code < 0)
        tell_openness(daemon);
    return code;
}

void p2ps_close_listeners(struct p2ps *p2ps)
{
    for (unsigned i = 0; i < LISTENERS_MAX; i++) {
        md_loop_fd_remove(p2ps->listeners[i].watch);
        net_listener_close(p2ps->listeners[i].listener);
    }
    md_loop_timer_destroy(p2ps->accept_pause);
}
