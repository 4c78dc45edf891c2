/* loop_orders.h - a route loop's part of what rmdsctl asks. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_LOOP_ORDERS_H
#define SRCDIST_LOOP_ORDERS_H

#include "route_loop.h"

/* The orders of daemon/orders.h, in the order of the table in control.c. */
enum route_loop_order {
    ROUTE_LOOP_PROVIDERS,
    ROUTE_LOOP_SERVICES,
    ROUTE_LOOP_ITEMS, /* words: service, or any */
    ROUTE_LOOP_TRACE, /* words: service and item */
    ROUTE_LOOP_KICK,  /* numbers: loop and provider */
};

/* On the loop, when it was woken: some of it now, the rest in the turns that follow. */
void route_loop_orders(struct route_loop *loop);

#endif
