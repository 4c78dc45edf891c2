/* lost.h - records that cannot be made for a watch, and what its client is told. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_LOST_H
#define P2PS_LOST_H

#include "private.h"

/* The present record of the item is of Marketfeed, and could not be converted. */
void p2ps_lost_unreadable(struct p2ps_core *core, uint32_t item);
/* The present record cannot be made in the form of some watches, in JSON for one: it is lost for
 * their clients, or the stream ends, if it must not be given whole. */
void p2ps_lost_unmade(struct p2ps_core *core, uint32_t item);
/* The record cannot be made without the entries that watches of the present set may not see. */
void p2ps_lost_set(struct p2ps_core *core, uint32_t item);

#endif
