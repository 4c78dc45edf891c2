/* main.c - rrcpd: one backbone network, one engine, the local users of both. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "attach/settings.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "daemon/daemon.h"
#include "daemon/memory.h"
#include "daemon/words.h"
#include "health.h"
#include "make_key.h"
#include "net.h"
#include "relay.h"
#include "role.h"
#include "users.h"

/* How long an orderly stop may take before it is cut short. */
#define STOP_NS (2 * MD_NS_PER_S)
/* A net loop that has not turned for this long is hung: the watchdog is not fed. */
#define HUNG_NS     (5 * MD_NS_PER_S)

#define FIXED_BYTES (48u << 20) /* program, events, tables */
#define USER_RINGS  (RRCP_USER_MAX * (16ull << 20))

enum { WHY_BYTES = 512 };

struct rrcpd {
    struct daemon daemon;
    struct attach_settings settings;
    char socket_path[108];
    char role_path[108]; /* with a role: the link by which users prefer us */
    struct md_loop_wake *mail;
    struct md_loop_timer *deadline; /* of an orderly stop */
    struct net *net;
    struct relay *relay; /* it is one: `net` is its first network, and there are no users */
    int stopped;         /* networks that have been left */
    struct users *users;
    struct access *access;
    struct health *health, *other_health;
    struct daemon_memory memory;
    uint64_t ring_bytes; /* of all users */
    int leave_reason;    /* for the other nodes */
    bool was_hung;
};

/* ---- events of the control loop -------------------------------------------------------------- */

static void mail_here(void *owner)
{
    struct rrcpd *d = owner;

    md_loop_wake_ring(d->mail);
}

static int network_count(const struct rrcpd *d)
{
    return d->relay ? 2 : 1;
}

static struct net *network(const struct rrcpd *d, int side)
{
    return d->relay ? relay_net(d->relay, side) : d->net;
}

/* Users and the other nodes are told; the net loop answers with NET_STOPPED. */
static void on_stop(void *owner)
{
    struct rrcpd *d = owner;

    if (d->users)
        users_stop(d->users);
    for (int side = 0; side < network_count(d); side++)
        net_mail_send(network(d, side),
                      (struct net_mail){ .kind = NET_STOP, .value = d->leave_reason });
    (void)md_loop_timer_after(d->deadline, STOP_NS);
}

static void on_deadline(void *owner)
{
    struct rrcpd *d = owner;

    md_log(MD_LOG_WARNING, "the network was not left in time; ending all the same");
    md_loop_stop(d->daemon.loop);
}

/* Leave, and begin anew as a new session of the same process. */
static void rejoin(struct rrcpd *d, const char *why)
{
    if (d->daemon.is_stopping)
        return;
    d->daemon.begins_anew = true;
    d->leave_reason = 2;
    daemon_end(&d->daemon, why);
}

static void on_exhausted(void *owner)
{
    rejoin(owner, "stopping (all ports of the session are used up; joining the network anew)");
}

static void take_mail(struct rrcpd *d, const struct net_mail *mail)
{
    if (mail->kind == NET_STOPPED && ++d->stopped == network_count(d))
        md_loop_stop(d->daemon.loop);
    else if (mail->kind == NET_EXHAUSTED)
        rejoin(d, "stopping (2^47 packets are sealed; joining the network anew, with a new "
                  "session key)");
    else if (mail->kind == NET_GAP)
        rejoin(d, "stopping (a gap that cannot be mended; joining the network anew)");
    else if (d->users)
        users_mail(d->users, mail);
}

static void on_mail(void *owner)
{
    struct rrcpd *d = owner;
    struct net_mail mail;

    for (int side = 0; d->net && side < network_count(d); side++)
        while (net_mail_take(network(d, side), &mail))
            take_mail(d, &mail);
}

/* False: the net loop hangs. */
static bool on_beat(void *owner)
{
    struct rrcpd *d = owner;
    uint64_t now_ns = md_clock_mono_ns();
    uint64_t alive_ns = net_alive_ns(d->net);
    bool is_hung = now_ns > alive_ns && now_ns - alive_ns > HUNG_NS;

    if (is_hung && !d->was_hung)
        md_log(MD_LOG_CRITICAL, "the net loop has not turned for %.1f s",
               (double)(now_ns - alive_ns) / 1e9);
    d->was_hung = is_hung;
    daemon_memory_beat(&d->memory);
    return !is_hung;
}

static bool can_serve(void *owner)
{
    struct rrcpd *d = owner;

    uint64_t now_ns = md_clock_mono_ns();
    bool has_both = d->users && users_have_both_sides(d->users);
    bool can = health_look(d->health, now_ns, has_both);

    if (d->other_health)
        can &= health_look(d->other_health, now_ns, false);
    return can;
}

/* The keys of a reload, and the faults of tests. */
struct fresh {
    struct net *net;
    struct net_keys *keys;
    struct net_shim_config shim;
};

static void commit(void *arg)
{
    struct fresh *fresh = arg;

    net_mail_send(fresh->net, (struct net_mail){ .kind = NET_KEYS, .keys = fresh->keys });
    net_mail_send(fresh->net, (struct net_mail){ .kind = NET_SHIM, .shim = fresh->shim });
    free(fresh);
}

static void discard(void *arg)
{
    struct fresh *fresh = arg;

    free(fresh->keys);
    free(fresh);
}

static void reload_network(struct daemon_reload *reload, const char *name, struct net *net)
{
    char why[WHY_BYTES] = "no memory";
    struct attach_settings *settings = calloc(1, sizeof(*settings));
    struct fresh *fresh = calloc(1, sizeof(*fresh));
    struct net_keys *keys = calloc(1, sizeof(*keys));

    if (!settings || !fresh || !keys ||
        attach_settings_read(reload->conf, name, settings, why, WHY_BYTES) != MD_OK) {
        daemon_reload_refuse(reload, "%s", why);
        free(keys);
        free(fresh);
    } else {
        const struct rrcp_config *engine = &settings->node.engine;
        memcpy(keys->keys, engine->keys, sizeof(keys->keys));
        keys->count = engine->key_count;
        *fresh = (struct fresh){ .net = net, .keys = keys, .shim = settings->node.shim };
        daemon_reload_add(reload, &(struct daemon_reload_step){ commit, discard, fresh });
    }
    free(settings);
}

static void on_reload(void *owner, struct daemon_reload *reload)
{
    struct rrcpd *d = owner;

    reload_network(reload, d->settings.network, d->net);
    if (d->relay)
        reload_network(reload, relay_settings(d->relay)->network, network(d, 1));
}

/* ---- beginning ------------------------------------------------------------------------------- */

/* All of it follows from the configuration, but for the rings users ask for. */
static int plan_memory(struct rrcpd *d)
{
    struct attach_settings_memory network = attach_settings_memory(&d->settings);
    struct attach_settings_memory other = { 0 };
    struct daemon_memory *memory = &d->memory;

    if (d->relay) {
        other = attach_settings_memory(relay_settings(d->relay));
        other.waiting += relay_queue_bytes(&d->settings, relay_settings(d->relay));
        network.inbound_ring = other.inbound_ring = 0;
    }

    daemon_memory_configure(memory, &d->daemon.object);
    daemon_memory_add(memory, "fixed", FIXED_BYTES);
    daemon_memory_add(memory, "packets", network.packets + other.packets);
    daemon_memory_add(memory, "peers", network.peers + other.peers);
    daemon_memory_add(memory, "waiting", network.waiting + other.waiting);
    daemon_memory_add(memory, "inboundRing", network.inbound_ring);
    if (memory->sum > memory->limit && memory->is_configured) {
        daemon_memory_refused(memory, &d->daemon.object);
        return MD_ERR_RANGE;
    }
    if (!d->relay)
        d->ring_bytes = daemon_memory_grant(memory, "userRings", USER_RINGS, 16);
    if (memory->sum > md_mem_machine() / 2)
        md_log(MD_LOG_WARNING, "memory as configured is more than half of what there is; lower "
                               "maxPktPoolSize, rxWindow or inboundRing");
    daemon_memory_show(memory, d->daemon.stats);
    return MD_OK;
}

/* A sentence about a parameter begins with its name: the line that sets it is named, too; where
 * none does, the line that asks for the transport. */
static void log_why(const struct rrcpd *d, const char *why)
{
    struct md_conf_object rrcp = md_conf_object(d->daemon.conf, MD_CONF_RRCP, d->settings.network);
    static const char *const params[] = {
        "interface",     "secondInterface", "unicastPort",     "multicastAddress",
        "maxPacketSize", "transport",       "rdmaDevice",      "rdmaPort",
        "peers",         "authKeyFile",     "attachAccess",    "relayTo",
        "relayServices", "relayTopics",     "disconnectOnGaps"
    };

    for (size_t i = 0; i < sizeof(params) / sizeof(params[0]); i++) {
        size_t length = strlen(params[i]);
        struct md_conf_value value = md_conf_value(&rrcp, params[i]);
        struct md_conf_value transport = md_conf_value(&rrcp, "transport");

        if (strncmp(why, params[i], length) != 0 || why[length] != ':')
            continue;
        if (value.file)
            md_log(MD_LOG_ERROR, "%s (%s:%u)%s", params[i], value.file, value.line, why + length);
        else if (transport.file)
            md_log(MD_LOG_ERROR, "%s (with transport, %s:%u)%s", params[i], transport.file,
                   transport.line, why + length);
        else
            break;
        return;
    }
    md_log(MD_LOG_ERROR, "%s", why);
}

static int exit_code_of(int err)
{
    return err == MD_ERR_EXISTS      ? MD_EXIT_PORT
           : err == MD_ERR_NOT_FOUND ? MD_EXIT_FILE /* an interface, and it may come */
                                     : MD_EXIT_CONFIG;
}

static int open_users(struct rrcpd *d, char *why, size_t why_size)
{
    const struct daemon *daemon = &d->daemon;
    char path[108];

    int err = attach_socket_path(path, sizeof(path), md_conf_string(&daemon->object, "runDir"),
                                 d->settings.network, md_conf_instance(daemon->conf));
    if (err) {
        snprintf(why, why_size, "runDir: the name of the attach socket in it would be too long");
        return err;
    }
    err = users_open(daemon->loop, d->net, path, why, why_size, &d->users);
    if (err)
        return err;
    users_access_set(d->users, d->access);
    users_limit_rings(d->users, d->ring_bytes);
    users_show(d->users, daemon->stats, daemon->process);
    users_on_exhausted(d->users, on_exhausted, d);
    role_open(daemon->conf, path, d->role_path, sizeof(d->role_path));
    snprintf(d->socket_path, sizeof(d->socket_path), "%s", path);
    return MD_OK;
}

static int open_network(struct rrcpd *d)
{
    const struct daemon *daemon = &d->daemon;
    struct md_conf_object object = md_conf_object(daemon->conf, MD_CONF_RRCP, d->settings.network);
    char why[WHY_BYTES];
    struct net_config config = { .node = d->settings.node,
                                 .inbound_bytes = d->settings.inbound_bytes,
                                 .lag_max = d->settings.lag_max,
                                 .busy_poll_ns = d->settings.busy_poll_ns,
                                 .object = object,
                                 .wants_gaps = md_conf_bool(&object, "disconnectOnGaps"),
                                 .process = daemon->process,
                                 .stats = daemon->stats,
                                 .mail_here = mail_here,
                                 .owner = d };
    int err;

    if (d->relay) {
        err = relay_start(d->relay, &config, why, sizeof(why));
        d->net = err ? NULL : relay_net(d->relay, 0);
    } else {
        err = net_start(&config, why, sizeof(why), &d->net);
        if (!err)
            err = open_users(d, why, sizeof(why));
    }
    if (!err)
        return -1;
    log_why(d, why);
    return exit_code_of(err);
}

static int read_access(struct rrcpd *d)
{
    struct md_conf_object object =
        md_conf_object(d->daemon.conf, MD_CONF_RRCP, d->settings.network);
    char why[WHY_BYTES];

    if (access_create(md_conf_string(&object, "attachAccess"), why, sizeof(why), &d->access) !=
        MD_OK) {
        log_why(d, why);
        return MD_EXIT_CONFIG;
    }
    if (access_unknown(d->access))
        md_log(MD_LOG_WARNING, "attachAccess: nobody here is called %s; its rule fits nobody",
               access_unknown(d->access));
    return -1;
}

static int open_health(struct rrcpd *d, const struct attach_settings *settings, struct net *net,
                       struct health **out)
{
    char process[128];
    struct health_config config = { .stats = d->daemon.stats,
                                    .troubles = &d->daemon.troubles,
                                    .process = process,
                                    .network = settings->network,
                                    .net = net,
                                    .udp = &settings->node.udp,
                                    .is_mesh = settings->node.uses_mesh,
                                    .is_second = settings != &d->settings };

    if (settings == &d->settings)
        snprintf(process, sizeof(process), "%s", d->daemon.process);
    else
        snprintf(process, sizeof(process), "%s.%s", d->daemon.process, settings->network);
    for (int i = 0; i < 2; i++)
        snprintf(config.groups[i], sizeof(config.groups[i]), "%s",
                 config.is_mesh ? "mesh" : settings->node.group[i]);
    return health_open(&config, out) == MD_OK ? -1 : MD_EXIT_FILE;
}

static int open_healths(struct rrcpd *d)
{
    int code = open_health(d, &d->settings, d->net, &d->health);

    if (code < 0 && d->relay)
        code = open_health(d, relay_settings(d->relay), network(d, 1), &d->other_health);
    return code;
}

/* -1, or the exit code. */
static int read_settings(struct rrcpd *d)
{
    char why[WHY_BYTES];
    int err = attach_settings_read(d->daemon.conf, NULL, &d->settings, why, sizeof(why));

    if (err == MD_OK && *relay_to(d->daemon.conf))
        err = relay_read(d->daemon.conf, &d->settings, why, sizeof(why), &d->relay);
    if (err == MD_OK)
        return -1;
    log_why(d, why);
    return MD_EXIT_CONFIG;
}

static int build(void *owner)
{
    struct rrcpd *d = owner;
    int code = read_settings(d);

    d->leave_reason = 1;
    if (code >= 0)
        return code;
    if (plan_memory(d) != MD_OK)
        return MD_EXIT_CONFIG;
    if (md_loop_wake_create(d->daemon.loop, on_mail, d, &d->mail) != MD_OK ||
        md_loop_timer_create(d->daemon.loop, on_deadline, d, &d->deadline) != MD_OK)
        return MD_EXIT_FILE;
    code = read_access(d);
    if (code < 0)
        code = open_network(d);
    return code < 0 ? open_healths(d) : code;
}

static void take_down(void *owner)
{
    struct rrcpd *d = owner;

    if (d->users)
        users_stop(d->users);
    health_close(d->health);
    health_close(d->other_health);
    if (d->relay)
        relay_destroy(d->relay);
    else
        net_destroy(d->net); /* the net loop lets go of the users' rings first */
    users_close(d->users);
    d->relay = NULL; /* the next life of this process may have none, or no users */
    d->net = NULL;
    d->users = NULL;
    d->health = d->other_health = NULL;
    d->stopped = 0;
    access_destroy(d->access);
    role_close(d->role_path, d->socket_path);
    md_loop_timer_destroy(d->deadline);
    md_loop_wake_destroy(d->mail);
}

/* It is asked for alone: nothing is started. */
static bool is_make_key(int argc, char **argv)
{
    return argc == 3 && (strcmp(argv[1], "--make-key") == 0 || strcmp(argv[1], "-make-key") == 0);
}

int main(int argc, char **argv)
{
    static const char *key_file;
    static const struct md_option options[] = {
        { "make-key", "FILE", MD_OPTION_STRING, &key_file,
          "alone: make a key for authKeyFile, and say how to use it" },
    };
    static const struct md_program program = {
        .name = "rrcpd",
        .summary = "rrcpd - carries the backbone of one network for the programs of this host",
        .positional = "[NETWORK]",
        .is_of_network = true,
        .is_background = true,
        .options = options,
        .option_count = sizeof(options) / sizeof(options[0]),
    };
    static struct rrcpd d;
    const struct daemon_hooks hooks = { .owner = &d,
                                        .build = build,
                                        .take_down = take_down,
                                        .reload = on_reload,
                                        .beat = on_beat,
                                        .can_serve = can_serve,
                                        .stop = on_stop };

    if (is_make_key(argc, argv))
        return make_key(argv[2]);
    return daemon_main(&d.daemon, &program, &hooks, argc, argv);
}
