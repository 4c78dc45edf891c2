/* verbs_load.c - the program's side of librmds-verbs.so; see netio/verbs.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "netio/verbs.h"
#include "plugin.h"
#include "udp_socket.h"
#include "verbs_plugin.h"
#include "verbs_private.h"

/* ---- the object ------------------------------------------------------------------------------ */

static const struct verbs_plugin *load(char *why, size_t why_size)
{
    static const struct verbs_plugin *loaded;

    if (!loaded)
        loaded = net_plugin_load(VERBS_PLUGIN_FILE, VERBS_PLUGIN_SYMBOL, VERBS_PLUGIN_SIZE, why,
                                 why_size);
    return loaded;
}

bool net_verbs_is_here(char *why, size_t why_size)
{
    return load(why, why_size) && net_plugin_path(VERBS_PLUGIN_FILE, why, why_size);
}

/* ---- the configuration ----------------------------------------------------------------------- */

/* "rxe1" -> "eth0": the interface the kernel names for the first address of a port. */
static bool interface_of(const char *device, uint8_t port, char *out, int size)
{
    char path[160];
    bool has_one = false;

    if (strchr(device, '/'))
        return false;
    snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/%u/gid_attrs/ndevs/0", device,
             port ? port : 1);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    if (fgets(out, size, file)) {
        out[strcspn(out, "\n")] = '\0';
        has_one = out[0] != '\0';
    }
    fclose(file);
    return has_one;
}

static bool is_there(const char *device)
{
    char path[160];

    snprintf(path, sizeof(path), "/sys/class/infiniband/%s", device);
    return !strchr(device, '/') && access(path, F_OK) == 0;
}

/* The name of an interface is missing, and the name of a device may say which one is meant. */
static int choose_by_device(const struct net_verbs_config *config, struct net_udp_path *path,
                            char *name, int name_size, char *why, size_t why_size)
{
    if (!config->device || !*config->device)
        return 0;
    if (!is_there(config->device)) {
        snprintf(why, why_size, "rdmaDevice: this host has no device %s; look at `rdma link`",
                 config->device);
        return MD_ERR_NOT_FOUND;
    }
    if (path->interface && *path->interface)
        return 0;
    if (!interface_of(config->device, config->port, name, name_size)) {
        snprintf(why, why_size,
                 "interface: say which one, too; the kernel does not tell that of device %s",
                 config->device);
        return MD_ERR_RANGE;
    }
    path->interface = name;
    return 0;
}

static int prepare_path(const struct net_verbs_config *config, int index, struct udp_setup *setup,
                        struct verbs_config *out)
{
    struct net_udp_path wanted = config->ip.paths[index];
    struct verbs_device_config *device = &out->paths[index];
    struct udp_path path = { .group_fd = -1, .unicast_fd = -1 };
    char name[IF_NAMESIZE];
    int err = 0;

    if (index == 0)
        err = choose_by_device(config, &wanted, name, sizeof(name), setup->why, setup->why_size);
    if (!err)
        err = udp_path_choose(setup, &wanted, &path);
    if (err)
        return err;
    if (path.is_broadcast) {
        snprintf(setup->why, setup->why_size,
                 "multicastAddress: %s is a broadcast address, and transport : verbs needs a "
                 "multicast group; example: 239.255.82.82",
                 wanted.group);
        return MD_ERR_RANGE;
    }
    *device = (struct verbs_device_config){ .local = path.local,
                                            .group = path.group,
                                            .send_depth = VERBS_SEND_DEPTH,
                                            .receive_bytes = config->ip.receive_buffer,
                                            .hop_limit = config->ip.ttl };
    snprintf(device->interface, sizeof(device->interface), "%s", setup->report->interface[index]);
    if (index == 0) {
        snprintf(device->device, sizeof(device->device), "%s",
                 config->device ? config->device : "");
        device->port = config->port;
    }
    udp_sources_interface(&out->sources[index], path.name);
    return udp_sources_list(&out->sources[index], config->ip.peers, setup->why, setup->why_size);
}

static void log_text(int severity, const char *text)
{
    md_log((enum md_log_severity)severity, "%s", text);
}

int net_verbs_open(const struct net_verbs_config *config, struct net_udp_report *report, char *why,
                   size_t why_size, struct net_packet_io **out)
{
    struct udp_setup setup = {
        .config = &config->ip, .report = report, .why = why, .why_size = why_size
    };
    struct verbs_config verbs = { .path_count = config->ip.path_count == 2 ? 2 : 1,
                                  .payload_max = config->ip.payload_max,
                                  .any_source = config->ip.any_source,
                                  .log = log_text };
    struct verbs_report opened = { 0 };
    char reason[200];

    *out = NULL;
    memset(report, 0, sizeof(*report));
    for (; setup.path_index < verbs.path_count; setup.path_index++) {
        int err = prepare_path(config, setup.path_index, &setup, &verbs);

        if (err)
            return err;
    }
    const struct verbs_plugin *plugin = load(reason, sizeof(reason));
    if (!plugin) {
        snprintf(why, why_size, "transport: verbs: %s", reason);
        return MD_ERR_NOT_FOUND;
    }
    int err = plugin->open(&verbs, &opened, why, why_size, out);
    if (err)
        return err;
    snprintf(report->transport, sizeof(report->transport),
             "RDMA device %.40s port %u, packets of %zu bytes", opened.paths[0].name,
             opened.paths[0].port, opened.payload_max);
    return 0;
}
