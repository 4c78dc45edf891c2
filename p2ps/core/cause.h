/* cause.h - why updates are merged, with figures. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_CAUSE_H
#define P2PS_CAUSE_H

#include "private.h"

#define P2PS_CAUSE_MAX 160

/* "4,812 of 5,000 output buffers for 12 s: conflating since 10:31:07". */
void p2ps_cause_slow(const struct p2ps_core *core, uint32_t client, char *out, size_t size);
/* The same of a worker that is behind. */
const char *p2ps_cause_lag(struct p2ps_core *core);

#endif
