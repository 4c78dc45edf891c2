/* diagnose.c - see netio/diagnose.h: who holds a port, which interfaces there are. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "netio/diagnose.h"

#define TCP_LISTENS 0x0a

/* ---- ports ---- */

/* A line of /proc/net/tcp: "0: 0100007F:36B2 00000000:0000 0A tx:rx tr:when retransmits uid ..." */
static bool find_socket(const char *path, uint16_t port, bool is_udp, unsigned *uid,
                        unsigned long *inode)
{
    char line[512];
    bool is_found = false;
    FILE *file = fopen(path, "re");

    while (file && !is_found && fgets(line, sizeof(line), file)) {
        unsigned local, state;

        is_found =
            sscanf(line, " %*[^:]: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*s %*s %*s %u %*s %lu",
                   &local, &state, uid, inode) == 4 &&
            local == port && (is_udp || state == TCP_LISTENS);
    }
    if (file)
        fclose(file);
    return is_found;
}

static bool has_socket(const char *pid, const char *wanted)
{
    char path[320];
    char link[64];
    bool is_found = false;
    struct dirent *entry;

    snprintf(path, sizeof(path), "/proc/%.20s/fd", pid);
    DIR *folder = opendir(path);
    while (folder && !is_found && (entry = readdir(folder)) != NULL) {
        ssize_t length = readlinkat(dirfd(folder), entry->d_name, link, sizeof(link) - 1);

        link[length > 0 ? length : 0] = '\0';
        is_found = strcmp(link, wanted) == 0;
    }
    if (folder)
        closedir(folder);
    return is_found;
}

static bool find_process(unsigned long inode, char *out, size_t size)
{
    char wanted[64], path[64];
    char name[32] = "";
    bool is_found = false;
    struct dirent *entry;
    DIR *folder = opendir("/proc");

    snprintf(wanted, sizeof(wanted), "socket:[%lu]", inode);
    while (folder && !is_found && (entry = readdir(folder)) != NULL)
        if (isdigit((unsigned char)entry->d_name[0]) && has_socket(entry->d_name, wanted)) {
            snprintf(path, sizeof(path), "/proc/%.20s/comm", entry->d_name);
            FILE *file = fopen(path, "re");
            if (file && fgets(name, sizeof(name), file))
                name[strcspn(name, "\n")] = '\0';
            if (file)
                fclose(file);
            snprintf(out, size, "%s, pid %.20s", name[0] ? name : "a process", entry->d_name);
            is_found = true;
        }
    if (folder)
        closedir(folder);
    return is_found;
}

bool net_port_holder(uint16_t port, bool is_udp, char *out, size_t size)
{
    unsigned uid;
    unsigned long inode;

    out[0] = '\0';
    if (!find_socket(is_udp ? "/proc/net/udp" : "/proc/net/tcp", port, is_udp, &uid, &inode) &&
        !find_socket(is_udp ? "/proc/net/udp6" : "/proc/net/tcp6", port, is_udp, &uid, &inode))
        return false;
    if (!find_process(inode, out, size))
        snprintf(out, size, "a process of user %u", uid);
    return true;
}

void net_port_range(uint16_t *first, uint16_t *last)
{
    unsigned low = 0;
    unsigned high = 0;
    FILE *file = fopen("/proc/sys/net/ipv4/ip_local_port_range", "re");

    if (file && fscanf(file, "%u %u", &low, &high) != 2)
        low = high = 0;
    if (file)
        fclose(file);
    *first = (uint16_t)low;
    *last = (uint16_t)high;
}

/* ---- interfaces ---- */

static bool address_text(const struct ifaddrs *entry, char *out, size_t size)
{
    const struct sockaddr *address = entry->ifa_addr;

    if (!address)
        return false;
    if (address->sa_family == AF_INET)
        return inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)address)->sin_addr,
                         out, (socklen_t)size) != NULL;
    return address->sa_family == AF_INET6 &&
           inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr,
                     out, (socklen_t)size) != NULL;
}

/* The first address of an interface of a family; AF_UNSPEC: of either. */
static bool first_address(const struct ifaddrs *all, const char *name, int family, char *out,
                          size_t size)
{
    for (const struct ifaddrs *entry = all; entry; entry = entry->ifa_next)
        if (strcmp(entry->ifa_name, name) == 0 && entry->ifa_addr &&
            (family == AF_UNSPEC || entry->ifa_addr->sa_family == family) &&
            address_text(entry, out, size))
            return true;
    return false;
}

void net_interface_list(int family, char *out, size_t size)
{
    struct ifaddrs *all = NULL;
    struct if_nameindex *names = if_nameindex();
    size_t used = 0;

    out[0] = '\0';
    if (getifaddrs(&all) != 0)
        all = NULL;
    for (const struct if_nameindex *name = names; name && name->if_name; name++) {
        char text[INET6_ADDRSTRLEN] = "no address";

        if (!first_address(all, name->if_name, family, text, sizeof(text)))
            (void)first_address(all, name->if_name, AF_UNSPEC, text, sizeof(text));
        int wrote =
            snprintf(out + used, size - used, "%s%s (%s)", used ? ", " : "", name->if_name, text);
        if (wrote < 0 || (size_t)wrote >= size - used) {
            out[used] = '\0'; /* no half names */
            break;
        }
        used += (size_t)wrote;
    }
    if (names)
        if_freenameindex(names);
    if (all)
        freeifaddrs(all);
}

enum net_interface_state net_interface_look(const char *wanted, int family)
{
    struct ifaddrs *all;
    enum net_interface_state state =
        if_nametoindex(wanted) ? NET_INTERFACE_NO_ADDRESS : NET_INTERFACE_UNKNOWN;

    if (getifaddrs(&all) != 0)
        return state;
    for (const struct ifaddrs *entry = all; entry && state != NET_INTERFACE_FITS;
         entry = entry->ifa_next) {
        char text[INET6_ADDRSTRLEN];

        if (!address_text(entry, text, sizeof(text)) ||
            (strcmp(entry->ifa_name, wanted) != 0 && strcmp(text, wanted) != 0))
            continue;
        if (entry->ifa_addr->sa_family == family)
            state = entry->ifa_flags & IFF_UP ? NET_INTERFACE_FITS : NET_INTERFACE_DOWN;
        else if (state != NET_INTERFACE_DOWN)
            state = NET_INTERFACE_OTHER_FAMILY;
    }
    freeifaddrs(all);
    return state;
}

void net_interface_why(const char *wanted, int family, char *out, size_t size)
{
    const char *version = family == AF_INET ? "IPv4" : "IPv6";
    const char *other = family == AF_INET ? "IPv6" : "IPv4";
    char list[256];

    net_interface_list(family, list, sizeof(list));
    switch (net_interface_look(wanted, family)) {
    case NET_INTERFACE_UNKNOWN:
        snprintf(out, size, "no interface of this host has the name or address %s; there are: %s",
                 wanted, list);
        break;
    case NET_INTERFACE_NO_ADDRESS:
        snprintf(out, size, "%s has no address, the group needs one of %s; there are: %s", wanted,
                 version, list);
        break;
    case NET_INTERFACE_OTHER_FAMILY:
        snprintf(out, size, "%s has an address of %s only, the group is of %s; there are: %s",
                 wanted, other, version, list);
        break;
    case NET_INTERFACE_DOWN:
        snprintf(out, size, "%s is down; ip link set %s up", wanted, wanted);
        break;
    case NET_INTERFACE_FITS:
        snprintf(out, size, "%s does not fit the group; there are: %s", wanted, list);
        break;
    }
}
