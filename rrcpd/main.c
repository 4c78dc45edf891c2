/* main.c - rrcpd: one backbone network, one engine, the local users of both. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "attach/settings.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/runfile.h"
#include "conf/options.h"
#include "daemon/memory.h"
#include "health.h"
#include "net.h"
#include "netio/stream.h"
#include "notify.h"
#include "role.h"
#include "status/status.h"
#include "users.h"

/* How long an orderly stop may take before it is cut short. */
#define STOP_NS (2 * MD_NS_PER_S)
/* A net loop that has not turned for this long is hung: the watchdog is not fed. */
#define HUNG_NS (5 * MD_NS_PER_S)

/* In the environment of a daemon that begins anew in the same process. */
#define REJOIN "RRCPD_REJOIN"

enum { WHY_BYTES = 512, SIGNAL_MAX = 6 };

struct rrcpd {
    struct md_options options;
    struct md_conf *conf;
    struct attach_settings settings;
    char role_path[108]; /* with a role: the link by which users prefer us */
    char process[96];    /* rrcpd.<network>: log file, statistics, component identity */
    char identity[256];
    struct md_runfile runfile;
    struct stats_segment *stats;
    struct status *status; /* NULL: no statusPort */
    struct md_loop *loop;
    struct md_loop_wake *mail;
    struct md_loop_timer *beat, *deadline;
    struct md_loop_signal *signals[SIGNAL_MAX];
    int signal_count;
    struct net *net;
    struct users *users;
    struct health *health;
    struct stats_entry *ready;
    char told[STATS_STRING_BYTES + 16]; /* the service manager, last */
    struct daemon_memory memory;
    uint64_t ring_bytes; /* of all users */
    bool is_stopping;
    bool must_rejoin;
    bool was_hung;
    enum md_log_severity severity;
    uint64_t watchdog_ns, watchdog_at_ns;
    struct md_log_watch watch;
    int ready_fd; /* the foreground parent waits for a byte here */
};

/* ---- events of the control loop -------------------------------------------------------------- */

static void mail_here(void *owner)
{
    struct rrcpd *d = owner;

    md_loop_wake_ring(d->mail);
}

static void leave(struct rrcpd *d, const char *why, int reason)
{
    d->is_stopping = true;
    md_log(MD_LOG_NOTICE, "stopping (%s)", why);
    notify_send(d->must_rejoin ? "RELOADING=1" : "STOPPING=1");
    users_stop(d->users);
    net_mail_send(d->net, (struct net_mail){ .kind = NET_STOP, .value = reason });
    (void)md_loop_timer_after(d->deadline, STOP_NS);
}

static void stop(struct rrcpd *d, int signal)
{
    d->must_rejoin = false;
    if (d->is_stopping)
        md_loop_stop(d->loop); /* asked twice: at once */
    else
        leave(d, strsignal(signal), 1);
}

/* disconnectOnGaps: leave, and begin anew as a new session of the same process. */
static void rejoin(struct rrcpd *d)
{
    if (d->is_stopping)
        return;
    d->must_rejoin = true;
    leave(d, "a gap that cannot be mended; joining the network anew", 2);
}

static void on_mail(void *owner)
{
    struct rrcpd *d = owner;
    struct net_mail mail;

    while (d->net && net_mail_take(d->net, &mail)) {
        if (mail.kind == NET_STOPPED)
            md_loop_stop(d->loop);
        else if (mail.kind == NET_GAP)
            rejoin(d);
        else if (d->users)
            users_mail(d->users, &mail);
    }
}

/* The service manager is told when it changes. */
static void look_at_health(struct rrcpd *d, uint64_t now_ns)
{
    char text[sizeof(d->told)];

    if (d->is_stopping)
        return;
    stats_gauge_set(d->ready, health_look(d->health, now_ns, users_have_both_sides(d->users)));
    const char *note = health_note(d->health);
    snprintf(text, sizeof(text), "STATUS=serving%s%s", note[0] ? ": " : "", note);
    if (strcmp(text, d->told) == 0)
        return;
    memcpy(d->told, text, sizeof(text));
    notify_send(text);
}

static void on_beat(void *owner)
{
    struct rrcpd *d = owner;
    uint64_t now_ns = md_clock_mono_ns();
    uint64_t alive_ns = net_alive_ns(d->net);
    bool is_hung = now_ns > alive_ns && now_ns - alive_ns > HUNG_NS;

    if (is_hung && !d->was_hung)
        md_log(MD_LOG_CRITICAL, "the net loop has not turned for %.1f s",
               (double)(now_ns - alive_ns) / 1e9);
    d->was_hung = is_hung;
    md_log_watch_time(now_ns, &d->watch);
    if (is_hung)
        return;
    stats_segment_beat(d->stats, now_ns);
    daemon_memory_beat(&d->memory);
    look_at_health(d, now_ns);
    if (d->watchdog_ns && now_ns >= d->watchdog_at_ns) {
        d->watchdog_at_ns = now_ns + d->watchdog_ns;
        notify_send("WATCHDOG=1");
    }
}

static void on_deadline(void *owner)
{
    struct rrcpd *d = owner;

    md_log(MD_LOG_WARNING, "the network was not left in time; ending all the same");
    md_loop_stop(d->loop);
}

static void log_statistics(struct rrcpd *d)
{
    net_mail_send(d->net, (struct net_mail){ .kind = NET_REPORT });
}

static void send_keys(struct rrcpd *d, const struct rrcp_config *engine)
{
    struct net_keys *keys = calloc(1, sizeof(*keys));

    if (!keys)
        return;
    memcpy(keys->keys, engine->keys, sizeof(keys->keys));
    keys->count = engine->key_count;
    net_mail_send(d->net, (struct net_mail){ .kind = NET_KEYS, .keys = keys });
}

static void reload(struct rrcpd *d)
{
    struct md_conf *fresh;
    char why[WHY_BYTES];

    md_log_reopen();
    if (md_conf_reload(d->conf, &fresh) != 0) {
        md_log(MD_LOG_ERROR, "reload: the configuration has errors; nothing is changed");
        return;
    }
    struct attach_settings *settings = calloc(1, sizeof(*settings));
    int err = settings ? attach_settings_read(fresh, d->settings.network, settings, why, WHY_BYTES)
                       : MD_ERR_NOMEM;
    if (err) {
        md_log(MD_LOG_ERROR, "reload: %s; nothing is changed", settings ? why : "out of memory");
    } else {
        struct md_conf_object logger = md_conf_object(fresh, MD_CONF_LOGGER, NULL);
        enum md_log_severity severity;

        if (md_log_severity_parse(md_conf_string(&logger, "logLevel"), &severity) == 0)
            md_log_severity_set(d->severity = severity);
        send_keys(d, &settings->node.engine);
        net_mail_send(d->net, (struct net_mail){ .kind = NET_SHIM, .shim = settings->node.shim });
        md_log(MD_LOG_NOTICE, "configuration and keys read anew");
    }
    free(settings);
    md_conf_destroy(fresh);
}

static void on_signal(void *owner, int signal)
{
    struct rrcpd *d = owner;

    switch (signal) {
    case SIGTERM:
    case SIGINT:
        stop(d, signal);
        break;
    case SIGHUP:
        reload(d);
        break;
    case SIGUSR1:
        log_statistics(d);
        break;
    case SIGUSR2:
        d->severity = d->severity == MD_LOG_DEBUG ? MD_LOG_ERROR : d->severity + 1;
        md_log_severity_set(d->severity);
        md_log(MD_LOG_NOTICE, "log level is now %s", md_log_severity_name(d->severity));
        break;
    }
}

/* ---- beginning ------------------------------------------------------------------------------- */

/*
 * Without -fg: the parent stays until the daemon is ready or has failed, so that whoever started it
 * knows. Returns in the child only.
 */
static void become_daemon(struct rrcpd *d)
{
    int fds[2];
    uint8_t verdict;

    if (pipe2(fds, O_CLOEXEC) != 0)
        return;
    pid_t child = fork();
    if (child < 0) {
        close(fds[0]);
        close(fds[1]);
        return;
    }
    if (child > 0) {
        close(fds[1]);
        /* No byte: it has ended; its own message says why, its exit code is not ours to know. */
        _exit(read(fds[0], &verdict, 1) == 1 ? verdict : MD_EXIT_CONFIG);
    }
    close(fds[0]);
    setsid();
    d->ready_fd = fds[1];
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0)
        (void)dup2(null, STDIN_FILENO);
}

/* Say how the start went: to the parent that waits, and to a service manager. */
static void tell_parent(struct rrcpd *d, int verdict)
{
    uint8_t byte = (uint8_t)verdict;

    if (d->ready_fd < 0)
        return;
    (void)!write(d->ready_fd, &byte, 1);
    close(d->ready_fd);
    d->ready_fd = -1;
    if (verdict == 0) { /* the terminal is no longer ours */
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);

        if (null >= 0) {
            (void)dup2(null, STDOUT_FILENO);
            (void)dup2(null, STDERR_FILENO);
        }
    }
}

static unsigned log_targets(const struct rrcpd *d, const struct md_conf_object *logger)
{
    unsigned targets = 0;
    char word[16];

    if (d->options.log_file)
        return MD_LOG_TO_FILE;
    if (d->options.foreground)
        return MD_LOG_TO_STDERR;
    for (size_t i = 0; md_conf_list(logger, "logTarget", i, word, sizeof(word)); i++) {
        if (strcasecmp(word, "file") == 0)
            targets |= MD_LOG_TO_FILE;
        else if (strcasecmp(word, "stderr") == 0)
            targets |= MD_LOG_TO_STDERR;
        else if (strcasecmp(word, "syslog") == 0)
            targets |= MD_LOG_TO_SYSLOG;
    }
    return targets ? targets : MD_LOG_TO_STDERR;
}

static int open_log(struct rrcpd *d)
{
    struct md_conf_object logger = md_conf_object(d->conf, MD_CONF_LOGGER, NULL);
    char path[512];
    const char *level =
        d->options.log_level ? d->options.log_level : md_conf_string(&logger, "logLevel");
    struct md_log_config config = { .identity = d->identity, .path = path };

    snprintf(d->identity, sizeof(d->identity), "%s.%s.%s", md_conf_node(d->conf),
             md_conf_instance(d->conf), d->process);
    if (d->options.log_file)
        snprintf(path, sizeof(path), "%s", d->options.log_file);
    else
        snprintf(path, sizeof(path), "%s/%s.%s.log", md_conf_string(&logger, "logDir"), d->process,
                 md_conf_instance(d->conf));
    d->severity = MD_LOG_INFO;
    if (md_log_severity_parse(level, &d->severity) != 0) {
        fprintf(stderr, "rrcpd: -loglevel: \"%s\" is no level; accepted: EMERGENCY to DEBUG\n",
                level);
        return MD_EXIT_CONFIG;
    }
    config.severity_max = d->severity;
    config.targets = log_targets(d, &logger);
    config.size_max = md_conf_u64(&logger, "logMaxSize");
    config.keep = (unsigned)md_conf_u64(&logger, "logKeep");
    if (md_log_open(&config) != 0) {
        fprintf(stderr, "rrcpd: log file %s: %s (logDir, or -log FILE)\n", path, strerror(errno));
        return MD_EXIT_FILE;
    }
    return 0;
}

/* One rrcpd per network and instance on a host; whatever a killed one left behind is in no way. */
static int open_places(struct rrcpd *d)
{
    struct md_conf_object daemon = md_conf_object(d->conf, MD_CONF_DAEMON, NULL);
    const char *run_dir = md_conf_string(&daemon, "runDir");
    struct md_conf_object shmem = md_conf_object(d->conf, MD_CONF_SHMEM, NULL);
    const char *shm_dir = md_conf_string(&shmem, "shmDir");
    const char *instance = md_conf_instance(d->conf);
    char path[512];
    pid_t holder = 0;

    (void)md_runfile_make_dir(run_dir);
    snprintf(path, sizeof(path), "%s/%s.%s.pid", run_dir, d->process, instance);
    int err = md_runfile_open(&d->runfile, path, &holder);
    if (err == MD_ERR_EXISTS) {
        md_log(MD_LOG_ERROR, "%s is held by pid %d: this network and instance is served already",
               path, (int)holder);
        return MD_EXIT_PORT;
    }
    if (err) {
        md_log(MD_LOG_ERROR, "%s: %s (runDir must be a folder that may be written)", path,
               strerror(errno));
        return MD_EXIT_FILE;
    }
    struct stats_config stats = { .shm_dir = shm_dir, .process = d->process, .instance = instance };
    if (stats_segment_open(&stats, &d->stats, &holder) != 0) {
        md_log(MD_LOG_WARNING, "statistics cannot be shown: %s: %s", shm_dir, strerror(errno));
        stats.shm_dir = NULL;
        if (stats_segment_open(&stats, &d->stats, &holder) != 0)
            return MD_EXIT_FILE;
    }
    return 0;
}

#define FIXED_BYTES (48u << 20) /* program, events, tables */
#define USER_RINGS  (RRCP_USER_MAX * (16ull << 20))

/* All of it follows from the configuration, but for the rings users ask for. */
static int plan_memory(struct rrcpd *d)
{
    struct md_conf_object daemon = md_conf_object(d->conf, MD_CONF_DAEMON, NULL);
    struct attach_settings_memory network = attach_settings_memory(&d->settings);
    struct daemon_memory *memory = &d->memory;

    daemon_memory_start(memory, md_conf_u64(&daemon, "memoryLimit"));
    daemon_memory_add(memory, "fixed", FIXED_BYTES);
    daemon_memory_add(memory, "packets", network.packets);
    daemon_memory_add(memory, "peers", network.peers);
    daemon_memory_add(memory, "waiting", network.waiting);
    daemon_memory_add(memory, "inboundRing", network.inbound_ring);
    if (memory->sum > memory->limit && memory->is_configured) {
        md_log(MD_LOG_CRITICAL,
               "memoryLimit %llu is too small: packets, rings and windows as configured take %llu",
               (unsigned long long)memory->limit, (unsigned long long)memory->sum);
        return MD_ERR_RANGE;
    }
    d->ring_bytes = daemon_memory_grant(memory, "userRings", USER_RINGS, 16);
    if (memory->sum > memory->limit)
        md_log(MD_LOG_WARNING, "memory as configured is more than half of what there is; lower "
                               "maxPktPoolSize, rxWindow or inboundRing");
    daemon_memory_show(memory, d->stats);
    return MD_OK;
}

static int open_network(struct rrcpd *d)
{
    struct md_conf_object daemon = md_conf_object(d->conf, MD_CONF_DAEMON, NULL);
    struct md_conf_object object = md_conf_object(d->conf, MD_CONF_RRCP, d->settings.network);
    char why[WHY_BYTES];
    char path[108];
    struct net_config config = { .node = d->settings.node,
                                 .inbound_bytes = d->settings.inbound_bytes,
                                 .lag_max = d->settings.lag_max,
                                 .busy_poll_ns = d->settings.busy_poll_ns,
                                 .cpus = md_conf_string(&object, "rrcpThreadCpu"),
                                 .is_fifo = md_conf_word(&object, "schedPolicy") == 1,
                                 .priority = (int)md_conf_u64(&object, "schedPriority"),
                                 .lock_memory = d->settings.node.lock_memory,
                                 .wants_gaps = md_conf_bool(&object, "disconnectOnGaps"),
                                 .process = d->process,
                                 .stats = d->stats,
                                 .mail_here = mail_here,
                                 .owner = d };

    int err = attach_socket_path(path, sizeof(path), md_conf_string(&daemon, "runDir"),
                                 d->settings.network, md_conf_instance(d->conf));
    if (err) {
        md_log(MD_LOG_ERROR, "runDir: the name of the attach socket in it would be too long");
        return MD_EXIT_CONFIG;
    }
    err = net_start(&config, why, sizeof(why), &d->net);
    if (!err)
        err = users_open(d->loop, d->net, path, why, sizeof(why), &d->users);
    if (!err) {
        users_limit_rings(d->users, d->ring_bytes);
        role_open(d->conf, path, d->role_path, sizeof(d->role_path));
    }
    if (err) {
        md_log(MD_LOG_ERROR, "%s", why);
        return err == MD_ERR_EXISTS ? MD_EXIT_PORT : MD_EXIT_CONFIG;
    }
    return 0;
}

static int open_health(struct rrcpd *d)
{
    struct health_config config = { .stats = d->stats,
                                    .process = d->process,
                                    .network = d->settings.network,
                                    .net = d->net,
                                    .udp = &d->settings.node.udp };

    for (int i = 0; i < 2; i++)
        snprintf(config.groups[i], sizeof(config.groups[i]), "%s", d->settings.node.group[i]);
    return health_open(&config, &d->health) == MD_OK ? 0 : MD_EXIT_FILE;
}

static int open_loop(struct rrcpd *d)
{
    static const int wanted[SIGNAL_MAX] = { SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2 };

    if (md_loop_create(0, &d->loop) != 0 ||
        md_loop_wake_create(d->loop, on_mail, d, &d->mail) != 0 ||
        md_loop_timer_create(d->loop, on_beat, d, &d->beat) != 0 ||
        md_loop_timer_create(d->loop, on_deadline, d, &d->deadline) != 0)
        return MD_EXIT_CONFIG;
    for (int i = 0; i < SIGNAL_MAX && wanted[i]; i++)
        if (md_loop_signal_add(d->loop, wanted[i], on_signal, d, &d->signals[d->signal_count++]) !=
            0)
            return MD_EXIT_CONFIG;
    return 0;
}

static int open_status(struct rrcpd *d)
{
    struct md_conf_object daemon = md_conf_object(d->conf, MD_CONF_DAEMON, NULL);
    struct md_conf_object shmem = md_conf_object(d->conf, MD_CONF_SHMEM, NULL);
    const struct status_config config = { .loop = d->loop,
                                          .daemon = &daemon,
                                          .segment = d->stats,
                                          .shm_dir = md_conf_string(&shmem, "shmDir"),
                                          .process = d->process,
                                          .instance = md_conf_instance(d->conf),
                                          .identity = d->identity };

    status_show_config(d->stats, d->process, d->conf);
    if (status_open(&config, &d->status) == 0)
        return 0;
    md_log(MD_LOG_ERROR, "statusPort %u: %s; set another one in rmds.cnf, or 0 for none",
           md_conf_port(&daemon, "statusPort"), net_error());
    return MD_EXIT_PORT;
}

/* Of the process; the net loop's thread, made later, inherits it. */
static void be_nice(const struct md_conf_object *daemon)
{
    int nice_value = (int)md_conf_i64(daemon, "nice");

    if (nice_value && setpriority(PRIO_PROCESS, 0, nice_value) != 0)
        md_log(MD_LOG_WARNING, "nice: %d: %s", nice_value, strerror(errno));
}

/* Of the control loop alone, so after the net loop's thread was made. */
static void bind_control(const struct md_conf_object *daemon)
{
    const char *text = md_conf_string(daemon, "mainThreadCpu");
    struct md_cpu_set cpus;

    if (*text && (md_cpu_set_parse(text, &cpus) != 0 || md_cpu_bind(&cpus) != 0))
        md_log(MD_LOG_WARNING, "mainThreadCpu: %s: none of these CPUs may be used; not bound",
               text);
}

static int start(struct rrcpd *d)
{
    char why[WHY_BYTES];
    struct md_conf_object daemon = md_conf_object(d->conf, MD_CONF_DAEMON, NULL);

    int code = open_log(d);
    if (code)
        return code;
    md_conf_sink_set(d->conf, md_conf_to_log, NULL);
    if (attach_settings_read(d->conf, NULL, &d->settings, why, sizeof(why)) != 0) {
        md_log(MD_LOG_ERROR, "%s", why);
        return MD_EXIT_CONFIG;
    }
    if (md_conf_bool(&daemon, "lockMemory") && md_mem_lock_all() != 0)
        md_log(MD_LOG_WARNING, "lockMemory: %s; raise the limit (memlock)", strerror(errno));
    int node = (int)md_conf_i64(&daemon, "numaNode");
    if (node >= 0 && md_node_use(node) != 0)
        md_log(MD_LOG_WARNING, "numaNode %d: no such node, or none of its CPUs may be used", node);
    be_nice(&daemon);
    code = open_places(d);
    if (!code && plan_memory(d) != MD_OK)
        code = MD_EXIT_CONFIG;
    if (!code)
        code = open_loop(d);
    if (!code)
        code = open_status(d);
    if (!code)
        code = open_network(d);
    if (!code)
        code = open_health(d);
    if (!code)
        bind_control(&daemon);
    return code;
}

static void run(struct rrcpd *d)
{
    d->watchdog_ns = notify_watchdog_ns();
    uint64_t period_ns =
        d->watchdog_ns && d->watchdog_ns < MD_NS_PER_S ? d->watchdog_ns : MD_NS_PER_S;
    stats_segment_beat(d->stats, md_clock_mono_ns());
    md_log_watch_time(md_clock_mono_ns(), &d->watch);
    (void)md_loop_timer_every(d->beat, period_ns);
    tell_parent(d, 0);
    notify_send("READY=1");
    d->ready = stats_entry_add(d->stats, STATS_KIND_GAUGE, "ready");
    look_at_health(d, md_clock_mono_ns());
    md_log(MD_LOG_NOTICE, "ready");
    (void)md_loop_run(d->loop);
}

static void end(struct rrcpd *d)
{
    if (d->users)
        users_stop(d->users);
    status_close(d->status);
    health_close(d->health);
    net_destroy(d->net); /* the net loop lets go of the users' rings first */
    users_close(d->users);
    role_close(d->role_path);
    for (int i = 0; i < d->signal_count; i++)
        md_loop_signal_remove(d->signals[i]);
    md_loop_timer_destroy(d->beat);
    md_loop_timer_destroy(d->deadline);
    md_loop_wake_destroy(d->mail);
    md_loop_destroy(d->loop);
    stats_segment_close(d->stats);
    md_runfile_close(&d->runfile);
    md_log(MD_LOG_NOTICE, "ended");
    md_log_close();
    md_conf_destroy(d->conf);
}

int main(int argc, char **argv)
{
    static const struct md_program program = {
        .name = "rrcpd",
        .summary = "rrcpd - carries the backbone of one network for the programs of this host",
        .positional = "[NETWORK]",
    };
    struct rrcpd *d = calloc(1, sizeof(*d));

    if (!d)
        return MD_EXIT_FILE;
    d->ready_fd = -1;
    d->runfile.fd = -1;
    int code = md_options_start(&program, argc, argv, &d->options, &d->conf);
    if (code >= 0) {
        free(d);
        return code;
    }
    snprintf(d->process, sizeof(d->process), "rrcpd.%s", md_conf_network(d->conf));
    signal(SIGPIPE, SIG_IGN);
    if (!d->options.foreground && !getenv(REJOIN))
        become_daemon(d);
    unsetenv(REJOIN);
    md_clock_init();
    code = start(d);
    if (code == 0)
        run(d);
    else
        tell_parent(d, code);
    bool must_rejoin = d->must_rejoin;
    end(d);
    free(d);
    if (must_rejoin) {
        setenv(REJOIN, "1", 1);
        (void)execv("/proc/self/exe", argv);
        fprintf(stderr, "rrcpd: cannot begin anew: %s\n", strerror(errno));
        code = MD_EXIT_FILE;
    }
    return code;
}
