/* main.c - src_dist: brings providers to the backbone. Wiring and configuration only. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "access.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "control.h"
#include "daemon/connections.h"
#include "daemon/dictionary.h"
#include "daemon/site.h"
#include "filters.h"
#include "netio/stream.h"
#include "plan.h"
#include "rates/conf.h"
#include "routes.h"
#include "services.h"
#include "src_dist.h"
#include "uplinks.h"

/* Troubles: one for each network, then these. */
#define NO_PROVIDER    DAEMON_NETWORKS_MAX
#define NO_PROVIDER_NS 10000000000ull
/* A turn of a route loop may handle so many messages of which inputBias says the providers' share.
 */
#define TURN_MESSAGES 1000

/* The log bounds the lines of each place in the code: refusals may not hide what else is wrong. */
static void tell_operator(void *owner, enum srcdist_tone tone, const char *text)
{
    (void)owner;
    if (tone == SRCDIST_TELLS_REFUSAL)
        md_log(MD_LOG_WARNING, "%s", text);
    else if (tone == SRCDIST_TELLS_ERROR)
        md_log(MD_LOG_ERROR, "%s", text);
    else
        md_log(MD_LOG_NOTICE, "%s", text);
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

static uint64_t wall_s(void)
{
    return md_clock_wall_ns() / MD_NS_PER_S;
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
            .item_limit = md_conf_u32(daemon, "itemLimit"),
            .preempts = md_conf_bool(daemon, "preemptItems"),
            .item_bytes_max = sd->item_bytes,
            .service_limit = sd->gap_logs,
            .gap_log = md_conf_u32(daemon, "gapLog"),
            .item_buckets = md_conf_u32(daemon, "hashTableSize"),
            .unicast_images = network->settings->uses_point_to_point,
        },
        .service_owner = network,
        .service = src_dist_service_config,
        .service_news = src_dist_service_news,
        .service_forget_ns = md_conf_time_ns(daemon, "serviceForget"),
        .provider_limit = SRC_DIST_PUBLISHERS + ROUTES_MAX,
        .publisher_limit = SRC_DIST_PUBLISHERS,
        .has_access = src_dist_has_access(daemon),
        .wall_s = wall_s,
        .user_sessions_max = md_conf_u32(daemon, "providerLimitPerUser"),
        .provider_services_max = md_conf_u32(daemon, "serviceLimitPerProvider"),
        .provider_items_max = md_conf_u32(daemon, "itemLimitPerProvider"),
        .tell = tell_operator,
        .dictionary_bytes_max = sd->dictionary_bytes,
        .user = "src_dist",
        .position = sd->position,
        .application_name = "src_dist",
        .site = md_conf_string(daemon, "siteName"),
        .open_window = md_conf_u32(daemon, "providerOpenWindow"),
        .message_max = md_conf_u32(daemon, "maxDecodedMsgSize"),
        .image_bytes_max = sd->image_bytes - sd->image_bytes / 16,
        .has_rates = rates_conf_is_used(daemon),
        .pending_bytes_max = sd->image_bytes / 16,
        .replay_ns = md_conf_time_ns(daemon, "replayTime"),
        .replay_bytes = md_conf_u64(daemon, "replayBytes"),
        .fields = sd->fields,
        .converts_marketfeed = md_conf_bool(daemon, "convertMarketfeed"),
        .rules = rules_of(daemon),
    };
}

static int create_networks(struct src_dist *sd)
{
    if (daemon_networks_read(&sd->settings, &sd->daemon) != MD_OK)
        return MD_ERR_RANGE;
    for (unsigned i = 0; i < sd->settings.count; i++) {
        struct network *network = calloc(1, sizeof(*network));

        if (!network)
            return MD_ERR_NOMEM;
        network->sd = sd;
        network->index = i;
        network->settings = sd->settings.list[i];
        sd->networks[sd->network_count++] = network;
    }
    return MD_OK;
}

static int create_loop(struct network *network, const struct md_conf_object *bus)
{
    struct src_dist *sd = network->sd;
    char user_name[64];

    if (sd->network_count > 1)
        snprintf(network->stats_group, sizeof(network->stats_group), "%s.",
                 network->settings->network);
    struct route_loop_config config = {
        .daemon = &sd->daemon,
        .index = network->index,
        .stats_group = network->stats_group,
        .core = core_config(network),
        .attach = network->settings->config,
        .accepted = src_dist_server_channel(sd, bus),
        .pool = { .shared_bytes = sd->pool_bytes, .assembly_bytes = sd->assembly_bytes },
        .host_limit = md_conf_u32(&sd->daemon.object, "providerLimitPerHost"),
        .user_from = (enum net_identity)md_conf_word(&sd->daemon.object, "tlsUserFrom"),
        .busy_poll_ns = md_conf_time_ns(&sd->daemon.object, "busyPoll"),
        .input_budget = (int)md_conf_u64(bus, "inputBias") * TURN_MESSAGES / 100,
        .tcp_nodelay = md_conf_bool(&sd->daemon.object, "tcpNoDelay"),
    };
    config.core.source.gap_log = (uint32_t)src_dist_round_up_power(config.core.source.gap_log);
    snprintf(user_name, sizeof(user_name), "src_dist.%s", md_conf_instance(sd->daemon.conf));
    config.attach.user_name = user_name;
    config.attach.busy_poll_ns = config.busy_poll_ns;
    config.attach.wants_no_data = true; /* a source reads questions, and who else is there */
    int err = route_loop_create(&config, &network->loop);
    if (err != MD_OK)
        md_log(MD_LOG_CRITICAL, "route loop of %s: %s", network->settings->network,
               md_err_name(err));
    return err;
}

static int build(void *owner)
{
    struct src_dist *sd = owner;
    struct md_conf_object bus = md_conf_object(sd->daemon.conf, MD_CONF_BUS, NULL);

    pthread_mutex_init(&sd->lock, NULL);
    sd->conf = sd->live_conf = sd->daemon.conf;
    if (!daemon_site_is_good(&sd->daemon.object) || create_networks(sd) != MD_OK ||
        src_dist_plan_memory(sd, &bus) != MD_OK)
        return MD_EXIT_CONFIG;
    if (!load_fields(sd) ||
        delays_open(sd->conf, sd->network_count, sd->image_bytes, &sd->delays) != MD_OK)
        return MD_EXIT_FILE;
    for (unsigned i = 0; i < sd->network_count; i++) {
        if (create_loop(sd->networks[i], &bus) != MD_OK)
            return MD_EXIT_CONFIG;
    }
    if (!src_dist_filters_load(sd))
        return MD_EXIT_FILE;
    if (src_dist_add_routes(sd) != MD_OK)
        return MD_EXIT_CONFIG;
    int code = src_dist_open_ports(sd, &bus);
    for (unsigned i = 0; code < 0 && i < sd->network_count; i++)
        code = route_loop_start(sd->networks[i]->loop) == MD_OK ? -1 : MD_EXIT_FILE;
    if (code < 0)
        src_dist_control_open(sd);
    return code;
}

static void take_down(void *owner)
{
    struct src_dist *sd = owner;

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
    delays_close(sd->delays);
    daemon_networks_free(&sd->settings);
    rwf_dictionary_destroy(sd->fields);
    net_tls_destroy(sd->server_tls);
}

static void commit_parameters(void *fresh)
{
    struct src_dist *sd = fresh;
    const struct srcdist_rules rules = rules_of(&sd->daemon.object);

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

static void on_reload(void *owner, struct daemon_reload *reload)
{
    struct src_dist *sd = owner;

    daemon_tls_reload(reload, sd->server_tls, &reload->object, "server");
    for (unsigned i = 0; i <= ROUTES_MAX; i++) {
        char number[16], name[16];

        snprintf(number, sizeof(number), "%u", i);
        snprintf(name, sizeof(name), "route%u", i);
        struct md_conf_object route = md_conf_object(reload->conf, MD_CONF_ROUTE, number);
        daemon_tls_reload(reload, sd->route_tls[i], &route, name);
    }
    src_dist_access_reload(sd, reload);
    src_dist_filters_reload(sd, reload);
    daemon_reload_add(reload,
                      &(struct daemon_reload_step){ .commit = commit_parameters, .fresh = sd });
}

static bool has_attached(const struct src_dist *sd)
{
    for (unsigned i = 0; i < sd->network_count; i++) {
        if (atomic_load_explicit(&sd->networks[i]->loop->has_attached, memory_order_relaxed))
            return true;
    }
    return false;
}

/* False: a route loop hangs. */
static bool on_beat(void *owner)
{
    struct src_dist *sd = owner;
    bool all_alive = true;

    if (!has_attached(sd))
        daemon_backbone_wait(&sd->daemon);
    daemon_memory_beat(&sd->memory);
    daemon_rsocket_show(&sd->daemon);
    for (unsigned i = 0; i < sd->network_count; i++) {
        const struct network *network = sd->networks[i];
        unsigned hung_s = daemon_hung_s(&sd->daemon, network->loop->alive_ns);
        if (hung_s > 0)
            md_log(MD_LOG_ERROR, "the route loop of %s hangs since %u s",
                   network->settings->network, hung_s);
        all_alive &= hung_s == 0;
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
        can_serve &= daemon_backbone_look(&sd->daemon, i, sd->networks[i]->settings,
                                          sd->networks[i]->loop->is_attached);
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
    static struct src_dist sd;
    const struct daemon_hooks hooks = { .owner = &sd,
                                        .build = build,
                                        .take_down = take_down,
                                        .reload = on_reload,
                                        .beat = on_beat,
                                        .can_serve = can_serve };

    return daemon_main(&sd.daemon, &program, &hooks, argc, argv);
}
