/* plugin.h - objects that are loaded when they are asked for. Private to netio. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NETIO_PLUGIN_H
#define NETIO_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>

/* lib/openrmds/FILE beside the folder of the program, wherever that was put, or beside librmds.so.
 */
bool net_plugin_path(const char *file, char *out, size_t size);

/* The symbol of that object, which begins with its size and its version; both have to be ours. It
 * stays loaded until the process ends: RDMA libraries do not like to leave. NULL: `why` says why
 * not. */
struct net_plugin_head {
    size_t size;
    const char *version; /* RMDS_VERSION */
};
const void *net_plugin_load(const char *file, const char *symbol, size_t plugin_size, char *why,
                            size_t why_size);

#endif
