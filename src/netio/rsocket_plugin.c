/* rsocket_plugin.c - librmds-rsocket.so: the calls of librdmacm. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <rdma/rsocket.h>

#include "rsocket_calls.h"

static int set_nonblocking(int fd)
{
    return rfcntl(fd, F_SETFL, O_NONBLOCK);
}

__attribute__((visibility("default"))) const struct rsocket_calls rmds_rsocket_calls = {
    .size = sizeof(struct rsocket_calls),
    .version = RMDS_VERSION,
    .socket = rsocket,
    .bind = rbind,
    .listen = rlisten,
    .accept = raccept,
    .connect = rconnect,
    .recv = rrecv,
    .sendmsg = rsendmsg,
    .poll = rpoll,
    .shutdown = rshutdown,
    .close = rclose,
    .getsockname = rgetsockname,
    .getpeername = rgetpeername,
    .getsockopt = rgetsockopt,
    .setsockopt = rsetsockopt,
    .set_nonblocking = set_nonblocking,
};
