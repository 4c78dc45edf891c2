/* admin_verbs.c - what every daemon can be told over its admin socket. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "admin_text.h"
#include "base/clock.h"
#include "base/log.h"
#include "daemon/daemon.h"

static void show_status(void *owner, struct daemon_request *request)
{
    const struct daemon *daemon = owner;
    struct daemon_text *text = daemon_request_text(request);
    const char *note = daemon_trouble_note(&daemon->troubles);
    char words[DAEMON_RELOAD_WHY + 120];
    uint64_t start_ns = stats_segment_header(daemon->stats)->start_ns, now_ns = md_clock_wall_ns();

    daemon_text_add(text, "%s  version %s  pid %ld  up %.0f s  %s\n", daemon->identity,
                    RMDS_VERSION, (long)getpid(),
                    now_ns > start_ns ? (double)(now_ns - start_ns) / 1e9 : 0,
                    note[0] || !md_ctr_get(&daemon->ready->value) ? "not ready" : "ready");
    if (note[0])
        daemon_text_add(text, "  %s\n", note);
    daemon_reload_words(daemon, words, sizeof(words));
    daemon_text_add(text, "  %s\n", words);
    if (daemon->hooks.tell)
        daemon->hooks.tell(daemon->hooks.owner, text);
    daemon_request_done(request, "shown");
}

static void set_level(void *owner, struct daemon_request *request)
{
    const char *name = daemon_request_word(request, 0);
    enum md_log_severity severity;

    (void)owner;
    for (severity = MD_LOG_EMERGENCY; severity <= MD_LOG_DEBUG; severity++) {
        if (strcasecmp(name, md_log_severity_name(severity)) == 0)
            break;
    }
    if (severity > MD_LOG_DEBUG) {
        daemon_request_refuse(request,
                              "\"%.40s\" is no level; there are EMERGENCY ALERT CRITICAL "
                              "ERROR WARNING NOTICE INFO DEBUG",
                              name);
        return;
    }
    /* The line about it is to be seen whatever the levels are. */
    md_log_severity_set(severity > MD_LOG_NOTICE ? severity : MD_LOG_NOTICE);
    daemon_text_add(daemon_request_text(request),
                    "the log level is %s, until a reload or restart\n",
                    md_log_severity_name(severity));
    daemon_request_done(request, "the log level is %s", md_log_severity_name(severity));
    md_log_severity_set(severity);
}

static void reload(void *owner, struct daemon_request *request)
{
    struct daemon *daemon = owner;

    if (!daemon_reload(daemon)) {
        daemon_request_refuse(request,
                              "nothing is taken, all of the old configuration stays in "
                              "force: %s",
                              daemon->reloads.why);
        return;
    }
    daemon_text_add(daemon_request_text(request),
                    "configuration read again; the log says what waits for a restart\n");
    daemon_request_done(request, "done");
}

const struct daemon_verb admin_verbs[] = {
    { "status", "", "ready or not, and what is missing", 0, false, show_status },
    { "loglevel", "LEVEL", "what the log has: ERROR, WARNING, NOTICE, INFO, DEBUG", 1, true,
      set_level },
    { "reload", "", "read the configuration again, as SIGHUP does", 0, true, reload },
};

const size_t admin_verb_count = sizeof(admin_verbs) / sizeof(admin_verbs[0]);
