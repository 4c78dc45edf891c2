/* main.c - p2ps: serves consumers from the backbone. Wiring and configuration only. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "access.h"
#include "audit.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "control.h"
#include "credentials.h"
#include "daemon/connections.h"
#include "daemon/site.h"
#include "dictionaries.h"
#include "exempt.h"
#include "listeners.h"
#include "names.h"
#include "netio/stream.h"
#include "outside.h"
#include "outside_wiring.h"
#include "p2ps.h"
#include "paces.h"
#include "plan.h"
#include "rates/rates.h"
#include "reload.h"
#include "stats/rows.h"
#include "tokens.h"

#define NAMES_WAITING 256 /* at a time; who comes beyond stays an address */
/* Troubles: one for each network, then these. */
#define NO_SERVICE    DAEMON_NETWORKS_MAX
#define DRAINING      (DAEMON_NETWORKS_MAX + 1)
#define NO_AUTHORITY  (DAEMON_NETWORKS_MAX + 2)
#define DRY_RUN       (DAEMON_NETWORKS_MAX + 3)
#define NO_SERVICE_NS 10000000000ull

/* ---- networks ---- */

/* Asked by the workers; what the configuration says of a service is constant. */
static int service_network(void *owner, struct rrmp_view name)
{
    const struct p2ps *p2ps = owner;
    char text[256];

    snprintf(text, sizeof(text), "%.*s", (int)name.length, (const char *)name.bytes);
    struct md_conf_object service = md_conf_object(p2ps->conf, MD_CONF_SERVICE, text);
    const char *network = md_conf_string(&service, "network");
    int index = network[0] ? daemon_networks_find(&p2ps->networks, network) : -1;
    if (network[0] && index < 0)
        md_log(MD_LOG_ERROR, "service %s: its network %s is not in networkList", text, network);
    return index;
}

static void warn_operator(void *owner, const char *text)
{
    (void)owner;
    md_log(MD_LOG_WARNING, "%s", text);
}

/* ---- workers ---- */

static struct rssl_config channel_config(const struct daemon *daemon)
{
    const struct md_conf_object *object = &daemon->object;
    char port_name[16];

    snprintf(port_name, sizeof(port_name), "%u", md_conf_port(object, "rsslPort"));
    struct md_conf_object port = md_conf_object(daemon->conf, MD_CONF_PORT, port_name);
    struct rssl_config config = daemon_channel_config(RSSL_ROLE_SERVER, object, &port);
    config.ping_timeout_min_s = (uint8_t)(md_conf_time_ns(&port, "minPingTimeout") / 1000000000u);
    if (config.ping_timeout_min_s > config.ping_timeout_s)
        config.ping_timeout_min_s = config.ping_timeout_s;
    config.client_pings = md_conf_bool(&port, "clientToServerPings");
    config.server_pings = md_conf_bool(&port, "serverToClientPings");
    config.guaranteed_buffers = md_conf_u32(object, "guaranteedOutputBuffers");
    config.max_buffers = md_conf_u32(object, "maxOutputBuffers");
    if (config.max_buffers < config.guaranteed_buffers)
        config.max_buffers = config.guaranteed_buffers;
    config.breach_percent = (uint8_t)md_conf_u64(object, "outputThresholdBreach");
    config.ok_percent = (uint8_t)md_conf_u64(object, "outputThresholdOK");
    config.input_buffers = md_conf_u32(object, "numInputBuffers");
    if (md_conf_bool(object, "allowCompMode")) {
        uint64_t type = md_conf_u64(object, "compressionType");
        config.compression_bits = (uint8_t)(type == 0 ? 0 : 1u << (type - 1));
    }
    return config;
}

/* Of a WebSocket connection, in bytes; half of what 32 bits count is more than anybody means. */
static uint32_t ws_queue_bytes(const struct rssl_config *channel, uint64_t buffer)
{
    uint64_t bytes = channel->max_buffers * buffer;

    return bytes < UINT32_MAX / 2 ? (uint32_t)bytes : UINT32_MAX / 2;
}

static struct p2ps_ws_config ws_config(const struct p2ps *p2ps,
                                       const struct p2ps_worker_config *worker)
{
    const struct md_conf_object *daemon = &p2ps->daemon.object;
    struct p2ps_ws_config config = {
        .is_enabled = md_conf_bool(daemon, "wsEnable"),
        .ping_ns = md_conf_time_ns(daemon, "wsPingTimeout"),
        .message_max = md_conf_u32(daemon, "wsMaxMsgSize"),
        .queue_max = ws_queue_bytes(&worker->channel, md_conf_u64(daemon, "maxFragmentSize")),
        .guaranteed = worker->channel.guaranteed_buffers * md_conf_u64(daemon, "maxFragmentSize"),
        .pool = worker->ws.pool,
        .breach_percent = worker->channel.breach_percent,
        .ok_percent = worker->channel.ok_percent,
        .has_page = md_conf_bool(daemon, "wsLivePage"),
        .expands_enums = md_conf_bool(daemon, "expandEnumFields"),
        .catches_keys = md_conf_bool(daemon, "catchUnknownJsonKeys"),
        .catches_fields = md_conf_bool(daemon, "catchUnknownJsonFids"),
        .dictionaries = p2ps->dictionaries,
    };
    char origin[256];
    size_t length = 0;

    snprintf(config.default_service, sizeof(config.default_service), "%s",
             md_conf_string(daemon, "defaultService"));
    for (size_t i = 0; md_conf_list(daemon, "wsAllowedOrigins", i, origin, sizeof(origin)); i++) {
        int written = snprintf(config.allowed_origins + length,
                               sizeof(config.allowed_origins) - length, "%s ", origin);
        if (length + (size_t)written >= sizeof(config.allowed_origins)) {
            config.allowed_origins[length] = 0;
            md_log(MD_LOG_ERROR, "wsAllowedOrigins: too long, %s and what follows is left out",
                   origin);
            break;
        }
        length += (size_t)written;
    }
    return config;
}

/* Where the sink reads 0 as its own default, and the parameter means none by it. */
static uint64_t at_least_one(uint64_t value)
{
    return value ? value : 1;
}

static uint64_t random_seed(void)
{
    uint64_t seed = 0;

    while (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
        continue;
    return seed;
}

static uint64_t wall_s(void)
{
    return md_clock_wall_ns() / 1000000000u;
}

static struct p2ps_core_config core_config(struct p2ps *p2ps)
{
    const struct md_conf_object *daemon = &p2ps->daemon.object;

    return (struct p2ps_core_config){
        .sink = {
            .random = random_seed(),
            .post_limit = md_conf_u32(daemon, "maxPosts"),
            .open_window_minimum = md_conf_u32(daemon, "minimumOpenWindow"),
            .hold_bytes = at_least_one(md_conf_u64(daemon, "holdLimit")),
            .item_buckets = md_conf_u32(daemon, "hashTableSize"),
            .instance_timeout_ns = md_conf_time_ns(daemon, "instanceTimeout"),
            .failback_ns = md_conf_time_ns(daemon, "failback"),
            .move_rate = md_conf_u32(daemon, "rebalanceRate"),
            .rebalances = md_conf_bool(daemon, "rebalance"),
            .gap_verify_ns = md_conf_time_ns(daemon, "gapVerify"),
        },
        .certificate_policy = (unsigned)md_conf_word(daemon, "tlsUserPolicy"),
        .entry_locks = (unsigned)md_conf_word(daemon, "entryLocks"),
        .services = { .owner = p2ps, .network = service_network, .warn = warn_operator },
        .network_count = p2ps->networks.count,
        .dictionaries = p2ps_dictionary_store_ops(p2ps->dictionaries),
        .parties = p2ps->parties,
        .site = md_conf_string(daemon, "siteName"),
        .client_limit = p2ps->mounts_max,
        .login_timeout_ns = md_conf_time_ns(daemon, "loginTimeout"),
        .views_max = md_conf_u32(daemon, "viewLimitPerMount"),
        .posts_max = md_conf_u32(daemon, "maxPostsPerMount"),
        .message_max = md_conf_u32(daemon, "maxDecodedMsgSize"),
        .slow_timeout_ns = md_conf_time_ns(daemon, "slowTimeout"),
        .rtt_interval_ns = md_conf_time_ns(daemon, "rttInterval"),
        .wall_s = wall_s,
        .service_forget_ns = md_conf_time_ns(daemon, "serviceForget"),
        .conflate_max = md_conf_u32(daemon, "conflateMax"),
        .owed_fill_percent = (unsigned)md_conf_u64(daemon, "outputThresholdBreach"),
        .ok_fill_percent = (unsigned)md_conf_u64(daemon, "outputThresholdOK"),
        .slow_time_ns = md_conf_time_ns(daemon, "slowTime"),
        .trade_backlog = md_conf_u64(daemon, "tradeBacklog"),
        .keeps_images = md_conf_bool(daemon, "enableCache"),
        .field_type = p2ps_dictionary_field_type,
        .field_context = p2ps->dictionaries,
        .marketfeed =
            md_conf_bool(daemon, "convertMarketfeed") ? p2ps_dictionary_marketfeed : NULL,
    };
}

static int create_workers(struct p2ps *p2ps)
{
    const struct md_conf_object *daemon = &p2ps->daemon.object;
    struct p2ps_worker_config config = {
        .daemon = &p2ps->daemon,
        .core = core_config(p2ps),
        .channel = channel_config(&p2ps->daemon),
        .busy_poll_ns = md_conf_time_ns(daemon, "busyPoll"),
        .output_time_ns = md_conf_time_ns(daemon, "maxOutputTime"),
        .names = p2ps->names,
        .user_from = (enum net_identity)md_conf_word(daemon, "tlsUserFrom"),
        .login_timeout_ns = md_conf_time_ns(daemon, "loginTimeout"),
        .stats_window_ns = md_conf_time_ns(daemon, "sessionStatsWindow"),
    };
    char name[64];

    if (!daemon_site_is_good(daemon) || p2ps_paces_read(daemon, &config.core) != MD_OK ||
        p2ps_exempt_read(p2ps, &config.core) != MD_OK || p2ps_plan_memory(p2ps, &config) != MD_OK)
        return MD_EXIT_CONFIG;
    config.ws = ws_config(p2ps, &config);
    if (p2ps_audit_open(p2ps) != MD_OK)
        return MD_EXIT_FILE;
    for (unsigned i = 0; i < p2ps->networks.count; i++) {
        config.attach[i] = p2ps->networks.list[i]->config;
        config.attach[i].process = p2ps->process;
        config.attach[i].busy_poll_ns = config.busy_poll_ns;
        config.attach[i].says_wants = true; /* the services of its items: the sink says it */
        config.attach[i].user_name = name;
    }
    for (unsigned i = 0; i < md_conf_u64(daemon, "workers") && i < WORKERS_MAX; i++) {
        config.index = i;
        config.core.random = random_seed();
        config.core.authority = p2ps_outside_authority(p2ps->outside, i);
        config.core.recorder = p2ps_audit_recorder(p2ps->audit, i);
        snprintf(name, sizeof(name), "p2ps.%s.worker%u", md_conf_instance(p2ps->daemon.conf), i);
        int err = p2ps_worker_create(&config, &p2ps->workers[i]);
        if (err != MD_OK) {
            md_log(MD_LOG_CRITICAL, "worker %u: %s", i, md_err_name(err));
            return MD_EXIT_CONFIG;
        }
        p2ps->worker_count = i + 1;
        p2ps_credentials_record(p2ps->credentials, i, &config.core.recorder);
        p2ps_credentials_wake_set(p2ps->credentials, i, p2ps_worker_wake, p2ps->workers[i]);
        p2ps_outside_wake_set(p2ps->outside, i, p2ps_worker_wake, p2ps->workers[i]);
    }
    if (p2ps_tune_workers(p2ps) != MD_OK)
        return MD_EXIT_FILE;
    for (unsigned i = 0; i < p2ps->worker_count; i++) {
        if (p2ps_worker_start(p2ps->workers[i]) != MD_OK)
            return MD_EXIT_FILE;
    }
    return -1;
}

/* ---- once a second ---- */

static bool has_attached(const struct p2ps *p2ps)
{
    for (unsigned i = 0; i < p2ps->worker_count; i++) {
        if (atomic_load_explicit(&p2ps->workers[i]->has_attached, memory_order_relaxed))
            return true;
    }
    return false;
}

static void show_passwords(struct p2ps *p2ps)
{
    struct p2ps_credentials_stats stats;

    p2ps_credentials_stats(p2ps->credentials, &stats);
    stats_group_set(p2ps->passwords, &stats);
}

/* False: a worker hangs. */
static bool on_beat(void *owner)
{
    struct p2ps *p2ps = owner;
    bool all_alive = true;

    if (!has_attached(p2ps))
        daemon_backbone_wait(&p2ps->daemon);
    daemon_memory_beat(&p2ps->memory);
    p2ps_audit_beat(p2ps->audit);
    daemon_rsocket_show(&p2ps->daemon);
    show_passwords(p2ps);
    p2ps_tokens_look(p2ps->tokens, md_loop_now(p2ps->daemon.loop));
    p2ps_watch_rules(p2ps);
    p2ps_outside_show(p2ps);
    for (unsigned i = 0; i < p2ps->worker_count; i++) {
        unsigned hung_s = daemon_hung_s(&p2ps->daemon, p2ps->workers[i]->alive_ns);
        if (hung_s > 0)
            md_log(MD_LOG_ERROR, "worker %u hangs since %u s", i, hung_s);
        all_alive &= hung_s == 0;
    }
    return all_alive;
}

/* No consumer gets anything while there is no service; a source that restarts is soon there. */
static void look_for_services(struct p2ps *p2ps)
{
    struct daemon *daemon = &p2ps->daemon;
    const struct stats_entry *services =
        stats_entry_add(daemon->stats, STATS_KIND_GAUGE, "p2ps.services");

    if (md_ctr_get(&services->value) == 0)
        daemon_trouble_here(&daemon->troubles, NO_SERVICE, md_loop_now(daemon->loop), NO_SERVICE_NS,
                            "no service is offered",
                            "no service is offered on the backbone: consumers log in and wait; is "
                            "there a src_dist on this network, with a provider that is connected?");
    else
        daemon_trouble_gone(&daemon->troubles, NO_SERVICE, md_loop_now(daemon->loop),
                            "services are offered");
}

/* Whoever has forgotten it must not take the rules for enforced. */
static void look_for_dry_run(struct p2ps *p2ps)
{
    struct daemon *daemon = &p2ps->daemon;

    if (md_conf_bool(&daemon->object, "accessDryRun") &&
        md_conf_string(&daemon->object, "accessFile")[0])
        daemon_trouble_here(&daemon->troubles, DRY_RUN, md_loop_now(daemon->loop), 0,
                            "accessDryRun: denials of accessFile are not enforced",
                            "accessDryRun: what accessFile denies is counted (dryRunDenied) and in "
                            "the audit trail, and not enforced, but for logins by a secret");
    else
        daemon_trouble_gone(&daemon->troubles, DRY_RUN, md_loop_now(daemon->loop),
                            "accessDryRun has ended: accessFile is enforced");
}

static bool can_serve(void *owner)
{
    struct p2ps *p2ps = owner;
    bool can_serve = true;

    for (unsigned network = 0; network < p2ps->networks.count; network++) {
        bool is_attached = true;

        for (unsigned i = 0; i < p2ps->worker_count; i++)
            is_attached &=
                atomic_load_explicit(&p2ps->workers[i]->attached_now, memory_order_relaxed) >>
                    network &
                1;
        can_serve &=
            daemon_backbone_look(&p2ps->daemon, network, p2ps->networks.list[network], is_attached);
    }
    if (can_serve)
        look_for_services(p2ps);
    p2ps_outside_trouble(p2ps, NO_AUTHORITY);
    look_for_dry_run(p2ps);
    return !p2ps_control_drains(p2ps, DRAINING) && can_serve;
}

/* ---- life ---- */

#define PASSWORD(name, member)                                                                     \
    STATS_ROW(STATS_KIND_COUNTER, name, struct p2ps_credentials_stats, member)

static const struct stats_row password_rows[] = {
    PASSWORD("passwordsChecked", checked),     PASSWORD("passwordsCached", cached),
    PASSWORD("passwordsRefused", refused),     PASSWORD("passwordsHeldBack", held_back),
    PASSWORD("passwordsOverflow", overflow),   PASSWORD("tokensChecked", tokens),
    PASSWORD("tokensRefused", tokens_refused), PASSWORD("shadowDiffers", shadow_differs),
    PASSWORD("locksBad", locks_bad),           PASSWORD("locksStrange", locks_strange),
};

static int create_credentials(struct p2ps *p2ps)
{
    const struct md_conf_object *daemon = &p2ps->daemon.object;
    const struct p2ps_credentials_config config = {
        .rules = p2ps_access_rules(p2ps->access),
        .workers = WORKERS_MAX,
        .threads = md_conf_u32(daemon, "accessThreads"),
        .queue_max = md_conf_u32(daemon, "accessQueue"),
        .cache_ns = md_conf_time_ns(daemon, "credentialCache"),
        .now = md_clock_mono_ns,
        .tokens = p2ps->tokens,
        .wall_s = wall_s,
        .shadow = p2ps_access_rules(p2ps->shadow),
    };

    p2ps->passwords = stats_group_create(password_rows, STATS_ROW_COUNT(password_rows),
                                         p2ps->daemon.stats, "p2ps.");
    if (p2ps->passwords && p2ps_credentials_create(&config, &p2ps->credentials) == MD_OK)
        return MD_OK;
    md_log(MD_LOG_CRITICAL, "accessThreads: the threads that check passwords cannot be started "
                            "(memory, or the limit of threads)");
    return MD_ERR_SYS;
}

static int build(void *owner)
{
    struct p2ps *p2ps = owner;
    const struct md_conf_object *daemon = &p2ps->daemon.object;

    p2ps->conf = p2ps->daemon.conf;
    daemon_memory_configure(&p2ps->memory, daemon);
    p2ps_limit_mounts(p2ps);
    const uint64_t key[2] = { random_seed(), random_seed() };
    p2ps->parties = p2ps_parties_create(key);
    if (!p2ps->parties)
        return MD_EXIT_FILE;
    p2ps->mounts_of_host_max = md_conf_u32(daemon, "mountLimitPerHost");
    p2ps->ws_max = md_conf_u32(daemon, "wsMaxConnections");
    p2ps->mounts_rejected = stats_counter(p2ps->daemon.stats, "p2ps.mountsRejected");
    if (daemon_networks_read(&p2ps->networks, &p2ps->daemon) != MD_OK)
        return MD_EXIT_CONFIG;
    if (p2ps_access_create("accessFile", &p2ps->access) != MD_OK ||
        p2ps_access_create("accessShadowFile", &p2ps->shadow) != MD_OK ||
        p2ps_load_rules(p2ps) != MD_OK || p2ps_load_tokens(p2ps) != MD_OK ||
        p2ps_dictionary_store_create(daemon, &p2ps->dictionaries) != MD_OK)
        return MD_EXIT_CONFIG;
    if (create_credentials(p2ps) != MD_OK || p2ps_outside_build(p2ps) != MD_OK)
        return MD_EXIT_FILE;
    if (attach_process_create(&p2ps->process) != MD_OK)
        return MD_EXIT_FILE;
    if (!md_conf_bool(daemon, "disableHostLookup") &&
        p2ps_names_create(NULL, NAMES_WAITING, &p2ps->names) != MD_OK) {
        md_log(MD_LOG_CRITICAL, "disableHostLookup False: the thread that looks up names cannot be "
                                "started (memory, or the limit of threads); True needs none");
        return MD_EXIT_FILE;
    }
    int code = create_workers(p2ps);
    if (code < 0)
        code = p2ps_open_listeners(p2ps);
    if (code < 0)
        p2ps_control_open(p2ps);
    return code;
}

static void take_down(void *owner)
{
    struct p2ps *p2ps = owner;

    p2ps_close_listeners(p2ps);
    for (unsigned i = 0; i < p2ps->worker_count; i++)
        p2ps_worker_stop(p2ps->workers[i]);
    for (unsigned i = 0; i < p2ps->worker_count; i++)
        p2ps_worker_join(p2ps->workers[i]);
    p2ps_outside_fini(p2ps);
    p2ps_credentials_destroy(p2ps->credentials);
    for (unsigned i = 0; i < p2ps->worker_count; i++)
        p2ps_worker_destroy(p2ps->workers[i]);
    rates_destroy(p2ps->exempt);
    p2ps_audit_close(p2ps);
    attach_process_destroy(p2ps->process);
    p2ps_dictionary_store_destroy(p2ps->dictionaries);
    p2ps_parties_destroy(p2ps->parties);
    p2ps_names_destroy(p2ps->names);
    p2ps_access_destroy(p2ps->access);
    p2ps_access_destroy(p2ps->shadow);
    p2ps_tokens_destroy(p2ps->tokens);
    daemon_networks_free(&p2ps->networks);
    net_tls_destroy(p2ps->tls);
    stats_group_destroy(p2ps->passwords);
}

int main(int argc, char **argv)
{
    static const struct md_program program = {
        .name = "p2ps",
        .summary = "p2ps - serves consumers from the backbone",
    };
    static struct p2ps p2ps;
    const struct daemon_hooks hooks = { .owner = &p2ps,
                                        .build = build,
                                        .take_down = take_down,
                                        .reload = p2ps_reload,
                                        .beat = on_beat,
                                        .can_serve = can_serve,
                                        .ordered = p2ps_audit_order,
                                        .refusals = p2ps_audit_refusals };

    return daemon_main(&p2ps.daemon, &program, &hooks, argc, argv);
}
