/* udp.c - packet I/O over kernel UDP; see netio/udp.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "netio/udp.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "udp_private.h"

void udp_limits(const struct net_packet_io *io, struct net_packet_limits *out)
{
    const struct udp_io *udp = udp_of_const(io);

    *out = (struct net_packet_limits){ .payload_max = udp->payload_max,
                                       .batch_max = SEND_IOV_MAX,
                                       .bits_per_s = udp->paths[0].bits_per_s,
                                       .path_count = (uint8_t)udp->path_count,
                                       .wants_equal_sizes = udp->paths[0].has_gso };
}

/* ---- sending -------------------------------------------------------------------------------- */

static bool same_target(const struct net_packet *a, const struct net_packet *b)
{
    if (!a->to || !b->to)
        return a->to == b->to;
    return a->to == b->to || (a->to->length == b->to->length &&
                              memcmp(a->to->bytes, b->to->bytes, a->to->length) == 0);
}

int udp_run_length(const struct udp_path *path, const struct net_packet *first, int left)
{
    size_t bytes = first->length;
    int run = 1;

    if (!path->has_gso)
        return 1;
    while (run < left && run < SEGMENTS_MAX && first[run].length <= first->length &&
           bytes + first[run].length <= SEGMENT_BYTES_MAX && first[run].path == first->path &&
           same_target(first, &first[run]) && first[run].skipped == first->skipped) {
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

void udp_fill_message(struct udp_io *udp, const struct udp_path *path, int m, int v,
                      const struct net_packet *first, int run)
{
    struct msghdr *message = &udp->out[m].msg_hdr;

    memset(message, 0, sizeof(*message));
    if (first->to) {
        message->msg_name = &udp->out_to[m];
        message->msg_namelen = udp_address_use(first->to, &udp->out_to[m]);
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

bool udp_is_full(int error)
{
    return error == EAGAIN || error == EWOULDBLOCK || error == ENOBUFS || error == EINTR;
}

bool udp_is_no_gso(int error)
{
    return error == EIO || error == EINVAL;
}

void udp_send_anyway(const struct udp_path *path, const struct msghdr *message)
{
    bool is_v4 = path->local.ss_family == AF_INET;
    int level = is_v4 ? IPPROTO_IP : IPPROTO_IPV6;
    int option = is_v4 ? IP_MTU_DISCOVER : IPV6_MTU_DISCOVER;
    int probe = is_v4 ? IP_PMTUDISC_PROBE : IPV6_PMTUDISC_PROBE;
    int heed = is_v4 ? IP_PMTUDISC_DO : IPV6_PMTUDISC_DO;

    if (setsockopt(path->unicast_fd, level, option, &probe, sizeof(probe)) != 0)
        return;
    (void)sendmsg(path->unicast_fd, message, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)setsockopt(path->unicast_fd, level, option, &heed, sizeof(heed));
}

/*
 * The first message was refused. 1: skip it (it is lost, as any packet may be), 0: no room now,
 * -1: the path cannot segment after all; build the messages anew without.
 */
static int refused(struct udp_io *udp, struct udp_path *path, int m)
{
    struct net_packet_counters *counters = &udp->io.counters;
    int error = errno;

    if (udp_is_full(error)) {
        counters->send_full++;
        return 0;
    }
    /* One peer of a mesh that cannot be reached says nothing of the path to the others. */
    if (udp->out_packets[m] > 1 && path->has_gso && (!path->is_mesh || udp_is_no_gso(error))) {
        path->has_gso = false;
        return -1;
    }
    if (error == EMSGSIZE)
        counters->send_too_big++;
    else
        counters->send_errors++;
    if (error == EMSGSIZE && path->is_mesh)
        udp_send_anyway(path, &udp->out[m].msg_hdr);
    counters->send_errno = (uint64_t)error;
    return 1;
}

int udp_send_on_path(struct udp_io *udp, struct udp_path *path, const struct net_packet packets[],
                     int count, bool *is_full)
{
    int taken = 0;
    int messages = 0;
    int done = 0;

    *is_full = false;
    for (int v = 0; v < count && messages < SEND_MAX; messages++) {
        int run = udp_run_length(path, &packets[v], count - v);

        udp_fill_message(udp, path, messages, v, &packets[v], run);
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
        int sent = udp_send_on_path(udp, &udp->paths[index], first, run, &is_full);
        if (first->path == NET_PATH_ALL && udp->path_count == 2) {
            bool ignored;
            udp_send_on_path(udp, &udp->paths[1], first, sent, &ignored);
        }
        taken += sent;
        if (is_full)
            break;
    }
    return taken;
}

/* ---- the rest ------------------------------------------------------------------------------- */

static int udp_fd(const struct net_packet_io *io, int index)
{
    const struct udp_io *udp = udp_of_const(io);

    if (index < 0 || index >= udp->socket_count)
        return -1;
    const struct udp_path *path = &udp->paths[index / 2];
    return index % 2 ? path->group_fd : path->unicast_fd;
}

static void udp_quiet(struct net_packet_io *io, int index)
{
    struct udp_io *udp = udp_of(io);

    if (index >= 0 && index < udp->socket_count)
        udp->drained |= (uint8_t)(1u << index);
}

void udp_local(const struct net_packet_io *io, int path, struct rrcp_address *out)
{
    const struct udp_io *udp = udp_of_const(io);

    memset(out, 0, sizeof(*out));
    if (path >= 0 && path < udp->path_count)
        udp_address_make(&udp->paths[path].local, out);
}

void udp_close(struct net_packet_io *io)
{
    struct udp_io *udp = udp_of(io);

    for (int i = 0; i < 2; i++)
        udp_path_close(&udp->paths[i]);
    free(udp->buffers);
    free(udp);
}

static const struct net_packet_table udp_table = {
    .name = "udp",
    .limits = udp_limits,
    .send = udp_send,
    .receive = udp_receive,
    .fd = udp_fd,
    .readable = udp_readable,
    .quiet = udp_quiet,
    .local = udp_local,
    .close = udp_close,
};

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
    if (udp_receive_init(udp) != 0)
        goto fail;
    udp->path_count = config->path_count == 2 ? 2 : 1;
    udp->socket_count = 2 * udp->path_count;
    for (setup.path_index = 0; setup.path_index < udp->path_count; setup.path_index++) {
        err =
            udp_path_open(&setup, &config->paths[setup.path_index], &udp->paths[setup.path_index]);
        if (err)
            goto fail;
    }
    size_t standard = udp->paths[0].group.ss_family == AF_INET ? 1472 : 1452;
    udp->payload_max = config->payload_max ? config->payload_max : standard;
    report->has_segmentation = udp->paths[0].has_gso;
    why[0] = '\0';
    *out = &udp->io;
    return 0;

fail:
    udp_close(&udp->io);
    return err;
}
