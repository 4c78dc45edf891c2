/* backbone.c - see daemon/backbone.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/backbone.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/shm.h"
#include "base/err.h"
#include "base/log.h"

enum { PLACE_BYTES = 300, FOUND_BYTES = 200, FOUND_MAX = 3 };

#define ENGINE_BYTES (24u << 20) /* events and tables of an engine inside the process */

/* ---- which ---- */

static int add(struct daemon_networks *networks, const struct md_conf *conf, const char *name)
{
    struct attach_settings *settings = calloc(1, sizeof(*settings));
    char why[256];

    if (!settings)
        return MD_ERR_NOMEM;
    networks->list[networks->count++] = settings;
    int err = attach_settings_read(conf, name, settings, why, sizeof(why));
    settings->config.skips_topics = true; /* they are of applications among themselves */
    if (err != MD_OK)
        md_log(MD_LOG_CRITICAL, "network %s: %s", name, why);
    return err;
}

int daemon_networks_find(const struct daemon_networks *networks, const char *name)
{
    for (unsigned i = 0; i < networks->count; i++) {
        if (strcmp(networks->list[i]->network, name) == 0)
            return (int)i;
    }
    return -1;
}

int daemon_networks_read(struct daemon_networks *networks, const struct daemon *daemon)
{
    const struct md_conf_object *object = &daemon->object;
    char name[64];
    int err = MD_OK;

    for (size_t i = 0; err == MD_OK && md_conf_list(object, "networkList", i, name, sizeof(name));
         i++) {
        if (daemon_networks_find(networks, name) >= 0) {
            md_log(MD_LOG_WARNING, "networkList names %s twice", name);
        } else if (networks->count == DAEMON_NETWORKS_MAX) {
            md_log(MD_LOG_CRITICAL, "networkList: more than %d networks", DAEMON_NETWORKS_MAX);
            err = MD_ERR_RANGE;
        } else {
            err = add(networks, daemon->conf, name);
        }
    }
    if (err == MD_OK && networks->count == 0)
        err = add(networks, daemon->conf, md_conf_network(daemon->conf));
    return err;
}

void daemon_networks_free(struct daemon_networks *networks)
{
    while (networks->count > 0)
        free(networks->list[--networks->count]);
}

void daemon_networks_plan(const struct daemon_networks *networks, struct daemon_memory *memory)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < networks->count; i++) {
        struct attach_settings_memory part = attach_settings_memory(networks->list[i]);
        if (networks->list[i]->config.in_process)
            bytes += ENGINE_BYTES + part.packets + part.peers + part.waiting + part.inbound_ring;
    }
    if (bytes)
        daemon_memory_add(memory, "networks", bytes);
}

/* ---- no rrcpd ---- */

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
    unsigned program = md_conf_program_bit(md_conf_program(daemon->boot_conf));
    bool has_list = md_conf_row_find("networkList", MD_CONF_DAEMON, program) &&
                    md_conf_string(&object, "networkList")[0];
    const char *param = has_list ? "networkList" : "networkName";
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

bool daemon_backbone_look(struct daemon *daemon, unsigned which,
                          const struct attach_settings *settings, bool is_attached)
{
    char path[256] = "";

    if (is_attached) {
        daemon_trouble_gone(&daemon->troubles, which, md_loop_now(daemon->loop),
                            "backbone %s: attached to its rrcpd", settings->network);
        return true;
    }
    (void)attach_socket_path(path, sizeof(path), settings->config.run_dir, settings->network,
                             settings->rrcpd_instance);
    tell(daemon, which, settings->network, path);
    return false;
}

void daemon_backbone_wait(struct daemon *daemon)
{
    uint64_t timeout_ns = md_conf_time_ns(&daemon->object, "attachTimeout");

    if (!daemon->options.no_retry || md_loop_now(daemon->loop) - daemon->ready_ns < timeout_ns)
        return;
    md_log(MD_LOG_CRITICAL, "backbone: no rrcpd within attachTimeout, and -noretry was given");
    daemon->exit_code = MD_EXIT_ATTACH;
    md_loop_stop(daemon->loop);
}
