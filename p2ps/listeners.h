/* listeners.h - the ports of p2ps: each connection goes to the worker with the fewest. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_LISTENERS_H
#define P2PS_LISTENERS_H

#include "p2ps.h"

/* -1, or an exit code. */
int p2ps_open_listeners(struct p2ps *p2ps);
void p2ps_close_listeners(struct p2ps *p2ps);

#endif
