/* routes.c - see routes.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "routes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "base/err.h"
#include "base/log.h"
#include "daemon/connections.h"
#include "netio/rsocket.h"
#include "uplinks.h"

#define HANDSHAKE_NS 5000000000ull /* of a provider that connects */

/* ---- routes ---- */

/* 0: none is asked for. */
static uint8_t compression_of(const struct md_conf_object *route)
{
    uint64_t type = md_conf_u64(route, "compressionType");

    return type == 0 ? 0 : type == 1 ? RSSL_COMPRESSION_BIT_ZLIB : RSSL_COMPRESSION_BIT_LZ4;
}

static struct rssl_config route_channel(const struct src_dist *sd,
                                        const struct md_conf_object *route)
{
    const struct md_conf_object *daemon = &sd->daemon.object;
    struct rssl_config config = daemon_channel_config(RSSL_ROLE_CLIENT, daemon, route);

    config.guaranteed_buffers = md_conf_u32(route, "numIpcOutputBuffers");
    if (config.max_buffers < config.guaranteed_buffers * 8)
        config.max_buffers = config.guaranteed_buffers * 8;
    config.input_buffers = md_conf_u32(route, "numIpcInputBuffers");
    config.compression_bits = compression_of(route);
    return config;
}

/* "host", "host:port" or "[v6]:port". */
static bool split_host(const char *text, char host[256], uint16_t *port)
{
    const char *colon = strrchr(text, ':');
    size_t length = strlen(text);
    char *end = NULL;

    if (text[0] == '[') {
        const char *bracket = strchr(text, ']');
        if (!bracket)
            return false;
        snprintf(host, 256, "%.*s", (int)(bracket - text - 1), text + 1);
        if (bracket[1] == 0)
            return true;
        colon = bracket + 1;
    } else if (!colon || memchr(text, ':', (size_t)(colon - text))) {
        if (length >= 256)
            return false;
        memcpy(host, text, length + 1); /* no port, or an IPv6 address without one */
        return length > 0;
    } else {
        snprintf(host, 256, "%.*s", (int)(colon - text), text);
    }
    unsigned long number = strtoul(colon + 1, &end, 10);
    if (*end || number == 0 || number > 65535)
        return false;
    *port = (uint16_t)number;
    return host[0] != 0;
}

static int route_tls(struct src_dist *sd, struct link *link, const struct md_conf_object *route)
{
    char before[32], name[16];

    bool is_encrypted = md_conf_bool(route, "encrypted");
    snprintf(before, sizeof(before), "route %u: ", link->number);
    snprintf(name, sizeof(name), "route%u", link->number);
    bool is_rdma = md_conf_word(route, "connectionType") == 1;
    link->transport = is_encrypted ? &net_tls_transport
                      : is_rdma    ? &net_rsocket_transport
                                   : &net_tcp_transport;
    if (!is_encrypted)
        return MD_OK;
    int err = daemon_tls_create(route, false, before, &link->tls);
    if (!err) {
        sd->route_tls[link->number] = link->tls;
        daemon_tls_show(&sd->daemon, link->tls, name);
    }
    return err;
}

static bool is_here(const char *host)
{
    return strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0 ||
           strcmp(host, "[::1]") == 0 || strcmp(host, "localhost") == 0;
}

static void warn_of_plain_secret(const struct link *link)
{
    const char *secret = link->uplink && !link->tls ? uplink_secret(link->uplink) : NULL;

    for (unsigned i = 0; secret && i < link->host_count; i++) {
        if (is_here(link->hosts[i]))
            continue;
        md_log(MD_LOG_WARNING,
               "route %u: the %s goes to %s in the clear: whoever sees the line can use it; set "
               "encrypted",
               link->number, secret, link->hosts[i]);
        return;
    }
}

static struct network *find_network(const struct src_dist *sd, const char *name)
{
    for (unsigned i = 0; i < sd->network_count; i++) {
        if (!name[0] || strcmp(sd->networks[i]->settings->network, name) == 0)
            return sd->networks[i];
    }
    md_log(MD_LOG_CRITICAL, "network %s is not in networkList", name);
    return NULL;
}

static int add_route(struct src_dist *sd, unsigned number)
{
    char name[16];
    char text[280];
    struct link *link = calloc(1, sizeof(*link));

    if (!link)
        return MD_ERR_NOMEM;
    snprintf(name, sizeof(name), "%u", number);
    struct md_conf_object route = md_conf_object(sd->daemon.conf, MD_CONF_ROUTE, name);
    link->number = number;
    link->rssl = route_channel(sd, &route);
    for (size_t i = 0; i < 16 && md_conf_list(&route, "hostList", i, text, sizeof(text)); i++) {
        uint16_t port = md_conf_port(&route, "port");
        if (!split_host(text, link->hosts[link->host_count], &port)) {
            md_log(MD_LOG_CRITICAL, "route %u: hostList: \"%s\" is not host or host:port", number,
                   text);
            free(link);
            return MD_ERR_MALFORMED;
        }
        link->ports[link->host_count++] = port;
    }
    if (link->host_count == 0) {
        free(link);
        return MD_OK; /* no route */
    }
    struct network *network = find_network(sd, md_conf_string(&route, "network"));
    if (!network || uplink_create(sd, &route, number, &link->uplink) != MD_OK ||
        route_tls(sd, link, &route) != MD_OK) {
        uplink_destroy(link->uplink);
        free(link);
        return MD_ERR_SYS;
    }
    link->options = daemon_stream_options(&sd->daemon.object, link->tls);
    md_log(MD_LOG_NOTICE, "route %u: %s:%u%s%s", number, link->hosts[0], link->ports[0],
           link->host_count > 1 ? " and others" : "",
           link->uplink ? ", a p2ps of another site" : "");
    warn_of_plain_secret(link);
    route_loop_add_route(network->loop, link);
    return MD_OK;
}

struct route_names {
    struct src_dist *sd;
    bool seen[ROUTES_MAX + 1];
    int err;
};

static void on_route_name(void *arg, const char *name)
{
    struct route_names *names = arg;
    long number = strtol(name, NULL, 10);

    if (number < 1 || number > ROUTES_MAX || names->seen[number])
        return;
    names->seen[number] = true;
    if (names->err == MD_OK)
        names->err = add_route(names->sd, (unsigned)number);
}

int src_dist_add_routes(struct src_dist *sd)
{
    struct route_names names = { .sd = sd };
    char number[16];

    net_rsocket_memory_set(md_conf_u64(&sd->daemon.object, "rsocketMemory"));
    for (uint64_t i = 1; i <= md_conf_u64(&sd->daemon.object, "routeCount"); i++) {
        snprintf(number, sizeof(number), "%u", (unsigned)i);
        on_route_name(&names, number);
    }
    md_conf_names(sd->daemon.conf, MD_CONF_ROUTE, on_route_name, &names);
    return names.err;
}

/* ---- the port of non-interactive providers ---- */

struct rssl_config src_dist_server_channel(const struct src_dist *sd,
                                           const struct md_conf_object *bus)
{
    const struct md_conf_object *daemon = &sd->daemon.object;
    struct rssl_config config = daemon_channel_config(RSSL_ROLE_SERVER, daemon, bus);

    config.guaranteed_buffers = md_conf_u32(bus, "guaranteedOutputBuffers");
    if (config.max_buffers < config.guaranteed_buffers)
        config.max_buffers = config.guaranteed_buffers;
    config.input_buffers = md_conf_u32(bus, "numInputBuffers");
    config.handshake_timeout_ns = HANDSHAKE_NS;
    return config;
}

static int listen_on(struct src_dist *sd, struct network *network,
                     const struct net_transport *transport, const struct md_conf_object *bus,
                     const char *param, const char *address)
{
    struct net_stream_options options = daemon_stream_options(&sd->daemon.object, sd->server_tls);
    struct net_listener *listener;
    int code = daemon_listen(bus, param, address, transport, &options,
                             "accepting non-interactive providers", &listener);

    if (listener && route_loop_add_listener(network->loop, listener) != MD_OK)
        return MD_EXIT_FILE;
    return code;
}

int src_dist_open_ports(struct src_dist *sd, const struct md_conf_object *bus)
{
    const struct md_conf_object *daemon = &sd->daemon.object;
    struct network *network = find_network(sd, md_conf_string(bus, "network"));

    if (!network)
        return MD_EXIT_CONFIG;
    if (md_conf_port(bus, "tlsServerPort") != 0 &&
        daemon_tls_create(daemon, true, "", &sd->server_tls) != MD_OK)
        return MD_EXIT_FILE;
    daemon_tls_show(&sd->daemon, sd->server_tls, "server");
    bool has_port = md_conf_port(bus, "serverPort") != 0 ||
                    md_conf_port(bus, "tlsServerPort") != 0 ||
                    md_conf_port(bus, "rsocketServerPort") != 0;
    const char *address = has_port ? src_dist_port_address(daemon) : "";
    sd->publishers = has_port ? network : NULL;
    int code = listen_on(sd, network, &net_tcp_transport, bus, "serverPort", address);
    if (code < 0)
        code = listen_on(sd, network, &net_tls_transport, bus, "tlsServerPort", address);
    if (code < 0)
        code = listen_on(sd, network, &net_rsocket_transport, bus, "rsocketServerPort", address);
    if (code < 0)
        src_dist_access_load(sd);
    return code;
}
