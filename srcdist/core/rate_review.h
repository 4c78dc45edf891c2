/* rate_review.h - open items under new rules. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_RATE_REVIEW_H
#define SRCDIST_RATE_REVIEW_H

#include "private.h"
#include "rates/rates.h"

/*
 * New rules, which the core destroys; NULL: none. Items whose fields or types are others now get a
 * new image. A million items take time: they are looked at in steps, the first one now, and rules
 * that come before the last one wait. MD_ERR_NOMEM: as before, `rules` are destroyed.
 */
int srcdist_rates_begin(struct srcdist_core *core, struct rates *rules);
void srcdist_rates_review_tick(struct srcdist_core *core);
void srcdist_rates_review_fini(struct srcdist_core *core);

#endif
