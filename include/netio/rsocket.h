/* netio/rsocket.h - byte streams over RDMA, by the rsockets of librdmacm. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NETIO_RSOCKET_H
#define NETIO_RSOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "netio/stream.h"

/*
 * Both ends have to be rsockets. The code that knows librdmacm is an object of its own,
 * lib/openrmds/librmds-rsocket.so beside the program's bin/, which is loaded with the first listen
 * or dial: a host without RDMA needs none of its libraries.
 *
 * Streams and listeners are driven by descriptors. A thread of ours waits for 64 of them together,
 * since the kernel's poll does not know rsockets; reading and writing is done by the owner's
 * thread, without a system call where bytes or room are there. Buffers default to 128 KB each.
 */
extern const struct net_transport net_rsocket_transport;

/* Can the plug-in be loaded? `why` (at least 256 bytes): its path, or why it cannot. */
bool net_rsocket_is_here(char *why, size_t why_size);

/* The most memory that the buffers of all streams may pin; 1 GiB unless this is called. */
void net_rsocket_memory_set(uint64_t bytes);

struct net_rsocket_figures {
    uint64_t streams; /* open, with those whose orderly end is under way */
    uint64_t pinned;  /* bytes of their buffers */
    uint64_t refused; /* connections that found the memory or the number used up */
};
void net_rsocket_figures(struct net_rsocket_figures *out); /* from any thread */

#endif
