/* fetch.h - what the events of a batch will read, fetched at once. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_FETCH_H
#define P2PS_FETCH_H

#include "private.h"

/* The events of a batch are of as many items, and no cache holds all items: all they need is
 * fetched at once, not one by one. */
void p2ps_fetch_items(const struct p2ps_core *core, const struct rrmp_sink_event *events,
                      size_t count);

#endif
