/* net_mesh.c - see net_mesh.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "net_mesh.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "net_peers.h"
#include "netio/mesh.h"

#define EPISODE_NS  (3 * MD_NS_PER_S) /* its beacons come each second */
#define PATIENCE_NS (5 * MD_NS_PER_S)

/* One row for each address, the first so many: the segment has 256 strings for all there is. */
static void add_row(struct net *net, struct net_mesh_row *row, uint32_t number)
{
    struct stats_segment *segment = net->config.stats;

    *row = (struct net_mesh_row){
        .address = stats_entry_addf(segment, STATS_KIND_STRING, "%s.mesh.%u.address",
                                    net->config.process, number),
        .peer = stats_entry_addf(segment, STATS_KIND_STRING, "%s.mesh.%u.peer", net->config.process,
                                 number),
    };
}

static void remove_row(struct net *net, const struct net_mesh_row *row)
{
    stats_entry_remove(net->config.stats, row->address);
    stats_entry_remove(net->config.stats, row->peer);
}

static bool is_shown(const struct net_mesh_row *row, const struct rrcp_mesh_info *info)
{
    return row->is_written && row->session == info->session &&
           row->shown.length == info->address.length &&
           memcmp(row->shown.bytes, info->address.bytes, info->address.length) == 0;
}

static void write_row(struct net *net, struct net_mesh_row *row, const struct rrcp_mesh_info *info)
{
    char text[STATS_STRING_BYTES + 32];
    char since[16];
    struct tm tm;
    uint64_t ago_ns = info->since_ns ? md_clock_mono_ns() - info->since_ns : 0;
    time_t began = time(NULL) - (time_t)(ago_ns / MD_NS_PER_S);

    if (is_shown(row, info))
        return;
    row->is_written = true;
    row->session = info->session;
    row->shown = info->address;
    gmtime_r(&began, &tm);
    strftime(since, sizeof(since), "%H:%M:%S UTC", &tm);
    net_packet_address_text(&info->address, text, sizeof(text));
    stats_string_set(net->config.stats, row->address, text);
    snprintf(text, sizeof(text), "since %s: %.34s%s", since,
             info->session ? net_peer_name(net, info->session) : "silent",
             info->is_seed ? " (peers)" : "");
    stats_string_set(net->config.stats, row->peer, text);
}

void net_mesh_destroy(struct net *net)
{
    while (net->mesh_rows > 0)
        remove_row(net, &net->mesh[--net->mesh_rows]);
}

void net_mesh_update(struct net *net)
{
    struct rrcp_mesh_info info;
    uint32_t count = 0;

    for (; count < NET_MESH_ROWS && rrcp_mesh_info(net->engine, count, &info); count++) {
        if (count == net->mesh_rows)
            add_row(net, &net->mesh[net->mesh_rows++], count + 1);
        write_row(net, &net->mesh[count], &info);
    }
    while (net->mesh_rows > count)
        remove_row(net, &net->mesh[--net->mesh_rows]);
}

/* A node that joins may be heard before a peer has named it: only one that goes on is a stranger.
 */
static bool is_persistent(struct net *net, uint64_t now_ns)
{
    uint64_t count = rrcp_counters(net->engine)->mesh_refused;

    if (count == net->mesh_seen)
        return false;
    if (now_ns - net->mesh_seen_ns > EPISODE_NS)
        net->mesh_since_ns = now_ns;
    net->mesh_seen = count;
    net->mesh_seen_ns = now_ns;
    return now_ns - net->mesh_since_ns >= PATIENCE_NS;
}

static void tell_refused(struct net *net, uint64_t now_ns)
{
    struct rrcp_address from, self;
    char from_text[80], self_text[80];

    rrcp_mesh_refused(net->engine, &from, &self);
    net_packet_address_text(&from, from_text, sizeof(from_text));
    net_packet_address_text(&self, self_text, sizeof(self_text));
    bool is_translated = strcmp(from_text, self_text) != 0;
    bool is_due = is_persistent(net, now_ns) || is_translated;

    if (!is_due || !net_must_tell(rrcp_counters(net->engine)->mesh_refused, &net->mesh_told,
                                  &net->mesh_at_ns, now_ns))
        return;
    if (is_translated)
        md_log(MD_LOG_WARNING,
               "the node at %s comes from %s: its address is translated on the way (NAT); it is "
               "refused, for nodes must reach each other at their own addresses",
               self_text, from_text);
    else
        md_log(MD_LOG_WARNING,
               "the node at %s is refused: no peer has named it; add it to peers here or at a node "
               "that is heard, or name its network in peerAddresses",
               from_text);
}

static void tell_too_big(struct net *net, uint64_t now_ns)
{
    const struct net_packet_counters *packets = &attach_node_io(net->node)->counters;
    char to[80];

    if (packets->too_big_to.length == 0 ||
        !net_must_tell(packets->send_too_big, &net->too_big_told, &net->too_big_at_ns, now_ns))
        return;
    size_t room = net_mesh_payload(&packets->too_big_to);

    net_packet_address_text(&packets->too_big_to, to, sizeof(to));
    md_log(MD_LOG_ERROR,
           "packets are too long for the path to %s, which carries %zu bytes: that node misses "
           "them; set maxPacketSize : %zu on all hosts of the network",
           to, room, room);
}

void net_mesh_tell(struct net *net, uint64_t now_ns)
{
    if (!net->config.node.uses_mesh)
        return;
    tell_refused(net, now_ns);
    tell_too_big(net, now_ns);
}
