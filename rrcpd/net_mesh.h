/* net_mesh.h - the addresses of a mesh: in the statistics, and in the log what is wrong with them.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCPD_NET_MESH_H
#define RRCPD_NET_MESH_H

#include "net_private.h"

void net_mesh_update(struct net *net); /* statistics */
void net_mesh_tell(struct net *net, uint64_t now_ns);
void net_mesh_destroy(struct net *net);

#endif
