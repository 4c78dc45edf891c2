/* exempt.h - updates that are never merged, as rmds.cnf has them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_EXEMPT_H
#define P2PS_EXEMPT_H

#include "core.h"
#include "p2ps.h"

/* conflateExempt and conflateExemptFields into `config`; what it points to is p2ps->exempt. An
 * error was logged. */
int p2ps_exempt_read(struct p2ps *p2ps, struct p2ps_core_config *config);

#endif
