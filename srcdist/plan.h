/* plan.h - memoryLimit of src_dist, divided among its parts. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_PLAN_H
#define SRCDIST_PLAN_H

#include "src_dist.h"

/* Writes the share of each loop in each part to `sd`. */
int src_dist_plan_memory(struct src_dist *sd, const struct md_conf_object *bus);

/* The least power of two that is not less. */
uint64_t src_dist_round_up_power(uint64_t value);

#endif
