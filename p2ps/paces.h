/* paces.h - the rates that consumers may choose, as rmds.cnf has them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_PACES_H
#define P2PS_PACES_H

#include "conf/conf.h"
#include "core.h"

/* conflateRates into `config`. An error was logged. */
int p2ps_paces_read(const struct md_conf_object *daemon, struct p2ps_core_config *config);

#endif
