/* main.c - src_dist: brings providers to the backbone. Wiring and configuration only. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "attach/settings.h"
#include "attach/shm.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "daemon/backbone.h"
#include "daemon/daemon.h"
#include "daemon/dictionary.h"
#include "daemon/memory.h"
#include "daemon/words.h"
#include "netio/stream.h"
#include "route_loop.h"

#define ROUTES_MAX   64
#define NETWORKS_MAX 8
#define SERVICES_MAX 256
#define HUNG_NS      5000000000ull
/* Troubles: one for each network, then these. */
#define NO_PROVIDER    NETWORKS_MAX
#define NO_PROVIDER_NS 10000000000ull
/* A turn of a route loop may handle so many messages of which inputBias says the providers' share.
 */
#define TURN_MESSAGES 1000

struct src_dist;

/* One network of the backbone and the loop that serves it, an instance of its own. */
struct network {
    struct src_dist *sd;
    unsigned index;
    struct attach_settings settings;
    struct route_loop *loop;
    char instance_name[300];
    char stats_group[80];
    char services[SERVICES_MAX][256]; /* it carries; guarded by the lock of sd */
    unsigned service_count;
};

struct src_dist {
    struct daemon daemon;
    const struct md_conf *conf; /* as it was at the start */
    struct network *networks[NETWORKS_MAX];
    unsigned network_count;
    struct net_tls *server_tls;
    struct rwf_dictionary *fields; /* of files; NULL: none can be read */
    /* Written by the control loop on a reload, and by the route loop when a service appears. */
    pthread_mutex_t lock;
    const struct md_conf *live_conf;
    struct daemon_memory memory;
    uint64_t pool_bytes, assembly_bytes, image_bytes, item_bytes; /* of each loop */
    uint64_t dictionary_bytes;
    uint32_t gap_logs;
    char position[128];
    uint64_t started_ns;
    int exit_code;
};

static uint32_t u32_of(const struct md_conf_object *object, const char *param)
{
    return (uint32_t)md_conf_u64(object, param);
}

/* ---- services ---- */

static bool is_listed(const struct md_conf_object *daemon, struct rwf_bytes name)
{
    char listed[256];
    size_t i = 0;

    for (; md_conf_list(daemon, "serviceList", i, listed, sizeof(listed)); i++) {
        if (rwf_bytes_equal(rwf_text(listed), name))
            return true;
    }
    return i == 0; /* no list: all of them */
}

/* A service that the configuration puts on another network is not offered on this one. */
static bool is_elsewhere(const struct network *network, const struct md_conf_object *service)
{
    const char *name = md_conf_string(service, "network");

    return name[0] && strcmp(name, network->settings.network) != 0;
}

/* Services share the outbound ring of their loop, so the one that may wait least decides. */
static void choose_flush_interval(struct network *network)
{
    uint64_t least = UINT64_MAX;

    for (unsigned i = 0; i < network->service_count; i++) {
        struct md_conf_object service =
            md_conf_object(network->sd->live_conf, MD_CONF_SERVICE, network->services[i]);
        uint64_t interval_ns = md_conf_time_ns(&service, "rrmpFlushInterval");
        if (interval_ns < least)
            least = interval_ns;
    }
    route_loop_flush_interval_set(network->loop, least == UINT64_MAX ? 0 : least);
}

static void remember_service(struct network *network, const char *name)
{
    bool is_known = false;

    pthread_mutex_lock(&network->sd->lock);
    for (unsigned i = 0; i < network->service_count; i++)
        is_known |= strcmp(network->services[i], name) == 0;
    if (!is_known && network->service_count < SERVICES_MAX)
        snprintf(network->services[network->service_count++], sizeof(network->services[0]), "%s",
                 name);
    choose_flush_interval(network);
    pthread_mutex_unlock(&network->sd->lock);
}

/* Called on the route loop when a provider first names a service; the configuration is constant. */
/* The core takes 0 for its own default; the parameter means at once by it. */
static uint64_t wait_ns(const struct md_conf_object *object, const char *param)
{
    uint64_t time_ns = md_conf_time_ns(object, param);

    return time_ns ? time_ns : 1;
}

static struct srcdist_service_config service_config(void *owner, struct rwf_bytes name)
{
    static const enum srcdist_cache_location locations[] = {
        SRCDIST_CACHE_SRC_APP,
        SRCDIST_CACHE_SRC_DIST,
        SRCDIST_CACHE_NONE,
    };
    struct network *network = owner;
    const struct src_dist *sd = network->sd;
    char text[256];

    snprintf(text, sizeof(text), "%.*s", (int)name.length, (const char *)name.data);
    struct md_conf_object service = md_conf_object(sd->conf, MD_CONF_SERVICE, text);
    struct md_conf_object daemon = md_conf_object(sd->conf, MD_CONF_DAEMON, NULL);
    const char *vendor = md_conf_string(&service, "vendor");
    const char *mirror_group = md_conf_string(&service, "mirrorGroup");
    struct srcdist_service_config config = {
        .is_refused = !is_listed(&daemon, name) || is_elsewhere(network, &service),
        .id = (uint16_t)md_conf_u64(&service, "serviceId"),
        .data_type = (uint8_t)md_conf_u64(&service, "dataType"),
        .cache_location = locations[md_conf_word(&service, "cacheLocation")],
        .priority = (uint8_t)md_conf_u64(&service, "sourcePriority"),
        .load_factor = (uint16_t)md_conf_u64(&service, "loadFactor"),
        .linger = {
            .close_ns = wait_ns(&service, "closeLinger"),
            .orphan_ns = wait_ns(&service, "orphanLinger"),
            .image_ns = wait_ns(&service, "imageLinger"),
        },
        .takes_dictionaries = md_conf_bool(&service, "dictionaryDownload"),
        .vendor = vendor[0] ? vendor : NULL,
        .mirror_group = mirror_group[0] ? mirror_group : NULL,
        .mirror_hot = md_conf_word(&service, "mirrorMode") == 1,
    };

    if (config.is_refused)
        md_log(
            MD_LOG_WARNING,
            "service %s is not offered: serviceList is \"%s\", and its own network is %s, here is "
            "%s; add it to serviceList, or give it to this network",
            text, md_conf_string(&daemon, "serviceList"),
            md_conf_string(&service, "network")[0] ? md_conf_string(&service, "network") : "any",
            network->settings.network);
    else
        md_log(MD_LOG_NOTICE, "service %s is known now", text);
    if (!config.is_refused)
        remember_service(network, text);
    return config;
}

static void tell_operator(void *owner, bool is_error, const char *text)
{
    (void)owner;
    md_log(is_error ? MD_LOG_ERROR : MD_LOG_NOTICE, "%s", text);
}

/* ---- routes ---- */

static void set_pings(struct rssl_config *config, const struct md_conf_object *daemon,
                      const struct md_conf_object *link)
{
    config->ping_timeout_s = (uint8_t)(md_conf_time_ns(link, "pingTimeout") / 1000000000u);
    if (config->ping_timeout_min_s > config->ping_timeout_s)
        config->ping_timeout_min_s = config->ping_timeout_s;
    config->ping_interval_s = (uint8_t)(md_conf_time_ns(daemon, "pingInterval") / 1000000000u);
}

static struct rssl_config route_channel(const struct src_dist *sd,
                                        const struct md_conf_object *route)
{
    const struct md_conf_object *daemon = &sd->daemon.object;
    struct rssl_config config = rssl_config_default(RSSL_ROLE_CLIENT);

    config.guaranteed_buffers = u32_of(route, "numIpcOutputBuffers");
    if (config.max_buffers < config.guaranteed_buffers * 8)
        config.max_buffers = config.guaranteed_buffers * 8;
    config.packing = md_conf_bool(daemon, "rsslMsgPacking");
    config.input_buffers = u32_of(route, "numIpcInputBuffers");
    config.message_max = u32_of(daemon, "maxDecodedMsgSize");
    set_pings(&config, daemon, route);
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

static int route_tls(struct link *link, const struct md_conf_object *route)
{
    const char *certificate = md_conf_string(route, "tlsCertFile");
    const char *key = md_conf_string(route, "tlsKeyFile");
    const char *ca = md_conf_string(route, "tlsCaFile");
    struct net_tls_config config = {
        .certificate = certificate[0] ? certificate : NULL,
        .key = key[0] ? key : NULL,
        .ca = ca[0] ? ca : NULL,
        .require_tls13 = md_conf_word(route, "tlsMinVersion") == 1,
    };
    char error[256], before[32];

    link->is_encrypted = md_conf_bool(route, "encrypted");
    if (!link->is_encrypted || net_tls_create(&config, error, sizeof(error), &link->tls) == MD_OK)
        return MD_OK;
    snprintf(before, sizeof(before), "route %u: ", link->number);
    daemon_tls_refused(route, before, &config, error);
    return MD_ERR_SYS;
}

static struct net_stream_options stream_options(const struct src_dist *sd, struct net_tls *tls)
{
    const struct md_conf_object *daemon = &sd->daemon.object;

    return (struct net_stream_options){
        .nodelay = md_conf_bool(daemon, "tcpNoDelay"),
        .send_buffer = u32_of(daemon, "tcpSendBufSize"),
        .recv_buffer = u32_of(daemon, "tcpRecvBufSize"),
        .tls = tls,
    };
}

static struct network *find_network(const struct src_dist *sd, const char *name)
{
    for (unsigned i = 0; i < sd->network_count; i++) {
        if (!name[0] || strcmp(sd->networks[i]->settings.network, name) == 0)
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
    if (!network || route_tls(link, &route) != MD_OK) {
        free(link);
        return MD_ERR_SYS;
    }
    link->options = stream_options(sd, link->tls);
    md_log(MD_LOG_NOTICE, "route %u: %s:%u%s", number, link->hosts[0], link->ports[0],
           link->host_count > 1 ? " and others" : "");
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

static int add_routes(struct src_dist *sd)
{
    struct route_names names = { .sd = sd };
    char number[16];

    for (uint64_t i = 1; i <= md_conf_u64(&sd->daemon.object, "routeCount"); i++) {
        snprintf(number, sizeof(number), "%u", (unsigned)i);
        on_route_name(&names, number);
    }
    md_conf_names(sd->daemon.conf, MD_CONF_ROUTE, on_route_name, &names);
    return names.err;
}

/* ---- the port of non-interactive providers ---- */

static struct rssl_config server_channel(const struct src_dist *sd,
                                         const struct md_conf_object *bus)
{
    const struct md_conf_object *daemon = &sd->daemon.object;
    struct rssl_config config = rssl_config_default(RSSL_ROLE_SERVER);

    set_pings(&config, daemon, bus);
    config.guaranteed_buffers = u32_of(bus, "guaranteedOutputBuffers");
    if (config.max_buffers < config.guaranteed_buffers)
        config.max_buffers = config.guaranteed_buffers;
    config.input_buffers = u32_of(bus, "numInputBuffers");
    config.message_max = u32_of(daemon, "maxDecodedMsgSize");
    config.packing = md_conf_bool(daemon, "rsslMsgPacking");
    config.message_size_max = (uint16_t)md_conf_u64(daemon, "maxFragmentSize");
    return config;
}

static int listen_on(struct src_dist *sd, struct network *network,
                     const struct net_transport *transport, const struct md_conf_object *bus,
                     const char *param)
{
    struct net_stream_options options = stream_options(sd, sd->server_tls);
    struct net_listener *listener;

    if (md_conf_port(bus, param) == 0)
        return -1;
    if (transport->listen(&options, NULL, md_conf_port(bus, param), &listener) != MD_OK) {
        daemon_port_refused(bus, param);
        return MD_EXIT_PORT;
    }
    md_log(MD_LOG_NOTICE, "accepting non-interactive providers on port %u (%s)",
           net_listener_port(listener), transport->name);
    return route_loop_add_listener(network->loop, listener) == MD_OK ? -1 : MD_EXIT_FILE;
}

static int open_ports(struct src_dist *sd, const struct md_conf_object *bus)
{
    const struct md_conf_object *daemon = &sd->daemon.object;
    uint16_t tls_port = md_conf_port(bus, "tlsServerPort");
    const char *ca = md_conf_string(daemon, "tlsCaFile");
    struct net_tls_config config = {
        .certificate = md_conf_string(daemon, "tlsCertFile"),
        .key = md_conf_string(daemon, "tlsKeyFile"),
        .ca = ca[0] ? ca : NULL,
        .is_server = true,
        .require_client_certificate = md_conf_bool(daemon, "tlsRequireClientCert"),
        .require_tls13 = md_conf_word(daemon, "tlsMinVersion") == 1,
    };
    struct network *network = find_network(sd, md_conf_string(bus, "network"));
    char error[256];

    if (!network)
        return MD_EXIT_CONFIG;
    if (tls_port && net_tls_create(&config, error, sizeof(error), &sd->server_tls) != MD_OK) {
        daemon_tls_refused(daemon, "", &config, error);
        return MD_EXIT_FILE;
    }
    int code = listen_on(sd, network, &net_tcp_transport, bus, "serverPort");
    return code < 0 ? listen_on(sd, network, &net_tls_transport, bus, "tlsServerPort") : code;
}

/* ---- life ---- */

static uint64_t random_seed(void)
{
    uint64_t seed = 0;

    while (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
        continue;
    return seed;
}

/* False: dictionaryPath names what cannot be read. Without it a src_dist needs no file. */
static bool load_fields(struct src_dist *sd)
{
    size_t count = 0;

    if (rwf_dictionary_create(&sd->fields) == MD_OK &&
        daemon_dictionary_load(&sd->daemon.object, sd->fields, &count) == MD_OK)
        return true;
    rwf_dictionary_destroy(sd->fields);
    sd->fields = NULL;
    return count == 0;
}

static struct srcdist_core_config core_config(struct network *network)
{
    struct src_dist *sd = network->sd;
    const struct md_conf_object *daemon = &sd->daemon.object;

    snprintf(network->instance_name, sizeof(network->instance_name), "%s.%u", sd->daemon.identity,
             network->index);
    snprintf(sd->position, sizeof(sd->position), "127.0.0.1/%s", md_conf_node(sd->daemon.conf));
    return (struct srcdist_core_config){
        .source = {
            .name = network->instance_name,
            .start_ms = md_clock_wall_ns() / 1000000,
            .random = random_seed(),
            .item_limit = u32_of(daemon, "itemLimit"),
            .item_bytes_max = sd->item_bytes,
            .service_limit = sd->gap_logs,
            .gap_log = u32_of(daemon, "gapLog"),
            .item_buckets = u32_of(daemon, "hashTableSize"),
            .unicast_images = network->settings.uses_point_to_point,
        },
        .service_owner = network,
        .service = service_config,
        .tell = tell_operator,
        .dictionary_bytes_max = sd->dictionary_bytes,
        .user = "src_dist",
        .position = sd->position,
        .application_name = "src_dist",
        .open_window = u32_of(daemon, "providerOpenWindow"),
        .message_max = u32_of(daemon, "maxDecodedMsgSize"),
        .image_bytes_max = sd->image_bytes,
        .keeps_pages = md_conf_bool(&sd->daemon.object, "cacheAnsiPages"),
        .fields = sd->fields,
        .ripples = md_conf_bool(&sd->daemon.object, "rippleFields"),
    };
}

static uint64_t round_up_power(uint64_t value)
{
    uint64_t power = 1;

    while (power < value)
        power *= 2;
    return power;
}

/* ---- memory ---- */

#define PROCESS_BYTES (24u << 20) /* programs, libraries, stacks, statistics */
#define ENGINE_BYTES  (24u << 20) /* events and tables of an engine inside the process */
#define LOOP_BYTES    (16u << 20) /* tables that are made at start */
#define MESSAGES      4           /* buffers of maxDecodedMsgSize a loop holds */
#define PROVIDERS     64          /* connections of a loop, at most */

/* Engines that run inside this process, by inProcess. */
static void plan_networks(struct src_dist *sd)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < sd->network_count; i++) {
        const struct attach_settings *settings = &sd->networks[i]->settings;
        struct attach_settings_memory network = attach_settings_memory(settings);
        if (settings->config.in_process)
            bytes += ENGINE_BYTES + network.packets + network.peers + network.waiting +
                     network.inbound_ring;
    }
    if (bytes)
        daemon_memory_add(&sd->memory, "networks", bytes);
}

struct largest_read {
    struct src_dist *sd;
    size_t bytes;
};

static void on_route_read(void *arg, const char *name)
{
    struct largest_read *largest = arg;
    struct md_conf_object route = md_conf_object(largest->sd->daemon.conf, MD_CONF_ROUTE, name);
    uint64_t buffer = md_conf_u64(&largest->sd->daemon.object, "maxFragmentSize");

    largest->bytes =
        rssl_read_size(u32_of(&route, "numIpcInputBuffers"), (uint16_t)buffer, largest->bytes);
}

/* What one connection may hold unread, beyond the buffer that a loop lends to all of them. */
static uint64_t unread_bytes(struct src_dist *sd, const struct md_conf_object *bus)
{
    uint16_t buffer = (uint16_t)md_conf_u64(&sd->daemon.object, "maxFragmentSize");
    struct largest_read largest = {
        .sd = sd, .bytes = rssl_read_size(u32_of(bus, "numInputBuffers"), buffer, CLIENT_READ_LEAST)
    };

    on_route_read(&largest, "1");
    md_conf_names(sd->daemon.conf, MD_CONF_ROUTE, on_route_read, &largest);
    return largest.bytes - CLIENT_READ_LEAST;
}

/* Divides memoryLimit among the parts, and what each part gets among the loops. */
static int plan_memory(struct src_dist *sd, const struct md_conf_object *bus)
{
    const struct md_conf_object *daemon = &sd->daemon.object;
    struct daemon_memory *memory = &sd->memory;
    uint64_t loops = sd->network_count;
    uint64_t buffer = md_conf_u64(daemon, "maxFragmentSize");
    uint64_t own = md_conf_u64(bus, "guaranteedOutputBuffers") * buffer + 3 * RSSL_CHUNK_SIZE;
    uint64_t input =
        rssl_read_size(u32_of(bus, "numInputBuffers"), (uint16_t)buffer, 0); /* one a loop */
    uint64_t gap_log = 4 * round_up_power(md_conf_u64(daemon, "gapLog"));

    daemon_memory_configure(memory, daemon);
    daemon_memory_add(
        memory, "fixed",
        PROCESS_BYTES +
            loops * (LOOP_BYTES + MESSAGES * md_conf_u64(daemon, "maxDecodedMsgSize") + input));
    sd->gap_logs = (uint32_t)(daemon_memory_grant(memory, "gapLogs", 256 * loops * gap_log, 8) /
                              loops / gap_log);
    if (unread_bytes(sd, bus) > 0)
        daemon_memory_add(memory, "unread", loops * PROVIDERS * unread_bytes(sd, bus));
    daemon_memory_grant(memory, "providers", loops * PROVIDERS * own, 8);
    uint64_t pool = md_conf_u64(bus, "poolSize") * buffer;
    sd->pool_bytes = daemon_memory_grant(memory, "output", pool, 8) / loops;
    sd->assembly_bytes = daemon_memory_grant(memory, "assembly", 0, 4) / loops;
    sd->dictionary_bytes = daemon_memory_grant(memory, "dictionaries",
                                               loops * md_conf_u64(daemon, "dictionaryLimit"), 4) /
                           loops;
    plan_networks(sd);
    uint64_t left = daemon_memory_left(memory);
    if (sd->gap_logs == 0 || left < memory->limit / 8) {
        daemon_memory_refused(memory, daemon);
        return MD_ERR_RANGE;
    }
    sd->image_bytes = left / 2 / loops;
    daemon_memory_add(memory, "images", left / 2);
    sd->item_bytes = (left - left / 2) / loops;
    daemon_memory_add(memory, "items", left - left / 2);
    daemon_memory_show(memory, sd->daemon.stats);
    return MD_OK;
}

static int add_network(struct src_dist *sd, const char *name)
{
    struct network *network = calloc(1, sizeof(*network));
    char why[256];

    if (!network)
        return MD_ERR_NOMEM;
    network->sd = sd;
    network->index = sd->network_count;
    sd->networks[sd->network_count++] = network;
    int err = attach_settings_read(sd->conf, name, &network->settings, why, sizeof(why));
    if (err != MD_OK)
        md_log(MD_LOG_CRITICAL, "network %s: %s", name, why);
    return err;
}

static bool has_network(const struct src_dist *sd, const char *name)
{
    for (unsigned i = 0; i < sd->network_count; i++) {
        if (strcmp(sd->networks[i]->settings.network, name) == 0)
            return true;
    }
    return false;
}

static int read_networks(struct src_dist *sd)
{
    char name[64];
    int err = MD_OK;

    for (size_t i = 0;
         err == MD_OK && md_conf_list(&sd->daemon.object, "networkList", i, name, sizeof(name));
         i++) {
        if (has_network(sd, name)) {
            md_log(MD_LOG_WARNING, "networkList names %s twice", name);
        } else if (sd->network_count == NETWORKS_MAX) {
            md_log(MD_LOG_CRITICAL, "networkList: more than %d networks", NETWORKS_MAX);
            err = MD_ERR_RANGE;
        } else {
            err = add_network(sd, name);
        }
    }
    if (err == MD_OK && sd->network_count == 0)
        err = add_network(sd, md_conf_network(sd->conf));
    return err;
}

static int create_loop(struct network *network, const struct md_conf_object *bus)
{
    struct src_dist *sd = network->sd;
    char user_name[64];

    if (sd->network_count > 1)
        snprintf(network->stats_group, sizeof(network->stats_group), "%s.",
                 network->settings.network);
    struct route_loop_config config = {
        .daemon = &sd->daemon,
        .index = network->index,
        .stats_group = network->stats_group,
        .core = core_config(network),
        .attach = network->settings.config,
        .accepted = server_channel(sd, bus),
        .pool = { .shared_bytes = sd->pool_bytes, .assembly_bytes = sd->assembly_bytes },
        .busy_poll_ns = md_conf_time_ns(&sd->daemon.object, "busyPoll"),
        .input_budget = (int)md_conf_u64(bus, "inputBias") * TURN_MESSAGES / 100,
        .tcp_nodelay = md_conf_bool(&sd->daemon.object, "tcpNoDelay"),
    };
    config.core.source.gap_log = (uint32_t)round_up_power(config.core.source.gap_log);
    snprintf(user_name, sizeof(user_name), "src_dist.%s", md_conf_instance(sd->daemon.conf));
    config.attach.user_name = user_name;
    int err = route_loop_create(&config, &network->loop);
    if (err != MD_OK)
        md_log(MD_LOG_CRITICAL, "route loop of %s: %s", network->settings.network,
               md_err_name(err));
    return err;
}

static int build(struct src_dist *sd)
{
    struct md_conf_object bus = md_conf_object(sd->daemon.conf, MD_CONF_BUS, NULL);

    sd->conf = sd->daemon.conf;
    if (read_networks(sd) != MD_OK || plan_memory(sd, &bus) != MD_OK)
        return MD_EXIT_CONFIG;
    if (!load_fields(sd))
        return MD_EXIT_FILE;
    for (unsigned i = 0; i < sd->network_count; i++) {
        if (create_loop(sd->networks[i], &bus) != MD_OK)
            return MD_EXIT_CONFIG;
    }
    if (add_routes(sd) != MD_OK)
        return MD_EXIT_CONFIG;
    int code = open_ports(sd, &bus);
    for (unsigned i = 0; code < 0 && i < sd->network_count; i++)
        code = route_loop_start(sd->networks[i]->loop) == MD_OK ? -1 : MD_EXIT_FILE;
    return code;
}

static void take_down(struct src_dist *sd)
{
    for (unsigned i = 0; i < sd->network_count; i++) {
        if (sd->networks[i]->loop)
            route_loop_stop(sd->networks[i]->loop);
    }
    for (unsigned i = 0; i < sd->network_count; i++) {
        if (sd->networks[i]->loop)
            route_loop_join(sd->networks[i]->loop);
    }
    for (unsigned i = 0; i < sd->network_count; i++) {
        route_loop_destroy(sd->networks[i]->loop);
        free(sd->networks[i]);
    }
    rwf_dictionary_destroy(sd->fields);
    net_tls_destroy(sd->server_tls);
    daemon_stop(&sd->daemon);
}

static void on_reload(void *owner)
{
    struct src_dist *sd = owner;
    char error[256];

    if (sd->server_tls && net_tls_reload(sd->server_tls, error, sizeof(error)) != MD_OK)
        md_log(MD_LOG_ERROR, "tls: %s; the old certificate stays in force", error);
    pthread_mutex_lock(&sd->lock);
    sd->live_conf = sd->daemon.conf;
    for (unsigned i = 0; i < sd->network_count; i++) {
        route_loop_connections_set(sd->networks[i]->loop,
                                   md_conf_bool(&sd->daemon.object, "tcpNoDelay"),
                                   md_conf_bool(&sd->daemon.object, "rsslMsgPacking"));
        choose_flush_interval(sd->networks[i]);
    }
    pthread_mutex_unlock(&sd->lock);
}

/* Told not to wait for rrcpd for ever: after attachTimeout without one we leave. */
static void give_up_unattached(struct src_dist *sd, uint64_t now_ns)
{
    uint64_t timeout_ns = md_conf_time_ns(&sd->daemon.object, "attachTimeout");

    if (!sd->daemon.options.no_retry || now_ns - sd->started_ns < timeout_ns)
        return;
    for (unsigned i = 0; i < sd->network_count; i++) {
        if (atomic_load_explicit(&sd->networks[i]->loop->has_attached, memory_order_relaxed))
            return;
    }
    md_log(MD_LOG_CRITICAL, "backbone: no rrcpd within attachTimeout, and -noretry was given");
    sd->exit_code = MD_EXIT_ATTACH;
    md_loop_stop(sd->daemon.loop);
}

/* False: a route loop hangs. */
static bool on_beat(void *owner)
{
    struct src_dist *sd = owner;
    uint64_t now_ns = md_loop_now(sd->daemon.loop);
    bool all_alive = true;

    give_up_unattached(sd, now_ns);
    daemon_memory_beat(&sd->memory);
    for (unsigned i = 0; i < sd->network_count; i++) {
        const struct network *network = sd->networks[i];
        uint64_t alive_ns = atomic_load_explicit(&network->loop->alive_ns, memory_order_relaxed);
        if (alive_ns == 0 || now_ns < alive_ns + HUNG_NS)
            continue;
        md_log(MD_LOG_ERROR, "the route loop of %s hangs since %llu s", network->settings.network,
               (unsigned long long)((now_ns - alive_ns) / 1000000000u));
        all_alive = false;
    }
    return all_alive;
}

/* Nothing goes to the backbone while no provider is connected, on whichever route or port. */
static void look_for_providers(struct src_dist *sd)
{
    struct daemon *daemon = &sd->daemon;
    uint64_t now_ns = md_loop_now(daemon->loop), count = 0;

    for (unsigned i = 0; i < sd->network_count; i++)
        count += md_ctr_get(&stats_entry_addf(daemon->stats, STATS_KIND_GAUGE,
                                              "src_dist.%sproviders", sd->networks[i]->stats_group)
                                 ->value);
    if (count == 0)
        daemon_trouble_here(&daemon->troubles, NO_PROVIDER, now_ns, NO_PROVIDER_NS,
                            "no provider is connected",
                            "no provider is connected: no service is offered; see the routes "
                            "(hostList) and who connects to serverPort");
    else
        daemon_trouble_gone(&daemon->troubles, NO_PROVIDER, now_ns, "a provider is connected");
}

static bool can_serve(void *owner)
{
    struct src_dist *sd = owner;
    bool can_serve = true;

    for (unsigned i = 0; i < sd->network_count; i++) {
        const struct attach_settings *settings = &sd->networks[i]->settings;
        bool is_attached =
            atomic_load_explicit(&sd->networks[i]->loop->is_attached, memory_order_relaxed);
        char path[256] = "";

        (void)attach_socket_path(path, sizeof(path), settings->config.run_dir, settings->network,
                                 settings->rrcpd_instance);
        daemon_backbone_look(&sd->daemon, i, settings->network, path, is_attached);
        can_serve &= is_attached;
    }
    look_for_providers(sd);
    return can_serve;
}

int main(int argc, char **argv)
{
    static const struct md_program program = {
        .name = "src_dist",
        .summary = "src_dist - brings providers to the backbone",
    };
    struct src_dist *sd = calloc(1, sizeof(*sd));
    struct daemon_hooks hooks = {
        .owner = sd, .reload = on_reload, .beat = on_beat, .can_serve = can_serve
    };

    if (!sd)
        return MD_EXIT_FILE;
    int code = daemon_start(&sd->daemon, &program, &hooks, argc, argv);
    if (code >= 0) {
        free(sd);
        return code;
    }
    pthread_mutex_init(&sd->lock, NULL);
    sd->live_conf = sd->daemon.conf;
    code = build(sd);
    if (code < 0) {
        daemon_ready(&sd->daemon);
        sd->started_ns = md_loop_now(sd->daemon.loop);
        daemon_run(&sd->daemon);
        code = sd->exit_code;
    }
    take_down(sd);
    free(sd);
    return code;
}
