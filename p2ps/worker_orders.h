/* worker_orders.h - a worker's part of what rmdsctl asks. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_WORKER_ORDERS_H
#define P2PS_WORKER_ORDERS_H

#include "worker.h"

/* On the worker's loop, when it was woken: some of it now, the rest in the turns that follow. */
void p2ps_worker_orders(struct p2ps_worker *worker);

#endif
