/* access.h - providerAccessFile: who may publish, and on which address the ports are open. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_SHELL_ACCESS_H
#define SRCDIST_SHELL_ACCESS_H

#include "src_dist.h"

/* A file is named: who is not in it does not publish. */
bool src_dist_has_access(const struct md_conf_object *daemon);
/* The address of the ports for providers, "" for all; says in the log why. */
const char *src_dist_port_address(const struct md_conf_object *daemon);
/* At the start: the rules of the file. If there are none that can be used, that is logged, and
 * nobody publishes. */
void src_dist_access_load(struct src_dist *sd);
/* SIGHUP: the file that is named at the start is read again. */
void src_dist_access_reload(struct src_dist *sd, struct daemon_reload *reload);

#endif
