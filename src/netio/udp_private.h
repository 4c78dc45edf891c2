/* udp_private.h - what udp.c, udp_receive.c and mesh.c share: sockets, batches, addresses. Private
 * to netio. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NETIO_UDP_PRIVATE_H
#define NETIO_UDP_PRIVATE_H

#include <stdalign.h>
#include <sys/socket.h>
#include <sys/uio.h>

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
    int socket_count; /* that are read: path * 2 + 0 unicast, 1 group; a mesh has no group's */
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

static inline struct udp_io *udp_of(struct net_packet_io *io)
{
    return (struct udp_io *)io;
}

static inline const struct udp_io *udp_of_const(const struct net_packet_io *io)
{
    return (const struct udp_io *)io;
}

/* Socket addresses, as the engine's opaque ones and back. */
void udp_address_make(const struct sockaddr_storage *from, struct rrcp_address *out);
socklen_t udp_address_use(const struct rrcp_address *address, struct sockaddr_storage *out);

int udp_receive_init(struct udp_io *udp);
int udp_receive(struct net_packet_io *io, struct rrcp_arrival out[], int max);
bool udp_readable(struct net_packet_io *io);

/* How many packets from `first` can share one message: equally long, the last may be shorter. */
int udp_run_length(const struct udp_path *path, const struct net_packet *first, int left);
/* Put one message of `run` packets at `m`, its buffers at `v`. */
void udp_fill_message(struct udp_io *udp, const struct udp_path *path, int m, int v,
                      const struct net_packet *first, int run);
/* Send one call's worth on one path; returns packets disposed of, and whether all of them were. */
int udp_send_on_path(struct udp_io *udp, struct udp_path *path, const struct net_packet packets[],
                     int count, bool *is_full);
/* True: this errno says that there is no room now. */
bool udp_is_full(int error);
/* The kernel does not take a train of packets there. */
bool udp_is_no_gso(int error);
/* The packet is too big, the kernel says, and is sent none the less: a stranger may have told of a
 * narrow path, and it believes him for ten minutes. What the interface cannot carry is refused
 * again. */
void udp_send_anyway(const struct udp_path *path, const struct msghdr *message);
void udp_limits(const struct net_packet_io *io, struct net_packet_limits *out);
void udp_local(const struct net_packet_io *io, int path, struct rrcp_address *out);
void udp_close(struct net_packet_io *io);

#endif
