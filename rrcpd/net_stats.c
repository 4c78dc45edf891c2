/* net_stats.c - the engine's and the transport's counters in the statistics segment. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "net_stats.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "net_mesh.h"
#include "net_peers.h"
#include "stats/rows.h"

#define ENGINE(name, field) STATS_ROW(STATS_KIND_COUNTER, name, struct rrcp_counters, field)
#define LEVEL(name, field)  STATS_ROW(STATS_KIND_GAUGE, name, struct rrcp_counters, field)
#define PACKET(name, field) STATS_ROW(STATS_KIND_COUNTER, name, struct net_packet_counters, field)

static const struct stats_row engine_rows[] = {
    ENGINE("mcastSent", mcast_sent),
    ENGINE("mcastRcvd", mcast_rcvd),
    ENGINE("unicastSent", unicast_sent),
    ENGINE("unicastRcvd", unicast_rcvd),
    ENGINE("gapsDetected", gaps_detected),
    ENGINE("retransReqSent", retrans_req_sent),
    ENGINE("retransReqRcvd", retrans_req_rcvd),
    ENGINE("retransPktsSent", retrans_pkts_sent),
    ENGINE("retransPktsRcvd", retrans_pkts_rcvd),
    ENGINE("bytesSent", bytes_sent),
    ENGINE("bytesRcvd", bytes_rcvd),
    ENGINE("msgsSent", msgs_sent),
    ENGINE("msgsRcvd", msgs_rcvd),
    ENGINE("pktsLostDetected", packets_missing),
    ENGINE("pktsRepaired", packets_repaired),
    ENGINE("pktsLost.notHeld", packets_lost[BACKBONE_GAP_NOT_HELD]),
    ENGINE("pktsLost.timeout", packets_lost[BACKBONE_GAP_TIMEOUT]),
    ENGINE("pktsLost.tooLarge", packets_lost[BACKBONE_GAP_TOO_LARGE]),
    ENGINE("pktsLost.pool", packets_lost[BACKBONE_GAP_POOL]),
    ENGINE("pktsLost.rejoin", packets_lost[BACKBONE_GAP_REJOIN]),
    ENGINE("pktsLost.unicastReset", packets_lost[BACKBONE_GAP_UNICAST_RESET]),
    ENGINE("dupPkts", dup_packets),
    ENGINE("dupRepairs", dup_repairs),
    ENGINE("reorderedPkts", reordered_packets),
    ENGINE("reorderFalseLoss", reorder_false_loss),
    ENGINE("beaconsSent", beacons_sent),
    ENGINE("beaconsRcvd", beacons_rcvd),
    ENGINE("challengesSent", solicits_sent),
    ENGINE("challengesRcvd", solicits_rcvd),
    ENGINE("challengesRefused", challenges_refused),
    ENGINE("keysRefused", keys_refused),
    ENGINE("answersSent", answers_sent),
    ENGINE("answersRefused", answers_refused),
    ENGINE("doubts", doubts),
    ENGINE("byesFalse", byes_false),
    ENGINE("rejoins", rejoins),
    ENGINE("statusSent", status_sent),
    ENGINE("statusRcvd", status_rcvd),
    ENGINE("hsmSent", hsm_sent),
    ENGINE("hsmRcvd", hsm_rcvd),
    ENGINE("ncfSent.coming", ncf_sent[1]),
    ENGINE("ncfSent.notHeld", ncf_sent[2]),
    ENGINE("ncfSent.busy", ncf_sent[3]),
    ENGINE("ncfRcvd.coming", ncf_rcvd[1]),
    ENGINE("ncfRcvd.notHeld", ncf_rcvd[2]),
    ENGINE("ncfRcvd.busy", ncf_rcvd[3]),
    ENGINE("nakDampened", nak_damped),
    ENGINE("nakBad", nak_bad),
    ENGINE("nakDroppedRate", nak_dropped_rate),
    ENGINE("nakOverride", nak_override),
    ENGINE("repairsUnicast", repairs_unicast),
    ENGINE("repairsMulticast", repairs_multicast),
    ENGINE("repairsBusy", repairs_busy),
    ENGINE("unicastRetrans", unicast_retrans),
    ENGINE("unicastResets", unicast_resets),
    ENGINE("unicastDropped", unicast_dropped),
    ENGINE("unicastUnknown", unicast_unknown),
    ENGINE("meshProbes", mesh_probes),
    ENGINE("meshRefused", mesh_refused),
    ENGINE("meshFull", mesh_full),
    ENGINE("meshForgotten", mesh_forgotten),
    ENGINE("packetsSkipped", packets_skipped),
    ENGINE("skippedReceived", skipped_rcvd),
    ENGINE("skipsSent", skips_sent),
    ENGINE("skipsRefused", skips_refused),
    ENGINE("peersUp", peers_up),
    ENGINE("peersDown", peers_down),
    ENGINE("peerNameConflicts", peer_name_conflicts),
    ENGINE("overEntered", over_entered),
    ENGINE("submitFull", submit_full),
    ENGINE("submitBad", submit_bad),
    ENGINE("flowReceiversLost", flow_receivers_lost),
    ENGINE("rateCuts", rate_cuts),
    ENGINE("controlDropped", control_dropped),
    ENGINE("assemblyRefused", assembly_refused),
    ENGINE("recoverUs.sum", recover_us_sum),
    LEVEL("peersNow", peers_now),
    LEVEL("poolUse", pool_use),
    LEVEL("poolHigh", pool_high),
    LEVEL("memoryBytes", memory_bytes),
};

static const struct stats_row far_rows[] = {
    STATS_ROW(STATS_KIND_COUNTER, "relayed.msgs", struct relay_far_counters, messages),
    STATS_ROW(STATS_KIND_COUNTER, "relayed.repeated", struct relay_far_counters, repeated),
    STATS_ROW(STATS_KIND_COUNTER, "relayed.others", struct relay_far_counters, others),
    STATS_ROW(STATS_KIND_COUNTER, "relayed.malformed", struct relay_far_counters, malformed),
    STATS_ROW(STATS_KIND_COUNTER, "relayed.tooLong", struct relay_far_counters, too_long),
    STATS_ROW(STATS_KIND_COUNTER, "relayed.full", struct relay_far_counters, full),
    STATS_ROW(STATS_KIND_COUNTER, "relayed.relaysFull", struct relay_far_counters, relays_full),
    STATS_ROW(STATS_KIND_GAUGE, "relayed.nodesNow", struct relay_far_counters, sessions_now),
    STATS_ROW(STATS_KIND_GAUGE, "relayed.relaysNow", struct relay_far_counters, relays_now),
};

static const struct stats_row packet_rows[] = {
    PACKET("udp.packetsSent", packets_sent),
    PACKET("udp.bytesSent", bytes_sent),
    PACKET("udp.packetsRcvd", packets_received),
    PACKET("udp.bytesRcvd", bytes_received),
    PACKET("udp.sendCalls", send_calls),
    PACKET("udp.receiveCalls", receive_calls),
    PACKET("sndErrors.noBufs", send_full),
    PACKET("sndErrors.msgSize", send_too_big),
    PACKET("sndErrors.other", send_errors),
    STATS_ROW(STATS_KIND_GAUGE, "sndErrors.lastErrno", struct net_packet_counters, send_errno),
    PACKET("rcvSockDrops", receive_drops),
    PACKET("rcvErrors", receive_errors),
    PACKET("shim.dropped", shim_dropped),
    PACKET("shim.delayed", shim_delayed),
    PACKET("shim.duplicated", shim_duplicated),
    PACKET("truncated", truncated),
    PACKET("foreign", foreign),
    PACKET("outsideSubnet", outside),
};

static const struct stats_row user_rows[NET_USER_ROWS] = {
    STATS_ROW(STATS_KIND_COUNTER, "msgsSent", struct net_user, messages),
    STATS_ROW(STATS_KIND_COUNTER, "bytesSent", struct net_user, bytes),
    STATS_ROW(STATS_KIND_COUNTER, "refused", struct net_user, refused),
    STATS_ROW(STATS_KIND_COUNTER, "wakes", struct net_user, wakes),
    STATS_ROW(STATS_KIND_COUNTER, "denied", struct net_user, denied),
    STATS_ROW(STATS_KIND_COUNTER, "held", struct net_user, held),
};

struct net_stats {
    struct stats_entry *engine[STATS_ROW_COUNT(engine_rows)];
    struct stats_entry *packet[STATS_ROW_COUNT(packet_rows)];
    struct stats_entry *far[STATS_ROW_COUNT(far_rows)];
    struct stats_entry *drops[RRCP_DROP_count];
    struct stats_entry *recover_us[RRCP_RECOVER_BUCKETS];
    struct stats_entry *key; /* which seals; NULL without keys */
    struct stats_entry *users, *violated, *given_up, *denied, *loop_max_us, *turns, *sleeps,
        *position, *pool_size, *ring, *over, *topics, *everything;
};

int net_stats_create(struct net *net, const char *transport)
{
    struct net_stats *stats = calloc(1, sizeof(*stats));
    struct stats_segment *segment = net->config.stats;
    const char *process = net->config.process;
    char path[STATS_PATH_BYTES];

    if (!stats)
        return MD_ERR_NOMEM;
    snprintf(path, sizeof(path), "%s.", process);
    stats_rows_add(engine_rows, STATS_ROW_COUNT(engine_rows), segment, path, stats->engine);
    stats_rows_add(packet_rows, STATS_ROW_COUNT(packet_rows), segment, path, stats->packet);
    if (net->inbound)
        stats_rows_add(far_rows, STATS_ROW_COUNT(far_rows), segment, path, stats->far);
    for (int i = 0; i < RRCP_DROP_count; i++)
        stats->drops[i] = stats_entry_addf(segment, STATS_KIND_COUNTER, "%s.drop.%s", process,
                                           rrcp_drop_name((enum rrcp_drop)i));
    for (int i = 0; i < RRCP_RECOVER_BUCKETS; i++)
        stats->recover_us[i] = stats_entry_addf(segment, STATS_KIND_COUNTER,
                                                "%s.recoverUs.below%lu", process, 1ul << i);
    if (net->config.node.engine.key_count > 0)
        stats->key = stats_entry_addf(segment, STATS_KIND_GAUGE, "%s.keyId", process);
    stats->users = stats_entry_addf(segment, STATS_KIND_GAUGE, "%s.users", process);
    stats->violated = stats_entry_addf(segment, STATS_KIND_COUNTER, "%s.usersViolated", process);
    stats->denied = stats_entry_addf(segment, STATS_KIND_COUNTER, "%s.messagesDenied", process);
    stats->given_up = stats_entry_addf(segment, STATS_KIND_COUNTER, "%s.usersGivenUp", process);
    stats->loop_max_us = stats_entry_addf(segment, STATS_KIND_GAUGE, "%s.loopMaxUs", process);
    stats->turns = stats_entry_addf(segment, STATS_KIND_COUNTER, "%s.loopTurns", process);
    stats->sleeps = stats_entry_addf(segment, STATS_KIND_COUNTER, "%s.loopSleeps", process);
    stats->position = stats_entry_addf(segment, STATS_KIND_COUNTER, "%s.inboundBytes", process);
    stats->pool_size = stats_entry_addf(segment, STATS_KIND_GAUGE, "%s.poolSize", process);
    stats->ring = stats_entry_addf(segment, STATS_KIND_GAUGE, "%s.inboundRingBytes", process);
    stats->over = stats_entry_addf(segment, STATS_KIND_GAUGE, "%s.overNow", process);
    stats->topics = stats_entry_addf(segment, STATS_KIND_GAUGE, "%s.topicsWanted", process);
    stats->everything = stats_entry_addf(segment, STATS_KIND_GAUGE, "%s.everythingWanted", process);
    snprintf(path, sizeof(path), "%s.transport", process);
    stats_string_set(segment, stats_entry_add(segment, STATS_KIND_STRING, path), transport);
    snprintf(path, sizeof(path), "%s.turnUs", process);
    net->turn_us = stats_histogram_add(segment, path);
    net->stats = stats;
    return 0;
}

void net_stats_destroy(struct net *net)
{
    free(net->stats);
    net->stats = NULL;
}

static void update_users(struct net *net)
{
    uint64_t written = net->inbound ? attach_inbound_position(net->inbound) : 0;

    for (int i = 0; i < net->user_count; i++) {
        struct net_user *user = net->users[i];
        uint64_t cursor = atomic_load_explicit(&user->map->cursor, memory_order_relaxed);
        uint64_t lag = cursor && cursor <= written ? written - cursor : 0;

        stats_rows_set(user_rows, NET_USER_ROWS, user->stats, user);
        stats_gauge_set(user->stat_lag, lag);
    }
}

void net_stats_update(struct net *net, uint64_t now_ns)
{
    struct net_stats *stats = net->stats;
    const struct rrcp_counters *engine = rrcp_counters(net->engine);

    (void)now_ns;
    stats_rows_set(engine_rows, STATS_ROW_COUNT(engine_rows), stats->engine, engine);
    stats_rows_set(packet_rows, STATS_ROW_COUNT(packet_rows), stats->packet,
                   &attach_node_io(net->node)->counters);
    if (net->inbound)
        stats_rows_set(far_rows, STATS_ROW_COUNT(far_rows), stats->far,
                       attach_node_relayed(net->node));
    for (int i = 0; i < RRCP_DROP_count; i++)
        md_ctr_set(&stats->drops[i]->value, engine->drop[i]);
    for (int i = 0; i < RRCP_RECOVER_BUCKETS; i++)
        md_ctr_set(&stats->recover_us[i]->value, engine->recover_us[i]);
    if (stats->key)
        stats_gauge_set(stats->key, net->config.node.engine.keys[0].id);
    stats_gauge_set(stats->users, (uint64_t)net->user_count);
    md_ctr_set(&stats->violated->value, net->users_violated);
    md_ctr_set(&stats->given_up->value, net->users_given_up);
    md_ctr_set(&stats->denied->value, net->messages_denied);
    stats_gauge_set(stats->loop_max_us, net->turn_max_ns / 1000);
    md_ctr_set(&stats->turns->value, net->turns);
    md_ctr_set(&stats->sleeps->value, net->sleeps);
    if (net->inbound)
        md_ctr_set(&stats->position->value, attach_inbound_position(net->inbound));
    stats_gauge_set(stats->pool_size, net->config.node.engine.pool_packets);
    stats_gauge_set(stats->ring, net->config.inbound_bytes);
    stats_gauge_set(stats->over, engine->over_entered - engine->over_left);
    uint32_t topics = wishes_count(&net->wishes);
    stats_gauge_set(stats->topics, topics == WISHES_WANT_ALL ? 0 : topics);
    stats_gauge_set(stats->everything, topics == WISHES_WANT_ALL);
    net->turn_max_ns = 0;
    update_users(net);
    net_peers_update(net);
    if (!net->config.is_second)
        net_mesh_update(net);
}

void net_stats_user_wants(struct net *net, const struct net_user *user)
{
    char text[32] = "everything";

    if (user->wish.count == 0)
        snprintf(text, sizeof(text), "control topics");
    else if (user->wish.count != WISHES_WANT_ALL)
        snprintf(text, sizeof(text), "%u topic%s", user->wish.count,
                 user->wish.count == 1 ? "" : "s");
    stats_string_set(net->config.stats, user->stat_wants, text);
}

void net_stats_user_add(struct net *net, struct net_user *user)
{
    struct stats_segment *segment = net->config.stats;
    const char *process = net->config.process;
    char prefix[STATS_PATH_BYTES];

    snprintf(prefix, sizeof(prefix), "%s.user.%d.", process, user->port);
    stats_rows_add(user_rows, NET_USER_ROWS, segment, prefix, user->stats);
    user->stat_lag =
        stats_entry_addf(segment, STATS_KIND_GAUGE, "%s.user.%d.userQUse", process, user->port);
    user->stat_name =
        stats_entry_addf(segment, STATS_KIND_STRING, "%s.user.%d.name", process, user->port);
    stats_string_set(segment, user->stat_name, user->name);
    user->stat_wants =
        stats_entry_addf(segment, STATS_KIND_STRING, "%s.user.%d.wants", process, user->port);
    net_stats_user_wants(net, user);
}

void net_stats_user_remove(struct net *net, struct net_user *user)
{
    struct stats_segment *segment = net->config.stats;

    stats_rows_remove(user->stats, NET_USER_ROWS, segment);
    stats_entry_remove(segment, user->stat_lag);
    stats_entry_remove(segment, user->stat_name);
    stats_entry_remove(segment, user->stat_wants);
}

/* ---- what the engine wants said -------------------------------------------------------------- */

void net_note(void *argument, enum rrcp_note note, uint64_t session, uint64_t value)
{
    enum md_log_severity severity = MD_LOG_WARNING;
    struct net *net = argument;

    if (note == RRCP_NOTE_COUNTER_EXHAUSTED) { /* the control loop joins the network anew */
        if (!net->is_stopping)
            net_post(net, NET_EXHAUSTED, NULL, 0);
        return;
    }
    if (note == RRCP_NOTE_VERSION_UNKNOWN || note == RRCP_NOTE_MESH_TRANSLATED ||
        note == RRCP_NOTE_MESH_UNKNOWN)
        return; /* net_strangers_tell() and net_mesh_tell() name the sender */
    if (note == RRCP_NOTE_NAME_DUPLICATE || note == RRCP_NOTE_USERS_EXHAUSTED)
        severity = MD_LOG_ERROR;
    else if (note == RRCP_NOTE_OVER_LEFT || note == RRCP_NOTE_PATH_BACK)
        severity = MD_LOG_NOTICE;
    md_log(severity, "%s (peer %016llx, %llu)", rrcp_note_text(note), (unsigned long long)session,
           (unsigned long long)value);
}
