/* rsocket_calls.h - between a program and librmds-rsocket.so. Private to netio. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NETIO_RSOCKET_CALLS_H
#define NETIO_RSOCKET_CALLS_H

#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

/*
 * The calls of rsocket(7), each as its namesake of the kernel, with errno. A descriptor of theirs
 * is for these calls only: the kernel's poll takes it and reports nothing. `poll` takes both kinds.
 */
struct rsocket_calls {
    size_t size;         /* of this struct: both sides are of one build */
    const char *version; /* RMDS_VERSION */
    int (*socket)(int domain, int type, int protocol);
    int (*bind)(int fd, const struct sockaddr *address, socklen_t length);
    int (*listen)(int fd, int backlog);
    int (*accept)(int fd, struct sockaddr *address, socklen_t *length);
    int (*connect)(int fd, const struct sockaddr *address, socklen_t length);
    ssize_t (*recv)(int fd, void *bytes, size_t size, int flags);
    ssize_t (*sendmsg)(int fd, const struct msghdr *message, int flags);
    int (*poll)(struct pollfd *fds, nfds_t count, int timeout_ms);
    int (*shutdown)(int fd, int how);
    int (*close)(int fd);
    int (*getsockname)(int fd, struct sockaddr *address, socklen_t *length);
    int (*getpeername)(int fd, struct sockaddr *address, socklen_t *length);
    int (*getsockopt)(int fd, int level, int name, void *value, socklen_t *length);
    int (*setsockopt)(int fd, int level, int name, const void *value, socklen_t length);
    int (*set_nonblocking)(int fd);
};

#define RSOCKET_PLUGIN_FILE   "librmds-rsocket.so"
#define RSOCKET_PLUGIN_SYMBOL "rmds_rsocket_calls"

extern const struct rsocket_calls rmds_rsocket_calls;

/* Those of the plug-in, or those that were set. NULL: `why` says why there are none. */
const struct rsocket_calls *rsocket_calls_load(char *why, size_t why_size);
/* For tests, before the first stream. */
void rsocket_calls_set(const struct rsocket_calls *calls);

#endif
