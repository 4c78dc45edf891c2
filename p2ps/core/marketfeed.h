/* marketfeed.h - records of Marketfeed as field lists for consumers of RWF, and the other way. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_MARKETFEED_H
#define P2PS_MARKETFEED_H

#include "private.h"

/* The same for one watch; true when the watch was ended by it. */
/* The record as the form wants it: itself, or converted; NULL: there is nothing for this form. */
const struct p2ps_record *p2ps_marketfeed(struct p2ps_core *core, const struct p2ps_form *form,
                                          const struct p2ps_record *record);

#endif
