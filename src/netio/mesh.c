/* mesh.c - see netio/mesh.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "netio/mesh.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/err.h"
#include "mesh_seeds.h"
#include "udp_private.h"

/*
 * A packet to the group becomes one message for each peer that it does not skip, all from the same
 * buffers; trains of packets (UDP_SEGMENT) are built once. One sendmmsg carries up to BATCH_MAX of
 * them. For each message the next peer is the first, so that none is always last. When the kernel
 * has no room in the middle of a message, the call that offers it again goes on with the peers that
 * are left.
 */
enum { BATCH_MAX = 256 };

struct mesh_peer {
    struct sockaddr_storage to;
    socklen_t length;
    uint64_t places; /* bits */
};

/* A message at `first` of the caller's packets, for the peers from number `done` of its turn on. */
struct mesh_rest {
    const uint8_t *bytes; /* of its first packet; NULL: none is left over */
    int run;
    uint32_t turn;
    int done;
};

struct mesh_io {
    struct udp_io udp; /* the first member: one pointer is both */
    struct mesh_seeds seeds;
    struct mesh_peer peers[RRCP_MESH_PEERS_MAX];
    int peer_count;
    uint32_t turn;
    struct mesh_rest rest;
    uint32_t turns[SEND_MAX]; /* of each message of this call */
    uint64_t skipped[SEND_MAX];
    struct mmsghdr batch[BATCH_MAX];
};

static struct mesh_io *mesh_of(struct net_packet_io *io)
{
    return (struct mesh_io *)io;
}

/* ---- sending -------------------------------------------------------------------------------- */

struct place {
    int message, done; /* the message is with so many peers */
};

static const struct mesh_peer *peer_at(const struct mesh_io *mesh, struct place at)
{
    return &mesh->peers[(mesh->turns[at.message] + (uint32_t)at.done) % (uint32_t)mesh->peer_count];
}

static void advance(const struct mesh_io *mesh, struct place *at)
{
    if (++at->done == mesh->peer_count) {
        at->done = 0;
        at->message++;
    }
}

/* To the next peer that the message does not skip, from here on. */
static void settle(const struct mesh_io *mesh, struct place *at, int messages)
{
    while (at->message < messages) {
        uint64_t places = peer_at(mesh, *at)->places;

        if (places == 0 || (places & ~mesh->skipped[at->message]) != 0)
            return;
        advance(mesh, at);
    }
}

/* Builds the messages without receivers; returns how many. */
static int build(struct mesh_io *mesh, const struct net_packet packets[], int count,
                 struct place *first)
{
    struct udp_io *udp = &mesh->udp;
    struct mesh_rest rest = mesh->rest;
    int messages = 0;

    *first = (struct place){ 0, 0 };
    mesh->rest.bytes = NULL;
    for (int v = 0; v < count && messages < SEND_MAX; messages++) {
        int run = udp_run_length(&udp->paths[0], &packets[v], count - v);

        if (v == 0 && rest.bytes == packets[0].bytes && rest.run <= count) {
            run = rest.run;
            first->done = rest.done;
            mesh->turns[0] = rest.turn;
        } else {
            mesh->turns[messages] = mesh->turn++;
        }
        mesh->skipped[messages] = packets[v].skipped;
        udp_fill_message(udp, &udp->paths[0], messages, v, &packets[v], run);
        v += run;
    }
    return messages;
}

static int fill_batch(struct mesh_io *mesh, struct place at, int messages)
{
    int n = 0;

    for (; n < BATCH_MAX && at.message < messages; n++) {
        const struct mesh_peer *peer = peer_at(mesh, at);
        struct msghdr *message = &mesh->batch[n].msg_hdr;

        *message = mesh->udp.out[at.message].msg_hdr;
        message->msg_name = (void *)(uintptr_t)&peer->to;
        message->msg_namelen = peer->length;
        advance(mesh, &at);
        settle(mesh, &at, messages);
    }
    return n;
}

static void count_sent(struct mesh_io *mesh, struct place *at, int count, int messages)
{
    struct net_packet_counters *counters = &mesh->udp.io.counters;

    for (int i = 0; i < count; i++) {
        const struct msghdr *message = &mesh->batch[i].msg_hdr;

        counters->packets_sent += message->msg_iovlen;
        for (size_t j = 0; j < message->msg_iovlen; j++)
            counters->bytes_sent += message->msg_iov[j].iov_len;
        advance(mesh, at);
        settle(mesh, at, messages);
    }
}

enum verdict { FULL, SKIP, REBUILD };

/* The kernel refused the message at `at`, to one peer: full, that peer does not get it, or the
 * device cannot segment after all. */
static enum verdict refused(struct mesh_io *mesh, struct place at)
{
    struct net_packet_counters *counters = &mesh->udp.io.counters;
    const struct msghdr *message = &mesh->udp.out[at.message].msg_hdr;
    struct rrcp_address to;
    int error = errno;

    if (udp_is_full(error)) {
        counters->send_full++;
        return FULL;
    }
    udp_address_make(&peer_at(mesh, at)->to, &to);
    bool is_too_big = error == EMSGSIZE;

    if (!is_too_big && message->msg_iovlen > 1) { /* older kernels have another word for a train */
        size_t room = net_mesh_payload(&to);

        is_too_big = room > 0 && room < message->msg_iov[0].iov_len;
    }
    if (message->msg_iovlen > 1 && !is_too_big && udp_is_no_gso(error)) {
        mesh->udp.paths[0].has_gso = false;
        return REBUILD;
    }
    counters->send_errno = (uint64_t)error;
    if (is_too_big) {
        counters->send_too_big += message->msg_iovlen;
        counters->too_big_to = to;
        udp_send_anyway(&mesh->udp.paths[0], message);
    } else {
        counters->send_errors += message->msg_iovlen;
    }
    return SKIP;
}

/* Returns how many packets are done with; *is_full: the rest waits. */
static int send_group(struct mesh_io *mesh, const struct net_packet packets[], int count,
                      bool *is_full)
{
    struct place at;
    int taken = 0;

    if (mesh->peer_count == 0)
        return count;
    int messages = build(mesh, packets, count, &at);

    settle(mesh, &at, messages);
    while (at.message < messages) {
        int n = fill_batch(mesh, at, messages);
        int sent = sendmmsg(mesh->udp.paths[0].unicast_fd, mesh->batch, (unsigned)n,
                            MSG_DONTWAIT | MSG_NOSIGNAL);

        mesh->udp.io.counters.send_calls++;
        if (sent > 0) {
            count_sent(mesh, &at, sent, messages);
            continue;
        }
        enum verdict verdict = refused(mesh, at);

        if (verdict == SKIP) {
            advance(mesh, &at);
            settle(mesh, &at, messages);
            continue;
        }
        *is_full = verdict == FULL;
        break;
    }
    for (int m = 0; m < at.message; m++)
        taken += mesh->udp.out_packets[m];
    if (*is_full)
        mesh->rest = (struct mesh_rest){ .bytes = packets[taken].bytes,
                                         .run = mesh->udp.out_packets[at.message],
                                         .turn = mesh->turns[at.message],
                                         .done = at.done };
    return taken;
}

static int mesh_send(struct net_packet_io *io, const struct net_packet packets[], int count)
{
    struct mesh_io *mesh = mesh_of(io);
    bool is_full = false;
    int taken = 0;

    while (taken < count && !is_full) {
        const struct net_packet *first = &packets[taken];
        int run = 1;

        while (taken + run < count && run < SEND_IOV_MAX && !first[run].to == !first->to)
            run++;
        taken += first->to ? udp_send_on_path(&mesh->udp, &mesh->udp.paths[0], first, run, &is_full)
                           : send_group(mesh, first, run, &is_full);
    }
    return taken;
}

/* ---- receiving ------------------------------------------------------------------------------ */

/* Marks what the operator names, so that it may introduce itself. */
static int mesh_receive(struct net_packet_io *io, struct rrcp_arrival out[], int max)
{
    const struct udp_sources *sources = &mesh_of(io)->udp.paths[0].sources;
    int count = udp_receive(io, out, max);
    struct sockaddr_storage from;

    for (int i = 0; sources->count > 0 && i < count; i++) {
        if (i > 0 && out[i].from == out[i - 1].from) {
            out[i].is_invited = out[i - 1].is_invited;
            continue;
        }
        (void)udp_address_use(out[i].from, &from);
        out[i].is_invited = udp_sources_allow(sources, &from);
    }
    return count;
}

/* ---- the rest ------------------------------------------------------------------------------- */

static int mesh_fd(const struct net_packet_io *io, int index)
{
    return index == 0 ? udp_of_const(io)->paths[0].unicast_fd : -1;
}

static void mesh_quiet(struct net_packet_io *io, int index)
{
    if (index == 0)
        udp_of(io)->drained |= 1u;
}

static const struct net_packet_table mesh_table = {
    .name = "mesh",
    .limits = udp_limits,
    .send = mesh_send,
    .receive = mesh_receive,
    .fd = mesh_fd,
    .readable = udp_readable,
    .quiet = mesh_quiet,
    .local = udp_local,
    .close = udp_close,
};

int net_mesh_seeds(const struct net_packet_io *io, struct rrcp_address out[], int max)
{
    const struct mesh_seeds *seeds = &((const struct mesh_io *)io)->seeds;
    int count = seeds->count < max ? seeds->count : max;

    MD_ASSERT(io->table == &mesh_table);
    memcpy(out, seeds->list, (size_t)count * sizeof(out[0]));
    return count;
}

void net_mesh_group(struct net_packet_io *io, const struct rrcp_address group[],
                    const uint64_t places[], int count)
{
    struct mesh_io *mesh = mesh_of(io);

    MD_ASSERT(io->table == &mesh_table && count <= RRCP_MESH_PEERS_MAX);
    for (int i = 0; i < count; i++) {
        mesh->peers[i].length = udp_address_use(&group[i], &mesh->peers[i].to);
        mesh->peers[i].places = places ? places[i] : 0;
    }
    mesh->peer_count = count;
    mesh->rest.bytes = NULL; /* to some a packet may go twice */
}

size_t net_mesh_payload(const struct rrcp_address *to)
{
    struct sockaddr_storage address;
    socklen_t length = udp_address_use(to, &address);
    bool is_v4 = address.ss_family == AF_INET;
    int fd = socket(address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t size = sizeof(int);
    int mtu = 0;

    if (fd < 0)
        return 0;
    if (connect(fd, (struct sockaddr *)&address, length) != 0 ||
        getsockopt(fd, is_v4 ? IPPROTO_IP : IPPROTO_IPV6, is_v4 ? IP_MTU : IPV6_MTU, &mtu, &size) !=
            0)
        mtu = 0;
    close(fd);
    int headers = is_v4 ? 28 : 48;
    return mtu > headers ? (size_t)(mtu - headers) : 0;
}

/* The smallest path to a seed decides, if it carries a packet at all. */
static size_t payload_for(const struct mesh_io *mesh, size_t wanted)
{
    for (int i = 0; i < mesh->seeds.count; i++) {
        size_t room = net_mesh_payload(&mesh->seeds.list[i]);

        if (room >= 256 && room < wanted)
            wanted = room;
    }
    return wanted;
}

static int open_path(struct mesh_io *mesh, const struct net_mesh_config *config,
                     struct udp_setup *setup, struct net_udp_config *ip)
{
    struct udp_path *path = &mesh->udp.paths[0];

    *ip = config->ip;
    if (ip->unicast_port == 0)
        ip->unicast_port = ip->group_port;
    setup->config = ip;
    int err =
        mesh_seeds_read(&mesh->seeds, config->seeds, ip->unicast_port, setup->why, setup->why_size);
    if (!err)
        err = udp_path_open_mesh(setup, ip->paths[0].interface, mesh->seeds.family, path);
    return err;
}

int net_mesh_open(const struct net_mesh_config *config, struct net_udp_report *report, char *why,
                  size_t why_size, struct net_packet_io **out)
{
    struct udp_setup setup = { .report = report, .why = why, .why_size = why_size };
    struct mesh_io *mesh = calloc(1, sizeof(*mesh));
    struct net_udp_config ip;

    *out = NULL;
    memset(report, 0, sizeof(*report));
    snprintf(why, why_size, "out of memory");
    if (!mesh)
        return MD_ERR_NOMEM;
    struct udp_io *udp = &mesh->udp;
    udp->io.table = &mesh_table;
    udp->any_source = true; /* the engine knows who may speak */
    udp->path_count = udp->socket_count = 1;
    for (int i = 0; i < 2; i++)
        udp->paths[i].group_fd = udp->paths[i].unicast_fd = -1;
    int err = udp_receive_init(udp);
    if (!err)
        err = open_path(mesh, config, &setup, &ip);
    if (err) {
        udp_close(&udp->io);
        return err;
    }
    size_t standard = mesh->seeds.family == AF_INET ? 1472 : 1452;
    udp->payload_max = payload_for(mesh, ip.payload_max ? ip.payload_max : standard);
    report->has_segmentation = udp->paths[0].has_gso;
    snprintf(report->transport, sizeof(report->transport),
             "mesh over UDP, packets of %zu bytes, %d addresses in peers", udp->payload_max,
             mesh->seeds.count);
    why[0] = '\0';
    *out = &udp->io;
    return 0;
}
