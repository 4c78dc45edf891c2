/* host.c - see look.h: ports and interfaces of this host. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attach/node.h"
#include "base/err.h"
#include "look.h"
#include "netio/diagnose.h"
#include "netio/rsocket.h"
#include "netio/udp.h"
#include "netio/verbs.h"

/* ---- ports ---- */

/* Bind it for a moment; nothing listens on it. 0 or errno. */
static int try_port(const char *address, uint16_t port, bool is_udp)
{
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
    struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(port) };
    bool is_v6 = strchr(address, ':') && inet_pton(AF_INET6, address, &v6.sin6_addr) == 1;
    const int yes = 1;
    int err = 0;

    if (!is_v6 && address[0] && inet_pton(AF_INET, address, &v4.sin_addr) != 1)
        return 0; /* a name: the daemon itself asks for its address */
    int fd =
        socket(is_v6 ? AF_INET6 : AF_INET, (is_udp ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return 0;
    if (!is_udp)
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (bind(fd, is_v6 ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4,
             is_v6 ? sizeof(v6) : sizeof(v4)) != 0)
        err = errno;
    close(fd);
    return err;
}

/* A daemon that runs already holds its own ports. */
static bool is_same_program(const struct look *look, const char *holder)
{
    size_t length = strcspn(look->daemon, ".");

    return strncmp(holder, look->daemon, length) == 0 && holder[length] == ',';
}

static void look_at_holder(const struct look *look, const struct md_conf_object *object,
                           const char *param, const struct look_port *port)
{
    char holder[96];
    int err = try_port(port->address, port->port, port->is_udp);

    if (err == 0)
        return;
    if (err == EADDRINUSE && net_port_holder(port->port, port->is_udp, holder, sizeof(holder)) &&
        is_same_program(look, holder))
        look_find(look, MD_CONF_INFO, object, param, "port %u is in use by %s: it runs already",
                  port->port, holder);
    else if (err == EADDRINUSE)
        look_find(look, MD_CONF_ERROR, object, param,
                  "port %u is in use%s%s; write another port, or end that process", port->port,
                  holder[0] ? " by " : "", holder);
    else
        look_find(look, MD_CONF_WARNING, object, param, "port %u%s%s: %s for user %u", port->port,
                  port->address[0] ? " of address " : "", port->address, strerror(err),
                  (unsigned)geteuid());
}

static void look_at_range(const struct look *look, const struct md_conf_object *object,
                          const char *param, uint16_t port)
{
    uint16_t first, last;

    net_port_range(&first, &last);
    if (port >= first && port <= last)
        look_find(
            look, MD_CONF_WARNING, object, param,
            "port %u is one of %u..%u that the kernel gives to any connection, so that it may "
            "be taken one day; write one below, or put it into ip_local_reserved_ports",
            port, first, last);
}

static void add_port(struct look *look, const struct md_conf_object *object, const char *param,
                     bool is_udp, const char *address)
{
    uint16_t number = md_conf_port(object, param);

    if (number == 0 || !look->is_here || look->port_count == LOOK_PORTS_MAX)
        return;
    struct look_port *port = &look->ports[look->port_count];
    *port = (struct look_port){ .port = number, .is_udp = is_udp };
    snprintf(port->address, sizeof(port->address), "%s", address);
    snprintf(port->owner, sizeof(port->owner), "%s of %.150s", param, look->daemon);
    for (unsigned i = 0; i < look->port_count; i++) {
        const struct look_port *other = &look->ports[i];

        if (other->port == number && other->is_udp == is_udp &&
            (!other->address[0] || !address[0] || strcmp(other->address, address) == 0)) {
            look_find(look, MD_CONF_ERROR, object, param,
                      "port %u is that of %s, too; write one of its own for each", number,
                      other->owner);
            return;
        }
    }
    look->port_count++;
    look_at_holder(look, object, param, port);
    look_at_range(look, object, param, number);
}

/* RDMA has port numbers of its own: nothing of TCP is looked at. */
static void look_at_rsocket(struct look *look, const struct md_conf_object *object,
                            const char *param, bool is_wanted)
{
    char why[512];

    if (is_wanted && !net_rsocket_is_here(why, sizeof(why)))
        look_find(look, MD_CONF_ERROR, object, param, "rsocket: %s", why);
}

static void on_route(void *arg, const char *name)
{
    struct look *look = arg;
    struct md_conf_object route = md_conf_object(look->conf, MD_CONF_ROUTE, name);

    look_at_rsocket(look, &route, "connectionType",
                    *md_conf_string(&route, "hostList") &&
                        md_conf_word(&route, "connectionType") == 1);
}

static void look_at_rsockets(struct look *look)
{
    struct md_conf_object daemon = md_conf_object(look->conf, MD_CONF_DAEMON, NULL);

    if (look->program == MD_CONF_P2PS)
        look_at_rsocket(look, &daemon, "rsocketPort",
                        md_conf_port(&daemon, "rsocketPort") != 0 &&
                            md_conf_bool(&daemon, "allowRSSLConnections"));
    if (look->program != MD_CONF_SRC_DIST)
        return;
    struct md_conf_object bus = md_conf_object(look->conf, MD_CONF_BUS, NULL);
    look_at_rsocket(look, &bus, "rsocketServerPort", md_conf_port(&bus, "rsocketServerPort") != 0);
    md_conf_names(look->conf, MD_CONF_ROUTE, on_route, look);
}

void look_at_ports(struct look *look)
{
    struct md_conf_object daemon = md_conf_object(look->conf, MD_CONF_DAEMON, NULL);
    const char *address = look->program & (MD_CONF_P2PS | MD_CONF_SRC_DIST)
                              ? md_conf_string(&daemon, "listenAddress")
                              : "";

    if (look->program == MD_CONF_P2PS) {
        if (md_conf_bool(&daemon, "allowRSSLConnections"))
            add_port(look, &daemon, "rsslPort", false, address);
        add_port(look, &daemon, "tlsPort", false, address);
        if (md_conf_bool(&daemon, "wsEnable")) {
            add_port(look, &daemon, "wsPort", false, address);
            add_port(look, &daemon, "wsTlsPort", false, address);
        }
    }
    if (look->program == MD_CONF_SRC_DIST) {
        struct md_conf_object bus = md_conf_object(look->conf, MD_CONF_BUS, NULL);

        if (!md_conf_string(&daemon, "providerAccessFile")[0])
            address = "127.0.0.1"; /* src_dist opens the ports for this host only */
        add_port(look, &bus, "serverPort", false, address);
        add_port(look, &bus, "tlsServerPort", false, address);
    }
    look_at_rsockets(look);
    add_port(look, &daemon, "statusPort", false, md_conf_string(&daemon, "statusAddress"));
}

/* ---- interfaces ---- */

static int family_of(const char *group)
{
    return strchr(group, ':') ? AF_INET6 : AF_INET;
}

/* A daemon without a key opens no network that other hosts reach. */
static void look_at_lack_of_key(const struct look *look, const struct md_conf_object *rrcp,
                                const struct net_udp_report *report)
{
    char why[512];

    if (!md_conf_string(rrcp, "authKeyFile")[0] &&
        attach_network_needs_key(report, why, sizeof(why)))
        look_find(look, MD_CONF_ERROR, rrcp, "authKeyFile", "%s", why);
}

/* Opens the group for a moment, as rrcpd does; packets are neither sent nor read. */
static void look_at_group(const struct look *look, const struct md_conf_object *rrcp,
                          const char *param, const char *group)
{
    const char *interface = md_conf_string(rrcp, param);
    struct net_udp_config config = {
        .paths = { { .interface = interface, .group = group } },
        .path_count = 1,
        .group_port = md_conf_port(rrcp, "multicastPort"),
        .ttl = 1,
    };
    struct net_udp_report report = { 0 };
    struct net_packet_io *io;
    char why[512];

    if (net_udp_open(&config, &report, why, sizeof(why), &io) != MD_OK) {
        bool has_prefix = strncmp(why, "interface: ", 11) == 0;
        look_find(look, MD_CONF_ERROR, rrcp, param, "%s", why + (has_prefix ? 11 : 0));
        return;
    }
    net_packet_close(io);
    look_at_lack_of_key(look, rrcp, &report);
    if (interface[0] && net_interface_look(interface, family_of(group)) == NET_INTERFACE_DOWN)
        look_find(look, MD_CONF_WARNING, rrcp, param, "%s is down; ip link set %s up", interface,
                  interface);
}

static void look_at_transport(struct look *look, const struct md_conf_object *rrcp)
{
    char why[512];

    if (md_conf_word(rrcp, "transport") == 1 && !net_verbs_is_here(why, sizeof(why)))
        look_find(look, MD_CONF_ERROR, rrcp, "transport", "verbs: %s", why);
}

void look_at_network(struct look *look, const char *network)
{
    struct md_conf_object rrcp = md_conf_object(look->conf, MD_CONF_RRCP, network);
    const char *group = md_conf_string(&rrcp, "multicastAddress");
    const char *second = md_conf_string(&rrcp, "secondAddress");

    if (look->program != MD_CONF_RRCPD && !md_conf_bool(&rrcp, "inProcess"))
        return; /* its rrcpd opens the network */
    look_at_group_keys(look, &rrcp);
    if (!look->is_here)
        return;
    look_at_transport(look, &rrcp);
    look_at_group(look, &rrcp, "interface", group);
    if (md_conf_string(&rrcp, "secondInterface")[0])
        look_at_group(look, &rrcp, "secondInterface", second[0] ? second : group);
    look_at_range(look, &rrcp, "multicastPort", md_conf_port(&rrcp, "multicastPort"));
    if (md_conf_u64(&rrcp, "portRoamRange") == 0)
        add_port(look, &rrcp, "unicastPort", true, "");
}
