/* daemon.c - see daemon/daemon.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/daemon.h"
#include "daemon/words.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/rundir.h"
#include "base/trace.h"
#include "daemon/orders.h"
#include "daemon/threads.h"
#include "launch.h"
#include "notify.h"
#include "output.h"
#include "privileges.h"
#include "signals.h"
#include "status/sampler.h"

#define HUNG_NS (5 * MD_NS_PER_S) /* a loop that has not turned for so long is hung */

/* The service manager is told when it changes: what is missing, or that nothing is. */
static void show_readiness(struct daemon *daemon)
{
    char text[sizeof(daemon->told)];

    if (!daemon->is_started || daemon->is_stopping)
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
    notify_send(text);
}

static void on_beat(void *owner)
{
    struct daemon *daemon = owner;

    md_log_watch_time(md_loop_now(daemon->loop), &daemon->watch);
    if (daemon->hooks.beat && !daemon->hooks.beat(daemon->hooks.owner))
        return;
    stats_segment_beat(daemon->stats, md_loop_now(daemon->loop));
    notify_send("WATCHDOG=1");
    show_readiness(daemon);
}

unsigned daemon_hung_s(const struct daemon *daemon, uint64_t alive_ns)
{
    uint64_t now_ns = md_loop_now(daemon->loop);

    return alive_ns != 0 && now_ns > alive_ns + HUNG_NS
               ? (unsigned)((now_ns - alive_ns) / MD_NS_PER_S)
               : 0;
}

/* ---- start ---- */

static void refuse_run_dir(const struct daemon *daemon, const char *reason)
{
    char where[400];

    daemon_where(&daemon->object, "runDir", where, sizeof(where));
    fprintf(stderr, "%s: %s: %s; name a folder that the daemon may write\n", daemon->process, where,
            reason);
}

/* The folder and the pid file in it. MD_ERR_SYS with ENOENT: a predecessor is taking it away. */
static int open_folder(struct daemon *daemon, const char *run_dir, pid_t *holder)
{
    char path[sizeof(daemon->runfile.path)];
    int folder_fd;
    int err = md_rundir_enter(run_dir, daemon->folder, &folder_fd);

    if (err == MD_ERR_EXISTS)
        errno = EEXIST;
    if (err)
        return err == MD_ERR_EXISTS ? MD_ERR_STATE : err;
    close(folder_fd);
    if ((size_t)snprintf(path, sizeof(path), "%s/%s/pid", run_dir, daemon->folder) >= sizeof(path))
        return MD_ERR_RANGE;
    return md_runfile_open(&daemon->runfile, path, holder);
}

static int take_name(struct daemon *daemon)
{
    const char *run_dir = md_conf_string(&daemon->object, "runDir");
    pid_t holder = 0;
    int err = md_rundir_make(run_dir);

    if (err == MD_ERR_EXISTS) {
        refuse_run_dir(daemon, "belongs to another user, or others may write to it");
        return MD_EXIT_FILE;
    }
    for (int i = 0; !err && i < 8; i++) {
        err = open_folder(daemon, run_dir, &holder);
        if (err != MD_ERR_SYS || errno != ENOENT)
            break;
        err = md_rundir_make(run_dir);
    }
    switch (err) {
    case MD_OK:
        return -1;
    case MD_ERR_EXISTS:
        fprintf(stderr,
                "%s: instance %s runs already: %s/%s/pid is held by pid %ld; use -instance for "
                "another one\n",
                daemon->process, md_conf_instance(daemon->conf), run_dir, daemon->folder,
                (long)holder);
        return MD_EXIT_PORT;
    case MD_ERR_STATE:
        fprintf(stderr,
                "%s: %s/%s belongs to another user or is no folder; remove it, or name another "
                "runDir\n",
                daemon->process, run_dir, daemon->folder);
        return MD_EXIT_FILE;
    default:
        refuse_run_dir(daemon, strerror(errno));
        return MD_EXIT_FILE;
    }
}

static int open_stats(struct daemon *daemon)
{
    struct stats_config config = {
        .run_dir = md_conf_string(&daemon->object, "runDir"),
        .process = daemon->process,
        .instance = md_conf_instance(daemon->conf),
        .entry_count = 16384,
        .string_count = 4096,
        .histogram_count = 80, /* one for each loop */
    };
    pid_t holder = 0;

    if (stats_segment_open(&config, &daemon->stats, &holder) == MD_OK)
        return -1;
    md_log(MD_LOG_WARNING, "runDir %s: %s/stats: %s; statistics cannot be shown", config.run_dir,
           daemon->folder, strerror(errno));
    config.run_dir = NULL;
    return stats_segment_open(&config, &daemon->stats, &holder) == MD_OK ? -1 : MD_EXIT_FILE;
}

/* traceSample; a daemon that cannot be looked at works all the same. */
static void open_trace(const struct daemon *daemon)
{
    unsigned program = md_conf_program_bit(md_conf_program(daemon->conf));
    bool has_sample = md_conf_row_find("traceSample", MD_CONF_DAEMON, program) != NULL;
    uint64_t sample = has_sample ? md_conf_u64(&daemon->object, "traceSample") : 0;
    char path[512];

    if (sample == 0)
        return;
    snprintf(path, sizeof(path), "%s/%s/trace", md_conf_string(&daemon->object, "runDir"),
             daemon->folder);
    if (md_trace_open(path, daemon->process, sample) != MD_OK)
        md_log(MD_LOG_WARNING, "traceSample: %s: %s; no tick is followed", path, strerror(errno));
}

/* The hour that rmdsmon and the page show; a daemon without it works all the same. */
static void open_sampler(struct daemon *daemon)
{
    const struct status_sampler_config config = {
        .loop = daemon->loop,
        .segment = daemon->stats,
        .run_dir = md_conf_string(&daemon->object, "runDir"),
        .process = daemon->process,
        .instance = md_conf_instance(daemon->conf),
    };

    if (status_sampler_open(&config, &daemon->sampler) != MD_OK)
        md_log(MD_LOG_WARNING,
               "runDir %s: %s/" STATS_HISTORY_FILE ": %s; the last hour is not kept",
               config.run_dir, daemon->folder, strerror(errno));
}

static int open_status(struct daemon *daemon)
{
    open_sampler(daemon);
    const struct status_config config = {
        .loop = daemon->loop,
        .daemon = &daemon->object,
        .segment = daemon->stats,
        .run_dir = md_conf_string(&daemon->object, "runDir"),
        .process = daemon->process,
        .instance = md_conf_instance(daemon->conf),
        .identity = daemon->identity,
        .sampler = daemon->sampler,
        .refusals = daemon->hooks.refusals,
        .owner = daemon->hooks.owner,
    };

    status_show_config(daemon->stats, daemon->process, daemon->conf);
    if (status_open(&config, &daemon->status) == MD_OK)
        return -1;
    daemon_port_refused(&daemon->object, "statusPort");
    return MD_EXIT_PORT;
}

/* "p2ps", "rrcpd.net1"; "vega.1.p2ps" */
static void name_daemon(struct daemon *daemon, const struct md_program *program)
{
    snprintf(daemon->process, sizeof(daemon->process), "%s%s%s", program->name,
             program->is_of_network ? "." : "",
             program->is_of_network ? md_conf_network(daemon->conf) : "");
    snprintf(daemon->identity, sizeof(daemon->identity), "%s.%s.%s", md_conf_node(daemon->conf),
             md_conf_instance(daemon->conf), daemon->process);
    snprintf(daemon->folder, sizeof(daemon->folder), "%s.%s", daemon->process,
             md_conf_instance(daemon->conf));
}

static int open_loop(struct daemon *daemon)
{
    uint64_t watchdog_ns = notify_watchdog_ns();

    if (!daemon->is_rrcpd && md_conf_word(&daemon->object, "eventMethod") == 1)
        md_loop_use_poll(true);
    if (md_loop_create(0, &daemon->loop) != MD_OK || signals_watch(daemon) != MD_OK ||
        md_loop_timer_create(daemon->loop, on_beat, daemon, &daemon->beat) != MD_OK) {
        md_log(MD_LOG_CRITICAL, "event loop: %s", strerror(errno));
        return MD_EXIT_FILE;
    }
    md_loop_timer_every(daemon->beat,
                        watchdog_ns && watchdog_ns < MD_NS_PER_S ? watchdog_ns : MD_NS_PER_S);
    return -1;
}

int daemon_start(struct daemon *daemon, const struct md_program *program,
                 const struct daemon_hooks *hooks, int argc, char **argv)
{
    *daemon = (struct daemon){ .hooks = *hooks, .runfile = { .fd = -1 }, .parent_fd = -1 };
    int code = md_options_start(program, argc, argv, &daemon->options, &daemon->conf);
    if (code >= 0)
        return code;
    daemon->boot_conf = daemon->conf;
    daemon->object = md_conf_object(daemon->conf, MD_CONF_DAEMON, NULL);
    name_daemon(daemon, program);
    if (daemon->options.background || (program->is_background && !daemon->options.foreground))
        daemon->parent_fd = launch_background(daemon->process);
    md_clock_init();
    daemon->is_rrcpd = program->is_of_network;
    if ((code = privileges_choose(daemon, daemon->is_rrcpd)) < 0 &&
        (code = take_name(daemon)) < 0 && (code = output_open(daemon)) < 0 &&
        (code = open_stats(daemon)) < 0) {
        md_conf_sink_set(daemon->conf, md_conf_to_log, NULL);
        privileges_look(daemon);
        daemon_threads_prepare(&daemon->object);
        open_trace(daemon);
        code = open_loop(daemon);
    }
    if (code < 0)
        code = open_status(daemon);
    if (code >= 0) {
        daemon_stop(daemon);
        return code;
    }
    stats_segment_beat(daemon->stats, md_clock_mono_ns());
    daemon_troubles_init(&daemon->troubles, daemon->stats);
    daemon_reloads_init(daemon);
    md_log_watch_time(md_clock_mono_ns(), &daemon->watch);
    return -1;
}

/* Standard error of a daemon whose log is elsewhere: where it is, and that this is no mistake. */
static void tell_terminal(const struct daemon *daemon)
{
    if (daemon->parent_fd < 0 && !daemon->has_stderr_log && !daemon->options.background)
        fprintf(stderr,
                "%s: ready in the foreground, pid %ld, log %s; with -d it goes to the "
                "background\n",
                daemon->process, (long)getpid(), daemon->log_place);
}

static void be_ready(struct daemon *daemon)
{
    daemon_thread_settle(&daemon->object, "mainThreadCpu");
    privileges_drop(daemon->is_rrcpd);
    md_log(MD_LOG_NOTICE, "ready, pid %ld", (long)getpid());
    daemon->ready = stats_entry_add(daemon->stats, STATS_KIND_GAUGE, "ready");
    daemon->is_started = true;
    if (!daemon->admin)
        daemon_admin_open(daemon, NULL, 0, NULL);
    tell_terminal(daemon);
    if (daemon->parent_fd >= 0)
        launch_ready(daemon->parent_fd, daemon->has_stderr_log);
    daemon->parent_fd = -1;
    notify_send("READY=1");
    show_readiness(daemon);
}

void daemon_stop(struct daemon *daemon)
{
    struct md_conf_object object = md_conf_object(daemon->boot_conf, MD_CONF_DAEMON, NULL);
    const char *run_dir = md_conf_string(&object, "runDir");

    status_close(daemon->status);
    status_sampler_close(daemon->sampler);
    daemon_orders_close(daemon);
    daemon_admin_close(daemon->admin);
    if (daemon->loop) {
        signals_release(daemon);
        md_loop_timer_destroy(daemon->beat);
        md_loop_destroy(daemon->loop);
        md_log(MD_LOG_NOTICE, "stopped");
    }
    stats_segment_close(daemon->stats);
    md_trace_close(false);
    md_log_close();
    if (!daemon->is_started && daemon->log_place[0] && !daemon->has_stderr_log)
        fprintf(stderr, "%s: not started; the reason stands in its log, %s\n", daemon->process,
                daemon->log_place);
    if (daemon->runfile.fd >= 0) {
        md_runfile_close(&daemon->runfile);
        md_rundir_leave(run_dir, daemon->folder);
    }
    if (daemon->conf != daemon->boot_conf)
        md_conf_destroy(daemon->conf);
    md_conf_destroy(daemon->boot_conf);
}

int daemon_main(struct daemon *daemon, const struct md_program *program,
                const struct daemon_hooks *hooks, int argc, char **argv)
{
    int code = daemon_start(daemon, program, hooks, argc, argv);

    if (code >= 0)
        return code;
    code = hooks->build(hooks->owner);
    if (code < 0) {
        be_ready(daemon);
        daemon->ready_ns = md_loop_now(daemon->loop);
        md_loop_run(daemon->loop);
        code = daemon->exit_code;
    }
    hooks->take_down(hooks->owner);
    daemon_stop(daemon);
    return daemon->begins_anew ? launch_again(program->name, argv) : code;
}
