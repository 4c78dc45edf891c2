/* delayed_want.h - consumers wait for delayed items: the live ones are kept open for them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_DELAYED_WANT_H
#define SRCDIST_DELAYED_WANT_H

#include "private.h"

/* A consumer asks for this item; nothing if its service is not a delayed one. */
void srcdist_delay_wanted(struct srcdist_core *core, uint32_t item);
/* True: the item has no image yet, and may have one later; its consumers are told so. */
bool srcdist_delay_awaits(struct srcdist_core *core, uint32_t item);
/* Live items are kept or left, images put into the lines that lack them. */
void srcdist_delays_want_tick(struct srcdist_core *core);

#endif
