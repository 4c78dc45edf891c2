/* node.c - see attach/node.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "attach/node.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/err.h"
#include "node_far.h"
#include "seal/seal.h"

enum { INPUT_MAX = 256, OUTPUT_MAX = 512, COMPLETE_MAX = 256 };

/* The start faults in the pages of the packet pool that are used first. */
#define WARM_BYTES (32u << 20)

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* How long a full send queue is left alone. */
#define BLOCKED_NS 200000ull

struct attach_node {
    struct rrcp *engine;
    struct net_packet_io *io;
    struct net_packet_io *mesh; /* io, or what is behind its shim; NULL: no mesh */
    uint32_t group_version;     /* of the list that the mesh has */
    struct rrcp_arrival in[INPUT_MAX];
    struct rrcp_packet out[OUTPUT_MAX]; /* views; those from out_next on wait for room */
    struct net_packet packets[OUTPUT_MAX];
    int out_next, out_count;
    uint64_t blocked_until_ns;
    bool completes_late;
    bool was_empty; /* the last look at the network found nothing */
    uint8_t *packet_memory;
    size_t packet_memory_size;
    struct rrcp_seal seal; /* with keys */
    attach_note_fn *note;
    void *note_argument;
    struct node_far far;
};

void attach_node_config_init(struct attach_node_config *config)
{
    memset(config, 0, sizeof(*config));
    rrcp_config_init(&config->engine);
    config->udp.path_count = 1;
    config->udp.group_port = 8500;
    config->udp.ttl = 5;
    config->udp.receive_buffer = 4096 * 1024;
    config->udp.send_buffer = 4096 * 1024;
    snprintf(config->network, sizeof(config->network), "net1");
    snprintf(config->group[0], sizeof(config->group[0]), "239.255.82.82");
}

/* ---- what the engine asks of its surroundings ----------------------------------------------- */

static void *take(void *context, size_t bytes)
{
    (void)context;
    return calloc(1, bytes);
}

static void give(void *context, void *memory, size_t bytes)
{
    (void)context;
    (void)bytes;
    free(memory);
}

static void note(void *context, enum rrcp_note what, uint64_t session, uint64_t value)
{
    struct attach_node *node = context;

    if (node->note)
        node->note(node->note_argument, what, session, value);
}

/* ---- opening -------------------------------------------------------------------------------- */

static int open_io(struct attach_node *node, const struct attach_node_config *config,
                   struct net_udp_report *report, char *why, size_t why_size)
{
    struct net_packet_io **out = &node->io;
    struct net_udp_config udp = config->udp;

    *out = config->io;
    if (!*out) {
        for (int i = 0; i < 2; i++) {
            if (!udp.paths[i].interface)
                udp.paths[i].interface = config->interface[i];
            if (!udp.paths[i].group)
                udp.paths[i].group = config->group[i];
        }
        udp.any_source = config->engine.key_count > 0;
        udp.peers = config->peers;
        struct net_verbs_config verbs = { .ip = udp,
                                          .device = config->rdma_device,
                                          .port = config->rdma_port };
        struct net_mesh_config mesh = { .ip = udp, .seeds = config->seeds };
        int err = config->uses_verbs  ? net_verbs_open(&verbs, report, why, why_size, out)
                  : config->uses_mesh ? net_mesh_open(&mesh, report, why, why_size, out)
                                      : net_udp_open(&udp, report, why, why_size, out);
        if (err)
            return err;
    }
    if (config->uses_mesh)
        node->mesh = *out;
    if (!net_shim_wanted(&config->shim))
        return 0;
    int err = net_shim_open(&config->shim, *out, out);
    if (err)
        snprintf(why, why_size, "out of memory");
    return err;
}

/* Advice only: a kernel that takes none of it is slower for the first seconds. */
static void warm_up(void *memory, size_t size)
{
    (void)madvise(memory, size, MADV_HUGEPAGE);
    (void)madvise(memory, size < WARM_BYTES ? size : WARM_BYTES, MADV_POPULATE_WRITE);
}

static void set_mesh(const struct attach_node *node, struct rrcp_config *engine)
{
    struct rrcp_mesh_config *mesh = &engine->mesh;

    mesh->is_on = true;
    mesh->seed_count = (uint32_t)net_mesh_seeds(node->mesh, mesh->seeds, RRCP_MESH_SEEDS_MAX);
    net_packet_local(node->mesh, 0, &mesh->self);
    if (engine->peers_max > RRCP_MESH_PEERS_MAX)
        engine->peers_max = RRCP_MESH_PEERS_MAX;
}

/* Peers have come or gone: the transport sends to those that there are. */
static void update_mesh(struct attach_node *node)
{
    struct rrcp_address group[RRCP_MESH_PEERS_MAX];
    uint64_t places[RRCP_MESH_PEERS_MAX];
    uint32_t version = rrcp_group_version(node->engine);

    if (version == node->group_version)
        return;
    node->group_version = version;
    int count = rrcp_group(node->engine, group, places, RRCP_MESH_PEERS_MAX);

    net_mesh_group(node->mesh, group, places, count);
}

static int open_engine(struct attach_node *node, const struct attach_node_config *config,
                       uint16_t unicast_port)
{
    struct rrcp_config engine = config->engine;
    struct rrcp_env env = { .context = node, .take = take, .give = give, .note = note };
    struct net_packet_limits limits;

    net_packet_limits(node->io, &limits);
    if (!engine.network)
        engine.network = config->network;
    if (!engine.node)
        engine.node = config->node;
    engine.packet_bytes_max = (uint32_t)limits.payload_max;
    engine.headroom_bytes = (uint32_t)limits.headroom;
    engine.completes_late = limits.send_depth > 0;
    if (engine.completes_late)
        engine.send_queue_max = (uint32_t)limits.send_depth;
    engine.path_count = limits.path_count;
    engine.arrivals_max = INPUT_MAX;
    if (limits.bits_per_s)
        engine.interface_bits_per_s = limits.bits_per_s;
    engine.unicast_port = unicast_port;
    engine.start_ms = md_clock_wall_ns() / MD_NS_PER_MS;
    node->completes_late = engine.completes_late;
    if (node->mesh)
        set_mesh(node, &engine);
    if (engine.key_count > 0 && seal_open(&node->seal) != 0)
        return MD_ERR_SYS;
    env.seal = engine.key_count > 0 ? &node->seal : NULL;
    /* With keys a session must never come twice: its counters are the cipher's nonces. */
    if (config->seed && engine.key_count == 0)
        env.seed[0] = config->seed;
    else if (getrandom(env.seed, sizeof(env.seed), 0) != (ssize_t)sizeof(env.seed))
        return MD_ERR_SYS;
    node->packet_memory_size = rrcp_packet_memory_size(&engine);
    void *memory =
        mmap(NULL, node->packet_memory_size, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | (config->lock_memory ? MAP_POPULATE : 0), -1, 0);
    if (memory == MAP_FAILED)
        return MD_ERR_NOMEM;
    node->packet_memory = memory;
    engine.packet_memory = memory;
    warm_up(memory, node->packet_memory_size);
    int err = net_packet_memory(node->io, memory, node->packet_memory_size);
    if (!err)
        err = rrcp_create(&engine, &env, &node->engine);
    return err ? err : node_far_open(&node->far, node->engine, engine.message_bytes_max);
}

/* On loopback only this host is heard. Elsewhere whoever reaches the network can forge prices, so
 * that must have been decided. */
bool attach_network_needs_key(const struct net_udp_report *report, char *why, size_t why_size)
{
    for (int path = 0; path < 2; path++) {
        if (report->interface[path][0] == '\0' || report->is_loopback[path])
            continue;
        snprintf(why, why_size,
                 "authKeyFile is not set and interface %s is not loopback: whoever reaches that "
                 "network could forge prices. Make a key (rrcpd --make-key FILE), copy it to all "
                 "hosts and write *rrcp*authKeyFile : FILE; or write *rrcp*authKeyFile : none",
                 report->interface[path]);
        return true;
    }
    return false;
}

static int refuse_open(const struct attach_node_config *config, const struct net_udp_report *report,
                       char *why, size_t why_size)
{
    if (config->engine.key_count > 0 || (config->is_open && !config->uses_mesh) || config->io)
        return 0;
    if (!attach_network_needs_key(report, why, why_size))
        return 0;
    if (config->uses_mesh)
        snprintf(
            why, why_size,
            "authKeyFile: transport : mesh needs a key, for interface %s is not loopback: who "
            "may join is decided by it. Make one (rrcpd --make-key FILE), copy it to all hosts "
            "and write *rrcp*authKeyFile : FILE",
            report->interface[0]);
    return MD_ERR_RANGE;
}

int attach_node_open(const struct attach_node_config *config, struct net_udp_report *report,
                     char *why, size_t why_size, struct attach_node **out)
{
    struct attach_node *node = calloc(1, sizeof(*node));
    struct net_udp_report own = { 0 };

    *out = NULL;
    if (!report)
        report = &own;
    snprintf(why, why_size, "out of memory");
    if (!node)
        return MD_ERR_NOMEM;
    node->note = config->note;
    node->note_argument = config->note_argument;
    int err = open_io(node, config, report, why, why_size);
    if (!err)
        err = refuse_open(config, report, why, why_size);
    if (!err) {
        err = open_engine(node, config, report->unicast_port);
        const char *refused = err ? net_packet_why(node->io) : "";
        if (*refused)
            snprintf(why, why_size, "%s", refused);
        else if (err)
            snprintf(why, why_size, "the engine refuses this configuration: %s", md_err_name(err));
    }
    if (err) {
        attach_node_close(node);
        return err;
    }
    why[0] = '\0';
    *out = node;
    return 0;
}

void attach_node_close(struct attach_node *node)
{
    if (!node)
        return;
    node_far_close(&node->far);
    rrcp_destroy(node->engine);
    seal_close(&node->seal);
    net_packet_close(node->io);
    if (node->packet_memory)
        munmap(node->packet_memory, node->packet_memory_size);
    free(node);
}

struct rrcp *attach_node_engine(struct attach_node *node)
{
    return node->engine;
}

const char *attach_node_sealer(const struct attach_node *node)
{
    return node->seal.context ? seal_library(&node->seal) : NULL;
}

struct net_packet_io *attach_node_io(struct attach_node *node)
{
    return node->io;
}

/* ---- pumping -------------------------------------------------------------------------------- */

int attach_node_input(struct attach_node *node, uint64_t now_ns)
{
    int count = net_packet_receive(node->io, node->in, INPUT_MAX);

    node->was_empty = count == 0;
    rrcp_input(node->engine, now_ns, node->in, count);
    return count;
}

int attach_node_event(struct attach_node *node, struct backbone_event out[], int max)
{
    return node_far_event(&node->far, node->engine, out, max);
}

int attach_node_submit(struct attach_node *node, uint64_t now_ns, int port,
                       const struct rrcp_msg *msg)
{
    return node_far_submit(&node->far, node->engine, now_ns, port, msg);
}

const struct relay_far_counters *attach_node_relayed(const struct attach_node *node)
{
    return relay_far_counters(node->far.far);
}

static void complete(struct attach_node *node)
{
    uint32_t cookies[COMPLETE_MAX];
    int count;

    while ((count = net_packet_complete(node->io, cookies, COMPLETE_MAX)) > 0)
        rrcp_sent(node->engine, cookies, count);
}

/* Offer what waits; false when the network has no room for all of it. */
static bool send_waiting(struct attach_node *node, uint64_t now_ns)
{
    int count = node->out_count - node->out_next;

    if (count == 0)
        return true;
    int sent = net_packet_send(node->io, node->packets + node->out_next, count);
    node->out_next += sent;
    if (sent < count) {
        node->blocked_until_ns = now_ns + BLOCKED_NS;
        return false;
    }
    node->out_next = node->out_count = 0;
    return true;
}

int attach_node_output(struct attach_node *node, uint64_t now_ns)
{
    int total = 0;

    if (node->completes_late)
        complete(node);
    rrcp_tick(node->engine, now_ns);
    if (node->mesh)
        update_mesh(node);
    while (send_waiting(node, now_ns)) {
        int count = rrcp_output(node->engine, now_ns, node->out, OUTPUT_MAX);

        if (count == 0)
            break;
        for (int i = 0; i < count; i++)
            node->packets[i] = (struct net_packet){ .bytes = node->out[i].bytes,
                                                    .length = node->out[i].length,
                                                    .path = node->out[i].path,
                                                    .to = node->out[i].to,
                                                    .cookie = node->out[i].buffer,
                                                    .skipped = node->out[i].skipped };
        node->out_next = 0;
        node->out_count = count;
        total += count;
    }
    return total;
}

bool attach_node_is_blocked(const struct attach_node *node)
{
    return node->out_next < node->out_count;
}

uint64_t attach_node_deadline(const struct attach_node *node)
{
    uint64_t deadline = rrcp_deadline(node->engine);
    uint64_t transport = net_packet_deadline(node->io);

    if (transport < deadline)
        deadline = transport;
    if (attach_node_is_blocked(node) && node->blocked_until_ns < deadline)
        deadline = node->blocked_until_ns;
    return deadline;
}

bool attach_node_arm(struct attach_node *node)
{
    return net_packet_arm(node->io);
}

bool attach_node_is_idle(struct attach_node *node)
{
    return node->was_empty && !net_packet_readable(node->io);
}

/* ---- keys ----------------------------------------------------------------------------------- */

static bool parse_key(const char *line, struct rrcp_key *out)
{
    char *end;
    unsigned long id = strtoul(line, &end, 10);

    if (end == line || id > 255 || (*end != ' ' && *end != '\t'))
        return false;
    const char *hex = end + strspn(end, " \t");
    if (strspn(hex, "0123456789abcdefABCDEF") != 64)
        return false;
    out->id = (uint8_t)id;
    for (int i = 0; i < 32; i++) {
        char pair[3] = { hex[2 * i], hex[2 * i + 1], '\0' };

        out->bytes[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return true;
}

int attach_keys_read(const char *path, struct rrcp_key keys[RRCP_KEY_MAX], uint32_t *count,
                     char *why, size_t why_size)
{
    char line[256];
    unsigned number = 0;
    int err = 0;
    FILE *file = fopen(path, "re");

    *count = 0;
    if (!file) {
        snprintf(why, why_size, "authKeyFile: %s: %s", path, strerror(errno));
        return MD_ERR_SYS;
    }
    struct stat status;

    if (fstat(fileno(file), &status) != 0 || (status.st_mode & (S_IRWXO | S_IWGRP))) {
        snprintf(why, why_size,
                 "authKeyFile: %s: others can read or write it; chmod 0600 %s, and make a new key "
                 "if somebody may have read it",
                 path, path);
        fclose(file);
        return MD_ERR_RANGE;
    }
    while (!err && fgets(line, sizeof(line), file)) {
        size_t blank = strspn(line, " \t");

        number++;
        if (line[blank] == '#' || line[blank] == '\n' || line[blank] == '\0')
            continue;
        if (*count == RRCP_KEY_MAX || !parse_key(line + blank, &keys[*count])) {
            snprintf(why, why_size,
                     "authKeyFile: %s:%u: expected `ID KEY`, ID 0..255 and KEY 64 hexadecimal "
                     "digits, at most %d lines",
                     path, number, RRCP_KEY_MAX);
            err = MD_ERR_MALFORMED;
        } else {
            (*count)++;
        }
    }
    if (!err && *count == 0) {
        snprintf(why, why_size, "authKeyFile: %s: there is no key in it", path);
        err = MD_ERR_MALFORMED;
    }
    fclose(file);
    return err;
}
