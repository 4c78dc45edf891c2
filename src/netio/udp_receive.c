/* udp_receive.c - packets in, in batches; see udp_private.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "udp_private.h"

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
    for (int which = 0; which < udp->socket_count; which++) {
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
    udp_address_make(&udp->slots[udp->taken].from, &udp->slots[udp->taken].address);
    if (!udp->any_source && !udp_sources_allow(&path->sources, &udp->slots[udp->taken].from)) {
        udp->io.counters.outside++;
        udp->io.counters.outside_from = udp->slots[udp->taken].address;
        return false;
    }
    udp->io.counters.bytes_received += message->msg_len;
    return message->msg_len > 0;
}

int udp_receive(struct net_packet_io *io, struct rrcp_arrival out[], int max)
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

bool udp_readable(struct net_packet_io *io)
{
    const struct udp_io *udp = udp_of_const(io);

    return udp->taken < udp->filled;
}

int udp_receive_init(struct udp_io *udp)
{
    udp->buffers = malloc((size_t)RECEIVE_MAX * RECEIVE_BYTES);
    if (!udp->buffers)
        return MD_ERR_NOMEM;
    for (int i = 0; i < RECEIVE_MAX; i++) {
        struct receive_slot *slot = &udp->slots[i];
        struct msghdr *message = &udp->in[i].msg_hdr;

        slot->iov = (struct iovec){ udp->buffers + (size_t)i * RECEIVE_BYTES, RECEIVE_BYTES };
        message->msg_iov = &slot->iov;
        message->msg_iovlen = 1;
        message->msg_name = &slot->from;
        message->msg_control = slot->control.bytes;
    }
    return 0;
}
