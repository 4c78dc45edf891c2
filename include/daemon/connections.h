/* daemon/connections.h - what a daemon's connections are made of: sockets, TLS, RSSL channels. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_CONNECTIONS_H
#define DAEMON_CONNECTIONS_H

#include "daemon/daemon.h"
#include "netio/stream.h"
#include "rssl/channel.h"

/* The buffers and tcpNoDelay of `daemon`. `tls` may be NULL. */
struct net_stream_options daemon_stream_options(const struct md_conf_object *daemon,
                                                struct net_tls *tls);
/* Shows what rsockets there are as rsocket.*, once there was one. Once a second. */
void daemon_rsocket_show(struct daemon *daemon);

/* The values that all channels of a role share. `port` is the object that has pingTimeout. */
struct rssl_config daemon_channel_config(enum rssl_role role, const struct md_conf_object *daemon,
                                         const struct md_conf_object *port);

/* The tls... parameters of `object`. A failure is logged with the file and the line that names it,
 * behind `before`, e.g. "route 2: ". */
int daemon_tls_create(const struct md_conf_object *object, bool is_server, const char *before,
                      struct net_tls **out);
/* Reads the files again, of which `object` of the new configuration names those that may change;
 * they are in force with all the rest of the reload. `name` is "server" or "route1". A `tls` of
 * NULL is allowed. */
void daemon_tls_reload(struct daemon_reload *reload, struct net_tls *tls,
                       const struct md_conf_object *object, const char *name);
/* Shows when the certificate ends as <process>.tls.<name>.ends, and logs it when that is near. */
void daemon_tls_show(struct daemon *daemon, struct net_tls *tls, const char *name);

/*
 * Listens on the port that `param` names, at `address`, "" for all of them, and logs "`purpose` on
 * port ...". -1: *out is the listener, or NULL when the port is 0; else the exit code, the failure
 * is logged.
 */
int daemon_listen(const struct md_conf_object *object, const char *param, const char *address,
                  const struct net_transport *transport, const struct net_stream_options *options,
                  const char *purpose, struct net_listener **out);

#endif
