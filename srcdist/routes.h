/* routes.h - where providers are: routes to those we connect to, ports for those that connect. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_ROUTES_H
#define SRCDIST_ROUTES_H

#include "src_dist.h"

/* All routes of the configuration, each to the loop of its network. */
int src_dist_add_routes(struct src_dist *sd);

/* -1, or an exit code. */
int src_dist_open_ports(struct src_dist *sd, const struct md_conf_object *bus);

/* The channels of providers that connect to us. */
struct rssl_config src_dist_server_channel(const struct src_dist *sd,
                                           const struct md_conf_object *bus);

#endif
