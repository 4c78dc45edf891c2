/* rsocket_signal.c - readiness of an rsocket as that of a socket; see rsocket_private.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "rsocket_private.h"

int rsocket_signal_open(struct rsocket_signal *signal)
{
    int fds[2];
    int least = 1;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) != 0)
        return MD_ERR_SYS;
    signal->owner = fds[0];
    signal->other = fds[1];
    /* The least there is: it is full with two or three writes. */
    (void)setsockopt(signal->owner, SOL_SOCKET, SO_SNDBUF, &least, sizeof(least));
    return MD_OK;
}

void rsocket_signal_lower(struct rsocket_signal *signal, unsigned bit)
{
    static const char filling[2048];
    char byte;

    if (bit == NET_READABLE) {
        (void)!recv(signal->owner, &byte, 1, 0);
        return;
    }
    while (send(signal->owner, filling, sizeof(filling), MSG_NOSIGNAL) > 0)
        ;
}

void rsocket_signal_raise(struct rsocket_signal *signal, unsigned bits)
{
    char filling[4096];

    /* The owner may have closed its end already: then nobody waits. */
    if (bits & NET_READABLE)
        (void)!send(signal->other, "", 1, MSG_NOSIGNAL);
    while (bits & NET_WRITABLE && recv(signal->other, filling, sizeof(filling), 0) > 0)
        ;
}
