/* reload.c - see daemon/reload.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/reload.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "daemon/daemon.h"
#include "output.h"
#include "privileges.h"

/* ---- what the hook of a daemon calls ---- */

static void discard(const struct daemon_reload_step *step)
{
    if (step->discard)
        step->discard(step->fresh);
}

void daemon_reload_add(struct daemon_reload *reload, const struct daemon_reload_step *step)
{
    struct daemon_reload_step *steps =
        realloc(reload->steps, (reload->step_count + 1) * sizeof(*steps));

    if (!steps) {
        discard(step);
        daemon_reload_refuse(reload, "no memory");
        return;
    }
    steps[reload->step_count++] = *step;
    reload->steps = steps;
}

void daemon_reload_refuse(struct daemon_reload *reload, const char *format, ...)
{
    char text[DAEMON_RELOAD_WHY];
    va_list words;

    va_start(words, format);
    vsnprintf(text, sizeof(text), format, words);
    va_end(words);
    if (reload->why[0])
        md_log(MD_LOG_ERROR, "reload: %s", text); /* the first is in the last line of the reload */
    else
        memcpy(reload->why, text, sizeof(text));
}

/* ---- the new configuration ---- */

/* Findings go to the log; the first error is the reason that operators get. */
static void take_finding(void *arg, enum md_conf_severity severity, const char *file, unsigned line,
                         const char *text)
{
    struct daemon_reload *reload = arg;

    if (severity != MD_CONF_ERROR || reload->why[0]) {
        md_conf_to_log(NULL, severity, file, line, text);
    } else if (file && line) {
        daemon_reload_refuse(reload, "%s:%u: %s", file, line, text);
    } else if (file) {
        daemon_reload_refuse(reload, "%s: %s", file, text);
    } else {
        daemon_reload_refuse(reload, "%s", text);
    }
}

static void read_configuration(struct daemon_reload *reload)
{
    struct md_conf *old = reload->daemon->conf;

    md_conf_sink_set(old, take_finding, reload);
    int err = md_conf_reload(old, &reload->conf);
    md_conf_sink_set(old, md_conf_to_log, NULL);
    if (err != MD_OK) {
        privileges_look(reload->daemon);
        if (!reload->why[0])
            daemon_reload_refuse(reload, "the configuration cannot be read: %s", md_err_name(err));
        return;
    }
    md_conf_sink_set(reload->conf, md_conf_to_log, NULL);
    reload->object = md_conf_object(reload->conf, MD_CONF_DAEMON, NULL);
}

static void take_configuration(struct daemon_reload *reload)
{
    struct daemon *daemon = reload->daemon;
    struct md_conf *old = daemon->conf;

    daemon->conf = reload->conf;
    daemon->object = reload->object;
    for (size_t i = 0; i < reload->step_count; i++)
        reload->steps[i].commit(reload->steps[i].fresh);
    status_show_config(daemon->stats, daemon->process, daemon->conf);
    if (old != daemon->boot_conf)
        md_conf_destroy(old);
}

/* ---- the outcome ---- */

static void format_time(uint64_t wall_ns, char *out, size_t size)
{
    time_t seconds = (time_t)(wall_ns / MD_NS_PER_S);
    struct tm tm;

    gmtime_r(&seconds, &tm);
    strftime(out, size, "%Y-%m-%d %H:%M:%SZ", &tm);
}

void daemon_reload_words(const struct daemon *daemon, char *out, size_t size)
{
    const struct daemon_reloads *reloads = &daemon->reloads;
    char since[40];

    format_time(reloads->since_wall_ns, since, sizeof(since));
    snprintf(out, size, "runs the configuration of %s%s%s", since,
             reloads->why[0] ? ", the last reload failed: " : "", reloads->why);
}

static void show_taken(struct daemon *daemon)
{
    struct daemon_reloads *reloads = &daemon->reloads;

    reloads->why[0] = '\0';
    reloads->since_wall_ns = md_clock_wall_ns();
    md_ctr_set(&reloads->since->value, reloads->since_wall_ns);
    if (reloads->note)
        stats_entry_remove(daemon->stats, reloads->note);
    reloads->note = NULL;
}

static void show_failed(struct daemon *daemon, const char *why)
{
    struct daemon_reloads *reloads = &daemon->reloads;

    snprintf(reloads->why, sizeof(reloads->why), "%s", why);
    if (reloads->note)
        stats_string_set(daemon->stats, reloads->note, why);
    else
        reloads->note = stats_string_add(daemon->stats, "reloadFailed", why);
}

void daemon_reloads_init(struct daemon *daemon)
{
    struct daemon_reloads *reloads = &daemon->reloads;

    reloads->taken = stats_counter(daemon->stats, "reloads");
    reloads->failed = stats_counter(daemon->stats, "reloadsFailed");
    reloads->since = stats_entry_add(daemon->stats, STATS_KIND_TIME, "configTaken");
    show_taken(daemon);
}

static bool finish(struct daemon_reload *reload)
{
    struct daemon *daemon = reload->daemon;
    char since[40];

    if (reload->why[0]) {
        for (size_t i = reload->step_count; i > 0; i--)
            discard(&reload->steps[i - 1]);
        md_conf_destroy(reload->conf);
        format_time(daemon->reloads.since_wall_ns, since, sizeof(since));
        md_ctr_inc(daemon->reloads.failed);
        show_failed(daemon, reload->why);
        md_log(MD_LOG_ERROR,
               "reload: nothing is taken, all of the configuration of %s stays in force: %s", since,
               reload->why);
    } else {
        take_configuration(reload);
        md_ctr_inc(daemon->reloads.taken);
        show_taken(daemon);
        md_log_severity_set(output_level(daemon));
        md_log(MD_LOG_NOTICE, "reload: configuration read again");
    }
    free(reload->steps);
    return !daemon->reloads.why[0];
}

bool daemon_reload(struct daemon *daemon)
{
    struct daemon_reload reload = { .daemon = daemon };

    md_log_reopen();
    read_configuration(&reload);
    if (reload.conf && daemon->hooks.reload)
        daemon->hooks.reload(daemon->hooks.owner, &reload);
    return finish(&reload);
}
