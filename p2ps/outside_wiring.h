/* outside_wiring.h - the authority outside, as main.c sees it: parameters, counters, trouble. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_OUTSIDE_WIRING_H
#define P2PS_OUTSIDE_WIRING_H

#include "p2ps.h"

int p2ps_outside_build(struct p2ps *p2ps);
void p2ps_outside_fini(struct p2ps *p2ps);
/* Once a second. */
void p2ps_outside_show(struct p2ps *p2ps);
void p2ps_outside_trouble(struct p2ps *p2ps, unsigned trouble);

#endif
