/* settings.c - see attach/settings.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "attach/settings.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"

static uint64_t power_of_two(uint64_t value)
{
    uint64_t power = 1;

    while (power < value)
        power *= 2;
    return power;
}

static void copy(char *out, size_t size, const char *text)
{
    snprintf(out, size, "%s", text);
}

static void read_engine(const struct md_conf_object *object, struct rrcp_config *engine)
{
    engine->pool_packets = md_conf_u32(object, "maxPktPoolSize");
    engine->pool_high = md_conf_u32(object, "pktPoolLimitHigh");
    engine->pool_low = md_conf_u32(object, "pktPoolLimitLow");
    engine->hold_ns = md_conf_time_ns(object, "tbchold");
    engine->beacon_min_ns = md_conf_time_ns(object, "hbMin");
    engine->beacon_max_ns = md_conf_time_ns(object, "hbMax");
    engine->data_rate = md_conf_u64(object, "maxDataRate") / 8;
    engine->repair_rate = md_conf_u64(object, "maxRetransRate") / 8;
    engine->repair_wait_ns = md_conf_time_ns(object, "twait");
    engine->flow_control =
        md_conf_word(object, "flowControl") == 1 ? RRCP_FLOW_CONTROL_MIN : RRCP_FLOW_CONTROL_MAX;
    engine->flow_control_timeout_ns = md_conf_time_ns(object, "fcTimeout");
    engine->congestion =
        md_conf_word(object, "congestionControl") == 1 ? RRCP_CONGESTION_AIMD : RRCP_CONGESTION_OFF;
    engine->message_bytes_max = md_conf_u32(object, "maxMsgSize");
    engine->hsm_interval_ns = md_conf_time_ns(object, "hsmInterval");
    engine->peers_max = md_conf_u32(object, "maxPeers");
    engine->peer_timeout_ns = md_conf_time_ns(object, "peerTimeout");
    engine->retry = md_conf_word(object, "retry") == 1 ? RRCP_RETRY_FIXED : RRCP_RETRY_FAST;
    engine->request_wait_ns = md_conf_time_ns(object, "trreq");
    engine->request_tries = md_conf_u32(object, "nrreq");
    engine->recover_timeout_ns = md_conf_time_ns(object, "recoverTimeout");
    engine->missing_max = md_conf_u32(object, "nmissing");
    engine->jump_max = md_conf_u64(object, "maxJump");
    engine->window_packets = (uint32_t)power_of_two(md_conf_u64(object, "rxWindow"));
    engine->switch_reorder = md_conf_bool(object, "switchReorderFixEnabled");
    engine->reorder_ns = md_conf_time_ns(object, "reorderDelay");
    engine->reorder_packets = md_conf_u32(object, "reorderPackets");
    engine->path_skew_ns = md_conf_time_ns(object, "pathSkew");
    engine->unicast_wait_ns = md_conf_time_ns(object, "tdata");
    engine->unicast_tries = md_conf_u32(object, "ndata");
}

static void read_udp(const struct md_conf_object *object, struct attach_node_config *node)
{
    struct net_udp_config *udp = &node->udp;

    udp->group_port = md_conf_port(object, "multicastPort");
    udp->unicast_port = md_conf_port(object, "unicastPort");
    udp->port_roam_range = (uint16_t)md_conf_u64(object, "portRoamRange");
    udp->ttl = (uint8_t)md_conf_u64(object, "packetTTL");
    udp->payload_max = md_conf_u64(object, "maxPacketSize");
    udp->receive_buffer = md_conf_u64(object, "udpRecvBufSize") * 1024;
    udp->send_buffer = md_conf_u64(object, "udpSendBufSize") * 1024;
    udp->busy_poll_us = (uint32_t)(md_conf_time_ns(object, "busyPoll") / 1000);
    udp->path_count = *md_conf_string(object, "secondInterface") ? 2 : 1;
    copy(node->interface[0], sizeof(node->interface[0]), md_conf_string(object, "interface"));
    copy(node->interface[1], sizeof(node->interface[1]), md_conf_string(object, "secondInterface"));
    copy(node->peers, sizeof(node->peers), md_conf_string(object, "peerAddresses"));
    copy(node->group[0], sizeof(node->group[0]), md_conf_string(object, "multicastAddress"));
    copy(node->group[1], sizeof(node->group[1]), md_conf_string(object, "secondAddress"));
    if (!*node->group[1])
        copy(node->group[1], sizeof(node->group[1]), node->group[0]);
}

/* The program of the user would have to poll a device; that is rrcpd's work. */
static int read_transport(const struct md_conf_object *object, struct attach_node_config *node,
                          bool in_process, char *why, size_t why_size)
{
    const char *peers = md_conf_string(object, "peers");

    node->uses_verbs = md_conf_word(object, "transport") == 1;
    node->uses_mesh = md_conf_word(object, "transport") == 2;
    node->rdma_port = (uint8_t)md_conf_u64(object, "rdmaPort");
    copy(node->rdma_device, sizeof(node->rdma_device), md_conf_string(object, "rdmaDevice"));
    copy(node->seeds, sizeof(node->seeds), peers);
    if (strlen(peers) >= sizeof(node->seeds))
        snprintf(why, why_size,
                 "peers: longer than %zu characters; nodes learn the others from these",
                 sizeof(node->seeds) - 1);
    else if (node->uses_mesh && node->udp.path_count == 2)
        snprintf(why, why_size, "secondInterface: transport : mesh has one path; leave it out");
    else if ((node->uses_verbs || node->uses_mesh) && in_process)
        snprintf(why, why_size,
                 "transport: %s needs rrcpd; write inProcess : False, or transport : udp",
                 node->uses_verbs ? "verbs" : "mesh");
    else
        return MD_OK;
    return MD_ERR_RANGE;
}

static void read_shim(const struct md_conf_object *object, struct net_shim_config *shim)
{
    shim->seed = md_conf_u64(object, "faultSeed");
    shim->loss_ppm = (uint32_t)md_conf_ppm(object, "lossPct");
    shim->delay_ppm = (uint32_t)md_conf_ppm(object, "reorderPct");
    shim->delay_us = md_conf_u32(object, "delayUs");
    if (shim->delay_ppm && !shim->delay_us)
        shim->delay_us = 500;
    else if (shim->delay_us && !shim->delay_ppm)
        shim->delay_ppm = 1000000;
}

static int read_keys(const struct md_conf_object *object, struct attach_node_config *node,
                     char *why, size_t why_size)
{
    const char *path = md_conf_string(object, "authKeyFile");

    node->is_open = strcmp(path, ATTACH_KEYS_NONE) == 0;
    node->engine.encrypts = md_conf_word(object, "packetSecurity") == 1;
    node->engine.cipher = md_conf_word(object, "packetCipher") == 1 ? RRCP_CIPHER_AES_256_GCM
                                                                    : RRCP_CIPHER_AES_128_GCM;
    if (!*path || node->is_open)
        return 0;
    return attach_keys_read(path, node->engine.keys, &node->engine.key_count, why, why_size);
}

int attach_settings_read(const struct md_conf *conf, const char *network,
                         struct attach_settings *out, char *why, size_t why_size)
{
    memset(out, 0, sizeof(*out));
    why[0] = '\0';
    if (!network)
        network = md_conf_network(conf);
    struct md_conf_object object = md_conf_object(conf, MD_CONF_RRCP, network);
    struct md_conf_object daemon = md_conf_object(conf, MD_CONF_DAEMON, NULL);
    struct attach_node_config *node = &out->node;

    attach_node_config_init(node);
    copy(out->network, sizeof(out->network), network);
    copy(node->network, sizeof(node->network), network);
    snprintf(node->node, sizeof(node->node), "%s.%s.%s", md_conf_node(conf), md_conf_instance(conf),
             md_conf_program(conf));
    copy(out->rrcpd_instance, sizeof(out->rrcpd_instance),
         md_conf_string(&object, "rrcpdInstance"));
    read_engine(&object, &node->engine);
    read_udp(&object, node);
    read_shim(&object, &node->shim);
    node->lock_memory = md_conf_bool(&daemon, "lockMemory");
    out->inbound_bytes = power_of_two(md_conf_u64(&object, "inboundRing"));
    if (out->inbound_bytes < 4ull * node->engine.message_bytes_max)
        out->inbound_bytes = power_of_two(4ull * node->engine.message_bytes_max);
    uint64_t packet = node->udp.payload_max ? node->udp.payload_max : 1472;
    out->lag_max = md_conf_u64(&object, "userQLimit") * packet;
    out->busy_poll_ns = md_conf_time_ns(&object, "busyPoll");
    out->uses_point_to_point = md_conf_bool(&object, "usePointToPointData");
    out->config.network = out->network;
    out->config.rrcpd_instance = out->rrcpd_instance;
    if (!md_conf_is_set(&object, "rrcpdInstance"))
        out->config.rrcpd_role =
            md_conf_program_bit(md_conf_program(conf)) == MD_CONF_P2PS ? "sink" : "source";
    out->config.run_dir = md_conf_string(&daemon, "runDir");
    if (md_conf_bool(&object, "inProcess"))
        out->config.in_process = node;
    if (out->lag_max < 2ull * node->engine.message_bytes_max)
        out->lag_max = 2ull * node->engine.message_bytes_max;
    int err = read_transport(&object, node, out->config.in_process != NULL, why, why_size);
    if (err)
        return err;
    /* The keys are rrcpd's alone: a program that attaches may not read them, and needs none. */
    bool has_engine =
        out->config.in_process || md_conf_program_bit(md_conf_program(conf)) == MD_CONF_RRCPD;
    return has_engine ? read_keys(&object, node, why, why_size) : MD_OK;
}

/* See "Memory" in the README of rrcp. */
#define SLOT_BYTES  64u /* of a packet: its buffer's and its window's entry */
#define HOLE_BYTES  17u /* of a packet a receive window may hold */
#define PEER_BYTES  8192u
#define SPARE_BYTES (1u << 20) /* of queues of unicast, to be used again */

struct attach_settings_memory attach_settings_memory(const struct attach_settings *settings)
{
    const struct rrcp_config *engine = &settings->node.engine;

    return (struct attach_settings_memory){
        .packets = rrcp_packet_memory_size(engine) + (uint64_t)engine->pool_packets * SLOT_BYTES,
        .peers = (uint64_t)engine->windows_max * engine->window_packets * HOLE_BYTES +
                 (uint64_t)engine->peers_max * PEER_BYTES,
        .waiting = engine->unicast_bytes_max + engine->assembly_bytes_max + SPARE_BYTES,
        .inbound_ring = settings->inbound_bytes,
    };
}
