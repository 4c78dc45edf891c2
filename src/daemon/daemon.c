/* daemon.c - see daemon/daemon.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/daemon.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "netio/stream.h"

#define SECOND_NS 1000000000ull

/* ---- the service manager ---- */

/* One datagram to $NOTIFY_SOCKET; nobody listening is fine. */
static void notify(const struct daemon *daemon, const char *text)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const char *path = daemon->notify_socket;

    if (!path || strlen(path) >= sizeof(address.sun_path))
        return;
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    size_t length = offsetof(struct sockaddr_un, sun_path) + strlen(path);
    if (path[0] == '@')
        address.sun_path[0] = 0; /* an abstract name */
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    if (sendto(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT,
               (const struct sockaddr *)&address, (socklen_t)length) < 0)
        md_log(MD_LOG_DEBUG, "notify: %s: %s", path, strerror(errno));
    close(fd);
}

/* The service manager is told when it changes: what is missing, or that nothing is. */
static void show_readiness(struct daemon *daemon)
{
    char text[sizeof(daemon->told)];

    if (!daemon->is_started)
        return;
    bool can_serve = !daemon->hooks.can_serve || daemon->hooks.can_serve(daemon->hooks.owner);
    const char *note = daemon_trouble_note(&daemon->troubles);
    stats_gauge_set(daemon->ready, can_serve);
    snprintf(text, sizeof(text), "STATUS=%s%s", can_serve ? "serving" : "waiting",
             note[0] ? ": " : "");
    snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s", note);
    if (strcmp(text, daemon->told) == 0)
        return;
    memcpy(daemon->told, text, sizeof(text));
    notify(daemon, text);
}

static void on_beat(void *owner)
{
    struct daemon *daemon = owner;

    md_log_watch_time(md_loop_now(daemon->loop), &daemon->watch);
    if (daemon->hooks.beat && !daemon->hooks.beat(daemon->hooks.owner))
        return;
    stats_segment_beat(daemon->stats, md_loop_now(daemon->loop));
    notify(daemon, "WATCHDOG=1");
    show_readiness(daemon);
}

/* ---- signals ---- */

static enum md_log_severity log_level(const struct daemon *daemon)
{
    struct md_conf_object logger = md_conf_object(daemon->conf, MD_CONF_LOGGER, NULL);
    const char *text =
        daemon->options.log_level ? daemon->options.log_level : md_conf_string(&logger, "logLevel");
    enum md_log_severity severity = MD_LOG_INFO;

    (void)md_log_severity_parse(text, &severity);
    return severity;
}

static void reload(struct daemon *daemon)
{
    struct md_conf *fresh, *old;
    int err;

    md_log_reopen();
    err = md_conf_reload(daemon->conf, &fresh);
    if (err != MD_OK) {
        md_log(MD_LOG_ERROR, "reload: the configuration has errors; the old values stay in force");
        return;
    }
    old = daemon->conf;
    daemon->conf = fresh;
    daemon->object = md_conf_object(fresh, MD_CONF_DAEMON, NULL);
    md_log_severity_set(log_level(daemon));
    status_show_config(daemon->stats, daemon->process, fresh);
    md_log(MD_LOG_NOTICE, "reload: configuration read again");
    if (daemon->hooks.reload)
        daemon->hooks.reload(daemon->hooks.owner);
    if (old != daemon->boot_conf)
        md_conf_destroy(old);
}

static void next_log_level(void)
{
    static const enum md_log_severity cycle[] = { MD_LOG_INFO, MD_LOG_DEBUG, MD_LOG_NOTICE };
    unsigned next = md_log_is_on(MD_LOG_DEBUG) ? 2 : md_log_is_on(MD_LOG_INFO) ? 1 : 0;

    md_log_severity_set(cycle[next]);
    md_log(MD_LOG_NOTICE, "log level is %s now", md_log_severity_name(cycle[next]));
}

/* A place in the code may log five lines a second: so many, with as much as goes into each. */
struct report {
    char text[960];
    size_t used;
    unsigned lines;
    unsigned left_out;
};

static void report_line(struct report *report)
{
    if (report->used > 0)
        md_log(MD_LOG_NOTICE, "%s", report->text);
    report->used = 0;
    report->lines++;
}

static bool report_value(void *owner, const char *path, uint64_t value)
{
    struct report *report = owner;

    if (report->lines == 4) {
        report->left_out++;
        return true;
    }
    report->used +=
        (size_t)snprintf(report->text + report->used, sizeof(report->text) - report->used,
                         "%s%s=%" PRIu64, report->used ? " " : "", path, value);
    if (report->used > sizeof(report->text) - 160)
        report_line(report);
    return true;
}

static void log_statistics(struct daemon *daemon)
{
    struct report report = { .used = 0 };

    stats_segment_each(daemon->stats, report_value, &report);
    if (report.lines < 4)
        report_line(&report);
    if (report.left_out)
        md_log(MD_LOG_NOTICE, "and %u values more: rmdsmon shows them all", report.left_out);
}

static void on_signal(void *owner, int signal)
{
    struct daemon *daemon = owner;

    switch (signal) {
    case SIGHUP:
        reload(daemon);
        break;
    case SIGUSR1:
        log_statistics(daemon);
        break;
    case SIGUSR2:
        next_log_level();
        break;
    default:
        md_log(MD_LOG_NOTICE, "stopping on signal %d", signal);
        notify(daemon, "STOPPING=1");
        daemon->is_stopping = true;
        md_loop_stop(daemon->loop);
        break;
    }
}

static int watch_signals(struct daemon *daemon)
{
    static const int watched[] = { SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2 };

    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < sizeof(watched) / sizeof(watched[0]); i++) {
        int err =
            md_loop_signal_add(daemon->loop, watched[i], on_signal, daemon, &daemon->signals[i]);
        if (err != MD_OK)
            return err;
    }
    return MD_OK;
}

/* ---- threads ---- */

void daemon_bind_thread(const struct daemon *daemon, const char *cpu_param)
{
    static const char *const policies[] = { "other", "fifo" };
    struct md_cpu_set cpus;
    const char *text = md_conf_string(&daemon->object, cpu_param);
    int policy = md_conf_word(&daemon->object, "schedPolicy");
    enum md_sched_policy parsed = MD_SCHED_OTHER;

    if (md_cpu_set_parse(text, &cpus) != MD_OK || md_cpu_bind(&cpus) != MD_OK)
        md_log(MD_LOG_WARNING, "%s: CPUs %s cannot be used; not bound", cpu_param, text);
    if (policy <= 0 || policy > 1)
        return;
    int priority = (int)md_conf_i64(&daemon->object, "schedPriority");
    if (md_sched_policy_parse(policies[policy], &parsed) != MD_OK ||
        md_sched_set(parsed, priority) != MD_OK)
        md_log(MD_LOG_WARNING, "schedPolicy %s %d: %s; running as before (needs CAP_SYS_NICE)",
               policies[policy], priority, strerror(errno));
}

static void set_up_process(const struct daemon *daemon)
{
    int64_t nice_value = md_conf_i64(&daemon->object, "nice");
    int64_t node = md_conf_i64(&daemon->object, "numaNode");

    if (nice_value != 0 && setpriority(PRIO_PROCESS, 0, (int)nice_value) != 0)
        md_log(MD_LOG_WARNING, "nice %d: %s", (int)nice_value, strerror(errno));
    if (md_conf_bool(&daemon->object, "lockMemory") && md_mem_lock_all() != MD_OK)
        md_log(MD_LOG_WARNING, "lockMemory: %s (needs CAP_IPC_LOCK or a higher memlock limit)",
               strerror(errno));
    if (node >= 0 && md_node_use((int)node) != MD_OK)
        md_log(MD_LOG_WARNING, "numaNode %d: no such node, or none of its CPUs may be used",
               (int)node);
}

/* ---- start ---- */

static int open_log(struct daemon *daemon)
{
    char path[512];
    char target[16];
    unsigned targets = 0;
    struct md_conf_object logger = md_conf_object(daemon->conf, MD_CONF_LOGGER, NULL);
    const char *folder = md_conf_string(&logger, "logDir");
    struct md_log_config config = {
        .identity = daemon->identity,
        .path = daemon->options.log_file ? daemon->options.log_file : path,
        .size_max = md_conf_u64(&logger, "logMaxSize"),
        .keep = (unsigned)md_conf_u64(&logger, "logKeep"),
        .severity_max = log_level(daemon),
    };

    for (size_t i = 0; md_conf_list(&logger, "logTarget", i, target, sizeof(target)); i++) {
        targets |= strcmp(target, "file") == 0     ? MD_LOG_TO_FILE
                   : strcmp(target, "syslog") == 0 ? MD_LOG_TO_SYSLOG
                                                   : MD_LOG_TO_STDERR;
    }
    if (daemon->options.log_file)
        targets |= MD_LOG_TO_FILE;
    else if (daemon->options.foreground)
        targets = MD_LOG_TO_STDERR;
    config.targets = targets ? targets : MD_LOG_TO_STDERR;
    snprintf(path, sizeof(path), "%s/%s.%s.log", folder, daemon->process,
             md_conf_instance(daemon->conf));
    if (config.targets & MD_LOG_TO_FILE && !daemon->options.log_file)
        md_runfile_make_dir(folder);
    if (md_log_open(&config) == MD_OK)
        return -1;
    fprintf(stderr, "%s: log %s: %s; set logDir or use -fg\n", daemon->process, config.path,
            strerror(errno));
    return MD_EXIT_FILE;
}

static int take_name(struct daemon *daemon)
{
    char path[512];
    const char *run_dir = md_conf_string(&daemon->object, "runDir");
    pid_t holder = 0;

    if (md_runfile_make_dir(run_dir) != MD_OK) {
        fprintf(stderr, "%s: runDir %s: %s\n", daemon->process, run_dir, strerror(errno));
        return MD_EXIT_FILE;
    }
    snprintf(path, sizeof(path), "%s/%s.%s.pid", run_dir, daemon->process,
             md_conf_instance(daemon->conf));
    switch (md_runfile_open(&daemon->runfile, path, &holder)) {
    case MD_OK:
        return -1;
    case MD_ERR_EXISTS:
        fprintf(stderr, "%s: instance %s runs already, pid %ld; use -instance for another one\n",
                daemon->process, md_conf_instance(daemon->conf), (long)holder);
        return MD_EXIT_PORT;
    default:
        fprintf(stderr, "%s: %s: %s\n", daemon->process, path, strerror(errno));
        return MD_EXIT_FILE;
    }
}

static int open_stats(struct daemon *daemon)
{
    struct md_conf_object shmem = md_conf_object(daemon->conf, MD_CONF_SHMEM, NULL);
    struct stats_config config = {
        .shm_dir = md_conf_string(&shmem, "shmDir"),
        .process = daemon->process,
        .instance = md_conf_instance(daemon->conf),
        .entry_count = 16384,
        .string_count = 4096,
        .histogram_count = 80, /* one for each loop */
    };
    pid_t holder = 0;

    if (stats_segment_open(&config, &daemon->stats, &holder) == MD_OK)
        return -1;
    fprintf(stderr, "%s: statistics in shmDir %s: %s\n", daemon->process, config.shm_dir,
            strerror(errno));
    return MD_EXIT_FILE;
}

static int open_status(struct daemon *daemon)
{
    struct md_conf_object shmem = md_conf_object(daemon->conf, MD_CONF_SHMEM, NULL);
    const struct status_config config = {
        .loop = daemon->loop,
        .daemon = &daemon->object,
        .segment = daemon->stats,
        .shm_dir = md_conf_string(&shmem, "shmDir"),
        .process = daemon->process,
        .instance = md_conf_instance(daemon->conf),
        .identity = daemon->identity,
    };

    status_show_config(daemon->stats, daemon->process, daemon->conf);
    if (status_open(&config, &daemon->status) == MD_OK)
        return -1;
    md_log(MD_LOG_CRITICAL, "statusPort %u: %s; set another one in rmds.cnf, or 0 for none",
           md_conf_port(&daemon->object, "statusPort"), net_error());
    return MD_EXIT_PORT;
}

int daemon_start(struct daemon *daemon, const struct md_program *program,
                 const struct daemon_hooks *hooks, int argc, char **argv)
{
    *daemon = (struct daemon){ .hooks = *hooks, .runfile = { .fd = -1 } };
    md_clock_init();
    int code = md_options_start(program, argc, argv, &daemon->options, &daemon->conf);
    if (code >= 0)
        return code;
    daemon->boot_conf = daemon->conf;
    daemon->object = md_conf_object(daemon->conf, MD_CONF_DAEMON, NULL);
    daemon->notify_socket = getenv("NOTIFY_SOCKET");
    snprintf(daemon->process, sizeof(daemon->process), "%s", program->name);
    snprintf(daemon->identity, sizeof(daemon->identity), "%s.%s.%s", md_conf_node(daemon->conf),
             md_conf_instance(daemon->conf), daemon->process);
    if ((code = take_name(daemon)) >= 0 || (code = open_log(daemon)) >= 0 ||
        (code = open_stats(daemon)) >= 0) {
        daemon_stop(daemon);
        return code;
    }
    md_conf_sink_set(daemon->conf, md_conf_to_log, NULL);
    if (md_loop_create(0, &daemon->loop) != MD_OK || watch_signals(daemon) != MD_OK ||
        md_loop_timer_create(daemon->loop, on_beat, daemon, &daemon->beat) != MD_OK) {
        fprintf(stderr, "%s: event loop: %s\n", daemon->process, strerror(errno));
        daemon_stop(daemon);
        return MD_EXIT_FILE;
    }
    if ((code = open_status(daemon)) >= 0) {
        daemon_stop(daemon);
        return code;
    }
    set_up_process(daemon);
    md_loop_timer_every(daemon->beat, SECOND_NS);
    stats_segment_beat(daemon->stats, md_clock_mono_ns());
    daemon_troubles_init(&daemon->troubles, daemon->stats);
    md_log_watch_time(md_clock_mono_ns(), &daemon->watch);
    return -1;
}

void daemon_ready(struct daemon *daemon)
{
    daemon_bind_thread(daemon, "mainThreadCpu");
    md_log(MD_LOG_NOTICE, "ready, pid %ld", (long)getpid());
    notify(daemon, "READY=1");
    daemon->ready = stats_entry_add(daemon->stats, STATS_KIND_GAUGE, "ready");
    daemon->is_started = true;
    show_readiness(daemon);
}

void daemon_run(struct daemon *daemon)
{
    md_loop_run(daemon->loop);
}

void daemon_stop(struct daemon *daemon)
{
    status_close(daemon->status);
    if (daemon->loop) {
        for (size_t i = 0; i < sizeof(daemon->signals) / sizeof(daemon->signals[0]); i++) {
            if (daemon->signals[i])
                md_loop_signal_remove(daemon->signals[i]);
        }
        md_loop_timer_destroy(daemon->beat);
        md_loop_destroy(daemon->loop);
        md_log(MD_LOG_NOTICE, "stopped");
    }
    stats_segment_close(daemon->stats);
    md_log_close();
    if (daemon->runfile.fd >= 0)
        md_runfile_close(&daemon->runfile);
    if (daemon->conf != daemon->boot_conf)
        md_conf_destroy(daemon->conf);
    md_conf_destroy(daemon->boot_conf);
}
