/* udp.c - packet I/O over kernel UDP; see netio/udp.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "netio/udp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/assert.h"
#include "base/err.h"
#include "udp_socket.h"

/*
 * Packets move in batches. Sending: runs of equally long packets to one destination become one
 * message of up to 64 KiB that the kernel (or the card) cuts (UDP_SEGMENT); up to SEND_MAX such
 * messages go with one sendmmsg. Receiving: up to RECEIVE_MAX buffers of 64 KiB, each holding one
 * packet or, where the kernel merged a run (UDP_GRO), many of one length; they are handed out one
 * by one as views. What is not handed out yet is kept for the next call.
 */
enum {
    SEND_MAX = 64,
    SEND_IOV_MAX = 512,
    SEGMENTS_MAX = 64, /* UDP_MAX_SEGMENTS of older kernels */
    SEGMENT_BYTES_MAX = 65000,
    RECEIVE_MAX = 16,
    RECEIVE_BYTES = 65536,
    CONTROL_BYTES = 64,
};

struct control {
    alignas(struct cmsghdr) uint8_t bytes[CONTROL_BYTES];
};

struct receive_slot {
    struct sockaddr_storage from;
    struct rrcp_address address;
    struct iovec iov;
    struct control control;
};

struct udp_io {
    struct net_packet_io io;
    struct udp_path paths[2];
    int path_count;
    size_t payload_max;

    /* Received and not handed out: messages [taken, filled) of one recvmmsg. */
    struct mmsghdr in[RECEIVE_MAX];
    struct receive_slot slots[RECEIVE_MAX];
    int taken, filled;
    uint32_t offset;        /* in message `taken`: where its next packet begins */
    uint32_t segment_bytes; /* in message `taken`: length of its packets but the last */
    uint8_t in_path;
    bool any_source;
    bool in_is_group;
    uint8_t drained; /* bit per socket: the last look left nothing there */
    uint8_t *buffers;

    struct mmsghdr out[SEND_MAX];
    struct iovec out_iov[SEND_IOV_MAX];
    struct control out_control[SEND_MAX];
    int out_packets[SEND_MAX]; /* how many packets each message carries */
    struct sockaddr_storage out_to[SEND_MAX];
};

static struct udp_io *udp_of(struct net_packet_io *io)
{
    return (struct udp_io *)io;
}

static const struct udp_io *udp_of_const(const struct net_packet_io *io)
{
    return (const struct udp_io *)io;
}

static void limits(const struct net_packet_io *io, struct net_packet_limits *out)
{
    const struct udp_io *udp = udp_of_const(io);

    *out = (struct net_packet_limits){ .payload_max = udp->payload_max,
                                       .batch_max = SEND_IOV_MAX,
                                       .bits_per_s = udp->paths[0].bits_per_s,
                                       .path_count = (uint8_t)udp->path_count,
                                       .wants_equal_sizes = udp->paths[0].has_gso };
}

/* An address is the bytes of its socket address, those of the host first: the port is what changes
 * at a restart. */
static void address_make(const struct sockaddr_storage *from, struct rrcp_address *out)
{
    if (from->ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)from;

        memcpy(out->bytes, &v4->sin_addr, 4);
        memcpy(out->bytes + 4, &v4->sin_port, 2);
        out->host_length = 4;
        out->length = 6;
    } else {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)from;

        memcpy(out->bytes, &v6->sin6_addr, 16);
        memcpy(out->bytes + 16, &v6->sin6_scope_id, 4);
        memcpy(out->bytes + 20, &v6->sin6_port, 2);
        out->host_length = 20;
        out->length = 22;
    }
}

/* Of the verbs transport, see verbs_address.c: "10.1.2.3 queue pair 17". */
static void print_rdma(const struct rrcp_address *address, char *out, size_t size)
{
    static const uint8_t v4_mapped[12] = { [10] = 0xff, [11] = 0xff };
    const uint8_t *b = address->bytes;
    bool is_v4 = memcmp(b, v4_mapped, sizeof(v4_mapped)) == 0;
    char text[INET6_ADDRSTRLEN] = "?";

    (void)inet_ntop(is_v4 ? AF_INET : AF_INET6, is_v4 ? b + 12 : b, text, sizeof(text));
    snprintf(out, size, "%s queue pair %u", text,
             (unsigned)b[16] << 24 | (unsigned)b[17] << 16 | (unsigned)b[18] << 8 | b[19]);
}

void net_packet_address_text(const struct rrcp_address *address, char *out, size_t size)
{
    char text[INET6_ADDRSTRLEN] = "?";
    uint16_t port;

    snprintf(out, size, "?");
    if (address->length == 24) {
        print_rdma(address, out, size);
        return;
    }
    if (address->length != 6 && address->length != 22)
        return;
    bool is_v4 = address->length == 6;

    memcpy(&port, address->bytes + address->host_length, sizeof(port));
    if (inet_ntop(is_v4 ? AF_INET : AF_INET6, address->bytes, text, sizeof(text)))
        snprintf(out, size, is_v4 ? "%s:%u" : "[%s]:%u", text, ntohs(port));
}

static socklen_t address_use(const struct rrcp_address *address, struct sockaddr_storage *out)
{
    memset(out, 0, sizeof(struct sockaddr_in6));
    if (address->length == 6) {
        struct sockaddr_in *v4 = (struct sockaddr_in *)out;

        v4->sin_family = AF_INET;
        memcpy(&v4->sin_addr, address->bytes, 4);
        memcpy(&v4->sin_port, address->bytes + 4, 2);
        return sizeof(*v4);
    }
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;

    v6->sin6_family = AF_INET6;
    memcpy(&v6->sin6_addr, address->bytes, 16);
    memcpy(&v6->sin6_scope_id, address->bytes + 16, 4);
    memcpy(&v6->sin6_port, address->bytes + 20, 2);
    return sizeof(*v6);
}

/* ---- sending -------------------------------------------------------------------------------- */

static bool same_target(const struct net_packet *a, const struct net_packet *b)
{
    if (!a->to || !b->to)
        return a->to == b->to;
    return a->to == b->to || (a->to->length == b->to->length &&
                              memcmp(a->to->bytes, b->to->bytes, a->to->length) == 0);
}

/* How many packets from `first` can share one message: equally long, the last may be shorter. */
static int run_length(const struct udp_path *path, const struct net_packet *first, int left)
{
    size_t bytes = first->length;
    int run = 1;

    if (!path->has_gso)
        return 1;
    while (run < left && run < SEGMENTS_MAX && first[run].length <= first->length &&
           bytes + first[run].length <= SEGMENT_BYTES_MAX && first[run].path == first->path &&
           same_target(first, &first[run])) {
        bytes += first[run].length;
        run++;
        if (first[run - 1].length < first->length)
            break;
    }
    return run;
}

static void add_segment_size(struct msghdr *message, struct control *control, uint32_t size)
{
    uint16_t value = (uint16_t)size;

    message->msg_control = control->bytes;
    message->msg_controllen = CMSG_SPACE(sizeof(value));
    struct cmsghdr *header = CMSG_FIRSTHDR(message);
    header->cmsg_level = IPPROTO_UDP;
    header->cmsg_type = UDP_SEGMENT;
    header->cmsg_len = CMSG_LEN(sizeof(value));
    memcpy(CMSG_DATA(header), &value, sizeof(value));
}

/* Put one message of `run` packets at `m`, its buffers at `v`. */
static void fill_message(struct udp_io *udp, const struct udp_path *path, int m, int v,
                         const struct net_packet *first, int run)
{
    struct msghdr *message = &udp->out[m].msg_hdr;

    memset(message, 0, sizeof(*message));
    if (first->to) {
        message->msg_name = &udp->out_to[m];
        message->msg_namelen = address_use(first->to, &udp->out_to[m]);
    } else {
        message->msg_name = (void *)(uintptr_t)&path->group;
        message->msg_namelen = path->group_length;
    }
    message->msg_iov = &udp->out_iov[v];
    message->msg_iovlen = (size_t)run;
    for (int i = 0; i < run; i++)
        udp->out_iov[v + i] = (struct iovec){ first[i].bytes, first[i].length };
    if (run > 1)
        add_segment_size(message, &udp->out_control[m], first->length);
    udp->out_packets[m] = run;
}

static void count_sent(struct udp_io *udp, struct udp_path *path, int first, int count)
{
    for (int m = first; m < first + count; m++) {
        if (path->has_filter && udp->out[m].msg_hdr.msg_name == &path->group)
            path->own_filtered++;
        udp->io.counters.packets_sent += (uint64_t)udp->out_packets[m];
        for (size_t i = 0; i < udp->out[m].msg_hdr.msg_iovlen; i++)
            udp->io.counters.bytes_sent += udp->out[m].msg_hdr.msg_iov[i].iov_len;
    }
}

/*
 * The first message was refused. 1: skip it (it is lost, as any packet may be), 0: no room now,
 * -1: the path cannot segment after all; build the messages anew without.
 */
static int refused(struct udp_io *udp, struct udp_path *path, int m)
{
    struct net_packet_counters *counters = &udp->io.counters;

    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS || errno == EINTR) {
        counters->send_full++;
        return 0;
    }
    if (udp->out_packets[m] > 1 && path->has_gso) {
        path->has_gso = false;
        return -1;
    }
    if (errno == EMSGSIZE)
        counters->send_too_big++;
    else
        counters->send_errors++;
    counters->send_errno = (uint64_t)errno;
    return 1;
}

/* Send one call's worth on one path; returns packets disposed of, and whether all of them were. */
static int send_on_path(struct udp_io *udp, struct udp_path *path,
                        const struct net_packet packets[], int count, bool *is_full)
{
    int taken = 0;
    int messages = 0;
    int done = 0;

    *is_full = false;
    for (int v = 0; v < count && messages < SEND_MAX; messages++) {
        int run = run_length(path, &packets[v], count - v);

        fill_message(udp, path, messages, v, &packets[v], run);
        v += run;
    }
    while (done < messages) {
        int sent = sendmmsg(path->unicast_fd, udp->out + done, (unsigned)(messages - done),
                            MSG_DONTWAIT | MSG_NOSIGNAL);
        udp->io.counters.send_calls++;
        if (sent > 0) {
            count_sent(udp, path, done, sent);
        } else {
            int verdict = refused(udp, path, done);

            if (verdict == 0)
                *is_full = true;
            if (verdict <= 0)
                return taken;
            sent = 1;
        }
        for (int m = done; m < done + sent; m++)
            taken += udp->out_packets[m];
        done += sent;
    }
    return taken;
}

static int udp_send(struct net_packet_io *io, const struct net_packet packets[], int count)
{
    struct udp_io *udp = udp_of(io);
    int taken = 0;

    while (taken < count) {
        const struct net_packet *first = &packets[taken];
        int run = 1;
        bool is_full;

        while (taken + run < count && run < SEND_IOV_MAX && first[run].path == first->path)
            run++;
        int index = first->path < udp->path_count ? first->path : 0;
        int sent = send_on_path(udp, &udp->paths[index], first, run, &is_full);
        if (first->path == NET_PATH_ALL && udp->path_count == 2) {
            bool ignored;
            send_on_path(udp, &udp->paths[1], first, sent, &ignored);
        }
        taken += sent;
        if (is_full)
            break;
    }
    return taken;
}

/* ---- receiving ------------------------------------------------------------------------------ */

static void read_control(struct udp_io *udp, int m, uint32_t own, uint32_t *overflow,
                         uint32_t *segment)
{
    struct msghdr *message = &udp->in[m].msg_hdr;

    *segment = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_RXQ_OVFL) {
            uint32_t value;

            memcpy(&value, CMSG_DATA(c), sizeof(value));
            /* Both wrap, and own packets may not all have come back yet: compare by distance. */
            if ((int32_t)(value - own - *overflow) > 0) {
                udp->io.counters.receive_drops += value - own - *overflow;
                *overflow = value - own;
            }
        } else if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO) {
            int value;

            memcpy(&value, CMSG_DATA(c), sizeof(value));
            if (value > 0)
                *segment = (uint32_t)value;
        }
    }
}

/* One recvmmsg on socket number `which` (path * 2 + 0 unicast, 1 group). */
static int refill_from(struct udp_io *udp, int which)
{
    struct udp_path *path = &udp->paths[which / 2];
    bool is_group = which % 2 == 1;

    for (int i = 0; i < RECEIVE_MAX; i++) {
        struct msghdr *message = &udp->in[i].msg_hdr;

        message->msg_namelen = sizeof(udp->slots[i].from);
        message->msg_controllen = CONTROL_BYTES;
        message->msg_flags = 0;
    }
    int got = recvmmsg(is_group ? path->group_fd : path->unicast_fd, udp->in, RECEIVE_MAX,
                       MSG_DONTWAIT, NULL);
    udp->io.counters.receive_calls++;
    if (got < 0) {
        if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
            udp->io.counters.receive_errors++;
        return 0;
    }
    udp->taken = 0;
    udp->filled = got;
    udp->offset = 0;
    udp->in_path = (uint8_t)(which / 2);
    udp->in_is_group = is_group;
    return got;
}

/*
 * Unicast first: it is little, and requests and acknowledgements are urgent. A socket that filled
 * less than all buffers has nothing more; it is asked again only after the caller was told once
 * that there is nothing, so a batch costs one call and not two.
 */
static bool refill(struct udp_io *udp)
{
    int sockets = udp->path_count * 2;

    for (int which = 0; which < sockets; which++) {
        if (udp->drained >> which & 1)
            continue;
        int got = refill_from(udp, which);
        if (got == RECEIVE_MAX)
            udp->drained = 0; /* there is more: all are asked again, or it could starve requests */
        else
            udp->drained |= (uint8_t)(1u << which);
        if (got > 0)
            return true;
    }
    udp->drained = 0;
    return false;
}

/* No node sends such a packet. A run that the kernel merged is of one length, so none of it is
 * ours. Control data that did not fit may hide where the packets of a run end. */
static bool is_too_long(const struct udp_io *udp, const struct mmsghdr *message)
{
    return (message->msg_hdr.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 ||
           udp->segment_bytes > RRCP_PACKET_BYTES_MAX;
}

/* Begin handing out message `taken`; false: it has nothing to hand out. */
static bool begin_message(struct udp_io *udp)
{
    struct mmsghdr *message = &udp->in[udp->taken];
    struct udp_path *path = &udp->paths[udp->in_path];
    uint32_t *overflow = udp->in_is_group ? &path->overflow_group : &path->overflow_unicast;

    read_control(udp, udp->taken, udp->in_is_group ? path->own_filtered : 0, overflow,
                 &udp->segment_bytes);
    if (udp->segment_bytes == 0)
        udp->segment_bytes = message->msg_len;
    if (is_too_long(udp, message)) {
        udp->io.counters.truncated++;
        return false;
    }
    address_make(&udp->slots[udp->taken].from, &udp->slots[udp->taken].address);
    if (!udp->any_source && !udp_sources_allow(&path->sources, &udp->slots[udp->taken].from)) {
        udp->io.counters.outside++;
        udp->io.counters.outside_from = udp->slots[udp->taken].address;
        return false;
    }
    udp->io.counters.bytes_received += message->msg_len;
    return message->msg_len > 0;
}

static int udp_receive(struct net_packet_io *io, struct rrcp_arrival out[], int max)
{
    struct udp_io *udp = udp_of(io);
    int count = 0;

    if (udp->taken == udp->filled && !refill(udp))
        return 0;
    while (count < max && udp->taken < udp->filled) {
        struct mmsghdr *message = &udp->in[udp->taken];

        if (udp->offset == 0 && !begin_message(udp)) {
            udp->taken++;
            continue;
        }
        uint32_t left = message->msg_len - udp->offset;
        uint32_t length = left < udp->segment_bytes ? left : udp->segment_bytes;

        out[count++] = (struct rrcp_arrival){
            .bytes = (const uint8_t *)udp->slots[udp->taken].iov.iov_base + udp->offset,
            .length = length,
            .path = udp->in_path,
            .is_group = udp->in_is_group,
            .from = &udp->slots[udp->taken].address,
        };
        udp->offset += length;
        if (udp->offset == message->msg_len) {
            udp->taken++;
            udp->offset = 0;
        }
    }
    io->counters.packets_received += (uint64_t)count;
    return count;
}

/* ---- the rest ------------------------------------------------------------------------------- */

static int udp_fd(const struct net_packet_io *io, int index)
{
    const struct udp_io *udp = udp_of_const(io);

    if (index < 0 || index >= udp->path_count * 2)
        return -1;
    const struct udp_path *path = &udp->paths[index / 2];
    return index % 2 ? path->group_fd : path->unicast_fd;
}

static bool udp_readable(struct net_packet_io *io)
{
    const struct udp_io *udp = udp_of_const(io);

    return udp->taken < udp->filled;
}

static void udp_quiet(struct net_packet_io *io, int index)
{
    struct udp_io *udp = udp_of(io);

    if (index >= 0 && index < udp->path_count * 2)
        udp->drained |= (uint8_t)(1u << index);
}

static void udp_local(const struct net_packet_io *io, int path, struct rrcp_address *out)
{
    const struct udp_io *udp = udp_of_const(io);

    memset(out, 0, sizeof(*out));
    if (path >= 0 && path < udp->path_count)
        address_make(&udp->paths[path].local, out);
}

static void udp_close(struct net_packet_io *io)
{
    struct udp_io *udp = udp_of(io);

    for (int i = 0; i < 2; i++)
        udp_path_close(&udp->paths[i]);
    free(udp->buffers);
    free(udp);
}

static const struct net_packet_table udp_table = {
    .name = "udp",
    .limits = limits,
    .send = udp_send,
    .receive = udp_receive,
    .fd = udp_fd,
    .readable = udp_readable,
    .quiet = udp_quiet,
    .local = udp_local,
    .close = udp_close,
};

static void prepare_receiving(struct udp_io *udp)
{
    for (int i = 0; i < RECEIVE_MAX; i++) {
        struct receive_slot *slot = &udp->slots[i];
        struct msghdr *message = &udp->in[i].msg_hdr;

        slot->iov = (struct iovec){ udp->buffers + (size_t)i * RECEIVE_BYTES, RECEIVE_BYTES };
        message->msg_iov = &slot->iov;
        message->msg_iovlen = 1;
        message->msg_name = &slot->from;
        message->msg_control = slot->control.bytes;
    }
}

int net_udp_open(const struct net_udp_config *config, struct net_udp_report *report, char *why,
                 size_t why_size, struct net_packet_io **out)
{
    struct udp_setup setup = {
        .config = config, .report = report, .why = why, .why_size = why_size
    };
    struct udp_io *udp = calloc(1, sizeof(*udp));
    int err = MD_ERR_NOMEM;

    *out = NULL;
    memset(report, 0, sizeof(*report));
    snprintf(why, why_size, "out of memory");
    if (!udp)
        return err;
    udp->io.table = &udp_table;
    udp->any_source = config->any_source;
    for (int i = 0; i < 2; i++)
        udp->paths[i].group_fd = udp->paths[i].unicast_fd = -1;
    udp->buffers = malloc((size_t)RECEIVE_MAX * RECEIVE_BYTES);
    if (!udp->buffers)
        goto fail;
    udp->path_count = config->path_count == 2 ? 2 : 1;
    for (setup.path_index = 0; setup.path_index < udp->path_count; setup.path_index++) {
        err =
            udp_path_open(&setup, &config->paths[setup.path_index], &udp->paths[setup.path_index]);
        if (err)
            goto fail;
    }
    size_t standard = udp->paths[0].group.ss_family == AF_INET ? 1472 : 1452;
    udp->payload_max = config->payload_max ? config->payload_max : standard;
    report->has_segmentation = udp->paths[0].has_gso;
    prepare_receiving(udp);
    why[0] = '\0';
    *out = &udp->io;
    return 0;

fail:
    udp_close(&udp->io);
    return err;
}
