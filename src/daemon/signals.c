/* signals.c - see signals.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "signals.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "notify.h"

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

    if (value == 0)
        return true;
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

static void stop(struct daemon *daemon, int signal)
{
    char why[64];

    daemon->begins_anew = false;
    snprintf(why, sizeof(why), "stopping on signal %d (%s)", signal, strsignal(signal));
    if (daemon->is_stopping)
        md_loop_stop(daemon->loop);
    else
        daemon_end(daemon, why);
}

static void on_signal(void *owner, int signal)
{
    struct daemon *daemon = owner;

    switch (signal) {
    case SIGHUP:
        (void)daemon_reload(daemon);
        break;
    case SIGUSR1:
        log_statistics(daemon);
        break;
    case SIGUSR2:
        next_log_level();
        break;
    default:
        stop(daemon, signal);
        break;
    }
}

int signals_watch(struct daemon *daemon)
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

void signals_release(struct daemon *daemon)
{
    for (size_t i = 0; i < sizeof(daemon->signals) / sizeof(daemon->signals[0]); i++) {
        if (daemon->signals[i])
            md_loop_signal_remove(daemon->signals[i]);
    }
}

void daemon_end(struct daemon *daemon, const char *why)
{
    if (daemon->is_stopping)
        return;
    daemon->is_stopping = true;
    md_log(MD_LOG_NOTICE, "%s", why);
    notify_send(daemon->begins_anew ? "RELOADING=1" : "STOPPING=1");
    if (daemon->hooks.stop)
        daemon->hooks.stop(daemon->hooks.owner);
    else
        md_loop_stop(daemon->loop);
}
