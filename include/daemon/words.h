/* daemon/words.h - what keeps a daemon from starting, with the parameter and its line. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_WORDS_H
#define DAEMON_WORDS_H

#include <stddef.h>

#include "conf/conf.h"
#include "netio/stream.h"

/* "rsslPort 14202 (rmds.cnf:3)", or "rsslPort 14002 (the default)". */
void daemon_where(const struct md_conf_object *object, const char *param, char *out, size_t size);

/* Log why the port of `param` cannot be opened: net_error(), and who holds it. To be called right
 * after the failure. */
void daemon_port_refused(const struct md_conf_object *object, const char *param);

/* Log what is wrong with the files of `config`, which are those of `object`; `before` comes first,
 * e.g. "route 2: ". `error` is logged where the files show no reason. */
void daemon_tls_refused(const struct md_conf_object *object, const char *before,
                        const struct net_tls_config *config, const char *error);

#endif
