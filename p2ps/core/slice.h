/* slice.h - a turn's share of the work that waits. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_SLICE_H
#define P2PS_SLICE_H

#include "private.h"

/* A new turn begins: with what it may do, the work that waits goes on. */
void p2ps_slice_turn(struct p2ps_core *core);
/* Every watch of every item is asked for again. */
void p2ps_slice_check(struct p2ps_core *core);
/* The authority has news: bits of enum entitle_news. */
void p2ps_slice_news(struct p2ps_core *core, unsigned news);

#endif
