/* health.c - see health.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "health.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"

#define PATHS      2
#define ALONE_NS   (10 * MD_NS_PER_S)
#define REFUSED_NS (2 * MD_NS_PER_S)
#define QUIET_NS   (10 * MD_NS_PER_S) /* so long without a foreign packet: they have ended */

enum { INTERFACE, REFUSED = INTERFACE + PATHS, ALONE, FOREIGN, KEYS, KINDS };

_Static_assert(2 * KINDS <= DAEMON_TROUBLES, "a relay has two networks");

/* A counter that grows while something is wrong. */
struct growth {
    const struct stats_entry *entry;
    uint64_t seen, grew_ns;
};

struct health {
    struct health_config config;
    int socket_fd;
    int path_count;
    char interfaces[PATHS][IF_NAMESIZE];
    char place[160]; /* "239.255.82.82:8500 (eth0 10.1.2.3)" */
    bool is_loopback;
    const struct stats_entry *peers, *sent, *send_errno;
    struct growth errors, foreign, unsigned_packets, wrong_key;
    uint64_t sent_seen;
};

static const struct stats_entry *counter(const struct health *health, const char *name,
                                         enum stats_kind kind)
{
    return stats_entry_addf(health->config.stats, kind, "%s.%s", health->config.process, name);
}

/* How much it grew since the last look. */
static uint64_t grown(struct growth *growth, uint64_t now_ns)
{
    uint64_t value = md_ctr_get(&growth->entry->value), by = value - growth->seen;

    growth->seen = value;
    if (by > 0)
        growth->grew_ns = now_ns;
    return by;
}

/* 0: it is not there (any more). */
static unsigned interface_flags(const struct health *health, const char *name)
{
    struct ifreq request = { .ifr_flags = 0 };

    snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
    if (ioctl(health->socket_fd, SIOCGIFFLAGS, &request) != 0)
        return 0;
    return (unsigned)(unsigned short)request.ifr_flags;
}

/* Each network has its own. */
static unsigned trouble(const struct health *health, int which)
{
    return (unsigned)(health->config.is_second ? KINDS + which : which);
}

static bool look_at_interface(struct health *health, int path, uint64_t now_ns)
{
    const char *name = health->interfaces[path];
    unsigned which = trouble(health, INTERFACE + path), flags = interface_flags(health, name);
    const char *what = flags == 0               ? "is not there"
                       : !(flags & IFF_UP)      ? "is down"
                       : !(flags & IFF_RUNNING) ? "has no carrier"
                                                : NULL;
    char note[STATS_STRING_BYTES];

    if (!what) {
        daemon_trouble_gone(health->config.troubles, which, now_ns, "interface %s is up", name);
        return true;
    }
    snprintf(note, sizeof(note), "interface %s %s", name, what);
    daemon_trouble_here(health->config.troubles, which, now_ns, 0, note,
                        "interface %s %s: nothing is sent or heard on it (%s)", name, what,
                        flags == 0          ? "was it removed, or renamed?"
                        : !(flags & IFF_UP) ? "ip link set up; who took it down?"
                                            : "look at the cable and the switch port");
    return false;
}

/* The beacons alone make every live network send several times a second. */
static bool look_at_sending(struct health *health, uint64_t now_ns)
{
    uint64_t sent = md_ctr_get(&health->sent->value), refused = grown(&health->errors, now_ns);

    if (sent != health->sent_seen) {
        health->sent_seen = sent;
        daemon_trouble_gone(health->config.troubles, trouble(health, REFUSED), now_ns,
                            "packets are sent again");
        return true;
    }
    if (refused == 0)
        return true;
    daemon_trouble_here(health->config.troubles, trouble(health, REFUSED), now_ns, REFUSED_NS,
                        "no packet can be sent",
                        "no packet can be sent to %s: the kernel refuses each one: %s; look at the "
                        "interface, the routes and the firewall of this host",
                        health->place, strerror((int)md_ctr_get(&health->send_errno->value)));
    return false;
}

static void look_for_others(struct health *health, uint64_t now_ns, bool has_both)
{
    char note[STATS_STRING_BYTES];

    if (md_ctr_get(&health->peers->value) > 0 || has_both || health->is_loopback) {
        daemon_trouble_gone(health->config.troubles, trouble(health, ALONE), now_ns,
                            md_ctr_get(&health->peers->value) > 0
                                ? "other nodes are heard on %s"
                                : "no other node is needed on %s: both sides are attached here",
                            health->place);
        return;
    }
    snprintf(note, sizeof(note), "no other node heard on %.40s", health->place);
    daemon_trouble_here(
        health->config.troubles, trouble(health, ALONE), now_ns, ALONE_NS, note,
        "no other node heard on %s for 10 s; is an rrcpd running on another host, "
        "with this transport, networkName%s",
        health->place,
        health->config.is_mesh
            ? " and key, at an address of peers, and does it have this one in its own peers or "
              "peerAddresses? Then look at the firewalls"
            : ", group and multicastPort? Then look at IGMP snooping on the switch and at the "
              "firewalls");
}

/* True while the counter grows, and for a while after. */
static bool is_growing(struct growth *growth, uint64_t now_ns)
{
    (void)grown(growth, now_ns);
    return growth->grew_ns != 0 && now_ns - growth->grew_ns < QUIET_NS;
}

static void look_for_strangers(struct health *health, uint64_t now_ns)
{
    if (is_growing(&health->foreign, now_ns))
        daemon_trouble_here(
            health->config.troubles, trouble(health, FOREIGN), now_ns, 0,
            "another network sends to our group and port",
            "another network sends to %s: its networkName is not %s, %llu packets "
            "are dropped so far; give each network a group or a port of its own, or "
            "make the names agree",
            health->place, health->config.network, (unsigned long long)health->foreign.seen);
    else
        daemon_trouble_gone(health->config.troubles, trouble(health, FOREIGN), now_ns,
                            "no other network sends to %s any more", health->place);
    bool is_unsigned = is_growing(&health->unsigned_packets, now_ns);
    bool is_wrong = is_growing(&health->wrong_key, now_ns);
    if (is_unsigned || is_wrong)
        daemon_trouble_here(
            health->config.troubles, trouble(health, KEYS), now_ns, 0,
            is_wrong ? "packets are signed with another key" : "packets are not signed",
            "packets to %s are dropped: %s; authKeyFile must be the same on all "
            "hosts of the network",
            health->place, is_wrong ? "they are signed with another key" : "they are not signed");
    else
        daemon_trouble_gone(health->config.troubles, trouble(health, KEYS), now_ns,
                            "every packet is signed with our key");
}

bool health_look(struct health *health, uint64_t now_ns, bool has_both)
{
    bool can_send = true;

    for (int path = 0; path < health->path_count; path++)
        can_send &= look_at_interface(health, path, now_ns);
    can_send &= look_at_sending(health, now_ns);
    look_for_others(health, now_ns, has_both);
    look_for_strangers(health, now_ns);
    return can_send;
}

static void find_counters(struct health *health)
{
    health->peers = counter(health, "peersNow", STATS_KIND_GAUGE);
    health->sent = counter(health, "udp.packetsSent", STATS_KIND_COUNTER);
    health->send_errno = counter(health, "sndErrors.lastErrno", STATS_KIND_GAUGE);
    health->errors.entry = counter(health, "sndErrors.other", STATS_KIND_COUNTER);
    health->foreign.entry = counter(health, "drop.network", STATS_KIND_COUNTER);
    health->unsigned_packets.entry = counter(health, "drop.auth missing", STATS_KIND_COUNTER);
    health->wrong_key.entry = counter(health, "drop.auth tag", STATS_KIND_COUNTER);
}

int health_open(const struct health_config *config, struct health **out)
{
    struct health *health = calloc(1, sizeof(*health));
    size_t used = 0;

    *out = health;
    if (!health)
        return MD_ERR_NOMEM;
    health->config = *config;
    health->socket_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (health->socket_fd < 0) /* a kernel without IPv4 */
        health->socket_fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    health->path_count = config->udp->path_count;
    health->is_loopback = true;
    for (int path = 0; path < health->path_count; path++) {
        const char *chosen = net_interface(config->net, path);
        snprintf(health->interfaces[path], IF_NAMESIZE, "%.*s", (int)strcspn(chosen, " "), chosen);
        health->is_loopback &=
            (interface_flags(health, health->interfaces[path]) & IFF_LOOPBACK) != 0;
        int wrote =
            snprintf(health->place + used, sizeof(health->place) - used, "%s%.60s:%u (%s)",
                     path ? " and " : "", config->groups[path],
                     config->is_mesh && config->udp->unicast_port ? config->udp->unicast_port
                                                                  : config->udp->group_port,
                     chosen);
        used += wrote > 0 && (size_t)wrote < sizeof(health->place) - used ? (size_t)wrote : 0;
    }
    find_counters(health);
    return 0;
}

void health_close(struct health *health)
{
    if (!health)
        return;
    if (health->socket_fd >= 0)
        close(health->socket_fd);
    free(health);
}
