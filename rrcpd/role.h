/* role.h - `rrcpd sink` and `rrcpd source`: how local users prefer one of two rrcpd. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCPD_ROLE_H
#define RRCPD_ROLE_H

#include <stddef.h>

#include "conf/conf.h"

/*
 * Link the role's name to the folder of the attach socket at `socket_path`: p2ps that are told no
 * rrcpdInstance look in it for sink first, src_dist for source. The link's path goes to `out`, ""
 * without a role.
 */
void role_open(const struct md_conf *conf, const char *socket_path, char *out, size_t size);

/* Removes the link if it still leads to `socket_path`. */
void role_close(const char *path, const char *socket_path);

#endif
