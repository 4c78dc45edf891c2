/* connections.c - see daemon/connections.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/connections.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <errno.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "conf/options.h"
#include "daemon/words.h"
#include "netio/diagnose.h"
#include "netio/rsocket.h"

#define DAY_S            86400
#define EXPIRY_WARNING_S (30 * DAY_S)

struct net_stream_options daemon_stream_options(const struct md_conf_object *daemon,
                                                struct net_tls *tls)
{
    return (struct net_stream_options){
        .nodelay = md_conf_bool(daemon, "tcpNoDelay"),
        .send_buffer = md_conf_u32(daemon, "tcpSendBufSize"),
        .recv_buffer = md_conf_u32(daemon, "tcpRecvBufSize"),
        .tls = tls,
        .is_plain = md_conf_word(daemon, "eventMethod") == 1,
    };
}

void daemon_rsocket_show(struct daemon *daemon)
{
    struct net_rsocket_figures figures;

    net_rsocket_figures(&figures);
    if (figures.streams == 0 && figures.refused == 0 && !daemon->rsockets)
        return;
    daemon->rsockets = stats_entry_add(daemon->stats, STATS_KIND_GAUGE, "rsocket.streams");
    stats_gauge_set(daemon->rsockets, figures.streams);
    stats_gauge_set(stats_entry_add(daemon->stats, STATS_KIND_GAUGE, "rsocket.pinned"),
                    figures.pinned);
    md_ctr_set(stats_counter(daemon->stats, "rsocket.refused"), figures.refused);
}

struct rssl_config daemon_channel_config(enum rssl_role role, const struct md_conf_object *daemon,
                                         const struct md_conf_object *port)
{
    struct rssl_config config = rssl_config_default(role);

    config.ping_timeout_s = (uint8_t)(md_conf_time_ns(port, "pingTimeout") / MD_NS_PER_S);
    if (config.ping_timeout_min_s > config.ping_timeout_s)
        config.ping_timeout_min_s = config.ping_timeout_s;
    config.ping_interval_s = (uint8_t)(md_conf_time_ns(daemon, "pingInterval") / MD_NS_PER_S);
    config.packing = md_conf_bool(daemon, "rsslMsgPacking");
    config.message_max = md_conf_u32(daemon, "maxDecodedMsgSize");
    if (role == RSSL_ROLE_SERVER)
        config.message_size_max = (uint16_t)md_conf_u64(daemon, "maxFragmentSize");
    return config;
}

/* ---- TLS ---- */

struct refusal {
    const struct md_conf_object *object;
    const char *before;
};

static void log_finding(void *arg, bool is_error, enum net_tls_file file, const char *text)
{
    static const char *const params[] = { [NET_TLS_CERTIFICATE] = "tlsCertFile",
                                          [NET_TLS_KEY] = "tlsKeyFile",
                                          [NET_TLS_CA] = "tlsCaFile",
                                          [NET_TLS_CRL] = "tlsCrlFile" };
    const struct refusal *refusal = arg;
    struct md_conf_value value = md_conf_value(refusal->object, params[file]);

    if (!is_error)
        return;
    if (value.file)
        md_log(MD_LOG_CRITICAL, "%stls: %s (%s:%u): %s", refusal->before, params[file], value.file,
               value.line, text);
    else
        md_log(MD_LOG_CRITICAL, "%stls: %s (no line sets it): %s", refusal->before, params[file],
               text);
}

static void refuse_tls(const struct md_conf_object *object, const char *before,
                       const struct net_tls_config *config, const char *error)
{
    struct refusal refusal = { object, before };

    if (net_tls_examine(config, log_finding, &refusal) == 0)
        md_log(MD_LOG_CRITICAL, "%stls: %s", before, error);
}

/* A client needs no certificate of its own; a server without one is told so. */
static const char *file_of(const struct md_conf_object *object, const char *param, bool is_needed)
{
    const char *path = md_conf_string(object, param);

    return path[0] || is_needed ? path : NULL;
}

int daemon_tls_create(const struct md_conf_object *object, bool is_server, const char *before,
                      struct net_tls **out)
{
    const struct net_tls_config config = {
        .certificate = file_of(object, "tlsCertFile", is_server),
        .key = file_of(object, "tlsKeyFile", is_server),
        .ca = file_of(object, "tlsCaFile", false),
        .is_server = is_server,
        .require_client_certificate =
            is_server && (md_conf_bool(object, "tlsRequireClientCert") ||
                          strcmp(md_conf_string(object, "tlsClientCert"), "require") == 0),
        .request_client_certificate =
            is_server && strcmp(md_conf_string(object, "tlsClientCert"), "request") == 0,
        .require_tls13 = md_conf_word(object, "tlsMinVersion") == 1,
        .ciphers = file_of(object, "tlsCiphers", false),
        .crl = file_of(object, "tlsCrlFile", false),
    };
    char error[256];
    int err = net_tls_create(&config, error, sizeof(error), out);

    if (err != MD_OK)
        refuse_tls(object, before, &config, error);
    return err;
}

static int64_t show_end(struct daemon *daemon, int64_t ends_s, const char *name, const char *leaf)
{
    struct stats_entry *entry = stats_entry_addf(daemon->stats, STATS_KIND_TIME, "%s.tls.%s.%s",
                                                 daemon->process, name, leaf);
    if (ends_s <= 0) { /* a reload has taken it away, or there never was one */
        stats_entry_remove(daemon->stats, entry);
        return INT64_MAX;
    }
    md_ctr_set(&entry->value, (uint64_t)ends_s * MD_NS_PER_S);
    return ends_s - (int64_t)(md_clock_wall_ns() / MD_NS_PER_S);
}

void daemon_tls_show(struct daemon *daemon, struct net_tls *tls, const char *name)
{
    if (!tls)
        return;
    int64_t left_s = show_end(daemon, net_tls_expires(tls), name, "ends");
    if (left_s < 0)
        md_log(MD_LOG_ERROR, "tls: %s: the certificate has expired; peers refuse it", name);
    else if (left_s < EXPIRY_WARNING_S)
        md_log(MD_LOG_WARNING, "tls: %s: the certificate ends in %d days; renew it", name,
               (int)(left_s / DAY_S));
    left_s = show_end(daemon, net_tls_crl_expires(tls), name, "crlEnds");
    if (left_s < 0)
        md_log(MD_LOG_ERROR,
               "tls: %s: a list of tlsCrlFile has ended; peers of its issuer are refused until the "
               "file has a new one",
               name);
}

/* ---- TLS: reload ---- */

struct tls_step {
    struct daemon *daemon;
    struct net_tls *tls;
    struct net_tls_fresh *fresh;
    char name[32];
};

static void commit_tls(void *arg)
{
    struct tls_step *step = arg;

    net_tls_commit(step->fresh);
    daemon_tls_show(step->daemon, step->tls, step->name);
    free(step);
}

static void discard_tls(void *arg)
{
    struct tls_step *step = arg;

    net_tls_discard(step->fresh);
    free(step);
}

void daemon_tls_reload(struct daemon_reload *reload, struct net_tls *tls,
                       const struct md_conf_object *object, const char *name)
{
    char error[256] = "no memory";
    struct tls_step *step = tls ? calloc(1, sizeof(*step)) : NULL;

    if (!tls)
        return;
    if (!step || net_tls_prepare(tls, md_conf_string(object, "tlsCrlFile"), error, sizeof(error),
                                 &step->fresh) != MD_OK) {
        daemon_reload_refuse(reload, "tls: %s: %s", name, error);
        free(step);
        return;
    }
    step->daemon = reload->daemon;
    step->tls = tls;
    snprintf(step->name, sizeof(step->name), "%s", name);
    daemon_reload_add(reload, &(struct daemon_reload_step){ commit_tls, discard_tls, step });
}

/* ---- ports ---- */

int daemon_listen(const struct md_conf_object *object, const char *param, const char *address,
                  const struct net_transport *transport, const struct net_stream_options *options,
                  const char *purpose, struct net_listener **out)
{
    uint16_t port = md_conf_port(object, param);

    *out = NULL;
    if (port == 0)
        return -1;
    int err = transport->listen(options, address[0] ? address : NULL, port, out);
    if (err != MD_OK) {
        if (address[0] && (err == MD_ERR_NOT_FOUND || errno == EADDRNOTAVAIL))
            md_log(MD_LOG_CRITICAL, "%s: address %s: %s; write one of this host in listenAddress",
                   param, address, net_error());
        else
            daemon_port_refused(object, param);
        return MD_EXIT_PORT;
    }
    md_log(MD_LOG_NOTICE, "%s on port %u (%s)%s%s", purpose, net_listener_port(*out),
           transport->name, address[0] ? ", address " : "", address);
    return -1;
}
