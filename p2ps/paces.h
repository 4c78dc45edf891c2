/* paces.h - the rates that consumers may choose, as rmds.cnf has them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_PACES_H
#define P2PS_PACES_H

#include "core.h"
#include "p2ps.h"

/* conflateRates, conflateExempt and conflateExemptFields into `config`; what it points to is
 * p2ps->exempt. An error was logged. */
int p2ps_paces_read(struct p2ps *p2ps, struct p2ps_core_config *config);

#endif
