/* plain_calls.c - preloaded into a program: it ends when it calls for streams what librspreload and
 * its like do not know. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define END_WITH(text)                                                                             \
    do {                                                                                           \
        (void)!write(2, text "\n", sizeof(text));                                                  \
        abort();                                                                                   \
    } while (0)

static bool is_network(int family)
{
    return family == AF_INET || family == AF_INET6;
}

/* AF_UNSPEC: no socket. */
static int family_of(int fd)
{
    struct sockaddr_storage own = { .ss_family = AF_UNSPEC };
    socklen_t size = sizeof(own);

    return getsockname(fd, (struct sockaddr *)&own, &size) == 0 ? own.ss_family : AF_UNSPEC;
}

static bool is_stream(int fd)
{
    int type = 0;
    socklen_t size = sizeof(type);

    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

int socket(int domain, int type, int protocol)
{
    if (is_network(domain) && (type & 0xf) == SOCK_STREAM && type != SOCK_STREAM)
        END_WITH("plain_calls: socket() with flags");
    return (int)syscall(SYS_socket, domain, type, protocol);
}

int accept4(int fd, __SOCKADDR_ARG address, socklen_t *restrict length, int flags)
{
    if (is_network(family_of(fd)))
        END_WITH("plain_calls: accept4()");
    return (int)syscall(SYS_accept4, fd, address.__sockaddr__, length, flags);
}

int epoll_ctl(int epoll_fd, int operation, int fd, struct epoll_event *event)
{
    if (operation == EPOLL_CTL_ADD && is_network(family_of(fd)) && is_stream(fd))
        END_WITH("plain_calls: epoll_ctl()");
    return (int)syscall(SYS_epoll_ctl, epoll_fd, operation, fd, event);
}
