/* daemon/words.h - what keeps a daemon from starting, with the parameter and its line. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_WORDS_H
#define DAEMON_WORDS_H

#include <stddef.h>

#include "conf/conf.h"

/* "rsslPort 14202 (rmds.cnf:3)", or "rsslPort 14002 (the default)". */
void daemon_where(const struct md_conf_object *object, const char *param, char *out, size_t size);

/* Log why the port of `param` cannot be opened: net_error(), and who holds it. To be called right
 * after the failure. */
void daemon_port_refused(const struct md_conf_object *object, const char *param);

#endif
