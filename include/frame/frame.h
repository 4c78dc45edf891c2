/* frame/frame.h - what every daemon does around its work: start, signals, statistics, stop. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FRAME_FRAME_H
#define FRAME_FRAME_H

#include "base/cpu.h"
#include "base/loop.h"
#include "base/runfile.h"
#include "conf/conf.h"
#include "conf/options.h"
#include "frame/trouble.h"
#include "stats/segment.h"
#include "status/status.h"

/*
 * A daemon's main() is
 *
 *     int code = frame_start(&frame, &program, &hooks, argc, argv);
 *     if (code >= 0)
 *         return code;                     help, version, a mistake in the configuration ...
 *     build what the daemon is made of on frame.loop, threads included
 *     frame_ready(&frame);                 tells a service manager, and -fg on standard error
 *     frame_run(&frame);                   the control loop, until SIGTERM or SIGINT
 *     take everything down
 *     frame_stop(&frame);
 *
 * frame_start() reads the command line and rmds.cnf, takes the pid file in runDir (one running
 * program per name), opens log, statistics and the status page, and settles the process on its NUMA
 * node; threads made from then on inherit that. frame_ready() binds the control loop's own thread.
 * From frame_start() on the control loop beats the statistics' heart and the watchdog once a
 * second, as long as the beat hook says that all of the daemon lives.
 */
struct frame;

struct frame_hooks {
    void *owner;
    /* SIGHUP: the configuration was read again; frame->conf is the new one. May be NULL. */
    void (*reload)(void *owner);
    /* Once a second on the control loop; false: a part of the daemon hangs, so neither heart nor
     * watchdog is beaten and whoever looks sees it. May be NULL. */
    bool (*beat)(void *owner);
    /* Once a second after frame_ready(): can it do its work now? Else it names what is missing with
     * frame_trouble_here(). Shown as the statistics entry `ready` and to the service manager. May
     * be NULL: always. */
    bool (*can_serve)(void *owner);
};

struct frame {
    struct frame_hooks hooks;
    struct md_options options;
    struct md_conf *conf;         /* as read last; of the control loop */
    struct md_conf *boot_conf;    /* as read at the start; constant, for every thread */
    struct md_conf_object daemon; /* N.I.<daemon> in conf */
    struct md_loop *loop;         /* the control loop */
    struct stats_segment *stats;
    struct status *status; /* NULL: no statusPort */
    struct md_runfile runfile;
    char process[64];   /* "p2ps", "rrcpd.net1" */
    char identity[256]; /* "host.1.p2ps" */
    struct md_loop_signal *signals[5];
    struct md_loop_timer *beat;
    struct md_log_watch watch;
    const char *notify_socket;
    struct stats_entry *ready;
    struct frame_troubles troubles;
    char told[STATS_STRING_BYTES + 16]; /* the service manager, last */
    bool is_started;                    /* frame_ready() was called */
    bool is_stopping;
};

/* -1: go on; else the exit code. `process` names files and statistics; NULL: the program's name. */
int frame_start(struct frame *frame, const struct md_program *program,
                const struct frame_hooks *hooks, int argc, char **argv);
void frame_ready(struct frame *frame);
void frame_run(struct frame *frame);
void frame_stop(struct frame *frame);

/* Scheduling and CPU binding of the calling thread: `cpu_param` is e.g. "mainThreadCpu" or
 * "writeThreadCpu.0". What cannot be had is a WARNING. */
void frame_bind_thread(const struct frame *frame, const char *cpu_param);

#endif
