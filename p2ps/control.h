/* control.h - what rmdsctl may ask of p2ps: mounts, services, items, kick, drain, trace. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_CONTROL_H
#define P2PS_CONTROL_H

#include "daemon/orders.h"
#include "p2ps.h"

/* The orders of daemon/orders.h, in the order of the table in control.c. */
enum p2ps_order {
    P2PS_ORDER_MOUNTS,
    P2PS_ORDER_SERVICES,
    P2PS_ORDER_ITEMS, /* words: service, or any */
    P2PS_ORDER_TRACE, /* words: service and item */
    P2PS_ORDER_KICK,  /* is_all, words: a user, or numbers: worker and mount */
};

/* When the workers were made, before daemon_ready(). The daemon goes on without it. */
void p2ps_control_open(struct p2ps *p2ps);

/* While no new consumer is taken: a trouble, and not ready. True: it is so. */
bool p2ps_control_drains(struct p2ps *p2ps, unsigned trouble);

#endif
