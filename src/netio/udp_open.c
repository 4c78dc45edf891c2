/* udp_open.c - choosing an interface and setting up the sockets of udp.c. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/filter.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "netio/diagnose.h"
#include "udp_socket.h"

#define LOOPBACK_MEGABITS 10000

static int refuse(struct udp_setup *setup, int err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int refuse(struct udp_setup *setup, int err, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(setup->why, setup->why_size, format, arguments);
    va_end(arguments);
    return err;
}

/* ---- addresses ------------------------------------------------------------------------------ */

static int parse_group(struct udp_setup *setup, const char *text, uint16_t port,
                       struct udp_path *path)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)&path->group;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&path->group;

    memset(&path->group, 0, sizeof(path->group));
    if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        path->group_length = sizeof(*v4);
        path->is_broadcast = !IN_MULTICAST(ntohl(v4->sin_addr.s_addr));
        return 0;
    }
    if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1 && IN6_IS_ADDR_MULTICAST(&v6->sin6_addr)) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        path->group_length = sizeof(*v6);
        return 0;
    }
    return refuse(setup, MD_ERR_RANGE,
                  "multicastAddress: \"%s\" is neither a multicast group nor a broadcast address; "
                  "example: 239.255.82.82, ff15::5252, 192.168.1.255",
                  text);
}

static void print_address(const struct sockaddr *address, char *out, size_t size)
{
    const void *bytes =
        address->sa_family == AF_INET
            ? (const void *)&((const struct sockaddr_in *)(const void *)address)->sin_addr
            : (const void *)&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;

    if (!inet_ntop(address->sa_family, bytes, out, (socklen_t)size))
        snprintf(out, size, "?");
}

/* Does this address of an interface answer to the configured name, address or prefix? */
static bool is_meant(const struct ifaddrs *entry, const char *wanted)
{
    char text[INET6_ADDRSTRLEN];

    print_address(entry->ifa_addr, text, sizeof(text));
    return strcmp(entry->ifa_name, wanted) == 0 || strcmp(text, wanted) == 0;
}

/* The interface whose broadcast address is the group. */
static bool has_broadcast(const struct ifaddrs *entry, const struct udp_path *path)
{
    const struct sockaddr_in *group = (const struct sockaddr_in *)&path->group;

    if (entry->ifa_addr->sa_family != AF_INET || !entry->ifa_netmask)
        return false;
    uint32_t own = ((const struct sockaddr_in *)(const void *)entry->ifa_addr)->sin_addr.s_addr;
    uint32_t mask = ((const struct sockaddr_in *)(const void *)entry->ifa_netmask)->sin_addr.s_addr;
    return (own | ~mask) == group->sin_addr.s_addr;
}

/* An address that means something on one link only, and there each host has one like it. */
static bool is_of_the_link(const struct ifaddrs *entry)
{
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)entry->ifa_addr;

    return v6->sin6_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr);
}

/* The interface lo may have others, which each network reaches. */
static bool is_loopback(const struct sockaddr *address)
{
    const struct sockaddr_in *v4 = (const void *)address;
    const struct sockaddr_in6 *v6 = (const void *)address;

    return address->sa_family == AF_INET ? ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET
                                         : IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

static void take_interface(struct udp_setup *setup, const struct ifaddrs *entry,
                           struct udp_path *path)
{
    char text[INET6_ADDRSTRLEN];
    bool is_v4 = path->group.ss_family == AF_INET;
    size_t length = is_v4 ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    char *report = setup->report->interface[setup->path_index];

    memset(&path->local, 0, sizeof(path->local));
    memcpy(&path->local, entry->ifa_addr, length);
    path->index = if_nametoindex(entry->ifa_name);
    snprintf(path->name, sizeof(path->name), "%s", entry->ifa_name);
    path->is_loopback = entry->ifa_flags & IFF_LOOPBACK;
    print_address(entry->ifa_addr, text, sizeof(text));
    snprintf(report, sizeof(setup->report->interface[0]), "%s %s", path->name, text);
    setup->report->is_loopback[setup->path_index] =
        entry->ifa_flags & IFF_LOOPBACK && (!path->is_mesh || is_loopback(entry->ifa_addr));
    if (!is_v4)
        ((struct sockaddr_in6 *)&path->group)->sin6_scope_id = path->index;
}

/*
 * Never guess: a host with several networks that is not told which one to use would talk on the
 * wrong one and look healthy. Loopback counts only when it is named.
 */
static int choose_interface(struct udp_setup *setup, const char *wanted, struct udp_path *path)
{
    char list[160] = "";
    char reason[400];
    size_t used = 0;
    int found = 0;
    struct ifaddrs *all;
    const struct ifaddrs *chosen = NULL;
    bool is_named = wanted && *wanted;

    if (getifaddrs(&all) != 0)
        return refuse(setup, MD_ERR_SYS, "cannot list interfaces: %s", strerror(errno));
    for (const struct ifaddrs *entry = all; entry; entry = entry->ifa_next) {
        unsigned need = path->is_broadcast || path->is_mesh ? IFF_UP : IFF_UP | IFF_MULTICAST;

        if (!entry->ifa_addr || entry->ifa_addr->sa_family != path->group.ss_family)
            continue;
        if (path->is_mesh && is_of_the_link(entry))
            continue;
        if (is_named && !is_meant(entry, wanted))
            continue;
        if (is_named && path->is_broadcast && !has_broadcast(entry, path))
            continue;
        if (!is_named && ((entry->ifa_flags & IFF_LOOPBACK) || (entry->ifa_flags & need) != need))
            continue;
        if (!is_named && path->is_broadcast && !has_broadcast(entry, path))
            continue;
        if (chosen && strcmp(chosen->ifa_name, entry->ifa_name) == 0)
            continue; /* a second address of the same interface */
        if (!chosen)
            chosen = entry;
        found++;
        char text[INET6_ADDRSTRLEN];
        print_address(entry->ifa_addr, text, sizeof(text));
        int wrote = snprintf(list + used, sizeof(list) - used, "%s%s (%s)", used ? ", " : "",
                             entry->ifa_name, text);
        if (wrote > 0 && (size_t)wrote < sizeof(list) - used)
            used += (size_t)wrote;
    }
    int err = 0;
    if (found == 1 || (is_named && found > 1))
        take_interface(setup, chosen, path);
    else if (is_named) {
        net_interface_why(wanted, path->group.ss_family, reason, sizeof(reason));
        err = refuse(setup, MD_ERR_NOT_FOUND, "%s: %s",
                     setup->path_index ? "secondInterface" : "interface", reason);
    } else if (found == 0)
        err = refuse(setup, MD_ERR_NOT_FOUND,
                     "no interface is up that fits the group; name one with interface (for a "
                     "single host: interface : lo)");
    else
        err = refuse(setup, MD_ERR_RANGE,
                     "several interfaces could carry the backbone: %s; say which with interface, "
                     "example: *rrcp*interface : %s",
                     list, chosen->ifa_name);
    freeifaddrs(all);
    return err;
}

/* The first line of a file of the kernel's; "" if it cannot be read. */
static void read_line(const char *path, char *text, int size)
{
    FILE *file = fopen(path, "re");

    if (!file || !fgets(text, size, file))
        text[0] = 0;
    if (file)
        fclose(file);
}

/* A fixed port inside the range the kernel takes ephemeral ports from may be taken by anybody. */
static bool is_ephemeral(uint16_t port)
{
    char text[64];
    char *end = text;

    read_line("/proc/sys/net/ipv4/ip_local_port_range", text, sizeof(text));
    unsigned long low = strtoul(text, &end, 10);
    unsigned long high = strtoul(end, NULL, 10);
    return port != 0 && port >= low && port <= high; /* 0 to 0 if it cannot be read */
}

/* Bits per second, 0 where the interface does not say. The loopback never does, and is memory. */
static uint64_t interface_speed(const struct udp_path *path)
{
    char file[64 + IF_NAMESIZE];
    char text[64];

    if (path->is_loopback)
        return LOOPBACK_MEGABITS * 1000000ull;
    snprintf(file, sizeof(file), "/sys/class/net/%s/speed", path->name);
    read_line(file, text, sizeof(text));
    long megabits = strtol(text, NULL, 10);
    return megabits > 0 ? (uint64_t)megabits * 1000000 : 0;
}

/* ---- sockets -------------------------------------------------------------------------------- */

static int set_int(int fd, int level, int name, int value)
{
    return setsockopt(fd, level, name, &value, sizeof(value));
}

/* Ask beyond the system's limit first (needs CAP_NET_ADMIN), then for what is allowed. */
static size_t set_buffer(int fd, int force, int plain, size_t bytes)
{
    int value = bytes > INT32_MAX / 2 ? INT32_MAX / 2 : (int)bytes;
    socklen_t length = sizeof(value);

    if (setsockopt(fd, SOL_SOCKET, force, &value, sizeof(value)) != 0)
        (void)setsockopt(fd, SOL_SOCKET, plain, &value, sizeof(value));
    if (getsockopt(fd, SOL_SOCKET, plain, &value, &length) != 0)
        return 0;
    return (size_t)value / 2; /* the kernel doubles what is asked for its own overhead */
}

/*
 * Our packets to the group come back to our own group socket, since other daemons of this host must
 * receive them. This filter drops it in the kernel, before it costs a queue slot and a copy.
 * Offsets: the filter sees the UDP header at 0; SKF_NET_OFF is the IP header.
 */
static void ignore_own_packets(struct udp_path *path)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&path->local;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&path->local;
    struct sock_filter code[16];
    struct sock_fprog program = { .filter = code };
    uint32_t words[4];
    int word_count = 1;
    uint32_t offset = (uint32_t)SKF_NET_OFF + 12;
    unsigned short n = 0;

    words[0] = ntohl(v4->sin_addr.s_addr);
    if (path->local.ss_family == AF_INET6) {
        memcpy(words, &v6->sin6_addr, sizeof(words));
        for (int i = 0; i < 4; i++)
            words[i] = ntohl(words[i]);
        word_count = 4;
        offset = (uint32_t)SKF_NET_OFF + 8;
    }
    uint8_t accept = (uint8_t)(2 * word_count + 1); /* jumps are relative: shrinks as we go */

    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 0);
    code[n++] =
        (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ntohs(v4->sin_port), 0, accept);
    for (int i = 0; i < word_count; i++) {
        accept = (uint8_t)(accept - 2);
        code[n++] =
            (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset + 4 * (uint32_t)i);
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, words[i], 0, accept);
    }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0xffffffff);
    program.len = n;
    /* Without it the engine drops the same packets by their session; only slower. */
    path->has_filter =
        setsockopt(path->group_fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) == 0;
}

static int set_sending(struct udp_setup *setup, struct udp_path *path)
{
    int fd = path->unicast_fd;
    int failed = 0;

    if (path->group.ss_family == AF_INET) {
        struct ip_mreqn request = { .imr_ifindex = (int)path->index };

        failed |= set_int(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
        if (path->is_broadcast) {
            failed |= set_int(fd, SOL_SOCKET, SO_BROADCAST, 1);
        } else if (!path->is_mesh) {
            failed |= setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &request, sizeof(request));
            failed |= set_int(fd, IPPROTO_IP, IP_MULTICAST_TTL, setup->config->ttl);
            failed |= set_int(fd, IPPROTO_IP, IP_MULTICAST_LOOP, 1);
        }
    } else {
        failed |= set_int(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO);
        if (!path->is_mesh) {
            failed |= set_int(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, (int)path->index);
            failed |= set_int(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, setup->config->ttl);
            failed |= set_int(fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 1);
        }
    }
    if (failed)
        return refuse(setup, MD_ERR_SYS, "cannot set up sending on %s: %s", path->name,
                      strerror(errno));
    return 0;
}

static void set_port(struct sockaddr_storage *address, uint16_t port)
{
    if (address->ss_family == AF_INET)
        ((struct sockaddr_in *)address)->sin_port = htons(port);
    else
        ((struct sockaddr_in6 *)address)->sin6_port = htons(port);
}

static int bind_unicast(struct udp_setup *setup, struct udp_path *path)
{
    const struct net_udp_config *config = setup->config;
    uint32_t last = config->unicast_port ? config->unicast_port + config->port_roam_range : 0;
    socklen_t length = path->group_length;

    for (uint32_t port = config->unicast_port;; port++) {
        set_port(&path->local, (uint16_t)port);
        if (bind(path->unicast_fd, (struct sockaddr *)&path->local, length) == 0)
            break;
        if (errno != EADDRINUSE)
            return refuse(setup, MD_ERR_SYS, "cannot bind port %u on %s: %s", port, path->name,
                          strerror(errno));
        if (port >= last || port >= 65535)
            return refuse(setup, MD_ERR_EXISTS,
                          "unicastPort: port %u on %s is in use; use 0 for any free one, or "
                          "portRoamRange",
                          port, path->name);
    }
    if (getsockname(path->unicast_fd, (struct sockaddr *)&path->local, &length) != 0)
        return refuse(setup, MD_ERR_SYS, "getsockname: %s", strerror(errno));
    setup->report->unicast_port = ntohs(((struct sockaddr_in *)&path->local)->sin_port);
    return 0;
}

/* Bound to the group itself, so that other groups on the same port are not ours to sort out. */
static int join_group(struct udp_setup *setup, struct udp_path *path)
{
    int fd = path->group_fd;

    if (set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1) != 0 ||
        bind(fd, (struct sockaddr *)&path->group, path->group_length) != 0)
        return refuse(setup, errno == EADDRINUSE ? MD_ERR_EXISTS : MD_ERR_SYS,
                      "cannot bind group port %u on %s: %s", setup->config->group_port, path->name,
                      strerror(errno));
    if (path->is_broadcast)
        return 0;
    int failed;
    if (path->group.ss_family == AF_INET) {
        struct ip_mreqn request = { .imr_ifindex = (int)path->index };

        request.imr_multiaddr = ((struct sockaddr_in *)&path->group)->sin_addr;
        failed = setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof(request));
        failed |= set_int(fd, IPPROTO_IP, IP_MULTICAST_ALL, 0);
    } else {
        struct ipv6_mreq request = { .ipv6mr_interface = path->index };

        request.ipv6mr_multiaddr = ((struct sockaddr_in6 *)&path->group)->sin6_addr;
        failed = setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &request, sizeof(request));
    }
    if (failed)
        return refuse(setup, MD_ERR_SYS, "cannot join the group on %s: %s", path->name,
                      strerror(errno));
    return 0;
}

static void set_receiving(struct udp_setup *setup, struct udp_path *path, int fd)
{
    const struct net_udp_config *config = setup->config;
    size_t got = set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, config->receive_buffer);

    if (setup->report->receive_buffer_got == 0 || got < setup->report->receive_buffer_got)
        setup->report->receive_buffer_got = got;
    (void)set_int(fd, SOL_SOCKET, SO_RXQ_OVFL, 1);
    if (config->busy_poll_us)
        (void)set_int(fd, SOL_SOCKET, SO_BUSY_POLL, (int)config->busy_poll_us);
    if (!config->no_segmentation && set_int(fd, IPPROTO_UDP, UDP_GRO, 1) == 0)
        path->has_gro = true;
}

int udp_path_choose(struct udp_setup *setup, const struct net_udp_path *wanted,
                    struct udp_path *path)
{
    int err = parse_group(setup, wanted->group, setup->config->group_port, path);

    return err ? err : choose_interface(setup, wanted->interface, path);
}

/* The path that the sending socket has, and its interface as far as it is known. */
static void settle_path(struct udp_setup *setup, struct udp_path *path)
{
    int probe = 0;
    socklen_t length = sizeof(probe);

    setup->report->send_buffer_got =
        set_buffer(path->unicast_fd, SO_SNDBUFFORCE, SO_SNDBUF, setup->config->send_buffer);
    setup->report->port_is_ephemeral =
        is_ephemeral(setup->config->group_port) || is_ephemeral(setup->config->unicast_port);
    path->bits_per_s = interface_speed(path);
    path->has_gso = !setup->config->no_segmentation &&
                    getsockopt(path->unicast_fd, IPPROTO_UDP, UDP_SEGMENT, &probe, &length) == 0;
}

int udp_path_open(struct udp_setup *setup, const struct net_udp_path *wanted, struct udp_path *path)
{
    path->group_fd = path->unicast_fd = -1;
    int err = udp_path_choose(setup, wanted, path);
    if (err)
        return err;
    int family = path->group.ss_family;
    int kind = SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC;

    path->unicast_fd = socket(family, kind, 0);
    path->group_fd = socket(family, kind, 0);
    if (path->unicast_fd < 0 || path->group_fd < 0)
        return refuse(setup, MD_ERR_SYS, "socket: %s", strerror(errno));
    err = bind_unicast(setup, path);
    if (!err)
        err = set_sending(setup, path);
    if (!err)
        err = join_group(setup, path);
    if (err)
        return err;
    udp_sources_interface(&path->sources, path->name);
    err = udp_sources_list(&path->sources, setup->config->peers, setup->why, setup->why_size);
    if (err)
        return err;
    set_receiving(setup, path, path->unicast_fd);
    set_receiving(setup, path, path->group_fd);
    ignore_own_packets(path);
    settle_path(setup, path);
    return 0;
}

int udp_path_open_mesh(struct udp_setup *setup, const char *interface, int family,
                       struct udp_path *path)
{
    path->group_fd = path->unicast_fd = -1;
    path->is_mesh = true;
    path->group.ss_family = (sa_family_t)family;
    path->group_length =
        family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    int err = choose_interface(setup, interface, path);
    if (err)
        return err;
    path->unicast_fd = socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (path->unicast_fd < 0)
        return refuse(setup, MD_ERR_SYS, "socket: %s", strerror(errno));
    err = bind_unicast(setup, path);
    if (!err)
        err = set_sending(setup, path);
    if (!err)
        err = udp_sources_list(&path->sources, setup->config->peers, setup->why, setup->why_size);
    if (err)
        return err;
    set_receiving(setup, path, path->unicast_fd);
    settle_path(setup, path);
    return 0;
}

void udp_path_close(struct udp_path *path)
{
    if (path->group_fd >= 0)
        close(path->group_fd);
    if (path->unicast_fd >= 0)
        close(path->unicast_fd);
    path->group_fd = path->unicast_fd = -1;
}
