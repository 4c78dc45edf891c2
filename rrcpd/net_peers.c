/* net_peers.c - the other nodes in the log and in the statistics: who is heard, down, loses what.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "net_peers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/table.h"
#include "stats/rows.h"

#define STRANGERS_NS 10000000000ull
#define MINUTE_NS    60000000000ull

/* Per node, so that a bad link or a greedy receiver can be told from the others. */
#define PEER(kind, name, member) STATS_ROW(STATS_KIND_##kind, name, struct rrcp_peer_info, member)

static const struct stats_row peer_rows[] = {
    PEER(GAUGE, "rttUs", rtt_us),
    PEER(GAUGE, "missingNow", missing_now),
    PEER(COUNTER, "pktsLostDetected", packets_missing),
    PEER(COUNTER, "pktsRepaired", packets_repaired),
    PEER(COUNTER, "pktsLost", packets_lost),
    PEER(COUNTER, "dupPkts", dup_packets),
    PEER(COUNTER, "retransReqSent", naks_sent),
    PEER(COUNTER, "retransReqRcvd", naks_rcvd),
    PEER(COUNTER, "retransPktsSent", repairs_sent),
    PEER(COUNTER, "itsPktsLost", their_lost),
};

enum {
    SHOWN_MAX = 128, /* peers; the segment has 4096 entries and 256 strings for all there is */
};

struct peer_name {
    uint64_t session;
    char text[RRCP_NODE_NAME_MAX + 1];
    struct stats_entry *label; /* NULL: not shown */
    struct stats_entry *key;   /* NULL without keys */
    struct stats_entry *rows[STATS_ROW_COUNT(peer_rows)];
};

static const char *const gap_words[] = {
    [BACKBONE_GAP_NOT_HELD] = "its sender no longer has them",
    [BACKBONE_GAP_TIMEOUT] = "asked for in vain for recoverTimeout",
    [BACKBONE_GAP_TOO_LARGE] = "more in a row than nmissing",
    [BACKBONE_GAP_POOL] = "no room for them in the packet pool",
    [BACKBONE_GAP_REJOIN] = "it was away and is back",
    [BACKBONE_GAP_UNICAST_RESET] = "its unicast stream began anew",
};

int net_peers_create(struct net *net)
{
    return md_table_create(64, &net->peer_names);
}

const char *net_peer_name(const struct net *net, uint64_t session)
{
    const struct peer_name *name = md_table_get(net->peer_names, &session, sizeof(session));

    return name ? name->text : "without a name";
}

/* ---- statistics ----------------------------------------------------------------------------- */

static void show(struct net *net, struct peer_name *name, uint64_t session)
{
    struct stats_segment *segment = net->config.stats;
    const char *process = net->config.process;
    char prefix[STATS_PATH_BYTES];

    if (net->peers_shown == SHOWN_MAX || net->config.is_second)
        return;
    net->peers_shown++;
    snprintf(prefix, sizeof(prefix), "%s.peer.%016llx.", process, (unsigned long long)session);
    stats_rows_add(peer_rows, STATS_ROW_COUNT(peer_rows), segment, prefix, name->rows);
    if (net->config.node.engine.key_count > 0)
        name->key = stats_entry_addf(segment, STATS_KIND_GAUGE, "%s.peer.%016llx.keyId", process,
                                     (unsigned long long)session);
    name->label = stats_entry_addf(segment, STATS_KIND_STRING, "%s.peer.%016llx.name", process,
                                   (unsigned long long)session);
}

static void forget(struct net *net, struct peer_name *name)
{
    if (name && name->label) {
        net->peers_shown--;
        stats_rows_remove(name->rows, STATS_ROW_COUNT(peer_rows), net->config.stats);
        stats_entry_remove(net->config.stats, name->label);
        if (name->key)
            stats_entry_remove(net->config.stats, name->key);
    }
    free(name);
}

void net_peers_update(struct net *net)
{
    struct rrcp_peer_info info;

    for (uint32_t i = 0; rrcp_peer_info(net->engine, i, &info); i++) {
        struct peer_name *name = md_table_get(net->peer_names, &info.session, sizeof(info.session));

        if (name && name->label)
            stats_rows_set(peer_rows, STATS_ROW_COUNT(peer_rows), name->rows, &info);
        if (name && name->key && info.key_id >= 0)
            stats_gauge_set(name->key, (uint64_t)info.key_id);
    }
}

/* ---- the log -------------------------------------------------------------------------------- */

static void is_heard(struct net *net, const struct backbone_event *event)
{
    struct peer_name *name = md_table_get(net->peer_names, &event->session, sizeof(event->session));

    if (!name) {
        name = calloc(1, sizeof(*name));
        if (!name)
            return;
        name->session = event->session;
        if (md_table_put(net->peer_names, &name->session, sizeof(name->session), name) != 0) {
            free(name);
            return;
        }
        show(net, name, event->session);
    }
    snprintf(name->text, sizeof(name->text), "%.*s", (int)event->length,
             (const char *)event->bytes);
    if (name->label)
        stats_string_set(net->config.stats, name->label, name->text);
    md_log(MD_LOG_NOTICE, "node %s is heard (session %016llx)", name->text,
           (unsigned long long)event->session);
}

static void is_down(struct net *net, const struct backbone_event *event)
{
    const char *name = net_peer_name(net, event->session);

    if (event->reason == BACKBONE_DOWN_BYE)
        md_log(MD_LOG_NOTICE, "node %s has left the network", name);
    else if (event->reason == BACKBONE_DOWN_REPLACED)
        md_log(MD_LOG_WARNING, "node %s is down: it was started anew", name);
    else
        md_log(MD_LOG_WARNING, "node %s is down: silent for peerTimeout", name);
    struct peer_name *gone =
        md_table_remove(net->peer_names, &event->session, sizeof(event->session));

    forget(net, gone);
}

bool net_must_tell(uint64_t count, uint64_t *told, uint64_t *at_ns, uint64_t now_ns)
{
    if (count == *told || now_ns < *at_ns)
        return false;
    *told = count;
    *at_ns = now_ns + MINUTE_NS;
    return true;
}

static void tell_outside(struct net *net, uint64_t now_ns)
{
    const struct net_packet_counters *packets = &attach_node_io(net->node)->counters;
    char from[80];

    if (!net_must_tell(packets->outside, &net->outside_told, &net->outside_at_ns, now_ns))
        return;
    net_packet_address_text(&packets->outside_from, from, sizeof(from));
    md_log(MD_LOG_WARNING,
           "packets from %s are dropped (%llu so far): the source is outside the subnet of %s and "
           "there "
           "is no key; set authKeyFile on all hosts, or name the source in peerAddresses",
           from, (unsigned long long)packets->outside, net->interfaces[0]);
}

static void tell_version(struct net *net, uint64_t now_ns)
{
    struct rrcp_address address;
    uint8_t version = rrcp_other_version(net->engine, &address);
    char from[80];

    if (!net_must_tell(rrcp_counters(net->engine)->drop[RRCP_DROP_VERSION], &net->version_told,
                       &net->version_at_ns, now_ns))
        return;
    net_packet_address_text(&address, from, sizeof(from));
    md_log(MD_LOG_WARNING,
           "the node at %s speaks protocol version %u.%u, this one 1.1: its packets are dropped; "
           "run the "
           "same release on all hosts of the network",
           from, version >> 4, version & 15u);
}

void net_relays_tell(struct net *net, const struct relay_far_counters *heard, uint64_t now_ns)
{
    if (net_must_tell(heard->relays_full, &net->relays_told, &net->relays_at_ns, now_ns))
        md_log(MD_LOG_ERROR,
               "there are more than %d relays on network %s: nothing is taken through the further "
               "ones, and nodes behind them are not heard; run fewer relays",
               RELAY_RELAYS_MAX, net->config.node.network);
    if (net_must_tell(heard->full, &net->far_told, &net->far_at_ns, now_ns))
        md_log(
            MD_LOG_ERROR,
            "there are more than %d nodes behind relays on network %s, or more than %d nodes "
            "together: the further ones are not heard; forward fewer services, or to fewer nodes",
            RELAY_SESSIONS_MAX, net->config.node.network, RELAY_NODES_MAX);
}

/* Dropped without a peer that could be named: said at once, then not all the time. */
void net_strangers_tell(struct net *net, uint64_t now_ns)
{
    static const enum rrcp_drop kinds[] = { RRCP_DROP_SIZE,  RRCP_DROP_MAGIC,   RRCP_DROP_TYPE,
                                            RRCP_DROP_FLAGS, RRCP_DROP_SESSION, RRCP_DROP_BODY,
                                            RRCP_DROP_COUNT, RRCP_DROP_CHUNKS,  RRCP_DROP_RANGES };
    const struct rrcp_counters *counters = rrcp_counters(net->engine);
    uint64_t count = 0;

    tell_outside(net, now_ns);
    tell_version(net, now_ns);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        count += counters->drop[kinds[i]];
    if (count == net->strangers || now_ns < net->strangers_at_ns)
        return;
    md_log(MD_LOG_WARNING, "packets that are none of ours: %llu dropped (who sends to this group?)",
           (unsigned long long)(count - net->strangers));
    net->strangers = count;
    net->strangers_at_ns = now_ns + STRANGERS_NS;
}

void net_peers_destroy(struct net *net)
{
    struct md_table_walk walk = { 0 };
    struct peer_name *name;

    if (!net->peer_names)
        return;
    while ((name = md_table_next(net->peer_names, &walk)) != NULL)
        forget(net, name);
    md_table_destroy(net->peer_names);
}

void net_peers_event(struct net *net, const struct backbone_event *event)
{
    switch (event->type) {
    case BACKBONE_PEER_INFO:
        is_heard(net, event);
        break;
    case BACKBONE_PEER_DOWN:
        is_down(net, event);
        break;
    case BACKBONE_GAP:
        md_log(MD_LOG_WARNING, "node %s: %llu packets are lost for good: %s",
               net_peer_name(net, event->session), (unsigned long long)event->count,
               event->reason < sizeof(gap_words) / sizeof(gap_words[0]) && gap_words[event->reason]
                   ? gap_words[event->reason]
                   : "no reason given");
        break;
    default:
        break;
    }
}
