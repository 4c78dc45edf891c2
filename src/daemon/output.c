/* output.c - see output.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "privileges.h"

enum md_log_severity output_level(const struct daemon *daemon)
{
    struct md_conf_object logger = md_conf_object(daemon->conf, MD_CONF_LOGGER, NULL);
    const char *text =
        daemon->options.log_level ? daemon->options.log_level : md_conf_string(&logger, "logLevel");
    enum md_log_severity severity = MD_LOG_INFO;

    (void)md_log_severity_parse(text, &severity);
    return severity;
}

/* systemd names device and inode of the stream to the journal that it opened for us. */
static bool is_journal(int fd)
{
    const char *text = getenv("JOURNAL_STREAM");
    unsigned long long device, inode;
    struct stat file;

    return text && sscanf(text, "%llu:%llu", &device, &inode) == 2 && fstat(fd, &file) == 0 &&
           file.st_dev == device && file.st_ino == inode;
}

/* -log FILE is that file alone, -fg standard error alone, in this order. */
static unsigned choose_targets(const struct daemon *daemon, const struct md_conf_object *logger)
{
    unsigned targets = 0;
    char word[16];

    if (daemon->options.log_file)
        return MD_LOG_TO_FILE;
    unsigned stderr_target = is_journal(STDERR_FILENO) ? MD_LOG_TO_JOURNAL : MD_LOG_TO_STDERR;
    if (daemon->options.foreground)
        return stderr_target;
    for (size_t i = 0; md_conf_list(logger, "logTarget", i, word, sizeof(word)); i++)
        targets |= strcmp(word, "file") == 0      ? MD_LOG_TO_FILE
                   : strcmp(word, "syslog") == 0  ? MD_LOG_TO_SYSLOG
                   : strcmp(word, "journal") == 0 ? MD_LOG_TO_JOURNAL
                                                  : stderr_target;
    return targets ? targets : stderr_target;
}

int output_open(struct daemon *daemon)
{
    char path[512];
    struct md_conf_object logger = md_conf_object(daemon->conf, MD_CONF_LOGGER, NULL);
    const char *folder = md_conf_string(&logger, "logDir");
    struct md_log_config config = {
        .identity = daemon->identity,
        .targets = choose_targets(daemon, &logger),
        .is_json = md_conf_word(&logger, "logFormat") == 1,
        .path = path,
        .size_max = md_conf_u64(&logger, "logMaxSize"),
        .keep = (unsigned)md_conf_u64(&logger, "logKeep"),
        .severity_max = output_level(daemon),
    };
    enum md_log_severity severity;

    if (daemon->options.log_level &&
        md_log_severity_parse(daemon->options.log_level, &severity) != MD_OK) {
        fprintf(stderr, "%s: -loglevel: \"%s\" is no level; accepted: EMERGENCY to DEBUG\n",
                daemon->process, daemon->options.log_level);
        return MD_EXIT_CONFIG;
    }
    if (daemon->options.log_file)
        snprintf(path, sizeof(path), "%s", daemon->options.log_file);
    else
        snprintf(path, sizeof(path), "%s/%s.%s.log", folder, daemon->process,
                 md_conf_instance(daemon->conf));
    if (config.targets & MD_LOG_TO_FILE && !daemon->options.log_file)
        md_runfile_make_dir(folder);
    if (md_log_open(&config) != MD_OK) {
        const char *reason = strerror(errno); /* before the look for the user changes it */
        fprintf(stderr, "%s: log file %s: %s (as user %s); set logDir, or use -log FILE or -fg\n",
                daemon->process, path, reason, privileges_user());
        return MD_EXIT_FILE;
    }
    daemon->has_stderr_log = (config.targets & (MD_LOG_TO_STDERR | MD_LOG_TO_JOURNAL)) != 0;
    snprintf(daemon->log_place, sizeof(daemon->log_place), "%s",
             config.targets & MD_LOG_TO_FILE ? path : "syslog");
    return -1;
}
