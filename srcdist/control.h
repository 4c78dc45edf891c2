/* control.h - what rmdsctl may ask of src_dist: providers, services, items, kick, trace. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_CONTROL_H
#define SRCDIST_CONTROL_H

#include "daemon/orders.h"
#include "src_dist.h"

/* When the route loops were made, before daemon_ready(). The daemon goes on without it. */
void src_dist_control_open(struct src_dist *sd);

#endif
