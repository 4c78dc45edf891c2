/* netio/packet.h - packet I/O: what carries the reliable multicast engine's packets. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NETIO_PACKET_H
#define NETIO_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rrcp/rrcp.h"

/*
 * One `struct net_packet_io` is one opened network (or the redundant pair of two): kernel UDP, the
 * lossy shim in front of another one, or the simulated network. It belongs to one thread.
 *
 *      struct rrcp_arrival in[64];
 *      int n = net_packet_receive(io, in, 64);      views; good until the next receive
 *      ...
 *      int sent = net_packet_send(io, out, m);      the first `sent` were taken
 *      while ((n = net_packet_complete(io, cookies, 64)) > 0) ...   these are free again
 *
 * The table is made for transports quite unlike UDP. A transport says how much payload a packet
 * may have, how many bytes it wants free in front of it and how many packets may be in flight; it
 * may want to know (register) the memory packets live in; a sent packet's bytes belong to it until
 * it reports them complete; an address is an opaque value that callers store and compare but never
 * read (struct rrcp_address); "the group" is whatever the transport makes of it, be it an IP
 * multicast group, a subnet broadcast or a list of peers.
 */

struct net_packet_limits {
    size_t payload_max;     /* bytes of one packet */
    size_t headroom;        /* bytes the transport writes in front of each sent packet */
    size_t send_depth;      /* packets that may be in flight; 0 = complete when send returns */
    size_t batch_max;       /* most useful number of packets in one call */
    uint64_t bits_per_s;    /* speed of the interface, 0 where unknown */
    uint8_t path_count;     /* redundant networks, 1 or 2 */
    bool wants_equal_sizes; /* runs of equally long packets are cheaper (segmentation offload) */
};

#define NET_PATH_ALL 0xff

struct net_packet {
    uint8_t *bytes; /* `headroom` bytes before it are writable and the transport's */
    uint32_t length;
    uint8_t path;                  /* which network, or NET_PATH_ALL */
    const struct rrcp_address *to; /* NULL = the group */
    uint32_t cookie;               /* comes back from net_packet_complete() */
    uint64_t skipped;              /* mesh: places of the group that it does not go to, as bits */
};

/* Totals since open. Plain numbers: read by the owning thread. */
struct net_packet_counters {
    uint64_t packets_sent, bytes_sent;
    uint64_t packets_received, bytes_received;
    uint64_t send_calls, receive_calls;
    uint64_t send_full;      /* the kernel or the device had no room: ENOBUFS, EAGAIN */
    uint64_t send_too_big;   /* EMSGSIZE: the packet is over the path MTU */
    uint64_t send_errors;    /* any other refusal; that packet is lost */
    uint64_t send_errno;     /* the last of those: errno */
    uint64_t receive_drops;  /* dropped by the kernel because our receive buffer was full; a run
                              * that segmentation offload kept together counts once */
    uint64_t receive_errors; /* reported by receive calls */
    uint64_t truncated;      /* datagrams longer than any packet, or cut: dropped */
    uint64_t foreign;        /* to another group on our port: dropped */
    uint64_t outside;        /* of a source outside the interface's subnet: dropped */
    struct rrcp_address outside_from; /* the last of those */
    struct rrcp_address too_big_to;   /* mesh: the last peer that a packet was too long for */
    uint64_t shim_dropped, shim_delayed, shim_duplicated;
};

/* "10.1.2.3:4000", "[fd00::7]:4000", "10.1.2.3 queue pair 17"; "?" for any other address. */
void net_packet_address_text(const struct rrcp_address *address, char *out, size_t size);

struct net_packet_io;

/* The calls of a transport; see the functions of the same names below. Optional ones are NULL.
 */
struct net_packet_table {
    const char *name;
    void (*limits)(const struct net_packet_io *io, struct net_packet_limits *out);
    int (*memory)(struct net_packet_io *io, void *base, size_t size); /* optional */
    const char *(*why)(const struct net_packet_io *io);               /* optional */
    int (*send)(struct net_packet_io *io, const struct net_packet packets[], int count);
    int (*complete)(struct net_packet_io *io, uint32_t cookies[], int max); /* optional */
    int (*receive)(struct net_packet_io *io, struct rrcp_arrival out[], int max);
    int (*fd)(const struct net_packet_io *io, int index); /* -1: no more descriptors */
    bool (*readable)(struct net_packet_io *io);           /* optional */
    void (*quiet)(struct net_packet_io *io, int index);   /* optional */
    bool (*arm)(struct net_packet_io *io);                /* optional */
    uint64_t (*deadline)(const struct net_packet_io *io); /* optional */
    void (*local)(const struct net_packet_io *io, int path, struct rrcp_address *out);
    void (*close)(struct net_packet_io *io);
};

struct net_packet_io {
    const struct net_packet_table *table;
    struct net_packet_counters counters;
};

static inline void net_packet_limits(const struct net_packet_io *io, struct net_packet_limits *out)
{
    io->table->limits(io, out);
}

/*
 * Tell the transport of memory that packets to be sent will live in. Called once for each slab,
 * before any packet of it is sent. MD_ERR_SYS when the device refuses it.
 */
static inline int net_packet_memory(struct net_packet_io *io, void *base, size_t size)
{
    return io->table->memory ? io->table->memory(io, base, size) : 0;
}

/* Why net_packet_memory() was refused, as a sentence for the operator; "" where nobody knows. */
static inline const char *net_packet_why(const struct net_packet_io *io)
{
    return io->table->why ? io->table->why(io) : "";
}

/*
 * Send packets in order; never blocks. Returns how many were taken: fewer than `count` when the
 * send queue is full (offer the rest again later; control traffic should go first then). A packet
 * the network refuses for good counts as taken and is counted under its error: the engine's
 * retransmission deals with it as with any loss.
 */
static inline int net_packet_send(struct net_packet_io *io, const struct net_packet packets[],
                                  int count)
{
    return io->table->send(io, packets, count);
}

/* Cookies of packets whose memory is the caller's again. Always 0 where send_depth is 0. */
static inline int net_packet_complete(struct net_packet_io *io, uint32_t cookies[], int max)
{
    return io->table->complete ? io->table->complete(io, cookies, max) : 0;
}

/*
 * What has arrived, at most `max`; 0 = nothing more now. The bytes and addresses are the
 * transport's and are good until the next call.
 */
static inline int net_packet_receive(struct net_packet_io *io, struct rrcp_arrival out[], int max)
{
    return io->table->receive(io, out, max);
}

/* Descriptors to wait on (readable), index 0, 1, ... until -1. None: use net_packet_readable(). */
static inline int net_packet_fd(const struct net_packet_io *io, int index)
{
    return io->table->fd(io, index);
}

/* Is there, without waiting, something to receive? For transports that are polled. */
static inline bool net_packet_readable(struct net_packet_io *io)
{
    return io->table->readable ? io->table->readable(io) : false;
}

/*
 * Descriptor `index` was just waited on and was not readable: the next receive need not ask it
 * again. Saves a system call on each descriptor that stayed silent, right after a wake-up.
 */
static inline void net_packet_quiet(struct net_packet_io *io, int index)
{
    if (io->table->quiet)
        io->table->quiet(io, index);
}

/*
 * The owner is about to wait on the descriptors. False: something has come meanwhile, do not wait.
 * Where it is not called, as by an owner who polls all the time, descriptors may stay silent.
 */
static inline bool net_packet_arm(struct net_packet_io *io)
{
    return io->table->arm ? io->table->arm(io) : true;
}

/* When the transport itself wants net_packet_receive() or _send() called; UINT64_MAX = never. */
static inline uint64_t net_packet_deadline(const struct net_packet_io *io)
{
    return io->table->deadline ? io->table->deadline(io) : UINT64_MAX;
}

/* This node's own unicast address on network `path`, for telling others. */
static inline void net_packet_local(const struct net_packet_io *io, int path,
                                    struct rrcp_address *out)
{
    io->table->local(io, path, out);
}

static inline void net_packet_close(struct net_packet_io *io)
{
    if (io)
        io->table->close(io);
}

#endif
