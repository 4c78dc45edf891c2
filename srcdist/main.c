/* main.c - src_dist: brings providers to the backbone. Wiring and configuration only. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "attach/shm.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "daemon/backbone.h"
#include "daemon/dictionary.h"
#include "daemon/words.h"
#include "netio/stream.h"
#include "plan.h"
#include "routes.h"
#include "services.h"
#include "src_dist.h"

#define HUNG_NS 5000000000ull
/* Troubles: one for each network, then these. */
#define NO_PROVIDER    NETWORKS_MAX
#define NO_PROVIDER_NS 10000000000ull
/* A turn of a route loop may handle so many messages of which inputBias says the providers' share.
 */
#define TURN_MESSAGES 1000

static void tell_operator(void *owner, bool is_error, const char *text)
{
    (void)owner;
    md_log(is_error ? MD_LOG_ERROR : MD_LOG_NOTICE, "%s", text);
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
    if (count == 0 && md_conf_bool(&sd->daemon.object, "convertMarketfeed")) {
        md_log(MD_LOG_CRITICAL, "convertMarketfeed is True, and there is no field dictionary: say "
                                "in dictionaryPath where RDMFieldDictionary is");
        return false;
    }
    return count == 0;
}

static struct srcdist_rules rules_of(const struct md_conf_object *daemon)
{
    return (struct srcdist_rules){
        .keeps_pages = md_conf_bool(daemon, "cacheAnsiPages"),
        .ripples = md_conf_bool(daemon, "rippleFields"),
        .marketfeed = {
            .zero_is_blank = md_conf_bool(daemon, "marketfeedZeroIsBlank"),
            .dictionary_id = (uint16_t)md_conf_u64(daemon, "marketfeedDictionaryId"),
        },
    };
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
        .service = src_dist_service_config,
        .tell = tell_operator,
        .dictionary_bytes_max = sd->dictionary_bytes,
        .user = "src_dist",
        .position = sd->position,
        .application_name = "src_dist",
        .open_window = u32_of(daemon, "providerOpenWindow"),
        .message_max = u32_of(daemon, "maxDecodedMsgSize"),
        .image_bytes_max = sd->image_bytes,
        .fields = sd->fields,
        .converts_marketfeed = md_conf_bool(daemon, "convertMarketfeed"),
        .rules = rules_of(daemon),
    };
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
        .accepted = src_dist_server_channel(sd, bus),
        .pool = { .shared_bytes = sd->pool_bytes, .assembly_bytes = sd->assembly_bytes },
        .busy_poll_ns = md_conf_time_ns(&sd->daemon.object, "busyPoll"),
        .input_budget = (int)md_conf_u64(bus, "inputBias") * TURN_MESSAGES / 100,
        .tcp_nodelay = md_conf_bool(&sd->daemon.object, "tcpNoDelay"),
    };
    config.core.source.gap_log = (uint32_t)src_dist_round_up_power(config.core.source.gap_log);
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
    if (read_networks(sd) != MD_OK || src_dist_plan_memory(sd, &bus) != MD_OK)
        return MD_EXIT_CONFIG;
    if (!load_fields(sd))
        return MD_EXIT_FILE;
    for (unsigned i = 0; i < sd->network_count; i++) {
        if (create_loop(sd->networks[i], &bus) != MD_OK)
            return MD_EXIT_CONFIG;
    }
    if (src_dist_add_routes(sd) != MD_OK)
        return MD_EXIT_CONFIG;
    int code = src_dist_open_ports(sd, &bus);
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
    const struct srcdist_rules rules = rules_of(&sd->daemon.object);
    char error[256];

    if (sd->server_tls && net_tls_reload(sd->server_tls, error, sizeof(error)) != MD_OK)
        md_log(MD_LOG_ERROR, "tls: %s; the old certificate stays in force", error);
    pthread_mutex_lock(&sd->lock);
    sd->live_conf = sd->daemon.conf;
    for (unsigned i = 0; i < sd->network_count; i++) {
        route_loop_rules_set(sd->networks[i]->loop, &rules);
        route_loop_connections_set(sd->networks[i]->loop,
                                   md_conf_bool(&sd->daemon.object, "tcpNoDelay"),
                                   md_conf_bool(&sd->daemon.object, "rsslMsgPacking"));
        src_dist_choose_flush_interval(sd->networks[i]);
    }
    pthread_mutex_unlock(&sd->lock);
}

/* With -noretry the daemon ends after attachTimeout without an rrcpd. */
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
