/* backbone.c - see daemon/backbone.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/backbone.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PLACE_BYTES = 300, FOUND_BYTES = 200, FOUND_MAX = 3 };

/* "rrcpdInstance 2 (rmds.cnf:12)" */
static void name_source(const struct md_conf_object *object, const char *param, const char *text,
                        char *out, size_t size)
{
    struct md_conf_value value = md_conf_value(object, param);

    if (value.file)
        snprintf(out, size, "%s %s, %s:%u", param, text, value.file, value.line);
    else
        snprintf(out, size, "%s %s, the default", param, text);
}

/* The folders of rrcpd that there are: perhaps only the number is wrong. */
static void list_others(const char *run_dir, char *out, size_t size)
{
    DIR *folder = opendir(run_dir);
    struct dirent *entry;
    unsigned count = 0;
    size_t used = 0;

    snprintf(out, size, "%s", "there is none in that folder");
    while (folder && count < FOUND_MAX && (entry = readdir(folder)) != NULL) {
        if (strncmp(entry->d_name, "rrcpd.", 6) != 0 || entry->d_type != DT_DIR)
            continue;
        int wrote = snprintf(out + used, size - used, "%s%s",
                             count ? ", " : "found there: ", entry->d_name);
        used += wrote > 0 && (size_t)wrote < size - used ? (size_t)wrote : 0;
        count++;
    }
    if (folder)
        closedir(folder);
}

static const char *find_socket(const char *path)
{
    if (access(path, F_OK) != 0)
        return errno == EACCES ? "no permission to look for rrcpd at" : "no rrcpd at";
    if (access(path, W_OK) != 0)
        return "no permission to use the rrcpd at";
    return "not served by the rrcpd at";
}

static void tell(struct daemon *daemon, unsigned which, const char *network, const char *path)
{
    struct md_conf_object rrcp = md_conf_object(daemon->boot_conf, MD_CONF_RRCP, network);
    struct md_conf_object object = md_conf_object(daemon->boot_conf, MD_CONF_DAEMON, NULL);
    const char *run_dir = md_conf_string(&object, "runDir");
    const char *number = md_conf_string(&rrcp, "rrcpdInstance");
    const char *param = md_conf_string(&object, "networkList")[0] ? "networkList" : "networkName";
    char by_name[PLACE_BYTES], by_number[PLACE_BYTES], found[FOUND_BYTES];
    char note[STATS_STRING_BYTES];

    name_source(&object, param, network, by_name, sizeof(by_name));
    name_source(&rrcp, "rrcpdInstance", number, by_number, sizeof(by_number));
    list_others(run_dir, found, sizeof(found));
    snprintf(note, sizeof(note), "no rrcpd for network %.22s, instance %.8s", network, number);
    daemon_trouble_here(&daemon->troubles, which, md_loop_now(daemon->loop), DAEMON_BACKBONE_DELAY,
                        note, "backbone %s: %s %s (%s; %s); %s; trying every second", network,
                        find_socket(path), path, by_name, by_number, found);
}

void daemon_backbone_look(struct daemon *daemon, unsigned which, const char *network,
                          const char *path, bool is_attached)
{
    if (is_attached)
        daemon_trouble_gone(&daemon->troubles, which, md_loop_now(daemon->loop),
                            "backbone %s: attached to its rrcpd", network);
    else
        tell(daemon, which, network, path);
}
