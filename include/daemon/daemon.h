/* daemon/daemon.h - what every daemon does around its work: start, signals, statistics, stop. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_DAEMON_H
#define DAEMON_DAEMON_H

#include "base/cpu.h"
#include "base/loop.h"
#include "base/runfile.h"
#include "conf/conf.h"
#include "conf/options.h"
#include "daemon/admin.h"
#include "daemon/reload.h"
#include "daemon/trouble.h"
#include "stats/segment.h"
#include "status/status.h"

/*
 * A daemon's main() is daemon_main():
 *
 *     daemon_start()                       -1; else help, version, a mistake in the configuration
 *     hooks.build()                        what the daemon is made of, on daemon.loop; threads, too
 *     ready                                a service manager and a waiting parent go on
 *     the control loop runs                until SIGTERM or SIGINT
 *     hooks.take_down()
 *     daemon_stop()
 *
 * daemon_start() reads the command line and rmds.cnf, goes to the background (-d, or the default of
 * this program), takes the pid file in its folder of runDir (one running program per name), opens
 * log, statistics and the status page, and settles the process on its NUMA node; threads made from
 * then on inherit that. When it is ready the control loop's own thread is settled. From then on the
 * control loop beats the statistics' heart and the watchdog once a second, as long as the beat hook
 * says that all of the daemon lives.
 *
 * A process in the background has a parent that waits: it leaves with 0 when the daemon is ready,
 * or with the exit code of a daemon that ended before.
 */
struct daemon;

struct daemon_orders;

struct daemon_hooks {
    void *owner;
    /* -1, or the exit code: nothing more is started. The reason is in the log. */
    int (*build)(void *owner);
    /* Also after a build that failed half way. */
    void (*take_down)(void *owner);
    /* SIGHUP: reads every other file into new objects, and adds their steps; see reload.h. May be
     * NULL. */
    void (*reload)(void *owner, struct daemon_reload *reload);
    /* Once a second on the control loop; false: a part of the daemon hangs, so neither heart nor
     * watchdog is beaten and whoever looks sees it. May be NULL. */
    bool (*beat)(void *owner);
    /* Once a second when it is ready: can it do its work now? Else it names what is missing
     * with daemon_trouble_here(). Shown as the statistics entry `ready` and to the service manager.
     * May be NULL: always. */
    bool (*can_serve)(void *owner);
    /* The daemon is to end: leave in order, then md_loop_stop(daemon->loop). May be NULL: at once.
     */
    void (*stop)(void *owner);
    /* An operator has changed something with rmdsctl, or was refused it. May be NULL. */
    void (*ordered)(void *owner, const char *who, const char *order, const char *outcome);
    /* `rmdsctl status` shows these lines, which begin with two blanks, behind those of every
     * daemon. May be NULL. */
    void (*tell)(void *owner, struct daemon_text *text);
    /* The last refusals for the status page, the youngest first; how many. May be NULL. */
    unsigned (*refusals)(void *owner, struct status_refusal *out, unsigned max);
};

struct daemon {
    struct daemon_hooks hooks;
    struct md_options options;
    struct md_conf *conf;         /* as read last; of the control loop */
    struct md_conf *boot_conf;    /* as read at the start; constant, for every thread */
    struct md_conf_object object; /* N.I.<daemon> in conf */
    struct md_loop *loop;         /* the control loop */
    struct stats_segment *stats;
    struct status *status;          /* NULL: no statusPort */
    struct status_sampler *sampler; /* NULL: the last hour is not kept */
    struct daemon_admin *admin;     /* NULL: rmdsctl cannot reach it */
    _Atomic(struct daemon_orders *) orders;
    struct md_runfile runfile;
    char process[64];              /* "p2ps", "rrcpd.net1" */
    char folder[STATS_NAME_BYTES]; /* "p2ps.1", "rrcpd.net1.1": in runDir */
    char identity[256];            /* "host.1.p2ps" */
    struct md_loop_signal *signals[5];
    struct md_loop_timer *beat;
    struct md_log_watch watch;
    struct stats_entry *ready;
    struct stats_entry *rsockets; /* NULL: there was none */
    struct daemon_troubles troubles;
    struct daemon_reloads reloads;
    char told[STATS_STRING_BYTES + 16]; /* the service manager, last */
    int parent_fd;                      /* of the launch: >= 0 while a parent waits for us */
    char log_place[512];                /* the log file, or "syslog" */
    bool has_stderr_log;
    bool is_rrcpd;     /* its start needs one capability more */
    bool is_started;   /* it is ready */
    bool is_stopping;  /* daemon_end() was called */
    bool begins_anew;  /* and the same program in this process; a signal takes it back */
    uint64_t ready_ns; /* when the control loop began */
    int exit_code;     /* of an end that is no order */
};

/* Returns the exit code. */
int daemon_main(struct daemon *daemon, const struct md_program *program,
                const struct daemon_hooks *hooks, int argc, char **argv);

/* Its first and last part, for tests. -1: go on; else the exit code. */
int daemon_start(struct daemon *daemon, const struct md_program *program,
                 const struct daemon_hooks *hooks, int argc, char **argv);
void daemon_stop(struct daemon *daemon);

/* The end, in order; `why` is a line of the log. Nothing if it was called before. */
void daemon_end(struct daemon *daemon, const char *why);

/* A loop showed last at `alive_ns` (0: not yet) that it turns: so long it hangs, 0: it does not. */
unsigned daemon_hung_s(const struct daemon *daemon, uint64_t alive_ns);

#endif
