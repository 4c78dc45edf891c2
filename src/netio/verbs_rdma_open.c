/* verbs_rdma_open.c - finding the port of an interface, and why it cannot be used. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/err.h"
#include "verbs_rdma.h"

enum { RECEIVE_DEPTH_MIN = 256, RECEIVE_DEPTH_MAX = 16384 };

/* ---- what is wrong --------------------------------------------------------------------------- */

/* "rxe1, mlx5_0"; returns how many. */
static int list_devices(char *out, size_t size)
{
    int count = 0;
    size_t used = 0;
    struct ibv_device **all = ibv_get_device_list(&count);

    out[0] = '\0';
    for (int i = 0; all && i < count; i++) {
        int wrote = snprintf(out + used, size - used, "%s%s", used ? ", " : "",
                             ibv_get_device_name(all[i]));

        if (wrote > 0 && (size_t)wrote < size - used)
            used += (size_t)wrote;
    }
    if (all)
        ibv_free_device_list(all);
    return all ? count : 0;
}

/* Does the kernel have a device, whatever the library of user space makes of it? */
static bool kernel_has_device(void)
{
    DIR *folder = opendir("/sys/class/infiniband");
    bool has_one = false;

    for (struct dirent *entry; folder && (entry = readdir(folder));)
        has_one = has_one || entry->d_name[0] != '.';
    if (folder)
        closedir(folder);
    return has_one;
}

static int no_device(char *why, size_t why_size)
{
    snprintf(
        why, why_size,
        kernel_has_device()
            ? "transport: the kernel has an RDMA device, and libibverbs knows none: install "
              "the package ibverbs-providers (rdma-core elsewhere)"
            : "transport: verbs, and this host has no RDMA device: look at `rdma link`; is the "
              "adapter's driver loaded? without an adapter write transport : udp");
    return MD_ERR_NOT_FOUND;
}

void verbs_rdma_why(int error, const char *what, size_t bytes, char *why, size_t why_size)
{
    struct rlimit limit = { 0 };

    (void)getrlimit(RLIMIT_MEMLOCK, &limit);
    if (error == ENOMEM && limit.rlim_cur != RLIM_INFINITY)
        snprintf(why, why_size,
                 "transport: %s needs %zu KB of pinned memory beside what is pinned already, and "
                 "the limit of this process is %llu KB (RLIMIT_MEMLOCK): write "
                 "LimitMEMLOCK=infinity in its unit, or call ulimit -l unlimited before it",
                 what, bytes / 1024, (unsigned long long)limit.rlim_cur / 1024);
    else
        snprintf(why, why_size, "transport: the RDMA device refuses %s of %zu KB: %s", what,
                 bytes / 1024, strerror(error));
}

static int not_active(const struct verbs_device_info *info, const struct ibv_port_attr *port,
                      char *why, size_t why_size)
{
    snprintf(why, why_size, "rdmaDevice: port %u of %s is %s: %s", info->port, info->name,
             ibv_port_state_str(port->state),
             port->state == IBV_PORT_INIT || port->state == IBV_PORT_ARMED
                 ? "it waits for a subnet manager; is opensm running somewhere?"
                 : "look at the cable, the switch and `ip link`");
    return MD_ERR_NOT_FOUND;
}

/* ---- choosing -------------------------------------------------------------------------------- */

/*
 * librdmacm keeps a device open for ever, and the kernel lets some devices (soft-RoCE) not go
 * before they are closed. Asked for its list it closes those that are about to go.
 */
void verbs_rdma_let_go(void)
{
    int count;
    struct ibv_context **all = rdma_get_devices(&count);

    if (all)
        rdma_free_devices(all);
}

static int bind_to(struct verbs_device *device, const struct verbs_device_config *config, char *why,
                   size_t why_size)
{
    struct sockaddr_storage local = config->local;
    char devices[120];

    if (list_devices(devices, sizeof(devices)) == 0)
        return no_device(why, why_size);
    device->events = rdma_create_event_channel();
    if (!device->events || rdma_create_id(device->events, &device->id, device, RDMA_PS_UDP) != 0) {
        snprintf(why, why_size, "transport: /dev/infiniband/rdma_cm: %s%s", strerror(errno),
                 errno == ENOENT || errno == ENODEV ? "; load the module rdma_ucm" : "");
        return MD_ERR_NOT_FOUND;
    }
    if (rdma_bind_addr(device->id, (struct sockaddr *)&local) != 0 || !device->id->verbs) {
        snprintf(why, why_size, "interface: %s has no RDMA device (%s); devices of this host: %s",
                 config->interface, strerror(errno), devices);
        return MD_ERR_NOT_FOUND;
    }
    const char *name = ibv_get_device_name(device->id->verbs->device);
    if (config->device[0] && strcmp(config->device, name) != 0) {
        snprintf(why, why_size,
                 "rdmaDevice: interface %s is of %s, not of %s; devices of this "
                 "host: %s",
                 config->interface, name, config->device, devices);
        return MD_ERR_RANGE;
    }
    if (config->port && config->port != device->id->port_num) {
        snprintf(why, why_size, "rdmaPort: interface %s is port %u of %s, not %u",
                 config->interface, device->id->port_num, name, config->port);
        return MD_ERR_RANGE;
    }
    int flags = fcntl(device->events->fd, F_GETFL);
    return fcntl(device->events->fd, F_SETFL, flags | O_NONBLOCK) == 0 ? 0 : MD_ERR_SYS;
}

/* Lanes and their speed as the port attributes have them; 0 where it is not known. */
static uint64_t speed(const struct ibv_port_attr *port)
{
    static const struct {
        uint8_t code;
        uint32_t megabits;
    } speeds[] = { { 1, 2000 },   { 2, 4000 },   { 4, 8000 },   { 8, 10000 },
                   { 16, 13600 }, { 32, 25000 }, { 64, 50000 }, { 128, 100000 } };
    uint64_t lanes = port->active_width == 1    ? 1
                     : port->active_width == 2  ? 4
                     : port->active_width == 4  ? 8
                     : port->active_width == 8  ? 12
                     : port->active_width == 16 ? 2
                                                : 0;

    for (size_t i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++)
        if (speeds[i].code == port->active_speed)
            return lanes * speeds[i].megabits * 1000000u;
    return 0;
}

static uint32_t least(uint64_t a, uint64_t b)
{
    return (uint32_t)(a < b ? a : b);
}

static void plan(const struct verbs_device_config *config, const struct ibv_port_attr *port,
                 const struct ibv_device_attr *can, struct verbs_device_info *info)
{
    info->mtu = 128u << port->active_mtu;
    info->bits_per_s = speed(port);
    info->is_infiniband = port->link_layer == IBV_LINK_LAYER_INFINIBAND;
    uint64_t most = least((uint64_t)can->max_qp_wr, (uint64_t)can->max_cqe);
    uint64_t slots = config->receive_bytes / (info->mtu + VERBS_GRH_BYTES);
    if (slots < RECEIVE_DEPTH_MIN)
        slots = RECEIVE_DEPTH_MIN;
    if (slots > RECEIVE_DEPTH_MAX)
        slots = RECEIVE_DEPTH_MAX;
    info->receive_depth = least(slots, most);
    info->send_depth = least(config->send_depth, most);
}

int verbs_rdma_choose(struct verbs_device *device, const struct verbs_device_config *config,
                      struct verbs_device_info *info, char *why, size_t why_size)
{
    struct ibv_port_attr port;
    struct ibv_device_attr can;
    int err = bind_to(device, config, why, why_size);

    if (err)
        return err;
    snprintf(info->name, sizeof(info->name), "%s", ibv_get_device_name(device->id->verbs->device));
    info->port = device->port = device->id->port_num;
    if (ibv_query_port(device->id->verbs, info->port, &port) != 0 ||
        ibv_query_device(device->id->verbs, &can) != 0) {
        snprintf(why, why_size, "rdmaDevice: %s does not answer: %s", info->name, strerror(errno));
        return MD_ERR_NOT_FOUND;
    }
    if (port.state != IBV_PORT_ACTIVE)
        return not_active(info, &port, why, why_size);
    plan(config, &port, &can, info);
    device->is_infiniband = info->is_infiniband;
    return 0;
}
