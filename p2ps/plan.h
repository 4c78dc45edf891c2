/* plan.h - memoryLimit of p2ps, divided among its parts. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_PLAN_H
#define P2PS_PLAN_H

#include "p2ps.h"

/* How many mounts there may be: `mounts_max`. */
void p2ps_limit_mounts(struct p2ps *p2ps);

/* Writes the share of each worker in each part to `config`. */
int p2ps_plan_memory(struct p2ps *p2ps, struct p2ps_worker_config *config);

#endif
